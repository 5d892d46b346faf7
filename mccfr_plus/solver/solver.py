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
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.parameters import Seed, new_states
from mccfr_plus.policies.keyed_policy import KeyedPolicy
from mccfr_plus.policies.table import TreePolicy
from mccfr_plus.solver import saved_state as checkpoints
from mccfr_plus.solver.choice import tree_for
from mccfr_plus.solver.config import DETERMINISTIC, SolverConfig
from mccfr_plus.solver.engine import Engine
from mccfr_plus.solver.iterative import IterativeSolver
from mccfr_plus.trees.needs import INFOSETS, PUBLIC, RULES
from mccfr_plus.trees.tree import Tree

_SUM_TOLERANCE = 1e-6


class Solver(IterativeSolver):
    """Computes approximate equilibria by regret minimization with any estimator, minimizer and average.

    ``Solver(game, "external", "rm")`` is external sampling MCCFR; ``Solver(game, "full", "rm")`` is CFR; ``"full",
    "rm+"`` is CFR+; ``"full", "dcfr"`` is DCFR; ``"full", "prm+"`` is PCFR+; and ``"chance", "rm+"`` is CFR+ with
    sampled deals.

    Args:
        game: A `pyspiel.Game`, a game string, or a `GameTree`.
        estimator: An `Estimator` or its short name: full, chance, opponent, external, outcome, balanced,
            average_strategy, escher, best_response, public_chance; parameters may be added to the name, as in
            ``"outcome(epsilon=0.3)"``.
        minimizer: A `Minimizer` or its short name: rm, rm+, linear, linear+, dcfr, dcfr_pruning, dcfr+, hs_dcfr, prm,
            prm+, pdcfr+, sapcfr+, apcfr+, smooth_prm+, rtcfr+, mmd, reg_cfr, hedge, ftrl, omd.
        averaging: A `PowerAverage` or its short name: uniform, linear, power, schedule, exact, lazy, stochastic,
            sampled, optimistic, last. Default: the average used in the minimizer's paper, such as linear for rm+,
            power(gamma=2) for dcfr and prm+, last for rtcfr+ and mmd, and uniform for rm.
        alternating: Whether each player is updated before the next player's gradient is estimated, as in OpenSpiel.
            Default: True, unless one traversal updates all players.
        batch: Number of traversals that are averaged into one gradient (Farina et al. 2020 use 100).
        baseline: Control variates that reduce the variance of sampled gradients: True, a `Baseline`, or None.
        seed: An integer for a repeatable run (bitwise identical on one machine), a NumPy generator, or None. On a lazy
            tree, several threads number the information sets in an order that varies between runs, and arrays are equal
            only up to this order.
        threads: Number of threads that traverse the game.
        thread_mode: ``"deterministic"``: a gradient is the mean over ``threads * batch`` traversals, summed in thread
            order; results depend only on the seed and the number of threads. ``"fast"``: each thread runs its own
            iterations on shared tables without waiting; some updates are lost, and results are not repeatable.
        tree: ``"compiled"``: the whole tree is built first; ``"rules"``: no history is stored, and traversals follow
            the game's compiled rules; ``"lazy"``: nodes are expanded when they are first sampled; ``"public"``: one
            traversal of the public tree updates all private hands, in two-player games in which only hands are private;
            ``"auto"``: public if it is predicted to be faster than the others, otherwise the first of compiled, rules
            and lazy that is possible. Compiled and lazy trees give bitwise identical results.
        memory: Memory limit of the whole process, such as ``"4GB"``. Default: half of the free memory. When a lazy tree
            reaches the limit, `run` ends with the result so far.
        symmetry: Whether to merge information sets that are equivalent under a symmetry of the rules, such as a board
            rotation or a permutation of suits in poker. The policy is then symmetric. Merging needs ``tree="rules"``,
            or ``tree="public"`` for permutations of suits.
        dtype: ``"float64"``, or ``"float32"`` for the strategy, its average and the minimizer's tables, to save
            memory on a public tree.

    Attributes:
        config, estimator, minimizer, averaging: Components and options.
        game, tree: The `pyspiel.Game` and its `Tree`.
        seed: The seed if it is an integer, else None.
        seconds: Duration of all runs so far, including those before a checkpoint.
        cpu_seconds: CPU seconds used by this process in all runs of this object, excluding compilation.
        history: Measurements made by `run` with ``evaluate_every`` or ``target_exploitability``; checkpoints include
            them.

    Raises:
        GameError: If the game cannot be compiled, or if a component does not support it (for example, because of
            imperfect recall).
        ConfigError: If a component is unknown, if its parameters are out of range, or if components cannot be combined.

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
        dtype: str = "float64",
    ):
        options = {"batch": batch, "threads": threads, "thread_mode": thread_mode, "tree": tree, "memory": memory}
        options |= {"dtype": dtype}
        config = SolverConfig.from_specs(
            estimator, minimizer, averaging, alternating=alternating, baseline=baseline, symmetry=symmetry, **options
        )
        self._begin(game, config, seed)

    @classmethod
    def from_config(cls, game: AnyGame, config: SolverConfig, *, seed: Seed = None) -> Self:
        """Returns the solver of a `SolverConfig`; see the class for arguments and errors."""
        solver = cls.__new__(cls)
        solver._begin(game, config, seed)
        return solver

    def _begin(self, game: AnyGame, config: SolverConfig, seed: Seed) -> None:
        super().__init__(seed)
        self.config, self._label = config, str(config)
        self.estimator, self.minimizer, self.averaging = config.estimator, config.minimizer, config.averaging
        rngs = new_states(seed, config.threads)
        self._evaluator: Evaluator | None = None  # of a compiled tree
        tree = tree_for(game, config)
        config.check_game(tree)
        self.tree, self.game, self._engine = tree, tree.game, self._new_engine(tree, rngs)

    def _new_engine(self, tree: Tree, rngs: np.ndarray) -> Engine:
        return Engine(self.config, tree, rngs)

    @property
    def stopped(self) -> str | None:
        """Why the last run ended before its limit, with a remedy; otherwise None."""
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
        by_rules = RULES in self.tree.provides and self.tree.perfect_recall
        if not by_rules and INFOSETS not in self.tree.provides:
            super()._check_evaluation()

    @property
    def unfinished(self) -> str | None:
        """The step that is missing before the first iteration, if any; otherwise None."""
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
        """Histories visited so far; an iteration of `Full` counts the whole tree once per player."""
        return self._engine.nodes_touched

    def state(self) -> dict[str, np.ndarray]:
        return self._engine.state()

    def average_strategy(self) -> np.ndarray:
        """Returns the average strategy (``[num_slots]`` float64), which is uniform at infosets not yet visited.

        On a lazy tree with several threads, the order of slots varies between runs with the same seed; the policies
        vary only with ``thread_mode="fast"``.
        """
        return self._engine.average_strategy()

    def current_strategy(self) -> np.ndarray:
        """Returns the strategy that the next iteration will play, ``[num_slots]`` float64."""
        return self._engine.current_strategy()

    def average_policy(self) -> TreePolicy | KeyedPolicy:
        """Returns a copy of the average policy, which approximates an equilibrium.

        Without a compiled tree, the policy is a `KeyedPolicy`, which is uniform except at the information states found
        so far.
        """
        return self._policy(self.average_strategy(), self._engine.masses)

    def current_policy(self) -> TreePolicy | KeyedPolicy:
        """Returns a copy of the policy that the next iteration will play."""
        return self._policy(self.current_strategy())

    def _policy(self, strategy: np.ndarray, masses: Any = None) -> TreePolicy | KeyedPolicy:
        if INFOSETS not in self.tree.provides:
            return KeyedPolicy.of_tree(self.tree, strategy, masses)
        tree = self.tree
        if PUBLIC in tree.provides:
            tree, strategy = tree.whole, strategy[tree.slots_of_whole]
            if tree.is_small:
                return TreePolicy(tree.stored, tree.on_stored(strategy))
        return TreePolicy(tree, strategy)

    def regrets(self, info_state: str, player: int | None = None) -> dict[int, float]:
        """Returns {action: cumulative regret} at an information state, in the form that the minimizer stores.

        `info_state` is a string as returned by ``state.information_state_string(player)``; by default, `player` is the
        player to whom the information state belongs.

        Raises:
            PolicyError: If the game has no such information state, or if no traversal of a lazy tree has reached it.
            ConfigError: If the minimizer keeps no regrets (ftrl, omd), or if ``tree="rules"`` is used, since
                this tree keeps no information state strings.
        """
        tree, engine = self.tree, self._engine
        infoset = tree.infoset(info_state, player)
        if infoset is None:
            raise PolicyError(f"{tree.game} has no information state {info_state!r}.")
        regrets = self.minimizer.cumulative_regrets(engine.tables, engine.parameters[0], tree.slots(infoset))
        return dict(zip(tree.legal_actions(infoset), regrets.tolist(), strict=True))

    def tables(self) -> np.ndarray:
        """Returns a copy of the minimizer's tables, ``[num_tables, num_slots]``; slots are as in `average_strategy`."""
        self._engine.number_infosets()
        return self._engine.tables[:, : self.tree.num_slots].copy()

    def set_tables(self, tables: np.ndarray) -> "Solver":
        """Sets the minimizer's tables, ``[num_tables, num_slots]``, and returns the solver itself.

        The strategy changes at the next update. Raises ConfigError if the shape is wrong or a number is not finite.
        """
        self._engine.tables[:, : self.tree.num_slots] = self._checked("tables", tables, self.tables().shape)
        return self

    def set_strategy(self, strategy: np.ndarray | pyspiel.Policy | Policy) -> "Solver":
        """Sets the strategy that the next iteration will play, and returns the solver itself. Averages are kept.

        Args:
            strategy: ``[num_slots]`` numbers in the order of `current_strategy`, or a policy. On a compiled tree, any
                policy is accepted; with ``tree="rules"``, the policy must come from a solver with the same options, and
                only infosets for which the policy has probabilities are changed.

        Raises:
            ConfigError: If the argument is not a strategy, that is, if it has the wrong shape, contains negative
                numbers, or does not sum to 1 at every infoset.
            PolicyError: If the argument is a policy for another game.

        Examples:
            >>> import mccfr_plus
            >>> start = mccfr_plus.Solver("kuhn_poker", "full").run(100)
            >>> solver = mccfr_plus.Solver("kuhn_poker", "full").set_strategy(start.average_policy())
            >>> bool((solver.current_strategy() == start.average_strategy()).all())
            True
        """
        self._engine.number_infosets()
        tree = self.tree
        if INFOSETS in tree.provides and not isinstance(strategy, np.ndarray):
            strategy = strategy_of(tree, strategy)
        elif RULES in tree.provides and isinstance(strategy, KeyedPolicy):
            strategy = strategy.on_tree(tree, self.current_strategy())
        values = self._checked("strategy", strategy, (tree.num_slots,))
        sums = np.add.reduceat(values, np.sort(tree.found_infosets["first_slot"])) if len(values) else np.ones(1)
        if (values < 0).any() or np.abs(sums - 1.0).max() > _SUM_TOLERANCE:
            raise ConfigError("strategy: at each information state, probabilities must be at least 0 and sum to 1.")
        self._engine.set_strategy(values)
        return self

    def _checked(self, name: str, given: Any, shape: tuple[int, ...]) -> np.ndarray:
        values = np.asarray(given, np.float64)
        if values.shape != shape or not np.isfinite(values).all():
            raise ConfigError(
                f"{name} has shape {values.shape}: give an array of shape {shape} that contains only finite numbers."
            )
        return values

    def evaluate(self) -> Evaluation:
        """Returns the values, NashConv and exploitability of the average policy.

        If the tree is lazy, the game is compiled once, and a `BudgetError` is raised if the game is too large; for
        bounds on the exploitability of such games, see `mccfr_plus.evaluation`. With ``tree="rules"``, the traversal
        uses all cores; 20 billion histories take minutes.
        """
        if RULES in self.tree.provides and self.tree.perfect_recall:
            self._engine.number_infosets()
            return RulesEvaluator(self.tree).evaluate(self.average_strategy())
        if INFOSETS in self.tree.provides:
            if self._evaluator is None:
                lent = self._engine.scratches[0] if PUBLIC in self.tree.provides else None
                self._evaluator = Evaluator(self.tree, lent)
            if PUBLIC in self.tree.provides:
                self._engine.scratches[0].reach_valid[:] = 0
            return self._evaluator.evaluate(self._engine.average_strategy(self._evaluator.room))
        return evaluate(self.whole_tree(), self.average_policy())

    def __repr__(self) -> str:
        names = ("estimator", "minimizer", "averaging", "alternating", "batch", "baseline")
        listed = ", ".join(f"{name}={getattr(self.config, name)!r}" for name in names)
        return f"Solver({str(self.game)!r}, {listed})"

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
        """Returns a solver in the state of a checkpoint, with the components and parameters in the file.

        `game` is the game or its compiled tree; by default, the game named in the file. `memory` may be changed.

        Raises:
            CheckpointError: If the file is not a checkpoint, is damaged, or belongs to another game or another class of
                solver; also if a component is user-defined or holds a policy: in this case, create a solver with the
                component and call `restore`.
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
