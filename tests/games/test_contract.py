"""The contract for compiled rules: fields, layouts, parameters, and a toy game's states and observers."""

import copy
import gc
import itertools
import pickle

import numba
import numpy as np
import pyspiel
import pytest
from open_spiel.python.observation import make_observation
from states import after

from mccfr_plus.games import (
    CHANCE,
    MOVER,
    TERMINAL,
    Field,
    Layout,
    Parameters,
    PyspielGame,
    PyspielState,
    Rules,
    RulesGame,
    register_game,
)
from mccfr_plus.games.rules import NOW, RECALLED


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"size": 0}, "size must be at least 1"),
        ({"size": 2, "count": -1}, "count at least 0"),
        ({"size": 2, "when": "never"}, "`when` must be one of 'always', 'recalled' and 'now'"),
        ({"size": 2, "symbols": "abc"}, "give 2 symbols"),
    ],
)
def test_bad_fields_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message) as caught:
        Field("f", **sizes)
    assert "name='f'" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "values", "text"),
    [
        ({}, [2, 0, 1], "2 0 1"),
        ({"symbols": "abc"}, [2, 0, 1], "cab"),
        ({"symbols": ["", "p", "b"]}, [1, 0, 2], "pb"),
        ({"symbols": ["", "pass", "b"]}, [1, 0, 2, 0], "pass b"),
        ({"write": lambda player, values: f"{player}:{sum(values)}"}, [1, 2], "1:3"),
        ({"symbols": "abc", "write": lambda player, values: "own"}, [1], "own"),
    ],
)
def test_texts_of_fields(options, values, text):
    assert Field("f", 3, len(values), **options).text(1, values) == text


@pytest.mark.parametrize("names", [("a", "b", "a"), ("player",)])
def test_names_of_fields_that_are_taken_are_refused(names):
    with pytest.raises(ValueError, match=rf"the field name '{names[-1]}' is taken"):
        Layout(1, tuple(Field(name, 2) for name in names), 1, 1, 0.0, 0.0)


def test_parameters():
    assert [Parameters(n=value).whole_number("n", 2, 7) for value in (2, 7)] == [2, 7]
    assert Parameters(which="b").one_of("which", {"a": 1, "b": 2}) == 2
    for value in (1, 8000, 2.0, "3", True, None):
        with pytest.raises(ValueError, match=r"^n=.*: give an integer from 2 to 7,000 \(so it is\)\.$"):
            Parameters(n=value).whole_number("n", 2, 7000, "so it is")
        with pytest.raises(ValueError, match=r"n=.*: give one of a, b\."):
            Parameters(n=value).one_of("n", {"a": 1, "b": 2})


_DEAL, _MOVES, _COUNT = 1, 2, 4  # words of a state: outcome plus 1, moves plus 1, number of moves
compiled = numba.njit(error_model="numpy", nogil=True)


@compiled
def _start(parameters, table, state):
    state[MOVER] = CHANCE


@compiled
def _legal(parameters, table, state, actions):
    count = 0
    for action in range(3):
        if action != state[_MOVES] - 1:
            actions[count] = action
            count += 1
    return count


@compiled
def _outcomes(parameters, table, state, actions, probabilities):
    actions[0], actions[1] = 0, 1
    probabilities[0], probabilities[1] = table[0], 1.0 - table[0]
    return 2


@compiled
def _apply(parameters, table, state, action):
    if state[MOVER] == CHANCE:
        state[_DEAL] = action + 1
        state[MOVER] = 0
        return
    state[_MOVES + state[_COUNT]] = action + 1
    state[_COUNT] += 1
    state[MOVER] = TERMINAL if state[_COUNT] == 2 else 1


@compiled
def _returns(parameters, table, state, payoffs):
    payoffs[0] = state[_DEAL] * (state[_MOVES] - state[_MOVES + 1])
    payoffs[1] = -payoffs[0]


@compiled
def _look(parameters, table, state, player, view):
    if player == 1:
        view[0] = state[_DEAL]
    view[1], view[2] = state[_MOVES], state[_MOVES + 1]
    view[3] = state[_COUNT]
    view[4] = max(state[_MOVES + player] - 1, 0)


@register_game
class ToyGame(RulesGame):
    """Chance tells player 1 one of two outcomes; player 0 takes one of three actions, player 1 one of the others."""

    short_name = "toy_game"
    long_name = "Toy Game"
    defaults = {"share": 0.25, "words": "some"}  # noqa: RUF012
    rules = Rules(start=_start, legal=_legal, outcomes=_outcomes, apply=_apply, returns=_returns, look=_look)

    @classmethod
    def layout(cls, parameters):
        return Layout(
            state_size=5,
            fields=(
                Field("deal", 3, private=True, symbols=("", "low", "high")),
                Field("past", 4, 2, when=RECALLED, symbols=".abc"),
                Field("count", 3, when=NOW),
                Field("own", 3, private=True, when=NOW),
            ),
            num_distinct_actions=3,
            max_chance_outcomes=2,
            max_game_length=2,
            max_chance_nodes=1,
            min_utility=-4.0,
            max_utility=4.0,
            table=lambda: np.array([parameters["share"]]),
        )


def test_unknown_parameters_are_refused():
    with pytest.raises(ValueError, match="toy_game has no parameter colour, size"):
        ToyGame({"size": 3, "colour": "red", "share": 0.5})


def test_a_game_and_its_text():
    game = ToyGame({"share": 0.5})
    assert str(game) == repr(game) == "toy_game(share=0.5,words=some)"
    again = pickle.loads(pickle.dumps(game))
    assert dict(again.given) == {"share": 0.5, "words": "some"}
    assert again.table.tolist() == [0.5]
    assert str(pyspiel.load_game(str(game)).rules_game) == str(game)


def answers(state):
    views = [(state.information_state_tensor(p), state.observation_tensor(p)) for p in (0, 1)]
    texts = [(state.information_state_string(p), state.observation_string(p)) for p in (0, 1)]
    return state.legal_actions(), state.current_player(), str(state), views, texts, state.returns(), state.history()


EXPECTED = (
    [0, 1],
    1,
    "player=0 deal= past=c. count=1 own=2\nplayer=1 deal=high past=c. count=1 own=0\nhistory=1 2",
    [
        ([1, 0, *(1, 0, 0), *(0, 0, 0, 1), *(1, 0, 0, 0)], [1, 0, *(1, 0, 0), *(0, 1, 0), *(0, 0, 1)]),
        ([0, 1, *(0, 0, 1), *(0, 0, 0, 1), *(1, 0, 0, 0)], [0, 1, *(0, 0, 1), *(0, 1, 0), *(1, 0, 0)]),
    ],
    [
        ("player=0 deal= past=c.", "player=0 deal= count=1 own=2"),
        ("player=1 deal=high past=c.", "player=1 deal=high count=1 own=0"),
    ],
    [0.0, 0.0],
    [1, 2],
)


def test_what_a_state_answers():
    game = pyspiel.load_game("toy_game")
    assert answers(after(game, 1, 2)) == EXPECTED
    assert game.information_state_tensor_shape() == [13]
    assert game.observation_tensor_shape() == [11]
    assert after(game).chance_outcomes() == [(0, 0.25), (1, 0.75)]
    assert after(game, 1, 2, 0).returns() == [4.0, -4.0]
    assert after(game, 1, 2, 0).legal_actions() == []
    assert after(game, 1).legal_actions() == [0, 1, 2]
    assert after(game, 1).legal_actions(1) == []


def emptied(game):
    vars(game).clear()
    return game


COPIES = {
    "an empty game": lambda game: after(emptied(game), 1, 2),
    "a game emptied later": lambda game: (after(game, 1, 2), emptied(game))[0],
    "clone": lambda game: after(game, 1, 2).clone(),
    "child": lambda game: after(game, 1).child(2),
    "deepcopy": lambda game: copy.deepcopy(after(game, 1, 2)),
    "pickle": lambda game: pickle.loads(pickle.dumps(after(game, 1, 2))),
    "deepcopy of the game": lambda game: after(copy.deepcopy(game), 1, 2),
    "pickle of the game": lambda game: after(pickle.loads(pickle.dumps(game)), 1, 2),
    "text of the state": lambda game: game.deserialize_state(after(game, 1, 2).serialize()),
    "text of game and state": lambda game: pyspiel.deserialize_game_and_state(
        pyspiel.serialize_game_and_state(game, after(game, 1, 2))
    )[1],
}


@pytest.mark.parametrize("copy_of", COPIES)
def test_states_answer_however_they_came_about(copy_of):
    state = COPIES[copy_of](pyspiel.load_game("toy_game"))
    gc.collect()  # the game is gone, if only the line above knew it
    assert isinstance(state, PyspielState)
    assert isinstance(state.get_game(), PyspielGame)
    assert answers(state) == EXPECTED
    assert answers(state.clone()) == EXPECTED
    state.apply_action(0)
    assert state.is_terminal()
    assert state.returns() == [4.0, -4.0]
    assert state.get_game().max_chance_nodes_in_history() == 1


OWN, NONE = pyspiel.PrivateInfoType.SINGLE_PLAYER, pyspiel.PrivateInfoType.NONE
PAST = [0, 0, 0, 1, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("recall", "public", "private", "expected", "text"),
    [
        (True, True, OWN, {"deal": [0, 0, 1], "past": PAST}, "deal=high past=c."),
        (True, True, NONE, {"past": PAST}, "past=c."),
        (False, True, OWN, {"deal": [0, 0, 1], "count": [0, 1, 0], "own": [1, 0, 0]}, "deal=high count=1 own=0"),
        (False, True, NONE, {"count": [0, 1, 0]}, "count=1"),
        (True, False, OWN, {"deal": [0, 0, 1]}, "deal=high"),
        (False, False, OWN, {"deal": [0, 0, 1], "own": [1, 0, 0]}, "deal=high own=0"),
        (True, False, NONE, {}, ""),
    ],
)
def test_observers_by_hand(recall, public, private, expected, text):
    game = pyspiel.load_game("toy_game")
    observer = make_observation(
        game, pyspiel.IIGObservationType(perfect_recall=recall, public_info=public, private_info=private)
    )
    for _ in range(2):  # the second time over what was written before
        observer.set_from(after(game, 0, 1, 2), 0)
        observer.set_from(after(game, 1, 2), 1)
        assert list(observer.dict) == ["player", *expected]
        assert observer.tensor.dtype == np.float32
        assert observer.tensor.tolist() == [0, 1, *itertools.chain(*expected.values())]
        assert observer.dict["player"].tolist() == [0, 1]
        for name, vector in expected.items():
            assert observer.dict[name].ravel().tolist() == vector
            assert np.shares_memory(observer.dict[name], observer.tensor)
        assert observer.string_from(after(game, 1, 2), 1) == f"player=1 {text}".rstrip()
    if "past" in expected:
        assert observer.dict["past"].shape == (2, 4)
