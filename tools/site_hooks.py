"""Hooks of the documentation's build: formulas become MathML, which browsers show without a script or a font."""

import html
import re

from latex2mathml.converter import convert

# What `pymdownx.arithmatex` leaves, with `generic`: \(...\) in a span, \[...\] in a div.
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, **_: object) -> str:
    """Returns a page's HTML with MathML in place of LaTeX."""

    def mathml(match: re.Match) -> str:
        tag, opening, formula = match.groups()
        kind = "block" if opening == "[" else "inline"
        return f'<{tag} class="formula">{convert(html.unescape(formula), display=kind)}</{tag}>'

    return FORMULA.sub(mathml, content)
