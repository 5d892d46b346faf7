"""Whether a minimizer plays distributions, writes where it may, treats actions alike, and minimizes regret.

At a single information state: values of all sizes, permuted actions, and its regret against random values, alternating
ones and an adversary. On whole games, with exact gradients: its average gets better, whatever the order of actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mccfr_plus.checks.bounds import Bound, bound_of
from mccfr_plus.checks.games import deep_text, name_of, tree_of_name, tree_of_text
from mccfr_plus.checks.infoset import SingleInfoset
from mccfr_plus.checks.relabel import relabelled
from mccfr_plus.checks.report import Line, Report, fail
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators.full import full_gradient
from mccfr_plus.evaluation.exact import evaluate_strategy
from mccfr_plus.evaluation.kernels import normalize
from mccfr_plus.kernels.compile import announce_compilation, compose, kernel
from mccfr_plus.kernels.loops.components import minimize
from mccfr_plus.kernels.no_refcount import no_refcount
from mccfr_plus.kernels.random_numbers import new_state
from mccfr_plus.kernels.scratch import begin_gradient, new_scratch, refresh_reach
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.minimizers.backward_pass import minimize_with
from mccfr_plus.solver.registry import average_of, minimizer_of
from mccfr_plus.tree.game_tree import GameTree

_SHORT, _GROWTH = 1_000, 16
_SHARE_OF_ROOT = 2.0  # expansion may be this many times that of a square root: noise, and starts that are too good
_ITERATIONS, _FRACTION = 1_000, 0.25
_ROUNDING = 1e-6  # rules with large steps answer a difference in the last bit with a million times as much


def check_minimizer(minimizer: Minimizer | str, *, bound: Bound | None = None, seed: int = 0) -> Report:
    """Checks that a minimizer keeps its contract and minimizes regret.

    Args:
        minimizer: A minimizer or its short name.
        bound: Regret that it may have at one infoset after (rounds, number of actions, range of the values); None: its
            method of the name ``regret_bound``, or what theory says of a built-in rule. Where there is none, the regret
            may be at most 8 times what it is, or what regret matching's bound is, after a sixteenth of the rounds.
        seed: Of the values.

    Returns:
        What was checked.

    Raises:
        CheckError: At the first thing that is wrong.
        ConfigError: If the minimizer has no kernel.

    Example:
        >>> import mccfr_plus
        >>> report = mccfr_plus.check_minimizer("rm")
        >>> report.lines[-1].check
        'relabelled game'
    """
    minimizer = minimizer_of(minimizer)
    compose(minimize_of_game, minimize=minimize_with(minimizer))  # refuses one without a kernel
    if bound is not None and not callable(bound):
        raise ConfigError(f"bound={bound!r}: give a function of (rounds, number of actions, range of values), or None.")
    new_state(seed)  # refuses what is no seed
    lines: list[Line] = []
    rng = np.random.default_rng(seed)
    _check_sizes(minimizer, rng, lines)
    _check_single_action(minimizer, lines)
    _check_permuted(minimizer, rng, lines)
    for num_actions in (2, 5):
        _check_regret(minimizer, num_actions, bound or bound_of(minimizer), rng, lines)
    deep = tree_of_text(deep_text())
    for tree in (tree_of_name("kuhn_poker"), deep):
        _check_converges(minimizer, tree, lines)
    _check_relabelled(minimizer, deep, rng, lines)
    return Report(repr(minimizer), tuple(lines))


# --- one infoset ---


def _check_sizes(minimizer: Minimizer, rng: np.random.Generator, lines: list[Line]) -> None:
    """Lets values of all sizes come, each size upon what the others left."""
    infoset = SingleInfoset(minimizer, 4)
    scales = {"ordinary": 1.0, "tiny": 1e-12, "large": 1e6, "ordinary after large": 1.0, "zero": 0.0}
    for name, scale in scales.items():
        infoset.play(scale * rng.normal(size=(50, 4)))
        lines.append(Line("distribution", f"{name} values, 50 rounds", "kept, nothing written outside"))
    for fresh in (0.0, 1e6, -1e6):
        SingleInfoset(minimizer, 4).play(np.full((50, 4), fresh))
    lines.append(Line("distribution", "constant values, 50 rounds", "kept, nothing written outside"))
    SingleInfoset(minimizer, 4).play(np.zeros((2_000, 4)), against=True)
    lines.append(Line("distribution", "an adversary's values, 2,000 rounds", "kept, nothing written outside"))


def _check_single_action(minimizer: Minimizer, lines: list[Line]) -> None:
    _, history, _ = SingleInfoset(minimizer, 1).play(np.arange(-10.0, 10.0)[:, None])
    assert np.abs(history - 1.0).max() <= 1e-9  # the sum was compared with 1 before
    lines.append(Line("single action", "20 rounds", "played"))


def _check_permuted(minimizer: Minimizer, rng: np.random.Generator, lines: list[Line]) -> None:
    values = rng.normal(size=(200, 5))
    order = np.array([3, 0, 4, 1, 2])
    other = SingleInfoset(minimizer, 5)
    _, usual, _ = SingleInfoset(minimizer, 5).play(values)
    _, permuted, _ = other.play(values[:, order])
    away = np.abs(usual[:, order] - permuted)
    if not away.max() <= 1e-9:
        turn, action = np.unravel_index(away.argmax(), away.shape)
        fail(
            minimizer,
            f"treats actions by their places: after {turn + 1} rounds of values in another order it does not play the "
            "same in that order",
            tree=other.tree,
            player=0,
            slot=int(other.slots.start + action),
            expected=usual[turn, order],
            found=permuted[turn],
            look_at="`first` and `last - 1`: do their actions get anything that the others do not?",
        )
    lines.append(Line("permuted actions", "200 rounds", f"the same, largest difference {away.max():.1e}"))


def _check_regret(
    minimizer: Minimizer, num_actions: int, bound: Bound | None, rng: np.random.Generator, lines: list[Line]
) -> None:
    rounds = _SHORT * _GROWTH
    better = np.zeros(num_actions)
    better[-1] = 0.3
    alternating = np.zeros((rounds, num_actions))
    alternating[np.arange(rounds), np.arange(rounds) % 2] = 1.0
    alternating[0] *= 0.5  # following the leader is then always one step behind
    sequences = {
        "random values": rng.uniform(-0.5, 0.5, (rounds, num_actions)) + better,
        "alternating values": alternating,
        "an adversary": None,
    }
    for name, given in sequences.items():
        infoset = SingleInfoset(minimizer, num_actions)
        start = np.zeros((rounds, num_actions)) if given is None else given
        values, _, earned = infoset.play(start, against=given is None)
        regrets = values.cumsum(axis=0).max(axis=1) - earned.cumsum()
        width = float(np.ptp(values, axis=1).max())
        compared = f"{name}, {num_actions} actions, {rounds:,} rounds"
        place: dict[str, Any] = {"tree": infoset.tree, "player": 0, "slot": infoset.slots.start}
        short, long = float(regrets[_SHORT - 1]), float(regrets[-1])
        if bound is not None:
            for count, regret in ((_SHORT, short), (rounds, long)):
                allowed = float(bound(count, num_actions, width))
                if not regret <= allowed * (1 + 1e-9) + 1e-9:
                    fail(
                        minimizer, f"has more regret than its bound, against {name}, after {count:,} rounds", **place,
                        expected=f"at most {allowed:.6g}", found=regret,
                        look_at="the sign of the regrets, the step size, and whether the strategy is the next one",
                    )  # fmt: skip
            lines.append(Line("regret", compared, f"{long:.4g}, bound {float(bound(rounds, num_actions, width)):.4g}"))
            continue
        root = width * float(np.sqrt(num_actions * _SHORT))
        allowed = _SHARE_OF_ROOT * np.sqrt(_GROWTH) * max(short, root)
        if not long <= allowed:
            fail(
                minimizer, f"has regret that grows as fast as time does, against {name}", **place,
                expected=f"at most {allowed:.6g} after {rounds:,} rounds: {short:.6g} after {_SHORT:,}, and growth as "
                "a square root", found=long,
                look_at="the sign of the regrets, the step size, and whether the strategy is the next one",
            )  # fmt: skip
        lines.append(Line("regret", compared, f"{long:.4g}, no bound known, at most {allowed:.4g} allowed"))


# --- whole games ---


@kernel
def minimize_of_game(tree, strategy, tables, average, scratch, parameters, gamma, begun, iterations):
    """Runs iterations with exact gradients, players in turn, and adds their strategies up. All modified in place.

    Args:
        tree: `TreeArrays` with leaves.
        strategy: ``[num_slots]``.
        tables: The minimizer's.
        average: ``[num_slots]``.
        scratch: `Scratch`.
        parameters: The minimizer's.
        gamma: Iteration t has weight t^gamma.
        begun: Iterations before these.
        iterations: How many.
    """
    tree, scratch = no_refcount(tree), no_refcount(scratch)
    for iteration in range(begun + 1, begun + iterations + 1):
        weight = float(iteration) ** gamma
        for player in range(len(tree.slot_range) - 1):
            begin_gradient(tree, scratch, player)
            full_gradient(parameters, average, tree, strategy, scratch, player)
            refresh_reach(tree, strategy, scratch, player)
            for slot in range(tree.slot_range[player], tree.slot_range[player + 1]):
                average[slot] += weight * scratch.reach[slot]
            minimize(tree, strategy, tables, scratch, player, iteration, parameters)


class _Run:
    """A minimizer on a whole game."""

    def __init__(self, minimizer: Minimizer, tree: GameTree):
        self._tree, self._gamma = tree, float(average_of(None, minimizer).gamma)
        self._tables, self._parameters = minimizer.tables(tree), minimizer.parameters()
        self._workspace = new_scratch(tree.arrays, tree.shape, np.zeros(1, np.uint64))
        self._average = np.zeros(tree.num_slots)
        self._begun = 0
        self._run: Callable = compose(minimize_of_game, minimize=minimize_with(minimizer))
        self.strategy = tree.uniform_strategy()

    def nash_conv(self, iterations: int) -> float:
        """Returns NashConv of the average after this many iterations more."""
        with announce_compilation(self._run):
            self._run(
                self._tree.arrays_with_leaves, self.strategy, self._tables, self._average, self._workspace,
                self._parameters, self._gamma, self._begun, iterations,
            )  # fmt: skip
        self._begun += iterations
        normalize(self._average, self._tree.arrays.infosets, played := np.empty(self._tree.num_slots))
        return evaluate_strategy(self._tree, played).nash_conv


def _check_converges(minimizer: Minimizer, tree: GameTree, lines: list[Line]) -> None:
    uniform = evaluate_strategy(tree, tree.uniform_strategy()).nash_conv
    found = _Run(minimizer, tree).nash_conv(_ITERATIONS)
    if not found <= _FRACTION * uniform:
        fail(
            minimizer,
            f"does not get near an equilibrium: NashConv of the average after {_ITERATIONS:,} iterations with exact "
            "gradients",
            tree=tree,
            expected=f"at most {_FRACTION * uniform:.6g}, {_FRACTION:g} times that of uniform play",
            found=found,
            look_at="what the kernel returns: the infoset's value under the strategy that was played, for its parent",
        )
    lines.append(
        Line("whole game", f"{name_of(tree)}, {_ITERATIONS:,} iterations", f"NashConv {found:.3g} from {uniform:.3g}")
    )


def _check_relabelled(minimizer: Minimizer, tree: GameTree, rng: np.random.Generator, lines: list[Line]) -> None:
    other = relabelled(tree, rng)
    usual, permuted = _Run(minimizer, tree), _Run(minimizer, other.tree)
    for iterations in (1, 2, 7, 20):
        expected, found = usual.nash_conv(iterations), permuted.nash_conv(iterations)
        away = np.abs(other.to_new(usual.strategy) - permuted.strategy)
        if not (abs(expected - found) <= _ROUNDING and away.max() <= _ROUNDING):
            fail(
                minimizer,
                "plays otherwise when actions and information states are listed in another order",
                tree=other.tree,
                slot=int(away.argmax()),
                expected=f"{other.to_new(usual.strategy)[away.argmax()]:.9g}, NashConv {expected:.9g}",
                found=f"{permuted.strategy[away.argmax()]:.9g}, NashConv {found:.9g}",
                look_at="anything that depends on the number of a slot and not on what stands there",
            )
    lines.append(Line("relabelled game", f"{name_of(tree)}, 30 iterations", "the same strategies and NashConv"))
