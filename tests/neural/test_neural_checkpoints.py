"""Checkpoints and logs of neural solvers: files that are damaged or of other runs are errors, nothing is lost."""

import csv
import dataclasses
import sys
import types

import pytest
from checkpoint_contents import contents_of
from neural_states import copy_of, differing
from solver_cases import CASES

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
from mccfr_plus.errors import CheckpointError, ConfigError, GameError  # noqa: E402
from mccfr_plus.files import file as checkpoint_file  # noqa: E402
from mccfr_plus.neural import (  # noqa: E402
    CSVLogger,
    DeepCFR,
    NetworkPolicy,
    TensorBoardLogger,
    from_checkpoint,
)
from mccfr_plus.neural.network import MLP  # noqa: E402

CASE = CASES["Deep CFR, reservoir"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


def edit_header(path, change):
    contents = contents_of(path)
    header = {name: value for name, value in contents.header.items() if name != "arrays"}
    change(header)
    checkpoint_file.write(path, header, contents.arrays)


@pytest.mark.parametrize("position", [0.2, 0.5, 0.9])
def test_damaged_file_leaves_the_solver_unchanged(position, path):
    solver = CASE.new().run(2)
    solver.save_checkpoint(path)
    before = copy_of(solver.run(3))
    data = bytearray(path.read_bytes())
    begin = int(len(data) * position)
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
        (lambda header: header.pop("seconds"), "seconds"),
        (lambda header: header.update(memory_sizes={"player0/memory": 3}), "its memories are"),
        (
            lambda header: header["memory_sizes"].update({"player0/memory": 2}),
            "does not fit: its array 'player0/memory/",
        ),
        (lambda header: header.update(tree="0" * 32), "its tree is 0"),
        (
            lambda header: header.update(representation="batched"),
            "does not fit|its memories are|its tree|its learning_rate",
        ),
        (lambda header: header.update(algorithm="DREAM"), "belongs to another run|does not fit"),
        (lambda header: header.update(algorithm="Mine"), "is of a user-defined algorithm: load it with Mine.from_"),
    ],
)
def test_forged_headers(change, message, path):
    CASE.new().run(1).save_checkpoint(path)
    edit_header(path, change)
    with pytest.raises(CheckpointError, match=message):
        from_checkpoint(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CASE.new("leduc_poker"), "its game is kuhn_poker"),
        (lambda: CASE._replace(config=dataclasses.replace(CASE.config, batch_size=9)).new(), "its batch_size is 16"),
        (
            lambda: CASE._replace(representation="batched").new(),
            "its learning_rate is 0.002, and the solver's is 0.001",
        ),
        (lambda: CASES["DREAM"].new(), "holds a run of DeepCFR, not of DREAM: load it with DeepCFR.from_checkpoint"),
        (lambda: mccfr_plus.Solver("kuhn_poker"), "holds a run of DeepCFR"),
        (CASE.new, "holds iteration 3, and the solver is at 0: it would be overwritten"),
    ],
)
def test_another_runs_checkpoint_is_not_overwritten(make, message, path):
    CASE.new().run(3, checkpoint=path)
    before, solver = path.read_bytes(), None
    solver = make()
    with pytest.raises(CheckpointError, match=message):
        solver.run(1, checkpoint=path)
    assert path.read_bytes() == before
    assert solver.iterations == 0
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]  # the lock is released


def test_other_kinds_of_files(path, tmp_path):
    mccfr_plus.Solver("kuhn_poker", seed=1).run(1).save_checkpoint(path)
    with pytest.raises(
        CheckpointError, match=r"holds a tabular solver: load it with mccfr_plus.Solver.from_checkpoint"
    ):
        DeepCFR.from_checkpoint(path)
    with pytest.raises(CheckpointError, match="there is no file"):
        from_checkpoint(tmp_path / "nothing")
    with pytest.raises(CheckpointError, match="holds no network policy"):
        NetworkPolicy.load(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("game", None),
        ("kind", "strongest"),
        ("discount", -1.0),
        ("hidden_layers", None),
        ("hidden_layers", [3]),
    ],
)
def test_forged_headers_of_policies(name, value, tmp_path):
    game = mccfr_plus.load_game("kuhn_poker")
    networks = [MLP(11, 2, (4,)) for _ in range(2)]
    NetworkPolicy(game, networks, "softmax").save(tmp_path / "good")
    header, arrays = contents_of(tmp_path / "good")
    checkpoint_file.write(tmp_path / "forged", {**header, name: value}, arrays)
    with pytest.raises(CheckpointError):
        NetworkPolicy.load(tmp_path / "forged")
    with pytest.raises(GameError, match="tic_tac_toe provides no information_state_tensor"):
        NetworkPolicy.load(tmp_path / "good", "tic_tac_toe")


# --- callbacks ---


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


def test_tensorboard(tmp_path, monkeypatch):
    written = []

    class SummaryWriter:
        def __init__(self, directory):
            self.directory = directory

        def add_scalar(self, name, value, step):
            written.append((name, value, step))

        def flush(self):
            written.append(self.directory)

    module = types.SimpleNamespace(SummaryWriter=SummaryWriter)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    solver = CASES["DREAM"].new().run(1, callbacks=[TensorBoardLogger(tmp_path)])
    assert ("loss/player0", solver.losses[0], 1) in written
    assert written[-1] == str(tmp_path)
    assert not [entry for entry in written if entry[0] == "exploitability"]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ConfigError, match="needs TensorBoard: pip install tensorboard"):
        TensorBoardLogger(tmp_path)
