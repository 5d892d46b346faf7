"""Endgames of hold'em beside stored trees of the same game, values over all pairs of hands, and OpenSpiel's chance."""

import functools
import itertools

import numpy as np
import pyspiel
import pytest

import mccfr_plus
from mccfr_plus import GameError, Solver
from mccfr_plus.checks.games import random_strategy
from mccfr_plus.evaluation.exact import evaluate_strategy
from mccfr_plus.games import compiled_rules, load_libratus_endgame
from mccfr_plus.games.deal import order_of_ranges
from mccfr_plus.solver.choice import public_bytes
from mccfr_plus.trees.public.dealt import predicted_sizes
from mccfr_plus.trees.public.public_tree import PublicTree
from mccfr_plus.trees.public.suits import suit_symmetries

TOLERANCE = 1e-9


def weights(rng, deck, count):
    """Returns a range in which each player has so many hands."""
    total = deck * (deck - 1) // 2
    rows = [np.where(np.isin(np.arange(total), rng.choice(total, count, False)), rng.random(total), 0.0).round(3)]
    rows += [np.where(np.isin(np.arange(total), rng.choice(total, count, False)), rng.random(total), 0.0).round(3)]
    return " ".join(map(str, np.concatenate(rows).tolist()))


RIVER = "holdem_subgame(board=7s5h4d2c3s,pot=20,stack=30,ranks=6,bets=100%)"
_POKER = (
    "universal_poker(betting=nolimit,numRounds=4,blind=100 50,firstPlayer=2 1 1 1,numHoleCards=2,numRanks={ranks},"
    "numBoardCards=0 3 1 1,stack={stack} {stack},bettingAbstraction={bets},potSize={pot},boardCards={board})"
)


@functools.cache
def small_games():
    """Returns small games: all hands of a river, few of a turn, and OpenSpiel's."""
    given = {"board": "7s5h4d2c", "pot": 20, "stack": 25, "ranks": 6, "bets": "0.5 1;1"}
    given["ranges"] = weights(np.random.default_rng(1), 24, 25)
    games = {"river": pyspiel.load_game(RIVER), "turn": pyspiel.load_game("holdem_subgame", given)}
    turn, river = "4s2h3c3h", "4s2h3c3h4d"
    for bets, stack, board in (("fcpa", 400, turn), ("fchpa", 400, river), ("fullgame", 203, river)):
        games[bets] = pyspiel.load_game(_POKER.format(ranks=3, stack=stack, bets=bets, pot=200, board=board))
    return games


@pytest.mark.parametrize("name", ["river", "turn", "fcpa", "fchpa", "fullgame"])
def test_values_best_responses_and_regrets_are_those_of_the_stored_tree(name):
    game = small_games()[name]
    tree = PublicTree(game)
    sizes = predicted_sizes(compiled_rules(game).deal)
    assert (tree.num_slots, tree.num_infosets) == sizes[:2] == (tree.stored.num_slots, tree.stored.num_infosets)
    assert tree.num_leaves == sizes.leaves
    for zeros in (0.0, 0.4):
        strategy = random_strategy(tree, np.random.default_rng(1), zeros)
        found, expected = evaluate_strategy(tree, strategy), evaluate_strategy(tree.stored, tree.on_stored(strategy))
        np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)
        public, stored = (Solver(each, "full", "rm", alternating=False) for each in (tree, tree.stored))
        public.set_strategy(strategy), stored.set_strategy(tree.on_stored(strategy))
        regrets = public.run(1).tables()[0], stored.run(1).tables()[0]
        np.testing.assert_allclose(tree.on_stored(regrets[0]), regrets[1], rtol=0, atol=TOLERANCE)


def _strength(cards):
    """Returns the best of all hands of five cards, (rank, suit) each, in plain Python."""
    return max(map(_of_five, itertools.combinations(cards, 5)))


def _of_five(cards):
    ranks = sorted((rank for rank, _ in cards), reverse=True)
    counts = sorted(((ranks.count(rank), rank) for rank in set(ranks)), reverse=True)
    shape, is_flush = [count for count, _ in counts], len({suit for _, suit in cards}) == 1
    top = 3 if ranks == [12, 3, 2, 1, 0] else ranks[0] if shape == [1] * 5 and ranks[0] - ranks[4] == 4 else None
    kinds = [[1] * 5, [2, 1, 1, 1], [2, 2, 1], [3, 1, 1], None, None, [3, 2], [4, 1]]
    kind = 8 if is_flush and top is not None else 5 if is_flush else 4 if top is not None else kinds.index(shape)
    return kind, [top] if top is not None else [rank for _, rank in counts]


def brute_force(game, tree, strategy):
    """Returns player 0's expected payoff on a river: a sum over all ends and all pairs of hands."""
    deal = compiled_rules(game).deal
    board = [divmod(card, 4) for card in range(52) if deal.given >> card & 1]
    used = np.flatnonzero(deal.weights.sum(0))
    cards = deal.cards[used]
    strengths = [_strength([*board, *(divmod(card, 4) for card in hand)]) for hand in cards.tolist()]
    rank = np.array([sorted(strengths).index(each) for each in strengths])
    clash = (cards[:, None, :, None] == cards[None, :, None, :]).any((2, 3))
    pairs = np.where(clash, 0.0, deal.weights[0, used][:, None] * deal.weights[1, used])
    hand_of = {tuple(hand): number for number, hand in enumerate((cards + 1).tolist())}
    played = np.zeros((len(deal.nodes), len(used)))  # probability of the last action of each sequence, by hand
    for infoset, view in enumerate(tree.info_states.views(range(tree.num_infosets)).tolist()):
        played[list(deal.nodes[view[-1]].children), hand_of[tuple(view[:2])]] = strategy[tree.slots(infoset)]
    reach, total = [np.ones((2, len(used)))], 0.0
    for number, node in enumerate(deal.nodes[1:], 1):
        reach.append(reach[node.parent].copy())
        reach[number][deal.nodes[node.parent].player] *= played[number]
        if node.player < 0:
            payoff = np.sign(rank[:, None] - rank) * min(node.spent)
            if node.folded:
                payoff = min(node.spent) * (1 if 1 in node.folded else -1) * np.ones_like(clash)
            total += reach[number][0] @ (pairs * payoff) @ reach[number][1]
    return total / pairs.sum()


def endgame_file(path, board="JsKs5cQs7d", pot="3750", which="4", reach=None):
    """Writes a file in the format of the published ones."""
    rng = np.random.default_rng(2)
    reach = reach or " ".join(f"{number:.4f}" for number in rng.random(2652) * (rng.random(2652) < 0.3))
    path.write_text(f"-round {which}\n-board {board}\n-pot {pot}\n-reach {reach}\n")
    return path


def test_values_are_sums_over_all_pairs_of_hands(tmp_path):
    for game in (pyspiel.load_game("holdem_subgame"), load_libratus_endgame(endgame_file(tmp_path / "endgame.txt"))):
        tree = PublicTree(game)
        strategy = random_strategy(tree, np.random.default_rng(3), 0.2)
        found = evaluate_strategy(tree, strategy).values
        expected = brute_force(game, tree, strategy)
        assert found == pytest.approx([expected, -expected], abs=TOLERANCE)
        assert Solver(tree, "full", "rm+").run(300).exploitability() < 20


def test_ranges_have_the_order_of_the_published_files():
    order, cards = order_of_ranges(52, 4), "23456789TJQKA"
    names = [rank + suit for rank in cards for suit in "shdc"]
    expected = {frozenset(pair): place for place, pair in enumerate(itertools.combinations(names, 2))}
    own = [rank + suit for rank in cards for suit in "cdhs"]
    hands = itertools.combinations(own, 2)
    assert [expected[frozenset(hand)] for hand in hands] == order.tolist()


def test_hand_reaches_are_those_of_openspiel():
    reaches = weights(np.random.default_rng(4), 52, 12)
    text = _POKER.format(ranks=13, stack=600, bets="fcpa", pot=300, board="4s8hTc9h2s")
    parameters = {**pyspiel.load_game(text).get_parameters(), "handReaches": reaches}
    game = pyspiel.load_game("universal_poker", parameters)
    rules, state = compiled_rules(game), game.new_initial_state()
    actions, probabilities = rules.choices(rules.first_state)
    expected = {action: chance for action, chance in state.chance_outcomes() if chance > 0}
    assert dict(zip(actions, probabilities, strict=True)) == pytest.approx(expected, abs=1e-14)
    solver = Solver(game, "full", "rm+", tree="public").run(50)
    state.apply_action(actions[5])
    for action in (1, 2):
        row = solver.average_policy().action_probabilities(state)
        assert sorted(row) == state.legal_actions()
        assert sum(row.values()) == pytest.approx(1)
        state.apply_action(action)
    assert solver.tree.infoset(state.information_state_string(), 0) is not None
    stored = mccfr_plus.compile_game(game)
    assert solver.nash_conv() == pytest.approx(mccfr_plus.nash_conv(stored, solver.average_policy()), abs=TOLERANCE)


def test_threads_and_public_chance():
    tree = PublicTree(small_games()["turn"])
    strategy, regrets = random_strategy(tree, np.random.default_rng(5), 0.0), []
    for threads in (1, 2):
        solver = Solver(tree, "full", "dcfr", tree="public", threads=threads)
        solver.set_strategy(strategy)
        regrets.append(solver.run(1).tables()[0])
    np.testing.assert_allclose(*regrets, rtol=0, atol=TOLERANCE)
    game = "holdem_subgame(board=4s3h2s2h,pot=20,stack=10,ranks=3,bets=50%)"
    mccfr_plus.check_estimator("public_chance", games=[game], samples=2_000)


@pytest.mark.parametrize(
    "options", [{"minimizer": "rm+"}, {"minimizer": "pdcfr+", "dtype": "float32"}, {"estimator": "public_chance"}]
)
def test_the_memory_is_what_is_said(options):
    """Within 10% of the arrays that are in use; those that are full of zeros are not."""
    game = pyspiel.load_game("holdem_subgame(board=7s5h4d2c,pot=20,stack=90,ranks=6,bets=0.5 1)")
    solver = Solver(game, **{"estimator": "full", "tree": "public", **options}).run(2)
    solver.exploitability()
    engine, evaluator = solver._engine, solver._evaluator
    arrays = [*solver.tree.arrays, solver.tree.keys, engine.tables, engine.strategy, engine.average, evaluator.room]
    scratch = engine.scratches[0]
    arrays += [scratch.gradient, scratch.reach, scratch.touched, evaluator._scratch[2]]
    arrays += [each for each in (scratch.stamps, scratch.seen) if each.any()]
    rules = compiled_rules(game)
    said = public_bytes(solver.config, rules, predicted_sizes(rules.deal))
    assert said == pytest.approx(sum(array.nbytes for array in arrays), rel=0.1)


FLOP = (
    "universal_poker(betting=nolimit,numRounds=4,blind=2 1,firstPlayer=2 1 1 1,numHoleCards=2,numRanks=3,numSuits=3,"
    "numBoardCards=0 3 1 1,stack=6 6,bettingAbstraction=fc,potSize=4,boardCards=4d3h2c)"
)


def test_a_flop_of_openspiel_keeps_the_order_of_later_cards():
    """Any policy of OpenSpiel has the same value, and best responses know the order, as with perfect recall."""
    tree = PublicTree(pyspiel.load_game(FLOP))
    assert (tree.num_slots, tree.num_infosets) == predicted_sizes(compiled_rules(tree.game).deal)[:2]
    assert tree.num_slots == len(tree.stored.refined.slot_of) > tree.stored.num_slots
    strategy = random_strategy(tree.stored, np.random.default_rng(6), 0.3)
    found, stored = evaluate_strategy(tree, strategy[tree.stored_slots]), evaluate_strategy(tree.stored, strategy)
    np.testing.assert_allclose(found.values, stored.values, rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(found.best_response_values, stored.perfect_recall_values, rtol=0, atol=TOLERANCE)
    policy = mccfr_plus.TreePolicy(tree, random_strategy(tree, np.random.default_rng(7), 0.3))
    returns = sum(probability * payoff for probability, payoff in ends(tree.game.new_initial_state(), policy))
    assert evaluate_strategy(tree, policy.strategy()).values[0] == pytest.approx(returns, abs=TOLERANCE)
    solver = Solver(FLOP, "full", "rm+", tree="public").run(100)
    assert mccfr_plus.exploitability(FLOP, solver.average_policy()) == solver.exploitability() < 0.05
    with pytest.raises(
        mccfr_plus.PolicyError, match="the order of later cards, which information states do not contain"
    ):
        solver.tree.on_stored(solver.average_strategy())


MERGED = {
    "holdem_subgame(board=7s5h4h2s3s,pot=20,stack=30,ranks=6,bets=100%)": 2,
    "holdem_subgame(board=5s4s3s2s,pot=20,stack=30,ranks=4,bets=50%)": 6,
    "holdem_subgame(board=4d4h2d,pot=20,stack=5,ranks=3,suits=3,bets=25%)": 1,
    "holdem_subgame(board=4d3d2d,pot=20,stack=5,ranks=3,suits=3,bets=25%)": 2,
    FLOP.replace("boardCards=4d3h2c", "boardCards=4d3d4c"): 1,
    FLOP.replace("boardCards=4d3h2c", "boardCards=4d3d2d"): 2,
}


@pytest.mark.parametrize("name", MERGED)
def test_merged_suits_change_no_number(name):
    """Values, best responses and sums of regrets are those of all hands."""
    tree = PublicTree(name, symmetry=True)
    whole, slots, count = tree.whole, tree.slots_of_whole, len(suit_symmetries(compiled_rules(tree.game).deal))
    assert count == MERGED[name]
    assert tree.num_slots == whole.num_slots if count == 1 else tree.num_slots < 0.7 * whole.num_slots
    for zeros in (0.0, 0.4):
        strategy = random_strategy(tree, np.random.default_rng(1), zeros)
        found, expected = evaluate_strategy(tree, strategy), evaluate_strategy(whole, strategy[slots])
        np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)
        solvers = [Solver(each, "full", "rm", alternating=False) for each in (tree, whole)]
        solvers[0].set_strategy(strategy), solvers[1].set_strategy(strategy[slots])
        regrets, of_hands = (solver.run(1).tables()[0] for solver in solvers)
        np.testing.assert_allclose(regrets, np.bincount(slots, of_hands), rtol=0, atol=TOLERANCE)
    solver = Solver(name, "full", "rm+", tree="public", symmetry=True).run(20)
    policy = solver.average_policy()
    assert mccfr_plus.nash_conv(tree.game, policy) == pytest.approx(solver.nash_conv(), abs=TOLERANCE)
    np.testing.assert_array_equal(solver.set_strategy(policy).current_strategy(), solver.average_strategy())


def test_suits_are_merged_where_both_ranges_allow_it():
    deal = compiled_rules(pyspiel.load_game(next(iter(MERGED)))).deal
    ranges = np.ones((2, len(deal.cards)))
    ranges[1, 5] = 0.5
    text = " ".join(map(str, ranges[:, np.argsort(order_of_ranges(24, 4))].reshape(-1).tolist()))
    parameters = {**pyspiel.load_game(next(iter(MERGED))).get_parameters(), "ranges": text}
    game = pyspiel.load_game("holdem_subgame", parameters)
    assert len(suit_symmetries(compiled_rules(game).deal)) == 1
    assert PublicTree(game, symmetry=True).fingerprint == PublicTree(game).fingerprint
    with pytest.raises(GameError, match=r"kuhn_poker.* has no suits to merge, so leave symmetry out"):
        Solver("kuhn_poker", "full", tree="public", symmetry=True)


def ends(state, policy, probability=1.0):
    """Yields the probability and player 0's payoff of each end, state by state."""
    if state.is_terminal():
        yield probability, state.returns()[0]
        return
    chances = state.chance_outcomes() if state.is_chance_node() else policy.action_probabilities(state).items()
    for action, chance in chances:
        if chance > 0:
            yield from ends(state.child(action), policy, probability * chance)


@pytest.mark.parametrize("options", [{}, {"memory": "1GB"}])
def test_a_tree_that_does_not_fit_is_refused_with_its_bytes(options):
    flop = _POKER.format(ranks=13, stack=20000, bets="fcpa", pot=200, board="4s8hTc")
    with pytest.raises(mccfr_plus.BudgetError, match=r"universal_poker has about [\d,]+ pairs .* which take .* GB are"):
        Solver(flop, "full", "rm+", tree="public", **options)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"board": "Ks7h4d2cKs"}, "board='Ks7h4d2cKs': 'Ks' is there twice"),
        ({"board": "Ks7h4d2c1s"}, "'1s' is not a card of the deck, which has ranks 23456789TJQKA"),
        ({"board": "Ks7h"}, "give three, four or five cards"),
        ({"pot": 201}, "pot=201: half of it is each player's"),
        ({"stack": 0}, "stack=0: give an integer from 1"),
        ({"bets": "0.5 6"}, "a first bet of 6 pots is 1,200 chips, above the stack of 900: give fractions up to 4.5"),
        ({"bets": "half"}, "bets='half': give fractions"),
        ({"ranges": "1 2 3"}, "give 2,652 weights of at least 0"),
        ({"ranges": " ".join(["0"] * 1326 + ["1"] * 1326)}, "player 0 has no hand that fits the board"),
        ({"ranges": " ".join((["1"] + ["0"] * 1325) * 2)}, "each hand of player 0 shares a card"),
    ],
)
def test_bad_games_are_refused_in_one_line(given, message):
    with pytest.raises(ValueError, match=message) as refused:
        pyspiel.load_game("holdem_subgame", given)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"board": "JsKs5cQs"}, "-round 4 with -board JsKs5cQs: 3 has four cards, 4 has five"),
        ({"board": "JsKs5cQsJs"}, "'Js' is there twice"),
        ({"pot": "-5"}, "-pot -5: give a number of chips"),
        ({"reach": "0.5 nan"}, "give 2,652 weights"),
        ({"reach": " "}, "it has no value for -reach"),
    ],
)
def test_damaged_files_are_refused_in_one_line(given, message, tmp_path):
    with pytest.raises(GameError, match=message) as refused:
        load_libratus_endgame(endgame_file(tmp_path / "endgame.txt", **given))
    assert "\n" not in str(refused.value)
    with pytest.raises(GameError, match="cannot be read as an endgame"):
        load_libratus_endgame(tmp_path / "none.txt")
