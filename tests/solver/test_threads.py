"""Threads: deterministic ones are an exact batch, whatever the timing; fast ones lose little; bad numbers fail."""

import sys
import threading

import naive
import numpy as np
import pytest
from interpreted import interpreted, plain_solver
from lazy_trees import PLENTY, differences, lazy_solver

from mccfr_plus import Solver
from mccfr_plus.averages.average import own_traversal
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators.traversal import draw_action, draw_exploring
from mccfr_plus.minimizers.minimizer import minimize_with
from mccfr_plus.parameters import new_states
from mccfr_plus.solver.config import estimate_with
from mccfr_plus.solver.loop import IS_TOO_LONG
from mccfr_plus.trees.scratch import begin_gradient, begin_traversal

FORMS = [
    ("external", "lazy", {}),
    ("external", "stochastic", {"batch": 3}),
    ("outcome", "stochastic", {"alternating": False}),
    ("outcome", "optimistic", {"batch": 2}),
    ("outcome(update_all_players=True)", "stochastic", {"batch": 2}),
    ("opponent(sample_per_infoset=True)", "lazy", {"alternating": False, "batch": 2}),
    ("chance", "uniform", {}),
    ("chance", "stochastic", {}),
    ("average_strategy", "stochastic", {}),
]
GOOFSPIEL = "goofspiel(imp_info=True,num_cards=3,points_order=descending,returns_type=win_loss)"


def arrays_of(solver):
    engine = solver._engine
    return [
        solver.average_strategy(),
        engine.strategy,
        engine.tables,
        engine.average,
        *(w.rng for w in engine.scratches),
    ]


def assert_same(one, other):
    for ours, theirs in zip(arrays_of(one), arrays_of(other), strict=True):
        assert ours.tobytes() == theirs.tobytes()
    assert (one.iterations, one.nodes_touched) == (other.iterations, other.nodes_touched)


class Sequential:
    """The traversals of all threads one after another, their gradients added up with NumPy.

    It consists of kernels that are tested on their own: one traversal, one update, one addition to the average.
    """

    def __init__(self, solver, seed):
        self.solver, config = solver, solver.config
        self.threads, self.batch = config.threads, config.batch
        self.tree, self.num_slots = solver.tree.arrays, solver.tree.num_slots
        self.rngs = new_states(seed, self.threads)
        components = config.estimator, config.minimizer, config.averaging
        self.engine = Solver(solver.tree, *components, alternating=config.alternating, seed=0)._engine
        self.scratch = self.engine.scratches[0]
        self.method = self.engine.average_method
        self.estimate = interpreted(estimate_with(config.estimator, list_visit=self.method.list_visit))
        self.minimize = interpreted(minimize_with(config.minimizer))
        self.accumulate = interpreted(self.method.accumulate)
        self.iteration = 0

    def traversals(self, player):
        """Returns {player: gradient}, {player: {first slot: touched}} and visits, of all threads in order."""
        scratch, engine, is_for_all = self.scratch, self.engine, self.solver.estimator.update_all_players
        players = range(self.solver.tree.num_players) if is_for_all else [player]
        total, touched, visits = dict.fromkeys(players), {p: {} for p in players}, []
        for thread in range(self.threads):
            for p in players:
                begin_gradient(self.tree, scratch, p)
            scratch.rng[0] = self.rngs[thread]
            for _ in range(self.batch):
                begin_traversal(scratch)
                parameters = self.solver.estimator.parameters()
                self.estimate(parameters, engine.sampling_weights(), self.tree, engine.strategy, scratch, player)
                visits += scratch.visits[: scratch.counts[0]["num_visits"]].tolist()
            self.rngs[thread] = scratch.rng[0]
            for p in players:
                begin, empty = self.tree.infoset_range[p], self.num_slots + p
                gradient = np.zeros(len(scratch.gradient))
                gradient[empty] = scratch.gradient[empty]
                for record in scratch.touched[begin : begin + scratch.num_touched[p]]:
                    first, count, _ = record.tolist()
                    gradient[first : first + count] = scratch.gradient[first : first + count]
                    touched[p].setdefault(first, record.copy())
                total[p] = gradient if total[p] is None else total[p] + gradient
        return total, touched, visits

    def average(self, player, gradient, touched, visits):
        """Averages as one thread does with this gradient; returns the mean gradient."""
        scratch, engine = self.scratch, self.engine
        scale = 1.0 / (self.threads * self.batch)
        for first, count, weight in visits:
            engine.average[first : first + count] += scale * weight * engine.strategy[first : first + count]
        self.give(player, gradient, touched)
        for first, count, _ in (record.tolist() for record in touched.values()):
            scratch.gradient[first : first + count] *= scale
        scratch.gradient[self.num_slots + player] *= scale
        scratch.rng[0] = self.rngs[0]  # for own traversals
        self.accumulate(self.tree, engine.strategy, engine.average, scratch, player, 1.0)
        self.rngs[0] = scratch.rng[0]
        return scratch.gradient.copy()

    def give(self, player, gradient, touched):
        begin = self.tree.infoset_range[player]
        self.scratch.num_touched[player] = len(touched)
        for position, record in enumerate(touched.values()):
            self.scratch.touched[begin + position] = record
        self.scratch.gradient[:] = gradient

    def update(self, player, gradient, touched):
        engine = self.engine
        self.give(player, gradient, touched)
        arrays = self.tree, engine.strategy, engine.tables, self.scratch
        self.minimize(*arrays, player, self.iteration, engine.parameters[0])

    def run(self, iterations):
        for _ in range(iterations):
            self.iteration += 1
            waiting = []
            for player in range(self.solver.tree.num_players):
                if player == 0 or not self.solver.estimator.update_all_players:
                    total, touched, visits = self.traversals(player)
                else:
                    visits = []
                gradient = self.average(player, total[player], touched[player], visits)
                waiting.append((player, gradient, touched[player]))
                if self.solver.config.alternating:
                    self.update(*waiting.pop())
            for update in waiting:
                self.update(*update)


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(("estimator", "averaging", "options"), FORMS, ids=str)
@pytest.mark.parametrize(("game", "threads"), [("kuhn_poker", 3), ("kuhn_poker(players=3)", 2)])
def test_deterministic_threads_are_an_exact_batch(game, estimator, averaging, options, threads):
    solver = Solver(naive.tree_of(game), estimator, "rm", averaging, threads=threads, seed=3, **options)
    sequential = Sequential(solver, 3)
    solver.run(6)
    sequential.run(6)
    ours, theirs = solver._engine, sequential.engine
    assert ours.strategy.tobytes() == theirs.strategy.tobytes()
    assert ours.tables.tobytes() == theirs.tables.tobytes()
    assert ours.average.tobytes() == theirs.average.tobytes()
    assert [int(w.rng[0]) for w in ours.scratches] == sequential.rngs.tolist()


@pytest.mark.parametrize(
    ("estimator", "averaging", "options"),
    [pytest.param(*form, marks=pytest.mark.slow if form != FORMS[1] else ()) for form in FORMS],
)
def test_timing_changes_no_bit(estimator, averaging, options):
    """However the threads are switched, with other threads in between, and on a lazy tree."""
    arguments, options = (estimator, "rm", averaging), {"threads": 4, "seed": 3, **options}
    first = Solver(naive.tree_of("leduc_poker"), *arguments, **options).run(12)
    interval, stop = sys.getswitchinterval(), threading.Event()
    load = threading.Thread(target=lambda: [None for _ in iter(stop.is_set, True)])
    load.start()
    sys.setswitchinterval(1e-6)
    try:
        again = Solver(first.tree, *arguments, **options)
        for count in (1, 4, 7):
            again.run(count)
        lazy = lazy_solver("leduc_poker", *arguments, **options).run(12)
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        load.join()
    assert_same(first, again)
    assert differences(first, lazy) == []


@pytest.mark.parametrize("tree", ["lazy", "rules"])
def test_batches_of_any_size_have_room_for_their_visits_or_say_so(tree):
    solver = Solver("kuhn_poker", "external", averaging="stochastic", tree=tree, threads=2, batch=5000).run(1)
    before = arrays_of(solver)
    solver._engine._team[0, IS_TOO_LONG] = 1  # what a thread with 2^26 visits writes
    with pytest.raises(ConfigError, match="give a smaller batch"):
        solver.run(1)
    assert all(np.array_equal(a, b) for a, b in zip(before[:2], arrays_of(solver)[:2], strict=True))
    assert solver.run(1).iterations == 2


@pytest.mark.parametrize(
    ("game", "minimizer"),
    [("leduc_poker", "rm+"), *((GOOFSPIEL, each) for each in ("rtcfr+(period=4)", "omd(optimistic=True)", "dcfr"))],
)
def test_threads_share_the_gradient_of_a_stored_tree(game, minimizer):
    make, options = plain_solver if game == GOOFSPIEL else Solver, {"alternating": minimizer != "dcfr"}
    one, *others = (make(naive.tree_of(game), "full", minimizer, threads=n, **options) for n in (1, 2, 3))
    for other in (one, *others):
        other.run(3).run(7)
        assert (other.average_strategy() == one.average_strategy()).all()
        for name in ("strategy", "tables"):
            assert (getattr(other._engine, name) == getattr(one._engine, name)).all()
        assert other.nodes_touched == one.nodes_touched


# A thread that is put to sleep between reading and writing a sum takes it back by what others have added meanwhile.
# How often that happens is the machine's affair: where it is loaded, these tests run on for longer.


def run_until(solver, exploitability, most):
    """Runs twice as far again and again until the average is as good; returns the last exploitability."""
    while (found := solver.exploitability()) > exploitability and solver.iterations < most:
        solver.run(solver.iterations)
    return found


@pytest.mark.parametrize("tree", ["compiled", "lazy"])
@pytest.mark.parametrize("estimator", ["external", "outcome"])
def test_fast_threads_converge(tree, estimator):
    make = lazy_solver if tree == "lazy" else Solver
    solver = make("kuhn_poker", estimator, "rm", thread_mode="fast", threads=2, seed=1).run(30_000)
    assert solver.iterations == 30_000
    # One thread has 0.006 after these, uniform play 0.458.
    assert run_until(solver, 0.02, 30_000 << 10) < 0.02


def test_fast_threads_share_the_iterations():
    """Together they count 1, 2, 3, ...: weights of linear averages are those of one run."""
    best = dict.fromkeys((1, 2, 5, 6, 100, 101), 0.0)
    for seed in range(50):
        solver = Solver("kuhn_poker", "external", "rm", "linear", thread_mode="fast", threads=3, seed=seed)
        for total in best:
            solver.run(total - solver.iterations)
            assert solver.iterations == total
            weights = solver._engine.average[-2:]  # both players'; additions to these two numbers race
            assert (weights <= total * (total + 1) / 2).all()
            best[total] = max(best[total], weights.min())
    for total, found in best.items():
        assert found > (0.98 if total > 6 else 1 - 1e-9) * total * (total + 1) / 2


def test_fast_threads_with_baselines_and_with_little_memory():
    options = {"threads": 3, "thread_mode": "fast", "baseline": True, "seed": 1}
    little = lazy_solver("leduc_poker", "external", plan=PLENTY._replace(max_nodes=2000), **options).run(3000)
    assert "have filled memory" in little.stopped
    assert 0 < little.iterations < 3000
    assert np.isfinite(little.average_strategy()).all()
    solver = lazy_solver("leduc_poker", "external", **options).run(3000)
    assert solver.iterations == 3000
    assert run_until(solver, 0.4, 3000 << 6) < 0.4  # uniform play has 2.37


def test_fast_threads_find_each_infoset_once():
    """The table under contention: what several threads find at once is made by one of them."""
    for seed in range(5):
        solver = lazy_solver("leduc_poker", "external", threads=4, thread_mode="fast", seed=seed).run(400)
        tree, whole = solver.tree, naive.tree_of("leduc_poker")
        assert tree.num_infosets <= whole.num_infosets == 936
        found = {text: tree.infoset(text) for text in whole.info_states}
        assert sorted(number for number in found.values() if number is not None) == list(range(tree.num_infosets))
        for text, number in found.items():
            infoset = whole.infoset(text)
            if number is None:
                continue
            assert tree.legal_actions(number) == whole.legal_actions(infoset)
            assert tree.found_infosets[number]["player"] == whole.arrays.infosets[infoset]["player"]
        assert tree.num_nodes <= whole.num_nodes


def test_a_strategy_that_another_thread_is_writing_is_no_reason_to_crash():
    """For a moment all of it can be 0; a traversal then goes on somewhere, and not outside of the arrays."""
    rng, strategy = new_states(1, 1), np.zeros(4)
    for _ in range(10):
        assert draw_action(strategy, 1, 3, rng) == 0
        assert draw_exploring(strategy, np.zeros(0), 1, 3, 0.5, rng) in (0, 1, 2)
    tree = naive.tree_of("kuhn_poker(players=3)")
    solver = Solver(tree, "external", averaging="stochastic", seed=1)
    scratch = solver._engine.scratches[0]
    for player in range(3):
        assert own_traversal(tree.arrays, np.zeros(tree.num_slots), scratch, player)
        assert scratch.counts[0]["num_visits"] <= 1
