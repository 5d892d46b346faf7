"""Whether an average adds up, in expectation, own reach x strategy x a constant of the infoset."""

from collections.abc import Iterable

import numpy as np
import pyspiel

from mccfr_plus.averages import PowerAverage
from mccfr_plus.averages.average import Mechanism, add_visits
from mccfr_plus.checks.games import SPANS, THREE, name_of, own_reach, random_strategy, tree_of_name, tree_of_text
from mccfr_plus.checks.report import CheckLine, Report, Subject
from mccfr_plus.checks.sampler import GradientSampler, sample_gradient, z_limit
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators import Estimator, SamplingWeights
from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.minimizers import RegretMatching
from mccfr_plus.parameters import new_state
from mccfr_plus.solver.config import SolverConfig, average_of, composed, estimator_of
from mccfr_plus.solver.loop import ACCUMULATE, LISTS_VISITS, UPDATE_ALL_PLAYERS, weight_of
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.game_tree import GameTree, compile_game
from mccfr_plus.trees.scratch import begin_traversal

_WEIGHTS = np.array([1.0, 3.0])  # of the two strategies: they differ, so that a missing weight is seen
_BATCHES = 200
_LENGTH = 100  # iterations of a batch
_LAZY_ITERATIONS = 200
_REACH = "what is added: own reach times strategy times `weight`, in the mean"


@kernel
def replay(parameters, sampling_weights, tree, strategies, weights, average, scratch, length, sums):
    """Plays two strategies in turn, `length` iterations a batch, and adds them up; `sums` gets one row per batch."""
    for batch in range(len(sums)):
        average[:] = 0.0
        scratch.seen[:] = 0.0
        for step in range(length):
            strategy, weight = strategies[step % 2], weights[step % 2]
            for player in range(len(tree.slot_range) - 1):
                scratch.reach_valid[player] = 0
            for player in range(len(tree.slot_range) - 1):
                if player == 0 or not UPDATE_ALL_PLAYERS():
                    sample_gradient(parameters, sampling_weights, tree, strategy, scratch, player, 1)
                else:
                    begin_traversal(scratch)
                if LISTS_VISITS():
                    add_visits(strategy, average, scratch.visits, scratch.counts[0]["num_visits"], weight)
                ACCUMULATE(tree, strategy, average, scratch, player, weight)
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
    """Checks that an average is, in expectation, the average of the strategies that were played.

    Args:
        averaging: An average or its short name.
        estimator: A built-in estimator or its short name.
        games: Games used for the check. Default: three small games.
        unbiased: Whether the average must be unbiased. Default: True except for ``"optimistic"``.
        seed: Seed for strategies and draws.

    ``figures["bias"]`` of the report is the largest error of any averaged probability; errors are 0 in exact tests.

    Raises:
        CheckError: If the average is biased, writes NaN, or adds nothing.
        ConfigError: If the components cannot be combined.

    Examples:
        >>> import mccfr_plus
        >>> report = mccfr_plus.check_average("exact")
        >>> report.figures["bias"] < 1e-9
        True
    """
    average, sampling = average_of(averaging, RegretMatching()), estimator_of(estimator)
    if not type(sampling).__module__.startswith("mccfr_plus."):
        raise ConfigError(f"{sampling!r}: averages can be checked only with built-in estimators.")
    new_state(seed)  # validates the seed
    must_be_unbiased = average.method != "optimistic" or average.kernel is not None if unbiased is None else unbiased
    texts = (SPANS,) if average.method == "sampled" else (SPANS, THREE)  # "sampled" is for two players
    default = [tree_of_name("kuhn_poker"), *map(tree_of_text, texts)]
    trees = default if games is None else [compile_game(game) for game in games]
    lines: list[CheckLine] = []
    bias, config = 0.0, SolverConfig.from_specs(sampling, averaging=average)
    for tree in trees:
        config.check_game(tree)
        tree.require_perfect_recall("a check of averages")
        method, away = config.average_method(tree.num_players, tree.perfect_recall), 0.0
        if not method.has_sums:
            line = CheckLine("no average", name_of(tree), "the last strategy is played: nothing is added up")
        elif method.mechanism is Mechanism.LAZY:
            line = _compare_with_exact(average, sampling, tree, seed)
        else:
            line, away = _compare_with_played(config, tree, seed, must_be_unbiased)
        lines, bias = [*lines, line], max(bias, away)
    return Report(f"{average!r} with {sampling!r}", tuple(lines), {"bias": bias})


def _compare_with_exact(average: PowerAverage, estimator: Estimator, tree: GameTree, seed: int) -> CheckLine:
    """Runs a solver, because a lazy average needs strategies that change only where they are touched."""
    solver = Solver(tree, estimator, "rm", average, alternating=False, seed=seed)
    sums, first, worst = np.zeros(tree.num_slots), tree.arrays.infosets["first_slot"], 0.0
    for iteration in range(1, _LAZY_ITERATIONS + 1):
        sums += weight_of(iteration, *average.weights()) * own_reach(tree, solver.current_strategy())
        solver.iteration()
        totals = np.add.reduceat(sums, first)[tree.infoset_of_slot]
        expected = np.where(totals > 0.0, sums / np.where(totals > 0.0, totals, 1.0), tree.uniform_strategy())
        found = solver.average_strategy()
        away = np.abs(found - expected)
        worst = max(worst, float(away.max()))
        what = f"is not the exact average after {iteration} iterations"
        look_at = "the sums of `settled`, and when it is called: before the strategy of an infoset changes"
        Subject(average, tree).require(away <= 1e-12, what, look_at, expected=expected, found=found)
    compared = f"{name_of(tree)}, after each of {_LAZY_ITERATIONS} iterations"
    return CheckLine("the exact average", compared, f"largest difference {worst:.1e}")


def _play_in_turn(config: SolverConfig, tree: GameTree, strategies: np.ndarray, seed: int) -> np.ndarray:
    """Returns the sums of batches, ``[_BATCHES, num_slots]``."""
    sampler = GradientSampler(tree, config, np.random.default_rng((seed, 1)), zeros=0.0)
    # No traversal visits a node twice.
    scratch = sampler.scratch._replace(visits=np.zeros(2 * tree.num_nodes, sampler.scratch.visits.dtype))
    average, sums = np.zeros(tree.num_slots + tree.num_players), np.zeros((_BATCHES, tree.num_slots))
    by_sums, before = config.estimator.sampling_weights == SamplingWeights.AVERAGE, strategies.copy()
    weights = average if by_sums else sampler.sampling_weights
    run = composed(replay, config, config.average_method(tree.num_players, tree.perfect_recall), partial=True)
    with announce_compilation(run), np.errstate(all="ignore"):
        run(sampler.parameters, weights, sampler.arrays, strategies, _WEIGHTS, average, scratch, _LENGTH, sums)
    require, of_slot = Subject(config.averaging, tree).require, tree.infoset_of_slot
    totals = np.add.reduceat(sums.sum(axis=0), tree.arrays.infosets["first_slot"])[of_slot]
    for good, what, look_at in (
        (before == strategies, "writes to the strategy, which it may only read", "assignments to `strategy`"),
        (np.isfinite(sums), "adds NaN or infinity to the average", "divisions in the kernel"),
        (sums >= 0.0, "makes a sum of the average negative", "signs: weight, reach and strategy are >= 0"),
        ([totals != 0.0], "adds nothing up at an infoset that both strategies reach", "the infosets of the loop"),
    ):
        require(np.all(good, axis=0), what, f"{look_at} in the kernel")
    return sums


def _compare_with_played(config: SolverConfig, tree: GameTree, seed: int, unbiased: bool) -> tuple[CheckLine, float]:
    """Returns a line for the report and the bias."""
    rng = np.random.default_rng(seed)
    strategies = np.stack([random_strategy(tree, rng) for _ in _WEIGHTS])
    sums = _play_in_turn(config, tree, strategies, seed)
    target = sum(w * own_reach(tree, s) for w, s in zip(_WEIGHTS, strategies, strict=True))
    first, of_slot = tree.arrays.infosets["first_slot"], tree.infoset_of_slot
    share = target / np.add.reduceat(target, first)[of_slot]
    totals = np.add.reduceat(sums, first, axis=1)[:, of_slot]
    found = sums.sum(axis=0) / totals.sum(axis=0)
    bias = float(np.abs(found - share).max())
    name = config.average_method(tree.num_players, tree.perfect_recall).mechanism.name.lower()
    compared = f"{name_of(tree)}, {name}, {_BATCHES * _LENGTH:,} iterations"
    if not unbiased:
        return CheckLine("bias", compared, f"probabilities are off by up to {bias:.3g}"), bias
    difference = (sums - share * totals) / totals.mean(axis=0)
    error = difference.std(axis=0, ddof=1) / np.sqrt(_BATCHES)  # 0 but for rounding where nothing is drawn
    scores = np.maximum(np.abs(difference.mean(axis=0)) - 1e-10, 0.0) / np.maximum(error, 1e-12)
    slot, limit = int(scores.argmax()), z_limit(len(scores), _BATCHES - 1)
    what = f"is biased, for two strategies played in turn with weights 1 and 3: {scores[slot]:.1f} standard errors"
    good, require = scores[slot] < limit, Subject(config.averaging, tree).require
    require(good, f"{what} (limit {limit:.1f})", _REACH, slot=slot, expected=share[slot], found=found[slot])
    result = f"largest |z| {scores[slot]:.2f}, limit {limit:.2f}, largest difference {bias:.1e}"
    return CheckLine("z-test", compared, result), bias
