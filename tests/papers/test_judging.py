"""Intervals, orders and verdicts, by hand; the record of a figure."""

import numpy as np
import pytest
from mccfr_plus.experiments.papers import judging
from mccfr_plus.experiments.papers.judging import Mean, mean_of, order, values_at
from mccfr_plus.experiments.papers.records import read_curves, write_curves

from mccfr_plus.display import mean_band
from mccfr_plus.errors import RecordError
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.record import Point

CURVE = Curve(
    "kuhn_poker",
    "external",
    tuple(tuple(Point(10.0**k, k, 10**k, 2.0, seed * 10.0**-k, (0.0, 0.0)) for k in range(1, 4)) for seed in (1, 2)),
    2,
)


def test_the_interval_of_a_mean():
    # Student's quantile for two degrees of freedom is 4.302653; the standard error of 1, 2, 3 is 1 / sqrt(3).
    found = mean_of(np.array([1.0, 2.0, 3.0]))
    assert found == pytest.approx((2.0, 2.0 - 4.302653 / 3**0.5, 2.0 + 4.302653 / 3**0.5), rel=1e-6)
    assert mean_of(np.array([0.5])) == (0.5, 0.5, 0.5)
    assert str(mean_of(np.array([0.5]))) == "0.5"
    assert str(Mean(2.0, 1.0, 3.0)) == "2 (1 .. 3)"
    low, high = mean_band(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]))
    assert (low[1], high[1]) == (5.0, 5.0)
    assert low[0] == pytest.approx(found.low)


def test_orders_need_disjoint_intervals():
    assert order(Mean(1, 0.5, 1.5), Mean(3, 2, 4)) == "ahead"
    assert order(Mean(3, 2, 4), Mean(1, 0.5, 1.5)) == "behind"
    assert order(Mean(1, 0.5, 2.5), Mean(3, 2, 4)) == "intervals overlap"


def test_verdicts():
    assert judging.verdict(True, True) == "reproduced"
    assert judging.verdict(True, False) == "reproduced at smaller scale"
    assert judging.verdict(False, True) == judging.verdict(False, False) == "not reproduced"


def test_values_between_points():
    assert values_at(CURVE, 100.0) == pytest.approx([0.01, 0.02])
    assert values_at(CURVE, 10**2.5) == pytest.approx([10**-2.5, 2 * 10**-2.5])


def test_a_record_of_a_figure(tmp_path):
    path = tmp_path / "figure.jsonl"
    write_curves(path, [CURVE, CURVE])
    found = read_curves(path)
    assert len(found) == 2
    assert (found[0].game, found[0].algorithm, found[0].num_players) == ("kuhn_poker", "external", 2)
    assert found[0].y("nash_conv") == pytest.approx(CURVE.y("nash_conv"))
    assert found[0].x("nodes").tolist() == CURVE.x("nodes").tolist()
    assert found[0].runs[0][0].iterations == 1
    path.write_text(path.read_text()[:-40])
    with pytest.raises(RecordError, match=r"figure.jsonl is no record of a figure"):
        read_curves(path)
    with pytest.raises(RecordError, match="cannot read"):
        read_curves(tmp_path / "none.jsonl")
