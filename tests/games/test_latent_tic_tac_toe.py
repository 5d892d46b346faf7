"""Latent Tic-Tac-Toe: hand-computed games, OpenSpiel's `latent_ttt`, counts."""

import random

import pyspiel
import pytest

VARIANTS = [(win, full) for win in ("placement", "disclosure") for full in ("true_board", "disclosed_board")]


def play(actions, win="placement", full="true_board"):
    state = pyspiel.load_game("latent_tic_tac_toe", {"win": win, "full": full}).new_initial_state()
    for action in actions:
        assert not state.is_terminal()
        assert action in state.legal_actions()
        state.apply_action(action)
    return state


LINE = [0, 3, 1, 4, 2]  # X has the first row, O two of the second
OTHER_LINE = [0, 3, 1, 4, 8, 5]
DRAW = [0, 1, 2, 4, 3, 5, 7, 6, 8]
LAST_MARK_WINS = [0, 3, 1, 4, 5, 7, 6, 8, 2]


@pytest.mark.parametrize(("win", "full"), VARIANTS)
def test_ends(win, full):
    def payoff(*actions):
        state = play(actions, win, full)
        assert not state.is_terminal() or sum(state.returns()) == 0
        return state.returns()[0] if state.is_terminal() else None

    if win == "placement":
        assert (payoff(*LINE), payoff(*OTHER_LINE)) == (1.0, -1.0)
    else:
        answers = play(LINE, win, full).legal_actions()
        assert answers == [2, 5, 6, 7, 8]  # 5: O's line would be disclosed too late; 2: a lost choice
        assert [payoff(*LINE, answer) for answer in answers] == [1.0] * 5
        assert payoff(*OTHER_LINE, 5) == -1.0
    if full == "true_board":
        assert payoff(*DRAW) == 0.0
    else:
        assert play(DRAW, win, full).legal_actions() == [8]  # O does not know
        assert payoff(*DRAW, 8) == 0.0
    if (win, full) == ("disclosure", "disclosed_board"):
        assert (payoff(*LAST_MARK_WINS), payoff(*LAST_MARK_WINS, 2)) == (None, 1.0)
    else:
        assert payoff(*LAST_MARK_WINS) == 1.0


class SideBySide:
    """Two games side by side; collects how the texts of information states correspond."""

    def __init__(self):
        self.start = [pyspiel.load_game(name).new_initial_state() for name in ("latent_tic_tac_toe", "latent_ttt")]
        self.theirs_of, self.ours_of = {}, {}

    def compare(self, a, b):
        assert a.is_terminal() == b.is_terminal()
        assert a.current_player() == b.current_player()
        assert a.legal_actions() == b.legal_actions()
        assert str(a).lower() == str(b)
        for player in range(2):
            ours, theirs = a.information_state_string(player), (player, b.information_state_string(player))
            assert self.theirs_of.setdefault(ours, theirs) == theirs
            assert self.ours_of.setdefault(theirs, ours) == ours
            board = b.observation_string(player).replace("\n", "")
            assert a.observation_string(player) == f"player={player} board={board}"
        if a.is_terminal():
            assert a.returns() == b.returns()
        else:
            for action in a.legal_actions():
                assert a.action_to_string(action) == b.action_to_string(action)


@pytest.mark.parametrize("choices", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_agrees_with_openspiel_in_all_histories_of_up_to(choices):
    both = SideBySide()
    level = [both.start]
    for _ in range(choices + 1):
        for a, b in level:
            both.compare(a, b)
        level = [(a.child(action), b.child(action)) for a, b in level for action in a.legal_actions()]
    assert len(both.theirs_of) > 9 ** (choices - 1)


@pytest.mark.parametrize("playthroughs", [1_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_agrees_with_openspiel_in_random_playthroughs(playthroughs):
    both, chance = SideBySide(), random.Random(5)
    longest = 0
    for _ in range(playthroughs):
        a, b = (state.clone() for state in both.start)
        both.compare(a, b)
        while not a.is_terminal():
            # Cells that are taken are chosen more often than by uniform play, where long games are rare.
            legal = a.legal_actions()
            last = a.history()[-1:]
            action = last[0] if last and last[0] in legal and chance.random() < 0.3 else chance.choice(legal)
            a.apply_action(action)
            b.apply_action(action)
            both.compare(a, b)
        longest = max(longest, len(a.history()))
    assert longest >= 13
