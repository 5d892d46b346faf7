"""The solver: any estimator x any minimizer x any average, on any game. The only object with state."""

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
import pyspiel
from open_spiel.python.policy import Policy

from mccfr_plus.averages import PowerAverage
from mccfr_plus.display import html_summary
from mccfr_plus.errors import ConfigError, PolicyError
from mccfr_plus.estimators import Baseline, Estimator
from mccfr_plus.evaluation.by_rules import RulesEvaluator
from mccfr_plus.evaluation.exact import AnyGame, Evaluation, Evaluator, evaluate
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.kernels.compile import announce_compilation
from mccfr_plus.kernels.random_numbers import Seed, new_states
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.policies.keyed_policy import KeyedPolicy
from mccfr_plus.policies.table import TreePolicy
from mccfr_plus.solver import saved_state as checkpoints
from mccfr_plus.solver.choice import tree_for
from mccfr_plus.solver.config import DETERMINISTIC, SolverConfig
from mccfr_plus.solver.engine import Engine
from mccfr_plus.solver.iterative import IterativeSolver
from mccfr_plus.trees.needs import HISTORIES, RULES
from mccfr_plus.trees.tree import Tree

_SUM_TOLERANCE = 1e-6


class Solver(IterativeSolver):
    """Computes equilibria by regret minimization: estimator x minimizer x average.

    ``Solver(game, "external", "rm")`` is external sampling MCCFR, ``Solver(game, "full", "rm")`` is CFR, ``"full",
    "rm+"`` is CFR+, ``"full", "dcfr"`` is DCFR, ``"full", "prm+"`` is PCFR+, ``"chance", "rm+"`` is CFR+ with
    sampled deals, and so on.

    Args:
        game: A `pyspiel.Game`, a game string, or a `GameTree`.
        estimator: An `Estimator` or its short name: full, chance, opponent, external, outcome, balanced,
            average_strategy, escher; with parameters as in ``"outcome(epsilon=0.3)"``.
        minimizer: A `Minimizer` or its short name: rm, rm+, linear, linear+, dcfr, dcfr_pruning, dcfr+, hs_dcfr,
            prm, prm+, pdcfr+, sapcfr+, apcfr+, smooth_prm+, rtcfr+, mmd, reg_cfr,
            hedge, ftrl, omd.
        averaging: A `PowerAverage` or its short name: uniform, linear, power, exact, lazy, stochastic, sampled,
            optimistic, last. None: the one that the minimizer's paper uses: linear for rm+ and linear, power(gamma=2)
            for dcfr and prm+, uniform otherwise.
        alternating: Whether each player is updated before the next one's gradient is estimated, as in OpenSpiel;
            otherwise all are updated at the end of the iteration. None: alternating, unless a traversal serves all
            players.
        batch: How many traversals make one gradient, which is their mean (Farina et al. 2020 use 100).
        baseline: Control variates that reduce the variance of a sampled gradient: True, a `Baseline`, or None.
        seed: An integer for a repeatable run (bitwise, on one machine), a numpy generator, or None.
        threads: In how many threads to traverse the game.
        thread_mode: ``"deterministic"``: a gradient is the mean of ``threads * batch`` traversals, added up in the
            order of threads, so that results depend on seed and number of threads alone; ``"fast"``: every thread runs
            iterations of its own on shared tables, without waiting, so that some updates are lost and no two runs are
            alike.
        tree: ``"compiled"``: the whole tree is built first; ``"rules"``: no history is stored, traversals follow the
            game's compiled rules; ``"lazy"``: nodes are expanded when they are first sampled; ``"auto"``: compiled if
            it fits, else by rules if it has some, else lazy. Compiled and lazy trees give bitwise identical results.
        memory: Of the whole process, such as ``"4GB"``; None: half of what is free. A tree that
            grows keeps within it: when it is full, `run` ends with the result of the iterations before.
        symmetry: Whether infosets that a symmetry of the rules maps to each other, such as a turn of the board, count
            as one. The policy is then symmetric. Needs ``tree="rules"``.

    Attributes:
        config: Components and options; `estimator`, `minimizer` and `averaging` are the components.
        game: The `pyspiel.Game`.
        tree: Its `Tree`.
        seed: The seed that the solver was made with, if it was an integer; else None.
        seconds: How long `run` took so far; what a checkpoint says was spent before is included.
        cpu_seconds: CPU seconds of this process in all runs of this object, without compiling.
        history: What `run` has measured with ``evaluate_every`` or ``target_exploitability``; checkpoints keep it.

    Raises:
        GameError: If the game cannot be compiled, or a component is wrong for it (imperfect recall).
        ConfigError: If a component is unknown, its parameters are out of range, or components do not go together.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", estimator="full", minimizer="rm+", seed=1)
        >>> solver.run(1000).exploitability() < 1e-3
        True
    """

    _checkpoints: ClassVar[Any] = checkpoints

    def __init__(
        self,
        game: AnyGame,
        estimator: Estimator | str = "external",
        minimizer: Minimizer | str = "rm",
        averaging: PowerAverage | str | None = None,
        *,
        alternating: bool | None = None,
        batch: int = 1,
        baseline: Baseline | str | bool | None = None,
        seed: Seed = None,
        threads: int = 1,
        thread_mode: str = DETERMINISTIC,
        tree: str = "auto",
        memory: str | int | float | None = None,
        symmetry: bool = False,
    ):
        config = SolverConfig.from_specs(
            estimator,
            minimizer,
            averaging,
            alternating=alternating,
            baseline=baseline,
            batch=batch,
            threads=threads,
            thread_mode=thread_mode,
            tree=tree,
            memory=memory,
            symmetry=symmetry,
        )
        self._begin(game, config, seed)

    @classmethod
    def from_config(cls, game: AnyGame, config: SolverConfig, *, seed: Seed = None) -> Self:
        """Returns the solver of a config; see the class for arguments and errors.

        Args:
            game: A `pyspiel.Game`, a game string, or a `GameTree`.
            config: Components and options.
            seed: See `Solver`.
        """
        solver = cls.__new__(cls)
        solver._begin(game, config, seed)
        return solver

    def _begin(self, game: AnyGame, config: SolverConfig, seed: Seed) -> None:
        super().__init__(seed)
        self.config = config
        self.estimator, self.minimizer, self.averaging = config.estimator, config.minimizer, config.averaging
        rngs = new_states(seed, config.threads)
        self._evaluator: Evaluator | None = None
        tree = tree_for(game, config)
        config.check_game(tree)
        self.tree, self.game = tree, tree.game
        self._engine = self._new_engine(tree, rngs)

    def _new_engine(self, tree: Tree, rngs: np.ndarray) -> Engine:
        return Engine(self.config, tree, rngs)

    @property
    def stopped(self) -> str | None:
        """Why the last run has ended before its limit, and what would help; None if it has not."""
        return self._engine.stopped

    # --- running ---

    def iteration(self) -> None:
        """Runs one iteration: one gradient and one update for every player."""
        self._engine.advance(1)

    def _prepare(self) -> None:
        self._engine.begin()
        with announce_compilation(self._engine.run, f"{self.config}", about=4):
            self._engine.prepare()

    def _run_iterations(self, count: int) -> None:
        self._engine.advance(count)

    def _check_evaluation(self) -> None:
        if RULES not in self.tree.provides:
            super()._check_evaluation()

    @property
    def unfinished(self) -> str | None:
        """What must be done before the first iteration and is not; None if there is nothing."""
        return self._engine.unfinished

    @contextlib.contextmanager
    def _ended_after(self, seconds: float) -> Iterator[None]:
        if seconds > threading.TIMEOUT_MAX:
            yield
            return
        timer = threading.Timer(seconds, self._engine.end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
            self._engine.is_ended = False

    # --- what it has computed ---

    @property
    def iterations(self) -> int:
        """Iterations run so far."""
        return self._engine.iterations

    @property
    def nodes_touched(self) -> int:
        """Histories visited so far; an iteration of `Full` counts all of the tree's once per player."""
        return self._engine.nodes_touched

    @property
    def _label(self) -> str:
        return str(self.config)

    def state(self) -> dict[str, np.ndarray]:
        return self._engine.state()

    def average_strategy(self) -> np.ndarray:
        """Returns the average strategy, ``[num_slots]`` float64; uniform where nothing was visited yet."""
        return self._engine.average_strategy()

    def current_strategy(self) -> np.ndarray:
        """Returns the strategy that the next iteration will play, ``[num_slots]`` float64."""
        return self._engine.current_strategy()

    def average_policy(self) -> TreePolicy | KeyedPolicy:
        """Returns the average policy, which is what converges to an equilibrium; later iterations do not change it.

        Where the tree is not compiled it is a `KeyedPolicy` over the information states found, uniform elsewhere.
        """
        return self._policy(self.average_strategy(), self._engine.masses)

    def current_policy(self) -> TreePolicy | KeyedPolicy:
        """Returns the policy that the next iteration will play; later iterations do not change it."""
        return self._policy(self.current_strategy())

    def _policy(self, strategy: np.ndarray, masses: Any = None) -> TreePolicy | KeyedPolicy:
        if HISTORIES not in self.tree.provides:
            return KeyedPolicy.of_tree(self.tree, strategy, masses)
        return TreePolicy(self.tree, strategy)

    def regrets(self, info_state: str, player: int | None = None) -> dict[int, float]:
        """Returns {action: cumulative regret} at an information state, as the minimizer counts it.

        Args:
            info_state: What ``state.information_state_string(player)`` gives.
            player: Whose; None: the player who has this information state.

        Raises:
            PolicyError: If the game has no such information state.
            ConfigError: If the minimizer keeps no regrets (ftrl, omd).
        """
        infoset = self.tree.infoset(info_state, player)
        if infoset is None:
            raise PolicyError(f"{self.tree.game} has no information state {info_state!r}.")
        slots = self.tree.slots(infoset)
        engine = self._engine
        regrets = self.minimizer.cumulative_regrets(engine.tables, engine.parameters[0], slots)
        return dict(zip(self.tree.legal_actions(infoset), regrets.tolist(), strict=True))

    def tables(self) -> np.ndarray:
        """Returns a copy of the minimizer's tables, ``[num_tables, num_slots]`` float64."""
        self._engine.number_infosets()
        return self._engine.tables[:, : self.tree.num_slots].copy()

    def set_tables(self, tables: np.ndarray) -> "Solver":
        """Sets the minimizer's tables, such as cumulative regrets in row 0; the strategy follows at the next update.

        Args:
            tables: ``[num_tables, num_slots]`` numbers; see `tables`.

        Returns:
            The solver itself.

        Raises:
            ConfigError: If the shape is another one, or a number is not finite.
        """
        self._engine.tables[:, : self.tree.num_slots] = self._checked("tables", tables, self.tables().shape)
        return self

    def set_strategy(self, strategy: np.ndarray | pyspiel.Policy | Policy) -> "Solver":
        """Sets the strategy that the next iteration will play; the average goes on from what was played before.

        Args:
            strategy: ``[num_slots]`` numbers in the order of `current_strategy`, or, on a compiled tree, a policy; with
                ``tree="rules"`` a policy that was solved so, which changes only what it has probabilities for.

        Returns:
            The solver itself.

        Raises:
            ConfigError: If it is no strategy: another shape, negative, or not summing to 1 somewhere.
            PolicyError: If a policy is of another game.

        Examples:
            >>> import mccfr_plus
            >>> start = mccfr_plus.Solver("kuhn_poker", "full").run(100)
            >>> solver = mccfr_plus.Solver("kuhn_poker", "full").set_strategy(start.average_policy())
            >>> bool((solver.current_strategy() == start.average_strategy()).all())
            True
        """
        self._engine.number_infosets()
        if HISTORIES in self.tree.provides and not isinstance(strategy, np.ndarray):
            strategy = strategy_of(self.tree, strategy)
        elif RULES in self.tree.provides and isinstance(strategy, KeyedPolicy):
            strategy = strategy.on_tree(self.tree, self.current_strategy())
        values = self._checked("strategy", strategy, (self.tree.num_slots,))
        sums = np.add.reduceat(values, np.sort(self.tree.found_infosets["first_slot"])) if len(values) else np.ones(1)
        if (values < 0).any() or np.abs(sums - 1.0).max() > _SUM_TOLERANCE:
            raise ConfigError("strategy: at each information state probabilities must be at least 0 and sum to 1.")
        self._engine.set_strategy(values)
        return self

    def _checked(self, name: str, given: Any, shape: tuple[int, ...]) -> np.ndarray:
        values = np.asarray(given, np.float64)
        if values.shape != shape or not np.isfinite(values).all():
            raise ConfigError(f"{name} of shape {values.shape}: must be finite numbers of shape {shape}.")
        return values

    def evaluate(self) -> Evaluation:
        """Returns values, NashConv and exploitability of the average policy.

        With a lazy tree the game is compiled for it, once; with ``tree="rules"`` all histories are traversed, in all
        cores: some minutes for 20 billion of them.

        Raises:
            BudgetError: If it is too large for that; see `mccfr_plus.evaluation` for bounds and estimates.
        """
        if RULES in self.tree.provides:
            self._engine.number_infosets()
            return RulesEvaluator(self.tree).evaluate(self.average_strategy())
        if HISTORIES in self.tree.provides:
            if self._evaluator is None:
                self._evaluator = Evaluator(self.tree)
            return self._evaluator.evaluate(self._engine.average_strategy(self._evaluator.room))
        return evaluate(self.whole_tree(), self.average_policy())

    def __repr__(self) -> str:
        return (
            f"Solver({str(self.tree.game)!r}, estimator={self.estimator!r}, minimizer={self.minimizer!r}, "
            f"averaging={self.averaging!r}, alternating={self.config.alternating!r}, batch={self.config.batch!r}, "
            f"baseline={self.config.baseline!r})"
        )

    def _repr_html_(self) -> str:
        rows = {
            "components": f"{self.config}, {self.averaging!r}",
            "tree": self.tree.kind,
            "iterations": f"{self.iterations:,}",
            "nodes touched": f"{self.nodes_touched:,}",
            "seconds": f"{self.seconds:.3g}",
        }
        if len(self.history):
            at = f"after {self.history.iterations[-1]:,} iterations"
            rows["exploitability"] = f"{self.history.exploitability[-1]:.4g} {at}"
        return html_summary(f"Solver of {self.tree.game}", rows)

    # --- checkpoints ---

    @classmethod
    def from_checkpoint(
        cls, path: str | os.PathLike, game: AnyGame | None = None, *, memory: str | int | float | None = None
    ) -> Self:
        """Returns a solver as it was when a checkpoint was written, with the parameters that the file names.

        Args:
            path: The checkpoint.
            game: Its game, or the tree if it is compiled already; None: the game that the file names.
            memory: See `Solver`; it need not be what it was.

        Raises:
            CheckpointError: If the file is no checkpoint or damaged, of another game, of components that the class does
                not run, or of user-defined ones or ones that hold a policy: then make the solver with them and
                `restore` it.
            GameError: If the game cannot be loaded or compiled.
        """
        header = checkpoints.read_header(path)
        arguments = checkpoints.arguments_of(path, header)
        seed, config = arguments.pop("seed"), SolverConfig.from_specs(**arguments, memory=memory)
        cls._check_loaded(path, config)
        return cls.from_config(header["game"] if game is None else game, config, seed=seed).restore(path)

    @classmethod
    def _check_loaded(cls, path: str | os.PathLike, config: SolverConfig) -> None:
        """Raises CheckpointError if the class does not run the components of a checkpoint."""

    def __getstate__(self) -> dict:
        return {**super().__getstate__(), "_evaluator": None}
