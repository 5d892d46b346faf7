"""The arrays of a solver, the kernel that runs on them, and the threads that it runs in."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from mccfr_plus.kernels import loop
from mccfr_plus.averages.averaging import settled
from mccfr_plus.solver.config import Combination
from mccfr_plus.estimators import Guide, Way
from mccfr_plus.estimators.escher import refresh_values
from mccfr_plus.evaluation.kernels import normalize
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.solver.interrupts import deferred_signals
from mccfr_plus.minimizers.base import Rule
from mccfr_plus.kernels.work_partition import MAX_OWNERS, new_shares
from mccfr_plus.kernels.thread_team import new_team
from mccfr_plus.tree.game_tree import GameTree
from mccfr_plus.tree.lazy_tree import GrownTree, Sizes
from mccfr_plus.tree.expansion import INFOSETS_FULL, INTERRUPTED, NODES_FULL
from mccfr_plus.kernels.scratch import ITERATION, NODES_TOUCHED, STEP, WALKS_DONE, Workspace, begin_turn_anew, new_workspace

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

# Fields of a workspace that every gradient begins anew. All others carry over. The list of all infosets that `full`
# makes once stands in `touched`: it depends on the tree alone, and is made again where there is none.
SCRATCH = frozenset({"gradient", "touched", "num_touched", "visits", "stack", "frames"})
_PER_SLOT = ("mark", "reach", "drawn")  # of the others, those that grow with the tree


class Engine:
    """What a solver's iterations read and write.

    Args:
        combination: The parts.
        tree: The game.
        rngs: ``[threads]`` uint64, the states of the random generators, one per thread.
    """

    def __init__(self, combination: Combination, tree: GameTree | GrownTree, rngs: np.ndarray):
        self.combination = combination
        self.tree = tree
        self.way = combination.way(tree)
        self.stopped: str | None = None  # why a growing tree cannot grow any more
        self._pool: ThreadPoolExecutor | None = None
        self._has_forgotten = False
        self._allocate(rngs)

    def _allocate(self, rngs: np.ndarray) -> None:
        tree, combination = self.tree, self.combination
        estimator, minimizer = combination.estimator, combination.minimizer
        with_baseline = combination.baseline is not None or estimator.keeps_values
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
                is_history=not (estimator.walks_all_own or estimator.walks_all_chance),
            )
        self.average = np.zeros(tree.slot_capacity + tree.num_players)
        self.baselines = np.zeros((tree.num_players, tree.node_capacity) if with_baseline else (0, 0))
        if estimator.keeps_values:  # those of uniform play
            for player, values in enumerate(self.baselines):
                refresh_values(tree.arrays, self.strategy, values, player)
        self.sampling = combination.sampling_strategy(tree, strategy_of)
        together = combination.together and combination.threads > 1
        self._shares = new_shares(tree.arrays, combination.threads, self._can_share_out()) if together else None
        self.workspaces: list[Workspace] = []
        for thread in range(combination.threads):
            self.workspaces.append(
                new_workspace(
                    tree.arrays,
                    tree.shape,
                    rngs[thread : thread + 1].copy(),
                    max_visits=self._max_visits() * (combination.batch if together else 1),
                    once=estimator.draws_once,
                    frames=with_baseline,
                    thread=thread,
                    stride=1 if together else combination.threads,
                    seen=self.workspaces[0].mark if thread else None,
                    cells=self._shares.num_cells if self._shares else 0,
                )
            )
        self.parameters = [minimizer.parameters() for _ in self.workspaces]
        self._bind(together)

    def _bind(self, together: bool) -> None:
        """Keeps the kernel's arguments, per thread, in the order that it takes them."""
        tree, combination = self.tree, self.combination
        estimator, baseline = combination.estimator, combination.baseline
        with_leaves = estimator.needs_leaves and isinstance(tree, GameTree)
        arrays = tree.arrays_with_leaves if with_leaves else tree.arrays  # type: ignore[union-attr]
        guides = {
            Guide.NONE: np.zeros(0),
            Guide.SAMPLING: self.sampling,
            Guide.AVERAGE: self.average,
            Guide.REGRETS: self.tables[0] if len(self.tables) else np.zeros(0),
        }
        self._team = None
        if together or tree.grows:
            self._team = new_team(tree.arrays, self.workspaces, self._shares)
        self._arguments = [
            loop.flatten(
                arrays,
                workspace,
                self.strategy,
                self.tables,
                self.average,
                estimator.parameters(),
                guides[estimator.guide],
                self.baselines,
                0.0 if baseline is None else float(baseline.rate),
                baseline is not None and baseline.backup == "expected",
                parameters,
                int(self.way),
                float(combination.averaging.gamma),
                combination.visit_mode(tree),
                estimator.walks_all_own,
                estimator.updates_all_players,
                combination.alternating,
                int(combination.batch),
                None if self._team is None else self._team.words,
            )
            for workspace, parameters in zip(self.workspaces, self.parameters, strict=True)
        ]
        self.run = loop.runner(estimator, combination.minimizer, combination.averaging)
        self._only = self._arguments[0] if len(self._arguments) == 1 and not tree.grows else None

    def _can_share_out(self) -> bool:
        """Returns whether threads that make one gradient can each average and update infosets of their own."""
        minimizer, average = self.combination.minimizer, self.combination.averaging
        return (
            isinstance(self.tree, GameTree)
            and self.tree.perfect_recall
            and minimizer.kernel is None
            and average.kernel is None
            and minimizer.rule in LOCAL_RULES
            and self.way not in (Way.TOUCHED, Way.OPTIMISTIC)
            and self.combination.threads <= MAX_OWNERS
        )

    def _max_visits(self) -> int:
        tree, estimator = self.tree, self.combination.estimator
        if self.way not in (Way.OWN_WALK, Way.VISITS):
            return 0
        if isinstance(tree, GrownTree):  # memory that is not used costs nothing
            return tree.node_capacity
        nodes, players, all_own = tree.arrays.nodes, range(tree.num_players), estimator.walks_all_own
        if self.way == Way.OWN_WALK:
            return int(max(loop.max_visits(nodes, p, True, False, all_own) for p in players))
        if estimator.updates_all_players:
            return int(loop.max_visits(nodes, _NOBODY, False, False, False))
        all_chance = estimator.walks_all_chance
        return int(max(loop.max_visits(nodes, p, False, all_chance, all_own) for p in players))

    # --- running ---

    def prepare(self) -> None:
        """Compiles the kernel, if that is to be done."""
        self.run(0, *self._arguments[0])

    def advance(self, iterations: int) -> None:
        """Runs iterations; fewer if the memory of a growing tree is full, which `stopped` then says.

        Raises:
            GameError: If the game of a growing tree has raised an error, or has imperfect recall.
        """
        if self._only is not None:
            self.run(iterations, *self._only)
            return
        target = self.iterations + iterations
        self._run_to(target)
        if isinstance(self.tree, GrownTree):
            self._grow_on(self.tree, target)

    def _run_to(self, target: int) -> None:
        """Runs all threads until they have done their share, or have to stop before."""
        threads = len(self.workspaces)
        if self.combination.together:
            left = [target - int(workspace.counts[ITERATION]) for workspace in self.workspaces]
        else:  # thread k does iterations k + 1, k + 1 + threads, ...
            left = [
                (target - thread + threads - 1) // threads - int(workspace.counts[ITERATION])
                for thread, workspace in enumerate(self.workspaces)
            ]
        with deferred_signals(self._interrupt), _no_collection(self.tree.grows):
            if threads == 1:
                self.run(left[0], *self._arguments[0])
                return
            if self._pool is None:
                self._pool = ThreadPoolExecutor(threads, thread_name_prefix="mccfr_plus")
            futures = [self._pool.submit(self.run, n, *a) for n, a in zip(left, self._arguments, strict=True)]
            for future in futures:
                future.result()

    def _interrupt(self) -> None:
        if isinstance(self.tree, GrownTree):
            self.tree.interrupt()

    def _grow_on(self, tree: GrownTree, target: int) -> None:
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
                here = [w.counts[[ITERATION, STEP, WALKS_DONE]].tolist() for w in self.workspaces]
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
            self.forget()
            self._run_to(target)

    def forget(self) -> None:
        """Forgets the nodes of a growing tree that pass, and their baselines."""
        if isinstance(self.tree, GrownTree):
            self.baselines[:, self.tree.forget()] = 0.0

    def _check_recall(self, tree: GrownTree) -> None:
        if self.way == Way.LAZY:
            tree.require_perfect_recall("a lazily formed average")
        if not self._has_forgotten:
            self._has_forgotten = True
            self.combination.check_game(tree)

    @property
    def iterations(self) -> int:
        """Iterations finished."""
        if self.combination.together:
            return int(self.workspaces[0].counts[ITERATION])
        return sum(int(workspace.counts[ITERATION]) for workspace in self.workspaces)

    @property
    def nodes_touched(self) -> int:
        """Nodes visited by all threads."""
        return sum(int(workspace.counts[NODES_TOUCHED]) for workspace in self.workspaces)

    # --- strategies ---

    def average_strategy(self, out: np.ndarray | None = None) -> np.ndarray:
        """Returns the average strategy, ``[num_slots]`` float64; uniform where nothing was visited yet.

        Args:
            out: ``[num_slots + num_players]`` float64 of a compiled tree, where it may be written; None: it is new.
        """
        if self.way == Way.NONE:
            return self.current_strategy()
        sums = self.average
        if self.way == Way.LAZY:
            sums = np.empty(len(sums)) if out is None else out
            settled(self.tree.found_infosets, self.strategy, self.average, self.workspaces[0].seen, sums)
        strategy = np.empty(self.tree.num_slots) if out is None else out[: self.tree.num_slots]
        normalize(sums, self.tree.found_infosets, strategy)
        return strategy

    def current_strategy(self) -> np.ndarray:
        """Returns the strategy that the next iteration will play, ``[num_slots]`` float64."""
        return self.strategy[: self.tree.num_slots].copy()

    # --- the state ---

    def sizes(self) -> Sizes | None:
        """Returns how much of a growing tree's arrays is in use; None for a compiled tree."""
        return self.tree.sizes() if isinstance(self.tree, GrownTree) else None

    def state(self) -> dict[str, np.ndarray]:
        """Returns all arrays that carry from one iteration to the next, by name: views or copies. Forget first."""
        sizes = self.sizes()
        state = self.places(sizes)
        state["minimizer_parameters"] = np.stack(self.parameters)
        if isinstance(self.tree, GrownTree) and sizes is not None:
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
        for thread, workspace in enumerate(self.workspaces):
            for name, array in workspace._asdict().items():
                if name not in SCRATCH and name != "seen":
                    places[f"workspace{thread}/{name}"] = array[:slots] if name in _PER_SLOT else array
        if isinstance(self.tree, GrownTree) and sizes is not None:
            places |= {f"tree/{name}": array for name, array in self.tree.places(sizes).items()}
        return places

    def begin_loading(self) -> None:
        """Forgets all of the own state. Places may be filled after this, and not before."""
        if isinstance(self.tree, GrownTree):
            self._wipe()
            self.tree.begin_loading()

    def end_loading(self, sizes: Sizes | None, places: dict[str, np.ndarray]) -> None:
        """Goes on from a state that was read into `places`."""
        for own, loaded in zip(self.parameters, places["minimizer_parameters"], strict=True):
            own[:] = loaded
        for workspace in self.workspaces:
            workspace.num_touched[:] = 0
            begin_turn_anew(workspace, self.combination.alternating)  # gradients, which are scratch, are gone
        if isinstance(self.tree, GrownTree) and sizes is not None:
            self.tree.end_loading(sizes, places["tree/texts"])

    def _wipe(self) -> None:
        """Makes everything zero that a new infoset of a growing tree expects to be."""
        used = slice(0, self.tree.num_slots)
        self.tables[:, used] = 0.0
        self.average[used] = 0.0
        self.baselines[:, : self.tree.num_nodes] = 0.0
        for workspace in self.workspaces:
            for name in _PER_SLOT:
                getattr(workspace, name)[used] = 0

    def __getstate__(self) -> dict:
        self.forget()
        return {
            "combination": self.combination,
            "tree": self.tree,
            "sizes": self.sizes(),
            "state": {name: np.array(array) for name, array in self.state().items()},
        }

    def __setstate__(self, state: dict) -> None:
        rngs = np.zeros(state["combination"].threads, np.uint64)
        self.__init__(state["combination"], state["tree"], rngs)  # type: ignore[misc]
        places = self.places(state["sizes"])
        self.begin_loading()
        for name, array in state["state"].items():
            places[name][...] = array
        self.end_loading(state["sizes"], places)


@contextlib.contextmanager
def _no_collection(wanted: bool) -> Iterator[None]:
    """Keeps Python's garbage collector from looking at the states that a frontier keeps, which are in no circles."""
    if not wanted or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
