"""Imperfect recall: tied information sets share one strategy and one set of regrets.

Oracles: OpenSpiel's CFR and NashConv, and the same estimator on the refined tree, a game of perfect recall with the
same histories and draws, in which tied sets are kept apart: what it finds is added up by information set.
"""

import naive
import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import cfr
from open_spiel.python.algorithms import exploitability as openspiel_exploitability

import mccfr_plus
from mccfr_plus import ConfigError, GameError, GameTree, Minimizer, Solver
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.minimizers.minimizer import expected_value

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
    """Returns the tree of the game with perfect recall."""
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
def test_the_compiled_loop_does_what_the_interpreted_one_does(estimator, request):
    tree = naive.tree_of(GOOFSPIEL)
    compiled = Solver(tree, estimator, "rm", seed=1).run(20)
    request.getfixturevalue("interpreted_loops")
    plain = Solver(tree, estimator, "rm", seed=1).run(20)
    np.testing.assert_allclose(compiled.current_strategy(), plain.current_strategy(), atol=1e-12)


@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize("game", [GOOFSPIEL, "leduc_poker(action_mapping=True)", "liars_dice_ir(dice_sides=3)"])
def test_full_is_openspiels_cfr(game, plus):
    """Until regrets cancel to below 1e-12 at some information set, where rounding decides what is played."""
    tree = naive.tree_of(game)
    theirs = (pyspiel.CFRPlusSolver if plus else pyspiel.CFRSolver)(tree.game)
    drop_in = (mccfr_plus.drop_in.pyspiel.CFRPlusSolver if plus else mccfr_plus.drop_in.pyspiel.CFRSolver)(tree.game)
    equal = 0
    for _ in range(15):
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
def test_regrets_at_equal_strategies_are_openspiels(game):
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
