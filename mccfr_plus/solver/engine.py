"""The arrays of a solver, the kernel that runs on them, and the threads that it runs in."""

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from mccfr_plus.averages.average import Mechanism, settled
from mccfr_plus.errors import ConfigError, GameError
from mccfr_plus.estimators import SamplingWeights
from mccfr_plus.estimators.escher import refresh_values
from mccfr_plus.estimators.traversal import list_nothing
from mccfr_plus.evaluation.by_rules import RulesEvaluator, TraversalInterrupted
from mccfr_plus.evaluation.exact import normalize
from mccfr_plus.evaluation.strategies import sampling_strategy_of
from mccfr_plus.kernels.interrupts import deferred_signals
from mccfr_plus.kernels.intrinsics import address_of
from mccfr_plus.solver.config import SolverConfig, composed
from mccfr_plus.solver.loop import IS_TOO_LONG, MOST_LISTED, NO_TEAM, Settings, State, loop, new_team
from mccfr_plus.trees.arrays import NUM_SLOTS
from mccfr_plus.trees.expansion import EXPANDING, FULL, INTERRUPTED, LIST_FULL, STATUS, TEAM, interrupt
from mccfr_plus.trees.needs import DIFFERENCES, HISTORIES, INFOSETS, NO_VALUES, PUBLIC, RULES
from mccfr_plus.trees.parts import in_parts
from mccfr_plus.trees.scratch import Scratch, new_scratch
from mccfr_plus.trees.tree import Sizes

_LARGE_BATCH = 100  # traversals: gradients of so many must be interruptible
_MANY_MOVES = 100  # in which probabilities of 1e-3 each multiply to less than a number can hold

# Fields of each thread's scratch that carry over to the next gradient, beside `seen`, which is shared. Lists that are
# made once, such as `touched` with `full`, depend on the tree alone, and are made again.
CARRIED = ("stamps", "reach", "reach_valid", "drawn", "counts", "rng")
_PER_SLOT = {"strategy", "tables", "average", "seen", "stamps", "reach", "drawn"}


class Engine:
    """The arrays that a solver's iterations read and write. `rngs` is ``[threads]`` uint64, the random generators."""

    def __init__(self, config: SolverConfig, tree: Any, rngs: np.ndarray):
        self.config, self.tree = config, tree
        by_rules = RULES in tree.provides
        self.average_method = config.average_method(tree.num_players, tree.perfect_recall, by_rules=by_rules)
        self._full: str | None = None  # why the tree cannot expand any more
        self.begin()
        self._is_advancing, self._advancing = False, threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._allocate(rngs)
        self._lacks_infosets = self._needs_infosets
        self._bind()

    @property
    def _needs_infosets(self) -> bool:  # before the first iteration
        tree = self.tree
        by_rules = RULES in tree.provides and tree.perfect_recall  # else a traversal finds them, as `full` does
        return by_rules and self.config.who_needs(HISTORIES, INFOSETS) is not None

    def _allocate(self, rngs: np.ndarray) -> None:
        tree, config = self.tree, self.config
        estimator, minimizer = config.estimator, config.minimizer
        # Folded tables leave out sums of infosets that play uniformly, which OpenSpiel's solvers show.
        folded = DIFFERENCES in minimizer.provides and config.averaging.method != "per_history"
        self._arrays, self._expansion = tree.arrays_to_run_on(estimator.needs_leaves, folded)
        if has_parts := config.shares_parts(tree) and PUBLIC not in tree.provides:
            self._arrays = in_parts(self._arrays, config.threads)
            self._expansion[NUM_SLOTS] = tree.num_slots  # a thread's slots are not in a row
        with_values = config.baseline is not None or NO_VALUES not in estimator.provides
        strategy = tree.attach(check_depth=with_values, single_trajectory=not estimator.visits_all_own)
        self.average = np.zeros(tree.slot_capacity + tree.num_players, config.dtype)
        given = minimizer.tables(tree), strategy
        self.tables, self.strategy = (each.astype(config.dtype, copy=False) for each in given)
        self.baselines = np.zeros((tree.num_players, tree.node_capacity) if with_values else (0, 0))
        if NO_VALUES not in estimator.provides:  # at first the values of uniform play
            for player, values in enumerate(self.baselines):
                refresh_values(tree.arrays, self.strategy, values, player)
        self.sampling = np.zeros(0)
        if estimator.sampling_weights == SamplingWeights.SAMPLING:  # by rules it is 0 until all infosets were found
            self.sampling = np.zeros(tree.slot_capacity)
            if INFOSETS in tree.provides:
                self.sampling = sampling_strategy_of(tree, estimator)
        options: dict[str, Any] = {
            "max_visits": self._max_visits(),
            "sample_per_infoset": estimator.sample_per_infoset,
            "values": self.baselines,
            "stride": 1 if config.is_team else config.threads,
            "entries": tree.entries,
        }
        self.scratches: list[Scratch] = []
        for thread in range(config.threads):
            rng, seen = rngs[thread : thread + 1].copy(), self.scratches[0].seen if thread else None
            scratch = new_scratch(self._arrays, tree.shape, rng, thread=thread, seen=seen, **options)
            if has_parts and thread > 0:
                scratch = scratch._replace(gradient=self.scratches[0].gradient, reach=self.scratches[0].reach)
            self.scratches.append(scratch)
        self.parameters = [np.array(minimizer.parameters(), np.float64) for _ in self.scratches]

    def _bind(self) -> None:
        """Composes the loop and keeps its arguments, one tuple per thread."""
        config, tree = self.config, self.tree
        may_end = config.is_team or INFOSETS not in tree.provides or config.batch >= _LARGE_BATCH
        shared = config.shares_parts(tree)
        self.run = composed(loop, config, self.average_method, tree_slots=tree.bindings, may_end=may_end, shared=shared)
        state = State(self.strategy, self.tables, self.average)
        self._team = team = new_team(self.scratches) if config.is_team else NO_TEAM
        if shared:
            self._expansion[TEAM] = address_of(team)
        settings = map(self._settings, self.parameters)
        self._arguments = [(self._arrays, state, *each, team) for each in zip(self.scratches, settings, strict=True)]
        self._only = None if may_end or config.threads > 1 else self._arguments[0]

    def _settings(self, minimizer_parameters: np.ndarray) -> Settings:
        config, average, baseline = self.config, self.config.averaging, self.config.baseline
        parameters = np.append(config.estimator.parameters(), [] if baseline is None else baseline.rate)
        weights = self.sampling_weights(), minimizer_parameters, *average.weights()
        return Settings(parameters.astype(np.float64), *weights, int(config.batch))

    def sampling_weights(self) -> np.ndarray:
        """Returns the array that the estimator samples by."""
        wanted = self.config.estimator.sampling_weights
        if wanted == SamplingWeights.REGRETS:
            return self.tables[0]
        return self.average if wanted == SamplingWeights.AVERAGE else self.sampling

    def _max_visits(self) -> int:
        """Returns the room for visits: at most all nodes in one traversal or, in a team, in a batch."""
        method, config = self.average_method, self.config
        makes_traversals = method.mechanism in (Mechanism.OWN_TRAVERSAL, Mechanism.OWN_HISTORY)
        if not makes_traversals and method.list_visit is list_nothing:
            return 0
        most = self.tree.node_capacity  # memory that is not used costs nothing
        return most + min(most * (config.batch - 1), MOST_LISTED) if config.is_team else most

    # --- running ---

    def begin(self) -> None:
        """Begins a run."""
        self.stopped: str | None = None  # why the run has ended early
        self.unfinished: str | None = None  # how far `number_infosets` was when it was ended
        self.is_ended = False  # whether `end` was called, until the end of the run

    def number_infosets(self) -> bool:
        """Numbers all infosets if a component needs them. Returns False if `end` has ended that."""
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
        if self._lacks_infosets:
            RulesEvaluator(self.tree, threads=1).compile_numbering(with_leaves=self._needs_matrix)
        self.run(*self._arguments[0], 0)

    def end(self) -> None:
        """Ends `advance` soon, if need be within an iteration, with which the next call goes on. From any thread."""
        with self._advancing:
            self.is_ended = True
            if self._is_advancing:  # an evaluation would be lost
                self.interrupt()

    def interrupt(self) -> None:
        interrupt(self._expansion)

    def advance(self, iterations: int) -> None:
        """Runs iterations; fewer, without the gradient under way, if `end` is called or memory is full (`stopped`)."""
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
            if status in (FULL, LIST_FULL):
                self._full = self.tree.why_full(status)
            elif self.iterations >= target:
                return
        self.stopped = self._full

    def _run_to(self, target: int) -> None:
        """Runs all threads until they have done their share or must stop."""
        threads, left = len(self.scratches), list[int]()
        for thread, scratch in enumerate(self.scratches):  # a fast thread does iterations thread + 1 + k threads
            share = target if self.config.is_team else (target - thread + threads - 1) // threads
            left.append(share - int(scratch.counts[0]["iteration"]))
        with deferred_signals(self.interrupt):
            if threads == 1:
                self.run(*self._arguments[0], left[0])
            else:
                if self._pool is None:
                    self._pool = ThreadPoolExecutor(threads, thread_name_prefix="mccfr_plus")
                futures = [self._pool.submit(self.run, *a, n) for n, a in zip(left, self._arguments, strict=True)]
                for future in futures:
                    future.result()
        if self.iterations < target and self.config.baseline is not None:
            # Baselines learned from draws that are made again would bias these.
            self.baselines[:, : self.tree.num_nodes] = 0.0

    def _check(self) -> None:
        """Raises the error that has ended the loop, if any."""
        tree = self.tree
        tree.check()
        if self.config.is_team and self._team[0, IS_TOO_LONG]:
            self._team[0, IS_TOO_LONG] = 0
            what = (
                f"batch={self.config.batch}: a thread's traversals of one gradient visit over {MOST_LISTED:,} histories"
            )
            raise ConfigError(f"{what}, more than the average can store: give a smaller batch.")
        if INFOSETS not in tree.provides and tree.game.max_game_length() >= _MANY_MOVES:
            infosets = tree.found_infosets
            first = infosets["first_slot"][infosets["parent_slot"] >= tree.slot_capacity]
            if not np.isfinite(self.tables[:, first]).all():  # values are passed up to the first infosets
                raise GameError(
                    f"{tree.game}: a sampled history has a probability below 1e-300, so regrets overflow. Use "
                    "external sampling or a larger epsilon."
                )

    @property
    def iterations(self) -> int:
        counted = self.scratches[:1] if self.config.is_team else self.scratches
        return sum(int(scratch.counts[0]["iteration"]) for scratch in counted)

    @property
    def nodes_touched(self) -> int:
        return sum(int(scratch.counts[0]["nodes_touched"]) for scratch in self.scratches)

    # --- strategies ---

    def average_strategy(self, out: np.ndarray | None = None) -> np.ndarray:
        """See `Solver.average_strategy`; `out`, ``[num_slots + num_players]``, is overwritten, on compiled trees."""
        if not self.average_method.has_sums:
            return self.current_strategy()
        sums = self.sums(out)
        strategy = np.empty(self.tree.num_slots) if out is None else out[: self.tree.num_slots]
        normalize(sums, self.tree.found_infosets, strategy)
        return strategy

    def sums(self, out: np.ndarray | None = None) -> np.ndarray:
        """Returns the sums of the average strategy, ``[num_slots + num_players]`` float64, perhaps the engine's own."""
        if self.average_method.mechanism is not Mechanism.LAZY:
            return self.average
        sums = np.empty(len(self.average)) if out is None else out
        settled(self.tree.found_infosets, self.strategy, self.average, self.scratches[0].seen, sums)
        return sums

    def masses(self) -> np.ndarray:
        """Returns the average's weight at each infoset found, ``[num_infosets]`` float64."""
        infosets, count = self.tree.found_infosets, self.tree.num_slots
        order = np.argsort(infosets["first_slot"])
        sums = self.sums() if self.average_method.has_sums else self.strategy
        return np.bincount(np.repeat(order, infosets["num_actions"][order]), sums[:count], len(infosets))

    def set_sums(self, sums: np.ndarray) -> None:
        """Sets the sums, ``[num_slots]``; later iterations add to them."""
        infosets = self.tree.found_infosets
        self.average[: self.tree.num_slots] = sums
        self.scratches[0].seen[infosets["first_slot"]] = self.average[infosets["parent_slot"]]

    def current_strategy(self) -> np.ndarray:
        return self.strategy[: self.tree.num_slots].astype(np.float64)

    def set_strategy(self, strategy: np.ndarray) -> None:
        if self.average_method.mechanism is Mechanism.LAZY:  # pending updates belong to the strategy before
            self.set_sums(self.sums()[: self.tree.num_slots])
        self.strategy[: self.tree.num_slots] = strategy
        for scratch in self.scratches:
            scratch.reach_valid[:] = 0

    # --- the state ---

    def state(self) -> dict[str, np.ndarray]:
        sizes = self.tree.sizes()
        return self.places(sizes) | _named("tree", self.tree.state(sizes))

    def places(self, sizes: Sizes) -> dict[str, np.ndarray]:
        """Returns the arrays, by name, that the state with a tree of these sizes is read into."""
        return self._own_places(sizes) | _named("tree", self.tree.places(sizes))

    def _own_places(self, sizes: Sizes) -> dict[str, np.ndarray]:
        """Returns the solver's part of `places`: each row of a table on its own, as far as it is in use."""
        fields = {name: getattr(self, name) for name in ("strategy", "tables", "average", "baselines")}
        fields["seen"] = self.scratches[0].seen
        for thread, (scratch, parameters) in enumerate(zip(self.scratches, self.parameters, strict=True)):
            carried = {name: getattr(scratch, name) for name in CARRIED} | {"minimizer": parameters}
            fields |= _named(f"thread{thread}", carried)
        places, capacity = {}, self.tree.slot_capacity
        for name, field in fields.items():
            per_slot = name.rpartition("/")[2] in _PER_SLOT
            used = sizes.nodes if name == "baselines" else sizes.slots if per_slot else len(field)
            for row, values in ({name: field} if field.ndim == 1 else _named(name, dict(enumerate(field)))).items():
                places[row] = values[:used]
                if per_slot and len(values) > capacity:  # the empty sequences
                    places[f"{row}/players"] = values[capacity : capacity + self.tree.num_players]
        return places

    def begin_loading(self) -> None:
        """Clears the state, before places are filled."""
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
