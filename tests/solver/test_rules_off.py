"""Without compiled rules everything goes through pyspiel, with the same results."""

import pytest

import mccfr_plus
from mccfr_plus.games.openspiel import registry
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.solver.solver import Solver
from mccfr_plus.solver.tree_choice import TreeLimits
from mccfr_plus.trees.info_states import InfoStates

STORED = "goofspiel(imp_info=True,num_cards=5,points_order=descending)"
LIMITS = TreeLimits(max_nodes=1_000)


def solver_of(game, *components, limits=None, **options):
    config = SolverConfig.from_specs(*components, **options)
    return Solver.from_config(game, config, seed=3, limits=limits)


@pytest.mark.parametrize("game", [STORED, "one_card_poker(deck_size=5)"])
def test_stored_trees_are_the_same(game):
    by_rules, through_pyspiel = (mccfr_plus.compile_game(game, rules=rules) for rules in (True, False))
    assert isinstance(by_rules.info_states, InfoStates)
    assert isinstance(through_pyspiel.info_states, list)
    for ours, theirs in zip(by_rules.arrays, through_pyspiel.arrays, strict=True):
        assert ours.tobytes() == theirs.tobytes()
    assert by_rules.fingerprint == through_pyspiel.fingerprint
    solvers = [mccfr_plus.Solver(game, "outcome", seed=3, rules=rules).run(50) for rules in (True, False)]
    assert solvers[0].exploitability() == solvers[1].exploitability()


@pytest.mark.usefixtures("interpreted_loops")
def test_games_that_are_not_stored_have_the_same_results():
    by_rules, lazy = (
        solver_of("leduc_poker", "outcome", limits=LIMITS, rules=rules).run(200) for rules in (True, False)
    )
    assert (by_rules.tree.kind, lazy.tree.kind) == ("rules", "lazy")
    assert by_rules.nodes_touched == lazy.nodes_touched
    assert by_rules.exploitability() == pytest.approx(lazy.exploitability(), abs=1e-12)


def test_no_rule_is_used(monkeypatch):
    asked = []
    made = registry._made
    monkeypatch.setattr(registry, "_made", lambda *arguments: asked.append(arguments) or made(*arguments))
    for tree in ("auto", "compiled", "lazy"):
        solver_of(STORED, "outcome", limits=LIMITS if tree == "auto" else None, tree=tree, rules=False).run(5)
    assert asked == []
    mccfr_plus.compile_game(STORED)
    assert len(asked) == 1


def test_a_tree_by_rules_needs_rules():
    with pytest.raises(mccfr_plus.ConfigError, match="tree='rules' with rules=False: leave out one of them"):
        mccfr_plus.Solver("kuhn_poker", tree="rules", rules=False)
