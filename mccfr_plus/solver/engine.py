"""The arrays of a solver, the kernel that runs on them, and the threads that it runs in."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from mccfr_plus.averages.averaging import settled
from mccfr_plus.estimators import AverageMethod, SamplingWeights
from mccfr_plus.estimators.escher import refresh_values
from mccfr_plus.evaluation.kernels import normalize
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.kernels import loop
from mccfr_plus.kernels.scratch import ITERATION, NODES_TOUCHED, STEP, TRAVERSALS_DONE, Scratch, new_scratch, rollback
from mccfr_plus.kernels.thread_team import new_thread_team
from mccfr_plus.kernels.work_partition import MAX_OWNERS, new_work_partition
from mccfr_plus.minimizers.base import Rule
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.solver.interrupts import deferred_signals
from mccfr_plus.tree.expansion import INFOSETS_FULL, INTERRUPTED, NODES_FULL
from mccfr_plus.tree.game_tree import GameTree
from mccfr_plus.tree.lazy_tree import LazyTree, Sizes

# What these write at an infoset depends on that infoset alone.
LOCAL_RULES = (
    Rule.REGRET_MATCHING,
    Rule.REGRET_MATCHING_PLUS,
    Rule.DISCOUNTED,
    Rule.PREDICTIVE,
    Rule.PREDICTIVE_PLUS,
    Rule.HEDGE,
)

_NOBODY = -9  # a player whose nodes do not occur: everybody is an opponent

# Fields of a scratch that every gradient begins anew. All others carry over. The list of all infosets that `full`
# makes once stands in `touched`: it depends on the tree alone, and is made again where there is none.
SCRATCH = frozenset({"gradient", "touched", "num_touched", "visits", "stack", "frames"})
_PER_SLOT = ("mark", "reach", "drawn")  # of the others, those that expand with the tree


class Engine:
    """What a solver's iterations read and write.

    Args:
        config: The parts.
        tree: The game.
        rngs: ``[threads]`` uint64, the states of the random generators, one per thread.
    """

    def __init__(self, config: SolverConfig, tree: GameTree | LazyTree, rngs: np.ndarray):
        self.config = config
        self.tree = tree
        self.average_method = config.average_method(tree)
        self.stopped: str | None = None  # why a lazy tree cannot expand any more
        self._pool: ThreadPoolExecutor | None = None
        self._has_forgotten = False
        self._allocate(rngs)

    def _allocate(self, rngs: np.ndarray) -> None:
        tree, config = self.tree, self.config
        estimator, minimizer = config.estimator, config.minimizer
        with_baseline = config.baseline is not None or estimator.keeps_values
        self.tables = minimizer.tables(tree)
        if isinstance(tree, GameTree):
            self.strategy = tree.uniform_strategy()
        else:
            self.strategy = np.zeros(tree.slot_capacity)
            row = minimizer.row_of_ones
            tree.bind(
                self.strategy,
                None if row is None else self.tables[row],
                check_depth=with_baseline,
                single_trajectory=not (estimator.visits_all_own or estimator.visits_all_chance),
            )
        self.average = np.zeros(tree.slot_capacity + tree.num_players)
        self.baselines = np.zeros((tree.num_players, tree.node_capacity) if with_baseline else (0, 0))
        if estimator.keeps_values:  # those of uniform play
            for player, values in enumerate(self.baselines):
                refresh_values(tree.arrays, self.strategy, values, player)
        self.sampling = config.sampling_strategy(tree, strategy_of)
        together = config.together and config.threads > 1
        self._shares = new_work_partition(tree.arrays, config.threads, self._can_share_out()) if together else None
        self.scratches: list[Scratch] = []
        for thread in range(config.threads):
            self.scratches.append(
                new_scratch(
                    tree.arrays,
                    tree.shape,
                    rngs[thread : thread + 1].copy(),
                    max_visits=self._max_visits() * (config.batch if together else 1),
                    sample_per_infoset=estimator.samples_per_infoset,
                    frames=with_baseline,
                    thread=thread,
                    stride=1 if together else config.threads,
                    seen=self.scratches[0].mark if thread else None,
                    cells=self._shares.num_cells if self._shares else 0,
                )
            )
        self.parameters = [minimizer.parameters() for _ in self.scratches]
        self._bind(together)

    def _bind(self, together: bool) -> None:
        """Keeps the kernel's arguments, per thread, in the order that it takes them."""
        tree, config = self.tree, self.config
        estimator, baseline = config.estimator, config.baseline
        with_leaves = estimator.needs_leaves and isinstance(tree, GameTree)
        arrays = tree.arrays_with_leaves if with_leaves else tree.arrays  # type: ignore[union-attr]
        sampling_weights_of = {
            SamplingWeights.NONE: np.zeros(0),
            SamplingWeights.SAMPLING: self.sampling,
            SamplingWeights.AVERAGE: self.average,
            SamplingWeights.REGRETS: self.tables[0] if len(self.tables) else np.zeros(0),
        }
        self._team = None
        if together or tree.is_lazy:
            self._team = new_thread_team(tree.arrays, self.scratches, self._shares)
        self._arguments = [
            loop.flatten(
                arrays,
                scratch,
                self.strategy,
                self.tables,
                self.average,
                estimator.parameters(),
                sampling_weights_of[estimator.sampling_weights],
                self.baselines,
                0.0 if baseline is None else float(baseline.rate),
                baseline is not None and baseline.backup == "expected",
                parameters,
                int(self.average_method),
                float(config.averaging.gamma),
                config.visit_mode(tree),
                estimator.visits_all_own,
                estimator.updates_all_players,
                config.alternating,
                int(config.batch),
                None if self._team is None else self._team.words,
            )
            for scratch, parameters in zip(self.scratches, self.parameters, strict=True)
        ]
        self.run = loop.runner(estimator, config.minimizer, config.averaging)
        self._only = self._arguments[0] if len(self._arguments) == 1 and not tree.is_lazy else None

    def _can_share_out(self) -> bool:
        """Returns whether threads that make one gradient can each average and update infosets of their own."""
        minimizer, average = self.config.minimizer, self.config.averaging
        return (
            isinstance(self.tree, GameTree)
            and self.tree.perfect_recall
            and minimizer.kernel is None
            and average.kernel is None
            and minimizer.rule in LOCAL_RULES
            and self.average_method not in (AverageMethod.TOUCHED, AverageMethod.OPTIMISTIC)
            and self.config.threads <= MAX_OWNERS
        )

    def _max_visits(self) -> int:
        tree, estimator = self.tree, self.config.estimator
        if self.average_method not in (AverageMethod.OWN_TRAVERSAL, AverageMethod.VISITS):
            return 0
        if isinstance(tree, LazyTree):  # memory that is not used costs nothing
            return tree.node_capacity
        nodes, players, all_own = tree.arrays.nodes, range(tree.num_players), estimator.visits_all_own
        if self.average_method == AverageMethod.OWN_TRAVERSAL:
            return int(max(loop.max_visits(nodes, p, True, False, all_own) for p in players))
        if estimator.updates_all_players:
            return int(loop.max_visits(nodes, _NOBODY, False, False, False))
        all_chance = estimator.visits_all_chance
        return int(max(loop.max_visits(nodes, p, False, all_chance, all_own) for p in players))

    # --- running ---

    def prepare(self) -> None:
        """Compiles the kernel, if that is to be done."""
        self.run(0, *self._arguments[0])

    def advance(self, iterations: int) -> None:
        """Runs iterations; fewer if the memory of a lazy tree is full, which `stopped` then says.

        Raises:
            GameError: If the game of a lazy tree has raised an error, or has imperfect recall.
        """
        if self._only is not None:
            self.run(iterations, *self._only)
            return
        target = self.iterations + iterations
        self._run_to(target)
        if isinstance(self.tree, LazyTree):
            self._grow_on(self.tree, target)

    def _run_to(self, target: int) -> None:
        """Runs all threads until they have done their share, or have to stop before."""
        threads = len(self.scratches)
        if self.config.together:
            left = [target - int(scratch.counts[ITERATION]) for scratch in self.scratches]
        else:  # thread k does iterations k + 1, k + 1 + threads, ...
            left = [
                (target - thread + threads - 1) // threads - int(scratch.counts[ITERATION])
                for thread, scratch in enumerate(self.scratches)
            ]
        with deferred_signals(self._interrupt), _no_collection(self.tree.is_lazy):
            if threads == 1:
                self.run(left[0], *self._arguments[0])
                return
            if self._pool is None:
                self._pool = ThreadPoolExecutor(threads, thread_name_prefix="mccfr_plus")
            futures = [self._pool.submit(self.run, n, *a) for n, a in zip(left, self._arguments, strict=True)]
            for future in futures:
                future.result()

    def _interrupt(self) -> None:
        if isinstance(self.tree, LazyTree):
            self.tree.interrupt()

    def _grow_on(self, tree: LazyTree, target: int) -> None:
        """Looks why the kernel has returned, and runs on to the target where that is possible."""
        stuck_at = None
        while True:
            tree.raise_error()
            if not tree.perfect_recall:
                self._check_recall(tree)
            if tree.status == INFOSETS_FULL:
                self.stopped = tree.why_full()
                tree.go_on()
                return
            if tree.status == NODES_FULL:
                here = [w.counts[[ITERATION, STEP, TRAVERSALS_DONE]].tolist() for w in self.scratches]
                if here == stuck_at:
                    self.stopped = tree.why_full()
                    tree.go_on()
                    return
                stuck_at = here
                tree.go_on()
            elif tree.status == INTERRUPTED:  # by a signal whose handler has raised nothing
                tree.go_on()
            elif self.iterations >= target:
                return
            self.evict()
            self._run_to(target)

    def evict(self) -> None:
        """Forgets the nodes of a lazy tree that pass, and their baselines."""
        if isinstance(self.tree, LazyTree):
            self.baselines[:, self.tree.evict()] = 0.0

    def _check_recall(self, tree: LazyTree) -> None:
        if self.average_method == AverageMethod.LAZY:
            tree.require_perfect_recall("a lazily formed average")
        if not self._has_forgotten:
            self._has_forgotten = True
            self.config.check_game(tree)

    @property
    def iterations(self) -> int:
        """Iterations finished."""
        if self.config.together:
            return int(self.scratches[0].counts[ITERATION])
        return sum(int(scratch.counts[ITERATION]) for scratch in self.scratches)

    @property
    def nodes_touched(self) -> int:
        """Nodes visited by all threads."""
        return sum(int(scratch.counts[NODES_TOUCHED]) for scratch in self.scratches)

    # --- strategies ---

    def average_strategy(self, out: np.ndarray | None = None) -> np.ndarray:
        """Returns the average strategy, ``[num_slots]`` float64; uniform where nothing was visited yet.

        Args:
            out: ``[num_slots + num_players]`` float64 of a compiled tree, where it may be written; None: it is new.
        """
        if self.average_method == AverageMethod.NONE:
            return self.current_strategy()
        sums = self.average
        if self.average_method == AverageMethod.LAZY:
            sums = np.empty(len(sums)) if out is None else out
            settled(self.tree.found_infosets, self.strategy, self.average, self.scratches[0].seen, sums)
        strategy = np.empty(self.tree.num_slots) if out is None else out[: self.tree.num_slots]
        normalize(sums, self.tree.found_infosets, strategy)
        return strategy

    def current_strategy(self) -> np.ndarray:
        """Returns the strategy that the next iteration will play, ``[num_slots]`` float64."""
        return self.strategy[: self.tree.num_slots].copy()

    # --- the state ---

    def sizes(self) -> Sizes | None:
        """Returns how much of a lazy tree's arrays is in use; None for a compiled tree."""
        return self.tree.sizes() if isinstance(self.tree, LazyTree) else None

    def state(self) -> dict[str, np.ndarray]:
        """Returns all arrays that carry from one iteration to the next, by name: views or copies. Forget first."""
        sizes = self.sizes()
        state = self.places(sizes)
        state["minimizer_parameters"] = np.stack(self.parameters)
        if isinstance(self.tree, LazyTree) and sizes is not None:
            state |= {f"tree/{name}": array for name, array in self.tree.state(sizes).items()}
        return state

    def places(self, sizes: Sizes | None) -> dict[str, np.ndarray]:
        """Returns the arrays that a state is read into, by name, contiguous; see `end_loading`.

        Args:
            sizes: Of the engine whose state it is: how much of each array.
        """
        slots = self.tree.num_slots if sizes is None else sizes.slots
        nodes = None if sizes is None else sizes.nodes
        places = {
            "strategy": self.strategy[:slots],
            "average": self.average[:slots],
            "average_of_all": self.average[self.tree.slot_capacity :],
            "minimizer_parameters": np.stack(self.parameters),
            **{f"tables/{row}": table[:slots] for row, table in enumerate(self.tables)},
            **{f"baselines/{row}": baseline[:nodes] for row, baseline in enumerate(self.baselines)},
        }
        for thread, scratch in enumerate(self.scratches):
            for name, array in scratch._asdict().items():
                if name not in SCRATCH and name != "seen":
                    places[f"scratch{thread}/{name}"] = array[:slots] if name in _PER_SLOT else array
        if isinstance(self.tree, LazyTree) and sizes is not None:
            places |= {f"tree/{name}": array for name, array in self.tree.places(sizes).items()}
        return places

    def begin_loading(self) -> None:
        """Forgets all of the own state. Places may be filled after this, and not before."""
        if isinstance(self.tree, LazyTree):
            self._wipe()
            self.tree.begin_loading()

    def end_loading(self, sizes: Sizes | None, places: dict[str, np.ndarray]) -> None:
        """Goes on from a state that was read into `places`."""
        for own, loaded in zip(self.parameters, places["minimizer_parameters"], strict=True):
            own[:] = loaded
        for scratch in self.scratches:
            scratch.num_touched[:] = 0
            rollback(scratch, self.config.alternating)  # gradients, which are scratch, are gone
        if isinstance(self.tree, LazyTree) and sizes is not None:
            self.tree.end_loading(sizes, places["tree/texts"])

    def _wipe(self) -> None:
        """Makes everything zero that a new infoset of a lazy tree expects to be."""
        used = slice(0, self.tree.num_slots)
        self.tables[:, used] = 0.0
        self.average[used] = 0.0
        self.baselines[:, : self.tree.num_nodes] = 0.0
        for scratch in self.scratches:
            for name in _PER_SLOT:
                getattr(scratch, name)[used] = 0

    def __getstate__(self) -> dict:
        self.evict()
        return {
            "config": self.config,
            "tree": self.tree,
            "sizes": self.sizes(),
            "state": {name: np.array(array) for name, array in self.state().items()},
        }

    def __setstate__(self, state: dict) -> None:
        rngs = np.zeros(state["config"].threads, np.uint64)
        self.__init__(state["config"], state["tree"], rngs)  # type: ignore[misc]
        places = self.places(state["sizes"])
        self.begin_loading()
        for name, array in state["state"].items():
            places[name][...] = array
        self.end_loading(state["sizes"], places)


@contextlib.contextmanager
def _no_collection(wanted: bool) -> Iterator[None]:
    """Keeps Python's garbage collector from looking at the states that a expander keeps, which are in no circles."""
    if not wanted or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
