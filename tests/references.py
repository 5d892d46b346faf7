"""What the tests of this folder compare with: random policies, and exact numbers from compiled trees."""

import itertools
import math

import naive
import pyspiel
from open_spiel.python import policy as openspiel_policy

import mccfr_plus
from mccfr_plus.evaluation import Estimate

LIMIT = 5.0  # standard errors: once in 1.7 million draws of a normal number


def random_policy(game, seed):
    """Returns a policy with a random distribution at each infoset, some of its probabilities 0."""
    tree = naive.tree_of(game)
    return mccfr_plus.TreePolicy(tree, naive.random_strategy(tree, seed, zeros=0.1))


def uniform_policy(game):
    tree = naive.tree_of(game)
    return mccfr_plus.TreePolicy(tree, tree.uniform_strategy())


def standard_error(estimate: Estimate):
    """Returns the standard error behind a 95% interval of at least a hundred games."""
    assert estimate.confidence == 0.95
    return estimate.half_width / 1.96


def score(estimate, exact):
    """Returns how many standard errors an estimate lies above the exact value."""
    error = standard_error(estimate)
    assert error > 0 or math.isclose(estimate.value, exact, abs_tol=1e-9)
    return (estimate.value - exact) / error if error else 0.0


def kinds_of(tree, strategy):
    """Returns {kind: policy} for the ways in which a user may write down one strategy."""
    table = openspiel_policy.TabularPolicy(tree.game)
    table.action_probability_array[:] = 0.0
    rows = {}
    for infoset, text in enumerate(tree.info_states):
        actions, probabilities = tree.legal_actions(infoset), strategy[tree.slots(infoset)].tolist()
        table.action_probability_array[table.state_lookup[text], actions] = probabilities
        rows[text] = list(zip(actions, probabilities, strict=True))
    players = [tree.info_states[i:j] for i, j in itertools.pairwise(tree.arrays.infoset_range)]
    policy = mccfr_plus.TreePolicy(tree, strategy)
    return {
        "tree": policy,
        "Python table": table,
        "plain Python table": openspiel_policy.Policy.to_tabular(policy),
        "C++ table": pyspiel.TabularPolicy(rows),
        "mapping to pairs": rows,
        "mapping to mappings": {text: dict(row) for text, row in rows.items()},
        "function": table.action_probabilities,
        "table of a function": openspiel_policy.tabular_policy_from_callable(tree.game, table.action_probabilities),
        "no table": _Wrapped(tree.game, table),
        "one per player": [mccfr_plus.InfoStatePolicy(p, dict(rows), tree.game) for p in range(tree.num_players)],
        "parts of a mapping": [{text: rows[text] for text in own} for own in players],
    }


class _Wrapped(openspiel_policy.Policy):
    def __init__(self, game, table):
        super().__init__(game, list(range(game.num_players())))
        self._table = table

    def action_probabilities(self, state, player_id=None):
        return self._table.action_probabilities(state, player_id)
