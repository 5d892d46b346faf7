"""Farina et al. 2020: verdicts by hand, and a figure on a small setting."""

import pytest

from mccfr_plus import compile_game
from mccfr_plus.experiments.curves import Curve, curves_of
from mccfr_plus.experiments.papers import farina2020
from mccfr_plus.experiments.papers.farina2020 import STEP_SIZES
from mccfr_plus.experiments.record import Point


def curve(*ends):
    """Returns a curve of one point, with a saddle-point gap per seed."""
    return Curve("game", "name", tuple((Point(1e6, 10, 10**6, 1.0, end, (0.0, 0.0)),) for end in ends), 2)


@pytest.mark.parametrize(
    ("mccfr", "ftrl", "omd", "here", "verdict"),
    [
        ((2.0, 2.0), (1.0, 1.0), (4.0, 4.0), "2.00, FTRL", "ahead of MCCFR, clearly"),
        ((2.0, 2.0), (8.0, 8.0), (4.0, 4.0), "0.50, OMD", "behind MCCFR, clearly"),
        ((2.0, 3.0), (1.0, 3.0), (4.0, 4.0), "1.25, FTRL", "ahead of MCCFR, bands overlap"),
        ((1.0, 3.0), (2.0, 3.0), (4.0, 4.0), "0.80, FTRL", "behind MCCFR, bands overlap"),
    ],
)
def test_verdicts(mccfr, ftrl, omd, here, verdict):
    row = farina2020._rows("game", {"MCCFR": curve(*mccfr), "FTRL": curve(*ftrl), "OMD": curve(*omd)})[-1]
    assert (row.here, row.verdict) == (here, verdict)


@pytest.mark.parametrize(("name", "traversals"), [("figure3", 1), ("figure4", 100)])
def test_a_figure(setting, monkeypatch, name, traversals):
    game = "kuhn_poker"
    monkeypatch.setattr(farina2020, "GAMES", {"small": (game,)})
    monkeypatch.setattr(farina2020, "NAMES", {game: "Kuhn"})
    monkeypatch.setattr(farina2020, "SEEDS", {name: {"small": 2}})
    monkeypatch.setattr(farina2020, "TRAVERSALS", 200)
    result = farina2020.figure(setting, name)
    assert [path.name for path in result.pictures] == [f"{name}.png", f"{name}.svg"]
    comparison, found = curves_of(setting.folder / f"{name}-runs" / "kuhn")
    # As many histories as traversals of the whole tree, not counting what the last iteration touches beyond.
    limit = 200 * compile_game(game).num_nodes
    assert comparison.limit == ("nodes", limit)
    by_name = {curve.algorithm: curve for curve in found}
    assert len(by_name) == 1 + 2 * len(STEP_SIZES)
    for curve in found:
        last = curve.runs[0][-1]
        assert limit <= last.nodes <= limit + 2 * traversals * 20  # no traversal in Kuhn poker is longer
    # With a constant step size FTRL and OMD are the same.
    for text, curve in by_name.items():
        if "ftrl" in text:
            assert curve.y("nash_conv") == pytest.approx(by_name[text.replace("ftrl", "omd")].y("nash_conv"), rel=1e-6)
    assert result.rows[-1].paper == "some variants outperform MCCFR (abstract)"
    assert len(result.rows) == len(by_name) + 1 + 1
