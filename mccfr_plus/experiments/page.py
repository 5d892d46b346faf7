"""Self-contained HTML pages: one file, everything inside, nothing fetched from a network."""

from __future__ import annotations

import os
from typing import Any

from mccfr_plus.checkpoints.atomic_write import atomic_write
from mccfr_plus.errors import RecordError


def page_of(layout: Any, title: str) -> str:
    """Returns a layout as a page with all scripts in it."""
    from bokeh.embed import file_html
    from bokeh.resources import Resources

    return file_html(layout, resources=Resources(mode="inline", minified=True), title=title)


def block(content: str) -> Any:
    """Returns HTML as a part of a layout."""
    from bokeh.models import Div

    return Div(text=content, width=1100)


def write_page(path: str | os.PathLike, content: str) -> None:
    """Writes the whole page or nothing.

    Raises:
        RecordError: If the file cannot be written.
    """
    with atomic_write(path, RecordError) as file:
        file.write(content.encode())
