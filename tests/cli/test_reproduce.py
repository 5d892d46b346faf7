"""Lanctot et al. 2009: verdicts by hand, and both items from the command line on smaller settings."""

import math

import pytest

from mccfr_plus import compile_game
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.record import Point
from mccfr_plus.games.catalogue import Size
from mccfr_plus.papers.lanctot2009 import figure1, table1
from mccfr_plus.papers.lanctot2009.figure1 import EXTERNAL, OUTCOME, PRUNED, VANILLA


def curve(game, algorithm, reached):
    """Returns a curve whose NashConv falls below 0.5 at `reached` histories."""
    run = tuple(
        Point(10.0**k, k, 10**k, 1.0, 0.4 / (k + 1) if 10**k >= reached else 3.0, (0.0, 0.0)) for k in range(3, 12)
    )
    return Curve(game, algorithm, (run, run), 2)


def rows(game, vanilla, pruned, external, outcome):
    reached = {VANILLA: vanilla, PRUNED: pruned, EXTERNAL: external, OUTCOME: outcome}
    return figure1.figure_rows(game, {name: curve(game, name, nodes) for name, nodes in reached.items()})


@pytest.mark.parametrize(
    ("game", "vanilla", "outcome", "verdict"),
    [
        ("bid_goofspiel", 10**9, 10**6, "agrees"),
        ("bid_goofspiel", 10**7, 10**6, "differs"),  # one order of magnitude
        ("bid_goofspiel", 10**11, 10**8, "differs"),  # not within a few million
        ("bid_goofspiel", math.inf, math.inf, "differs"),
        ("bid_goofspiel", math.inf, 10**6, "agrees"),
        ("bid_goofspiel(num_cards=5)", 10**7, 10**6, "the same direction"),
        ("bid_goofspiel(num_cards=5)", 10**5, 10**6, "differs"),
    ],
)
def test_the_verdict_on_goofspiel(game, vanilla, outcome, verdict):
    found = [row for row in rows(game, vanilla, vanilla, 10**5, outcome) if "the slower sampled" in row.what]
    assert [row.verdict for row in found] == [verdict]


def test_rows_of_other_games():
    found = rows("one_card_poker", 10**8, 10**7, 10**4, 10**6)
    assert [row.here for row in found[:4]] == ["1e+08", "1e+07", "1e+04", "1e+06"]
    assert (found[4].here, found[4].verdict) == ("1e+06, 2.0 orders", "the same direction")
    # From 1e8 histories on all are the same, and vanilla CFR never is below the others.
    assert [row.here for row in found[5:7]] == ["not reached", "not reached"]
    overtaking = {VANILLA: curve("game", VANILLA, 10**6), EXTERNAL: curve("game", EXTERNAL, 10**8)}
    assert figure1._overtaken(overtaking[VANILLA], overtaking[EXTERNAL]) == math.inf  # equal from 1e8 on
    low = Curve("game", VANILLA, tuple(tuple(p._replace(nash_conv=p.nash_conv / 2) for p in run[5:]) for run in
                                       overtaking[VANILLA].runs), 2)  # fmt: skip
    assert figure1._overtaken(low, overtaking[EXTERNAL]) == 1e8
    at_5, at_6, at_7, *_ = (row.here for row in found[7:])
    assert at_5.startswith("external sampling")
    assert at_6.split(", ")[:2] in (
        ["external sampling", "outcome sampling"],
        ["outcome sampling", "external sampling"],
    )
    assert at_7.endswith("vanilla CFR")


def test_a_size_that_differs_from_the_catalogue_is_told():
    tree = compile_game("one_card_poker(deck_size=5)")
    right = Size("histories", "-", tree.num_nodes, "agrees as printed")
    assert table1._size_row("game", right, tree).verdict == "agrees as printed"
    wrong = Size("histories", "-", tree.num_nodes + 1, "agrees as printed")
    assert "differs from the" in table1._size_row("game", wrong, tree).verdict
    of_players = Size("M", "-", tuple(round(m, 2) for m in tree.statistics().m_values), "exact")
    assert table1._size_row("game", of_players, tree).verdict == "exact"


def test_table_1(command, tmp_path, monkeypatch):
    monkeypatch.setattr(table1, "PRINTED_SECONDS", {"one_card_poker": (28.0, 99e-6, 46e-6)})
    monkeypatch.setattr(table1, "_SECONDS", {"small": 0.01})
    out = tmp_path / "lanctot"
    found = command("reproduce", "lanctot2009", "--item=table1", f"--out={out}", "--json", "--quiet")
    assert found.code == 0, found.err
    rows = {row["what"]: row for row in found.json["items"]["table1"]}
    assert rows["one_card_poker: histories"]["here"] == "2,246,001"
    assert rows["one_card_poker: histories"]["verdict"] == "a tenth of the printed figure"
    assert rows["one_card_poker: M"]["here"] == "44.72 / 31.62"
    assert len(rows) == 4 + 3
    assert "times as fast" in rows["one_card_poker: vanilla CFR, seconds per iteration"]["verdict"]
    page = (out / "table1.md").read_text(encoding="utf-8")
    assert "| one_card_poker: infosets | 2 K | 2,000 | agrees as printed |" in page


def test_figure_1(command, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    size = figure1.Size(("bid_goofspiel(num_cards=3)",), 1e5, 2e4, 2, None)
    monkeypatch.setattr(figure1, "FIGURE", {"small": size})
    arguments = ["reproduce", "lanctot2009", "--item=figure1", f"--out={tmp_path}/out", "--json", "--processes=1"]
    found = command(*arguments)
    assert found.code == 0, found.err
    rows = found.json["items"]["figure1"]
    assert len(rows) == 4 + 3 + 1
    assert all(float(row["here"].replace(",", "")) < 1e5 for row in rows[:4])  # all are below 0.5 in so small a game
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        "figure1.md", "figure1.png", "figure1.svg", "figure1-runs",
    }  # fmt: skip
    assert "figure1.png" in (tmp_path / "out" / "figure1.md").read_text(encoding="utf-8")
    again = command(*arguments, "--quiet")  # nothing is run again
    assert again.json["items"]["figure1"] == rows


def test_what_is_refused(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command("reproduce", "lanctot2008").assert_one_line_error("is no paper that can be reproduced", "lanctot2009")
    command("reproduce", "lanctot2009", "--item=table9").assert_one_line_error("no item 'table9'", "table1, figure1")
    command("reproduce", "lanctot2009", "--scale=large").assert_one_line_error("scale")
    command("reproduce").assert_one_line_error("PAPER is missing")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("x")
    command("reproduce", "lanctot2009", "--out=file").assert_one_line_error("cannot write file")
