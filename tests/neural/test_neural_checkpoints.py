"""Checkpoints and logs of neural solvers: files that are damaged or of other runs are errors, nothing is lost."""

import csv
import dataclasses

import pytest
from checkpoint_contents import contents_of
from neural_states import copy_of, differing
from solver_cases import CASES

torch = pytest.importorskip("torch")
from mccfr_plus.errors import CheckpointError  # noqa: E402
from mccfr_plus.files import checkpoint as checkpoint_file  # noqa: E402
from mccfr_plus.neural import CSVLogger, from_checkpoint  # noqa: E402

CASE = CASES["Deep CFR, reservoir"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


def test_damaged_file_leaves_the_solver_unchanged(path):
    solver = CASE.new().run(2)
    solver.save_checkpoint(path)
    before = copy_of(solver.run(3))
    data = bytearray(path.read_bytes())
    begin = len(data) // 2
    data[begin : begin + 300] = bytes(byte ^ 0xFF for byte in data[begin : begin + 300])
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match="damaged"):
        solver.restore(path)
    assert differing(solver, before) == []
    with pytest.raises(CheckpointError, match="damaged"):
        from_checkpoint(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"memory_sizes": {"player0/memory": 3}}, "its memories have wrong sizes"),
        ({"tree": "0" * 32}, "its tree is 0"),
        ({"algorithm": "Mine"}, "is from a user-defined algorithm: load it with Mine.from_"),
    ],
)
def test_forged_headers(change, message, path):
    CASE.new().run(1).save_checkpoint(path)
    contents = contents_of(path)
    header = {name: value for name, value in contents.header.items() if name != "arrays"}
    checkpoint_file.write(path, header | change, contents.arrays)
    with pytest.raises(CheckpointError, match=message):
        from_checkpoint(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CASE.new("leduc_poker"), "its game is kuhn_poker"),
        (lambda: CASE._replace(config=dataclasses.replace(CASE.config, batch_size=9)).new(), "its batch_size is 16"),
        (lambda: CASES["DREAM"].new(), "holds a run of DeepCFR, not of DREAM: load it with DeepCFR.from_checkpoint"),
        (CASE.new, "holds iteration 3, but the solver is at iteration 0 and would overwrite it"),
    ],
)
def test_another_runs_checkpoint_is_not_overwritten(make, message, path):
    CASE.new().run(3, checkpoint=path)
    before, solver = path.read_bytes(), make()
    with pytest.raises(CheckpointError, match=message):
        solver.run(1, checkpoint=path)
    assert path.read_bytes() == before
    assert solver.iterations == 0
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]  # the lock is released


def test_csv(tmp_path):
    file, ended = tmp_path / "run.csv", []
    solver = CASES["DREAM"].new()
    solver.run(2, callbacks=[CSVLogger(file), ended.append], evaluate_every=0)
    solver.run(5, callbacks=[CSVLogger(file), lambda progress: progress.iterations == 3])
    assert solver.iterations == 3
    assert [progress.iterations for progress in ended] == [1, 2]
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [row["iterations"] for row in rows] == ["1", "2", "3"]
    assert [float(row["exploitability"] or -1) for row in rows] == [*solver.history.exploitability, -1]
    assert float(rows[2]["loss/player1"]) == solver.losses[1]
    assert rows[2]["nodes_touched"] == str(solver.nodes_touched)
