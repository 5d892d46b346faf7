"""Whether an estimator is unbiased, by all random outcomes on tiny games and by z-tests, and keeps its contract."""

import functools
import itertools
import math
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.checks.games import exact_gradient, name_of, public_trees, tiny_trees, tree_of_name
from mccfr_plus.checks.report import CheckLine, Report, Subject
from mccfr_plus.checks.sampler import FALSE_ALARM, DrawsDirectly, GradientSampler, Script, all_outcomes, z_limit
from mccfr_plus.errors import ConfigError, shortened
from mccfr_plus.estimators import Baseline, Estimator
from mccfr_plus.kernels.compile import announce_compilation
from mccfr_plus.parameters import check_whole, new_state
from mccfr_plus.solver.config import SolverConfig, estimate_with
from mccfr_plus.trees.game_tree import GameTree, compile_game
from mccfr_plus.trees.needs import DRAWS, GRADIENTS, PUBLIC
from mccfr_plus.trees.public.public_tree import PublicTree, given_public_tree

_SAMPLED = "kuhn_poker", "leduc_poker"  # many samples, and many slots
_TOLERANCE = 1e-10
_MAX_OUTCOMES = 800  # of a traversal; a game on which it has more is left to sampling
_SECONDS = 2.0  # of sampling, unless the number of samples is given
_ENOUGH = 1_000  # samples that are not 0, from which a normal limit says something about a slot
_SIGNS = 16
_ZEROS = 0.4  # chance of each probability to be 0, for strategies that do not play all actions
_UNBIASED = "the weight of a payoff: every draw that is not on-policy needs its 1 / probability"


def check_estimator(
    estimator: Estimator | str,
    *,
    baseline: Baseline | str | bool | None = None,
    batch: int = 1,
    games: Iterable[pyspiel.Game | str | GameTree] | None = None,
    samples: int | None = None,
    seed: int = 0,
    exact: bool = True,
) -> Report:
    """Checks that an estimator is unbiased, touches the right infosets, and writes nothing else.

    Args:
        estimator: An estimator or its short name.
        baseline: Control variates to use in the check; see `Solver`.
        batch: Number of traversals per gradient.
        games: Games used for the check. Outcomes are enumerated in games that have few of them; gradients are also
            sampled in the smallest and the largest game. Default: four tiny games, and Kuhn and Leduc poker for z-tests
            of sampled gradients.
        samples: Number of gradients to sample per player and game. Default: as many as can be sampled in two seconds
            per game.
        seed: Seed for strategies, sampling weights and draws.
        exact: Whether to enumerate all random outcomes (in plain Python).

    Raises:
        CheckError: At the first error found.
        ConfigError: If the components cannot be combined, or the estimator has no kernel.

    Examples:
        >>> import mccfr_plus
        >>> report = mccfr_plus.check_estimator("external", samples=2_000)
        >>> report.lines[0].check
        'exact mean'
    """
    config = SolverConfig.from_specs(estimator, averaging="stochastic", baseline=baseline, batch=batch)
    estimate_with(config.estimator)  # raises without a kernel
    if GRADIENTS not in config.estimator.provides:
        raise ConfigError(
            f"{config.estimator!r} estimates regrets only up to a factor that depends on the infoset: only gradients "
            "can be checked."
        )
    new_state(seed)  # validates the seed
    if samples is not None:
        check_whole("samples", samples)
    trees: list[Any] = tiny_trees() if games is None else [compile_game(game) for game in games]
    if is_public := config.who_needs(PUBLIC) is not None:
        trees = public_trees() if games is None else list(map(PublicTree, trees))
    if not trees:
        raise ConfigError("games=[]: give at least one game, or None for the built-in ones.")
    sampled: list[Any] = list(map(tree_of_name, _SAMPLED)) if games is None else trees
    sampled = list(map(PublicTree, sampled)) if is_public and games is None else sampled
    smaller, larger = (pick(sampled, key=lambda tree: tree.num_nodes) for pick in (min, max))
    lines = exact_means(config, trees, seed) if exact else []
    lines += _compiled(config, larger, seed)
    for tree in dict.fromkeys((smaller, larger)):
        for zeros, player in itertools.product((0.0, _ZEROS), range(tree.num_players)):
            rng = np.random.default_rng((seed, player, int(zeros > 0)))
            lines.append(_z_test(GradientSampler(tree, config, rng, zeros), player, samples, seed))
    return Report(repr(config.estimator), tuple(lines))


def exact_means(config: SolverConfig, trees: list[GameTree], seed: int) -> list[CheckLine]:
    """Compares means over all outcomes with exact gradients, and checks the contract after each traversal."""
    try:
        return [_exact_mean(config, tree, player, seed) for tree in trees for player in range(tree.num_players)]
    except DrawsDirectly:
        reason = "the kernel draws by itself and not through mccfr_plus.estimators.traversal: sampled only"
        return [CheckLine("exact mean", "not possible", reason)]


def _exact_mean(config: SolverConfig, tree: GameTree, player: int, seed: int) -> CheckLine:
    worst, most, compared = 0.0, 0, f"{name_of(tree)}, player {player}"
    subject = Subject(config.estimator, tree, player)
    for zeros in (0.0, _ZEROS):
        script = Script()
        sampler = GradientSampler(tree, config, np.random.default_rng((seed,)), zeros, script)
        mean, mass, count = np.zeros(tree.num_slots + tree.num_players), 0.0, 0
        try:
            for probability, gradient in all_outcomes(script, functools.partial(sampler.estimate, player)):
                mean += probability * gradient
                mass += probability
                count += 1
                if count > _MAX_OUTCOMES:
                    return CheckLine("exact mean", compared, f"left to sampling: more than {_MAX_OUTCOMES:,} outcomes")
        except (IndexError, ZeroDivisionError, OverflowError) as error:
            what = f"runs into {type(error).__name__} as plain Python: {shortened(error)}"
            raise subject.error(what, "the indices into `scratch` and `tree`, and the divisions") from None
        most = max(most, count)
        assert abs(mass - 1.0) < 1e-9, "the probabilities of all outcomes sum to 1"
        expected = exact_gradient(tree, sampler.strategy, player)
        away = np.abs(mean - expected)
        worst = max(worst, float(away.max()))
        good = away <= _TOLERANCE * max(1.0, float(np.abs(expected).max()))
        what = f"is biased: its mean over all {count} outcomes of its draws is not the gradient"
        subject.require(good, what, _UNBIASED, expected=expected, found=mean)
    return CheckLine("exact mean", compared, f"{most} outcomes, largest error {worst:.1e}")


def _compiled(config: SolverConfig, tree: GameTree, seed: int) -> list[CheckLine]:
    """Checks the contract after compiled traversals, twice from the same random state."""
    players = list(range(tree.num_players)) * 10
    for zeros in (0.0, _ZEROS):
        found = []
        for _ in range(2):
            sampler = GradientSampler(tree, config, np.random.default_rng((seed,)), zeros)
            with announce_compilation(sampler.run):
                found.append([sampler.estimate(player).tobytes() for player in players])
        what = "gives different gradients from the same random state"
        look_at = "draws from anywhere but `scratch.rng`, and entries that are read before they are written"
        Subject(config.estimator, tree).require(found[0] == found[1], what, look_at)
    compared = f"{name_of(tree)}, {4 * len(players)} compiled traversals"
    return [CheckLine("contract", compared, "kept"), CheckLine("same seed", name_of(tree), "bitwise identical")]


def _z_test(sampler: GradientSampler, player: int, samples: int | None, seed: int) -> CheckLine:
    """Compares a mean of samples with the exact gradient."""
    tree, config, has_draws = sampler.tree, sampler.config, DRAWS in sampler.estimator.provides
    expected = exact_gradient(tree, sampler.strategy, player)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (len(expected), _SIGNS))
    moments, projected = np.zeros((3, len(expected))), np.zeros((2, _SIGNS))
    samples = samples if has_draws else 1
    seconds, most = _SECONDS / (2 * tree.num_players), samples or 1 << 60
    sampler.add(player, 1, signs, moments, projected)  # compiles
    count, begin = 1, time.perf_counter()
    while count < most and (samples is not None or time.perf_counter() - begin < seconds):
        chunk = min(count + 1, 100_000, most - count)
        sampler.add(player, chunk, signs, moments, projected)
        count += chunk

    # The sums over all slots with random signs are tested like slots.
    is_slot = np.arange(len(expected) + _SIGNS) < len(expected)
    mean, squares = (np.append(moments[row], projected[row]) / count for row in (0, 1))
    hits, expected = np.append(moments[2], np.full(_SIGNS, count)), np.append(expected, expected @ signs)
    scale = max(1.0, float(np.abs(expected[is_slot]).max()))
    variance = np.maximum(squares - mean**2, 0.0)
    is_constant = (hits == count) & (variance <= 1e-12 * squares)
    many = (hits >= np.where(is_slot, _ENOUGH, 1)) & ~is_constant
    public = given_public_tree(tree)
    payoffs = (tree if public is None else public.stored).arrays.payoffs
    # An event that was not seen has a probability of up to log(1 / false alarm) / count; what it would add is of
    # the size of a payoff. Control variates are small in nearly all traversals, and large in one of a million.
    unseen = -math.log(FALSE_ALARM) / count * float(np.abs(payoffs).max())
    away = np.abs(mean - expected)
    rounding = 1e-8 * scale * np.where(is_slot, 1, len(moments[0]))
    slack = rounding + (0.0 if config.baseline is None else np.where(is_slot, unseen, 0.0))
    z = np.where(many, np.maximum(away - slack, 0.0) / np.sqrt(np.where(many, variance, 1.0) / count), 0.0)
    allowed = rounding + (unseen if has_draws else 0.0)
    z[is_constant & (away > allowed)] = np.inf
    limit, worst = z_limit(int(many.sum())), int(z.argmax())
    mean_of = "its mean" if is_slot[worst] else "of a sum over all slots with random signs, the mean"
    what = f"is biased: {mean_of} over {count:,} samples is {z[worst]:.1f} standard errors away (limit {limit:.1f})"
    slot, require = worst if is_slot[worst] else None, Subject(config.estimator, tree, player).require
    require(z[worst] < limit, what, _UNBIASED, slot=slot, expected=expected[worst], found=mean[worst])
    slots = int((many & is_slot).sum())
    compared = f"{name_of(tree)}, player {player}, {count:,} samples, {slots} slots, {_SIGNS} projections"
    return CheckLine("z-test", compared, f"largest |z| {z[worst]:.2f}, limit {limit:.2f}")
