"""Self-contained HTML pages: one file, everything inside, nothing fetched from a network."""

import os
from html import escape
from importlib import resources

from mccfr_plus.errors import RecordError
from mccfr_plus.files.atomic_write import atomic_write


def part(name: str) -> str:
    """Returns the text of a file of the folder ``pages``."""
    return (resources.files("mccfr_plus.experiments") / "pages" / name).read_text(encoding="utf-8")


def page_of(title: str, body: str, *, style: str = "", script: str = "", head: str = "") -> str:
    """Returns a page.

    Args:
        body: The page's HTML.
        style: CSS, after that of all pages.
        script: JavaScript, which may use ``find(id)`` and ``make(tag, class, text)``.
        head: More HTML of the page's head.
    """
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{part('page.css')}{style}</style>{head}</head>"
        f"<body><main>{body}</main><script>{part('page.js')}{script}</script></body></html>\n"
    )


def write_page(path: str | os.PathLike, content: str) -> None:
    """Writes the whole page or nothing.

    Raises:
        RecordError: If the file cannot be written.
    """
    with atomic_write(path, RecordError) as file:
        file.write(content.encode())
