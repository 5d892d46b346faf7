"""The contract of a traversal: a touched list in order, numbers at its slots, everything else unchanged."""

import numpy as np

from mccfr_plus.checks.report import Subject
from mccfr_plus.checks.sampler import SENTINEL, GradientSampler

_ADDED_TO_SENTINEL = 0.25 * SENTINEL  # sums of payoffs and weights are far below
_CALL = "the calls of `touch`, which lists an infoset once per gradient; write to `scratch.touched` nowhere else"


class Contract:
    """Checks all writes of an estimator in a traversal, against copies of the arrays that it may only read."""

    def __init__(self, sampler: GradientSampler):
        self._sampler, self._tree = sampler, sampler.tree
        read_only = {name: getattr(sampler, name) for name in ("strategy", "sampling_weights", "parameters")}
        read_only |= {f"tree.{name}": array for name, array in sampler.arrays._asdict().items()}
        self._read_only = {name: (array, array.copy()) for name, array in read_only.items()}

    def estimate(self, player: int) -> None:
        """Estimates a player's gradient. Raises CheckError if the traversal breaks the contract."""
        sampler, scratch = self._sampler, self._sampler.scratch
        counts, touched = scratch.counts.copy(), scratch.touched.copy()
        sampler.estimate(player)
        for owner in range(self._tree.num_players):
            subject = Subject(sampler.estimator, self._tree, owner)
            if owner == player or sampler.all_players:
                self._check_touched(subject, owner)
                self._check_numbers(subject, owner)
            else:
                self._check_other(subject, owner, touched)
        counts["stamp"] += self._tree.num_players if sampler.all_players else 1
        counts["traversal"] += sampler.batch if len(scratch.drawn) else 0
        self._check_shared(Subject(sampler.estimator, self._tree, player), counts)

    def _check_touched(self, subject: Subject, player: int) -> None:
        tree, records, require = self._tree, self._sampler.arrays.infosets, subject.require
        begin, end = (int(x) for x in self._sampler.arrays.infoset_range[player : player + 2])
        number = int(self._sampler.scratch.num_touched[player])
        require(0 <= number <= end - begin, "lists more infosets than the player has", _CALL, found=number)
        listed: set[int] = set()
        for touched in self._sampler.touched(player):
            slot, parent = int(touched["first_slot"]), int(touched["parent_slot"])
            infoset = int(tree.infoset_of_slot[slot]) if 0 <= slot < tree.num_slots else -1
            is_own = begin <= infoset < end and int(records[infoset]["first_slot"]) == slot
            look_at = '`touch(tree, scratch, player, first, count, parent)`: first is the node\'s ["payload"]'
            require(is_own, "lists as touched what is no infoset of the player", look_at, slot=slot, found=slot)
            look_at = "the arguments of `touch`: the number of actions, and the player's last own slot"
            for name in ("num_actions", "parent_slot"):
                numbers = {"expected": int(records[infoset][name]), "found": int(touched[name])}
                same = numbers["expected"] == numbers["found"]
                require(same, f"lists an infoset with a wrong {name}", look_at, slot=slot, **numbers)
            require(infoset not in listed, "lists an infoset twice", _CALL, slot=slot)
            is_after = parent >= tree.num_slots or int(tree.infoset_of_slot[parent]) in listed
            look_at = "where `touch` is called: before the traversal goes on to the children"
            require(is_after, "touches an infoset before its parent", look_at, slot=slot)
            listed.add(infoset)

    def _check_numbers(self, subject: Subject, player: int) -> None:
        gradient, require = self._sampler.scratch.gradient, subject.require
        is_touched, is_other = np.zeros(len(gradient), bool), np.ones(len(gradient), bool)
        for touched in self._sampler.touched(player):
            is_touched[touched["first_slot"] : touched["first_slot"] + touched["num_actions"]] = True
        is_touched[self._tree.num_slots + player] = True
        is_other[slice(*self._sampler.arrays.slot_range[player : player + 2])] = False
        good, look_at = ~is_touched | np.isfinite(gradient), "divisions by numbers that can be 0"
        require(good, "writes NaN or infinity to the gradient", look_at, found=gradient)
        good = ~is_touched | (np.abs(gradient) <= _ADDED_TO_SENTINEL / self._sampler.batch)
        require(
            good, "lists an infoset as touched without setting its gradient to 0", "`touch`, or the code after `enter`"
        )
        good = is_touched | is_other | (gradient == SENTINEL)
        look_at = "whether `touch` is called at every own node, before its slots are written"
        require(good, "adds to the gradient at an infoset that it did not touch", look_at)

    def _check_other(self, subject: Subject, other: int, touched_before: np.ndarray) -> None:
        scratch, arrays, empty = self._sampler.scratch, self._sampler.arrays, self._tree.num_slots + other
        good = np.ones(len(scratch.gradient), bool)
        for slots in (slice(*arrays.slot_range[other : other + 2]), slice(empty, empty + 1)):
            good[slots] = scratch.gradient[slots] == SENTINEL
        look_at = "the slot that the kernel adds to: the player's last own slot, not an opponent's"
        subject.require(good, "writes outside of its slots, for another player", look_at, found=scratch.gradient)
        infosets = slice(*arrays.infoset_range[other : other + 2])
        same = scratch.touched[infosets].tobytes() == touched_before[infosets].tobytes()
        subject.require(same, "writes to another player's range of the touched list", "the player argument of `touch`")

    def _check_shared(self, subject: Subject, expected: np.ndarray) -> None:
        scratch = self._sampler.scratch
        for name in ("stamp", "iteration", "traversal"):
            same, what = scratch.counts[name] == expected[name], f'writes to `scratch.counts[0]["{name}"]`'
            subject.require(same, what, "assignments to `scratch.counts`: only nodes_touched and num_visits")
        visits, room = int(scratch.counts[0]["num_visits"]), len(scratch.visits)
        look_at = "`visits_all_chance` and `visits_all_own`, from which the room is computed"
        subject.require(0 <= visits <= room, f"lists {visits} visits, and there is room for {room}", look_at)
        for name, (array, copy) in self._read_only.items():
            same, look_at = array.tobytes() == copy.tobytes(), "assignments to that array: only `scratch` is writable"
            subject.require(same, f"wrote to `{name}`, which it may only read", look_at, expected=copy, found=array)
