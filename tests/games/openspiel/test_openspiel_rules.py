"""Compiled rules of OpenSpiel's own games agree with OpenSpiel."""

import dataclasses
import itertools

import pyspiel
import pytest

import mccfr_plus
from mccfr_plus.checks import rules
from mccfr_plus.games import Rules
from mccfr_plus.games.openspiel import GAMES, compiled_rules, kuhn_poker, why_no_rules
from mccfr_plus.kernels.compile import kernel

# Game strings, and how many random plays are compared.
POKER = {
    "kuhn_poker": 200,
    "kuhn_poker(players=3)": 400,
    "leduc_poker": 500,
    "leduc_poker(players=3)": 400,
    "leduc_poker(players=4,starting_player=2,suit_isomorphism=True)": 300,
    "leduc_poker(players=10)": 100,
}
PHANTOM = {
    "phantom_ttt": 2000,
    "phantom_ttt(obstype=reveal-numturns)": 2000,
    "phantom_ttt(obstype=reveal-numturns,gameversion=abrupt)": 2000,
    "dark_hex(obstype=reveal-numturns)": 500,
    "dark_hex(obstype=reveal-numturns,gameversion=adh)": 500,
    "dark_hex(obstype=reveal-numturns,num_rows=2,num_cols=4)": 300,
    "dark_hex(obstype=reveal-numturns,board_size=5)": 100,
}
DICE = {
    "liars_dice": 500,
    "liars_dice(numdice=2,dice_sides=5)": 1000,
    "liars_dice(numdice=2,dice_sides=3,bidding_rule=reset-quantity)": 1000,
    "liars_dice(numdice=3,dice_sides=4,bidding_rule=reset-quantity)": 500,
    "liars_dice(numdice=5)": 500,
}
GOOFSPIEL = {
    "goofspiel(imp_info=True,num_cards=13)": 200,
    "goofspiel(imp_info=True,num_cards=5,points_order=descending)": 500,
    "goofspiel(imp_info=True,num_cards=6,points_order=ascending,returns_type=point_difference)": 300,
    "goofspiel(imp_info=True,num_cards=4,players=3,returns_type=point_difference)": 500,
    "goofspiel(imp_info=True,num_cards=5,players=5,returns_type=total_points,points_order=descending)": 200,
    "goofspiel(imp_info=True,num_cards=7,num_turns=4,egocentric=True)": 300,
    "goofspiel(imp_info=True,num_cards=3,players=10)": 100,
}
# Texts that consist of one number are numbers to OpenSpiel's parser: a second one, which is not used, keeps them texts.
_ONE_ROUND = "numRounds=1,firstPlayer=1 1,numBoardCards=0 0"
_KUHN = f"numSuits=1,numRanks=3,{_ONE_ROUND}"
_HOLDEM = "numSuits=4,numRanks=13,numHoleCards=2,numRounds=4,numBoardCards=0 3 1 1"
_SMALL_UNIVERSAL = [
    f"universal_poker({parameters})"
    for parameters in (
        f"{_KUHN},betting=limit,maxRaises=1 1,raiseSize=1 1,blind=1 1",
        f"{_KUHN},stack=3 4,blind=1 1,bettingAbstraction=fullgame",
        "numSuits=2,numRanks=3,betting=limit,maxRaises=2 2,raiseSize=2 4,blind=1 1",
        "numSuits=1,numRanks=5,numPlayers=3,blind=1 2 0,firstPlayer=3 1,stack=5 9 7",
        f"numSuits=1,numRanks=4,numPlayers=3,blind=1 2 0,stack=5 4 2,bettingAbstraction=fullgame,{_ONE_ROUND}",
        f"numSuits=2,numRanks=2,bettingAbstraction=fchpa,{_ONE_ROUND}",
        "numSuits=2,numRanks=2,blind=2 1,firstPlayer=2 1,stack=6 5,bettingAbstraction=fullgame",
        "numSuits=2,numRanks=2,numBoardCards=1 1,bettingAbstraction=fc",
    )
]
_SMALL_DECK = "numHoleCards=2,numSuits=4,numRanks=3,numBoardCards=0 3,blind=2 1,firstPlayer=2 1,stack=12 12"
_SUBGAME = "blind=100 50,firstPlayer=2 1 1 1,potSize=500"
_ONE_TABLE = "blind=50 100 0 0 0 0,firstPlayer=3 1 1 1,stack=500 900 400 100 600 300"
UNIVERSAL_POKER = {
    f"universal_poker({parameters})": plays
    for parameters, plays in {
        "": 500,
        f"{_SMALL_DECK},bettingAbstraction=fullgame": 500,
        "numSuits=4,numRanks=6,numHoleCards=2,numBoardCards=0 3": 1000,
        "numPlayers=3,betting=limit,numSuits=3,numRanks=3,raiseSize=3 5,maxRaises=1 2,blind=1 0 2,firstPlayer=2 3": 500,
        f"{_HOLDEM},blind=100 50,firstPlayer=2 1 1 1,stack=20000 20000": 500,
        f"{_HOLDEM},bettingAbstraction=fc": 2000,
        f"{_HOLDEM},numPlayers=6,{_ONE_TABLE},bettingAbstraction=fc": 500,
        "numPlayers=4,betting=limit,numRanks=13,numHoleCards=3,numBoardCards=3 2,raiseSize=3 5,maxRaises=2 1,"
        "blind=1 0 0 2,firstPlayer=2 3": 300,
        "numPlayers=3,numRanks=5,numHoleCards=2,numRounds=3,numBoardCards=0 3 1,blind=1 2 2,firstPlayer=1 2 3,"
        "stack=15 20 30,bettingAbstraction=fchpa": 300,
        "numPlayers=5,numRanks=2,stack=10 10 10 10 10,blind=1 1 1 1 10": 300,
        "numPlayers=3,numRanks=2,stack=10 3 4,blind=1 3 4": 100,
        f"{_HOLDEM},{_SUBGAME},stack=2000 1500,bettingAbstraction=fchpa,boardCards=4s8hTc9h": 500,
        f"{_HOLDEM},{_SUBGAME},stack=450 400,bettingAbstraction=fullgame,boardCards=4s8hTc9h2s": 500,
        f"{_HOLDEM},{_SUBGAME},betting=limit,raiseSize=10 10 20 20,maxRaises=3 3 3 3,boardCards=4s8h": 500,
    }.items()
}
IMPERFECT_RECALL = {
    "leduc_poker(action_mapping=True)": 300,
    "leduc_poker(players=3,action_mapping=True,suit_isomorphism=True,starting_player=2)": 200,
    "goofspiel": 200,
    "goofspiel(num_cards=5,points_order=descending,returns_type=point_difference)": 500,
    "goofspiel(num_cards=5,players=3,points_order=ascending,returns_type=total_points)": 300,
    "dark_hex": 1500,
    "dark_hex(gameversion=adh)": 1500,
    "dark_hex(board_size=4,gameversion=adh)": 300,
    "dark_hex(num_rows=3,num_cols=6)": 200,
}
# Compared completely.
SMALL = [
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "leduc_poker",
    "leduc_poker(suit_isomorphism=True)",
    "leduc_poker(action_mapping=True,suit_isomorphism=True)",
    "goofspiel(imp_info=True,num_cards=3)",
    "goofspiel(imp_info=True,num_cards=4,points_order=descending)",
    "goofspiel(imp_info=True,num_cards=3,players=3,points_order=ascending,returns_type=point_difference)",
    "goofspiel(num_cards=4,points_order=ascending,num_turns=2)",
    "liars_dice(dice_sides=3)",
    "liars_dice(numdice=2,dice_sides=2)",
    "liars_dice(numdice=2,dice_sides=2,bidding_rule=reset-quantity)",
    "dark_hex(board_size=2)",
    "dark_hex(board_size=2,gameversion=adh)",
    "dark_hex(board_size=2,gameversion=adh,obstype=reveal-numturns)",
    *_SMALL_UNIVERSAL,
]
LARGE = [
    "liars_dice",
    "dark_hex(num_rows=2,num_cols=3,obstype=reveal-numturns)",
    "dark_hex(num_rows=3,num_cols=2,gameversion=adh)",
    "leduc_poker(players=3,suit_isomorphism=True)",
    "universal_poker(numSuits=2,numRanks=3,bettingAbstraction=fchpa)",
]
NO_RULES = {
    "goofspiel(num_cards=4)": "goofspiel has simultaneous moves: give its turn-based form",
    "turn_based_simultaneous_game(game=goofspiel(num_cards=4,num_turns=3))": "OpenSpiel's game does not end",
    "liars_dice(numdice=8,dice_sides=4)": "numdice=8, dice_sides=4: 64 bids; give at most 62",
    "tic_tac_toe": "there are no compiled rules of tic_tac_toe: OpenSpiel's games with rules are kuhn_poker, ",
    "universal_poker(potSize=2400)": "potSize=2400: give the same chips of each player, and less than the stacks",
    "universal_poker(boardCards=2c2c)": "boardCards='2c2c': '2c' is there twice",
    "universal_poker(bettingAbstraction=fchpa,blind=100 50)": "lists a half-pot raise that OpenSpiel rejects",
    "universal_poker(bettingAbstraction=fullgame)": "there are more than 250,000 betting sequences",
}

PLAYED = GOOFSPIEL | POKER | PHANTOM | DICE | UNIVERSAL_POKER | IMPERFECT_RECALL


def turned(name):
    return ["symmetries"] if name.startswith(("phantom_ttt", "dark_hex")) else []


@pytest.fixture(autouse=True)
def quick_checks(monkeypatch):
    """Margins are shorter: kernels write to arrays of at most some hundred entries. Sizes are not estimated."""
    monkeypatch.setattr(rules, "_MARGIN", 1 << 10)
    monkeypatch.setattr(rules.Budget, "check_estimate", lambda *_: None)


@pytest.mark.parametrize("share", [30, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PLAYED, ids=lambda name: name[:60])
def test_random_plays_agree(name, share):
    game, checks = mccfr_plus.load_game(name), ["contract", "states", *turned(name)]
    lines = rules._lines(game, compiled_rules(game), PLAYED[name] // share, 1, seed=0)
    assert [line.check for line in itertools.islice(lines, len(checks))] == checks  # without a tree


@pytest.mark.parametrize(
    "name", [*SMALL, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE)], ids=lambda name: name[:60]
)
def test_all_states_agree(name):
    report = mccfr_plus.check_game(name, plays=20, max_nodes=1_000_000)
    assert [line.check for line in report.lines] == ["contract", "states", *turned(name), "tree", "recall", "codes"]


# Kernels that do not agree with OpenSpiel.


@kernel
def _wrong_legal(parameters, table, state, actions):
    actions[0], actions[1] = 0, 1
    return 2 - (state[kuhn_poker._COUNT] == 4)


@kernel
def _wrong_outcomes(parameters, table, state, actions, probabilities):
    count = kuhn_poker._outcomes(parameters, table, state, actions, probabilities)
    if count == 2:
        probabilities[0], probabilities[1] = 0.25, 0.75
    return count


@kernel
def _wrong_returns(parameters, table, state, payoffs):
    kuhn_poker._returns(parameters, table, state, payoffs)
    if state[kuhn_poker._COUNT] == 5:
        payoffs[0], payoffs[1] = payoffs[1], payoffs[0]


@kernel
def _wrong_look(parameters, table, state, player, view):
    kuhn_poker._look(parameters, table, state, player, view)
    view[0] = max(view[0], 2)


@kernel
def _wrong_observe(parameters, table, state, player, action):
    return min(kuhn_poker._observe(parameters, table, state, player, action), 3)


@kernel
def _large_observe(parameters, table, state, player, action):
    return kuhn_poker._observe(parameters, table, state, player, action) + 3


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"legal": _wrong_legal}, r"in legal actions, after the history \[.*\]"),
        ({"outcomes": _wrong_outcomes}, r"in outcomes of chance, after the history \[.\]"),
        ({"returns": _wrong_returns}, r"in payoffs, after the history \[., ., 0, 1, .\]"),
        ({"look": _wrong_look}, r"in the information state, after the history \[.*\]"),
        ({"observe": _wrong_observe}, "in the information state by its code"),
        ({"observe": _large_observe}, "`observe` is out of range"),
    ],
)
def test_rules_that_disagree_are_caught(monkeypatch, wrong, message):
    right = kuhn_poker.KuhnPokerRules
    rules = Rules(**{**vars(right.rules), **wrong})
    monkeypatch.setitem(GAMES, "kuhn_poker", type("WrongRules", (right,), {"rules": rules}))
    with pytest.raises(mccfr_plus.CheckError, match=message) as caught:
        mccfr_plus.check_game("kuhn_poker")
    assert "look at:" in str(caught.value)


def test_rules_that_claim_perfect_recall_are_caught(monkeypatch):
    right = GAMES["leduc_poker"]
    claim = classmethod(lambda cls, parameters: dataclasses.replace(right.layout(parameters), perfect_recall=True))
    monkeypatch.setitem(GAMES, "leduc_poker", type("WrongRules", (right,), {"layout": claim}))
    with pytest.raises(mccfr_plus.CheckError, match="the code of an information state met before"):
        mccfr_plus.check_game("leduc_poker(action_mapping=True)")


@pytest.mark.parametrize("name", NO_RULES)
def test_games_without_rules_say_why(name):
    game = pyspiel.load_game(name)
    assert compiled_rules(game) is None
    assert NO_RULES[name] in why_no_rules(game)


GOOFSPIEL_4 = "goofspiel(num_cards=4,points_order=descending)"


@pytest.mark.parametrize(
    "name", ["dark_hex(num_rows=2,num_cols=3)", GOOFSPIEL_4, "leduc_poker(action_mapping=True)", _SMALL_UNIVERSAL[-1]]
)
def test_games_of_openspiel_with_imperfect_recall(name):
    tree = mccfr_plus.compile_game(name)
    assert not tree.perfect_recall
    assert not compiled_rules(tree.game).sizes.perfect_recall
    assert not mccfr_plus.Solver(name, tree="rules").tree.perfect_recall
