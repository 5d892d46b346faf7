"""Checkpoints of neural solvers: resumed runs are bitwise identical, other files are errors."""

import dataclasses
import json
import zipfile

import numpy as np
import pytest
from checkpoint_contents import contents_of
from neural_states import copy_of, differing

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
from mccfr_plus import CheckpointError  # noqa: E402
from mccfr_plus.files import file as checkpoint_file  # noqa: E402
from mccfr_plus.neural import DeepCFR, DeepCFRConfig  # noqa: E402

SMALL = DeepCFRConfig(traversals=40, hidden_layers=(8, 8), train_steps=5, batch_size=16)
CONFIGS = [
    SMALL,
    dataclasses.replace(SMALL, memory="reservoir", memory_capacity=300, layer_norm=True, skip=True),
    dataclasses.replace(SMALL, memory="reservoir", warm_start=False, weighting="uniform", gradient_clip=0.1),
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


def edit_header(path, change):
    contents = contents_of(path)
    header = {name: value for name, value in contents.header.items() if name != "arrays"}
    change(header)
    checkpoint_file.write(path, header, contents.arrays)


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("method", ["load", "restore"])
def test_resumed_run_is_bitwise_identical(config, method, path):
    solver = DeepCFR("kuhn_poker", config, seed=1).run(4, evaluate_every=0)
    solver.save_checkpoint(path)
    saved = copy_of(solver)
    copy = (
        DeepCFR.from_checkpoint(path)
        if method == "load"
        else DeepCFR("kuhn_poker", config, seed=5).run(9).restore(path)
    )
    assert differing(copy, saved) == []
    assert (copy.config, copy.seed, copy.iterations) == (config, 1, 4)
    assert (copy.nodes_touched, copy.seconds, copy.history.kept()) == (
        solver.nodes_touched,
        solver.seconds,
        solver.history.kept(),
    )
    solver.run(4)
    copy.run(4)
    assert differing(copy, solver) == []
    assert not np.array_equal(saved["strategy"], solver.state()["strategy"])


def test_before_the_first_iteration(path):
    DeepCFR("kuhn_poker", CONFIGS[1], seed=1).save_checkpoint(path)
    assert differing(DeepCFR.from_checkpoint(path).run(3), DeepCFR("kuhn_poker", CONFIGS[1], seed=1).run(3)) == []


def test_there_is_no_pickle_in_it(path):
    DeepCFR("kuhn_poker", SMALL, seed=1).run(1).save_checkpoint(path)
    with zipfile.ZipFile(path) as archive:
        assert {name.rsplit(".", 1)[1] for name in archive.namelist()} == {"npy", "json"}
        for name in archive.namelist():
            if name.endswith(".npy"):
                with archive.open(name) as member:
                    np.lib.format.read_array(member, allow_pickle=False)


@pytest.mark.parametrize("position", [0.2, 0.5, 0.9])
def test_damaged_file_leaves_the_solver_unchanged(position, path):
    solver = DeepCFR("kuhn_poker", CONFIGS[1], seed=1).run(2)
    solver.save_checkpoint(path)
    solver.run(3)
    before = copy_of(solver)
    data = bytearray(path.read_bytes())
    begin = int(len(data) * position)
    data[begin : begin + 300] = bytes(byte ^ 0xFF for byte in data[begin : begin + 300])
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match="damaged"):
        solver.restore(path)
    assert differing(solver, before) == []
    with pytest.raises(CheckpointError, match="damaged"):
        DeepCFR.from_checkpoint(path)


def test_other_config_game_or_algorithm(path, tmp_path):
    solver = DeepCFR("kuhn_poker", SMALL, seed=1).run(2)
    solver.save_checkpoint(path)
    other = DeepCFR("kuhn_poker", dataclasses.replace(SMALL, learning_rate=0.5), seed=1)
    before = copy_of(other)
    message = r"its learning_rate is 0.002, and the solver's is 0.5. Use DeepCFR.from_checkpoint"
    with pytest.raises(CheckpointError, match=message):
        other.restore(path)
    assert differing(other, before) == []
    with pytest.raises(CheckpointError, match=r"its game is kuhn_poker\(\), and the solver's is leduc_poker\(\)"):
        DeepCFR.from_checkpoint(path, "leduc_poker")
    with pytest.raises(CheckpointError, match=r"holds a run of DeepCFR: load it with mccfr_plus.neural.DeepCFR.from"):
        mccfr_plus.Solver.from_checkpoint(path)
    mccfr_plus.Solver("kuhn_poker", seed=1).run(1).save_checkpoint(tmp_path / "tabular")
    with pytest.raises(
        CheckpointError, match=r"holds a tabular solver: load it with mccfr_plus.Solver.from_checkpoint"
    ):
        DeepCFR.from_checkpoint(tmp_path / "tabular")
    edit_header(path, lambda header: header.update(algorithm="NFSP"))
    with pytest.raises(CheckpointError, match=r"holds a run of NFSP, not of DeepCFR: load it with NFSP.from"):
        DeepCFR.from_checkpoint(path)
    with pytest.raises(CheckpointError, match="there is no file"):
        DeepCFR.from_checkpoint(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header.pop("seconds"), "lacks the entry .seconds."),
        (lambda header: header["config"].update(colour="red"), "has a config that this version"),
        (lambda header: header["config"].update(traversals=0), "has a config that this version.*traversals=0"),
        (lambda header: header.update(memory_sizes={"player0/memory": 3}), "its memories are"),
        (lambda header: header["memory_sizes"].update({"player0/memory": -1}), "its entry .memory_sizes."),
        (lambda header: header.update(tree="0" * 32), r"its tree \(rules, payoffs"),
    ],
)
def test_invalid_headers(change, message, path):
    DeepCFR("kuhn_poker", SMALL, seed=1).run(1).save_checkpoint(path)
    edit_header(path, change)
    with pytest.raises(CheckpointError, match=message):
        DeepCFR.from_checkpoint(path)


def test_memories_of_another_size(path):
    solver = DeepCFR("kuhn_poker", CONFIGS[1], seed=1).run(2)
    solver.save_checkpoint(path)
    edit_header(path, lambda header: header["memory_sizes"].update({"player0/memory": 2}))
    before = copy_of(solver)
    with pytest.raises(CheckpointError, match=r"does not fit: its array 'player0/memory/"):
        solver.restore(path)
    assert differing(solver, before) == []


def test_other_versions_are_logged(path, caplog):
    DeepCFR("kuhn_poker", SMALL, seed=1).run(1).save_checkpoint(path)
    edit_header(path, lambda header: header["versions"].update(torch="2.0.0"))
    DeepCFR.from_checkpoint(path)
    assert "torch 2.0.0" in caplog.text
    assert torch.__version__ in caplog.text
    assert json.dumps(checkpoint_file.read_header(path)["config"])
