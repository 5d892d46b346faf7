"""Search: games with part of a strategy fixed, gadgets beside linear programs, safety in the whole game, policies."""

import functools

import numpy as np
import pyspiel
import pytest

import mccfr_plus
from mccfr_plus import ConfigError, GameError, PolicyError, Solver, search
from mccfr_plus.checks.games import random_strategy
from mccfr_plus.evaluation.exact import Evaluator, equilibrium_of
from mccfr_plus.policies.table import TreePolicy
from mccfr_plus.search.ends import ends_of, last_slots, matrix_of
from mccfr_plus.search.partial_game import PartialGame, entering, kept, slots_before, subgame_at
from mccfr_plus.trees.game_tree import compile_game
from mccfr_plus.trees.public.public_tree import PublicTree

TURN = "holdem_subgame(board=2c3d4c5d,ranks=5,suits=2,pot=20,stack=20,bets={})"
POKER = (
    "universal_poker(betting=nolimit,numRounds=2,blind=1 1,firstPlayer=1 1,numSuits=2,numRanks=2,numHoleCards=1,"
    "numBoardCards=0 1,stack=4 4,bettingAbstraction={})"
)
# Boards after a round, hands that are refined later, bids, comparisons stored by differences, tables of hands; with
# where to begin.
STARTS = {
    "leduc_poker": "chance",
    "leduc_ranks(ranks=4)": "chance",
    "liars_dice(dice_sides=3)": 3,
    "nl_holdem_buckets(stack=4)": 2,
    "one_card_poker(deck_size=20)": 1,
    TURN.format("100%"): 1,
}
MORE_ACTIONS = {TURN.format("100%"): (TURN.format("0.5 1"), 1), POKER.format("fcpa"): (POKER.format("fchpa"), "chance")}
SAFE = ("resolve", "maxmargin", "reach")
public_tree = functools.cache(PublicTree)
pytestmark = pytest.mark.usefixtures("interpreted_public_trees")


def blueprint_of(name, seed=1, zeros=0.0):
    tree = public_tree(name)
    policy = TreePolicy(tree, random_strategy(tree, np.random.default_rng(seed), zeros))
    return search.Blueprint(policy, tree, STARTS[name])


def payoffs_of(game):
    """Returns player 0's payoff per pair of sequences, ``[num_slots + 2, num_slots + 2]``, from the ends."""
    matrix = np.zeros((game.num_slots + 2, game.num_slots + 2))
    for end in range(len(game.arrays.ends)):
        rows, columns = last_slots(game, end, 0), last_slots(game, end, 1)
        np.add.at(matrix, (rows[:, None], columns), game.arrays.scales[end, 0] * matrix_of(game.arrays, end, 0))
        transposed = game.arrays.scales[end, 1] * matrix_of(game.arrays, end, 1).T
        np.testing.assert_allclose(transposed, -game.arrays.scales[end, 0] * matrix_of(game.arrays, end, 0), atol=1e-12)
    return matrix


@pytest.mark.parametrize("name", STARTS)
def test_fixed_play_becomes_chance(name):
    blueprint, tree = blueprint_of(name, zeros=0.2), public_tree(name)
    everything = subgame_at(tree, 0)
    strategy, expected = blueprint.strategy, Evaluator(tree).evaluate(blueprint.strategy)
    both = {player: kept(tree, player, [everything]) for player in range(2)}
    unchanged = PartialGame(ends_of(tree, both, everything.ends))
    found = Evaluator(unchanged).evaluate(strategy)
    np.testing.assert_allclose(found.best_response_values, expected.best_response_values, atol=1e-12)
    for player in range(2):
        fixed = kept(tree, player, blueprint.subgames, blueprint.reach)
        game = PartialGame(ends_of(tree, {player: fixed, 1 - player: both[1 - player]}, everything.ends))
        own = [strategy[subgame.slots[player]] for subgame in blueprint.subgames]
        parts = [np.concatenate(own), strategy[everything.slots[1 - player]]]
        found = Evaluator(game).evaluate(np.concatenate(parts if player == 0 else parts[::-1]))
        np.testing.assert_allclose(found.values, expected.values, atol=1e-12)
        assert found.best_response_values[1 - player] == pytest.approx(expected.best_response_values[1 - player])
        assert found.best_response_values[player] <= expected.best_response_values[player] + 1e-12


@pytest.mark.parametrize("name", ["leduc_poker", "liars_dice(dice_sides=3)", "nl_holdem_buckets(stack=4)"])
@pytest.mark.parametrize("method", search.METHODS)
def test_gadgets_are_solved(name, method):
    blueprint = blueprint_of(name)
    for player in range(2):
        game = search.gadget(blueprint, blueprint.subgames[-1], player, method)
        strategy = Solver(game, "full", "pdcfr+").run(2000).average_strategy()
        responses = Evaluator(game).evaluate(strategy).best_response_values
        payoffs = payoffs_of(game)
        value = equilibrium_of(game, *payoffs.nonzero(), payoffs[payoffs != 0]).value  # by linear programming
        assert -responses[1] - 1e-9 <= value <= responses[0] + 1e-9
        assert responses.sum() < 0.01 * max(1.0, abs(value))
        if method == "maxmargin" and name == "leduc_poker":  # each hand that can be held has something to gain
            assert (value if player == 0 else -value) > 1e-6


def test_values_and_margins_by_hand():
    """At the last bid of liar's dice the second player can only call, so that its values follow from the reach."""
    blueprint = blueprint_of("liars_dice(dice_sides=3)")
    subgame = blueprint.subgames[0]
    values = blueprint.values(0, subgame)[slots_before(blueprint.tree, subgame, 0)]
    sides = {0: entering(blueprint.tree, subgame, 0, per_hand=False)}
    sides[1] = kept(blueprint.tree, 1, [subgame], blueprint.reach)
    game = PartialGame(ends_of(blueprint.tree, sides, subgame.ends))
    inside = blueprint.strategy[subgame.slots[1]]
    for hand in range(len(values)):  # entering with one hand is worth that hand's value
        root = np.eye(len(values))[hand]
        below = random_strategy(game, np.random.default_rng(3))[len(values) : game.arrays.slot_range[1]]
        evaluation = Evaluator(game).evaluate(np.concatenate([root, below, inside]))
        assert evaluation.values[0] <= values[hand] + 1e-12
    assert evaluation.best_response_values[0] == pytest.approx(values.max())


@pytest.mark.parametrize("method", search.METHODS)
def test_gadgets_of_tables_are_those_of_matrices(method):
    """The same game with a table of hands at each end, and with a matrix."""
    name = TURN.format("100%")
    policy = Solver(name, "full", tree="public").run(3).average_policy()
    blueprints = [search.Blueprint(policy, tree, 1) for tree in (public_tree(name), PublicTree(compile_game(name)))]
    assert [len(each.tree.arrays.tables) > 0 for each in blueprints] == [True, False]
    for player in range(2):
        found = []
        for blueprint in blueprints:
            game = search.gadget(blueprint, blueprint.subgames[0], player, method)
            found.append(Evaluator(game).evaluate(game.uniform_strategy()))
        np.testing.assert_allclose(found[0].values, found[1].values, atol=1e-12)
        np.testing.assert_allclose(found[0].best_response_values, found[1].best_response_values, atol=1e-12)


@pytest.mark.parametrize("name", ["leduc_poker", "liars_dice(dice_sides=3)", TURN.format("100%")])
def test_gifts_raise_no_best_response(name):
    """With all gifts paid out in all subgames, the opponent's best response is worth what it was."""
    blueprint, tree = blueprint_of(name), public_tree(name)
    expected = Evaluator(tree).evaluate(blueprint.strategy).best_response_values
    for player in range(2):
        ends = ends_of(tree, [kept(tree, each, [subgame_at(tree, 0)]) for each in range(2)], subgame_at(tree, 0).ends)
        first, total = int(tree.arrays.slot_range[player]), 0.0
        for subgame in blueprint.subgames:
            slots, values = slots_before(tree, subgame, player), blueprint.gifts[player][subgame.node]
            if slots[0] < tree.num_slots:
                ends.pay(player, slots[0] - first, slots[1] - slots[0], values)
                total += values.sum()
        found = Evaluator(PartialGame(ends)).evaluate(blueprint.strategy)
        assert found.best_response_values[player] == pytest.approx(expected[player], abs=1e-9)
        assert total > 0 or player == 1  # who has not moved yet in hold'em


@pytest.mark.parametrize(
    ("name", "method", "zeros"),
    [*zip(STARTS, SAFE * 2, [0.0] * 6, strict=True), *(("leduc_poker", method, 0.3) for method in SAFE)],
)
def test_safe_methods_are_safe(name, method, zeros):
    blueprint = blueprint_of(name, 2 if zeros else 1, zeros)
    policy = TreePolicy(blueprint.tree, blueprint.strategy)
    found = search.certify(search.SearchPolicy(policy, blueprint.tree, STARTS[name], method, iterations=100))
    assert found.least - 1e-9 <= found.exploitability <= found.blueprint + min(found.error, found.excess) + 1e-9
    assert found.attained <= found.blueprint + 1e-3
    assert found.exploitability < found.blueprint - 0.1 * (found.blueprint - found.attained)


@pytest.mark.parametrize(("name", "method"), list(zip(MORE_ACTIONS, SAFE[1:], strict=True)))
def test_actions_that_the_blueprint_lacks(name, method):
    """Judged in the game that has them, where the blueprint alone has no answer."""
    larger, start = MORE_ACTIONS[name]
    blueprint, tree = Solver(public_tree(name), "full", "rm+").run(20).average_policy(), public_tree(larger)
    policy = search.SearchPolicy(blueprint, tree, start, method, iterations=100)
    found = search.certify(policy, iterations=300)
    assert found.blueprint == pytest.approx(mccfr_plus.exploitability(name, blueprint), abs=1e-9)
    assert found.least - 1e-9 <= found.exploitability <= found.blueprint + found.excess + 1e-9
    assert found.exploitability == pytest.approx(mccfr_plus.exploitability(larger, policy), abs=1e-9)
    (outside,) = policy.blueprint.outside[: len(tree.legal_actions(0))].nonzero()  # the first player's
    answers = [each for each in policy.blueprint.subgames if slots_before(tree, each, 0)[0] in outside]
    assert len(answers) == len(outside) > 0
    for each in answers:  # what the first player's best actions would get
        best = Evaluator(policy.blueprint.own[0]).evaluate(policy.blueprint.own[1]).best_response_values[0]
        assert policy.blueprint.allowed(0, each).sum() == pytest.approx(best, abs=1e-12)
    first = tree.legal_actions(0)
    own = dict(blueprint[tree.info_states[0]])
    assert set(own) < set(first)
    assert policy[tree.info_states[0]] == [(action, own.get(action, 0.0)) for action in first]
    with pytest.raises(GameError, match="with all of their actions: give a game that has all of these"):
        search.SearchPolicy(policy, public_tree(name), start)


def test_unsafe_search_can_do_harm():
    """Beside a good blueprint the opponent exploits what unsafe search takes for granted: its own range."""
    blueprint = Solver("leduc_poker", "full", "rm+").run(100).average_policy()
    policies = {m: search.SearchPolicy(blueprint, method=m, iterations=300) for m in ("unsafe", "maxmargin")}
    found = {method: search.certify(policy) for method, policy in policies.items()}
    assert found["unsafe"].exploitability > 5 * found["unsafe"].blueprint
    assert found["unsafe"].exploitability < found["unsafe"].blueprint + found["unsafe"].excess
    assert found["maxmargin"].exploitability < found["maxmargin"].blueprint


@pytest.mark.parametrize("method", ["unsafe", "reach"])
def test_policies_answer_by_state_what_they_play_as_a_whole(method):
    game = pyspiel.load_game("leduc_poker")
    blueprint = Solver(game, "full").run(5).average_policy()
    policies = [
        search.SearchPolicy(blueprint, public_tree("leduc_poker"), method=method, iterations=20) for _ in range(2)
    ]
    evaluated = mccfr_plus.evaluate(game, policies[1])
    for betting in ((1, 2), (1, 2, 2), (1,), ()):  # the deepest state first
        state = game.new_initial_state()
        for action in (0, 3, 1, 1, 4, *betting):
            state.apply_action(action)
        alone = policies[0].action_probabilities(state)
        assert alone == policies[1].action_probabilities(state) != blueprint.action_probabilities(state)
    assert len(policies[0].resolved) == 5  # player 0 at 4 states is none of player 1's 2, which has begun before
    expected = pyspiel.exploitability(game, pyspiel.TabularPolicy(dict(policies[1])))
    assert evaluated.exploitability == pytest.approx(expected, abs=1e-12)


def test_plays_within_seconds():
    game = pyspiel.load_game("leduc_poker")
    blueprint = Solver(game, "full").run(5).average_policy()
    policy, none = (search.SearchPolicy(blueprint, seconds=seconds) for seconds in (0.2, 1e-9))
    bots = [policy.bot(player, seed=player) for player in range(2)]
    assert mccfr_plus.play_games(game, bots, 5, seed=3).payoffs.shape == (5, 2)
    assert any(found is not None for found in policy.resolved.values())
    assert mccfr_plus.head_to_head(game, none, blueprint, num_games=20, seed=1).estimate.samples == 20
    assert none.out_of_time == len(none.resolved) > 0
    assert set(none.resolved.values()) == {None}
    with pytest.raises(ConfigError, match=r"seconds=0.2 is for play only: give iterations="):
        mccfr_plus.exploitability(game, policy)


ERRORS = [
    ({"blueprint": pyspiel.UniformPolicy(), "game": "phantom_ttt"}, GameError, "private actions"),
    ({"blueprint": pyspiel.UniformPolicy(), "game": "tiny_hanabi"}, GameError, "needs a zero-sum game"),
    ({"blueprint": pyspiel.UniformPolicy(), "game": "kuhn_poker"}, ConfigError, "has no decision after that"),
    ({"blueprint": pyspiel.UniformPolicy()}, ConfigError, "type UniformPolicy does not name its game: give game="),
    ({"blueprint": {}, "game": "leduc_poker"}, PolicyError, "the policy has no probabilities at information state"),
    ({"method": "best"}, ConfigError, "method='best'"),
    ({"start": 0}, ConfigError, "start=0"),
    ({"iterations": 0}, ConfigError, "iterations=0"),
    ({"seconds": -1}, ConfigError, "seconds=-1"),
    ({"game": "liars_dice"}, GameError, "only 0 occur in"),
]


@pytest.mark.parametrize(("arguments", "kind", "message"), ERRORS)
def test_errors(arguments, kind, message):
    given = {"blueprint": Solver("leduc_poker", "full").run(1).average_policy(), **arguments}
    with pytest.raises(kind, match=message) as found:
        search.SearchPolicy(**given)
    assert "\n" not in str(found.value)


def test_public_states_that_the_blueprint_does_not_reach():
    tree = public_tree("leduc_poker")
    strategy = tree.uniform_strategy()
    first = tree.arrays.nodes[0]["num_hands"] * tree.arrays.infosets[0]["num_actions"]
    strategy[:first] = np.tile([1.0, 0.0], tree.arrays.nodes[0]["num_hands"])  # it always calls first
    policy = TreePolicy(tree, strategy)
    blueprint = search.Blueprint(policy, tree)
    never = [subgame for subgame in blueprint.subgames if not blueprint.reaches(subgame, 0)]
    with pytest.raises(PolicyError, match=f"player 0 never reaches the public state {never[0].node}"):
        search.resolve(blueprint, never[0], 0)
    searching = search.SearchPolicy(policy, tree, iterations=20)
    assert search.certify(searching).unreached >= len(never)
    assert all(searching.resolved[subgame.node, 0] is None for subgame in never)
