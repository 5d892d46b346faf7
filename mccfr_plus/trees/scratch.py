"""What a traversal reads, through slots, and what it writes.

A *node* is what the slots take and return: by default its number in ``tree.nodes``; `by_rules.positions` fills them
for games that are not stored. A traversal has one node that it moves on (`FIRST_NODE`, `ADVANCE`, `CHILD_OF`), one
open node, whose children it visits (`REOPEN`), and nodes that wait (`KEEP`). It writes a `Scratch`, the only thing that
estimators, minimizers and averages share.
"""

from typing import Any, NamedTuple

import numba
import numpy as np

from mccfr_plus.kernels.compile import expression_kernel, inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import at, head_of, pointer, publish_word, unlikely
from mccfr_plus.kernels.slots import Constant, optional_slot
from mccfr_plus.trees.arrays import NUM_EXPANSION, NUM_SLOTS, Shape, TreeArrays
from mccfr_plus.trees.expansion import LIST_FULL, SELF, STATUS

ALL_PLAYERS = -1
TIED = Constant("TIED", False, "Whether infosets are entered after different own pasts (imperfect recall).")
IS_PUBLIC = Constant("IS_PUBLIC", False, "Whether kernels run on a public tree.")
IS_LAZY = Constant("IS_LAZY", False, "Whether the tree may end before its leaves.")


@optional_slot
@expression_kernel
def FIRST_NODE(tree, scratch, player):
    """Returns the root. The traversal enters the player's infosets in lists and tables; or those of `ALL_PLAYERS`."""
    return 0


@optional_slot
@expression_kernel
def HEAD(tree, scratch, node):
    """Returns the kind of the node that is moved on, and its number of children; 0 at a leaf or where it is unknown."""
    return head_of(tree.nodes, at(node))


@optional_slot
@expression_kernel
def PAYLOAD_OF(tree, scratch, node):
    """Returns the first slot of its infoset or, at a chance node, the row of its first outcome."""
    return tree.nodes[at(node)]["payload"]


@optional_slot
@expression_kernel
def ADVANCE(tree, scratch, node, payload, index):
    """Returns a child of the node that is moved on, which takes its place."""
    return tree.nodes[at(node)]["first_child"] + index


@optional_slot
@expression_kernel
def PAYOFF(tree, scratch, node, player):
    """Returns a player's payoff at a leaf."""
    return tree.payoffs[at(tree.nodes[at(node)]["payload"]), at(player)]


@optional_slot
@expression_kernel
def KEEP(tree, scratch, node):
    """Returns the stack entry that resumes the node that is moved on (last in, first out)."""
    return node


@optional_slot
@expression_kernel
def RESUME(tree, scratch, kept):
    """Returns a node that waits, as the one that is moved on."""
    return kept


@optional_slot
@expression_kernel
def REOPEN(tree, scratch, kept):
    """Opens a node that waits. Returns its kind, number of children, payload, and what `child_of` takes."""
    record = tree.nodes[at(kept)]
    return record["kind"], record["num_children"], record["payload"], record["first_child"]


@optional_slot
@expression_kernel
def CHILD_OF(tree, scratch, opened, payload, index):
    """Returns a child of the open node, as the node that is moved on."""
    return opened + index


@optional_slot
@expression_kernel
def OUTCOME_PROBABILITY(tree, scratch, payload, index):
    """Returns the probability of an outcome of the open node, at which chance moves."""
    return tree.chance[at(payload + index)]["probability"]


@optional_slot
@expression_kernel
def FETCH_AHEAD(array, first, count=1):
    """Begins to fetch entries; or does nothing, as stored trees are small enough for the caches' own guesses."""


@optional_slot
@expression_kernel
def FETCH_ROWS_AHEAD(tables, first, count):
    """Does so for all rows of an array of two dimensions."""


# The scalars of a scratch. The last three are for gradients that are made again.
COUNTS = np.dtype(
    [
        ("stamp", np.int64),  # number of the current gradient; `stamps` has the last one's that entered an infoset
        ("num_visits", np.int64),  # entries of `visits` in use
        ("nodes_touched", np.int64),  # nodes visited since the solver was made
        ("iteration", np.int64),  # iterations finished
        ("traversal", np.int64),  # number of the current traversal, for `drawn`
        ("thread", np.int64),  # number of the thread that this scratch belongs to
        ("stride", np.int64),  # distance of two iterations of this thread: the other threads' are in between
        ("step", np.int64),  # where in the current iteration the loop is, 0 between iterations
        ("rng_before", np.int64),  # bits of `rng` before the gradient, or before the iteration if all are updated then
        ("nodes_before", np.int64),  # and `nodes_touched`
        ("entry_slots", np.int64),  # slots of the gradient that entries have taken, where infosets are tied
        ("added", np.int64),  # up to which place of the iteration additions to the average were made
    ]
)

# What a traversal notes of an infoset that it enters: all that the update needs, so that it looks nothing up.
TOUCHED = np.dtype([("first_slot", np.int32), ("num_actions", np.int32), ("parent_slot", np.int32)])

# The same where infosets are tied: one entry per infoset and own past, with slots of its own in the gradient.
ENTRY = np.dtype(
    [
        *TOUCHED.descr,
        ("base", np.int32),  # its first slot in the gradient; `parent_slot` is one of these
        ("next", np.int32),  # number, from 1, of the entry found before it behind the same parent, or 0
        ("histories", np.int32),  # how many histories have come to it
    ]
)

# An infoset whose player's average is to be updated. Where the action that was drawn is to be counted instead of the
# strategy, `first_slot` is that action's, and `num_actions` is DRAWN_ACTION.
VISIT = np.dtype([("first_slot", np.int32), ("num_actions", np.int32), ("weight", np.float64)])

# A node that waits to be expanded: the last own slot before it, and the weight of what is below it.
PENDING = np.dtype([("node", np.int32), ("slot", np.int32), ("weight", np.float64)])

# The action that stands for an infoset during one traversal.
DRAWN = np.dtype([("traversal", np.int32), ("action", np.int32)])

# A node on the path of a traversal that comes back to it. See `estimators.control_variates`.
FRAME = np.dtype(
    [
        ("node", np.int32),
        ("slot", np.int32),  # the player's last slot before the node
        ("next", np.int32),  # index of the next child to consider
        ("index", np.int32),  # index of the child that is being visited
        ("weight", np.float64),
        ("share", np.float64),  # probability of the visited child under the strategy, or by chance
        ("inclusion", np.float64),  # probability with which it was chosen to be visited; 0 where all children are
        ("total", np.float64),  # what `WEIGH_ACTIONS` returned
        ("value", np.float64),  # estimate of the node's value
        ("base", np.int32),  # at an own node: its first slot in the gradient
    ]
)

DRAWN_ACTION = -1
LOOK_AHEAD = 48  # entries of the list of touched infosets: what these have in large arrays is fetched so early

# Numbers of gradients and of traversals are small, so that arrays of them are; they start again when they run out.
_LAST_STAMP = 2**16 - 1
_LAST_TRAVERSAL = 2**31 - 2


class Scratch(NamedTuple):
    """Scratch memory of the kernels, allocated once per solver.

    After an estimator has run for player p, ``touched[infoset_range[p]:][:num_touched[p]]`` lists the infosets of p
    that it entered, parents before children, and ``gradient`` holds an unbiased estimate of p's utility gradient at
    their slots. At all other slots the estimate is 0, whatever stands there.

    Where infosets are tied (`TIED`), each is listed once per own past, as an entry, whose slots of the gradient come
    behind the others. Thus, the gradient is one of a game of perfect recall. `minimize` adds entries up.
    """

    gradient: np.ndarray  # [gradient_size(tree) (+ slots of entries)] float64: slots, empty sequences, a dump, terms
    touched: np.ndarray  # [infoset_range[-1]] TOUCHED, or [num_players * ...] ENTRY; see `list_begin`
    num_touched: np.ndarray  # [num_players] int64
    # Used at first slots: numbers of the last gradients for which infosets were entered. An array of its own, as short
    # as can be: a traversal reads it wherever it comes, so that it should stay in the cache.
    stamps: np.ndarray  # [num_slots] uint16
    # Used at first slots: the average's sums at parents' slots when infosets were last settled; see `averages.average`.
    seen: np.ndarray  # [num_slots] float64; all threads share it, as they share the average
    reach: np.ndarray  # [num_slots + num_players] float64; own reach of each sequence, where it is up to date
    reach_valid: np.ndarray  # [num_players] int64; 1 where a player's part of `reach` fits the strategy
    behind: np.ndarray  # [as gradient] int32, or empty if nothing is tied: the last entry found behind a slot, plus 1
    visits: np.ndarray  # [max_visits] VISIT
    stack: np.ndarray  # [max(max_stack, num_players)] PENDING
    drawn: np.ndarray  # [num_slots] DRAWN, used at first slots; empty if actions are drawn again at every node
    frames: np.ndarray  # [max_depth + 1] FRAME; empty if there are no values of histories
    values: np.ndarray  # [num_players, num_nodes] float64: baselines, or ESCHER's values; all threads share them
    counts: np.ndarray  # [1] COUNTS
    rng: np.ndarray  # [1] uint64


def gradient_size(arrays: Any) -> int:
    """Returns the length of a gradient: slots, empty sequences, a dump, and terms if the arrays have leaf tables."""
    has_terms = isinstance(arrays, TreeArrays) and len(arrays.leaf_term) > 0
    terms = int(np.diff(arrays.term_range).max()) if has_terms else 0
    return int(arrays.slot_range[-1]) + len(arrays.slot_range) + terms


def new_scratch(
    tree: TreeArrays,
    shape: Shape,
    rng: np.ndarray,
    *,
    max_visits: int = 0,
    sample_per_infoset: bool = False,
    values: np.ndarray | None = None,
    thread: int = 0,
    stride: int = 1,
    seen: np.ndarray | None = None,
    entries: tuple[int, int] = (0, 0),
) -> Scratch:
    """Returns a fresh scratch for a tree; see its fields. `rng`, `values` and the first thread's `seen` are kept.

    `entries` are the most entries of a player, and the most slots of all entries, if the tree has tied infosets.
    """
    num_slots, num_players = int(tree.slot_range[-1]), len(tree.slot_range) - 1
    values = np.zeros((0, 0)) if values is None else values
    most, entry_slots = entries
    size = gradient_size(tree) + entry_slots
    scratch = Scratch(
        gradient=np.zeros(size),
        touched=np.zeros(num_players * most, ENTRY) if most else np.zeros(int(tree.infoset_range[-1]), TOUCHED),
        num_touched=np.zeros(num_players, np.int64),
        stamps=np.zeros(num_slots, np.uint16),
        seen=np.zeros(num_slots) if seen is None else seen,
        reach=np.zeros(size if most else num_slots + num_players),
        reach_valid=np.zeros(num_players, np.int64),
        behind=np.zeros(size if most else 0, np.int32),
        visits=np.zeros(max_visits, VISIT),
        stack=np.zeros(max(shape.max_stack, num_players), PENDING),
        drawn=np.zeros(num_slots if sample_per_infoset else 0, DRAWN),
        frames=np.zeros(shape.max_depth + 1 if len(values) else 0, FRAME),
        values=values,
        counts=np.zeros(1, COUNTS),
        rng=rng,
    )
    scratch.counts[0]["thread"], scratch.counts[0]["stride"] = thread, stride
    scratch.reach[num_slots : num_slots + num_players] = 1.0
    return scratch


@inline_kernel
def note_beginning(scratch):
    """Notes what `throw_away` goes back to."""
    counts = scratch.counts[0]
    counts["rng_before"] = np.int64(scratch.rng[0])
    counts["nodes_before"] = counts["nodes_touched"]


@kernel
def throw_away(scratch, alternating):
    """Discards the gradient under way, or all of the iteration if not alternating; the same draws come next."""
    counts = scratch.counts[0]
    scratch.rng[0] = np.uint64(counts["rng_before"])
    counts["nodes_touched"] = counts["nodes_before"]
    counts["step"] = counts["step"] if alternating else 0


@inline_kernel
def begin_gradient(tree, scratch, player):
    """Empties the list of infosets touched for the player's gradient. Called by the loop."""
    counts = scratch.counts[0]
    if counts["stamp"] >= _LAST_STAMP:
        found = tree.expansion[NUM_SLOTS]  # 0: the tree is complete
        for slot in range(found if found > 0 else len(scratch.stamps)):
            scratch.stamps[slot] = 0
        counts["stamp"] = 0
    counts["stamp"] += 1
    scratch.num_touched[player] = 0
    scratch.gradient[at(tree.slot_range[-1] + player)] = 0.0
    if TIED():
        scratch.behind[at(tree.slot_range[-1] + player)] = 0


@inline_kernel
def begin_traversal(scratch, keep_visits=False):
    """Clears draws, and the list of visits unless it is kept. Called by the loop."""
    counts = scratch.counts[0]
    if not keep_visits:
        counts["num_visits"] = 0
    if len(scratch.drawn) > 0:
        if counts["traversal"] >= _LAST_TRAVERSAL:
            for slot in range(len(scratch.drawn)):
                scratch.drawn[slot]["traversal"] = 0
            counts["traversal"] = 0
        counts["traversal"] += 1


@expression_kernel
def list_begin(tree, scratch, player):
    """Returns where the player's part of the list of touched infosets begins."""
    return player * (len(scratch.touched) // (len(tree.slot_range) - 1)) if TIED() else tree.infoset_range[player]


@expression_kernel
def base_of(touched):
    """Returns the first slot in the gradient of an entry of the list of touched infosets."""
    return touched["base"] if TIED() else touched["first_slot"]


@inline_kernel
def scale_gradient(tree, scratch, player, scale):
    """Multiplies the player's gradient at touched infosets and at the empty sequence."""
    begin = list_begin(tree, scratch, player)
    for position in range(begin, begin + scratch.num_touched[player]):
        infoset = scratch.touched[at(position)]
        first = base_of(infoset)
        for slot in range(first, first + infoset["num_actions"]):
            scratch.gradient[at(slot)] *= scale
    scratch.gradient[at(tree.slot_range[-1] + player)] *= scale


@inline_kernel
def note_touched(touched, first, count, parent):
    """Writes an entry of the list of touched infosets."""
    touched["first_slot"] = first
    touched["num_actions"] = count
    touched["parent_slot"] = parent


@inline_kernel
def enter(tree, scratch, player, first, count, parent, stamp):
    """Puts an infoset of the player on the touched list at its first entry for this gradient.

    Returns whether it did, and the infoset's first slot in the gradient, of which the caller then sets `count` slots
    to 0. `parent` is the slot of the player's last action before, `stamp` is ``scratch.counts[0]["stamp"]``.
    """
    if TIED():
        return _enter_tied(tree, scratch, player, first, count, parent)
    is_new = scratch.stamps[at(first)] != stamp
    if is_new:
        scratch.stamps[at(first)] = stamp
        note_touched(
            scratch.touched[at(tree.infoset_range[player] + scratch.num_touched[player])], first, count, parent
        )
        scratch.num_touched[player] += 1
    return is_new, first


@inline_kernel
def _enter_tied(tree, scratch, player, first, count, parent):
    """Does what `enter` does for the infoset with this past: the entries behind a slot are a list."""
    entries, behind, counts = scratch.touched, scratch.behind, scratch.counts[0]
    number = behind[at(parent)]
    while number > 0 and entries[at(number - 1)]["first_slot"] != first:
        number = entries[at(number - 1)]["next"]
    if number > 0:
        entries[at(number - 1)]["histories"] += 1
        return False, np.int64(entries[at(number - 1)]["base"])
    position = list_begin(tree, scratch, player) + scratch.num_touched[player]
    base = tree.slot_range[-1] + len(tree.slot_range) + counts["entry_slots"]
    if IS_LAZY() and unlikely(base + count > len(scratch.gradient)):
        publish_word(numba.carray(pointer(tree.expansion[SELF]), NUM_EXPANSION, np.int64), STATUS, LIST_FULL)
        counts["entry_slots"] = len(scratch.gradient)  # nothing more fits, so that no entry has the slots below
        return False, np.int64(first)
    entry = entries[at(position)]
    note_touched(entry, first, count, parent)
    entry["base"], entry["next"], entry["histories"] = base, behind[at(parent)], 1
    behind[at(parent)] = position + 1
    for slot in range(base, base + count):
        behind[at(slot)] = 0
    counts["entry_slots"] += count
    scratch.num_touched[player] += 1
    return True, base


@inline_kernel
def touch(tree, scratch, player, first, count, parent):
    """Does what `enter` does, sets the gradient of an infoset that is new to 0, and returns its first slot there."""
    is_new, base = enter(tree, scratch, player, first, count, parent, scratch.counts[0]["stamp"])
    if is_new:
        for slot in range(base, base + count):
            scratch.gradient[at(slot)] = 0.0
    return base


@inline_kernel
def note_visit(scratch, position, first, count, weight):
    """Writes an entry of `scratch.visits`. The caller counts them in ``counts["num_visits"]``."""
    visit = scratch.visits[at(position)]
    visit["first_slot"] = first
    visit["num_actions"] = count
    visit["weight"] = weight


@expression_kernel
def push(stack, position, node, slot, weight):
    """Writes an entry of a stack of PENDING nodes."""
    pending = stack[at(position)]
    pending["node"] = node
    pending["slot"] = slot
    pending["weight"] = weight


@inline_kernel
def pass_reach(infosets, strategy, reach, begin, end):
    """Writes own reach at the slots of infosets begin .. end - 1, parents first. `reach` is modified in place."""
    for infoset in range(begin, end):
        record = infosets[at(infoset)]
        first, count = record["first_slot"], record["num_actions"]
        above = reach[at(record["parent_slot"])]
        if count == 2:  # as most often; without a loop
            reach[at(first)], reach[at(first + 1)] = above * strategy[at(first)], above * strategy[at(first + 1)]
        else:
            for slot in range(first, first + count):
                reach[at(slot)] = above * strategy[at(slot)]


@inline_kernel
def refresh_reach(tree, strategy, scratch, player):
    """Brings the player's part of `scratch.reach` up to date with the strategy; 0 where folded tables list nothing."""
    if scratch.reach_valid[player]:
        return
    pass_reach(tree.infosets, strategy, scratch.reach, tree.infoset_range[player], tree.infoset_range[player + 1])
    scratch.reach_valid[player] = 1
