"""Farina et al. 2020: verdicts by hand, and a figure on a small setting."""

import pytest
from mccfr_plus.experiments.papers import farina2020
from mccfr_plus.experiments.papers.farina2020 import BATTLESHIP, GAMES, LARGE, LEDUC, STEP_SIZES

from mccfr_plus import Solver, compile_game
from mccfr_plus.experiments.curves import Curve, curves_of
from mccfr_plus.experiments.record import Point

MCCFR, FTRL, DECAYING = (
    f"external/{rule}[alternating=False]" for rule in ("rm", "ftrl(eta=1.0)", "omd(eta=1.0,decay=0.5)")
)


def curve(algorithm, *ends, game=LEDUC):
    """Returns a curve of one point, with a saddle-point gap per seed."""
    return Curve(game, algorithm, tuple((Point(1e6, 10, 10**6, 1.0, end, (0.0, 0.0)),) for end in ends), 2)


@pytest.mark.parametrize(
    ("mccfr", "ftrl", "here", "verdict"),
    [
        ((2.0, 2.01), (1.0, 1.01), "2.00", "ahead"),
        ((2.0, 2.01), (8.0, 8.01), "0.25", "behind"),
        ((2.0, 3.0), (1.0, 3.0), "1.25", "intervals overlap"),
        ((1.0, 3.0), (2.0, 3.0), "0.80", "intervals overlap"),
    ],
)
def test_verdicts(mccfr, ftrl, here, verdict):
    worse = curve("external/ftrl(eta=0.1)[alternating=False]", 9.0, 9.0)
    curves = [curve(MCCFR, *mccfr), curve(FTRL, *ftrl), worse, curve(DECAYING, 9.0, 9.0)]
    row = farina2020.rows(curves)[-2]
    assert (row.what, row.here, row.verdict) == ("Leduc13: MCCFR / FTRL and OMD, eta 1, which is", here, verdict)


def figures(ftrl, decaying):
    """Returns records in which MCCFR ends at 2 in all games, and FTRL is as good in the others."""
    curves = []
    for game in GAMES:
        ends = (2.0, 2.01) if game in farina2020.LARGE else ftrl.get(game, (2.0, 2.01))
        curves += [curve(MCCFR, 2.0, 2.01, game=game), curve(FTRL, *ends, game=game)]
        curves += [] if game in LARGE else [curve(DECAYING, *decaying, game=game)]
    return {"figure3": curves, "figure4": curves}


def verdicts(*args):
    return {row.what: row.verdict for row in farina2020.claim_rows(figures(*args))}


def test_claims():
    found = verdicts({LEDUC: (1.0, 1.01), farina2020.SEARCH_4: (0.5, 0.51)}, (3.0, 3.01))
    assert found["some variants outperform MCCFR"] == "reproduced"
    assert found["Search-4: FTRL is significantly better than MCCFR"] == "reproduced at smaller scale"
    assert found["Goofspiel: FTRL and MCCFR tie"] == "reproduced"
    assert found["Leduc13: OMD is significantly worse than FTRL"] == "not reproduced"
    found = verdicts({farina2020.GOOFSPIEL: (9.0, 9.01)}, (3.0, 3.01))
    assert found["some variants outperform MCCFR"] == "not reproduced"
    assert found["Search-4: FTRL is significantly better than MCCFR"] == "not reproduced"
    assert found["Goofspiel: FTRL and MCCFR tie"] == "not reproduced"


def test_battleship_has_the_printed_size():
    statistics = compile_game(BATTLESHIP).statistics()
    assert (statistics.histories, *statistics.sequences) == (732_607, 73_130, 253_940)


@pytest.mark.parametrize(("name", "traversals"), [("figure3", 1), ("figure4", 100)])
def test_a_figure(setting, monkeypatch, name, traversals):
    game = "kuhn_poker"
    monkeypatch.setattr(farina2020, "GAMES", (game,))
    monkeypatch.setattr(farina2020, "NAMES", {game: "Kuhn"})
    monkeypatch.setattr(farina2020, "SEEDS", {name: {"small": (2, 2)}})
    monkeypatch.setattr(farina2020, "TRAVERSALS", 200)
    result = farina2020.figure(setting, name)
    assert [path.name for path in result.pictures] == [f"{name}.png", f"{name}.svg"]
    comparison, found = curves_of(setting.folder / f"{name}-runs" / "kuhn")
    # As many histories as traversals of the whole tree, not counting what the last iteration touches beyond.
    limit = 200 * compile_game(game).num_nodes
    assert comparison.limit == ("nodes", limit)
    assert len({curve.algorithm for curve in found}) == 1 + 2 * len(STEP_SIZES)
    for curve in found:
        last = curve.runs[0][-1]
        assert limit <= last.nodes <= limit + 2 * traversals * 20  # no traversal in Kuhn poker is longer
    assert len(result.rows) == len(found) + 2
    assert result.rows[0].what == "Kuhn: MCCFR"


def test_ftrl_and_omd_are_the_same_with_a_constant_step_size_only():
    ends = [
        Solver("kuhn_poker", "external", rule, alternating=False, seed=1).run(200).nash_conv()
        for rule in ("ftrl(eta=10.0)", "omd(eta=10.0)", "omd(eta=10.0,decay=0.5)")
    ]
    assert ends[0] == pytest.approx(ends[1], rel=1e-9)
    assert ends[2] != pytest.approx(ends[0], rel=1e-2)
