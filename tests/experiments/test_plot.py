"""Pictures: they are drawn from the curves, with units, and written whole or not at all."""

import numpy as np
import pytest

from mccfr_plus.errors import ConfigError, RecordError
from mccfr_plus.experiments import plot
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.plot import Line
from mccfr_plus.experiments.record import Point

pytest.importorskip("matplotlib")

GAMES, ALGORITHMS = ["kuhn_poker", "leduc_poker", "liars_dice"], ["external", "outcome", "cfr+"]


def curve(game, algorithm, seeds=4, value=1.0):
    runs = tuple(
        tuple(
            Point(10.0**k, 10**k, 15 * 10**k, 0.01 * 10**k, value * (1 + 0.1 * seed) / 3**k, (0.0, 0.0))
            for k in range(6)
        )
        for seed in range(seeds)
    )
    return Curve(game, algorithm, runs, 2)


CURVES = [curve(game, algorithm, value=1.0 + i) for game in GAMES for i, algorithm in enumerate(ALGORITHMS)]


def drawn(monkeypatch, tmp_path, *arguments, **options):
    """Returns the figure that is written."""
    figures, real = [], plot._write
    monkeypatch.setattr(plot, "_write", lambda figure, *rest: (figures.append(figure), real(figure, *rest)))
    plot.plot_curves(*arguments, [tmp_path / "a.png", tmp_path / "a.svg"], **options)
    return figures[0]


def test_what_is_drawn(monkeypatch, tmp_path):
    figure = drawn(monkeypatch, tmp_path, CURVES, unit="seconds", measure="nash_conv", source="From a test.")
    panels = [panel for panel in figure.axes if panel.get_visible()]
    assert [panel.get_title() for panel in panels] == GAMES
    for panel in panels:
        assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
        assert "seconds" in panel.get_xlabel()
        assert "NashConv" in panel.get_ylabel()
        assert [text.get_text() for text in panel.get_legend().get_texts()] == ALGORITHMS
        assert len({line.get_color() for line in panel.lines}) == len(ALGORITHMS)
        assert len(panel.collections) == len(ALGORITHMS)  # bands
        for i, line in enumerate(panel.lines):
            assert np.allclose(line.get_xdata(), [0.01 * 10**k for k in range(6)])
            assert np.allclose(line.get_ydata(), [(1 + i) * 1.15 / 3**k for k in range(6)])
    note = figure.get_supxlabel()
    assert "mean of 4 seeds" in note
    assert "5% to 95%" in note
    assert "From a test." in note
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "a.svg"]


def test_an_algorithm_keeps_its_colour_where_another_has_no_curve(monkeypatch, tmp_path):
    curves = [curve("kuhn_poker", "cfr+", seeds=1)]
    figure = drawn(monkeypatch, tmp_path, curves, algorithms=ALGORITHMS)
    (panel,) = figure.axes
    assert panel.lines[0].get_color() == plot.COLOURS[2]
    assert not panel.collections  # one run has no band


def test_an_exploitability_of_zero_is_left_out(monkeypatch, tmp_path):
    run = (
        Point(1.0, 1, 1, 1.0, 1.0, (0.0, 0.0)),
        Point(2.0, 2, 2, 2.0, 0.0, (0.0, 0.0)),
        Point(3.0, 3, 3, 3.0, 0.5, (0.0, 0.0)),
    )
    (panel,) = drawn(monkeypatch, tmp_path, [Curve("kuhn_poker", "external", (run, run), 2)]).axes
    assert panel.lines[0].get_xdata().tolist() == [1.0, 3.0]


def test_nothing_to_draw(tmp_path):
    with pytest.raises(ConfigError, match="nothing to draw"):
        plot.plot_curves([], [tmp_path / "a.png"])


def test_a_picture_that_cannot_be_written(tmp_path):
    with pytest.raises(RecordError, match="cannot write"):
        plot.plot_curves(CURVES[:1], [tmp_path / "none" / "a.png"])


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ConfigError, match=r"pip install 'mccfr_plus\[plot\]'"):
        plot.plot_curves(CURVES, [])


def test_labels_titles_and_styles(monkeypatch, tmp_path):
    styles = {"external": (6, 0), "outcome": (1, 0), "cfr+": (1, 1)}
    labels = {"external": "MCCFR"}
    one_game = [curve for curve in CURVES if curve.game == "leduc_poker"]
    (panel,) = drawn(
        monkeypatch, tmp_path, one_game, labels=labels, styles=styles, titles={"leduc_poker": "Leduc"}
    ).axes
    assert panel.get_title() == "Leduc"
    assert [text.get_text() for text in panel.get_legend().get_texts()] == ["MCCFR", "outcome", "cfr+"]
    drawn_as = [(line.get_color(), line.get_linestyle()) for line in panel.lines]
    assert drawn_as == [(plot.COLOURS[6], "-"), (plot.COLOURS[1], "-"), (plot.COLOURS[1], "--")]


def test_a_parameter_against_final_values(monkeypatch, tmp_path):
    figures, real = [], plot._write
    monkeypatch.setattr(plot, "_write", lambda figure, *rest: (figures.append(figure), real(figure, *rest)))
    lines = [
        Line("one", (1.0, 10.0), [np.array([1.0, 3.0]), np.array([2.0, 2.0])]),
        Line("two", (1.0, 10.0), [np.array([5.0, 5.0]), np.array([6.0, 8.0])]),
    ]
    words = {"title": "Title", "xlabel": "tau", "ylabel": "chips"}
    plot.plot_parameter(lines, [tmp_path / "a.png"], **words, xscale="linear")
    (panel,) = figures[0].axes
    assert (panel.get_xscale(), panel.get_yscale()) == ("linear", "log")
    assert (panel.get_title(), panel.get_xlabel(), panel.get_ylabel()) == ("Title", "tau", "chips")
    assert [line.get_ydata().tolist() for line in panel.lines] == [[2.0, 2.0], [5.0, 7.0]]
    assert [text.get_text() for text in figures[0].legends[0].get_texts()] == ["one", "two"]
    assert len(panel.collections) == 2
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ConfigError, match="nothing to draw"):
        plot.plot_parameter([], [tmp_path / "b.png"], **words)
