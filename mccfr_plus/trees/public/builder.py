"""Makes public trees: the arrays of the kernel in `histories`, enlarged while it runs."""

from collections import namedtuple
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.games.rules import Rules
from mccfr_plus.kernels.compile import announce_compilation
from mccfr_plus.kernels.slots import bind
from mccfr_plus.trees.by_rules.rows import kernels_of
from mccfr_plus.trees.info_states import KeyPlaces
from mccfr_plus.trees.public import histories as kernel
from mccfr_plus.trees.public.arrays import PUBLIC_NODE

_VISITS = 10_000_000  # histories between two looks at Ctrl-C
_BYTES = 128  # of all histories on the path, for each one of `max_histories`


class Source(NamedTuple):
    """A game as the kernel reads it, beside its rules, or those that read a stored tree."""

    parameters: Any
    table: Any
    first_state: np.ndarray  # [state_size] int64
    max_depth: int
    most_children: int
    kinds: np.ndarray  # [view_size] int8: whether what `look` writes is public (1), private (0) or not kept (-1)
    places: KeyPlaces
    num_words: int  # of a key


# What the traversal finds, and its scratch memory; see `_arrays`.
Found = namedtuple("Found", "nodes actions outcomes outcome_node ends scales parents keys matrices known")
Room = namedtuple(
    "Room", "states chance hands group labels counts frames actions choices probabilities payoffs seen key"
)

# Fields of `Found` or `Room` that are enlarged together, by the status that says so.
_ENLARGED = {
    kernel.FULL_HISTORIES: Room._fields[:5],
    kernel.FULL_NODES: Found._fields[:6],
    kernel.FULL_INFOSETS: ("parents", "keys"),
    kernel.FULL_MATRICES: ("matrices",),
}


@cache
def _traversal_of(rules: Rules) -> Any:
    return bind(kernel.traverse, kernels_of(rules))


def build(
    rules: Rules, source: Source, max_histories: float = np.inf
) -> tuple[int, Found, np.ndarray, list[tuple[int, int]]]:
    """Returns a status, what was found, `Room.counts`, and where it ended: the players' actions with the players.

    The status is `PAUSED` if there are more histories, in the public tree or in one of its nodes.
    """
    traverse, (room, found), status = _traversal_of(rules), _arrays(source), kernel.PAUSED
    with announce_compilation(traverse, "the public tree", 8):
        traverse(source, room, found, -1)
    while status == kernel.PAUSED or status in _ENLARGED:
        status = traverse(source, room, found, int(min(_VISITS, max_histories)))
        is_larger = max(room.counts[kernel.VISITED], room.states.nbytes // _BYTES) > max_histories
        if is_larger and status in (kernel.PAUSED, *_ENLARGED):
            status = kernel.PAUSED
            break
        for name in _ENLARGED.get(status, ()):
            array = getattr(room if status == kernel.FULL_HISTORIES else found, name)
            array.resize((2 * len(array), *array.shape[1:]), refcheck=False)  # in place; new entries are 0
            if name == "labels":
                array[:] = 0
    path = [
        (int(frame[kernel.PLAYER]), int(actions[max(frame[kernel.TAKEN] - 1, 0)]))
        for frame, actions in zip(room.frames[: room.counts[kernel.DEPTH] + 1], room.actions, strict=False)
        if frame[kernel.PLAYER] >= 0
    ]
    return status, found, room.counts, path


def _arrays(source: Source) -> tuple[Room, Found]:
    """Returns the arrays of a traversal, with the initial state. Slots and infosets are numbered by player."""
    histories, most, depths = 1 << 10, source.most_children, source.max_depth + 2
    nodes = max(1 << 12, 4 * most + 2 * depths)
    room = Room(
        states=np.zeros((histories, len(source.first_state)), np.int64),  # those of all frames
        chance=np.ones(histories),  # the probability of each by chance
        hands=np.zeros((histories, 2), np.int32),  # the hand at each player's last node
        group=np.zeros(histories, np.int32),  # the public outcome that a history belongs to
        labels=np.zeros((4 * histories, 3), np.int64),  # a table from hashes to numbers: stamp, hash, number
        counts=np.zeros(kernel.NUM_COUNTS, np.int64),
        frames=np.zeros((depths, kernel.NUM_COLUMNS), np.int64),
        actions=np.zeros((depths, most), np.int64),
        choices=np.zeros(most, np.int64),
        probabilities=np.zeros(most),
        payoffs=np.zeros(2),
        seen=np.zeros(len(source.kinds), np.int64),
        key=np.zeros(source.num_words, np.int64),
    )
    room.states[0] = source.first_state
    room.frames[0, kernel.LAST_SLOT :] = [-1, 0, 1] * 2  # the empty sequences
    room.frames[0, kernel.SIZE] = room.counts[kernel.IS_NEW] = 1
    found = Found(
        nodes=np.zeros(nodes, PUBLIC_NODE),
        actions=np.zeros(nodes, np.int32),  # of all decisions, one after the other
        outcomes=np.zeros(nodes),  # public outcomes, each with the sum of its histories' chance
        outcome_node=np.zeros(nodes, np.int32),
        ends=np.zeros((nodes, 2, 4), np.int32),
        scales=np.zeros((nodes, 2)),
        parents=np.zeros((nodes, 2), np.int32),  # last slots before infosets; -1: none
        keys=np.zeros((nodes, 2, source.num_words), np.int64),  # what `pack` writes
        matrices=np.zeros(1 << 14),
        known=np.zeros((1 << 17, 2), np.int64),  # matrices by their hash: where one begins plus 1, its hash
    )
    return room, found
