"""Policies as tables: the same numbers as the policy itself, in data frames and notebooks."""

import numpy as np
import pytest

import mccfr_plus
from mccfr_plus.policies.table import infoset_values, table_of_tree
from mccfr_plus.trees.public.public_tree import PublicTree

RIVER = "holdem_subgame(board=4s3h2s2h2c,pot=20,stack=10,ranks=3,bets=50%)"
GAMES = ["kuhn_poker(players=3)", "leduc_poker", "liars_dice_ir(numdice=1,dice_sides=2)", "matrix_pd", RIVER]


def policy_of(game, seed=1):
    tree, rng = (PublicTree if game == RIVER else mccfr_plus.compile_game)(game), np.random.default_rng(seed)
    firsts, strategy = tree.arrays.infosets["first_slot"], rng.random(tree.num_slots)
    return mccfr_plus.TreePolicy(tree, strategy / np.add.reduceat(strategy, firsts)[tree.infoset_of_slot])


def histories(state, reach=1.0, policy=None):
    if state.is_terminal():
        return
    if state.is_chance_node():
        row = dict(state.chance_outcomes())
    else:
        row = policy.action_probabilities(state)
        yield state, reach
    for action, probability in row.items():
        yield from histories(state.child(action), reach * probability, policy)


@pytest.mark.parametrize("game", GAMES)
def test_every_row_is_what_openspiel_says(game):
    policy = policy_of(game)
    expected, rows = {}, {}
    for state, reach in histories(policy.game.new_initial_state(), policy=policy):
        player = state.current_player()
        text = state.information_state_string(player)
        if policy.tree.is_converted:  # the table is of the simultaneous game
            text = text.removeprefix(f"Current player: {player}\n")
        for action, probability in policy.action_probabilities(state).items():
            row = expected.setdefault((player, text, action), [state.action_to_string(action), probability, 0.0])
            row[2] += reach
    table = policy.to_table()
    if game == RIVER:  # public trees give no reach
        table = table._replace(reach=[expected[row][2] for row in zip(*table[:3], strict=True)])
    for *key, name, probability, reach in zip(*table, strict=True):
        rows[tuple(key)] = [name, probability, reach]
    assert rows.keys() == expected.keys()
    for key, (name, *numbers) in rows.items():
        assert name == expected[key][0]
        assert numbers == pytest.approx(expected[key][1:], abs=1e-12)


def test_the_most_often_reached_come_first():
    policy = policy_of("leduc_poker")
    expected = infoset_values(policy.tree, policy.strategy()).reach
    table = table_of_tree(policy.tree, policy.strategy(), 5)
    texts = table.information_state
    found = [reach for i, reach in enumerate(table.reach) if not i or texts[i - 1] != texts[i]]
    assert found == sorted(expected.tolist(), reverse=True)[:5]


def test_data_frames():
    policy = policy_of("kuhn_poker")
    frame, table = policy.to_dataframe(), policy.to_table()
    assert list(frame.columns) == list(table._fields)
    for name, column in table.columns().items():
        assert list(frame[name]) == list(column)


def test_keyed_policies(interpreted_loops):
    solver = mccfr_plus.Solver("leduc_poker", "external", tree="lazy", seed=1).run(20)
    policy = solver.average_policy()
    table = policy.to_table()
    assert table.reach is None
    rows = {}
    for player, text, action, name, probability in zip(*table.columns().values(), strict=True):
        assert name == ["Fold", "Call", "Raise"][action]
        rows.setdefault((player, text), {})[action] = probability
    assert len(rows) == policy.num_infosets == len({text for _, text in rows})
    for state, _ in histories(policy.game.new_initial_state(), policy=policy):
        player = state.current_player()
        low, high = policy.keys.find(state.information_state_string(player))
        key = player, f"{low % 2**64:016x}{high % 2**64:016x}"
        if key in rows:
            assert policy.action_probabilities(state) == rows[key]


def test_openspiels_tabular_policies_have_the_same_probabilities(interpreted_loops):
    """Of policies whose keys are hashes, too, where the game is small enough to visit all its states."""
    policy = mccfr_plus.Solver("kuhn_poker", "external", tree="lazy", seed=1).run(50).average_policy()
    tabular = policy.to_tabular()
    for state, _ in histories(policy.game.new_initial_state(), policy=policy):
        found = dict(tabular.action_probabilities(state))
        assert found == pytest.approx(policy.action_probabilities(state))
