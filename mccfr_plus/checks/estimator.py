"""Whether an estimator is unbiased and keeps its contract.

1. Every random outcome of a traversal on tiny games, with its probability: the mean is the exact gradient to rounding.
2. The same on relabelled games: actions, outcomes and infosets in another order.
3. After every one of these traversals, and after compiled ones, the contract of `Estimator` holds.
4. Means of many compiled traversals on a larger game, by z-tests.
5. The same random state gives the same bits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator

import numpy as np
import pyspiel

from mccfr_plus.checks.contract import Frozen, check_walk
from mccfr_plus.checks.exact import exact_gradient
from mccfr_plus.checks.games import name_of, tiny_trees, tree_of_name
from mccfr_plus.checks.relabel import relabelled
from mccfr_plus.checks.report import Line, Report, fail
from mccfr_plus.checks.sampler import Sampler, drivers_of
from mccfr_plus.checks.script import DrawsDirectly, Script, all_outcomes
from mccfr_plus.checks.statistics import FALSE_ALARM, z_limit
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators import Baseline, Estimator
from mccfr_plus.kernels.compile import announce_compilation
from mccfr_plus.kernels.random_numbers import new_state
from mccfr_plus.solver.registry import baseline_of, estimator_of
from mccfr_plus.tree.game_tree import GameTree, compile_game

SMALLER_GAME, LARGER_GAME = "kuhn_poker", "leduc_poker"  # of the z-tests: power, and something to be wrong about

_TOLERANCE = 1e-10
_MAX_OUTCOMES = 800  # of a traversal; a game on which it has more is left to sampling
_SECONDS = 2.0  # of sampling, unless the number of samples is given
_ENOUGH = 1_000  # samples that are not 0, from which a normal limit says something about a slot
_SIGNS = 16
_UNBIASED = (
    "the weight of what a traversal adds: payoff times the reach of the others, divided by the probability with which "
    "the traversal came here (every draw that is not on-policy needs its 1 / probability)"
)


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
    """Checks that an estimator is unbiased, touches what it should, and writes nowhere else.

    Args:
        estimator: An estimator or its short name.
        baseline: Control variates to check it with; see `Solver`.
        batch: How many traversals make one gradient.
        games: On which games: all outcomes are gone through where there are few enough, and the smallest and the
            largest are sampled. None: four tiny ones, and Kuhn and Leduc poker for the z-tests.
        samples: How many gradients to sample per player and game; None: for about two seconds a game, so that their
            number depends on the machine.
        seed: Of strategies, sampling_weights_of and draws.
        exact: Whether to go through all random outcomes; it is done in plain Python.

    Returns:
        What was checked.

    Raises:
        CheckError: At the first thing that is wrong.
        ConfigError: If the parts do not go together, or the estimator has no kernel.

    Example:
        >>> import mccfr_plus
        >>> report = mccfr_plus.check_estimator("external", samples=2_000)
        >>> report.lines[0].check
        'exact mean'
    """
    estimator, control = estimator_of(estimator), baseline_of(baseline)
    drivers_of(estimator)  # refuses one without a kernel
    if not estimator.is_unbiased:
        raise ConfigError(
            f"{estimator!r} estimates regrets up to a factor per information state, and no gradient: there is nothing "
            "to compare it with. Compare regrets."
        )
    check = _Check(estimator, control, batch, seed)
    chosen = None if games is None else [compile_game(game) for game in games]
    if chosen == []:
        raise ConfigError("games=[]: give at least one game, or None for the built-in ones.")
    if exact:
        check.outcomes(tiny_trees() if chosen is None else chosen)
    larger = tree_of_name(LARGER_GAME) if chosen is None else max(chosen, key=lambda tree: tree.num_nodes)
    check.compiled_contract(larger)
    check.same_bits(larger)
    smaller = tree_of_name(SMALLER_GAME) if chosen is None else min(chosen, key=lambda tree: tree.num_nodes)
    for tree in dict.fromkeys((smaller, larger)):
        check.samples(tree, samples)
    return Report(repr(estimator), tuple(check.lines))


class _Check:
    def __init__(self, estimator: Estimator, baseline: Baseline | None, batch: int, seed: int):
        new_state(seed)  # refuses what is no seed
        self.estimator, self.baseline, self.batch, self.seed = estimator, baseline, batch, seed
        self.lines: list[Line] = []

    def sampler(
        self, tree: GameTree, zeros: float = 0.0, script: Script | None = None, stream: tuple[int, ...] = ()
    ) -> Sampler:
        return Sampler(
            tree,
            self.estimator,
            baseline=self.baseline,
            batch=self.batch,
            rng=np.random.default_rng((self.seed, *stream)),
            zeros=zeros,
            script=script,
        )

    def note(self, check: str, compared: str, result: str) -> None:
        self.lines.append(Line(check, compared, result))

    # --- all outcomes ---

    def outcomes(self, trees: list[GameTree]) -> None:
        """Compares the mean over all outcomes with the exact gradient."""
        try:
            for tree in trees:
                were_few = [self._outcomes_of_player(tree, player) for player in range(tree.num_players)]
                if not all(were_few):
                    continue
                other = relabelled(tree, np.random.default_rng(self.seed)).tree
                for player in range(tree.num_players):
                    self._outcomes_of_player(other, player, is_relabelled=True)
        except DrawsDirectly:
            self.lines.clear()
            self.note(
                "exact mean",
                "not possible",
                "the kernel draws by itself and not through mccfr_plus.estimators.draws: sampled only",
            )

    def _outcomes_of_player(self, tree: GameTree, player: int, is_relabelled: bool = False) -> bool:
        """Checks a player's gradient; returns whether there were few enough outcomes."""
        worst, most = 0.0, 0
        name = "exact mean, relabelled" if is_relabelled else "exact mean"
        compared = f"{name_of(tree)}, player {player}"
        for zeros in (0.4,) if is_relabelled else (0.0, 0.4):
            script = Script()
            sampler = self.sampler(tree, zeros, script)
            mean, mass, count = np.zeros(tree.num_slots + tree.num_players), 0.0, 0
            for probability, gradient in self._walks(sampler, player, script):
                mean += probability * gradient
                mass += probability
                count += 1
                if count > _MAX_OUTCOMES:
                    self.note(name, compared, f"left to sampling: more than {_MAX_OUTCOMES:,} outcomes")
                    return False
            most = max(most, count)
            assert abs(mass - 1.0) < 1e-9, "the probabilities of all outcomes sum to 1"
            expected = exact_gradient(tree, sampler.strategy, player)
            error = np.abs(mean - expected)
            worst = max(worst, float(error.max()))
            if not worst <= _TOLERANCE * max(1.0, float(np.abs(expected).max())):
                slot = int(error.argmax())
                fail(
                    self.estimator,
                    f"is biased{' when actions are listed in another order' if is_relabelled else ''}: its mean over "
                    f"all {count} outcomes of its draws is not the gradient",
                    tree=tree,
                    player=player,
                    slot=slot,
                    expected=expected[slot],
                    found=mean[slot],
                    look_at=_UNBIASED,
                )
        self.note(name, compared, f"{most} outcomes, largest error {worst:.1e}")
        return True

    def _walks(self, sampler: Sampler, player: int, script: Script) -> Iterator[tuple[float, np.ndarray]]:
        frozen = Frozen(sampler)

        def traversal() -> np.ndarray:
            counts, touched = sampler.scratch.counts.copy(), sampler.scratch.touched.copy()
            try:
                sampler.estimate(player)
            except (IndexError, ZeroDivisionError, OverflowError) as error:
                fail(
                    self.estimator,
                    f"runs into {type(error).__name__} as plain Python: {error}. Compiled code would read or write "
                    "elsewhere, or go on with infinity",
                    tree=sampler.tree,
                    player=player,
                    look_at="indices into the scratch and the tree, and divisions",
                )
            check_walk(sampler, player, counts, touched)
            frozen.check()
            return sampler.found(player)

        yield from all_outcomes(script, traversal)

    # --- compiled ---

    def compiled_contract(self, tree: GameTree) -> None:
        """Checks what compiled traversals leave behind."""
        traversals = 0
        for zeros in (0.0, 0.4):
            sampler = self.sampler(tree, zeros)
            frozen = Frozen(sampler)
            for _ in range(10):
                for player in range(tree.num_players):
                    counts, touched = sampler.scratch.counts.copy(), sampler.scratch.touched.copy()
                    with announce_compilation(sampler._sample):
                        sampler.estimate(player)
                    check_walk(sampler, player, counts, touched)
                    traversals += 1
            frozen.check()
        self.note("contract", f"{name_of(tree)}, {traversals} compiled traversals", "kept")

    def same_bits(self, tree: GameTree) -> None:
        """Checks that the same random state gives the same bits."""
        first, second = (self._bits(tree) for _ in range(2))
        if first != second:
            fail(
                self.estimator,
                "gives different bits from the same random state",
                tree=tree,
                look_at="draws from anywhere but `scratch.rng`, and entries that are read before they are written",
            )
        self.note("same seed, same bits", name_of(tree), "yes")

    def _bits(self, tree: GameTree) -> bytes:
        sampler = self.sampler(tree)
        found = []
        for player in list(range(tree.num_players)) * 3:
            sampler.estimate(player)
            found.append(sampler.found(player).tobytes())
        return b"".join(found)

    # --- z-tests ---

    def samples(self, tree: GameTree, samples: int | None) -> None:
        """Compares means of samples with the exact gradient."""
        for zeros in (0.0, 0.4):
            for player in range(tree.num_players):
                self._samples_of_player(tree, player, zeros, samples, _SECONDS / (2 * tree.num_players))

    def _samples_of_player(
        self, tree: GameTree, player: int, zeros: float, samples: int | None, seconds: float
    ) -> None:
        sampler = self.sampler(tree, zeros, stream=(player, int(zeros > 0)))
        expected = exact_gradient(tree, sampler.strategy, player)
        signs = np.random.default_rng(self.seed).choice([-1.0, 1.0], (len(expected), _SIGNS))
        moments, projected = np.zeros((3, len(expected))), np.zeros((2, _SIGNS))
        if not self.estimator.samples:
            samples = 1
        sampler.add(player, 1, signs, moments, projected)  # compiles
        count, chunk, begin = 1, 1, time.perf_counter()
        while count < (samples or 1 << 60) and (samples is not None or time.perf_counter() - begin < seconds):
            chunk = min(2 * chunk, 100_000, (samples or 1 << 60) - count)
            sampler.add(player, chunk, signs, moments, projected)
            count += chunk
        self._compare(tree, player, expected, signs, moments, projected, count)

    def _compare(
        self,
        tree: GameTree,
        player: int,
        expected: np.ndarray,
        signs: np.ndarray,
        moments: np.ndarray,
        projected: np.ndarray,
        count: int,
    ) -> None:
        mean, hits = moments[0] / count, moments[2]
        scale = max(1.0, float(np.abs(expected).max()))
        variance = np.maximum(moments[1] / count - mean**2, 0.0)
        is_constant = (hits == count) & (variance <= 1e-12 * mean**2)
        many = (hits >= _ENOUGH) & ~is_constant
        z = np.zeros(len(mean))
        # An event that was not seen has a probability of up to log(1 / false alarm) / count; what it would add is of
        # the size of a payoff. Control variates are small in nearly all traversals, and large in one of a million.
        unseen = -math.log(FALSE_ALARM) / count * float(np.abs(tree.arrays.payoffs).max())
        away = np.abs(mean - expected)
        slack = 0.0 if self.baseline is None else unseen
        z[many] = np.maximum(away - slack, 0.0)[many] / np.sqrt(variance[many] / count)
        allowed = 1e-8 * scale + (unseen if self.estimator.samples else 0.0)
        z[is_constant] = np.where(away[is_constant] > allowed, np.inf, 0.0)
        of_projections = projected[0] / count
        spread = np.sqrt(np.maximum(projected[1] / count - of_projections**2, 0.0) / count)
        off = np.abs(of_projections - expected @ signs)
        rounding = 1e-8 * scale * len(expected)
        z_projected = np.where(off <= rounding, 0.0, off / np.maximum(spread, 1e-300))
        limit = z_limit(int(many.sum()) + _SIGNS)
        if not z.max() < limit:
            slot = int(z.argmax())
            fail(
                self.estimator,
                f"is biased: its mean over {count:,} samples is {z[slot]:.1f} standard errors away (limit {limit:.1f})",
                tree=tree,
                player=player,
                slot=slot,
                expected=expected[slot],
                found=mean[slot],
                look_at=_UNBIASED,
            )
        if not z_projected.max() < limit:
            fail(
                self.estimator,
                f"is biased somewhere: of sums over all slots with random signs, the mean over {count:,} samples is "
                f"{z_projected.max():.1f} standard errors away (limit {limit:.1f})",
                tree=tree,
                player=player,
                expected=float((expected @ signs)[z_projected.argmax()]),
                found=float(of_projections[z_projected.argmax()]),
                look_at=_UNBIASED,
            )
        self.note(
            "z-test",
            f"{name_of(tree)}, player {player}, {count:,} samples, {int(many.sum())} slots, {_SIGNS} projections",
            f"largest |z| {max(z.max(), z_projected.max()):.2f}, limit {limit:.2f}",
        )
