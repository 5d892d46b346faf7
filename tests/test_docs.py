"""The Python in the README and in the guides runs, block after block, in an empty folder."""

import contextlib
import io
import re
import shlex
import sys
import types
from pathlib import Path

import pytest

from mccfr_plus.cli import play
from mccfr_plus.cli.main import main

ROOT = Path(__file__).parent.parent
COMMANDS = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks_of(path):
    """Returns the Python blocks of a file, with empty lines before them, so that errors give its line numbers."""
    text = path.read_text(encoding="utf-8")
    return ["\n" * text.count("\n", 0, match.start(1)) + match.group(1) for match in BLOCK.finditer(text)]


def run(path, begin=0, names=None):
    names = {"__name__": path.stem} if names is None else names
    blocks = blocks_of(path)[begin:]
    assert blocks, f"{path} has no Python"
    for block in blocks:
        exec(compile(block, str(path), "exec"), names)


def test_readme(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch")  # for the section on networks
    monkeypatch.chdir(tmp_path)
    run(ROOT / "README.md")
    assert "exploitability" in capsys.readouterr().out


def test_neural(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    run(ROOT / "docs" / "how-to" / "neural.md")
    assert 0 < float(capsys.readouterr().out) < 0.6  # 2.37 for uniform play


@pytest.mark.parametrize("name", ["tutorials/own-estimator.md", "tutorials/own-minimizer.md"])
def test_guides(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run(ROOT / "docs" / name)
    out = capsys.readouterr().out
    assert "checks passed" in out
    assert "look at:" in out


def test_add_a_game(tmp_path, monkeypatch, capsys):
    page = ROOT / "docs" / "tutorials" / "own-game.md"
    (tmp_path / "my_game.py").write_text(blocks_of(page)[0], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    program = types.ModuleType("my_program")  # a module that exists, as classes of games are pickled
    monkeypatch.setitem(sys.modules, "my_program", program)
    run(page, begin=1, names=vars(program))
    out = capsys.readouterr().out
    assert "6 checks passed" in out
    assert "players have imperfect recall" in out
    assert "look at: `look`" in out


def test_games_are_shown_as_they_are():
    """After each block of Python stands what it prints."""
    text = (ROOT / "docs" / "background" / "games.md").read_text(encoding="utf-8")
    function, *examples = re.findall(
        r"^```python\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", text, re.MULTILINE | re.DOTALL
    )
    names = {}
    exec(function[0], names)
    assert len(examples) == 9
    for block, expected in examples:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(block, names)
        assert printed.getvalue() == expected


@pytest.mark.parametrize("name", ["background/bounds.md", "how-to/large-games.md", "how-to/online-play.md"])
def test_pages(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run(ROOT / "docs" / name)
    assert capsys.readouterr().out


def run_commands(path):
    """Runs the commands of a page in this process, and returns how many."""
    lines = [line for match in COMMANDS.finditer(path.read_text(encoding="utf-8")) for line in match[1].splitlines()]
    for line in lines:
        program, *arguments = shlex.split(re.sub(r"--seconds=\d+", "--seconds=1", line))
        assert program == "mccfr-plus"
        assert main(arguments) == 0, line
    return len(lines)


MY_GAME = """
import pyspiel
from open_spiel.python.games import kuhn_poker

kind = kuhn_poker._GAME_TYPE
wanted = ("provides", "max", "min", "dynamics", "chance", "reward", "information", "utility", "long_name")
names = [name for name in dir(kind) if name.startswith(wanted)]
fields = {name: getattr(kind, name) for name in names}
pyspiel.register_game(pyspiel.GameType(short_name="my_game", **fields), kuhn_poker.KuhnPokerGame)
"""


def test_play(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "my_game.py").write_text(MY_GAME, encoding="utf-8")
    monkeypatch.delitem(sys.modules, "my_game", raising=False)  # of another test
    monkeypatch.setattr("builtins.input", lambda _: "q")
    served = []
    monkeypatch.setattr(play, "serve_until_interrupted", lambda respond, port, opened: served.append(respond))
    assert run_commands(ROOT / "docs" / "how-to" / "play.md") == 7
    assert capsys.readouterr().out.count("Score: +0 in 0 games.") == 4
    assert "phantom_ttt" in served[0]("GET", "/", "").content


def test_export(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    run(ROOT / "docs" / "how-to" / "export.md")
    run_commands(ROOT / "docs" / "how-to" / "export.md")
    assert "information_state" in capsys.readouterr().out
    assert {file.name for file in tmp_path.iterdir()} == {"kuhn.json", "kuhn.npz", "kuhn.parquet", "kuhn.png"}
