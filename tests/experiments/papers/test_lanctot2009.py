"""Lanctot et al. 2009: rows and verdicts of both items, by hand."""

import math

import pytest

from mccfr_plus import compile_game
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.papers import lanctot2009
from mccfr_plus.experiments.papers.lanctot2009 import EXTERNAL, OUTCOME, PRUNED, VANILLA
from mccfr_plus.experiments.record import Point
from mccfr_plus.games.catalogue import Size


def curve(game, algorithm, reached):
    """Returns a curve whose NashConv falls below 0.5 at `reached` histories."""
    run = tuple(
        Point(10.0**k, k, 10**k, 1.0, 0.4 / (k + 1) if 10**k >= reached else 3.0, (0.0, 0.0)) for k in range(3, 12)
    )
    return Curve(game, algorithm, (run, run), 2)


def rows(game, vanilla, pruned, external, outcome):
    reached = {VANILLA: vanilla, PRUNED: pruned, EXTERNAL: external, OUTCOME: outcome}
    return lanctot2009.figure_rows(game, {name: curve(game, name, nodes) for name, nodes in reached.items()})


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
    assert [row.what.partition(" variant at ")[2].partition(",")[0] for row in found] == ["0.5", "1"]
    assert [row.verdict for row in found] == [verdict, verdict]  # these curves fall below both levels at once


def test_rows_of_other_games():
    found = rows("one_card_poker", 10**8, 10**7, 10**4, 10**6)
    assert [row.here for row in found[:4]] == ["1e+08", "1e+07", "1e+04", "1e+06"]
    assert (found[4].here, found[4].verdict) == ("1e+06, 2.0 orders", "the same direction")
    # From 1e8 histories on all are the same, and vanilla CFR never is below the others.
    assert [row.here for row in found[5:7]] == ["not reached", "not reached"]
    overtaking = {VANILLA: curve("game", VANILLA, 10**6), EXTERNAL: curve("game", EXTERNAL, 10**8)}
    assert lanctot2009._overtaken(overtaking[VANILLA], overtaking[EXTERNAL]) == math.inf  # equal from 1e8 on
    low = Curve("game", VANILLA, tuple(tuple(p._replace(nash_conv=p.nash_conv / 2) for p in run[5:]) for run in
                                       overtaking[VANILLA].runs), 2)  # fmt: skip
    assert lanctot2009._overtaken(low, overtaking[EXTERNAL]) == 1e8
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
    assert lanctot2009._size_row("game", right, tree).verdict == "agrees as printed"
    wrong = Size("histories", "-", tree.num_nodes + 1, "agrees as printed")
    assert "differs from the" in lanctot2009._size_row("game", wrong, tree).verdict
    of_players = Size("M", "-", tuple(round(m, 2) for m in tree.statistics().m_values), "exact")
    assert lanctot2009._size_row("game", of_players, tree).verdict == "exact"


@pytest.mark.parametrize("scale", lanctot2009.FIGURE)
def test_each_algorithm_is_run_once_on_each_game(scale):
    parts = lanctot2009.FIGURE[scale]
    runs = [(part.algorithm, game) for part in parts for game in part.games]
    assert sorted(runs) == sorted((name, game) for name in lanctot2009.ALGORITHMS for game in parts[0].games)
    assert len({part.folder for part in parts}) == len(parts)
