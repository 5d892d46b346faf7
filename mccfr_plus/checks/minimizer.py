"""Whether a minimizer plays distributions, writes where it may, treats actions alike, and minimizes regret.

At a single information state: values of all sizes, permuted actions, and its regret against random values, alternating
ones and an adversary. On whole games, with exact gradients: its average approaches an equilibrium, and the order of
actions does not matter.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mccfr_plus.checks.bounds import Bound, bound_of
from mccfr_plus.checks.games import deep_text, name_of, three_infosets_text, tree_of_name, tree_of_text
from mccfr_plus.checks.relabel import relabelled
from mccfr_plus.checks.report import Line, Report, Subject
from mccfr_plus.errors import ConfigError
from mccfr_plus.evaluation.exact import evaluate_strategy
from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.kernels.loops.components import MINIMIZE
from mccfr_plus.kernels.random_numbers import new_state
from mccfr_plus.kernels.scratch import begin_gradient, new_scratch
from mccfr_plus.kernels.slots import bind
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.minimizers.base import minimize_with
from mccfr_plus.solver.registry import minimizer_of
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.game_tree import GameTree

_SHORT, _FACTOR = 1_000, 16  # rounds after which regret is measured, and how many times as many follow
_SHARE_OF_ROOT = 2.0  # regret may grow this many times as much as a square root: noise, and starts that are too good
_ITERATIONS, _FRACTION = 1_000, 0.25
_KEPT = "kept, nothing written outside"
_ROUNDING = 1e-6  # rules with large steps answer a difference in the last bit with a million times as much
_MORE = 8  # rows of tables, and parameters
_SENTINEL = 7.25  # stands in everything that belongs to the other infosets
_MIDDLE = 1  # the infoset that is updated


def check_minimizer(minimizer: Minimizer | str, *, bound: Bound | None = None, seed: int = 0) -> Report:
    """Checks that a minimizer keeps its contract and minimizes regret.

    Args:
        minimizer: A minimizer or its short name.
        bound: Function of (rounds, number of actions, range of the values): the largest regret allowed at one infoset.
            None: the minimizer's method ``regret_bound``, or the known bound of a built-in rule. Without any, regret
            after 16,000 rounds may be at most 8 times the larger of regret and regret matching's bound after 1,000.
        seed: Of the values.

    Returns:
        What was checked.

    Raises:
        CheckError: At the first thing that is wrong.
        ConfigError: If the minimizer has no kernel.

    Examples:
        >>> import mccfr_plus
        >>> report = mccfr_plus.check_minimizer("rm")
        >>> report.lines[-1].check
        'relabelled game'
    """
    minimizer = minimizer_of(minimizer)
    minimize_with(minimizer)  # refuses one without a kernel
    if bound is not None and not callable(bound):
        raise ConfigError(f"bound={bound!r}: give a function of (rounds, number of actions, range of values), or None.")
    new_state(seed)  # refuses what is no seed
    rng = np.random.default_rng(seed)
    bound = bound or bound_of(minimizer)
    deep = tree_of_text(deep_text())
    lines = (
        *_check_sizes(minimizer, rng),
        *_check_permuted(minimizer, rng),
        *_check_regret(minimizer, 2, bound, rng),
        *_check_regret(minimizer, 5, bound, rng),
        _check_converges(minimizer, tree_of_name("kuhn_poker")),
        _check_converges(minimizer, deep),
        _check_relabelled(minimizer, deep, rng),
    )
    return Report(repr(minimizer), lines)


# --- one infoset ---


@kernel
def play_rounds(tree, strategy, tables, scratch, parameters, values, against, begun, history, earned):
    """Plays rounds at the middle infoset, after `begun` others.

    `values` are ``[num_rounds, num_actions]``, as is `history`, an output: the strategy after each round. `earned`,
    an output, is what the strategy before it earned in each round. With `against`, an adversary writes the values: 0
    for the action that is played most, 1 for all others.
    """
    record = tree.infosets[1]
    first, count = record["first_slot"], record["num_actions"]
    for number in range(len(values)):
        if against:
            values[number] = 1.0
            values[number, np.argmax(strategy[first : first + count])] = 0.0
        begin_gradient(tree, scratch, 0)
        for action in range(count):
            scratch.gradient[first + action] = values[number, action]
            earned[number] += strategy[first + action] * values[number, action]
        touched = scratch.touched[0]
        touched["first_slot"] = first
        touched["num_actions"] = count
        touched["parent_slot"] = record["parent_slot"]
        scratch.num_touched[0] = 1
        MINIMIZE(tree, strategy, tables, scratch, 0, begun + number + 1, parameters)
        for action in range(count):
            history[number, action] = strategy[first + action]


class _SingleInfoset:
    """A minimizer at an infoset with this many actions."""

    def __init__(self, minimizer: Minimizer, num_actions: int):
        tree = tree_of_text(three_infosets_text(num_actions))
        self.tree, self.slots = tree, tree.slots(_MIDDLE)
        self.subject = Subject(minimizer, tree, 0)
        self._others = np.ones(tree.num_slots, bool)
        self._others[self.slots] = False
        self._scratch = new_scratch(
            tree.arrays, tree.shape, np.zeros(1, np.uint64), side_by_side=minimizer.finish is not None
        )
        parameters, tables = minimizer.parameters(), minimizer.tables(tree)
        # Rows and numbers that there are not, for kernels that count on more than the class says.
        self._rows = np.concatenate([tables, np.full((_MORE, tree.slot_capacity), _SENTINEL)])
        self._parameters = np.append(parameters, np.full(_MORE, np.nan))[: len(parameters)]
        self._tables, self._strategy = self._rows[: len(tables)], tree.uniform_strategy()
        self._scratch.gradient[:] = self._tables[:, self._others] = self._strategy[self._others] = _SENTINEL
        self._rounds = 0
        self._play = bind(play_rounds, {MINIMIZE: minimize_with(minimizer)})

    def play(self, values: np.ndarray, against: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Plays rounds with ``[num_rounds, num_actions]`` values, or `against` an adversary that overwrites them.

        Returns the values, the strategies after each round, and what each round earned.
        """
        values, history, earned = np.array(values, np.float64), np.zeros(values.shape), np.zeros(len(values))
        with announce_compilation(self._play), np.errstate(all="ignore"):
            self._play(
                self.tree.arrays, self._strategy, self._tables, self._scratch, self._parameters, values, against,
                self._rounds, history, earned,
            )  # fmt: skip
        self._check_outside()
        self._check_history(values, history)
        self._rounds += len(values)
        return values, history, earned

    def _check_outside(self) -> None:
        for row in range(len(self._tables), len(self._rows)):
            self.subject.require(
                bool((self._rows[row] == _SENTINEL).all()), f"writes to `tables[{row}]`, which there is not",
                f"`num_tables`, which is {len(self._tables)}", slot=self.slots.start, found=self._rows[row],
            )  # fmt: skip
        places = {"strategy": self._strategy, "values": self._scratch.gradient[: self.tree.num_slots]}
        places |= {f"tables[{row}]": table for row, table in enumerate(self._tables)}
        for name, array in places.items():
            self.subject.require(
                ~self._others | (array == _SENTINEL), f"writes outside of its slots, to `{name}`",
                "the bounds of the kernel's loops: `for slot in range(first, last)`",
                expected=f"slots {self.slots.start} to {self.slots.stop - 1} alone are its own", found=array,
            )  # fmt: skip

    def _check_history(self, values: np.ndarray, history: np.ndarray) -> None:
        with np.errstate(all="ignore"):
            is_one = np.abs(history.sum(axis=1) - 1.0) <= 1e-9
        overflows = (
            "divisions by a total that is 0, exponentials without the largest taken off, sums that overflow, "
            f"`parameters()`, which has {len(self._parameters)} numbers"
        )
        divisions = "the division by the total, and what is played where it is 0"
        cases: tuple[tuple[Any, str, str], ...] = (
            (np.isfinite(history).all(axis=1), "plays NaN or infinity", overflows),
            ((history >= 0.0).all(axis=1), "plays with negative probability", "what the strategy is in proportion to"),
            (is_one, "plays what is no distribution", divisions),
        )
        for good, what, look_at in cases:
            bad = int(np.argmin(good))
            found = f"{history[bad].tolist()}, after the values {values[bad].tolist()}"
            what = f"{what}, in round {self._rounds + bad + 1}"
            self.subject.require(good[bad], what, look_at, slot=self.slots.start, found=found)
        own, returned = self._tables[:, self.slots], self._scratch.gradient[self.tree.num_slots]
        for numbers, what, look_at in (
            (own, "keeps NaN or infinity in its tables", "what is added to `tables[:, first:last]`"),
            (returned, "returns NaN or infinity", "the kernel's return statement: the infoset's value, for its parent"),
        ):
            self.subject.require(bool(np.isfinite(numbers).all()), what, look_at, slot=self.slots.start, found=numbers)


def _check_sizes(minimizer: Minimizer, rng: np.random.Generator) -> Iterator[Line]:
    """Plays values of all sizes, each size after the others."""
    infoset = _SingleInfoset(minimizer, 4)
    scales = {"ordinary": 1.0, "tiny": 1e-12, "large": 1e6, "ordinary after large": 1.0, "zero": 0.0}
    for name, scale in scales.items():
        infoset.play(scale * rng.normal(size=(50, 4)))
        yield Line("distribution", f"{name} values, 50 rounds", _KEPT)
    for constant in (0.0, 1e6, -1e6):
        _SingleInfoset(minimizer, 4).play(np.full((50, 4), constant))
    yield Line("distribution", "constant values, 50 rounds", _KEPT)
    _SingleInfoset(minimizer, 4).play(np.zeros((2_000, 4)), against=True)
    yield Line("distribution", "an adversary's values, 2,000 rounds", _KEPT)
    _SingleInfoset(minimizer, 1).play(np.arange(-10.0, 10.0)[:, None])  # the probability is compared with 1
    yield Line("single action", "20 rounds", "played")


def _check_permuted(minimizer: Minimizer, rng: np.random.Generator) -> Iterator[Line]:
    values, order, other = rng.normal(size=(200, 5)), np.array([3, 0, 4, 1, 2]), _SingleInfoset(minimizer, 5)
    _, usual, _ = _SingleInfoset(minimizer, 5).play(values)
    _, permuted, _ = other.play(values[:, order])
    away = np.abs(usual[:, order] - permuted)
    number, action = np.unravel_index(away.argmax(), away.shape)
    other.subject.require(
        away.max() <= 1e-9,
        f"treats actions by their places: after {number + 1} rounds of values in another order it does not play the "
        "same in that order",
        "`first` and `last - 1`: do their actions get anything that the others do not?",
        slot=int(other.slots.start + action), expected=usual[number, order], found=permuted[number],
    )  # fmt: skip
    yield Line("permuted actions", "200 rounds", f"the same, largest difference {away.max():.1e}")


def _check_regret(
    minimizer: Minimizer, num_actions: int, bound: Bound | None, rng: np.random.Generator
) -> Iterator[Line]:
    rounds = _SHORT * _FACTOR
    random, alternating = rng.uniform(-0.5, 0.5, (rounds, num_actions)), np.zeros((rounds, num_actions))
    random[:, -1] += 0.3
    alternating[np.arange(rounds), np.arange(rounds) % 2] = 1.0
    alternating[0] *= 0.5  # following the leader is then always one step behind
    sequences = {"random values": random, "alternating values": alternating, "an adversary": np.zeros_like(random)}
    for name, given in sequences.items():
        infoset = _SingleInfoset(minimizer, num_actions)
        values, _, earned = infoset.play(given, against=name == "an adversary")
        regrets = values.cumsum(axis=0).max(axis=1) - earned.cumsum()
        width = float(np.ptp(values, axis=1).max())
        if bound is not None:
            what, limit = "has more regret than its bound", "bound {:.4g}"
            cases = [(count, float(bound(count, num_actions, width))) for count in (_SHORT, rounds)]
        else:
            what, limit = "has regret that grows as fast as time does", "no bound known, at most {:.4g} allowed"
            root = max(float(regrets[_SHORT - 1]), width * float(np.sqrt(num_actions * _SHORT)))
            cases = [(rounds, _SHARE_OF_ROOT * float(np.sqrt(_FACTOR)) * root)]
        for count, allowed in cases:
            infoset.subject.require(
                regrets[count - 1] <= allowed * (1 + 1e-9) + 1e-9, f"{what}, against {name}, after {count:,} rounds",
                "the sign of the regrets, the step size, and whether the strategy is the next one",
                slot=infoset.slots.start, expected=f"at most {allowed:.6g}", found=regrets[count - 1],
            )  # fmt: skip
        result = f"{regrets[-1]:.4g}, {limit.format(cases[-1][1])}"
        yield Line("regret", f"{name}, {num_actions} actions, {rounds:,} rounds", result)


# --- whole games ---


def _check_converges(minimizer: Minimizer, tree: GameTree) -> Line:
    uniform = evaluate_strategy(tree, tree.uniform_strategy()).nash_conv
    found = Solver(tree, "full", minimizer).run(_ITERATIONS).nash_conv()
    Subject(minimizer, tree).require(
        found <= _FRACTION * uniform,
        f"does not get near an equilibrium: NashConv of the average after {_ITERATIONS:,} iterations with exact "
        "gradients",
        "what the kernel returns: the infoset's value under the strategy that was played, for its parent",
        expected=f"at most {_FRACTION * uniform:.6g}, {_FRACTION:g} times that of uniform play", found=found,
    )  # fmt: skip
    compared = f"{name_of(tree)}, {_ITERATIONS:,} iterations"
    return Line("whole game", compared, f"NashConv {found:.3g} from {uniform:.3g}")


def _check_relabelled(minimizer: Minimizer, tree: GameTree, rng: np.random.Generator) -> Line:
    other = relabelled(tree, rng)
    usual, permuted = Solver(tree, "full", minimizer), Solver(other.tree, "full", minimizer)
    for iterations in (1, 2, 7, 20):
        expected, found = usual.run(iterations).nash_conv(), permuted.run(iterations).nash_conv()
        usual_strategy, strategy = other.to_new(usual.current_strategy()), permuted.current_strategy()
        away = np.abs(usual_strategy - strategy)
        slot = int(away.argmax())
        Subject(minimizer, other.tree).require(
            abs(expected - found) <= _ROUNDING and away[slot] <= _ROUNDING,
            "plays differently when actions and information states are listed in another order",
            "anything that depends on the number of a slot and not on what stands there", slot=slot,
            expected=f"{usual_strategy[slot]:.9g}, NashConv {expected:.9g}",
            found=f"{strategy[slot]:.9g}, NashConv {found:.9g}",
        )  # fmt: skip
    return Line("relabelled game", f"{name_of(tree)}, 30 iterations", "the same strategies and NashConv")
