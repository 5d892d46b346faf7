"""Whether a minimizer plays distributions, writes where it may, treats actions alike, and minimizes regret.

At a single information state with values of all sizes, random, alternating and adversarial ones; and on whole games.
"""

import functools
from collections.abc import Iterator

import numpy as np

from mccfr_plus.bounds import regret_bound
from mccfr_plus.checks import games
from mccfr_plus.checks.report import CheckLine, Report, Subject
from mccfr_plus.evaluation.exact import evaluate_strategy
from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.kernels.slots import bind
from mccfr_plus.minimizers import FTRL, Hedge, Minimizer
from mccfr_plus.minimizers.minimizer import minimize_with
from mccfr_plus.parameters import new_state
from mccfr_plus.solver.config import minimizer_of
from mccfr_plus.solver.loop import MINIMIZE
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.scratch import begin_gradient, new_scratch

_SHORT, _FACTOR = 1_000, 16  # rounds after which regret is measured, and the factor for the second measurement
_SHARE_OF_ROOT = 2.0  # regret may grow this many times as much as a square root: noise, and starts that are too good
_ITERATIONS, _FRACTION = 1_000, 0.25
_KEPT = "kept, nothing written outside"
_ROUNDING = 1e-6  # rules with large steps answer a difference in the last bit with a million times as much
_MORE = 8  # rows of tables, and parameters
_SENTINEL = 7.25  # stands in everything that belongs to the other infosets
_MIDDLE = 1  # the infoset that is updated


def check_minimizer(minimizer: Minimizer | str, *, seed: int = 0) -> Report:
    """Checks that a minimizer honors its contract and minimizes regret.

    Args:
        minimizer: A minimizer or its short name.
        seed: Seed for the random action values.

    Regret at one infoset must stay below the minimizer's ``regret_bound(rounds, num_actions, width)``, where width is
    the range of the action values, or below the known bound of a built-in rule. If neither exists, the limit after
    16,000 rounds is 8 times the larger of two values after 1,000 rounds: the minimizer's regret and the bound for
    regret matching.

    Raises:
        CheckError: At the first error found.
        ConfigError: If the minimizer has no kernel.

    Examples:
        >>> import mccfr_plus
        >>> report = mccfr_plus.check_minimizer("rm")
        >>> report.lines[-1].check
        'relabelled game'
    """
    minimizer = minimizer_of(minimizer)
    minimize_with(minimizer)  # refuses one without a kernel
    new_state(seed)  # validates the seed
    rng, deep = np.random.default_rng(seed), games.tree_of_text(games.deep_text())
    lines = (
        *_check_sizes(minimizer, rng),
        _check_permuted(minimizer, rng),
        *_check_regret(minimizer, 2, rng),
        *_check_regret(minimizer, 5, rng),
        _check_converges(minimizer, games.tree_of_name("kuhn_poker")),
        _check_converges(minimizer, deep),
        _check_relabelled(minimizer, deep),
    )
    return Report(repr(minimizer), lines)


# --- one infoset ---


@kernel
def play_rounds(tree, strategy, tables, scratch, parameters, values, against, begun, history, earned):
    """Plays rounds at the middle infoset, after `begun` others.

    Writes the strategies after each round to `history`, ``[num_rounds, num_actions]`` as `values`, and payoffs to
    `earned`. With `against`, an adversary writes the values: 0 for the likeliest action, else 1.
    """
    record = tree.infosets[1]
    first, count = record["first_slot"], record["num_actions"]
    for number in range(len(values)):
        if against:
            likeliest = first  # a loop, as numba imports scipy.linalg, a quarter of a second start, for np.argmax
            for slot in range(first + 1, first + count):
                if strategy[slot] > strategy[likeliest]:
                    likeliest = slot
            values[number] = 1.0
            values[number, likeliest - first] = 0.0
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
    def __init__(self, minimizer: Minimizer, num_actions: int):
        tree = games.tree_of_text(games.infosets_text((2, num_actions, 3)))
        self.tree, self.slots = tree, tree.slots(_MIDDLE)
        self.require = functools.partial(Subject(minimizer, tree, 0).require, slot=self.slots.start)
        self._others = np.ones(tree.num_slots, bool)
        self._others[self.slots] = False
        self._scratch = new_scratch(tree.arrays, tree.shape, np.zeros(1, np.uint64))
        parameters, tables = minimizer.parameters(), minimizer.tables(tree)
        # Additional rows and numbers, for kernels that use more than the class declares.
        self._rows = np.concatenate([tables, np.full((_MORE, tree.slot_capacity), _SENTINEL)])
        self._parameters = np.append(parameters, np.full(_MORE, np.nan))[: len(parameters)]
        self._tables, self._strategy = self._rows[: len(tables)], tree.uniform_strategy()
        self._scratch.gradient[:] = self._tables[:, self._others] = self._strategy[self._others] = _SENTINEL
        self._rounds = 0
        self._play = bind(play_rounds, {MINIMIZE: minimize_with(minimizer)})

    def play(self, values: np.ndarray, against: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Plays rounds with values, or `against` an adversary; returns values, strategies and payoffs of each round."""
        values = np.array(values, np.float64, order="C")  # one layout, so that the kernel is compiled once
        history, earned = np.zeros(values.shape), np.zeros(len(values))
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
            is_kept, what = (self._rows[row] == _SENTINEL).all(), f"writes to `tables[{row}]`, which does not exist"
            self.require(is_kept, what, f"`num_tables`, which is {len(self._tables)}")
        places = {"strategy": self._strategy, "values": self._scratch.gradient[: self.tree.num_slots]}
        places |= {f"tables[{row}]": table for row, table in enumerate(self._tables)}
        own = f"slots {self.slots.start} to {self.slots.stop - 1} alone are its own"
        for name, array in places.items():
            is_kept, look_at = ~self._others | (array == _SENTINEL), "`for slot in range(first, last)`"
            what = f"writes outside of its slots, to `{name}`"
            self.require(is_kept, what, look_at, expected=own, found=array)

    def _check_history(self, values: np.ndarray, history: np.ndarray) -> None:
        numbers = f"`parameters()`, which has {len(self._parameters)} numbers"
        overflows = f"divisions by a total that is 0, exponentials and sums that overflow, {numbers}"
        is_one = np.abs(history.sum(axis=1, keepdims=True) - 1.0) <= 1e-9
        division = "the division by the total, and the strategy where it is 0"
        for good, what, look_at in (
            (np.isfinite(history), "plays NaN or infinity", overflows),
            (history >= 0.0, "plays with negative probability", "the numbers before normalization"),
            (is_one, "plays something other than a distribution", division),
        ):
            bad = int(np.argmin(good.all(axis=1)))
            text = f"{history[bad].tolist()}, after the values {values[bad].tolist()}"
            self.require(good.all(), f"{what}, in round {self._rounds + bad + 1}", look_at, found=text)
        kept, returned = self._tables[:, self.slots], self._scratch.gradient[self.tree.num_slots]
        what, look_at = "keeps NaN or infinity in its tables", "the sums in `tables[:, first:last]`"
        self.require(np.isfinite(kept).all(), what, look_at, found=kept)
        self.require(np.isfinite(returned), "returns NaN or infinity", "the kernel's return statement", found=returned)


def _check_sizes(minimizer: Minimizer, rng: np.random.Generator) -> Iterator[CheckLine]:
    infoset, scales = _SingleInfoset(minimizer, 4), {"ordinary": 1.0, "tiny": 1e-12, "large": 1e6}
    for name, scale in {**scales, "ordinary after large": 1.0, "zero": 0.0}.items():
        infoset.play(scale * rng.normal(size=(50, 4)))
        yield CheckLine("distribution", f"{name} values, 50 rounds", _KEPT)
    for constant in (0.0, 1e6, -1e6):
        _SingleInfoset(minimizer, 4).play(np.full((50, 4), constant))
    yield CheckLine("distribution", "constant values, 50 rounds", _KEPT)
    _SingleInfoset(minimizer, 4).play(np.zeros((2_000, 4)), against=True)
    yield CheckLine("distribution", "an adversary's values, 2,000 rounds", _KEPT)
    _SingleInfoset(minimizer, 1).play(np.arange(-10.0, 10.0)[:, None])  # the probability is compared with 1
    yield CheckLine("single action", "20 rounds", "played")


def _check_permuted(minimizer: Minimizer, rng: np.random.Generator) -> CheckLine:
    values, order, other = rng.normal(size=(200, 5)), np.array([3, 0, 4, 1, 2]), _SingleInfoset(minimizer, 5)
    usual = _SingleInfoset(minimizer, 5).play(values)[1][:, order]
    permuted = other.play(values[:, order])[1]
    away = np.abs(usual - permuted)
    number, action = worst = np.unravel_index(away.argmax(), away.shape)
    what = f"treats actions by their places: after {number + 1} rounds of permuted values its strategy differs"
    look_at, slot = "special treatment of `first` or `last - 1`", int(other.slots.start + action)
    other.require(away.max() <= 1e-9, what, look_at, slot=slot, expected=usual[worst], found=permuted[worst])
    return CheckLine("permuted actions", "200 rounds", f"the same, largest difference {away.max():.1e}")


def _check_regret(minimizer: Minimizer, num_actions: int, rng: np.random.Generator) -> Iterator[CheckLine]:
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
        what, limit = "has more regret than its bound", "bound {:.4g}"
        bounds = {count: _bound(minimizer, count, num_actions, width) for count in (_SHORT, rounds)}
        allowed = {count: bound for count, bound in bounds.items() if bound is not None}
        if not allowed:
            what, limit = "has regret that grows as fast as time does", "no bound known, at most {:.4g} allowed"
            root = max(float(regrets[_SHORT - 1]), width * float(np.sqrt(num_actions * _SHORT)))
            allowed = {rounds: _SHARE_OF_ROOT * float(np.sqrt(_FACTOR)) * root}
        for count, most in allowed.items():
            regret, look_at = regrets[count - 1], "the sign of the regrets, the step size, the strategy"
            good, fault = regret <= most * (1 + 1e-9) + 1e-9, f"{what}, against {name}, after {count:,} rounds"
            infoset.require(good, fault, look_at, expected=f"at most {most:.6g}", found=regret)
        result = f"{regrets[-1]:.4g}, {limit.format(allowed[rounds])}"
        yield CheckLine("regret", f"{name}, {num_actions} actions, {rounds:,} rounds", result)


def _bound(minimizer: Minimizer, rounds: int, num_actions: int, width: float) -> float | None:
    own = getattr(minimizer, "regret_bound", None)
    if own is not None:
        return float(own(rounds, num_actions, width))
    if type(minimizer) is Hedge and minimizer.optimistic and minimizer.decay == 0:
        minimizer = FTRL(eta=minimizer.eta, optimistic=True)  # at a single infoset the same, and its bound is known
    tree = games.tree_of_text(games.infosets_text((num_actions,), width))
    bound = regret_bound(tree, 0, rounds, "full", minimizer, "uniform")
    return None if bound is None else rounds * bound.value


# --- whole games ---


def _check_converges(minimizer: Minimizer, tree: GameTree) -> CheckLine:
    uniform = evaluate_strategy(tree, tree.uniform_strategy()).nash_conv
    found = Solver(tree, "full", minimizer).run(_ITERATIONS).nash_conv()
    what = f"does not get near an equilibrium: NashConv of the average after {_ITERATIONS:,} iterations of `full`"
    look_at = "the kernel's return value: the infoset's value under the strategy that was played, for its parent"
    expected = f"at most {_FRACTION * uniform:.6g}, {_FRACTION:g} times that of uniform play"
    Subject(minimizer, tree).require(found <= _FRACTION * uniform, what, look_at, expected=expected, found=found)
    compared = f"{games.name_of(tree)}, {_ITERATIONS:,} iterations"
    return CheckLine("whole game", compared, f"NashConv {found:.3g} from {uniform:.3g}")


def _check_relabelled(minimizer: Minimizer, tree: GameTree) -> CheckLine:
    other = games.tree_of_text(games.deep_text(reverse=True))
    old_slot = np.zeros(tree.num_slots, np.int64)
    for infoset, (text, player) in enumerate(zip(other.info_states, other.arrays.infosets["player"], strict=True)):
        before = tree.infoset(text, int(player))
        assert before is not None
        old_slot[other.slots(infoset)] = np.arange(tree.num_slots)[tree.slots(before)][::-1]
    usual, permuted = Solver(tree, "full", minimizer), Solver(other, "full", minimizer)
    for iterations in (1, 2, 7, 20):
        expected, found = usual.run(iterations).nash_conv(), permuted.run(iterations).nash_conv()
        usual_strategy, strategy = usual.current_strategy()[old_slot], permuted.current_strategy()
        away = np.abs(usual_strategy - strategy)
        slot = int(away.argmax())
        same = abs(expected - found) <= _ROUNDING and away[slot] <= _ROUNDING
        what = "plays differently when actions and information states are listed in another order"
        texts = {"expected": f"{usual_strategy[slot]:.9g}, NashConv {expected:.9g}"}
        texts["found"] = f"{strategy[slot]:.9g}, NashConv {found:.9g}"
        Subject(minimizer, other).require(same, what, "uses of slot numbers as values", slot=slot, **texts)
    return CheckLine("relabelled game", f"{games.name_of(tree)}, 30 iterations", "the same strategies and NashConv")
