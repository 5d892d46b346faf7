"""The one way to write a component or algorithm with its parameters as text: ``name(key=value, ...)``.

A value is a Python literal, a word such as ``rm+``, or a spec itself, as in ``external(minimizer=hedge(eta=0.5))``.
"""

import ast
import re
from typing import Any, NamedTuple

_WORD = r"[A-Za-z_][\w:]*\+?"
_SPEC = re.compile(rf"({_WORD})\s*(?:\((.*)\))?", re.DOTALL)
_KEY = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*=\s*(.+)", re.DOTALL)
_CLOSING = {"(": ")", "[": "]"}


class Spec(NamedTuple):
    """A name and its parameters. A value that is a word or a spec is a `str`."""

    name: str
    parameters: dict[str, Any]


def parse_spec(text: str) -> Spec:
    """Returns the name and the parameters of ``name`` or ``name(key=value, ...)``. Nothing is evaluated.

    SyntaxError: if it is written otherwise, or a key is given twice.

    Examples:
        >>> parse_spec("external(epsilon=0.3, minimizer=hedge(eta=2), batch=8)")
        Spec(name='external', parameters={'epsilon': 0.3, 'minimizer': 'hedge(eta=2)', 'batch': 8})
    """
    match = _SPEC.fullmatch(text.strip())
    if match is None:
        raise SyntaxError(f"{text!r} does not have the form name(key=value, ...)")
    parameters: dict[str, Any] = {}
    for argument in split_specs(match[2] or ""):
        pair = _KEY.fullmatch(argument)
        if pair is None or pair[1] in parameters:
            raise SyntaxError(f"{argument!r} is not key=value, or the key is given twice")
        parameters[pair[1]] = _value(pair[2])
    return Spec(match[1], parameters)


def split_specs(text: str) -> list[str]:
    """Returns the pieces between the commas of a text that are outside of brackets and quotes, stripped.

    SyntaxError: if a bracket or quote has no partner, or a piece is empty.
    """
    pieces, open_brackets, quote = [""], list[str](), ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in _CLOSING:
            open_brackets.append(_CLOSING[character])
        elif character in ")]" and (not open_brackets or open_brackets.pop() != character):
            raise SyntaxError(f"{text!r} has an unmatched bracket")
        elif character == "," and not open_brackets:
            pieces.append("")
            continue
        pieces[-1] += character
    pieces = [piece.strip() for piece in pieces]
    if open_brackets or quote or (len(pieces) > 1 and not all(pieces)):
        raise SyntaxError(f"{text!r} has an unmatched bracket or quotation mark, or two commas in a row")
    return pieces if text.strip() else []


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        if _SPEC.fullmatch(text) is None:
            raise SyntaxError(f"{text!r} is not a number, True, False, None, a word, or name(key=value)") from None
        if "(" in text:
            parse_spec(text)  # for its errors
        return text
