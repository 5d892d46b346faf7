"""Draws texts that a user meets, for an editor who does not know the project: pages, help, messages, docstrings.

python tools/draw_paragraphs.py  # ten of each, by a new seed, which is printed; --seed=7: the same ones again
"""

import argparse
import ast
import inspect
import random
import re
from collections.abc import Iterator
from pathlib import Path

import mccfr_plus
from mccfr_plus.cli.command import VERBS, parser_of

ROOT = Path(__file__).parent.parent
CODE = re.compile(r"^( *)(```|~~~).*?^\1\2[^\n]*\n", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"\n\s*\n|\n(?= *[*-] )|\n(?=\|)")  # between paragraphs, list items and rows of tables


def is_prose(text: str) -> bool:
    return len(re.findall(r"\b[A-Za-z]{2,}\b", re.sub(r"\]\([^)]*\)|`[^`]*`", "", text))) >= 6


def paragraphs_of(text: str) -> Iterator[str]:
    """Yields the paragraphs, list items and rows of a text, without headings, code and examples."""
    for block in BLOCK.split(CODE.sub("\n\n", text)):
        words = " ".join(block.split())
        if is_prose(words) and words[0] not in "#><\\" and block[:4] != "    ":
            yield words


def pages(*paths: Path) -> Iterator[str]:
    for path in paths:
        yield from (f"{path.relative_to(ROOT)}: {text}" for text in paragraphs_of(path.read_text(encoding="utf-8")))


def helps() -> Iterator[str]:
    for verb in VERBS:
        parser = parser_of(verb)
        notes = re.sub(r"\n  (?=\S)", "\n\n  ", f"{parser.description}\n{parser.epilog}")  # entries of lists
        yield from (f"{verb}: {text}" for text in paragraphs_of(notes))
        yield from (f"{each.dest}: {each.help}" for each in parser._actions if is_prose(str(each.help)))


def messages() -> Iterator[str]:
    """Yields the texts of raised exceptions and of log lines as they are in the source, with their placeholders."""
    for path in sorted((ROOT / "mccfr_plus").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            call = node.exc if isinstance(node, ast.Raise) else node
            is_log = isinstance(node, ast.Call) and ast.unparse(node.func) in ("logger.info", "logger.warning")
            if isinstance(call, ast.Call) and (is_log or isinstance(node, ast.Raise)):
                yield from (f"{path.name}: {text}" for text in map(ast.unparse, call.args) if is_prose(text))


def docstrings() -> Iterator[str]:
    for name in sorted(mccfr_plus.__all__):
        public = getattr(mccfr_plus, name)
        members = vars(public).items() if inspect.isclass(public) else ()
        for each in (public, *(member for key, member in members if key[0] != "_" and inspect.isfunction(member))):
            if str(getattr(each, "__module__", None)).startswith("mccfr_plus"):
                text = (inspect.getdoc(each) or "").partition("Examples:")[0]
                yield from (f"{name}: {paragraph}" for paragraph in paragraphs_of(text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    rng = random.Random(seed := parser.parse_args().seed)
    site = [path for path in (ROOT / "docs").rglob("*.md") if "papers" not in path.parts]
    print(f"--seed={seed}")
    kinds = {"README": pages(ROOT / "README.md"), "site": pages(*site), "help": helps()}
    for kind, texts in {**kinds, "messages": messages(), "docstrings": docstrings()}.items():
        print(f"\n{kind}\n", *rng.sample(sorted(set(texts)), 10), sep="\n")


if __name__ == "__main__":
    main()
