"""`mccfr-plus view`: one HTML file, opened in the browser."""

import json
import re
import webbrowser
from pathlib import Path

import pytest
from browser import run_script

import mccfr_plus


@pytest.fixture
def opened(monkeypatch):
    """Returns the addresses that are opened; nothing is."""
    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: bool(addresses.append(address)) or True)
    return addresses


@pytest.fixture(scope="module")
def kuhn(tmp_path_factory):
    policy = mccfr_plus.Solver("kuhn_poker", seed=1).run(100).average_policy()
    path = tmp_path_factory.mktemp("policy") / "kuhn.npz"
    mccfr_plus.save_policy(policy, path)
    return policy, path


def test_writes_and_opens_a_page(command, opened, kuhn, tmp_path, monkeypatch):
    out = tmp_path / "kuhn.html"
    found = command("view", "kuhn_poker", str(kuhn[1]), f"--out={out}")
    assert found.code == 0, found.err
    assert str(out) in found.out
    assert opened == [out.as_uri()]
    assert "exploitability" in out.read_text(encoding="utf-8")
    command("view", "kuhn_poker", "uniform", f"--out={out}", "--no-open")  # replaces it
    assert len(opened) == 1
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    command("view", "kuhn_poker", "uniform")
    assert Path(opened[1].removeprefix("file://")).read_text(encoding="utf-8").endswith("</html>\n")
    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    assert "no browser found: open file://" in command("view", "kuhn_poker", "uniform", f"--out={out}").err


@pytest.mark.integration
def test_the_page_in_a_browser(command, kuhn, tmp_path):
    policy, path = kuhn
    command("view", "kuhn_poker", str(path), f"--out={tmp_path / 'kuhn.html'}", "--no-open")
    script = """const count = words => { find("search").value = words; search(); return find("count").textContent; };
    return {text: document.body.innerText, sideways: document.documentElement.scrollWidth > innerWidth,
      counts: ['"card: K"', 'card bet', '1', 'et'].map(count)};"""
    found = run_script(tmp_path / "kuhn.html", tmp_path, script)
    assert "12 information states" in found["text"]
    assert [int(count.split()[0]) for count in found["counts"]] == [4, 9, 0, 0]  # words match from their beginning
    assert f"{mccfr_plus.exploitability('kuhn_poker', policy):.6g}" in found["text"]
    assert found["sideways"] is False


@pytest.mark.integration
@pytest.mark.parametrize("width", [1400, 400])
def test_ranges_in_a_browser(command, width, tmp_path):
    """A click on the first action, and so on, shows the node behind it, each with a grid that fits the width."""
    solver = mccfr_plus.Solver("holdem_subgame(board=Ks7h4d2c9s)", "full", "rm+", tree="public").run(20)
    mccfr_plus.save_policy(solver.average_policy(), tmp_path / "river.npz")
    found = command("view", str(solver.game), str(tmp_path / "river.npz"), f"--out={tmp_path}/river.html", "--no-open")
    assert found.code == 0, found.err
    script = """
        const look = () => [find("where").textContent, find("grid").children.length,
            find("grid").children[1].textContent, find("choices").textContent,
            document.documentElement.scrollWidth > innerWidth];
        const seen = [look()];
        find("choices").children[1].click(); seen.push(look());
        find("path").children[0].click(); find("choices").children[0].click(); seen.push(look());
        find("grid").children[0].click(); seen.push([find("hand").textContent]);
        return seen;"""
    root, bet, check, (hand,) = run_script(tmp_path / "river.html", tmp_path, script, width)
    assert {(count, cell, sideways) for _, count, cell, _, sideways in (root, bet, check)} == {(169, "AKs", False)}
    assert ["K♠9♠7♥4♦2♣; reached with probability" in text for text, *_ in (root, bet, check)] == [True] * 3
    assert [text[:8] for text, *_ in (root, bet, check)] == ["player 0", "player 1", "player 1"]
    assert [choices.split(" ")[0] for *_, choices, _ in (root, bet, check)] == ["check", "fold", "check"]
    assert hand.startswith("AAweight ")


def test_a_policy_of_a_game_without_a_tree(command, tmp_path, interpreted_loops):
    """The first information state is the empty board, at which the policy's probabilities are those of the file."""
    policy, out = tmp_path / "phantom.npz", tmp_path / "phantom.html"
    solver = mccfr_plus.Solver("phantom_ttt", "outcome", tree="rules", symmetry=True, seed=1).run(20)
    mccfr_plus.save_policy(solver.average_policy(), policy)
    found = command("view", "phantom_ttt", str(policy), f"--out={out}", "--no-open")
    assert found.code == 0, found.err
    data = re.search(r'<script type="application/json" id="policies">(.*?)</script>', out.read_text(encoding="utf-8"))
    (table,) = json.loads(data[1])
    assert "of the 10,000 most probable histories" in table["which"]
    player, _, reach, value, actions, probabilities, *_ = table["rows"][0]
    expected = solver.average_policy().action_probabilities(solver.tree.game.new_initial_state())
    assert (player, reach, value) == (0, 1, None)
    assert [table["names"][action] for action in actions] == [f"x({i},{j})" for i in range(3) for j in range(3)]
    assert probabilities == pytest.approx(list(expected.values()), abs=1e-4)


def test_files_of_another_kind_are_not_overwritten(command, kuhn, tmp_path):
    before = kuhn[1].read_bytes()
    command("view", "kuhn_poker", str(kuhn[1]), f"--out={kuhn[1]}").assert_one_line_error("file of the policy itself")
    assert kuhn[1].read_bytes() == before
    notes = tmp_path / "notes"
    notes.write_text("notes", encoding="utf-8")
    for line in ("view kuhn_poker uniform --out", "solve kuhn_poker --iterations=1 --policy_out"):
        command(*f"{line}={notes}".split()).assert_one_line_error(
            "is not a file of the expected kind and will not be overwritten: delete it"
        )
    assert notes.read_text(encoding="utf-8") == "notes"
    command("view", "kuhn_poker", "uniform", f"--out={tmp_path}/none/x.html").assert_one_line_error("cannot write")
