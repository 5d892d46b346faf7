"""The directory of a comparison: one comparison, one process at a time, and curves of what is recorded."""

import dataclasses
import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from mccfr_plus.errors import ConfigError, GameError, RecordError
from mccfr_plus.experiments.comparison import Comparison, Directory, about_here, read_comparison
from mccfr_plus.experiments.curves import curves_of, final_rows
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.record import Point, Record
from mccfr_plus.experiments.run_loop import Run

COMPARISON = Comparison(("kuhn_poker", "leduc_poker"), ("external", "cfr+"), (1, 2, 3), Limit("nodes", 1e4))


def filled(path, comparison=COMPARISON, lengths=(3, 3, 3)):
    """Makes a directory whose records hold numbers that tests know."""
    with Directory(path, comparison) as directory:
        for run in directory.runs():
            run = dataclasses.replace(run, points=(1.0, 2.0, 3.0))
            record = Record(run.record, run.header(about_here("test")))
            for index in range(lengths[comparison.seeds.index(run.seed)]):
                record.add(
                    Point(
                        index + 1.0,
                        index + 1,
                        10 * (index + run.seed),
                        float(index),
                        8.0 * run.seed / (index + 1),
                        (0.0, 0.0),
                    )
                )
    return directory


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"games": ()}, ConfigError, "no games given"),
        ({"algorithms": ()}, ConfigError, "no algorithms given"),
        ({"seeds": ()}, ConfigError, "no seeds given"),
        ({"games": ("kuhn_poker", "kuhn_poker")}, ConfigError, "games: 'kuhn_poker' is given twice"),
        ({"algorithms": ("externl",)}, ConfigError, "Did you mean 'external'"),
        ({"games": ("kuhn_pokr",)}, GameError, "kuhn_pokr"),
        ({"num_evaluations": 0}, ConfigError, "at least one"),
    ],
)
def test_what_is_no_comparison(change, error, message):
    with pytest.raises(error, match=message):
        Comparison(**{**COMPARISON.__dict__, **change})


def test_runs_in_an_order_that_shows_all_algorithms_soon(tmp_path):
    runs = [run for run in Directory(tmp_path, COMPARISON).runs() if run.game == "kuhn_poker"]
    assert [(run.algorithm, run.seed) for run in runs] == [
        ("external", 1),
        ("cfr+", 1),
        ("external", 2),
        ("external", 3),
    ]


def test_a_directory_is_opened_again_by_the_same_comparison_only(tmp_path):
    path = tmp_path / "out"
    filled(path)
    with Directory(path, COMPARISON):
        pass
    assert read_comparison(path) == COMPARISON
    before = sorted(file.read_bytes() for file in path.rglob("*") if file.is_file())
    for change in (
        {"seeds": (1, 2)},
        {"limit": Limit("nodes", 2e4)},
        {"algorithms": ("external",)},
        {"num_evaluations": 7},
    ):
        with pytest.raises(RecordError, match="holds another comparison: its"):
            Directory(path, Comparison(**{**COMPARISON.__dict__, **change}))
    assert sorted(file.read_bytes() for file in path.rglob("*") if file.is_file()) == before


def test_what_is_no_directory_of_a_comparison(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(RecordError, match="is a file: give a directory"):
        Directory(tmp_path / "file", COMPARISON)
    with pytest.raises(RecordError, match="holds other files and no comparison"):
        Directory(tmp_path, COMPARISON)
    with pytest.raises(RecordError, match=r"cannot write .*file"), Directory(tmp_path / "file" / "out", COMPARISON):
        pass
    for text in ("{", "[]", '{"format": "other"}', json.dumps({"format": "mccfr_plus.comparison", "version": 99})):
        (tmp_path / "comparison.json").write_text(text)
        with pytest.raises(RecordError, match="is no description of a comparison"):
            read_comparison(tmp_path)
    with pytest.raises(RecordError, match="cannot read"):
        read_comparison(tmp_path / "none")


def test_a_directory_is_in_use_by_one_process(tmp_path):
    with (
        Directory(tmp_path / "out", COMPARISON),
        pytest.raises(RecordError, match="in use by"),
        Directory(tmp_path / "out", COMPARISON),
    ):
        pass
    with Directory(tmp_path / "out", COMPARISON):
        pass


def test_names_of_runs_are_different():
    games = ["kuhn_poker", "kuhn_poker()", "Kuhn_Poker", "kuhn-poker", "a" * 300, "a" * 301]
    algorithms = ["external", "external/rm", "external[batch=2]", "external(batch=2)", "rm+", "rm"]
    runs = [Run(*run, COMPARISON.limit, Path("."), False) for run in itertools.product(games, algorithms, (1, 2))]
    names = {run.record.stem for run in runs}
    assert len(names) == len(games) * len(algorithms) * 2
    assert all(len(name) < 120 and "/" not in name and name == name.strip() for name in names)


def test_curves_by_hand(tmp_path):
    filled(tmp_path / "out", lengths=(3, 2, 3))
    comparison, curves = curves_of(tmp_path / "out")
    assert comparison == COMPARISON
    assert [(c.game, c.algorithm, c.num_seeds) for c in curves] == [
        ("kuhn_poker", "external", 3), ("kuhn_poker", "cfr+", 1),
        ("leduc_poker", "external", 3), ("leduc_poker", "cfr+", 1),
    ]  # fmt: skip
    curve = curves[0]  # two points, as the second seed has no more
    assert curve.x("nodes").tolist() == [20.0, 30.0]
    assert curve.mean("nash_conv").tolist() == [16.0, 8.0]
    assert curve.mean().tolist() == [8.0, 4.0]
    low, high = curve.band()
    assert np.allclose(low, [4.4, 2.2])
    assert np.allclose(high, [11.6, 5.8])
    assert curves[1].mean().tolist() == [4.0, 2.0, 4.0 / 3]
    row = final_rows(curves)[0]
    assert (row["nodes"], row["iterations"], row["seconds"], row["exploitability"]) == (30.0, 2.0, 1.0, 4.0)
    assert (row["low"], row["high"]) == pytest.approx((2.2, 5.8))


def test_curves_of_runs_that_have_passed_different_points(tmp_path):
    """The first iteration of one run may pass two points, that of another three."""
    comparison = Comparison(("kuhn_poker",), ("external",), (1, 2), Limit("nodes", 1e4))
    with Directory(tmp_path / "out", comparison) as directory:
        for seed, targets in ((1, (2.0, 3.0, 4.0)), (2, (3.0, 4.0))):
            run = directory.run_of("kuhn_poker", "external", seed)
            record = Record(run.record, run.header({}))
            for target in targets:
                record.add(Point(target, int(target), int(target), 1.0, target, (0.0, 0.0)))
    (curve,) = curves_of(tmp_path / "out")[1]
    assert curve.mean("nash_conv").tolist() == [3.0, 4.0]


def test_a_comparison_without_a_point_has_no_curves(tmp_path):
    with Directory(tmp_path / "out", COMPARISON):
        pass
    assert curves_of(tmp_path / "out")[1] == []
