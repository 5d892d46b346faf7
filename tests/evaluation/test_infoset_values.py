"""Values per information set: a sum over histories by the naive tree, and what must hold of any."""

import naive
import numpy as np
import pytest

from mccfr_plus import Solver
from mccfr_plus.policies.table import infoset_values

GAMES = ["kuhn_poker", "kuhn_poker(players=3)", "leduc_poker"]


def by_hand(tree, strategy):
    """Returns {(infoset): (reach, weight, {slot: weighted value})} by a traversal over all histories."""
    found = {}

    def traversal(node, reaches):
        if node.player == naive.TERMINAL:
            return np.array(node.returns)
        if node.player == naive.CHANCE:
            return sum(
                p * traversal(child, [r * p for r in reaches])
                for p, child in zip(node.probabilities, node.children, strict=True)
            )
        infoset = tree.infoset(node.key[1], node.player)
        slots = tree.slots(infoset)
        probabilities = strategy[slots]
        values = []
        for p, child in zip(probabilities, node.children, strict=True):
            values.append(traversal(child, [r if q == node.player else r * p for q, r in enumerate(reaches)]))
        entry = found.setdefault(infoset, [0.0, np.zeros(len(node.children))])
        entry[0] += reaches[node.player]
        entry[1] += [reaches[node.player] * value[node.player] for value in values]
        return sum(p * value for p, value in zip(probabilities, values, strict=True))

    traversal(naive.build(tree.game.new_initial_state()), [1.0] * tree.num_players)
    return found


@pytest.mark.parametrize("game", GAMES)
def test_values_by_hand(game):
    tree = naive.tree_of(game)
    rng = np.random.default_rng(1)
    strategy = Solver(tree, "external", seed=1).run(20).average_strategy()
    for infoset in rng.permutation(tree.num_infosets)[: tree.num_infosets // 3]:  # some actions are never played
        slots = tree.slots(int(infoset))
        strategy[slots] = 0.0
        strategy[slots.start] = 1.0
    found, expected = infoset_values(tree, strategy), by_hand(tree, strategy)
    assert len(expected) == tree.num_infosets
    unreached = 0
    for infoset, (weight, sums) in expected.items():
        slots = tree.slots(infoset)
        if weight == 0.0:
            unreached += 1
            assert np.isnan(found.values[infoset])
            assert np.isnan(found.action_values[slots]).all()
            assert found.reach[infoset] == 0.0
            continue
        assert found.action_values[slots] == pytest.approx(sums / weight, abs=1e-12)
        assert found.values[infoset] == pytest.approx(float(strategy[slots] @ sums) / weight, abs=1e-12)
        assert found.regrets[slots] == pytest.approx(sums / weight - found.values[infoset], abs=1e-12)
    assert unreached > 0 or game == "kuhn_poker"
