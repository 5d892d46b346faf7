"""Checkpoints of a solver: it goes on bit for bit, nothing else is taken for one, a run keeps its own up to date."""

import errno
import logging
import os
import pickle
from dataclasses import dataclass

import naive
import numpy as np
import pyspiel
import pytest
from combinations import Combination, covering
from lazy_trees import PLENTY, differences, lazy_solver

from mccfr_plus import CheckpointError, Full, OutcomeSampling, Progress, RegretMatching, Solver
from mccfr_plus.files import checkpoint as checkpoint_file
from mccfr_plus.files.checkpoint import CheckpointLock
from mccfr_plus.solver import engine, saved_state
from mccfr_plus.solver.engine import CARRIED
from mccfr_plus.solver.saved_state import read_header


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


@pytest.fixture
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def solver():
    return Solver(naive.tree_of("kuhn_poker"), "external", "rm", seed=1)


def spoil_scratch(solver):
    """Writes nonsense to what no iteration may read before it has written it."""
    scratch = solver._engine.scratches[0]
    for name in set(scratch._fields) - {*CARRIED, "seen", "values"}:  # the last two are parts of other arrays
        array = getattr(scratch, name)
        array.view(np.uint8)[:] = 0x5A if array.dtype.names else 0xFF  # which are NaNs where numbers are floating
    if solver.estimator.needs_leaves or isinstance(solver.estimator, Full):
        scratch.touched[:] = 0  # nor these: see `touch_all`


def assert_same_state(one, other):
    for name, array in one.state().items():
        assert array.tobytes() == other.state()[name].tobytes(), name
    for name in ("average_strategy", "current_strategy"):
        assert getattr(one, name)().tobytes() == getattr(other, name)().tobytes()
    assert (one.iterations, one.nodes_touched) == (other.iterations, other.nodes_touched)


def assert_goes_on(path, tree, *arguments, **options):
    """A checkpoint after some iterations, taken over by a solver that has run elsewhere, ends where one run ends."""
    whole = Solver(tree, *arguments, seed=3, **options).run(2)
    whole.save_checkpoint(path)
    before = whole.tables().tobytes()
    other = Solver(tree, *arguments, seed=8, **options).run(3).restore(path)
    assert_same_state(other, whole)
    spoil_scratch(other)
    assert_same_state(other.run(2), whole.run(2))
    assert whole.tables().tobytes() != before
    return whole


# --- bitwise identical results ---


# Components that no combination has.
ALONE = [
    ("best_response", "rm+", None),
    ("balanced(epsilon=0.5)", "dcfr_pruning", None),
    ("external", "hedge(decay=0.5)", None),
    ("external", "dcfr(beta=-1e999)", None),
]


@pytest.mark.usefixtures("no_waiting_for_the_disk", "interpreted_loops")
@pytest.mark.parametrize(
    ("number", "combination"),
    list(enumerate([*covering(), *(Combination(*each, {}) for each in ALONE)])),
    ids=lambda each: "-".join(map(str, each)) if isinstance(each, tuple) else None,
)
def test_every_pair_of_components_goes_on_bit_for_bit(number, combination, path, monkeypatch):
    """And its strategies are distributions. Lazy trees are below."""
    monkeypatch.setattr(engine, "_LARGE_BATCH", 4)
    *components, options = combination
    options = {name: min(value, 4) if name == "batch" else value for name, value in options.items() if name != "tree"}
    only_two = combination.averaging == "sampled" or combination.estimator == "best_response"
    is_small = only_two or number % 2 or "batch" in options
    tree = naive.tree_of("kuhn_poker" if is_small else "kuhn_poker(players=3)")
    solver = assert_goes_on(path, tree, *components, **options)
    for strategy in (solver.average_strategy(), solver.current_strategy()):
        assert (strategy >= 0).all()
        sums = np.add.reduceat(strategy, tree.arrays.infosets["first_slot"])
        np.testing.assert_allclose(sums, 1, atol=1e-12)


# --- lazy trees and threads ---


LAZY = [
    ("external", {}),
    ("outcome", {"averaging": "stochastic", "batch": 3}),
    ("outcome(update_all_players=True)", {"averaging": "optimistic"}),
    ("external(sample_per_infoset=True)", {"alternating": False, "batch": 2}),
    ("external", {"baseline": True}),
    ("external", {"minimizer": "omd(weights='constant',optimistic=True)"}),
    ("external", {"threads": 2}),
    ("outcome", {"threads": 3, "averaging": "stochastic", "batch": 2}),
]


@pytest.mark.usefixtures("no_waiting_for_the_disk", "interpreted_loops")
@pytest.mark.parametrize(
    ("game", "estimator", "options"),
    [
        *(("leduc_poker", *form) for form in LAZY),
        *(("kuhn_poker(players=3)", *form) for form in LAZY[:2]),
    ],
    ids=str,
)
def test_lazy_trees_go_on_bit_for_bit(game, estimator, options, path):
    """Also into other memory, which another tree has filled, and by pickle."""
    done, others, then = 2, 4, 3
    whole = Solver(naive.tree_of(game), estimator, seed=3, **options).run(done + then)
    solver = lazy_solver(game, estimator, seed=3, **options).run(done)
    solver.save_checkpoint(path)
    less = PLENTY._replace(max_nodes=PLENTY.max_nodes // 2, max_infosets=3000, max_slots=9000)
    other = lazy_solver(game, estimator, seed=8, plan=less, **options).run(others).restore(path)
    copy = pickle.loads(pickle.dumps(solver))
    for one in (solver, other, copy):
        assert one.iterations == done
        assert differences(whole, one.run(then)) == []


@pytest.mark.parametrize("baseline", [None, True])
def test_a_gradient_that_was_ended_is_made_again(baseline, path):
    """With the same draws. Baselines that know them are forgotten, also by who loads the state."""
    arguments = {"batch": 300_000, "baseline": baseline, "seed": 1}
    whole, solver = (Solver("leduc_poker", "outcome", "rm", "stochastic", **arguments).run(1) for _ in range(2))
    solver.run(seconds=0.03)
    solver.save_checkpoint(path)
    copies = [solver, pickle.loads(pickle.dumps(solver)), Solver.from_checkpoint(path)]
    whole.run(1)
    for one in copies:
        assert one.iterations == 1
        if baseline:
            assert not one._engine.baselines.any()
        else:
            assert differences(whole, one.run(1)) == []


@pytest.mark.usefixtures("no_waiting_for_the_disk")
def test_less_memory_than_a_checkpoint_needs(path):
    lazy_solver("leduc_poker", "external", seed=3).run(200).save_checkpoint(path)
    for little in ({"max_nodes": 300}, {"max_infosets": 100}, {"max_slots": 100}):
        other = lazy_solver("leduc_poker", "external", plan=PLENTY._replace(**little), seed=8).run(3)
        state = other.average_strategy()
        with pytest.raises(CheckpointError, match=r"is too large: it has [0-9,]+ nodes and .*Raise the memory limit"):
            other.restore(path)
        assert other.average_strategy().tobytes() == state.tobytes()


def test_a_solver_on_a_lazy_tree_is_built_from_the_file_alone(path):
    for options in ({}, {"threads": 2, "averaging": "stochastic"}, {"threads": 2, "thread_mode": "fast"}):
        lazy_solver("leduc_poker", "external", seed=5, **options).run(40).save_checkpoint(path)
        copy = Solver.from_checkpoint(path)
        assert (copy.tree.kind, copy.config.threads) == ("lazy", options.get("threads", 1))
        assert copy.config.thread_mode == options.get("thread_mode", "deterministic")
        if copy.config.thread_mode == "deterministic":
            whole = Solver("leduc_poker", "external", seed=5, **options).run(50)
            assert differences(whole, copy.run(10)) == []


@pytest.mark.parametrize("estimator", ["external(sample_per_infoset=True)", "outcome"])
def test_what_a_solver_did_before_leaves_no_trace(estimator, path):
    """Draws and marks carry the numbers of traversals and gradients, which come a second time after going back."""
    whole = Solver(naive.tree_of("leduc_poker"), estimator, "rm", seed=3).run(30)
    whole.save_checkpoint(path)
    other = Solver(whole.tree, estimator, "rm", seed=8).run(1000).restore(path)
    assert_same_state(other.run(500), whole.run(500))


@pytest.mark.usefixtures("no_waiting_for_the_disk", "interpreted_loops")
@pytest.mark.parametrize("kind", ["rules", "lazy", "compiled"])
def test_imperfect_recall_goes_on_bit_for_bit(kind, path):
    game = naive.game("goofspiel(num_cards=4,imp_info=False,points_order=descending)")
    by_rules = kind == "rules"  # threads number infosets in an order that varies: all are found before the checkpoint
    config = {"batch": 2, "threads": 1 + by_rules, "alternating": by_rules, "memory": "4GB"}
    before = 12 if by_rules else 2
    solvers = [Solver(game, "external", tree=kind, seed=s, **config).run(n) for s, n in ((3, before), (8, 1))]
    assert not solvers[0].tree.perfect_recall
    found = solvers[0].tree.num_infosets
    solvers[0].save_checkpoint(path)
    copy, whole = (solver.state() for solver in (solvers[1].restore(path).run(2), solvers[0].run(2)))
    assert (solvers[0].tree.num_infosets > found) == (kind == "lazy")
    for name, array in whole.items():  # rows of payoffs on lazy trees may have other numbers
        assert name.startswith("tree/") or array.tobytes() == copy[name].tobytes(), name


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (("full", "prm+"), {}),
        (
            ("outcome(epsilon=0.3)", "dcfr(alpha=1.0, beta=-1e999)", "power(gamma=1.5, method='optimistic')"),
            {"batch": 4},
        ),
        (("external(sample_per_infoset=True)", "linear+", "sampled"), {"alternating": False}),
        (("outcome(epsilon=0.25)", "hedge(eta=3.0)"), {"baseline": "mean(rate=0.125)"}),
    ],
)
def test_a_solver_is_built_from_the_file_alone(arguments, options, path):
    solver = Solver("kuhn_poker", *arguments, seed=5, **options).run(20)
    solver.save_checkpoint(path)
    for game in (None, "kuhn_poker", solver.tree):
        copy = Solver.from_checkpoint(path, game)
        assert repr(copy) == repr(solver)
        assert (copy.seed, copy.seconds) == (5, solver.seconds)
        assert copy.seconds > 0
    assert_same_state(copy.run(10), solver.run(10))


@dataclass(frozen=True)
class MyRule(RegretMatching):
    parameter: float = 0.5


def test_parts_of_ones_own_are_restored_but_not_built(path):
    solver = Solver("kuhn_poker", "external", MyRule(), seed=1).run(20)
    solver.save_checkpoint(path)
    with pytest.raises(CheckpointError, match=r"minimizer=.*MyRule\(parameter=0\.5\).*restore\(path\)"):
        Solver.from_checkpoint(path)
    assert_same_state(Solver(solver.tree, "external", MyRule()).restore(path).run(5), solver.run(5))
    with pytest.raises(CheckpointError, match="its minimizer is"):
        Solver(solver.tree, "external", MyRule(0.25)).restore(path)
    with pytest.raises(CheckpointError, match="its minimizer is"):
        Solver(solver.tree, "external", "rm").restore(path)


@pytest.mark.usefixtures("interpreted_loops")
def test_a_sampling_strategy_of_ones_own(path):
    tree = naive.tree_of("kuhn_poker")
    strategy = np.random.default_rng(1).dirichlet([1.0, 1.0], tree.num_infosets).ravel()
    solver = Solver(tree, OutcomeSampling(sampling=strategy), seed=1).run(20)
    solver.save_checkpoint(path)
    with pytest.raises(CheckpointError, match=r"estimator=.*restore\(path\)"):
        Solver.from_checkpoint(path)
    same = Solver(tree, OutcomeSampling(sampling=strategy.copy())).restore(path)
    assert_same_state(same.run(20), solver.run(20))
    other = OutcomeSampling(sampling=pyspiel.UniformRandomPolicy(tree.game))  # whose repr has an address
    with pytest.raises(CheckpointError, match="its estimator is"):
        Solver(tree, other).restore(path)
    Solver(tree, other, seed=1).run(5).save_checkpoint(path)
    Solver(tree, OutcomeSampling(sampling=pyspiel.UniformRandomPolicy(tree.game))).restore(path)


# --- what is refused ---


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(
    ("game", "arguments", "options", "name"),
    [
        ("leduc_poker", ("external", "rm"), {}, "game"),
        ("kuhn_poker", ("outcome", "rm"), {}, "estimator"),
        ("kuhn_poker", ("external(sample_per_infoset=True)", "rm"), {}, "estimator"),
        ("kuhn_poker", ("external", "rm+", "uniform"), {}, "minimizer"),
        ("kuhn_poker", ("external", "rm", "linear"), {}, "averaging"),
        ("kuhn_poker", ("external", "rm", "lazy"), {}, "averaging"),
        ("kuhn_poker", ("external", "rm"), {"baseline": True}, "baseline"),
        ("kuhn_poker", ("external", "rm"), {"alternating": False}, "alternating"),
        ("kuhn_poker", ("external", "rm"), {"batch": 2}, "batch"),
    ],
)
def test_the_checkpoint_of_another_run(solver, game, arguments, options, name, path):
    solver.run(20).save_checkpoint(path)
    other = Solver(naive.tree_of(game), *arguments, seed=2, **options).run(3)
    twin = Solver(naive.tree_of(game), *arguments, seed=2, **options).run(3)
    before = path.read_bytes()
    for act in (lambda: other.restore(path), lambda: other.run(1, checkpoint=path)):
        with pytest.raises(CheckpointError, match=f"belongs to another run: its {name} is .* the solver's is "):
            act()
    assert_same_state(other, twin)
    assert path.read_bytes() == before
    if name == "game":
        with pytest.raises(CheckpointError, match="its game is"):
            Solver.from_checkpoint(path, other.tree)


@pytest.mark.parametrize("tree", ["lazy", "compiled"])
def test_the_checkpoint_of_a_game_that_is_called_the_same(tree, path):
    first, second = naive.perturbed("kuhn_poker", 1), naive.perturbed("kuhn_poker", 2)
    assert str(first) == str(second)
    Solver(first, "external", tree=tree, seed=1).run(20).save_checkpoint(path)
    with pytest.raises(CheckpointError, match="belongs to another run: its tree, that is rules, payoffs"):
        Solver.from_checkpoint(path, second)
    assert Solver.from_checkpoint(path, first).iterations == 20


# --- runs that keep a checkpoint ---


def test_a_run_writes_now_and_then_and_at_the_end(solver, path, monkeypatch):
    written = []
    write = checkpoint_file.write
    monkeypatch.setattr(
        checkpoint_file, "write", lambda path, header, arrays: (written.append(header), write(path, header, arrays))
    )
    solver.run(seconds=60, checkpoint=path, checkpoint_interval=0.01, callbacks=[lambda _: len(written) == 2])
    counts = [header["iterations"] for header in written]
    assert len(counts) == 3
    assert counts == sorted(set(counts))
    assert counts[-1] == solver.iterations == read_header(path)["iterations"]
    assert 0 < written[0]["seconds"] < written[-1]["seconds"] == solver.seconds
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]  # neither lock nor temporary files
    solver.run(10, checkpoint=path)
    assert read_header(path)["iterations"] == solver.iterations
    assert len(written) == len(counts) + 1


def test_writing_takes_a_bounded_share(solver, path, monkeypatch):
    """A clock of our own: each write takes 2 seconds, each chunk 0.1."""
    now, begun = [0.0], []

    def slow(*_):
        begun.append(now[0])
        now[0] += 2.0

    monkeypatch.setattr(checkpoint_file.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(checkpoint_file, "write", slow)
    with checkpoint_file.CheckpointWriter(solver, path, 0.5, saved_state) as checkpoint_writer:
        while now[0] < 200.0:
            now[0] += 0.1
            checkpoint_writer(Progress(solver, solver.iterations, 0, 0.0))
    assert begun[0] == pytest.approx(0.5)
    np.testing.assert_allclose(np.diff(begun), 20.0, atol=0.11)  # a tenth of which is the write


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_what_ends_a_run_early_is_written_too(solver, path, error):
    def fail(progress):
        if progress.iterations > 100:
            raise error

    with pytest.raises(error):
        solver.run(10_000_000, checkpoint=path, callbacks=[fail])
    assert 100 < solver.iterations < 10_000_000
    copy = Solver.from_checkpoint(path, solver.tree)
    assert_same_state(copy.run(10, checkpoint=path), solver.run(10))


def test_a_failing_write_does_not_end_the_run(solver, path, monkeypatch, caplog):
    fsync, failures = os.fsync, []

    def sometimes(handle):
        if len(failures) < 3:
            failures.append(solver.iterations)
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    solver.run(10, checkpoint=path)
    monkeypatch.setattr(os, "fsync", sometimes)
    with caplog.at_level(logging.WARNING, logger="mccfr_plus"):
        # Until three have failed, however slow the machine; at most a minute.
        solver.run(seconds=60.0, checkpoint=path, checkpoint_interval=0.02, callbacks=[lambda _: len(failures) == 3])
    assert len(set(failures)) == 3  # tried again later, not at once
    assert (
        caplog.text.count("No space left on device. The run continues; the last good checkpoint is from iteration 10.")
        == 3
    )
    assert_same_state(Solver.from_checkpoint(path, solver.tree), solver)


def test_a_failing_last_write_is_an_error_after_the_run(solver, path, monkeypatch, caplog):
    def fail(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    def interrupt(progress):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(CheckpointError, match="No space left"):
        solver.run(50, checkpoint=path)
    assert_same_state(solver, Solver(solver.tree, "external", "rm", seed=1).run(50))  # the result is kept
    with caplog.at_level(logging.WARNING, logger="mccfr_plus"), pytest.raises(KeyboardInterrupt):
        solver.run(50, checkpoint=path, callbacks=[interrupt])
    assert "the final checkpoint was not written: " in caplog.text
    assert list(path.parent.iterdir()) == []


def test_progress_is_not_overwritten_by_a_solver_that_is_behind(solver, path):
    solver.run(20, checkpoint=path)
    before = path.read_bytes()
    fresh = Solver(solver.tree, "external", "rm", seed=1)
    with pytest.raises(CheckpointError, match="holds iteration 20, but the solver is at iteration 0"):
        fresh.run(30, checkpoint=path)
    assert fresh.iterations == 0
    assert path.read_bytes() == before
    fresh.restore(path).run(10, checkpoint=path)
    assert read_header(path)["iterations"] == 30


def test_a_checkpoint_that_is_in_use(solver, path):
    with CheckpointLock(path) as claim:
        with pytest.raises(CheckpointError, match="in use"):
            solver.run(10, checkpoint=path)
        assert solver.iterations == 0
        solver.run(10, checkpoint=claim)  # the caller's claim stays with the caller
        with pytest.raises(CheckpointError, match="in use"):
            CheckpointLock(path)
    solver.run(10, checkpoint=path)
