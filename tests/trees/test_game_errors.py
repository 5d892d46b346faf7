"""Games that raise or contradict themselves: one error names game, history and action, whichever code met it."""

import math

import pyspiel
import pytest
from lazy_games import Fault, FaultyGame, FaultyState
from lazy_trees import lazy_solver

from mccfr_plus import CheckError, GameError, check_game, compile_game, estimate_size
from mccfr_plus.trees.loading import record

CODE = {
    "compile": lambda game: compile_game(game),
    "lazy external": lambda game: lazy_solver(game, "external", seed=1).run(20),
    "lazy outcome": lambda game: lazy_solver(game, "outcome", seed=1).run(200),
    "estimate": lambda game: estimate_size(game, seed=1),
}


@pytest.fixture(autouse=True)
def no_fault():
    Fault.set("", 0)
    yield
    Fault.set("", 0)


@pytest.fixture(params=CODE)
def code(request):
    return CODE[request.param]


@pytest.mark.parametrize(
    ("method", "answer", "text"),
    [
        ("legal_actions", [], r"decision node has 0 legal actions, but num_distinct_actions\(\) allows 1 to 3"),
        ("legal_actions", [0, 0, 1], r"the legal actions \[0, 0, 1\] of a decision node are not all different"),
        ("chance_outcomes", [(0, 0.5), (1, 0.6)], "probabilities sum to 1.1 instead of 1"),
        ("chance_outcomes", [(0, 1.5), (1, -0.5)], r"finite and at least 0, not \[1.5, -0.5\]"),
        ("chance_outcomes", [(0, 0.5), (1, math.nan)], r"finite and at least 0, not \[0.5, nan\]"),
        ("current_player", -5, "that is not a decision, chance or terminal node"),
        ("returns", [math.nan, 0.0], r"returns\(\) must be 2 finite numbers, not \[nan, 0.0\]"),
        ("returns", [0.0], r"2 finite numbers, not \[0.0\]"),
    ],
)
def test_wrong_answers(code, method, answer, text):
    Fault.set(method, 1, answer=answer)
    with pytest.raises(GameError, match=rf"^python_faulty\(length=4\), at history .*{text}"):
        code("python_faulty(length=4)")
    code("python_faulty(length=4)")  # nothing is wrong any more


@pytest.mark.parametrize("method", ["legal_actions", "information_state_string", "apply_action", "returns"])
def test_the_error_names_history_and_action(code, method, monkeypatch):
    """At the first history in which 0 follows 2, 1."""
    raised_at = []

    def raising(original):
        def method(state, *arguments):
            moves = [*state._moves, *(arguments if original.__name__ == "_apply_action" else [])]
            if (
                state._coin is not None
                and moves[:3] == [2, 1, 0]
                and (original.__name__ != "returns" or state.is_terminal())
            ):
                raised_at.append([state._coin, *moves])
                raise ZeroDivisionError("on purpose")
            return original(state, *arguments)

        return method

    name = method if method in ("information_state_string", "returns") else f"_{method}"
    monkeypatch.setattr(FaultyState, name, raising(getattr(FaultyState, name)))
    with pytest.raises(GameError) as caught:
        code("python_faulty(length=4)")
    *history, action = raised_at[0]
    where = f"at history {history}, action {action}"
    said = str(caught.value).partition(". The average policy after ")[0]
    assert said == f"python_faulty(length=4) raised ZeroDivisionError {where}: on purpose"
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("actions", [[0, 1], [0, 2], [2, 1, 0]])
@pytest.mark.parametrize("name", ["compile", "lazy external", "lazy outcome"])
def test_two_sets_of_legal_actions_are_refused(monkeypatch, name, actions):
    """Player 1, who does not see the coin, has other actions if it shows 1."""
    usual = FaultyState._legal_actions
    monkeypatch.setattr(
        FaultyState,
        "_legal_actions",
        lambda state, player: actions if player == 1 and state._coin == 1 else usual(state, player),
    )
    with pytest.raises(GameError, match=r"^python_faulty\(length=4\), at history \[.*\], action \d: ") as caught:
        CODE[name]("python_faulty(length=4)")
    assert str(actions) in str(caught.value)
    assert "[0, 1, 2]" in str(caught.value)


def test_more_actions_than_the_game_says(code, monkeypatch):
    game = pyspiel.load_game("python_faulty")
    monkeypatch.setattr(FaultyGame, "num_distinct_actions", lambda self: 2)
    with pytest.raises(GameError, match="decision node has 3 legal actions"):
        code(game)


@pytest.mark.parametrize("record_all", [lambda game: record(game, lambda *_: None, False), CODE["estimate"]])
def test_games_without_an_end(record_all, monkeypatch):
    monkeypatch.setattr(FaultyState, "is_terminal", lambda self: False)
    monkeypatch.setattr(FaultyState, "current_player", lambda self: len(self.history()) % 2)
    monkeypatch.setattr(FaultyState, "_apply_action", lambda self, action: None)
    with pytest.raises(GameError, match=r"a game has not ended after .* moves, but max_game_length\(\) is 4 and"):
        record_all(FaultyGame({"length": 4}))


def test_a_game_without_texts_of_states_is_told_what_to_define(code, monkeypatch):
    monkeypatch.delattr(FaultyGame, "make_py_observer")
    monkeypatch.delattr(FaultyState, "information_state_string")
    with pytest.raises(GameError, match=r"give its states information_state_string\(player\), or the game make_py_"):
        code("python_faulty(length=4)")


FAULTS = [  # a method, the number of its call, what it answers, and what is said
    ("legal_actions", 5, [0, 2, 1], r"the legal actions \[0, 2, 1\] are not sorted"),
    ("legal_actions", 5, [0, 0, 1], "not all different"),
    ("chance_outcomes", 3, [(0, 0.5), (1, 0.4)], "the chance probabilities sum to 0.9"),
    ("returns", 2, [1.0, 1.0], "payoffs do not add up to utility_sum"),
    ("returns", 2, [10.0, -10.0], "a payoff is out of range"),
    ("returns", 1, [math.nan, 0.0], "returns.. must be 2 finite numbers"),
]


@pytest.mark.parametrize(("method", "call", "answer", "message"), FAULTS)
def test_games_without_rules_are_checked(method, call, answer, message):
    right = check_game("python_faulty(length=3)", plays=10)
    assert [line.check for line in right.lines] == ["states", "tree", "recall"]
    assert right.lines[1].compared == f"{1 + 2 * (1 + 3 + 9 + 27)} histories"
    assert right.lines[2].result == "perfect"
    assert "not checked" in check_game("python_faulty(length=3)", plays=10, max_nodes=20).lines[1].result
    Fault.set(method, call, answer=answer)
    with pytest.raises(CheckError, match=message):
        check_game("python_faulty(length=3)", plays=10)


def test_what_information_states_hide_is_found(monkeypatch):
    """Players see the coin alone, and forget their own moves."""
    monkeypatch.setattr(
        FaultyState, "information_state_string", lambda state, player=None: f"{state.current_player()} {state._coin}"
    )
    assert check_game("python_faulty(length=3)", plays=10).lines[2].result.startswith("imperfect")
    usual = FaultyState._legal_actions
    monkeypatch.setattr(
        FaultyState, "_legal_actions", lambda state, player: [0] if len(state._moves) == 2 else usual(state, player)
    )
    with pytest.raises(CheckError, match="has two sets of legal actions"):
        check_game("python_faulty(length=3)", plays=10)
