"""Makes public trees: the arrays of the kernel in `histories`, enlarged while it runs."""

from functools import cache
from typing import Any

import numpy as np

from mccfr_plus.games.rules import Rules
from mccfr_plus.kernels.compile import announce_compilation
from mccfr_plus.kernels.slots import bind
from mccfr_plus.trees.by_rules.rows import kernels_of
from mccfr_plus.trees.public.arrays import PUBLIC_NODE
from mccfr_plus.trees.public.histories import (
    DEPTH,
    FULL_ENDS,
    FULL_HISTORIES,
    FULL_INFOSETS,
    FULL_NODES,
    FULL_VALUES,
    IS_NEW,
    LAST_SLOT,
    NODES,
    NUM_COLUMNS,
    NUM_COUNTS,
    OF_PLAYER,
    PAUSED,
    PLAYER,
    SIZE,
    TAKEN,
    Found,
    Room,
    Source,
    traverse,
)  # fmt: skip

_GROWTH = 2  # of arrays that are full
_VISITS = 200_000  # nodes between two looks at Ctrl-C


@cache
def _traversal_of(rules: Rules) -> Any:
    return bind(traverse, kernels_of(rules))


def build(source: Source, max_nodes: int | None = None) -> tuple[int, Found, np.ndarray, list[tuple[int, int]]]:
    """Returns a status, what was found, `Room.counts`, and where it ended: the players' actions with the players.

    The status is `PAUSED` if there are more than `max_nodes`.
    """
    traverse, (room, found), status = _traversal_of(source.rules), _rooms(source), PAUSED
    given = tuple.__new__(Source, (None, *source[1:]))  # Numba takes no rules
    with announce_compilation(traverse, "the public tree", 8):
        traverse(given, room, found, -1)
    while PAUSED <= status <= FULL_VALUES:
        status = traverse(given, room, found, min(_VISITS, max_nodes or _VISITS))
        if status == PAUSED and max_nodes is not None and room.counts[NODES] > max_nodes:
            break
        if status in _GROUPS:
            _enlarge(room, found, status)
    path = [
        (int(frame[PLAYER]), int(actions[max(frame[TAKEN] - 1, 0)]))
        for depth, (frame, actions) in enumerate(zip(room.frames, room.actions, strict=True))
        if depth <= room.counts[DEPTH] and frame[PLAYER] >= 0
    ]
    return status, found, room.counts, path


# Arrays that are enlarged together, by the status that says so.
_GROUPS = {
    FULL_HISTORIES: ("states", "chance", "hands", "marks", "group", "labels"),
    FULL_NODES: ("nodes", "first_action", "first_slot", "outcomes", "outcome_node", "actions"),
    FULL_INFOSETS: ("parents", "keys"),
    FULL_ENDS: ("ends", "scales"),
    FULL_VALUES: ("matrices", "known"),
}


def _enlarge(room: Room, found: Found, status: int) -> None:
    """Enlarges arrays in place, the new entries being 0, and enters matrices in their table again."""
    for name in _GROUPS[status]:
        array = getattr(room if status == FULL_HISTORIES else found, name)
        array.resize((_GROWTH * len(array), *array.shape[1:]), refcheck=False)
    if status == FULL_HISTORIES:
        room.labels[:] = 0
    if status == FULL_VALUES:
        entered, mask = found.known[found.known[:, 0] > 0], len(found.known) - 1
        found.known[:] = 0
        for begin, key in entered.tolist():
            place = key & mask
            while found.known[place, 0]:
                place = (place + 1) & mask
            found.known[place] = begin, key


def _rooms(source: Source) -> tuple[Room, Found]:
    """Returns the arrays of a traversal, with the initial state."""
    histories, most, state_size = 1 << 10, source.most_children, len(source.first_state)
    depths, nodes = source.max_depth + 2, max(1 << 12, 4 * most + 2 * source.max_depth)
    room = Room(
        counts=np.zeros(NUM_COUNTS, np.int64),
        frames=np.zeros((depths, NUM_COLUMNS), np.int64),
        actions=np.zeros((depths, most), np.int64),
        shown=np.zeros(most, np.int64),
        states=np.zeros((histories, state_size), np.int64),
        chance=np.ones(histories),
        hands=np.zeros((histories, 2), np.int32),
        marks=np.zeros(histories, np.int64),
        group=np.zeros(histories, np.int32),
        labels=np.zeros((4 * histories, 3), np.int64),
        choices=np.zeros(most, np.int64),
        probabilities=np.zeros(most),
        payoffs=np.zeros(2),
        seen=np.zeros(len(source.kinds), np.int64),
        key=np.zeros(source.num_words, np.int64),
    )
    room.states[0] = source.first_state
    for player in range(2):
        column = LAST_SLOT + OF_PLAYER * player
        room.frames[0, column : column + OF_PLAYER] = -1, 0, 1  # the empty sequence
    room.frames[0, SIZE] = room.counts[IS_NEW] = 1
    found = Found(
        nodes=np.zeros(nodes, PUBLIC_NODE),
        first_action=np.zeros(nodes, np.int64),
        first_slot=np.zeros(nodes, np.int64),
        outcomes=np.zeros(nodes),
        outcome_node=np.zeros(nodes, np.int32),
        actions=np.zeros(nodes, np.int32),
        parents=np.zeros((nodes, 2), np.int32),
        keys=np.zeros((nodes, 2, source.num_words), np.int64),
        ends=np.zeros((nodes, 2, 4), np.int32),
        scales=np.zeros((nodes, 2)),
        matrices=np.zeros(1 << 14),
        known=np.zeros((1 << 12, 2), np.int64),
    )
    return room, found
