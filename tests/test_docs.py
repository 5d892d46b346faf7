"""The Python in the README and in the guides runs, block after block, in an empty folder."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks_of(path):
    """Returns the Python blocks of a file, with empty lines before them, so that errors give its line numbers."""
    text = path.read_text(encoding="utf-8")
    return ["\n" * text.count("\n", 0, match.start(1)) + match.group(1) for match in BLOCK.finditer(text)]


def run(path):
    names = {"__name__": path.stem}
    blocks = blocks_of(path)
    assert blocks, f"{path} has no Python"
    for block in blocks:
        exec(compile(block, str(path), "exec"), names)


def test_readme(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run(ROOT / "README.md")
    assert "exploitability" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["add-an-estimator.md", "add-a-minimizer.md"])
def test_guides(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run(ROOT / "docs" / name)
    out = capsys.readouterr().out
    assert "checks passed" in out
    assert "look at:" in out


@pytest.mark.parametrize("name", ["bounds.md", "online-play.md"])
def test_pages(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run(ROOT / "docs" / name)
    assert capsys.readouterr().out
