"""Self-contained HTML pages: one file, everything inside, nothing fetched from a network."""

from __future__ import annotations

import html
import os
from typing import Any

from mccfr_plus.checkpoints.atomic_write import atomic_write
from mccfr_plus.errors import ConfigError, RecordError


def bokeh() -> Any:
    """Returns bokeh, which draws in browsers.

    Raises:
        ConfigError: If it is not installed; the message says how to install it.
    """
    try:
        import bokeh as found
    except ImportError:
        raise ConfigError("pages need bokeh: pip install 'mccfr_plus[plot]'.") from None
    return found


def page_of(layout: Any, title: str) -> str:
    """Returns a layout as a page with all scripts in it."""
    from bokeh.embed import file_html
    from bokeh.resources import Resources

    return file_html(layout, resources=Resources(mode="inline", minified=True), title=title)


def text(content: str) -> str:
    """Returns text as HTML shows it."""
    return html.escape(content, quote=True)


def table(heading: list[str], rows: list[list[str]], numbers_from: int = 1) -> str:
    """Returns an HTML table; columns from `numbers_from` on are numbers, to the right."""

    def row(cells: list[str], tag: str) -> str:
        aligned = ("left" if i < numbers_from else "right" for i in range(len(cells)))
        styled = (
            f"<{tag} style='text-align:{side};padding:2px 10px'>{text(cell)}</{tag}>"
            for cell, side in zip(cells, aligned, strict=True)
        )
        return f"<tr>{''.join(styled)}</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return f"<table style='border-collapse:collapse;font-size:13px'>{row(heading, 'th')}{body}</table>"


def write_page(path: str | os.PathLike, content: str) -> None:
    """Writes the whole page or nothing.

    Raises:
        RecordError: If the file cannot be written.
    """
    with atomic_write(path, RecordError) as file:
        file.write(content.encode())
