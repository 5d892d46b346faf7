"""The arrays of a solver, the kernel that runs on them, and the threads that it runs in."""

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from mccfr_plus.averages.average import Mechanism
from mccfr_plus.averages.methods import settled
from mccfr_plus.errors import GameError
from mccfr_plus.estimators import SamplingWeights
from mccfr_plus.estimators.draws import NO_PLAYER, list_nothing, max_visits
from mccfr_plus.estimators.escher import refresh_values
from mccfr_plus.evaluation.by_rules import RulesEvaluator, TraversalInterrupted
from mccfr_plus.evaluation.kernels import normalize
from mccfr_plus.evaluation.strategies import sampling_strategy_of
from mccfr_plus.kernels.interrupts import deferred_signals
from mccfr_plus.solver.config import SolverConfig, composed
from mccfr_plus.solver.loop import Settings, State, loop
from mccfr_plus.solver.team import NO_TEAM, new_team
from mccfr_plus.trees.expansion import EXPANDING, FULL, INTERRUPTED, STATUS, interrupt
from mccfr_plus.trees.needs import HISTORIES, INFOSETS, NO_VALUES, RULES
from mccfr_plus.trees.scratch import Scratch, new_scratch
from mccfr_plus.trees.tree import Sizes

_LARGE_BATCH = 100  # traversals: gradients of so many must be interruptible
_MANY_MOVES = 100  # in which probabilities of 1e-3 each multiply to less than a number can hold

# Fields of each thread's scratch that carry over to the next gradient; `seen` does, and is shared. The lists of all
# infosets that are made once, such as `touched` with `full`, depend on the tree alone, and are made again.
CARRIED = ("stamps", "reach", "reach_valid", "drawn", "counts", "rng")
_PER_SLOT = {"strategy", "tables", "average", "seen", "stamps", "reach", "drawn"}


class Engine:
    """What a solver's iterations read and write.

    Args:
        tree: A `Tree`.
        rngs: ``[threads]`` uint64, the states of the random generators, one per thread.
    """

    def __init__(self, config: SolverConfig, tree: Any, rngs: np.ndarray):
        self.config, self.tree = config, tree
        self.average_method = config.average_method(
            tree.num_players, tree.perfect_recall, by_rules=RULES in tree.provides
        )
        self.stopped: str | None = None  # why the run has ended early
        self._full: str | None = None  # why the tree cannot expand any more
        self.unfinished: str | None = None  # how far what comes before the first iteration was, when it was ended
        self.is_ended = False  # whether `end` was called, until the end of the run
        self._is_advancing, self._advancing = False, threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._allocate(rngs)
        self._lacks_infosets = self._needs_infosets
        self._bind()

    @property
    def _needs_infosets(self) -> bool:
        """Whether infosets by rules must have numbers before the first iteration."""
        return RULES in self.tree.provides and self.config.who_needs(HISTORIES, INFOSETS) is not None

    def _allocate(self, rngs: np.ndarray) -> None:
        tree, config = self.tree, self.config
        estimator, minimizer = config.estimator, config.minimizer
        with_values = config.baseline is not None or NO_VALUES not in estimator.provides
        self.tables = minimizer.tables(tree)
        row = minimizer.row_of_ones
        self.strategy = tree.attach(
            None if row is None else self.tables[row],
            check_depth=with_values,
            single_trajectory=not (estimator.visits_all_own or estimator.visits_all_chance),
        )
        self.average = np.zeros(tree.slot_capacity + tree.num_players)
        self.baselines = np.zeros((tree.num_players, tree.node_capacity) if with_values else (0, 0))
        if NO_VALUES not in estimator.provides:  # those of uniform play
            for player, values in enumerate(self.baselines):
                refresh_values(tree.arrays, self.strategy, values, player)
        self.sampling = np.zeros(0)
        if estimator.sampling_weights == SamplingWeights.SAMPLING:  # by rules it is 0 until all infosets were found
            self.sampling = np.zeros(tree.slot_capacity)
            if INFOSETS in tree.provides:
                self.sampling = sampling_strategy_of(tree, estimator)
        self.scratches: list[Scratch] = []
        for thread in range(config.threads):
            self.scratches.append(
                new_scratch(
                    tree.arrays,
                    tree.shape,
                    rngs[thread : thread + 1].copy(),
                    max_visits=self._max_visits() * (config.batch if config.is_team else 1),
                    sample_per_infoset=estimator.sample_per_infoset,
                    values=self.baselines,
                    thread=thread,
                    stride=1 if config.is_team else config.threads,
                    seen=self.scratches[0].seen if thread else None,
                )
            )
        self.parameters = [np.array(minimizer.parameters(), np.float64) for _ in self.scratches]

    def _bind(self) -> None:
        """Composes the loop and keeps its arguments, one tuple per thread."""
        config, tree = self.config, self.tree
        self._may_end = config.is_team or INFOSETS not in tree.provides or config.batch >= _LARGE_BATCH
        self.run = composed(loop, config, self.average_method, tree_slots=tree.bindings, may_end=self._may_end)
        arrays, self._expansion = tree.arrays_to_run_on(config.estimator.needs_leaves)
        state = State(self.strategy, self.tables, self.average)
        team = new_team(self.scratches) if config.is_team else NO_TEAM
        settings = map(self._settings, self.parameters)
        self._arguments = [(arrays, state, *each, team) for each in zip(self.scratches, settings, strict=True)]
        self._only = None if self._may_end or config.threads > 1 else self._arguments[0]

    def _settings(self, minimizer_parameters: np.ndarray) -> Settings:
        config, baseline = self.config, self.config.baseline
        parameters = np.array(config.estimator.parameters(), np.float64)
        if baseline is not None:
            parameters = np.append(parameters, float(baseline.rate))
        gamma, scheduled = config.averaging.last_gamma, config.averaging.scheduled
        weights = self.sampling_weights()
        return Settings(parameters, weights, minimizer_parameters, gamma, scheduled, int(config.batch))

    def sampling_weights(self) -> np.ndarray:
        """Returns the array that the estimator samples by."""
        wanted = self.config.estimator.sampling_weights
        if wanted == SamplingWeights.AVERAGE:
            return self.average
        if wanted == SamplingWeights.REGRETS:
            return self.tables[0]
        return self.sampling

    def _max_visits(self) -> int:
        tree, estimator, method = self.tree, self.config.estimator, self.average_method
        is_own = method.mechanism in (Mechanism.OWN_TRAVERSAL, Mechanism.OWN_HISTORY)
        if not is_own and method.list_visit is list_nothing:
            return 0
        if INFOSETS not in tree.provides:  # memory that is not used costs nothing
            return tree.node_capacity
        nodes, players, all_own = tree.arrays.nodes, range(tree.num_players), estimator.visits_all_own
        if is_own:
            return int(max(max_visits(nodes, p, True, False, all_own) for p in players))
        if estimator.update_all_players:
            return int(max_visits(nodes, NO_PLAYER, False, False, False))
        all_chance = estimator.visits_all_chance
        return int(max(max_visits(nodes, p, False, all_chance, all_own) for p in players))

    # --- running ---

    def number_infosets(self) -> bool:
        """Numbers all infosets of a game by rules, if a component needs them at the start, and makes what it needs.

        Returns whether that is done; `end` ends it early, and `unfinished` says how far it was.
        """
        tree, config = self.tree, self.config
        while self._lacks_infosets:
            evaluator = RulesEvaluator(tree, threads=1)
            try:
                if self._needs_matrix:
                    evaluator.find_payoff_matrix()
                elif self.iterations == 0:
                    evaluator.number_infosets()
            except TraversalInterrupted as interrupted:
                if self.is_ended:
                    self.unfinished = str(interrupted)
                    return False
                continue
            if INFOSETS in config.minimizer.needs and self.iterations == 0:
                config.minimizer.begin(tree, self.tables)
            if len(self.sampling):
                self.sampling[:] = config.estimator.sampling_strategy(tree)
            self._lacks_infosets = False
        return True

    @property
    def _needs_matrix(self) -> bool:
        return self.config.estimator.needs_leaves and self.tree.num_players == 2

    def prepare(self) -> None:
        """Compiles the kernels."""
        if self._lacks_infosets:
            RulesEvaluator(self.tree, threads=1).compile_numbering(with_leaves=self._needs_matrix)
        self.run(*self._arguments[0], 0)

    def begin(self) -> None:
        """Begins a run."""
        self.stopped, self.unfinished, self.is_ended = None, None, False

    def end(self) -> None:
        """Ends `advance` soon, within an iteration if need be, which the next call goes on with. From any thread."""
        with self._advancing:
            self.is_ended = True
            if self._is_advancing:  # and not an evaluation
                self.interrupt()

    def interrupt(self) -> None:
        """Ends the loop soon. From any thread."""
        interrupt(self._expansion)

    def advance(self, iterations: int) -> None:
        """Runs iterations; fewer if a run is ended, or the memory of a lazy tree is full, which `stopped` then says.

        The gradient under way is thrown away then. In an alternating order, players who were updated in that iteration
        before stay so.
        """
        with self._advancing:
            if self.is_ended:
                return
            self._is_advancing = True
        try:
            if self._only is not None:
                self.run(*self._only, iterations)
            elif self.number_infosets():
                self._advance_to(self.iterations + iterations)
        finally:
            with self._advancing:
                self._is_advancing = False
                if self._expansion[STATUS] == INTERRUPTED:
                    self._expansion[STATUS] = EXPANDING

    def _advance_to(self, target: int) -> None:
        while self._full is None and not self.is_ended:
            self._run_to(target)
            self._check()
            status, self._expansion[STATUS] = int(self._expansion[STATUS]), EXPANDING  # also for evaluations
            if status == FULL:
                self._full = self.tree.why_full()
            elif self.iterations >= target:
                return
        self.stopped = self._full

    def _run_to(self, target: int) -> None:
        """Runs all threads until they have done their share, or have to stop before."""
        threads = len(self.scratches)
        if self.config.threads == 1 or self.config.is_team:
            shares = [target] * threads
        else:  # thread k does iterations k + 1, k + 1 + threads, ...
            shares = [(target - thread + threads - 1) // threads for thread in range(threads)]
        left = [share - int(each.counts[0]["iteration"]) for share, each in zip(shares, self.scratches, strict=True)]
        with deferred_signals(self.interrupt):
            if threads == 1:
                self.run(*self._arguments[0], left[0])
            else:
                if self._pool is None:
                    self._pool = ThreadPoolExecutor(threads, thread_name_prefix="mccfr_plus")
                futures = [self._pool.submit(self.run, *a, n) for n, a in zip(left, self._arguments, strict=True)]
                for future in futures:
                    future.result()
        was_ended = any(each.counts[0]["iteration"] < share for share, each in zip(shares, self.scratches, strict=True))
        if was_ended and self.config.baseline is not None:
            self.baselines[:, : self.tree.num_nodes] = 0.0  # they know the draws, which are made again: a bias

    def _check(self) -> None:
        """Raises what has ended the loop, if that was an error."""
        tree = self.tree
        tree.check()
        if INFOSETS not in tree.provides and tree.game.max_game_length() >= _MANY_MOVES:
            infosets = tree.found_infosets
            first = infosets["first_slot"][infosets["parent_slot"] >= tree.slot_capacity]
            # What comes before a history that is too unlikely for the weight 1 / probability has its values, too.
            if not np.isfinite(self.tables[:, first]).all():
                raise GameError(
                    f"{tree.game}: a sampled history is so unlikely, below 1e-300, that its weight is no number, and "
                    "regrets are lost. Games of hundreds of moves need external sampling, a larger epsilon, or fewer "
                    "moves."
                )

    @property
    def iterations(self) -> int:
        """Iterations finished."""
        if self.config.is_team:
            return int(self.scratches[0].counts[0]["iteration"])
        return sum(int(scratch.counts[0]["iteration"]) for scratch in self.scratches)

    @property
    def nodes_touched(self) -> int:
        """Nodes visited by all threads."""
        return sum(int(scratch.counts[0]["nodes_touched"]) for scratch in self.scratches)

    # --- strategies ---

    def average_strategy(self, out: np.ndarray | None = None) -> np.ndarray:
        """See `Solver.average_strategy`; `out`, ``[num_slots + num_players]``, has room for it on a compiled tree."""
        if not self.average_method.has_sums:
            return self.current_strategy()
        sums = self._settled_sums(out)
        strategy = np.empty(self.tree.num_slots) if out is None else out[: self.tree.num_slots]
        normalize(sums, self.tree.found_infosets, strategy)
        return strategy

    def _settled_sums(self, out: np.ndarray | None = None) -> np.ndarray:
        if self.average_method.mechanism is not Mechanism.LAZY:
            return self.average
        sums = np.empty(len(self.average)) if out is None else out
        settled(self.tree.found_infosets, self.strategy, self.average, self.scratches[0].seen, sums)
        return sums

    def masses(self) -> np.ndarray:
        """Returns how much of the average's weight has come to each infoset found, ``[num_infosets]`` float64."""
        infosets, count = self.tree.found_infosets, self.tree.num_slots
        order = np.argsort(infosets["first_slot"])
        sums = self._settled_sums() if self.average_method.has_sums else self.strategy
        return np.bincount(np.repeat(order, infosets["num_actions"][order]), sums[:count], len(infosets))

    def current_strategy(self) -> np.ndarray:
        """See `Solver.current_strategy`."""
        return self.strategy[: self.tree.num_slots].copy()

    def set_strategy(self, strategy: np.ndarray) -> None:
        """Sets the strategy that the next iteration will play; averages go on from what was played before."""
        if self.average_method.mechanism is Mechanism.LAZY:  # pending updates belong to the strategy of before
            infosets, sums = self.tree.found_infosets, self._settled_sums()
            self.average[: self.tree.num_slots] = sums[: self.tree.num_slots]
            self.scratches[0].seen[infosets["first_slot"]] = self.average[infosets["parent_slot"]]
        self.strategy[: self.tree.num_slots] = strategy
        for scratch in self.scratches:
            scratch.reach_valid[:] = 0

    # --- the state ---

    def state(self) -> dict[str, np.ndarray]:
        """See `IterativeSolver.state`."""
        sizes = self.tree.sizes()
        return self.places(sizes) | _named("tree", self.tree.state(sizes))

    def places(self, sizes: Sizes) -> dict[str, np.ndarray]:
        """Returns the arrays that the state with a tree of these sizes is read into, by name; see `end_loading`."""
        return self._own_places(sizes) | _named("tree", self.tree.places(sizes))

    def _own_places(self, sizes: Sizes) -> dict[str, np.ndarray]:
        """Returns the fields of the solver's state by name, each row of a table on its own, as far as it is in use."""
        fields = {name: getattr(self, name) for name in ("strategy", "tables", "average", "baselines")}
        fields["seen"] = self.scratches[0].seen
        for thread, (scratch, parameters) in enumerate(zip(self.scratches, self.parameters, strict=True)):
            carried = {name: getattr(scratch, name) for name in CARRIED} | {"minimizer": parameters}
            fields |= _named(f"thread{thread}", carried)
        places, capacity = {}, self.tree.slot_capacity
        for name, field in fields.items():
            rows = {name: field} if field.ndim == 1 else _named(name, dict(enumerate(field)))
            for row, values in rows.items():
                if name == "baselines":
                    places[row] = values[: sizes.nodes]
                elif name.rpartition("/")[2] not in _PER_SLOT:
                    places[row] = values
                else:
                    places[row] = values[: sizes.slots]
                    if len(values) > capacity:  # the empty sequences
                        places[f"{row}/players"] = values[capacity:]
        return places

    def begin_loading(self) -> None:
        """Clears the state. Places may be filled after this, and not before."""
        self._lacks_infosets = self._needs_infosets
        for array in self._own_places(self.tree.sizes()).values():
            array[...] = 0
        self.tree.begin_loading()

    def end_loading(self, sizes: Sizes) -> None:
        """Goes on from a state that was read into `places`."""
        self._full = None
        for scratch in self.scratches:
            scratch.num_touched[:] = 0
        self.tree.end_loading(sizes)

    def __getstate__(self) -> dict:
        state = {name: np.array(array) for name, array in self.state().items()}
        return {"config": self.config, "tree": self.tree, "sizes": self.tree.sizes(), "state": state}

    def __setstate__(self, state: dict) -> None:
        rngs = np.zeros(state["config"].threads, np.uint64)
        self.__init__(state["config"], state["tree"], rngs)  # type: ignore[misc]
        self.begin_loading()
        for name, array in self.places(state["sizes"]).items():
            array[...] = state["state"][name]
        self.end_loading(state["sizes"])


def _named(prefix: str, arrays: Mapping[Any, np.ndarray]) -> dict[str, np.ndarray]:
    return {f"{prefix}/{name}": array for name, array in arrays.items()}
