"""`compare` and its `Result`: runs in this process and in others, continued comparisons, what is refused."""

import logging
import os

import pytest

import mccfr_plus
from mccfr_plus import ConfigError, Solver
from mccfr_plus.errors import RecordError
from mccfr_plus.experiments import Result, compare
from mccfr_plus.experiments.runs import read_record

SHORT = {"seeds": 2, "nodes": 2e4, "num_evaluations": 4, "progress": False}


def numbers(curve):
    return [[(point.iterations, point.nodes, point.nash_conv) for point in run] for run in curve.runs]


def test_a_comparison_in_this_process(tmp_path):
    algorithms = ["external(batch=2)", "cfr+", "openspiel:external"]
    result = compare(["kuhn_poker", "leduc_poker"], algorithms, **SHORT, out=tmp_path / "out", processes=1)
    assert [(curve.game, curve.algorithm, curve.num_seeds) for curve in result.curves] == [
        (game, name, 1 if name == "cfr+" else 2) for game in ("kuhn_poker", "leduc_poker") for name in algorithms
    ]
    assert result.failed == {}
    for curve in result.curves:
        assert 2e4 <= curve.x("nodes")[-1] < 6e4
        assert [len(run) for run in curve.runs] == [len(curve.x())] * curve.num_seeds
    assert "external(batch=2)" in result._repr_html_()
    # The same call reads the records.
    again = compare(["kuhn_poker", "leduc_poker"], algorithms, **SHORT, out=tmp_path / "out", processes=1)
    assert again.curves == result.curves == Result.load(tmp_path / "out").curves


def test_a_comparison_in_other_processes(tmp_path):
    found = compare("kuhn_poker", ["external", os_solver], **SHORT, out=tmp_path / "out", processes=2)
    here = compare("kuhn_poker", ["external", os_solver], **SHORT, processes=1)
    assert [numbers(curve) for curve in found.curves] == [numbers(curve) for curve in here.curves]
    header = read_record(next((tmp_path / "out" / "runs").glob("*external*.jsonl")))[0]
    assert set(header["versions"]) == {"python", "mccfr_plus", "open_spiel", "numpy", "numba"}
    assert header["machine"]["cores"] == os.cpu_count()
    assert len(list((tmp_path / "out" / "runs").glob("*-seed1.policy.npz"))) == 2


def os_solver(game, seed):
    return Solver(game, "outcome", seed=seed)


def test_objects_that_stay_in_this_process():
    tree = mccfr_plus.compile_game("kuhn_poker")
    algorithms = {
        "mine": lambda game, seed: Solver(game, "external", "rm+", seed=seed),
        "RM+": "external(minimizer=rm+)",
    }
    result = compare(tree, algorithms, **SHORT)
    mine, ours = result.curves
    assert (mine.game, mine.algorithm, ours.algorithm) == ("kuhn_poker()", "mine", "RM+")
    assert numbers(mine) == numbers(ours)
    with pytest.raises(ConfigError, match="cannot be sent to other processes"):
        compare("kuhn_poker", algorithms, **SHORT, processes=2)


def test_runs_that_fail_do_not_end_the_others(tmp_path, caplog):
    with caplog.at_level(logging.WARNING, "mccfr_plus"):
        games = ["kuhn_poker(players=3)", "kuhn_poker"]
        result = compare(games, "best_response", **SHORT, processes=1)
    assert [curve.game for curve in result.curves] == ["kuhn_poker"]
    assert list(result.failed) == [f"{games[0]} best_response seed 1"]  # it is deterministic
    assert all("not a two-player zero-sum game" in why for why in result.failed.values())
    assert "seed 1 failed: kuhn_poker(players=3) is not" in caplog.text
    with pytest.raises(RecordError, match="failed, for example kuhn_poker"):
        compare(games[0], "best_response", **SHORT, processes=1)


def test_saved_in_one_file(tmp_path):
    result = compare("kuhn_poker", ["external", "cfr"], **SHORT, processes=1)
    result.save(tmp_path / "figure.jsonl")
    loaded = Result.load(tmp_path / "figure.jsonl")
    for before, after in zip(result.curves, loaded.curves, strict=True):
        assert after.y() == pytest.approx(before.y(), rel=1e-4)
        assert after.x("cpu_seconds") == pytest.approx(before.x("cpu_seconds"), rel=1e-4)
        assert after.x("iterations").tolist() == before.x("iterations").tolist()
    loaded.save(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "figure.jsonl").read_bytes()
    (tmp_path / "again.jsonl").write_text('{"game": 1}\n')
    with pytest.raises(RecordError, match=r"is not a file written by `Result.save`"):
        Result.load(tmp_path / "again.jsonl")


def test_data_frame():
    pytest.importorskip("pandas")
    result = compare("kuhn_poker", "external", **SHORT | {"seeds": [7, 9]}, processes=1)
    frame = result.to_dataframe()
    (curve,) = result.curves
    assert frame["seed"].unique().tolist() == [7, 9]
    assert frame["exploitability"].tolist() == curve.y().ravel().tolist()
    assert frame[frame.seed == 9]["nodes"].tolist() == [point.nodes for point in curve.runs[1]]
