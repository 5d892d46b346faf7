"""Values of all information sets and actions under a strategy, given that play has reached them."""

from typing import NamedTuple

import numpy as np

from mccfr_plus.estimators.escher import refresh_values
from mccfr_plus.evaluation.kernels import own_reach
from mccfr_plus.games.rules import CHANCE
from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.trees.game_tree import GameTree


class InfosetValues(NamedTuple):
    """Arrays over information sets, and over slots (information set, action)."""

    reach: np.ndarray  # [num_infosets] probability that play reaches it if all players follow the strategy
    values: np.ndarray  # [num_infosets] the player's expected payoff then; NaN where the others' reach is 0
    action_values: np.ndarray  # [num_slots] the same after the action
    regrets: np.ndarray  # [num_slots] action value - value


def infoset_values(tree: GameTree, strategy: np.ndarray) -> InfosetValues:
    """Returns reach, values and regrets of a strategy, ``[num_slots]``.

    Values are conditional on the information set, with the histories in it weighted by chance's and the others'
    probabilities: counterfactual values (Zinkevich et al. 2007, equation 6) over their sum of weights.
    """
    values, others = np.empty((tree.num_players, tree.num_nodes)), np.ones((tree.num_nodes, tree.num_players))
    weights, action_values = np.zeros(tree.num_infosets), np.zeros(tree.num_slots)
    reach = np.empty(tree.num_slots + tree.num_players)
    with announce_compilation(_add_up, "the values of information sets", 2):
        for player in range(tree.num_players):
            refresh_values(tree.arrays, strategy, values[player], player)
        own_reach(tree.arrays, strategy, reach)
        _add_up(tree.arrays, strategy, values, others, tree.infoset_of_slot, weights, action_values)
    counts = tree.arrays.infosets["num_actions"]
    total = np.repeat(weights, counts)
    with np.errstate(invalid="ignore"):
        action_values /= total  # 0 / 0 is NaN
    firsts = tree.arrays.infosets["first_slot"]
    of_infosets = np.add.reduceat(strategy * action_values, firsts) if len(firsts) else np.zeros(0)
    return InfosetValues(
        reach=weights * reach[tree.arrays.infosets["parent_slot"]],
        values=of_infosets,
        action_values=action_values,
        regrets=action_values - np.repeat(of_infosets, counts),
    )


@kernel
def _add_up(tree, strategy, values, others, infoset_of_slot, weights, action_values):
    """Adds up counterfactual values over the histories of each infoset.

    `values` are expected payoffs, ``[num_players, num_nodes]``. `others`, ``[num_nodes, num_players]`` ones, becomes
    the probability of a node without the player's own choices. `weights` becomes its sum over the histories of each
    infoset, `action_values` the sum weighted by the value after each action; both are zeros at first.
    """
    nodes = tree.nodes
    for node in range(len(nodes)):
        kind, child, payload = nodes[node]["kind"], nodes[node]["first_child"], nodes[node]["payload"]
        for index in range(nodes[node]["num_children"]):
            label = payload + index
            probability = tree.chance[label]["probability"] if kind == CHANCE else strategy[label]
            for player in range(others.shape[1]):
                others[child + index, player] = others[node, player] * (1.0 if player == kind else probability)
            if kind >= 0:
                action_values[label] += others[node, kind] * values[kind, child + index]
        if kind >= 0:
            weights[infoset_of_slot[payload]] += others[node, kind]
