"""Self-contained HTML pages: one file, everything inside, nothing fetched from a network."""

from __future__ import annotations

import importlib
import os
from html import escape
from typing import Any

from mccfr_plus.checkpoints.atomic_write import atomic_write
from mccfr_plus.errors import ConfigError, RecordError


def require_library(name: str) -> None:
    """Raises ConfigError if a library of the extra ``plot`` is not installed; the message says how to install it."""
    try:
        importlib.import_module(name)
    except ImportError:
        raise ConfigError(f"pictures and pages need {name}: pip install 'mccfr_plus[plot]'.") from None


def page_of(layout: Any, title: str) -> str:
    """Returns a layout as a page with all scripts in it."""
    from bokeh.embed import file_html
    from bokeh.resources import Resources

    return file_html(layout, resources=Resources(mode="inline", minified=True), title=title)


def block(content: str) -> Any:
    """Returns HTML as a part of a layout."""
    from bokeh.models import Div

    return Div(text=content, width=1100)


def table(heading: list[str], rows: list[list[str]], numbers_from: int = 1) -> str:
    """Returns an HTML table; columns from `numbers_from` on are numbers, to the right."""

    def row(cells: list[str], tag: str) -> str:
        styled = ""
        for column, cell in enumerate(cells):
            side = "left" if column < numbers_from else "right"
            styled += f"<{tag} style='text-align:{side};padding:2px 10px'>{escape(cell)}</{tag}>"
        return f"<tr>{styled}</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return f"<table style='border-collapse:collapse;font-size:13px'>{row(heading, 'th')}{body}</table>"


def write_page(path: str | os.PathLike, content: str) -> None:
    """Writes the whole page or nothing.

    Raises:
        RecordError: If the file cannot be written.
    """
    with atomic_write(path, RecordError) as file:
        file.write(content.encode())
