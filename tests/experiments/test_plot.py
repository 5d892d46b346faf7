"""Pictures: curves with units, one panel per game, written whole or not at all."""

import numpy as np
import pytest

from mccfr_plus.display import COLOURS
from mccfr_plus.errors import ConfigError
from mccfr_plus.experiments import Curve, Result
from mccfr_plus.experiments.runs import Point

pytest.importorskip("matplotlib")

GAMES, ALGORITHMS = ["kuhn_poker", "leduc_poker", "liars_dice"], ["external", "outcome", "cfr+"]


def curve(game, algorithm, seeds=4, value=1.0):
    def point(n, nash_conv):
        return Point(float(n), n, 15 * n, 0.01 * n, nash_conv, (0.0, 0.0))

    levels = [value * (1 + 0.1 * seed) for seed in range(seeds)]
    return Curve(game, algorithm, tuple(tuple(point(10**k, level / 3**k) for k in range(6)) for level in levels), 2)


RESULT = Result([curve(game, algorithm, value=1.0 + i) for game in GAMES for i, algorithm in enumerate(ALGORITHMS)])


def test_one_panel_per_game():
    figure = RESULT.plot("seconds", measure="nash_conv")
    assert [panel.get_title() for panel in figure.axes] == GAMES
    for panel in figure.axes:
        assert (panel.get_xscale(), panel.get_yscale(), panel.get_legend()) == ("log", "log", None)
        assert "seconds" in panel.get_xlabel()
        assert "NashConv" in panel.get_ylabel()
        assert [line.get_color() for line in panel.lines] == list(COLOURS[:3])
        assert len(panel.collections) == len(ALGORITHMS)  # bands
        for i, line in enumerate(panel.lines):
            assert np.allclose(line.get_xdata(), [0.01 * 10**k for k in range(6)])
            assert np.allclose(line.get_ydata(), [(1 + i) * 1.15 / 3**k for k in range(6)])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ALGORITHMS
    assert "mean of 4 seeds; band: 5% to 95%" in figure.get_supxlabel()


def test_bands_of_few_seeds_go_from_minimum_to_maximum():
    few = curve("kuhn_poker", "external", seeds=3)
    assert np.array_equal(few.band(), (few.y().min(axis=0), few.y().max(axis=0)))
    assert "mean of 3 seeds; band: minimum to maximum" in Result([few]).plot().get_supxlabel()
    assert np.all(curve("kuhn_poker", "external", seeds=4).band()[0] > few.y().min(axis=0))


def test_on_given_axes():
    from matplotlib.figure import Figure

    figure, one_game = Figure(), Result(RESULT.curves[:2])
    axes = figure.subplots()
    assert one_game.plot("nodes", ax=axes) is figure
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ALGORITHMS[:2]
    with pytest.raises(ConfigError, match="1 axes for 3 games"):
        RESULT.plot(ax=axes)


def test_an_exploitability_of_zero_is_left_out():
    run = tuple(Point(float(k), k, k, float(k), value, (0.0, 0.0)) for k, value in ((1, 1.0), (2, 0.0), (3, 0.5)))
    (panel,) = Result([Curve("kuhn_poker", "external", (run, run), 2)]).plot().axes
    assert panel.lines[0].get_xdata().tolist() == [1.0, 3.0]
