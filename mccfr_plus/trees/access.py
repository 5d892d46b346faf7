"""How a traversal reads a game: slots whose defaults read stored trees; `by_rules.positions` fills them for others.

A *node* is what these slots take and return: by default its number in ``tree.nodes``. A traversal has one node that it
moves on (`FIRST_NODE`, `ADVANCE`, `CHILD_OF`), one open node, whose children it visits (`REOPEN`), and nodes that wait
(`KEEP`).
"""

from mccfr_plus.kernels.compile import expression_kernel
from mccfr_plus.kernels.intrinsics import at, head_of
from mccfr_plus.kernels.slots import Constant, optional_slot

ALL_PLAYERS = -1
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
