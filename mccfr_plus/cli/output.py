"""Output of the commands: aligned tables, readable numbers, one line of JSON for programs."""

import json
import logging
import sys
import textwrap
import webbrowser
from collections.abc import Sequence
from typing import Any


def show_notes() -> None:
    """Shows the package's log messages so far. They are held back until the input is checked: errors are one line."""
    for handler in logging.getLogger("mccfr_plus").handlers:
        handler.flush()


def print_table(rows: Sequence[Sequence[str]], *, texts: Sequence[int] = (0,)) -> None:
    """Prints rows with their columns aligned: those of `texts` to the left, numbers to the right.

    A row of one cell among longer ones is a heading, whose width does not count.
    """
    aligned = [row for row in rows if len(row) > 1] or rows
    widths = [max(len(row[i]) for row in aligned if i < len(row)) for i in range(max(len(row) for row in aligned))]
    for row in rows:
        cells = [cell.ljust(widths[i]) if i in texts else cell.rjust(widths[i]) for i, cell in enumerate(row)]
        print("  ".join(cells).rstrip())


def print_json(values: dict[str, Any]) -> None:
    """Prints one line of JSON; use None in place of not-a-number."""
    print(json.dumps(values, allow_nan=False))


def number(value: float | None, digits: int = 6) -> str:
    """Returns a value with so many significant digits; ``n/a`` for None."""
    return "n/a" if value is None else f"{value:.{digits}g}"


def count(value: float) -> str:
    """Returns a whole number with thousands separated."""
    return f"{value:,.0f}"


def short(value: float) -> str:
    """Returns a number of at most five characters: three digits and k, M, G or T for the thousands."""
    for unit in ("", "k", "M", "G"):
        if value < 999.5:
            digits = f"{value:.0f}" if not unit or value >= 99.5 else f"{value:.3g}"
            return digits + unit
        value /= 1000
    return f"{value:.3g}T"


def size(num_bytes: float) -> str:
    """Returns a size in memory with its unit."""
    for unit in ("bytes", "KiB", "MiB"):
        if num_bytes < 1024:
            return f"{num_bytes:.0f} {unit}" if unit == "bytes" else f"{num_bytes:.1f} {unit}"
        num_bytes /= 1024
    return f"{num_bytes:.1f} GiB"


def wrapped(text: str, width: int = 100) -> str:
    """Returns a text in lines of at most `width` characters, with whole words."""
    return textwrap.fill(text, width, break_on_hyphens=False, break_long_words=False)


def open_in_browser(address: str) -> None:
    """Opens a page in the browser, or says that there is none."""
    try:
        is_open = webbrowser.open(address)
    except (webbrowser.Error, OSError):
        is_open = False
    if not is_open:
        print(f"no browser found: open {address}", file=sys.stderr)
