"""What a traversal may leave behind: the touched list in order, numbers at its slots, everything else as it was."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mccfr_plus.checks.report import Subject
from mccfr_plus.checks.sampler import SENTINEL, Sampler
from mccfr_plus.kernels.scratch import ITERATION, NUM_VISITS, STAMP, TRAVERSAL

_ADDED_TO_SENTINEL = 0.25 * SENTINEL  # sums of payoffs and weights are far below
_CALL = "the calls of `touch`, which lists an infoset once per gradient; write to `scratch.touched` nowhere else"


class Contract:
    """Checks all that an estimator writes in a traversal.

    Args:
        sampler: The estimator on a tree. What it must only read is copied now.
    """

    def __init__(self, sampler: Sampler):
        self._sampler, self._tree = sampler, sampler.tree
        self._read_only = {
            "strategy": sampler.strategy,
            "sampling_weights": sampler.sampling_weights,
            "parameters": sampler.parameters,
            **{f"tree.{name}": array for name, array in sampler.arrays._asdict().items()},
        }
        self._copies = {name: array.copy() for name, array in self._read_only.items()}

    def estimate(self, player: int) -> None:
        """Estimates a player's gradient. Raises CheckError if the traversal breaks the contract."""
        sampler = self._sampler
        counts, touched = sampler.scratch.counts.copy(), sampler.scratch.touched.copy()
        sampler.estimate(player)
        all_players = range(self._tree.num_players)
        players = all_players if sampler.all_players else [player]
        for owner in players:
            self._check_touched(owner)
            self._check_numbers(owner)
        self._check_others(set(all_players) - set(players), player, touched)
        self._check_counts(player, counts)
        self._check_read_only()

    def _subject(self, player: int | None) -> Subject:
        return Subject(self._sampler.estimator, self._tree, player)

    def _check_touched(self, player: int) -> None:
        tree, records, require = self._tree, self._sampler.arrays.infosets, self._subject(player).require
        begin, end = (int(x) for x in self._sampler.arrays.infoset_range[player : player + 2])
        number = int(self._sampler.scratch.num_touched[player])
        require(
            0 <= number <= end - begin, "lists more infosets than the player has", _CALL,
            expected=f"at most {end - begin}", found=number,
        )  # fmt: skip
        listed: set[int] = set()
        for touched in self._sampler.touched(player):
            slot, parent = int(touched["first_slot"]), int(touched["parent_slot"])
            infoset = int(tree.infoset_of_slot[slot]) if 0 <= slot < tree.num_slots else -1
            require(
                begin <= infoset < end and int(records[infoset]["first_slot"]) == slot,
                "lists as touched what is no infoset of the player",
                '`touch(tree, scratch, player, first, count, parent)`: first is the node\'s ["payload"]', slot=slot,
                expected=f"the first slot of one of the player's {end - begin} infosets", found=slot,
            )  # fmt: skip
            for name in ("num_actions", "parent_slot"):
                require(
                    touched[name] == records[infoset][name], f"lists an infoset with a wrong {name}",
                    "the arguments of `touch`: the number of actions, and the player's last own slot", slot=slot,
                    expected=int(records[infoset][name]), found=int(touched[name]),
                )  # fmt: skip
            require(infoset not in listed, "lists an infoset twice", _CALL, slot=slot)
            require(
                parent >= tree.num_slots or int(tree.infoset_of_slot[parent]) in listed,
                "touches an infoset before its parent",
                "where `touch` is called: on the way down, before the traversal goes on to the children", slot=slot,
                expected="parents before children: the update reads the list backwards",
                found=f"the parent, slot {parent}, is not on the list yet",
            )  # fmt: skip
            listed.add(infoset)

    def _check_numbers(self, player: int) -> None:
        gradient, require = self._sampler.scratch.gradient, self._subject(player).require
        is_touched = np.zeros(len(gradient), bool)
        for touched in self._sampler.touched(player):
            is_touched[touched["first_slot"] : touched["first_slot"] + touched["num_actions"]] = True
        is_touched[self._tree.num_slots + player] = True
        require(
            ~is_touched | np.isfinite(gradient), "writes NaN or infinity to the gradient",
            "divisions by a probability that can be 0, and by a sum that can be 0",
            expected="a finite number", found=gradient,
        )  # fmt: skip
        require(
            ~is_touched | (np.abs(gradient) <= _ADDED_TO_SENTINEL / self._sampler.batch),
            "lists an infoset as touched without setting its gradient to 0",
            "`touch`, which does both, or `enter`, after which the caller must",
            expected="0 plus what the traversal adds", found="what stood there before, plus what the traversal adds",
        )  # fmt: skip
        own = slice(*self._sampler.arrays.slot_range[player : player + 2])
        is_other = np.ones(len(gradient), bool)
        is_other[own] = False
        require(
            is_touched | is_other | (gradient == SENTINEL),
            "adds to the gradient at an infoset that it did not touch",
            "whether `touch` is called at every own node that the traversal enters, before its slots are written",
            expected="`touch` before anything is added: the update sees only what is on the touched list",
            found="a number written at slots that are not on it",
        )  # fmt: skip

    def _check_others(self, others: Iterable[int], player: int, touched_before: np.ndarray) -> None:
        scratch, arrays = self._sampler.scratch, self._sampler.arrays
        for other in others:
            require = self._subject(other).require
            slots = np.append(np.arange(*arrays.slot_range[other : other + 2]), self._tree.num_slots + other)
            good = np.ones(len(scratch.gradient), bool)
            good[slots] = scratch.gradient[slots] == SENTINEL
            require(
                good, f"writes outside of its slots, at another player's, for player {player}",
                "the slot that the kernel adds to: the player's last own slot, not an opponent's",
                found=scratch.gradient,
            )  # fmt: skip
            infosets = slice(*arrays.infoset_range[other : other + 2])
            require(
                scratch.touched[infosets].tobytes() == touched_before[infosets].tobytes(),
                "writes to another player's range of the touched list", "the player that `touch` is called with",
            )  # fmt: skip

    def _check_counts(self, player: int, expected: np.ndarray) -> None:
        sampler, scratch, require = self._sampler, self._sampler.scratch, self._subject(player).require
        expected[STAMP] += self._tree.num_players if sampler.all_players else 1
        expected[TRAVERSAL] += sampler.batch if len(scratch.drawn) else 0
        for name, entry in (("STAMP", STAMP), ("ITERATION", ITERATION), ("TRAVERSAL", TRAVERSAL)):
            require(
                scratch.counts[entry] == expected[entry], f"writes to `scratch.counts[{name}]`, which is the loop's",
                "assignments to `scratch.counts`: NODES_TOUCHED is an estimator's, and NUM_VISITS",
                expected=int(expected[entry]), found=int(scratch.counts[entry]),
            )  # fmt: skip
        visits, room = int(scratch.counts[NUM_VISITS]), len(scratch.visits)
        require(
            0 <= visits <= room, "lists more visits than there is room for",
            "`visits_all_chance` and `visits_all_own`, from which the room is computed",
            expected=f"at most {room}", found=visits,
        )  # fmt: skip

    def _check_read_only(self) -> None:
        for name, array in self._read_only.items():
            if array.tobytes() != self._copies[name].tobytes():
                before, after = self._copies[name].reshape(-1), array.reshape(-1)
                index = int(np.flatnonzero(after != before)[0])
                self._subject(None).fail(
                    f"wrote to `{name}` (entry {index}), which it may only read",
                    "assignments to that array in the kernel; only `scratch` may be written to",
                    expected=before[index], found=after[index],
                )  # fmt: skip
