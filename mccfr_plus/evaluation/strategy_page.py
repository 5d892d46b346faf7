"""Pages of strategies: self-contained HTML files that fetch nothing from a network."""

import json
import os
from collections.abc import Sequence
from html import escape
from importlib import resources

from mccfr_plus.display import COLOURS
from mccfr_plus.errors import RecordError
from mccfr_plus.evaluation.strategy_table import StrategyTable
from mccfr_plus.files.atomic_write import atomic_write


def part(name: str, package: str = "mccfr_plus.evaluation") -> str:
    """Returns the text of a file in the folder ``pages`` of a package."""
    return (resources.files(package) / "pages" / name).read_text(encoding="utf-8")


def page_of_strategies(
    title: str, above: str, tables: Sequence[StrategyTable], *, script: str = "", head: str = ""
) -> str:
    """Returns a page with tables of strategies, one of which is shown at a time.

    Args:
        above: HTML above the tables.
        tables: May be empty.
        script: More JavaScript, which may use ``find(id)`` and ``make(tag, class, text)``.
        head: More HTML of the page's head.
    """
    body = above
    if tables:
        data = json.dumps([table._asdict() for table in tables], ensure_ascii=False, separators=(",", ":"))
        hidden = "hidden" if len(tables) == 1 else ""
        body += part("strategies.html").replace("CLASS", hidden).replace("DATA", data.replace("<", "\\u003c"))
        script = f"const COLOURS = {json.dumps(COLOURS)};\n{part('strategies.js')}{script}"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{part('page.css')}{part('strategies.css')}</style>{head}</head>"
        f"<body><main>{body}</main><script>{part('page.js')}{script}</script></body></html>\n"
    )


def write_page(path: str | os.PathLike, content: str) -> None:
    """Writes the whole page or nothing.

    Raises:
        RecordError: If the file cannot be written.
    """
    with atomic_write(path, RecordError) as file:
        file.write(content.encode())
