"""How a traversal reads a game: the functions of stored trees, compiled or lazily expanded.

`mccfr_plus.trees.by_rules.positions` has functions of the same names for games that are not stored. Those are composed
in: so there is one source of each estimator, and no test at run time of how the game is held.

A *node* is what these functions take and return: here its number in ``tree.nodes``. A traversal has one node that it
moves on (`first_node`, `step`, `child_of`), one that is open, whose children it visits (`reopen`), and nodes that wait
(`keep`).
"""

from mccfr_plus.kernels.compile import expression_kernel
from mccfr_plus.kernels.intrinsics import head_of
from mccfr_plus.kernels.scratch import at

ALL_PLAYERS = -1


@expression_kernel
def first_node(tree, scratch, player):
    """Returns the root.

    Args:
        tree: `TreeArrays`.
        scratch: `Scratch`.
        player: Whose infosets the traversal enters in lists and tables; of the others it reads the strategy alone. Or
            `ALL_PLAYERS`.
    """
    return 0


@expression_kernel
def head(tree, scratch, node):
    """Returns the kind of the node that is moved on, and its number of children; 0 at a leaf or where it is unknown."""
    return head_of(tree.nodes, at(node))


@expression_kernel
def payload_of(tree, scratch, node):
    """Returns the first slot of its infoset or, at a chance node, the row of its first outcome."""
    return tree.nodes[at(node)]["payload"]


@expression_kernel
def step(tree, scratch, node, payload, index):
    """Returns a child of the node that is moved on, which takes its place."""
    return tree.nodes[at(node)]["first_child"] + index


@expression_kernel
def payoff(tree, scratch, node, player):
    """Returns a player's payoff at a leaf."""
    return tree.payoffs[at(tree.nodes[at(node)]["payload"]), at(player)]


@expression_kernel
def keep(tree, scratch, node):
    """Returns what stands for the node that is moved on while it waits on a stack: the last one goes first."""
    return node


@expression_kernel
def resume(tree, scratch, kept):
    """Returns a node that waits, as the one that is moved on."""
    return kept


@expression_kernel
def reopen(tree, scratch, kept):
    """Opens a node that waits. Returns its kind, number of children, payload, and what `child_of` takes."""
    record = tree.nodes[at(kept)]
    return record["kind"], record["num_children"], record["payload"], record["first_child"]


@expression_kernel
def child_of(tree, scratch, opened, payload, index):
    """Returns a child of the open node, as the node that is moved on."""
    return opened + index


@expression_kernel
def outcome_probability(tree, scratch, payload, index):
    """Returns the probability of an outcome of the open node, at which chance moves."""
    return tree.chance[at(payload + index)]["probability"]


@expression_kernel
def fetch_ahead(array, first, count=1):
    """Begins to fetch entries, or does nothing, as here: stored trees are small enough for the caches' own guesses."""


@expression_kernel
def fetch_rows_ahead(tables, first, count):
    """Does so for all rows of an array of two dimensions."""
