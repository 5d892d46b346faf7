"""Self-contained HTML pages: one file, everything inside, nothing fetched from a network."""

import os
from html import escape

from mccfr_plus.checkpoints.atomic_write import atomic_write
from mccfr_plus.errors import RecordError

_STYLE = """
* { box-sizing: border-box }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: #1c2430; background: #f2f4f7 }
main { max-width: 1400px; margin: 0 auto; padding: 16px }
h1 { font-size: 22px; margin: 0; overflow-wrap: anywhere }
h2 { font-size: 18px; margin: 0 0 8px }
section { background: #fff; border: 1px solid #dde2ea; border-radius: 10px; padding: 16px; margin-top: 14px }
.label { color: #5b6675; font-size: 13px }
.hidden { display: none !important }
.about td + td { overflow-wrap: anywhere }
button { font: inherit; color: inherit; background: #fff; border: 1px solid #0072B2; border-radius: 8px }
button:enabled, summary { cursor: pointer }
:focus-visible { outline: 3px solid #E69F00 }
"""

# What the scripts of all pages begin with.
_SCRIPT = """
const find = id => document.getElementById(id);
function make(tag, className, text) {
  const made = document.createElement(tag);
  made.className = className; made.textContent = text;
  return made;
}
"""


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
        f"<title>{escape(title)}</title><style>{_STYLE}{style}</style>{head}</head>"
        f"<body><main>{body}</main><script>{_SCRIPT}{script}</script></body></html>\n"
    )


def write_page(path: str | os.PathLike, content: str) -> None:
    """Writes the whole page or nothing.

    Raises:
        RecordError: If the file cannot be written.
    """
    with atomic_write(path, RecordError) as file:
        file.write(content.encode())
