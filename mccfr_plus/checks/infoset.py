"""A minimizer at work on a single information state, between two others that it must leave alone."""

from __future__ import annotations

import numpy as np

from mccfr_plus.checks.games import three_infosets_text, tree_of_text
from mccfr_plus.checks.report import fail
from mccfr_plus.kernels.compile import announce_compilation, compose, kernel
from mccfr_plus.kernels.loops.components import minimize
from mccfr_plus.kernels.no_refcount import no_refcount
from mccfr_plus.kernels.scratch import begin_gradient, new_scratch
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.minimizers.backward_pass import minimize_with

SENTINEL = 7.25  # stands in everything that belongs to the other infosets

_MIDDLE = 1  # the infoset that is updated


@kernel
def play_rounds(tree, strategy, tables, scratch, parameters, values, against, begun, history, earned):
    """Plays rounds at the middle infoset: values come, the minimizer answers.

    All arrays but `tree` are modified in place.

    Args:
        tree: `TreeArrays`.
        strategy: ``[num_slots]``.
        tables: The minimizer's.
        scratch: `Scratch`.
        parameters: The minimizer's.
        values: ``[num_rounds, num_actions]``.
        against: Whether an adversary makes them: 0 for the action that is played most, 1 for all others.
        begun: Rounds before these.
        history: ``[num_rounds, num_actions]``, an output: the strategy after each round.
        earned: ``[num_rounds]``, an output: what the strategy before it earned in each round.
    """
    tree, scratch = no_refcount(tree), no_refcount(scratch)
    record = tree.infosets[1]
    first, count = record["first_slot"], record["num_actions"]
    for turn in range(len(values)):
        if against:
            most = 0
            for action in range(count):
                values[turn, action] = 1.0
                if strategy[first + action] > strategy[first + most]:
                    most = action
            values[turn, most] = 0.0
        begin_gradient(tree, scratch, 0)
        for action in range(count):
            scratch.gradient[first + action] = values[turn, action]
            earned[turn] += strategy[first + action] * values[turn, action]
        touched = scratch.touched[0]
        touched["first_slot"] = first
        touched["num_actions"] = count
        touched["parent_slot"] = record["parent_slot"]
        scratch.num_touched[0] = 1
        minimize(tree, strategy, tables, scratch, 0, begun + turn + 1, parameters)
        for action in range(count):
            history[turn, action] = strategy[first + action]


class SingleInfoset:
    """A minimizer at an infoset with this many actions.

    Args:
        minimizer: The minimizer.
        num_actions: How many actions.
    """

    def __init__(self, minimizer: Minimizer, num_actions: int):
        tree = tree_of_text(three_infosets_text(num_actions))
        self.tree, self.minimizer, self.num_actions = tree, minimizer, num_actions
        self.slots = tree.slots(_MIDDLE)
        self.scratch = new_scratch(tree.arrays, tree.shape, np.zeros(1, np.uint64))
        self.scratch.gradient[:] = SENTINEL
        self.parameters = minimizer.parameters()
        self.tables = minimizer.tables(tree)
        self._others = np.ones(tree.num_slots, bool)
        self._others[self.slots] = False
        self.tables[:, self._others] = SENTINEL
        self.strategy = tree.uniform_strategy()
        self.strategy[self._others] = SENTINEL
        self.rounds = 0
        self._play = compose(play_rounds, minimize=minimize_with(minimizer))

    def play(self, values: np.ndarray, against: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Plays rounds and looks whether everything is in order after them.

        Args:
            values: ``[num_rounds, num_actions]``; an adversary writes its own.
            against: Whether to let one do so.

        Returns:
            The values, the strategies after each round, and what each round earned.
        """
        values, history, earned = np.array(values, np.float64), np.zeros(values.shape), np.zeros(len(values))
        with announce_compilation(self._play), np.errstate(all="ignore"):
            self._play(
                self.tree.arrays, self.strategy, self.tables, self.scratch, self.parameters, values, against,
                self.rounds, history, earned,
            )  # fmt: skip
        self.rounds += len(values)
        self._check_outside()
        self._check_history(values, history)
        return values, history, earned

    def _check_outside(self) -> None:
        gradient = self.scratch.gradient[: self.tree.num_slots]
        places = {"strategy": self.strategy, "values": gradient}
        places |= {f"tables[{row}]": self.tables[row] for row in range(len(self.tables))}
        for name, array in places.items():
            bad = np.flatnonzero(self._others & ~(array == SENTINEL))
            if len(bad):
                fail(
                    self.minimizer, f"writes outside of its slots, to `{name}`", tree=self.tree, player=0, slot=bad[0],
                    expected=f"slots {self.slots.start} to {self.slots.stop - 1} alone are its own",
                    found=array[bad[0]],
                    look_at="the bounds of the kernel's loops: `for slot in range(first, last)`",
                )  # fmt: skip

    def _check_history(self, values: np.ndarray, history: np.ndarray) -> None:
        def fail_at(turn: int, what: str, expected: str, look_at: str) -> None:
            fail(
                self.minimizer, f"{what}, in round {self.rounds - len(values) + turn + 1}", tree=self.tree, player=0,
                slot=self.slots.start, expected=expected,
                found=f"{history[turn].tolist()}, after the values {values[turn].tolist()}", look_at=look_at,
            )  # fmt: skip

        finite = np.isfinite(history).all(axis=1)
        if not finite.all():
            fail_at(
                int(np.argmin(finite)), "plays NaN or infinity", "finite numbers",
                "divisions by a total that is 0, exponentials without the largest taken off, sums that overflow",
            )  # fmt: skip
        negative = (history < 0.0).any(axis=1)
        if negative.any():
            fail_at(
                int(np.argmax(negative)), "plays an action with negative probability", "numbers >= 0",
                "what the strategy is in proportion to",
            )  # fmt: skip
        off = np.abs(history.sum(axis=1) - 1.0)
        if not off.max() <= 1e-9:
            fail_at(
                int(np.argmax(off)), "plays what is no distribution", "numbers that sum to 1",
                "the division by the total, and what is played where it is 0",
            )  # fmt: skip
        own = self.tables[:, self.slots]
        if not np.isfinite(own).all():
            fail(
                self.minimizer, "keeps NaN or infinity in its tables", tree=self.tree, player=0, slot=self.slots.start,
                found=own, look_at="what is added to `tables[:, first:last]`",
            )  # fmt: skip
        returned = self.scratch.gradient[self.tree.num_slots]
        if not np.isfinite(returned):
            fail(
                self.minimizer, "returns NaN or infinity", tree=self.tree, player=0, slot=self.slots.start,
                expected="the infoset's value, for its parent", found=returned,
                look_at="the kernel's return statement",
            )  # fmt: skip
