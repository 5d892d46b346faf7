"""A minimizer at a single information state, between two others to which it must not write."""

from __future__ import annotations

import numpy as np

from mccfr_plus.checks.games import three_infosets_text, tree_of_text
from mccfr_plus.checks.report import Subject
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
    """Plays rounds at the middle infoset. All arrays but `tree` are modified in place.

    Args:
        tree: `TreeArrays`.
        strategy: ``[num_slots]``.
        tables: The minimizer's.
        scratch: `Scratch`.
        parameters: The minimizer's.
        values: ``[num_rounds, num_actions]``.
        against: Whether an adversary writes them: 0 for the action that is played most, 1 for all others.
        begun: Rounds before these.
        history: ``[num_rounds, num_actions]``, an output: the strategy after each round.
        earned: ``[num_rounds]``, an output: what the strategy before it earned in each round.
    """
    tree, scratch = no_refcount(tree), no_refcount(scratch)
    record = tree.infosets[1]
    first, count = record["first_slot"], record["num_actions"]
    for number in range(len(values)):
        if against:
            most = 0
            for action in range(count):
                values[number, action] = 1.0
                if strategy[first + action] > strategy[first + most]:
                    most = action
            values[number, most] = 0.0
        begin_gradient(tree, scratch, 0)
        for action in range(count):
            scratch.gradient[first + action] = values[number, action]
            earned[number] += strategy[first + action] * values[number, action]
        touched = scratch.touched[0]
        touched["first_slot"] = first
        touched["num_actions"] = count
        touched["parent_slot"] = record["parent_slot"]
        scratch.num_touched[0] = 1
        minimize(tree, strategy, tables, scratch, 0, begun + number + 1, parameters)
        for action in range(count):
            history[number, action] = strategy[first + action]


class SingleInfoset:
    """A minimizer at an infoset with this many actions.

    Args:
        minimizer: The minimizer.
        num_actions: How many actions.
    """

    def __init__(self, minimizer: Minimizer, num_actions: int):
        tree = tree_of_text(three_infosets_text(num_actions))
        self.tree, self.slots = tree, tree.slots(_MIDDLE)
        self.subject = Subject(minimizer, tree, 0)
        self._others = np.ones(tree.num_slots, bool)
        self._others[self.slots] = False
        self._scratch = new_scratch(tree.arrays, tree.shape, np.zeros(1, np.uint64))
        self._parameters, self._tables, self._strategy = (
            minimizer.parameters(), minimizer.tables(tree), tree.uniform_strategy()
        )  # fmt: skip
        self._scratch.gradient[:] = self._tables[:, self._others] = self._strategy[self._others] = SENTINEL
        self._rounds = 0
        self._play = compose(play_rounds, minimize=minimize_with(minimizer))

    def play(self, values: np.ndarray, against: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Plays rounds and checks what they leave behind.

        Args:
            values: ``[num_rounds, num_actions]``; an adversary overwrites them.
            against: Whether there is an adversary.

        Returns:
            The values, the strategies after each round, and what each round earned.

        Raises:
            CheckError: If the minimizer breaks its contract.
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
        places = {"strategy": self._strategy, "values": self._scratch.gradient[: self.tree.num_slots]}
        places |= {f"tables[{row}]": table for row, table in enumerate(self._tables)}
        for name, array in places.items():
            self.subject.require(
                ~self._others | (array == SENTINEL), f"writes outside of its slots, to `{name}`",
                "the bounds of the kernel's loops: `for slot in range(first, last)`",
                expected=f"slots {self.slots.start} to {self.slots.stop - 1} alone are its own", found=array,
            )  # fmt: skip

    def _check_history(self, values: np.ndarray, history: np.ndarray) -> None:
        with np.errstate(all="ignore"):
            is_one = np.abs(history.sum(axis=1) - 1.0) <= 1e-9
        for good, what, expected, look_at in (
            (
                np.isfinite(history).all(axis=1), "plays NaN or infinity", "finite numbers",
                "divisions by a total that is 0, exponentials without the largest taken off, sums that overflow",
            ),
            (
                (history >= 0.0).all(axis=1), "plays an action with negative probability", "numbers >= 0",
                "what the strategy is in proportion to",
            ),
            (
                is_one, "plays what is no distribution", "numbers that sum to 1",
                "the division by the total, and what is played where it is 0",
            ),
        ):  # fmt: skip
            bad = int(np.argmin(good))
            self.subject.require(
                np.ravel(good)[bad], f"{what}, in round {self._rounds + bad + 1}", look_at, slot=self.slots.start,
                expected=expected, found=f"{history[bad].tolist()}, after the values {values[bad].tolist()}",
            )  # fmt: skip
        own, returned = self._tables[:, self.slots], self._scratch.gradient[self.tree.num_slots]
        self.subject.require(
            bool(np.isfinite(own).all()), "keeps NaN or infinity in its tables",
            "what is added to `tables[:, first:last]`", slot=self.slots.start, found=own,
        )  # fmt: skip
        self.subject.require(
            np.isfinite(returned), "returns NaN or infinity", "the kernel's return statement", slot=self.slots.start,
            expected="the infoset's value, for its parent", found=returned,
        )  # fmt: skip
