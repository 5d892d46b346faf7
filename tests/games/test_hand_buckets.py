"""Buckets of hands beside enumerations of all boards and hands, and the games that they make."""

import itertools
import pickle

import numpy as np
import pyspiel
import pytest

import mccfr_plus
from mccfr_plus import ConfigError, GameError, Solver, abstract
from mccfr_plus.games import HandBuckets, compiled_rules, hand_buckets

_POKER = "universal_poker(numRounds={},numHoleCards=2,numSuits={},numRanks={},numBoardCards={},stack=300 300)"
SMALL = _POKER.format(3, 3, 3, "0 2 1")
HOLDEM = _POKER.format(4, 4, 13, "0 3 1 1")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(hand_buckets, "cache_folder", lambda: tmp_path / "kernels")
    return tmp_path / "hand_buckets"


def strengths_squared(deal, hand, board):
    """Returns E[HS^2] of a hand on a board, times the square of twice the other hands, by all full boards and hands."""
    cards, found = deal.cards, []
    rest = [card for card in range(deal.deck) if not (board >> card & 1) and card not in cards[hand]]
    for more in itertools.combinations(rest, deal.boards[-1] - board.bit_count()):
        full = board | sum(1 << card for card in more)
        strengths = deal.strengths(full)
        others = strengths[~((full | sum(1 << int(card) for card in cards[hand])) >> cards & 1).any(axis=1)]
        wins, ties = (others < strengths[hand]).sum(), (others == strengths[hand]).sum()
        found.append(int(2 * wins + ties) ** 2)
    return sum(found) / len(found)


def bucket(rules, parameters, buckets, hand, board):
    """Returns the bucket of a hand by its cards."""
    view = np.zeros(rules.sizes.view_size, np.int64)
    view[:2] = rules.deal.cards[hand] + 1
    cards = [card + 1 for card in range(rules.deal.deck) if board >> card & 1]
    view[2 : 2 + len(cards)] = cards
    return buckets.kernel(parameters, rules.table, view, 0)


def percentiles(values, count):
    """Returns floor(count * (worse + equal / 2) / all) of each value; values agree to 1e-6."""
    ranked = np.round(values, 6)
    return np.array([count * (2 * (ranked < x).sum() + (ranked == x).sum()) // (2 * len(ranked)) for x in ranked])


@pytest.mark.parametrize("nested", [False, True])
def test_buckets_are_percentiles_of_all_hands_and_boards(nested):
    rules, buckets = compiled_rules(pyspiel.load_game(SMALL)), HandBuckets(SMALL, 5, nested)
    parameters, deal, above = buckets.parameters(rules), rules.deal, None
    for number in deal.boards:
        boards = [sum(1 << card for card in each) for each in itertools.combinations(range(deal.deck), number)]
        pairs = [(h, b) for b in boards for h in range(len(deal.cards)) if not (b >> deal.cards[h] & 1).any()]
        values = np.array([strengths_squared(deal, *pair) for pair in pairs])
        found = np.array([bucket(rules, parameters, buckets, *pair) for pair in pairs])
        if number == 0 or not nested:
            expected = percentiles(values, 5)
            above = expected if number == 0 else above
        else:
            groups, expected = above[[hand for hand, _ in pairs]], np.zeros(len(pairs), int)
            for group in range(5):
                expected[groups == group] = 5 * group + percentiles(values[groups == group], 5)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
def test_boards_and_some_hands_of_52_cards():
    """Buckets are monotone in strengths by enumeration, and those of a sample follow the uniform distribution."""
    rules, buckets, rng = compiled_rules(pyspiel.load_game(HOLDEM)), HandBuckets(HOLDEM, 50), np.random.default_rng(1)
    parameters, deal = buckets.parameters(rules), rules.deal
    assert [hand_buckets._num_boards(buckets._index, 4, n) for n in deal.boards] == [1, 1755, 16432, 134459]
    for number, count in ((4, 40), (5, 400)):
        hands = []
        for _ in range(count):
            first, second, *board = rng.permutation(52)[: number + 2].tolist()
            hand = int(np.flatnonzero((deal.cards == sorted((first, second))).all(axis=1))[0])
            board = sum(1 << card for card in board)
            hands.append((strengths_squared(deal, hand, board), bucket(rules, parameters, buckets, hand, board)))
        found = [each for _, each in sorted(hands)]
        assert found == sorted(found)
        # Kolmogorov-Smirnov at a level of 1e-6, and half a bucket.
        distance = np.abs((np.array(found) + 0.5) / 50 - (np.arange(count) + 0.5) / count).max()
        assert distance < np.sqrt(-np.log(1e-6 / 2) / 2 / count) + 0.01


def test_the_game_of_buckets_by_rules_and_through_pyspiel():
    name = _POKER.format(2, 3, 2, "0 1").replace("300 300", "200 200")
    game = abstract(name, HandBuckets(name, 3))
    policy = Solver(game, tree="rules", seed=1).run(2000).average_policy()
    inside, real = mccfr_plus.evaluate(game, policy), mccfr_plus.evaluate(name, policy)
    np.testing.assert_allclose(real.values, inside.values, rtol=0, atol=1e-12)
    assert inside.nash_conv < real.nash_conv  # opponents see more there
    texts = mccfr_plus.compile_game(game).info_states
    assert len(texts) == policy.num_infosets
    assert all("bucket" in text for text in texts)
    assert not any("board" in text or "hole" in text for text in texts)
    state = game.real.new_initial_state()
    for action in (0, 5, 3, 2):
        state.apply_action(action)
    assert [pickle.loads(pickle.dumps(game)).abstraction.bucket(state, player) for player in (0, 1)] == [
        f"bucket={HandBuckets(name, 3)(state, player)}" for player in (0, 1)
    ]


def test_other_cards_and_damaged_tables_are_refused(folder):
    buckets = HandBuckets(SMALL, 5)
    for other in (SMALL.replace("numRanks=3", "numRanks=4"), SMALL.replace("0 2 1", "0 1 2"), "leduc_poker"):
        with pytest.raises(ConfigError, match=r"buckets for 9 cards in 3 suits, 0 2 3 of .* do not fit"):
            abstract(other, buckets)
    for game in ("leduc_poker", "universal_poker", "tic_tac_toe"):
        with pytest.raises(ConfigError, match="universal_poker"):
            HandBuckets(game)
    with pytest.raises(ConfigError, match="buckets=1"):
        HandBuckets(SMALL, 1)
    with pytest.raises(ConfigError, match="use fewer cards"):
        HandBuckets(_POKER.format(2, 4, 13, "0 7"))
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(GameError, match=r"\.npy .*elete"):
        HandBuckets(SMALL, 5)
