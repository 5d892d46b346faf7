"""Tables of strategies: which information states they show, and in which order."""

import numpy as np
import pytest

from mccfr_plus import Solver, compile_game
from mccfr_plus.evaluation import strategy_page
from mccfr_plus.evaluation.strategy_page import table_of_histories, table_of_tree
from mccfr_plus.policies.table import infoset_values


def test_too_large_a_strategy_is_cut_to_what_is_reached_most():
    tree = compile_game("leduc_poker")
    strategy = tree.uniform_strategy()
    table = table_of_tree("uniform", tree, strategy, most_slots=100)
    reach = infoset_values(tree, strategy).reach
    kept = [tree.infoset(row.state) for row in table.rows]
    assert sum(tree.arrays.infosets["num_actions"][kept]) <= 100
    assert reach[kept].min() >= np.delete(reach, kept).max() - 1e-12
    assert table.which == f"{len(kept)} information states, the most often reached of 936"


def test_the_most_probable_histories_stand_for_a_game_that_is_too_large():
    tree = compile_game("leduc_poker")
    policy = Solver(tree, "external", seed=1).run(100).average_policy()
    compiled = table_of_tree("whole", tree, policy.strategy())
    table = table_of_histories("all", tree.game, policy, 10_000)  # all that are reached
    reached = {row.state: row for row in compiled.rows if row.reach}
    assert {row.state for row in table.rows} == set(reached)
    for row in table.rows:
        expected = reached[row.state]
        assert row.reach == pytest.approx(expected.reach, rel=1e-3)
        assert row.probabilities == expected.probabilities
        assert [table.names[i] for i in row.actions] == [compiled.names[i] for i in expected.actions]
        assert row.value is None
    few = table_of_histories("few", tree.game, policy, 500)
    assert 0 < len(few.rows) < len(table.rows)
    assert [row.reach for row in few.rows] == sorted((row.reach for row in few.rows), reverse=True)
    assert few.which == f"{len(few.rows)} information states, those of the 500 most probable histories"


def test_states_are_readable_and_rounding_is_no_regret(monkeypatch):
    tree = compile_game("kuhn_poker")
    found = infoset_values(tree, tree.uniform_strategy())
    regrets = np.where(np.arange(tree.num_slots) % 2, -3e-12, 3e-8)
    monkeypatch.setattr(strategy_page, "infoset_values", lambda *_: found._replace(regrets=regrets))
    rows = table_of_tree("uniform", tree, tree.uniform_strategy()).rows
    assert {tuple(row.regrets) for row in rows} == {(3e-8, 0.0)}
    words = {row.state: row.words for row in rows}
    assert (words["0"], words["2pb"]) == ("your card: J", "your card: K; bets: pass bet")
    assert {row.words for row in table_of_histories("all", tree.game, {}, 100).rows} == set(words.values())
    monkeypatch.undo()
    other = compile_game("tiny_hanabi")
    assert {row.words for row in table_of_tree("uniform", other, other.uniform_strategy()).rows} == {""}
