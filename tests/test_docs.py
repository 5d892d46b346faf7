"""The README and the pages of the site: their Python and their commands run, and their links lead somewhere.

The links of the site itself are checked where it is built: `mkdocs build --strict`, in `.ci/run`.
"""

import doctest
import re
import shlex
import sys
import types
from pathlib import Path

import pytest

from mccfr_plus.cli import command as cli
from mccfr_plus.cli import play as cli_play

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PYTHON = re.compile(r"^```python(?! title)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r'^```(?: \{\.)?python title="([^"]+)"\}?\n(.*?)^```', re.MULTILINE | re.DOTALL)
SNIPPET = re.compile(r'^--8<-- "(.*)"$', re.MULTILINE)
SHELL = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")

PAGES = [ROOT / "README.md", *(path for path in sorted(DOCS.rglob("*.md")) if path.parent.parent != DOCS / "papers")]
SLOW = {  # more than a few seconds, or a cluster
    "docs/background/public-trees.md",
    "docs/gallery.md",
    "docs/how-to/cluster.md",
    "docs/how-to/compare.md",
    "docs/how-to/large-games.md",
    "docs/how-to/neural.md",
    "docs/how-to/threads-and-memory.md",
    "docs/start/first-comparison.md",
    "docs/tutorials/abstraction.md",
    "docs/tutorials/compare.md",
    "docs/tutorials/holdem-blueprint.md",
    "docs/tutorials/large-game.md",
    "docs/tutorials/own-components.md",
    "docs/tutorials/search.md",
}
SLOW_COMMANDS = {"README.md", "docs/how-to/export.md", "docs/how-to/play.md", "docs/start/five-tasks.md"}
APART = {"docs/background/games.md", "docs/tutorials/own-game.md"}  # tests of their own, below


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def pages_with(pattern, slow, without=()):
    """Returns the pages in which a pattern occurs, the slow ones marked."""
    pages = {name_of(path): path for path in PAGES if pattern.search(path.read_text(encoding="utf-8"))}
    return [
        pytest.param(path, id=name, marks=[pytest.mark.slow] * (name in slow))
        for name, path in pages.items()
        if name not in without
    ]


def blocks_of(path):
    """Returns the Python blocks of a file, with empty lines before them, so that errors give its line numbers."""
    text = path.read_text(encoding="utf-8")
    return ["\n" * text.count("\n", 0, match.start(1)) + match.group(1) for match in PYTHON.finditer(text)]


def run(path, blocks, names):
    for block in blocks:
        exec(compile(block, str(path), "exec"), names)


@pytest.mark.parametrize("path", pages_with(PYTHON, SLOW, without=APART))
def test_python(path, tmp_path, monkeypatch, capsys):
    if name_of(path) == "docs/how-to/neural.md":
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT / "examples")
    run(path, blocks_of(path), {"__name__": path.stem})
    assert capsys.readouterr().out


def commands_of(path):
    """Returns the commands of a page as lists of arguments."""
    text = "".join(SHELL.findall(path.read_text(encoding="utf-8"))).replace("\\\n", " ")
    return [
        words[1:] for line in text.splitlines() if (words := shlex.split(line, comments=True))[:1] == ["mccfr-plus"]
    ]


def shortened(words):
    return [re.sub(r"^--seconds=\d+$", "--seconds=2", word) for word in words]


@pytest.mark.parametrize("path", pages_with(SHELL, SLOW | SLOW_COMMANDS))
def test_commands(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT / "examples")
    monkeypatch.setattr("builtins.input", lambda _: "q")  # what a person types into `play`
    monkeypatch.setattr(cli_play, "_serve", lambda *_: None)
    monkeypatch.setattr("webbrowser.open", lambda _: True)  # of `view`
    commands = commands_of(path)
    assert commands
    for words in commands:
        assert cli.main(shortened(words)) == 0, f"mccfr-plus {shlex.join(words)}: {capsys.readouterr().err}"


def anchors_of(path):
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {"#" + re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", [*sorted(ROOT.glob("*.md")), ROOT / "benchmarks" / "README.md"], ids=name_of)
def test_links_to_files(path):
    """Of pages outside of the site, whose own links are checked where it is built."""
    links = [link for link in LINK.findall(path.read_text(encoding="utf-8")) if "://" not in link[0]]
    files = [(path.parent / target, anchor) for target, anchor in links]
    assert [str(file) for file, _ in files if not file.exists()] == []
    assert [(str(file), anchor) for file, anchor in files if anchor and anchor not in anchors_of(file)] == []


def test_own_game(tmp_path, monkeypatch, capsys):
    page = DOCS / "tutorials" / "own-game.md"
    monkeypatch.chdir(tmp_path)
    for name, code in FILE.findall(page.read_text(encoding="utf-8")):
        code = SNIPPET.sub(lambda match: (ROOT / match[1]).read_text(encoding="utf-8"), code)
        (tmp_path / name).write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    program = types.ModuleType("my_program")  # a module that exists, as classes of games are pickled
    monkeypatch.setitem(sys.modules, "my_program", program)
    run(page, blocks_of(page), vars(program))
    out = capsys.readouterr().out
    assert "guess [0.25, 0.75]" in out
    assert "6 checks passed" in out
    assert "players have imperfect recall" in out
    assert "look at: `look`" in out


def test_games_are_shown_as_they_are():
    text = (DOCS / "background" / "games.md").read_text(encoding="utf-8")
    names, (function,) = {}, PYTHON.findall(text)
    exec(function, names)
    shown = "\n".join(re.findall(r"^```pycon\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    sessions = doctest.DocTestParser().get_doctest(shown, names, "games.md", None, None)
    assert len(sessions.examples) == 6
    assert doctest.DocTestRunner().run(sessions).failed == 0
