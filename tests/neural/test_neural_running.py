"""Runs of neural solvers: checkpoints, rollback and callbacks."""

import dataclasses
import errno
import itertools
import logging
import os

import numpy as np
import pytest
from neural_states import copy_of, differing

torch = pytest.importorskip("torch")
from mccfr_plus import CheckpointError, ConfigError, Progress, Solver  # noqa: E402
from mccfr_plus.errors import TrainingError  # noqa: E402
from mccfr_plus.files import file as checkpoint_file  # noqa: E402
from mccfr_plus.files import writer  # noqa: E402
from mccfr_plus.neural import (  # noqa: E402
    DREAM,
    ESCHER,
    DeepCFR,
    DeepCFRConfig,
    DREAMConfig,
    ESCHERConfig,
    TrainingConfig,
)
from mccfr_plus.neural import checkpoint as checkpoints  # noqa: E402
from mccfr_plus.neural.network import Adam  # noqa: E402

VALUES = TrainingConfig(hidden_layers=(8,), train_steps=3, batch_size=8)
TRAINING = {"traversals": 30, "hidden_layers": (8,), "train_steps": 3, "batch_size": 8}
RESERVOIR = {"memory": "reservoir", "memory_capacity": 100}  # full in the second iteration
SMALL = DeepCFRConfig(**TRAINING)
SOLVERS = [
    (DeepCFR, SMALL),
    (DeepCFR, DeepCFRConfig(**TRAINING, **RESERVOIR, warm_start=False)),
    (DREAM, DREAMConfig(**TRAINING, baseline_training=VALUES, minimizer="pdcfr+")),
    (DREAM, DREAMConfig(**TRAINING, **RESERVOIR, baseline=False)),
    (ESCHER, ESCHERConfig(**TRAINING, value_training=VALUES, value_traversals=10)),
    (ESCHER, ESCHERConfig(**TRAINING, **RESERVOIR, values="exact")),
]
every_solver = pytest.mark.parametrize(("kind", "config"), SOLVERS)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


def iteration_of(path):
    return checkpoint_file.read_header(path)["iterations"] if path.exists() else 0


# --- checkpoints ---


@every_solver
def test_resumed_run_is_bitwise_identical(kind, config, path):
    whole = kind("kuhn_poker", config, seed=1).run(6)
    solver = kind("kuhn_poker", config, seed=1)
    assert solver.run(2, checkpoint=path) is solver
    assert iteration_of(path) == 2
    kind.from_checkpoint(path).run(2, checkpoint=path)
    assert iteration_of(path) == 4
    last = kind.from_checkpoint(path).run(2, checkpoint=path)
    assert differing(last, whole) == []
    assert differing(kind.from_checkpoint(path), whole) == []
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@every_solver
def test_checkpoints_within_a_run_are_complete(kind, config, path):
    """After a kill, each file written between two iterations resumes to the same end."""
    files = []

    def keep(progress):
        if path.exists():
            files.append((iteration_of(path), path.read_bytes()))

    solver = kind("kuhn_poker", config, seed=1)
    solver.run(5, checkpoint=path, checkpoint_interval=1e-9, callback=keep)
    assert [number for number, _ in files] == sorted(number for number, _ in files)
    assert 1 <= files[0][0] <= files[-1][0] < 5
    for number, content in (files[0], files[-1]):
        path.with_name("copy").write_bytes(content)
        copy = kind.from_checkpoint(path.with_name("copy"))
        assert copy.iterations == number
        assert differing(copy.run(5 - number), solver) == []


def test_checkpoint_interval(path, monkeypatch):
    """With a clock on which each reading takes a second, writes come at the given interval."""
    clock, written = itertools.count(), []
    monkeypatch.setattr(writer.time, "perf_counter", lambda: float(next(clock)))
    monkeypatch.setattr(checkpoint_file, "write", lambda _, header, __: written.append(header["iterations"]))
    DeepCFR("kuhn_poker", SMALL, seed=1).run(40, checkpoint=path, checkpoint_interval=50.0)
    assert 3 <= len(written) < 30
    assert max(np.diff([0, *written])) < 15
    written.clear()
    DeepCFR("kuhn_poker", SMALL, seed=1).run(40, checkpoint=path, checkpoint_interval=1e9)
    assert written == [40]  # at the end
    with pytest.raises(ConfigError, match="checkpoint_interval=0"):
        DeepCFR("kuhn_poker", SMALL, seed=1).run(1, checkpoint=path, checkpoint_interval=0)


@every_solver
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_rolls_back_to_the_last_iteration(kind, config, times, path, monkeypatch):
    """Also with a second Ctrl-C during the rollback."""
    solver, reference = (kind("kuhn_poker", config, seed=1).run(2) for _ in range(2))
    before = copy_of(solver)
    step, rollback, calls = Adam.step, solver._roll_back, []

    def interrupt(optimizer):
        calls.append(step(optimizer))
        if len(calls) == 4:  # within the second training
            raise KeyboardInterrupt

    def interrupt_again(before):
        calls.append(None)
        if times == 2 and len(calls) == 5:
            raise KeyboardInterrupt
        rollback(before)

    monkeypatch.setattr(solver, "_roll_back", interrupt_again)
    with monkeypatch.context() as patch:
        patch.setattr(Adam, "step", interrupt)
        with pytest.raises(KeyboardInterrupt):
            solver.run(5, checkpoint=path)
    assert len(calls) == 4 + times
    assert solver.iterations == iteration_of(path) == 2
    assert differing(solver, before) == []
    assert differing(kind.from_checkpoint(path), before) == []
    assert differing(solver.run(2), reference.run(2)) == []


def wild(parameters):
    """Makes predictions that are huge after a step, and losses that are infinite after another one."""
    return torch.optim.SGD(parameters, lr=1e12)


@pytest.mark.parametrize("memory", [{}, RESERVOIR])
def test_divergence_rolls_back_to_the_last_iteration(memory, path):
    config = DeepCFRConfig(hidden_layers=(), traversals=30, batch_size=8, train_steps=1, **memory)
    solver = DeepCFR("kuhn_poker", config, seed=1, optimizer=wild)
    message = (
        r"iteration 2: the advantage loss of player 0 is inf after.* as it was after iteration 1. Lower learning_rate"
    )
    with pytest.raises(TrainingError, match=message):
        solver.run(5, checkpoint=path)
    assert iteration_of(path) == solver.iterations == 1
    good = copy_of(DeepCFR("kuhn_poker", config, seed=1, optimizer=wild).run(1))
    assert differing(DeepCFR.from_checkpoint(path, optimizer=wild), good) == []
    before = path.read_bytes()
    with pytest.raises(TrainingError, match="iteration 2"):
        DeepCFR.from_checkpoint(path, optimizer=wild).run(5, checkpoint=path)
    assert path.read_bytes() == before


HOT = dataclasses.replace(VALUES, learning_rate=1e30)


@pytest.mark.parametrize(
    ("kind", "config"),
    [(DREAM, DREAMConfig(**TRAINING, baseline_training=HOT)), (ESCHER, ESCHERConfig(**TRAINING, value_training=HOT))],
)
def test_divergence_names_the_value_network(kind, config, path):
    with pytest.raises(TrainingError, match=f"iteration 1: the loss of the values of {kind.__name__}"):
        kind("kuhn_poker", config, seed=1).run(5, checkpoint=path)
    assert not path.exists()  # there has been no good iteration


def test_checkpoint_is_written_after_other_errors(path):
    def fail(progress):
        if progress.iterations == 3:
            raise ZeroDivisionError

    solver = DeepCFR("kuhn_poker", SMALL, seed=1)
    with pytest.raises(ZeroDivisionError):
        solver.run(9, checkpoint=path, callback=fail)
    assert differing(DeepCFR.from_checkpoint(path), DeepCFR("kuhn_poker", SMALL, seed=1).run(3)) == []


def test_a_failing_write_does_not_end_the_run(path, monkeypatch, caplog):
    failures = []

    def fail(_):
        failures.append(1)
        raise OSError(errno.ENOSPC, "No space left on device")

    solver = DeepCFR("kuhn_poker", SMALL, seed=1).run(2, checkpoint=path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", fail)
    with caplog.at_level(logging.WARNING, logger="mccfr_plus"), pytest.raises(CheckpointError, match="No space left"):
        solver.run(seconds=0.3, checkpoint=path, checkpoint_interval=0.01)
    assert len(failures) >= 2
    assert "The run goes on; the last good one is of iteration 2." in caplog.text
    assert solver.iterations > 3
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DeepCFR("leduc_poker", SMALL), "its game is kuhn_poker"),
        (lambda: DeepCFR("kuhn_poker", dataclasses.replace(SMALL, batch_size=9)), "its batch_size is 8"),
        (lambda: DREAM("kuhn_poker", DREAMConfig(**TRAINING)), "holds a run of DeepCFR, not of DREAM"),
        (
            lambda: Solver("kuhn_poker"),
            "holds a run of DeepCFR: load it with mccfr_plus.neural.DeepCFR.from",
        ),
        (lambda: DeepCFR("kuhn_poker", SMALL), "holds iteration 3, and the solver is at 0: it would be overwritten"),
    ],
)
def test_another_runs_checkpoint_is_not_overwritten(make, message, path):
    DeepCFR("kuhn_poker", SMALL, seed=1).run(3, checkpoint=path)
    before = path.read_bytes()
    solver = make()
    with pytest.raises(CheckpointError, match=message):
        solver.run(1, checkpoint=path)
    assert solver.iterations == 0
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]  # the lock is released


def test_a_damaged_file_is_not_overwritten(path):
    solver = DeepCFR("kuhn_poker", SMALL, seed=1).run(2, checkpoint=path)
    data = path.read_bytes()[:-40]
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=r"is damaged.*It is not overwritten"):
        solver.run(1, checkpoint=path)
    assert solver.iterations == 2
    assert path.read_bytes() == data


def test_a_tabular_checkpoint_is_not_overwritten(path):
    Solver("kuhn_poker", seed=1).run(1, checkpoint=path)
    with pytest.raises(CheckpointError, match="holds a tabular solver"):
        DeepCFR("kuhn_poker", SMALL).run(1, checkpoint=path)


def test_checkpoint_module_has_the_functions_of_the_protocol():
    for name in ("save", "arrays_of", "header_of_run"):
        assert callable(getattr(checkpoints, name))


# --- phases ---


@pytest.mark.parametrize(
    ("kind", "config", "expected"),
    [
        (*SOLVERS[0], ["traversals 0", "training 0", "traversals 1", "training 1"]),
        (*SOLVERS[2], ["traversals 0", "training 0", "traversals 1", "training 1", "values"]),
        (*SOLVERS[3], ["traversals 0", "training 0", "traversals 1", "training 1"]),
        (*SOLVERS[4], ["values 0", "traversals 0", "training 0", "values 1", "traversals 1", "training 1"]),
    ],
)
def test_phases_are_reported_in_order(kind, config, expected):
    reported = []
    solver = kind("kuhn_poker", config, seed=1)
    solver.run(2, on_phase=reported.append, callback=reported.append, evaluate_every=0)
    assert [progress.phase for progress in reported] == [*expected, None] * 2
    assert [progress.iterations for progress in reported] == [0] * len(expected) + [1] * (len(expected) + 1) + [2]
    assert all(isinstance(progress, Progress) and progress.solver is solver for progress in reported)
    seconds = [progress.seconds for progress in reported]
    assert seconds == sorted(seconds)
    assert [progress.evaluation is None for progress in reported] == [*[True] * len(expected), False] * 2
    count = len(reported)
    solver.iteration()  # outside of a run there are no callbacks
    solver.run(1)
    assert len(reported) == count


def test_callbacks_do_not_change_results(capsys):
    watched = DeepCFR("kuhn_poker", SMALL, seed=1).run(
        3, on_phase=lambda _: None, progress=True, target_exploitability=1e-9
    )
    assert differing(watched, DeepCFR("kuhn_poker", SMALL, seed=1).run(3)) == []
    err = capsys.readouterr().err
    assert "3/3" in err or "2/3" in err
    assert "iterations" in err
    DeepCFR("kuhn_poker", SMALL, seed=1).run(3)
    assert capsys.readouterr().err == ""
