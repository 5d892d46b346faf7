"""The engine of a distributed solver whose tables are split among owners; its own are what is above their subtrees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mccfr_plus.averages.averaging import settled
from mccfr_plus.cluster.engine import DistributedEngine
from mccfr_plus.cluster.owner import Owner, Rules, Top
from mccfr_plus.cluster.sampler import Task
from mccfr_plus.cluster.split import Part, Places, split
from mccfr_plus.cluster.split_crew import SplitCrew
from mccfr_plus.cluster.update import AVERAGE
from mccfr_plus.errors import ClusterError, ConfigError
from mccfr_plus.estimators import AverageMethod, SamplingWeights
from mccfr_plus.evaluation.kernels import normalize
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.kernels.scratch import DRAWN, DRAWN_ACTIONS, ITERATION, MARK, STEP, Scratch
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.solver.engine import LOCAL_RULES
from mccfr_plus.solver.interrupts import deferred_signals
from mccfr_plus.tree.arrays import TreeArrays
from mccfr_plus.tree.game_tree import GameTree
from mccfr_plus.tree.lazy_tree import Sizes

NewSplitCrew = Callable[[TreeArrays, Places, list[Part], Task, Rules], SplitCrew]

_WAYS = (
    AverageMethod.LAZY,
    AverageMethod.VISITS,
    AverageMethod.NONE,
)  # what these add at an infoset depends on it and on what is above it


class SplitEngine(DistributedEngine):
    """What a distributed solver's iterations read and write, where it is too much for one machine.

    The numbers are the same bits as those of a `DistributedEngine`, and so are checkpoints. To write one, and for the
    strategy of the whole game, the driver gathers all parts.

    Args:
        config: The parts of the solver.
        tree: The game.
        rngs: ``[1]`` uint64, the seed of all streams.
        chunks: How many a gradient is made of.
        owners: How many.
        new_worker_pool: Makes those who sample and own, when they are first needed.

    Raises:
        ConfigError: If the parts look at more of the tables than an owner has.
    """

    def __init__(
        self,
        config: SolverConfig,
        tree: GameTree,
        rngs: np.ndarray,
        chunks: int,
        owners: int,
        new_worker_pool: NewSplitCrew,
    ):
        self._owners, self._new_split_crew = owners, new_worker_pool
        self._split_crew: SplitCrew | None = None
        self._is_torn = False  # whether owners have updated, and others have not
        self._kept: list[dict[str, np.ndarray]] | None = None  # owners' states, while there are no owners
        super().__init__(config, tree, rngs, chunks, _no_crew)

    def _allocate(self, rngs: np.ndarray) -> None:
        config, tree = self.config, self.tree
        minimizer, averaging = config.minimizer, config.averaging
        if minimizer.kernel is not None or averaging.kernel is not None or minimizer.rule not in LOCAL_RULES:
            raise ConfigError(
                f"owners={self._owners} with minimizer={minimizer.short_name!r}: it looks at more than one information "
                "state at a time, or is one of your own. Use a regret matcher, such as rm or dcfr, or owners=0."
            )
        if self.average_method not in _WAYS or not tree.perfect_recall:
            raise ConfigError(
                f"owners={self._owners} with averaging={averaging.method!r}: this average needs the reach of all "
                "information states together, or traversals of its own. Use lazy, or owners=0."
            )
        if config.estimator.sampling_weights in (SamplingWeights.AVERAGE, SamplingWeights.REGRETS):
            raise ConfigError(
                f"owners={self._owners} with estimator={config.estimator.short_name!r}: its traversals look at the "
                "tables, which nobody has as a whole. Use external or outcome, or owners=0."
            )
        self.sampling = config.sampling_strategy(tree, strategy_of)
        self._places, self._parts = split(tree.arrays, self._owners)
        self._rules = Rules(
            minimizer,
            averaging,
            int(self.average_method),
            config.visit_mode(tree) == DRAWN_ACTIONS,
            int(config.batch),
        )
        self._top = Top(self._parts[0], self._rules)
        self.scratches: list[Scratch] = [self._top.scratch]
        self.parameters = [self._top.parameters]
        self._bind(False)

    # --- running ---

    def prepare(self) -> None:
        """Starts those who sample and own, and compiles the kernels, if that is to be done."""
        if self._split_crew is not None:
            return
        worker_pool = self._new_split_crew(self.tree.arrays, self._places, self._parts, self._task(), self._rules)
        try:
            worker_pool.prepare()
            if self._kept is not None:
                worker_pool.set_states(self._kept)
        except BaseException:
            worker_pool.close()
            raise
        self._split_crew, self._kept = worker_pool, None

    def _turn(self, players: tuple[int, ...]) -> None:
        if self._is_torn:
            raise ClusterError("a part of the tables was lost: go on from the last checkpoint.")
        counts, worker_pool, top = self.scratches[0].counts, self._split_crew, self._top
        assert worker_pool is not None
        iteration = int(counts[ITERATION]) + 1
        found = worker_pool.sample(players, iteration, self._chunks, self._guide(), top.strategy)
        with deferred_signals(lambda: None):  # from here on owners change
            self._is_torn = True
            top.begin(players)
            for chunk in found:
                self.bytes_received += chunk.num_bytes
                self.sampling_seconds += chunk.seconds
                for player, sums in zip(players, chunk.top, strict=True):
                    top.add(player, sums)
            top.take_visits(iteration, [sums for chunk in found for sums in chunk.top])
            top.update(players, iteration, AVERAGE)
            above = top.above()
            values = np.zeros(len(above))
            cells = [part.cells for part in self._parts[1:]]
            for own, value in zip(
                cells, worker_pool.turn(players, iteration, [above[own] for own in cells]), strict=True
            ):
                values[own] = value
            top.pass_up(players, iteration, values)
            self._end_step(players, sum(chunk.nodes for chunk in found))
            self._is_torn = False

    def close(self) -> None:
        """Ends those who sample and own; what owners have is kept here until it is needed."""
        worker_pool, self._split_crew = self._split_crew, None
        if worker_pool is not None:
            try:
                if not self._is_torn:
                    self._kept = worker_pool.states()
            finally:
                worker_pool.close()

    # --- strategies and the state ---

    def _states(self) -> list[dict[str, np.ndarray]]:
        """Returns the states of all parts."""
        if self._is_torn:
            raise ClusterError("a part of the tables was lost: go on from the last checkpoint.")
        if self._split_crew is not None:
            owners = self._split_crew.states()
        elif self._kept is not None:
            owners = self._kept
        else:
            owners = [Owner(part, self._rules).state() for part in self._parts[1:]]
        return [self._top.state(), *owners]

    def _gathered(self, name: str) -> np.ndarray:
        whole = np.zeros(self.tree.num_slots)
        for part, state in zip(self._parts, self._states(), strict=True):
            whole[part.slots] = state[name]
        return whole

    @property
    def tables(self) -> np.ndarray:  # type: ignore[override]
        """The minimizer's tables, ``[num_tables, num_slots]``, gathered."""
        return np.stack([self._gathered(f"tables/{row}") for row in range(self.config.minimizer.num_tables)])

    def current_strategy(self) -> np.ndarray:
        """Returns the strategy that the next iteration will play, ``[num_slots]`` float64."""
        return self._gathered("strategy")

    def average_strategy(self, out: np.ndarray | None = None) -> np.ndarray:
        """Returns the average strategy, ``[num_slots]`` float64; uniform where nothing was visited yet. Always new."""
        if self.average_method == AverageMethod.NONE:
            return self.current_strategy()
        places = self.state()
        sums = np.append(places["average"], places["average_of_all"])
        infosets, strategy = self.tree.arrays.infosets, np.empty(self.tree.num_slots)
        if self.average_method == AverageMethod.LAZY:
            average, sums = sums, np.empty(len(sums))
            settled(infosets, places["strategy"], average, places["workspace0/mark"], sums)
        normalize(sums, infosets, strategy)
        return strategy

    def state(self) -> dict[str, np.ndarray]:
        """Returns all arrays that carry from one iteration to the next, by name: those of a whole table, gathered."""
        places = self.places(None)
        states = self._states()
        for part, state in zip(self._parts, states, strict=True):
            places["workspace0/mark"]["seen"][part.slots] = state["seen"]
            for name in ("strategy", "average", *(f"tables/{row}" for row in range(len(self._top.tables)))):
                places[name][part.slots] = state[name]
        places["average_of_all"][:] = states[0]["average_of_all"]
        places["minimizer_parameters"][:] = self._top.parameters
        return places

    def places(self, sizes: Sizes | None) -> dict[str, np.ndarray]:
        """Returns arrays that a state is read into, by name, those that a `DistributedEngine` has."""
        slots, players = self.tree.num_slots, self.tree.num_players
        names = ("strategy", "average", *(f"tables/{row}" for row in range(len(self._top.tables))))
        scratch = self.scratches[0]
        return {
            **{name: np.zeros(slots) for name in names},
            "average_of_all": np.zeros(players),
            "minimizer_parameters": np.stack(self.parameters),
            "workspace0/mark": np.zeros(slots, MARK),
            "workspace0/reach": np.zeros(slots),
            "workspace0/reach_valid": np.zeros(players, np.int64),
            "workspace0/drawn": np.zeros(slots if self.config.estimator.samples_per_infoset else 0, DRAWN),
            "workspace0/counts": scratch.counts,
            "workspace0/rng": scratch.rng,
            "stream_seed": self._seed,
        }

    def end_loading(self, sizes: Sizes | None, places: dict[str, np.ndarray]) -> None:
        """Goes on from a state that was read into `places`."""
        self.scratches[0].counts[STEP] = self.scratches[0].counts[STEP] // 2 * 2
        self._is_torn = True  # what owners have now is not kept
        self.close()
        self._is_torn = False
        names = ("strategy", "average", *(f"tables/{row}" for row in range(len(self._top.tables))))
        states: list[dict[str, Any]] = []
        for part in self._parts:
            state = {name: places[name][part.slots] for name in names}
            state["seen"] = places["workspace0/mark"]["seen"][part.slots]
            state["parameters"] = places["minimizer_parameters"][0]
            state["average_of_all"] = places["average_of_all"]
            states.append(state)
        self._top.set_state(states[0])
        self._kept = states[1:]


def _no_crew(arrays: TreeArrays, task: Task) -> Any:
    raise AssertionError("a split engine has a worker_pool of its own")
