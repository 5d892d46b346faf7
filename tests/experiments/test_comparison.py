"""The directory of a comparison: one comparison, one process at a time, and curves of its records."""

import dataclasses
import json
import math

import numpy as np
import pytest

import mccfr_plus
from mccfr_plus.errors import ConfigError, GameError, RecordError
from mccfr_plus.experiments import Curve, Result
from mccfr_plus.experiments.comparison import Limit, about_here, comparison_of, directory_of, read_comparison
from mccfr_plus.experiments.runs import Point, Record

COMPARISON = comparison_of(["kuhn_poker", "leduc_poker"], ["external", "cfr+"], 3, Limit("nodes", 1e4))


def filled(path, comparison=COMPARISON, lengths=(3, 3, 3)):
    """Makes a directory whose records hold numbers that tests know."""
    with directory_of(comparison, path) as runs:
        for run in runs:
            run = dataclasses.replace(run, points=(1.0, 2.0, 3.0))
            record = Record(run.record, run.header(about_here("test")))
            for k in range(lengths[comparison.seeds.index(run.seed)]):
                nash_conv = 8.0 * run.seed / (k + 1)
                record.add(Point(k + 1.0, k + 1, 10 * (k + run.seed), float(k), nash_conv, (0.0, 0.0)))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"games": []}, ConfigError, "there are no games"),
        ({"games": ["kuhn_poker", "kuhn_poker"]}, ConfigError, "games: 'kuhn_poker' is given twice"),
        ({"games": "kuhn_pokr"}, GameError, "kuhn_pokr"),
        ({"num_evaluations": 0}, ConfigError, "at least one"),
    ],
)
def test_what_is_refused(change, error, message):
    with pytest.raises(error, match=message):
        comparison_of(**{**COMPARISON.__dict__, **change})


def test_arguments_of_compare():
    tree, template = mccfr_plus.compile_game("kuhn_poker"), mccfr_plus.Solver("leduc_poker", "external", "rm+")
    found = comparison_of(["leduc_poker", tree], ["cfr", template], [4, 7], Limit("nodes", 10.0), None)
    assert (found.games, found.seeds) == ({"leduc_poker": "leduc_poker", "kuhn_poker()": tree}, (4, 7))
    assert found.algorithms == {"cfr": "cfr", "external + rm+": template.config}
    named = comparison_of("kuhn_poker", {"CFR+": "cfr+", "mine": lambda game, seed: None}, 2, Limit("nodes", 1.0), None)
    assert named.seeds == (1, 2)
    assert named.as_dict()["algorithms"] == {"CFR+": "cfr+", "mine": "factory <lambda>"}
    with pytest.raises(ConfigError, match=r"is given twice\. Give a mapping from names"):
        comparison_of("kuhn_poker", [template, template], 1, Limit("nodes", 1.0), None)


def test_only_the_same_comparison_opens_a_directory_again_and_only_once(tmp_path):
    path = tmp_path / "out"
    filled(path)
    with directory_of(COMPARISON, path), pytest.raises(RecordError, match="in use by"), directory_of(COMPARISON, path):
        pass
    assert read_comparison(path).items() >= COMPARISON.as_dict().items()
    before = sorted(file.read_bytes() for file in path.rglob("*") if file.is_file())
    for change in ({"seeds": (1, 2)}, {"limit": Limit("nodes", 2e4)}, {"algorithms": {"external": "outcome"}}):
        other = dataclasses.replace(COMPARISON, **change)
        with pytest.raises(RecordError, match="holds another comparison: its"), directory_of(other, path):
            pass
    assert sorted(file.read_bytes() for file in path.rglob("*") if file.is_file()) == before


def test_other_directories_are_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    for path, message in ((tmp_path / "file", "is a file: give a dir"), (tmp_path, "holds other files but no comp")):
        with pytest.raises(RecordError, match=message), directory_of(COMPARISON, path):
            pass
    for text in ("{", "[]", '{"format": "other"}', json.dumps({"format": "mccfr_plus.comparison", "version": 2})):
        (tmp_path / "comparison.json").write_text(text)
        with pytest.raises(RecordError, match=r"comparison\.json is damaged"):
            read_comparison(tmp_path)
    with pytest.raises(RecordError, match="cannot read"):
        Result.load(tmp_path / "none")


def test_curves_by_hand(tmp_path):
    filled(tmp_path / "out", lengths=(3, 2, 3))
    result = Result.load(tmp_path / "out")
    assert [(c.game, c.algorithm, c.num_seeds) for c in result.curves] == [
        ("kuhn_poker", "external", 3), ("kuhn_poker", "cfr+", 1),
        ("leduc_poker", "external", 3), ("leduc_poker", "cfr+", 1),
    ]  # fmt: skip
    curve = result.curves[0]  # two points, as the second seed has no more
    assert curve.seeds == (1, 2, 3)
    assert curve.x().tolist() == [20.0, 30.0]
    assert curve.mean("nash_conv").tolist() == [16.0, 8.0]
    assert curve.mean().tolist() == [8.0, 4.0]
    assert np.allclose(curve.band(), ([4.0, 2.0], [12.0, 6.0]))
    assert curve.interval("quantiles") == pytest.approx((4.0, 2.0, 6.0))
    # Student's factor for two degrees of freedom is 4.303.
    half = 4.302652729749 * 2.0 / math.sqrt(3)
    assert curve.interval() == pytest.approx((4.0, 4.0 - half, 4.0 + half))
    assert result.curves[1].mean().tolist() == [4.0, 2.0, 4.0 / 3]
    assert str(result.curves[1].interval()) == "1.333"
    row = result.final_rows()[0]
    assert (row["nodes"], row["iterations"], row["seconds"], row["exploitability"]) == (30.0, 2.0, 1.0, 4.0)


def test_values_between_points():
    """A line on logarithmic axes: NashConv is 2e3 / histories."""
    run = tuple(Point(10.0**k, k, 10**k, 1.0, 2e3 / 10**k, (0.0, 0.0)) for k in range(1, 5))
    curve = Curve("kuhn_poker", "external", (run, run), 2)
    assert curve.value_at(200.0) == pytest.approx([5.0, 5.0])
    assert curve.value_at(200.0, measure="nash_conv") == pytest.approx([10.0, 10.0])
    assert curve.value_at(1e9) == pytest.approx([0.1, 0.1])  # beyond the last point
    assert curve.interval(at=200.0) == pytest.approx((5.0, 5.0, 5.0))
    assert curve.crossing(5.0) == pytest.approx(200.0)
    assert curve.crossing(1e3) == 10.0
    assert curve.crossing(0.01) == math.inf
    for call in (lambda: curve.x("days"), lambda: curve.y("value"), lambda: curve.interval("all")):
        with pytest.raises(ConfigError, match="give one of"):
            call()


def test_curves_of_runs_that_have_passed_different_points(tmp_path):
    """The first iteration of one run may pass two points, that of another three."""
    comparison = comparison_of("kuhn_poker", "external", 2, Limit("nodes", 1e4))
    with directory_of(comparison, tmp_path / "out") as runs:
        for run, targets in zip(runs, ((2.0, 3.0, 4.0), (3.0, 4.0)), strict=True):
            record = Record(run.record, run.header({}))
            for target in targets:
                record.add(Point(target, int(target), int(target), 1.0, target, (0.0, 0.0)))
    (curve,) = Result.load(tmp_path / "out").curves
    assert curve.mean("nash_conv").tolist() == [3.0, 4.0]
