"""The package uses one word per thing: names, texts and pages do without words that were retired."""

import ast
import re
from pathlib import Path

import pytest

import mccfr_plus
from mccfr_plus.cli.command import VERBS, parser_of

ROOT = Path(mccfr_plus.__file__).parent

# A regular expression of words, and what to write instead. The words of a name are what stands between underscores and
# capitals: `walk` is found in `rules_walk` and `WalkState`, and not in `walkover`.
RETIRED = {
    r"workspaces?": "scratch",
    r"(?<!ast\.)walk(s|ed|er|ers|ing)?": "traversal (tree), trajectory (one history), play (games)",
    r"grown|growing trees?": "lazy, lazily expanded tree",
    r"frontiers?": "unvisited nodes",
    r"asking": "expansion",
    r"forgets?|forgetful|forgot|forgotten|forgetting": "imperfect recall (players), evict (memory)",
    r"borrow(s|ed|ing)?": "a kernel without reference counts",
    r"checkpoint claims?|claims? a checkpoint": "checkpoint lock",  # what a paper says is a claim
    r"twins?": "reference implementation, copy",
    r"(some|every|any)body|nobody|whoever": "the noun: user-defined kernel, no-op, all players",
    r"of (one's|your) own": "user-defined",
    r"luck|lucky": "variance",
    r"takes? (the )?variance (out|away)|take away variance": "reduces variance",
    r"the same bits|bit for bit": "bitwise identical",
    r"until=|--until|--every|--points|--chunks|--owners": "the flags of TERMS",
}
PATTERNS = {re.compile(rf"(?<![A-Za-z])(?:{word})(?![A-Za-z])", re.IGNORECASE): to for word, to in RETIRED.items()}


def words_of(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", name).strip()


def texts_of(path):
    """Yields (line, text) of the names that a module defines and of its docstrings."""
    yield 1, words_of(path.stem)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=False)
            if text:
                begin = node.body[0].lineno
                yield from ((begin + offset, line) for offset, line in enumerate(text.split("\n")))
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, words_of(node.name)
        elif isinstance(node, ast.arg):
            yield node.lineno, words_of(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, words_of(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, words_of(node.attr)


def messages_of(path):
    """Yields (line, text) of the texts in a module's code that have several words: messages, help, reports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield from ((node.lineno + offset, line) for offset, line in enumerate(node.value.split("\n")))


def complaints(where, texts):
    found = set()
    for line, text in texts:
        found |= {
            (line, f"{where}:{line}: {match[0]!r}: write {instead}: {text.strip()}")
            for pattern, instead in PATTERNS.items()
            for match in pattern.finditer(text)
        }
    return [message for _, message in sorted(found)]


FILES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py") if "__pycache__" not in path.parts)


def test_names_and_docstrings():
    found = [message for path in FILES for message in complaints(path, texts_of(ROOT / path))]
    assert not found, "\n".join(["", *found])


def test_messages():
    found = [message for path in FILES for message in complaints(path, messages_of(ROOT / path))]
    assert not found, "\n".join(["", *found])


REPOSITORY = Path(__file__).parent.parent
PAGES = [
    *sorted(REPOSITORY.glob("*.md")),
    REPOSITORY / "benchmarks" / "README.md",
    *sorted((REPOSITORY / "docs").rglob("*.md")),
    *(path for folder in ("examples", "benchmarks", "tools") for path in sorted((REPOSITORY / folder).glob("*.py"))),
]


def lines_of(path):
    return enumerate(path.read_text(encoding="utf-8").splitlines(), 1)


def test_pages():
    found = [message for path in PAGES for message in complaints(path.relative_to(REPOSITORY), lines_of(path))]
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize("name", VERBS)
def test_help(name):
    found = complaints(f"mccfr-plus {name} --help", enumerate(parser_of(name).format_help().splitlines(), 1))
    assert not found, "\n".join(["", *found])
