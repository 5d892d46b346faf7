"""Games that are wrong on purpose: each is caught, and the message says what to look at."""

import numba
import numpy as np
import pyspiel
import pytest
from texts import text_of_error

from mccfr_plus import CheckError, check_game
from mccfr_plus.games import CHANCE, MOVER, TERMINAL, Field, Layout, Rules, RulesGame, register_game

# A function of the rules, and an array around whose ends it writes.
SPILLS = [
    ("start", "state"), ("apply", "state"), ("legal", "actions"), ("legal", "parameters"), ("legal", "table"),
    ("outcomes", "actions"), ("outcomes", "probabilities"), ("look", "view"), ("returns", "payoffs"),
]  # fmt: skip
FAULTS = {
    # fault: what the message must say
    **{
        f"{each} {side} {of}": f"`{each}` wrote outside of `{of}`"
        for each, of in SPILLS
        for side in ("before", "behind")
    },
    "look far behind view": "`look` wrote outside of `view`",
    "look behind view at the end": "`look` wrote outside of `view`",
    "legal unsorted": r"`legal` gives 2 actions, \[1, 0\]",
    "legal twice": r"`legal` gives 2 actions, \[1, 1\]",
    "legal too high": r"`legal` gives 2 actions, \[0, 2\]",
    "legal negative": r"`legal` gives 2 actions, \[-1, 1\]",
    "legal empty": r"`legal` gives 0 actions, \[\]",
    "legal boasts": r"`legal` gives 4 actions",
    "legal below zero": r"`legal` gives -2 actions, \[\]",
    "probabilities": "probabilities of chance do not sum to 1",
    "probability NaN": "probabilities of chance do not sum to 1",
    "probability negative": "probabilities of chance do not sum to 1",
    "outcomes twice": r"`outcomes` gives 3 outcomes, \[0, 1, 1\]",
    "outcome too high": r"`outcomes` gives 3 outcomes, \[0, 1, 3\]",
    "outcome negative": r"`outcomes` gives 3 outcomes, \[0, 1, -1\]",
    "outcomes empty": r"`outcomes` gives 0 outcomes, \[\]",
    "look too high": "`look` writes 3 at entry 1 for player 1",
    "look negative": "`look` writes -1 at entry 0 for player 0",
    "look changes the state": "other than `apply` changed the state",
    "legal changes the state": "other than `apply` changed the state",
    "returns changes the state": "other than `apply` changed the state",
    "look at the end too high": "`look` writes 4 at entry 0 for player 0",
    "forgets a move": "imperfect recall",
    "forgets what matters": "its tree cannot be built: .* other legal actions",
    "payoff too high": "a payoff is out of range",
    "payoff too low": "a payoff is out of range",
    "payoff NaN": "a payoff is out of range",
    "payoffs of no sum": "payoffs do not add up to utility_sum",
    "endless": "a history is longer than the layout says",
    "endless chance": "a history is longer than the layout says",
    "no such player": r"state\[MOVER\] is 2",
    "negative player": r"state\[MOVER\] is -3",
    "changes parameters": "`apply` changed `parameters` or `table`",
    "changes the table": "`returns` changed `parameters` or `table`",
}
NUMBERS = {name: number for number, name in enumerate(FAULTS, 1)}
_CARD, _MOVES, _COUNT = 1, 2, 5  # words of a state: card plus 1, moves plus 1, number of moves


(
    LOOK_FAR_BEHIND, LOOK_BEHIND_LATE, UNSORTED, TWICE, HIGH, NEGATIVE, EMPTY, BOASTS, BELOW, SUM, CHANCE_NAN,
    CHANCE_NEGATIVE, OUTCOMES_TWICE, OUTCOMES_HIGH, OUTCOMES_NEGATIVE, OUTCOMES_EMPTY, LOOK_HIGH, LOOK_NEGATIVE,
    LOOK_CHANGES, LEGAL_CHANGES, RETURNS_CHANGES, LOOK_LATE, FORGETS, FORGETS_LEGAL, PAYOFF_HIGH, PAYOFF_LOW,
    PAYOFF_NAN, NO_SUM, ENDLESS, ENDLESS_CHANCE, NO_PLAYER, NEGATIVE_PLAYER, CHANGES_PARAMETERS, CHANGES_TABLE,
) = list(NUMBERS.values())[2 * len(SPILLS) :]  # fmt: skip
START, APPLY, LEGAL, LEGAL_PARAMETERS, LEGAL_TABLE, OUTCOMES, CHANCES, LOOK, RETURNS = range(1, 2 * len(SPILLS), 2)

compiled = numba.njit(error_model="numpy", nogil=True)


@compiled
def _spill(array, fault, before):
    """Writes outside of an array, by the fault of this number before it, and by the next one behind it."""
    if fault == before:
        array[-len(array) - 1] = 1
    if fault == before + 1:
        array[np.uint64(len(array))] = 1


@compiled
def _start(parameters, table, state):
    state[MOVER] = CHANCE
    _spill(state, parameters[0], START)


@compiled
def _legal(parameters, table, state, actions):
    fault = parameters[0]
    actions[0], actions[1] = 0, 1
    _spill(actions, fault, LEGAL)
    _spill(parameters, fault, LEGAL_PARAMETERS)
    _spill(table, fault, LEGAL_TABLE)
    if fault == UNSORTED:
        actions[0], actions[1] = 1, 0
    if fault == TWICE:
        actions[0] = 1
    if fault == HIGH:
        actions[1] = 2
    if fault == NEGATIVE:
        actions[0] = -1
    if fault == EMPTY:
        return 0
    if fault == BOASTS:
        return 4
    if fault == BELOW:
        return -2
    if fault == LEGAL_CHANGES:
        state[_CARD] = 1 + state[_CARD] % 3
    if fault == FORGETS_LEGAL and state[_CARD] == 3:
        return 1
    return 2


@compiled
def _outcomes(parameters, table, state, actions, probabilities):
    fault = parameters[0]
    for card in range(3):
        actions[card] = card
        probabilities[card] = table[card]
    _spill(actions, fault, OUTCOMES)
    _spill(probabilities, fault, CHANCES)
    if fault == SUM:
        probabilities[2] += 1e-6
    if fault == CHANCE_NAN:
        probabilities[2] = np.nan
    if fault == CHANCE_NEGATIVE:
        probabilities[0], probabilities[1] = -0.25, 1.0
    if fault == OUTCOMES_TWICE:
        actions[2] = 1
    if fault == OUTCOMES_HIGH:
        actions[2] = 3
    if fault == OUTCOMES_NEGATIVE:
        actions[2] = -1
    return 0 if fault == OUTCOMES_EMPTY else 3


@compiled
def _apply(parameters, table, state, action):
    fault = parameters[0]
    _spill(state, fault, APPLY)
    if fault == CHANGES_PARAMETERS:
        parameters[1] += 1
    if state[MOVER] == CHANCE:
        state[_CARD] = action + 1
        if fault == NO_PLAYER:
            state[MOVER] = 2
        elif fault == NEGATIVE_PLAYER:
            state[MOVER] = -3
        elif fault != ENDLESS_CHANCE:
            state[MOVER] = 0
        return
    if fault == ENDLESS:
        state[MOVER] = 1 - state[MOVER]
        return
    state[_MOVES + state[_COUNT]] = action + 1
    state[_COUNT] += 1
    state[MOVER] = TERMINAL if state[_COUNT] == 3 else 1 - state[MOVER]


@compiled
def _returns(parameters, table, state, payoffs):
    fault = parameters[0]
    amount = 1.0 * (state[_CARD] - 2) * (state[_MOVES] + state[_MOVES + 1] - 3 + state[_MOVES + 2])
    payoffs[0], payoffs[1] = amount, -amount
    _spill(payoffs, fault, RETURNS)
    if fault == PAYOFF_HIGH:
        payoffs[0], payoffs[1] = 3.5, 0.0
    if fault == PAYOFF_LOW:
        payoffs[0], payoffs[1] = 0.0, -3.5
    if fault == PAYOFF_NAN:
        payoffs[1] = np.nan
    if fault == NO_SUM:
        payoffs[0], payoffs[1] = 1.0, -0.5
    if fault == RETURNS_CHANGES:
        state[_CARD] += 1
    if fault == CHANGES_TABLE:
        table[0] += 0.5


@compiled
def _look(parameters, table, state, player, view):
    fault = parameters[0]
    if player == 0 and fault != FORGETS_LEGAL:
        view[0] = state[_CARD]
    for index in range(3):
        view[1 + index] = state[_MOVES + index]
    _spill(view, fault, LOOK)
    if fault == LOOK_BEHIND_LATE and state[MOVER] == TERMINAL:
        view[np.uint64(len(view))] = 1
    if fault == LOOK_HIGH and player == 1:
        view[1] = 3
    if fault == LOOK_FAR_BEHIND:
        view[np.uint64(len(view) + 1000)] = 1
    if fault == LOOK_NEGATIVE:
        view[0] = -1
    if fault == LOOK_CHANGES:
        state[_CARD] += 1
    if fault == LOOK_LATE and state[MOVER] == TERMINAL:
        view[0] = 4
    if fault == FORGETS and player == 0:
        view[1] = 0


class SignsGame(RulesGame):
    """Chance deals one of three cards to player 0; the players move in turn, three times in all."""

    short_name = "toy_signs"
    long_name = "Toy Signs"
    defaults = {"fault": 0}  # noqa: RUF012
    rules = Rules(start=_start, legal=_legal, outcomes=_outcomes, apply=_apply, returns=_returns, look=_look)
    fields = (Field("card", 4, private=True, symbols="-abc"), Field("moves", 3, 3, symbols=("", "x", "y")))

    @classmethod
    def layout(cls, parameters):
        return Layout(
            state_size=6,
            fields=cls.fields,
            num_distinct_actions=2,
            max_chance_outcomes=3,
            max_game_length=3,
            max_chance_nodes=1,
            min_utility=-3.0,
            max_utility=3.0,
            parameters=[parameters["fault"], 7],
            table=[0.25, 0.5, 0.25],
        )


@register_game
class SignsInTurnGame(SignsGame):
    short_name = "toy_signs_right"


# Every way of writing that does not tell two values apart, and every override that does not do as the kernels do.


CARD, MOVES = SignsGame.fields
ALIKE = {
    "same_symbols": (Field("card", 4, private=True, symbols="-abb"), MOVES),
    "glued_symbols": (CARD, Field("moves", 3, 3, symbols=("", "x", ""))),
    "writes_alike": (CARD, Field("moves", 3, 3, write=lambda player, values: str(sum(values)))),
}
for name, fields in ALIKE.items():
    register_game(type(name, (SignsGame,), {"short_name": f"toy_signs_{name}", "fields": fields}))


@register_game
class SilentGame(SignsGame):
    short_name = "toy_signs_silent"

    def view_text(self, player, view, places=None):
        return f"player={player}"


@register_game
class LooksElsewhereGame(SignsGame):
    short_name = "toy_signs_looks_elsewhere"

    def look(self, words, player):
        view = super().look(words, player)
        view[0] = 3 - view[0]
        return view


@register_game
class TableChangesGame(SignsGame):
    short_name = "toy_signs_table_changes"

    @property
    def table(self):
        # Differs whenever it is asked for, as if it was read from somewhere.
        self.asked = getattr(self, "asked", 0) + 1
        return np.array([0.25, 0.5, 0.25]) if self.asked < 3 else np.array([0.5, 0.25, 0.25])


def test_the_report_of_a_right_game():
    report = check_game("toy_signs_right", plays=40)
    assert report.component == "toy_signs_right(fault=0)"
    assert [line.check for line in report.lines] == ["contract", "simulation", "states", "tree", "recall", "tensors"]
    assert report.lines[3].compared.startswith(f"{1 + 3 * 15:,} histories")
    assert report.lines[3].result == "bitwise identical"
    assert report.lines[4].compared == f"{3 * 1 + 2 + 3 * 4} information states"
    *_, last = check_game("toy_signs_right", plays=1, max_nodes=40).lines
    assert (last.check, last.compared) == ("tree", "more than 40 histories")


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_kernels_are_caught(fault):
    name = f"toy_signs_right(fault={NUMBERS[fault]})"
    assert text_of_error(lambda: check_game(name, plays=50), FAULTS[fault]).startswith("toy_signs_right(fault=")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        *((name, "in the view of an information state met before, after the history") for name in (*ALIKE, "silent")),
        ("looks_elsewhere", "differ from pyspiel in the information state, after the history"),
        ("table_changes", "changed `parameters` or `table`"),
    ],
)
def test_faults_of_texts_and_overrides_are_caught(name, message):
    text_of_error(lambda: check_game(f"toy_signs_{name}"), message)


@pytest.mark.parametrize("fault", ["changes parameters", "changes the table", "look changes the state"])
def test_a_check_leaves_the_game_as_it_was(fault):
    game = pyspiel.load_game(f"toy_signs_right(fault={NUMBERS[fault]})")
    with pytest.raises(CheckError):
        check_game(game)
    own = game.rules_game
    assert own.parameters.tolist() == [NUMBERS[fault], 7]
    assert own.table.tolist() == [0.25, 0.5, 0.25]
    assert own.first_state.tolist() == [CHANCE, 0, 0, 0, 0, 0]
