"""Imperfect recall: tied information sets share one strategy and one set of regrets.

Oracles: OpenSpiel's CFR and NashConv, and the same estimator on the refined tree, a game of perfect recall with the
same histories and draws, in which tied sets are kept apart: what it finds is added up by information set.
"""

import dataclasses

import naive
import numpy as np
import pyspiel
import pytest
from interpreted import plain_solver
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import cfr
from open_spiel.python.algorithms import exploitability as openspiel_exploitability

import mccfr_plus
from mccfr_plus import BudgetError, ConfigError, GameError, GameTree, Minimizer, Solver
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.games.openspiel import GAMES as WITH_RULES
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.minimizers.minimizer import expected_value
from mccfr_plus.policies.keyed_policy import KeyedPolicy
from mccfr_plus.trees import lazy_tree
from mccfr_plus.trees.by_rules import implicit_tree
from mccfr_plus.trees.expanding_tree import ExpandingTree

POKER = (
    "universal_poker(betting=limit,numPlayers=2,numRounds=3,blind=5 10,raiseSize=10 10 20,firstPlayer=1 1 1,"
    "maxRaises=0 1 1,numSuits=1,numRanks=4,numHoleCards=1,numBoardCards=0 1 1)"
)
GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(num_cards=4,imp_info=False,points_order=descending))"
GAMES = [GOOFSPIEL, POKER, "liars_dice_ir(dice_sides=3)"]


@inline_kernel
def _add_values(values, strategy, tables, first, last, iteration, parameters):
    for slot in range(first, last):
        tables[0, slot] += values[slot]
    return expected_value(values, strategy, first, last)


class Recorder(Minimizer):
    """Adds up gradients, and never changes the strategy."""

    kernel = staticmethod(_add_values)


def refined_tree(tree):
    refined = tree.refined
    names = [f"{tree.info_states[group]} past {number}" for number, group in enumerate(refined.infoset_of)]
    shape, actions = tree.shape._replace(perfect_recall=True), tree.slot_action[refined.slot_of]
    return GameTree(tree.game, refined.arrays, shape, names, actions, tree.outcome_action)


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize("game", GAMES[:2])
@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        ("full", {}),
        ("full", {"alternating": False}),
        ("chance", {"averaging": "uniform"}),
        ("external", {"threads": 2, "batch": 3}),
        ("external", {"alternating": False, "batch": 2}),
        ("external", {"baseline": True}),
        ("opponent", {}),
        ("outcome", {"batch": 40}),
        ("outcome(update_all_players=True)", {"batch": 30, "alternating": False}),
        ("outcome", {"baseline": "mean(rate=0.5)", "batch": 20}),
        ("escher", {"batch": 10}),
    ],
    ids=str,
)
def test_tied_sets_add_up_what_the_refined_sets_get(game, estimator, options):
    tree = naive.tree_of(game)
    strategy = naive.random_strategy(tree, seed=2, zeros=0.2)
    solvers = []
    for each, played in ((tree, strategy), (refined_tree(tree), strategy[tree.refined.slot_of])):
        averaging = "exact" if estimator == "full" else "stochastic"
        solver = Solver(each, estimator, Recorder(), **{"averaging": averaging, "seed": 4} | options)
        solver.set_strategy(played)
        solvers.append(solver.run(1 if estimator in ("full", "chance", "opponent") else 5))
    tied, apart = (solver.tables()[0] for solver in solvers)
    slot_of = tree.refined.slot_of
    expected = np.bincount(slot_of, apart[: len(slot_of)], tree.num_slots)
    assert np.abs(expected).max() > 0
    np.testing.assert_allclose(tied[: tree.num_slots], expected, atol=1e-11)
    if options.get("averaging") == "uniform":  # chance: exact at what was entered, which lazy adds up later
        return
    sums, apart_sums = (solver._engine.sums() for solver in solvers)
    np.testing.assert_allclose(
        sums[: tree.num_slots], np.bincount(slot_of, apart_sums[: len(slot_of)], tree.num_slots), atol=1e-11
    )


@pytest.mark.parametrize("estimator", ["external", "full"])
def test_the_compiled_loop_does_what_the_interpreted_one_does(estimator):
    compiled, plain = (
        make(naive.tree_of(GOOFSPIEL), estimator, "rm", seed=1).run(20) for make in (Solver, plain_solver)
    )
    np.testing.assert_allclose(compiled.current_strategy(), plain.current_strategy(), atol=1e-12)


@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize("game", [GOOFSPIEL, "leduc_poker(action_mapping=True)", "liars_dice_ir(dice_sides=3)"])
def test_full_is_openspiels_cfr(game, plus):
    """Until regrets cancel to below 1e-12 at some information set, where rounding decides what is played."""
    tree = naive.tree_of(game)
    theirs = (pyspiel.CFRPlusSolver if plus else pyspiel.CFRSolver)(tree.game)
    drop_in = (mccfr_plus.drop_in.pyspiel.CFRPlusSolver if plus else mccfr_plus.drop_in.pyspiel.CFRSolver)(tree.game)
    equal = 0
    for _ in range(12):
        theirs.evaluate_and_update_policy()
        drop_in.evaluate_and_update_policy()
        ours, expected = drop_in.current_strategy(), strategy_of(drop_in.tree, theirs.current_policy())
        sizes = np.add.reduceat(np.abs(drop_in.tables()[0]), drop_in.tree.arrays.infosets["first_slot"])
        if np.abs(ours - expected).max() > 1e-8:
            assert ((sizes > 0) & (sizes < 1e-12)).any(), "they part where no regrets cancel"
            break
        equal += 1
        np.testing.assert_allclose(
            strategy_of(drop_in.tree, drop_in.average_policy()),
            strategy_of(drop_in.tree, theirs.average_policy()),
            atol=1e-8,
        )
    assert equal >= 10


@pytest.mark.parametrize("game", GAMES)
def test_regrets_at_equal_strategies_are_openspiels(game, interpreted_loops):
    tree = naive.tree_of(game)
    table = openspiel_policy.TabularPolicy(tree.game)
    strategy = naive.random_strategy(tree, seed=7, zeros=0.1)
    solver = Solver(tree, "full", "rm", alternating=False)
    solver.set_strategy(strategy)
    solver.run(1)
    theirs = cfr._CFRSolver(tree.game, alternating_updates=False, linear_averaging=False, regret_matching_plus=False)
    for infoset, text in enumerate(tree.info_states):
        slots, row = tree.slots(infoset), table.state_lookup[text]
        theirs._current_policy.action_probability_array[row] = 0.0
        theirs._current_policy.action_probability_array[row, tree.slot_action[slots]] = strategy[slots]
    theirs.evaluate_and_update_policy()
    for infoset, text in enumerate(tree.info_states):
        found = theirs._info_state_nodes[text].cumulative_regret
        slots = tree.slots(infoset)
        expected = [found[action] for action in tree.slot_action[slots].tolist()]
        np.testing.assert_allclose(solver.tables()[0, slots], expected, atol=1e-10)


@pytest.mark.parametrize("game", GAMES)
def test_nash_conv_is_openspiels(game):
    tree = naive.tree_of(game)
    for seed, zeros in ((1, 0.0), (2, 0.3)):
        strategy = naive.random_strategy(tree, seed=seed, zeros=zeros)
        policy = mccfr_plus.TreePolicy(tree, strategy)
        found = mccfr_plus.evaluate(tree, policy)
        theirs = openspiel_exploitability.nash_conv(tree.game, policy.to_tabular(), use_cpp_br=False)
        assert found.nash_conv == pytest.approx(theirs, abs=1e-9)
        apart = refined_tree(tree)
        refined = mccfr_plus.evaluate(apart, mccfr_plus.TreePolicy(apart, strategy[tree.refined.slot_of]))
        assert found.perfect_recall_nash_conv == pytest.approx(refined.nash_conv, abs=1e-12)
        assert found.perfect_recall_nash_conv >= found.nash_conv - 1e-12
        np.testing.assert_allclose(
            found.values, naive.expected_values(naive.root_of(game), naive.to_dict(tree, strategy))
        )


def test_what_is_not_known_any_more_costs_a_best_response():
    """Player 0 sees the deal, acts, and then has to match it without knowing it: 2 or 1 for the right action."""
    later = 'p "" 1 3 "later" { "x" "y" } 0\n'
    ends = (('t "" 1 "" { 2 -2 }\n', 't "" 2 "" { 0 0 }\n'), ('t "" 3 "" { 0 0 }\n', 't "" 4 "" { 1 -1 }\n'))
    seen = (f'p "" 1 {deal} "saw {deal}" {{ "a" "b" }} 0\n' + 2 * (later + "".join(ends[deal - 1])) for deal in (1, 2))
    text = 'EFG 2 R "deal" { "A" "B" } ""\nc "" 1 "" { "L" 1/2 "R" 1/2 } 0\n' + "".join(seen)
    tree = mccfr_plus.compile_game(pyspiel.load_efg_game(text))
    found = mccfr_plus.evaluate(tree, mccfr_plus.TreePolicy(tree, tree.uniform_strategy()))
    assert found.values.tolist() == [0.75, -0.75]
    assert (found.nash_conv, found.perfect_recall_nash_conv) == (1.0 - 0.75, 1.5 - 0.75)


def test_what_ties_do_not_go_with_is_refused():
    tree = naive.tree_of("liars_dice_ir(dice_sides=3)")
    for options in (
        {"minimizer": "ftrl"},
        {"averaging": "lazy"},
        {"averaging": "optimistic"},
        {"estimator": "balanced"},
    ):
        with pytest.raises(GameError, match="needs perfect recall"):
            Solver(tree, **{"estimator": "outcome"} | options)
    with pytest.raises(ConfigError, match="use averaging='stochastic'"):
        Solver(tree, "external", averaging="exact")


# --- games that are not stored ---

MAPPED = "leduc_poker(action_mapping=True)"


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(
    ("game", "estimator", "options"),
    [
        (GOOFSPIEL, "external", {}),
        (MAPPED, "chance", {}),
        (GOOFSPIEL, "outcome(update_all_players=True)", {"alternating": False, "threads": 2, "batch": 3}),
        (MAPPED, "external", {"averaging": "stochastic(gamma=1.0)", "threads": 2}),
        (POKER, "outcome", {"batch": 3}),
    ],
    ids=str,
)
def test_other_trees_find_what_the_stored_one_finds(game, estimator, options):
    tree = naive.tree_of(game)
    stored = Solver(tree, estimator, "rm+", seed=2, **options).run(10)
    for kind in ("rules", "lazy"):
        solver = Solver(naive.game(game), estimator, "rm+", seed=2, tree=kind, memory="4GB", **options).run(10)
        assert (solver.tree.kind, solver.tree.perfect_recall) == (kind, False)
        assert solver.nodes_touched == stored.nodes_touched
        for strategy, expected in (
            (solver.average_strategy(), stored.average_strategy()),
            (solver.current_strategy(), stored.current_strategy()),
        ):
            policy = KeyedPolicy.of_tree(solver.tree, strategy)
            assert policy.num_infosets == solver.tree.num_infosets  # one for all pasts
            np.testing.assert_allclose(strategy_of(tree, policy), expected, atol=1e-12)


@pytest.mark.usefixtures("interpreted_loops")
def test_full_by_rules_is_full_on_the_stored_tree():
    tree = naive.tree_of(GOOFSPIEL)
    stored = Solver(tree, "full", "rm").run(6)
    solver = Solver(tree.game, "full", "rm", tree="rules").run(6)
    np.testing.assert_allclose(strategy_of(tree, solver.average_policy()), stored.average_strategy(), atol=1e-9)
    assert solver.nash_conv() == pytest.approx(stored.nash_conv(), abs=1e-9)  # of the stored tree
    with pytest.raises(ConfigError, match="threads cannot share"):
        Solver(tree.game, "full", "rm", tree="rules", threads=2)


@pytest.mark.usefixtures("interpreted_loops", "interpreted_evaluation")
def test_rules_without_observe(monkeypatch):
    """Infosets are found by keys, also with perfect recall; tables are copied to larger ones."""
    monkeypatch.setattr(implicit_tree, "is_keyed", lambda rules: True)
    monkeypatch.setattr(implicit_tree.successors, "FIRST_TABLE_WORDS", 4 * 2)
    solver, stored = (Solver("leduc_poker", "external", tree=tree, seed=3).run(10) for tree in ("rules", "compiled"))
    assert solver.tree.perfect_recall
    np.testing.assert_allclose(strategy_of(stored.tree, solver.average_policy()), stored.average_strategy(), atol=1e-12)
    assert solver.nash_conv() == pytest.approx(stored.nash_conv(), abs=1e-9)
    assert solver.tree.num_infosets == 936


@pytest.mark.usefixtures("interpreted_loops")
def test_a_gradient_that_does_not_fit_ends_the_run(monkeypatch):
    """Each of two threads has room for its part, but not for the sum; the result is that of the iterations before."""
    tree, options = naive.tree_of(GOOFSPIEL), {"averaging": "last", "alternating": False, "memory": "4GB", "seed": 1}
    options |= {"batch": 2, "threads": 2}
    for kind in ("rules", "lazy"):
        with monkeypatch.context() as patch:
            patch.setattr(ExpandingTree, "entries", (45, 45))
            solver = Solver(naive.game(GOOFSPIEL), "outcome", tree=kind, **options).run(50)
        assert "once per past" in solver.stopped
        assert 0 < solver.iterations < 50
        whole = Solver(naive.game(GOOFSPIEL), "outcome", tree=kind, **options).run(solver.iterations)
        found, expected = (strategy_of(tree, each.current_policy()) for each in (solver, whole))
        np.testing.assert_array_equal(found, expected)
    monkeypatch.setattr(ExpandingTree, "entries", (20, 20))
    with pytest.raises(BudgetError, match="once per past"):
        Solver(naive.game(GOOFSPIEL), "outcome", tree="rules", **options).run(50)


ABSENT_MINDED = """EFG 2 R "exits" { "A" "B" }
p "" 1 1 "crossing" { "exit" "on" } 0
 t "" 1 "" { 0 0 }
 p "" 1 1 "crossing" { "exit" "on" } 0
  t "" 2 "" { 4 -4 }
  t "" 3 "" { 1 -1 }
"""


def test_absent_mindedness_is_an_error_with_both_histories(monkeypatch):
    message = r"the histories \[\] and \[1\] have the same information state .*absent-mindedness"
    game = pyspiel.load_efg_game(ABSENT_MINDED)
    with pytest.raises(GameError, match=message):
        Solver(game, "external", tree="lazy")  # by the sample
    monkeypatch.setattr(lazy_tree, "has_perfect_recall", lambda game: False)
    with pytest.raises(GameError, match=message):
        Solver(game, "external", tree="lazy", seed=1).run(10)  # by a traversal


@kernel
def _look_at_number(parameters, table, state, player, view):
    """Writes how many cells the player has chosen, and not which."""
    for cell in range(9):
        view[0] += state[1 + player] >> (32 + cell) & 1


@pytest.mark.usefixtures("interpreted_loops")
def test_keys_that_do_not_tell_legal_actions_apart(monkeypatch):
    right = WITH_RULES["phantom_ttt"]
    vague = {
        "rules": dataclasses.replace(right.rules, look=_look_at_number, observe=None),
        "layout": classmethod(lambda cls, given: dataclasses.replace(right.layout(given), perfect_recall=False)),
    }
    monkeypatch.setitem(WITH_RULES, "phantom_ttt", type("Vague", (right,), vague))
    for estimator in ("external", "outcome(update_all_players=True)"):
        solver = Solver("phantom_ttt", estimator, alternating=False, tree="rules", seed=1)
        with pytest.raises(GameError, match=r"two sets of legal actions, \[.*\] and \[.*\]"):
            solver.run(20, seconds=20)  # which raises at once
