"""What public trees are built from: a game's compiled rules, or a stored tree of any game."""

from typing import NamedTuple

import numpy as np

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import CHANCE, MOVER, NOW, Rules
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.info_states import KeyPlaces, key_places
from mccfr_plus.trees.public.builder import Source

_NODE = 1  # the word of a state, beside its mover, with a node of the stored tree


def source_of_rules(game: RulesGame) -> tuple[Rules, Source]:
    """Returns a game with compiled rules, whose fields say what is public."""
    sizes = game.sizes
    kinds = [-1 if each.when == NOW else int(not each.private) for each in sizes.fields for _ in range(each.count)]
    most, depth = max(game.most_actions, sizes.max_chance_outcomes, 1), sizes.max_game_length + sizes.max_chance_nodes
    rules = game.parameters, game.table, game.first_state
    return game.rules, Source(*rules, depth, most, np.array(kinds, np.int8), *key_places(sizes))


class _Stored(NamedTuple):
    """A stored tree as the parameters of rules."""

    nodes: np.ndarray
    chance: np.ndarray
    payoffs: np.ndarray
    slot_action: np.ndarray
    public_state: np.ndarray  # [num_nodes] int32: equal for histories that some player cannot tell apart, at any time


def source_of_tree(tree: GameTree) -> tuple[Rules, Source]:
    """Returns a stored tree of two players. Its information states alone say what is public."""
    public_state, infosets = np.arange(tree.num_nodes, dtype=np.int32), tree.infoset_of_slot
    parent, first_of_infoset = (np.full(count, -1, np.int32) for count in (tree.num_nodes, tree.num_infosets))
    _unite(tree.arrays, parent, infosets, first_of_infoset, public_state)
    nodes, chance, payoffs = tree.arrays.nodes, tree.arrays.chance, tree.arrays.payoffs
    stored = _Stored(nodes, chance, payoffs, tree.slot_action, public_state)
    state, kinds = np.array([nodes[0]["kind"], 0], np.int64), np.array([1, 0], np.int8)
    limit = 1 << 40  # the key of an infoset is its number, behind the player's bit
    places = KeyPlaces(*np.array([[-1, 0], [0, 1], [limit, limit], [0, limit - 1]], np.int64))
    most = int(nodes["num_children"].max(initial=1))
    return _RULES, Source(stored, infosets, state, tree.shape.max_depth, most, kinds, places, 1)


@inline_kernel
def _root(group, node):
    while group[node] != node:
        group[node] = group[group[node]]
        node = group[node]
    return node


@kernel
def _unite(tree, parent, infoset_of_slot, first_of_infoset, group):
    """Unites in `group` the nodes of each information set, and all that come before them at the same distance."""
    nodes = tree.nodes
    for node in range(len(nodes)):
        first = nodes[node]["first_child"]
        for child in range(first, first + nodes[node]["num_children"]):
            parent[child] = node
        if nodes[node]["kind"] >= 0:
            infoset = infoset_of_slot[nodes[node]["payload"]]
            if first_of_infoset[infoset] < 0:
                first_of_infoset[infoset] = node
            one, other = node, first_of_infoset[infoset]
            while one >= 0 and other >= 0 and _root(group, one) != _root(group, other):
                group[_root(group, one)] = _root(group, other)
                one, other = parent[one], parent[other]
    for node in range(len(nodes)):
        group[node] = _root(group, node)


# --- a stored tree as rules ---


@kernel
def _legal(parameters, table, state, actions):
    record = parameters.nodes[state[_NODE]]
    for index in range(record["num_children"]):
        actions[index] = parameters.slot_action[record["payload"] + index]
    return record["num_children"]


@kernel
def _outcomes(parameters, table, state, actions, probabilities):
    record = parameters.nodes[state[_NODE]]
    for index in range(record["num_children"]):
        actions[index], probabilities[index] = index, parameters.chance[record["payload"] + index]["probability"]
    return record["num_children"]


@kernel
def _apply(parameters, table, state, action):
    record = parameters.nodes[state[_NODE]]
    index = action
    if record["kind"] != CHANCE:
        index = 0
        while parameters.slot_action[record["payload"] + index] != action:
            index += 1
    state[_NODE] = record["first_child"] + index
    state[MOVER] = parameters.nodes[state[_NODE]]["kind"]


@kernel
def _returns(parameters, table, state, payoffs):
    row = parameters.nodes[state[_NODE]]["payload"]
    payoffs[0], payoffs[1] = parameters.payoffs[row, 0], parameters.payoffs[row, 1]


@kernel
def _look(parameters, table, state, player, view):
    """Writes the public state and, of the player to move, the information set."""
    node = state[_NODE]
    view[0] = parameters.public_state[node]
    view[1] = table[parameters.nodes[node]["payload"]] if parameters.nodes[node]["kind"] == player else 0


@kernel
def _start(parameters, table, state):
    pass


_RULES = Rules(_start, _legal, _apply, _returns, _look, _outcomes)
