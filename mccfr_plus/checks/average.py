"""Whether an average adds up, in expectation, own reach x strategy x a constant of the infoset.

Two fixed strategies are played in turn, with different weights, and the sums of the average compared with what they
must be in proportion to: exactly where the average does not depend on draws, by z-tests where it does. The lazy
average relies on strategies that change only where they are touched; it is compared with the exact one, and with what
was played, in runs of a solver instead.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyspiel

from mccfr_plus.averages import PowerAverage
from mccfr_plus.averages import exact as exact_average
from mccfr_plus.averages.lazy_sums import LAZY
from mccfr_plus.averages.visits import add_visits
from mccfr_plus.checks.exact import own_reach
from mccfr_plus.checks.games import SPANS, THREE, name_of, random_strategy, tree_of_name, tree_of_text
from mccfr_plus.checks.report import Line, Report, fail
from mccfr_plus.checks.sampler import sample_gradient
from mccfr_plus.checks.statistics import t_limit
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators import Estimator, SamplingWeights
from mccfr_plus.estimators.visits import max_visits
from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.kernels.loops.components import LISTS_VISITS, UPDATE_ALL_PLAYERS, accumulate
from mccfr_plus.kernels.loops.composed import composed
from mccfr_plus.kernels.no_refcount import no_refcount
from mccfr_plus.kernels.random_numbers import new_state
from mccfr_plus.kernels.scratch import begin_traversal, new_scratch
from mccfr_plus.minimizers import RegretMatching
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.solver.registry import average_of, estimator_of
from mccfr_plus.solver.solver import Solver
from mccfr_plus.tree.game_tree import GameTree, compile_game

_WEIGHTS = np.array([1.0, 3.0])  # of the two strategies: whoever forgets the weight is seen
_BATCHES = 200
_LENGTH, _SHORT_LENGTH = 100, 10  # iterations of a batch; for kernels that are called from Python
_LAZY_ITERATIONS = 200
_REACH = (
    "own reach times strategy: an infoset's sums must expand by the player's own reach of it, or be visited with that "
    "probability, times `weight`, times what does not change over time"
)


@kernel
def replay(parameters, sampling_weights, tree, strategies, weights, average, scratch, length, sums):
    """Plays two strategies in turn and adds them up; `sums` gets one row per batch.

    Args:
        parameters: The estimator's.
        sampling_weights: See `SamplingWeights`.
        tree: `TreeArrays`.
        strategies: ``[2, num_slots]``.
        weights: ``[2]``.
        average: ``[num_slots + num_players]`` float64. Modified in place.
        scratch: `Scratch`. Modified in place.
        length: Iterations in a batch.
        sums: ``[num_batches, num_slots]``, an output.
    """
    tree, scratch = no_refcount(tree), no_refcount(scratch)
    for batch in range(len(sums)):
        for slot in range(len(average)):
            average[slot] = 0.0
        for slot in range(len(scratch.mark)):
            scratch.mark[slot]["seen"] = 0.0
        for step in range(length):
            strategy, weight = strategies[step % 2], weights[step % 2]
            for player in range(len(tree.slot_range) - 1):
                scratch.reach_valid[player] = 0
            for player in range(len(tree.slot_range) - 1):
                if player == 0 or not UPDATE_ALL_PLAYERS:
                    sample_gradient(parameters, sampling_weights, tree, strategy, scratch, player, 1)
                else:
                    begin_traversal(scratch)
                if LISTS_VISITS:
                    add_visits(strategy, average, scratch, weight)
                accumulate(tree, strategy, average, scratch, player, weight)
        for slot in range(sums.shape[1]):
            sums[batch, slot] = average[slot]


def check_average(
    averaging: PowerAverage | str,
    estimator: Estimator | str = "external",
    *,
    games: Iterable[pyspiel.Game | str | GameTree] | None = None,
    unbiased: bool | None = None,
    seed: int = 0,
) -> Report:
    """Checks that an average is, in expectation, the average of what was played.

    Args:
        averaging: An average or its short name.
        estimator: With which estimator, or its short name; only built-in ones.
        games: On which games; None: three small ones.
        unbiased: Whether it is to be unbiased. False: how biased it is, the largest difference of a probability, is
            found out and stands in the report as ``figures["bias"]``. None: as documented, all but ``"optimistic"``.
        seed: Of strategies and draws.

    Returns:
        What was checked.

    Raises:
        CheckError: If it is biased, or writes NaN, or adds nothing up.
        ConfigError: If the parts do not go together.

    Example:
        >>> import mccfr_plus
        >>> report = mccfr_plus.check_average("exact")
        >>> report.figures["bias"] < 1e-9
        True
    """
    average, sampling = average_of(averaging, RegretMatching()), estimator_of(estimator)
    if not type(sampling).__module__.startswith("mccfr_plus."):
        raise ConfigError(f"{sampling!r}: averages are checked with the built-in estimators.")
    new_state(seed)  # refuses what is no seed
    claim = average.method != "optimistic" or average.kernel is not None if unbiased is None else bool(unbiased)
    default = ("kuhn_poker", tree_of_text(SPANS), tree_of_text(THREE))
    trees = [tree_of_name(g) if isinstance(g, str) else compile_game(g) for g in (default if games is None else games)]
    if games is None and average.method == "sampled":
        trees = trees[:2]  # it is for two players
    lines, bias = [], 0.0
    for tree in trees:
        config = SolverConfig.from_specs(sampling, averaging=average)
        config.check_game(tree)
        method = config.average_method(tree.num_players, tree.perfect_recall)
        if not method.has_sums:
            lines.append(Line("no average", name_of(tree), "the last strategy is played: nothing is added up"))
        elif method is LAZY:
            lines.append(_compare_with_exact(average, sampling, tree, seed))
        else:
            line, away = _Replay(average, sampling, config, tree, seed).compare(claim)
            lines.append(line)
            bias = max(bias, away)
    return Report(f"{average!r} with {sampling!r}", tuple(lines), {"bias": bias})


def _compare_with_exact(average: PowerAverage, estimator: Estimator, tree: GameTree, seed: int) -> Line:
    """Compares with the sum of what a solver plays, and with a solver that has the exact average."""
    lazy = Solver(tree, estimator, "rm", average, alternating=False, seed=seed)
    solvers = [lazy]
    if (
        estimator.sampling_weights != SamplingWeights.AVERAGE
    ):  # which samples by sums that a lazy average has not brought up to date
        solvers.append(Solver(tree, estimator, "rm", exact_average(average.gamma), alternating=False, seed=seed))
    sums, first, worst = np.zeros(tree.num_slots), tree.arrays.infosets["first_slot"], 0.0
    uniform = tree.uniform_strategy()
    for iteration in range(1, _LAZY_ITERATIONS + 1):
        sums += iteration**average.gamma * own_reach(tree, lazy.current_strategy())
        for solver in solvers:
            solver.iteration()
        totals = np.add.reduceat(sums, first)[tree.infoset_of_slot]
        played = np.where(totals > 0.0, sums / np.where(totals > 0.0, totals, 1.0), uniform)
        found = lazy.average_strategy()
        for expected in (played, *(solver.average_strategy() for solver in solvers[1:])):
            away = np.abs(found - expected)
            worst = max(worst, float(away.max()))
            if not away.max() <= 1e-12:
                slot = int(away.argmax())
                fail(
                    average,
                    f"is not the exact average after {iteration} iterations with {estimator!r}",
                    tree=tree,
                    slot=slot,
                    expected=expected[slot],
                    found=found[slot],
                    look_at="what is settled, and when: before the strategy of an infoset changes",
                )
    compared = f"{name_of(tree)}, after each of {_LAZY_ITERATIONS} iterations"
    return Line("the exact average", compared, f"largest difference {worst:.1e}")


class _Replay:
    """Two strategies, played in turn, and what an average makes of them."""

    def __init__(self, average: PowerAverage, estimator: Estimator, config: SolverConfig, tree: GameTree, seed: int):
        self._average, self._estimator, self._tree = average, estimator, tree
        self._method = config.average_method(tree.num_players, tree.perfect_recall)
        rng = np.random.default_rng(seed)
        self._strategies = np.stack([random_strategy(tree, rng) for _ in range(2)])
        self._sums = np.zeros((_BATCHES, tree.num_slots))
        self._length = _LENGTH if average.kernel is None else _SHORT_LENGTH
        self._run(rng)

    def _run(self, rng: np.random.Generator) -> None:
        tree, estimator, nodes = self._tree, self._estimator, self._tree.arrays.nodes
        sums = np.zeros(tree.num_slots + tree.num_players)
        sampling_weights_of = {SamplingWeights.AVERAGE: sums, SamplingWeights.REGRETS: rng.normal(size=tree.num_slots)}
        sampling_weights_of[SamplingWeights.SAMPLING] = random_strategy(tree, rng)
        room = sum(
            max_visits(nodes, player, own, estimator.visits_all_chance, estimator.visits_all_own)
            for player in range(tree.num_players)
            for own in (True, False)
        )
        values = np.zeros((tree.num_players, tree.num_nodes) if estimator.keeps_values else (0, 0))
        scratch = new_scratch(
            tree.arrays,
            tree.shape,
            rng.integers(0, 2**64, size=1, dtype=np.uint64),
            max_visits=int(room),
            sample_per_infoset=estimator.samples_per_infoset,
            values=values,
        )
        arrays = tree.arrays_with_leaves if estimator.needs_leaves else tree.arrays
        before = self._strategies.copy()
        run = composed(replay, estimator, RegretMatching(), self._method)
        with announce_compilation(run), np.errstate(all="ignore"):
            run(
                estimator.parameters(), sampling_weights_of.get(estimator.sampling_weights, np.zeros(0)), arrays,
                self._strategies, _WEIGHTS, sums, scratch, self._length, self._sums,
            )  # fmt: skip
        changed = np.flatnonzero((before != self._strategies).any(axis=0))
        if len(changed):
            fail(
                self._average, "writes to the strategy, which it may only read", tree=tree, slot=changed[0],
                look_at="assignments to `strategy` in the kernel",
            )  # fmt: skip

    def compare(self, claims_unbiased: bool) -> tuple[Line, float]:
        """Returns a line for the report and the bias found, or raises CheckError."""
        tree, sums = self._tree, self._sums
        self._check_numbers()
        target = sum(w * own_reach(tree, s) for w, s in zip(_WEIGHTS, self._strategies, strict=True))
        first = tree.arrays.infosets["first_slot"]
        of_slot = tree.infoset_of_slot
        share = target / np.add.reduceat(target, first)[of_slot]
        totals = np.add.reduceat(sums, first, axis=1)[:, of_slot]
        found = sums.sum(axis=0) / totals.sum(axis=0)
        bias = np.abs(found - share)
        difference = (sums - share * totals) / totals.mean(axis=0)
        error = difference.std(axis=0, ddof=1) / np.sqrt(_BATCHES)
        varies = error > 1e-12
        scores = np.where(varies, np.abs(difference.mean(axis=0)) / np.where(varies, error, 1.0), 0.0)
        scores[~varies] = np.where(bias[~varies] > 1e-10, np.inf, 0.0)
        limit = t_limit(int(varies.sum()), _BATCHES - 1)
        iterations = _BATCHES * self._length
        compared = f"{name_of(tree)}, {self._method.name}, {iterations:,} iterations"
        if not claims_unbiased:
            return Line("bias", compared, f"probabilities are off by up to {bias.max():.3g}"), float(bias.max())
        if not scores.max() < limit:
            slot = int(scores.argmax())
            how = "exactly" if not varies[slot] else f"{scores[slot]:.1f} standard errors, limit {limit:.1f}"
            fail(
                self._average,
                f"is biased with {self._estimator!r}: two strategies played in turn, with weights 1 and 3, over "
                f"{iterations:,} iterations, average to another one ({how})",
                tree=tree,
                slot=slot,
                expected=share[slot],
                found=found[slot],
                look_at=_REACH,
            )
        if not varies.any():
            return Line("exact average", compared, f"largest difference {bias.max():.1e}"), float(bias.max())
        worst = f"largest |z| {scores.max():.2f}, limit {limit:.2f}, {int(varies.sum())} slots"
        return Line("z-test", compared, worst), float(bias.max())

    def _check_numbers(self) -> None:
        bad = np.flatnonzero(~np.isfinite(self._sums).all(axis=0))
        if len(bad):
            fail(
                self._average, "adds NaN or infinity to the average", tree=self._tree, slot=bad[0],
                look_at="divisions in the kernel",
            )  # fmt: skip
        bad = np.flatnonzero((self._sums < 0.0).any(axis=0))
        if len(bad):
            fail(
                self._average, "makes a sum of the average negative", tree=self._tree, slot=bad[0],
                look_at="what the kernel adds: weight, reach and strategy are all at least 0",
            )  # fmt: skip
        totals = np.add.reduceat(self._sums.sum(axis=0), self._tree.arrays.infosets["first_slot"])
        bad = np.flatnonzero(totals == 0.0)
        if len(bad):
            fail(
                self._average, "adds nothing up at an infoset that both strategies reach", tree=self._tree,
                slot=self._tree.slots(int(bad[0])).start, look_at="which infosets the kernel goes through",
            )  # fmt: skip
