"""Hooks of the documentation's build."""

import html
import re
import sys
from pathlib import Path

from latex2mathml.converter import convert

EXAMPLES = Path(__file__).parent.parent / "examples"

# What `pymdownx.arithmatex` leaves, with `generic`: \(...\) in a span, \[...\] in a div.
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_startup(**_: object) -> None:
    """Lets the pages' code import the examples."""
    sys.path.insert(0, str(EXAMPLES))


def on_page_content(content: str, **_: object) -> str:
    """Returns a page's HTML with MathML, which needs no script and no font, in place of LaTeX."""

    def mathml(match: re.Match) -> str:
        tag, opening, formula = match.groups()
        kind = "block" if opening == "[" else "inline"
        return f'<{tag} class="formula">{convert(html.unescape(formula), display=kind)}</{tag}>'

    return FORMULA.sub(mathml, content)
