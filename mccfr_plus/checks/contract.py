"""What a traversal may leave behind: the touched list in order, numbers at its slots, everything else as it was."""

from __future__ import annotations

from typing import Any

import numpy as np

from mccfr_plus.checks.report import fail
from mccfr_plus.checks.sampler import RUBBISH, Sampler
from mccfr_plus.kernels.scratch import ITERATION, NUM_VISITS, STAMP, TRAVERSAL

_ADDED_TO_RUBBISH = 0.25 * RUBBISH  # sums of payoffs and weights are far below


class Frozen:
    """What an estimator must not write to, as it was when this was made."""

    def __init__(self, sampler: Sampler):
        self._sampler = sampler
        self._arrays = {
            "strategy": sampler.strategy,
            "sampling_weights": sampler.sampling_weights,
            "parameters": sampler.parameters,
            **{f"tree.{name}": array for name, array in sampler.arrays._asdict().items()},
        }
        self._before = {name: array.copy() for name, array in self._arrays.items()}

    def check(self) -> None:
        """Raises CheckError if something was written to."""
        for name, array in self._arrays.items():
            if array.tobytes() != self._before[name].tobytes():
                index = int(np.flatnonzero(array.reshape(-1) != self._before[name].reshape(-1))[0])
                fail(
                    self._sampler.estimator,
                    f"wrote to `{name}` (entry {index}), which it may only read",
                    tree=self._sampler.tree,
                    expected=self._before[name].reshape(-1)[index],
                    found=array.reshape(-1)[index],
                    look_at="assignments to that array in the kernel; only `scratch` may be written to",
                )


def check_walk(sampler: Sampler, player: int, counts_before: np.ndarray, touched_before: np.ndarray) -> None:
    """Raises CheckError if the last traversal broke the contract.

    Args:
        sampler: It has just estimated a gradient.
        player: For whom.
        counts_before: A copy of the scratch's counts before that.
        touched_before: The same for the touched list.
    """
    players = range(sampler.tree.num_players) if sampler.all_players else [player]
    for owner in players:
        _check_touched(sampler, owner)
        _check_numbers(sampler, owner)
    _check_others(sampler, players, touched_before)
    _check_counts(sampler, player, counts_before)


def _check_touched(sampler: Sampler, player: int) -> None:
    tree, records = sampler.tree, sampler.arrays.infosets
    begin, end = (int(x) for x in sampler.arrays.infoset_range[player : player + 2])
    number = int(sampler.scratch.num_touched[player])
    place: dict[str, Any] = {"tree": tree, "player": player}
    call = "the calls of `touch`, which lists an infoset once per gradient; write to `scratch.touched` nowhere else"
    if not 0 <= number <= end - begin:
        fail(
            sampler.estimator, "lists more infosets than the player has", **place,
            expected=f"at most {end - begin}", found=number, look_at=call,
        )  # fmt: skip
    listed: set[int] = set()
    for touched in sampler.touched(player):
        slot, parent = int(touched["first_slot"]), int(touched["parent_slot"])
        place["slot"] = slot
        infoset = int(tree.infoset_of_slot[slot]) if 0 <= slot < tree.num_slots else -1
        if not begin <= infoset < end or int(records[infoset]["first_slot"]) != slot:
            fail(
                sampler.estimator, "lists as touched what is no infoset of the player", **place,
                expected=f"the first slot of one of the player's {end - begin} infosets", found=slot,
                look_at='`touch(tree, scratch, player, first, count, parent)`: first is the node\'s ["payload"]',
            )  # fmt: skip
        for name, value in (("num_actions", int(touched["num_actions"])), ("parent_slot", parent)):
            if value != int(records[infoset][name]):
                fail(
                    sampler.estimator, f"lists an infoset with a wrong {name}", **place,
                    expected=int(records[infoset][name]), found=value,
                    look_at="the arguments of `touch`: the number of actions, and the player's last own slot",
                )  # fmt: skip
        if infoset in listed:
            fail(sampler.estimator, "lists an infoset twice", **place, look_at=call)
        if parent < tree.num_slots and int(tree.infoset_of_slot[parent]) not in listed:
            fail(
                sampler.estimator, "touches an infoset before its parent", **place,
                expected="parents before children: the update reads the list backwards",
                found=f"the parent, slot {parent}, is not on the list yet",
                look_at="where `touch` is called: on the way down, before the traversal goes on to the children",
            )  # fmt: skip
        listed.add(infoset)


def _check_numbers(sampler: Sampler, player: int) -> None:
    tree, gradient = sampler.tree, sampler.scratch.gradient
    own = np.arange(*sampler.arrays.slot_range[player : player + 2])
    is_touched = np.zeros(len(gradient), bool)
    for touched in sampler.touched(player):
        is_touched[touched["first_slot"] : touched["first_slot"] + touched["num_actions"]] = True
    is_touched[tree.num_slots + player] = True
    place: dict[str, Any] = {"tree": tree, "player": player}
    bad = np.flatnonzero(is_touched & ~np.isfinite(gradient))
    if len(bad):
        fail(
            sampler.estimator, "writes NaN or infinity to the gradient", **place, slot=bad[0],
            expected="a finite number", found=gradient[bad[0]],
            look_at="divisions by a probability that can be 0, and by a sum that can be 0",
        )  # fmt: skip
    bad = np.flatnonzero(is_touched & (np.abs(gradient) > _ADDED_TO_RUBBISH / sampler.batch))
    if len(bad):
        fail(
            sampler.estimator, "lists an infoset as touched without setting its gradient to 0", **place, slot=bad[0],
            expected="0 plus what the traversal adds", found="what stood there before, plus what the traversal adds",
            look_at="`touch`, which does both, or `enter`, after which the caller must",
        )  # fmt: skip
    bad = own[~is_touched[own] & (gradient[own] != RUBBISH)]
    if len(bad):
        fail(
            sampler.estimator, "adds to the gradient at an infoset that it did not touch", **place, slot=bad[0],
            expected="`touch` before anything is added: the update sees only what is on the touched list",
            found="a number written at slots that are not on it",
            look_at="whether `touch` is called at every own node that the traversal enters, before its slots are written",
        )  # fmt: skip


def _check_others(sampler: Sampler, players: range | list[int], touched_before: np.ndarray) -> None:
    tree, scratch = sampler.tree, sampler.scratch
    for other in set(range(tree.num_players)) - set(players):
        slots = np.append(np.arange(*sampler.arrays.slot_range[other : other + 2]), tree.num_slots + other)
        bad = slots[scratch.gradient[slots] != RUBBISH]
        if len(bad):
            fail(
                sampler.estimator, f"writes outside of its slots, at another player's, for player {players[0]}",
                tree=tree, player=other, slot=bad[0], found=scratch.gradient[bad[0]],
                look_at="the slot that the kernel adds to: the player's last own slot, not an opponent's",
            )  # fmt: skip
        infosets = slice(*sampler.arrays.infoset_range[other : other + 2])
        if scratch.touched[infosets].tobytes() != touched_before[infosets].tobytes():
            fail(
                sampler.estimator, "writes to another player's part of the touched list", tree=tree, player=other,
                look_at="the player that `touch` is called with",
            )  # fmt: skip


def _check_counts(sampler: Sampler, player: int, before: np.ndarray) -> None:
    scratch, tree = sampler.scratch, sampler.tree
    stamps = sampler.tree.num_players if sampler.all_players else 1
    expected = before.copy()
    expected[STAMP] += stamps
    expected[TRAVERSAL] += sampler.batch if len(scratch.drawn) else 0
    for name, entry in (("STAMP", STAMP), ("ITERATION", ITERATION), ("TRAVERSAL", TRAVERSAL)):
        if scratch.counts[entry] != expected[entry]:
            fail(
                sampler.estimator, f"writes to `scratch.counts[{name}]`, which is the loop's", tree=tree,
                player=player, expected=int(expected[entry]), found=int(scratch.counts[entry]),
                look_at="assignments to `scratch.counts`: NODES_TOUCHED is an estimator's, and NUM_VISITS",
            )  # fmt: skip
    visits, room = int(scratch.counts[NUM_VISITS]), len(scratch.visits)
    if not 0 <= visits <= room:
        fail(
            sampler.estimator, "lists more visits than there is room for", tree=tree, player=player,
            expected=f"at most {room}", found=visits,
            look_at="`visits_all_chance` and `visits_all_own`, from which the room is computed",
        )  # fmt: skip
