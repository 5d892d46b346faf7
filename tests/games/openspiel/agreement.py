"""Compares compiled rules with OpenSpiel's game, state by state."""

import numpy as np
import pyspiel

from mccfr_plus.checks.rules import _Player
from mccfr_plus.games import CHANCE, MOVER, TERMINAL
from mccfr_plus.games.openspiel import rules_of, why_no_rules
from mccfr_plus.games.rules import NOW
from mccfr_plus.tree import game_tree, rules_tree
from mccfr_plus.tree.game import load_game
from mccfr_plus.tree.game_tree import build_tree
from mccfr_plus.tree.recorder import Budget, record


class Agreement:
    """One game of OpenSpiel and its rules. The methods raise AssertionError where the two differ."""

    def __init__(self, name, perfect_recall=True):
        self.game = load_game(name)
        self.rules = rules_of(self.game)
        assert self.rules is not None, why_no_rules(self.game)
        self._perfect_recall = perfect_recall
        sizes, game = self.rules.sizes, self.game
        assert sizes.num_players == game.num_players()
        assert sizes.num_distinct_actions == game.num_distinct_actions()
        assert sizes.max_chance_outcomes == game.max_chance_outcomes()
        assert sizes.utility_sum == game.utility_sum()
        self._limits = np.repeat([each.size for each in sizes.fields], [each.count for each in sizes.fields])
        self._kept = np.repeat([each.when != NOW for each in sizes.fields], [each.count for each in sizes.fields])
        self._actions = np.zeros(self.rules.most_actions, np.int64)
        self._probabilities = np.zeros(max(sizes.max_chance_outcomes, 1))
        self._pairs = {}  # what belongs together, both ways
        self._largest = np.zeros(3, np.int64)
        self.num_states = 0

    def play(self, rng):
        """Compares all states of one random play."""
        state, words, last = self.game.new_initial_state(), self.rules.first_state.copy(), [None] * self._num_players
        while True:
            choices = self._compare(state, words, last)
            if not choices:
                return
            self._advance(state, words, last, choices[rng.integers(len(choices))])

    def traverse(self):
        """Compares all states of the game."""
        pending = [(self.game.new_initial_state(), self.rules.first_state.copy(), [None] * self._num_players)]
        while pending:
            state, words, last = pending.pop()
            for action in self._compare(state, words, last):
                child = state.clone(), words.copy(), list(last)
                self._advance(*child, action)
                pending.append(child)

    def check_contract(self, plays, seed):
        """Plays with guards around all arrays, looking at each state as all players."""
        player = _Player(self.rules, np.random.default_rng(seed))
        for _ in range(plays):
            player.play()

    def trees(self, max_nodes=1_000_000):
        """Returns the tree that is built from the rules and the one that is built through pyspiel."""
        budget = Budget(self.game, max_nodes, 1 << 34)
        own = game_tree._tree_of(self.game, *rules_tree.build(self.rules, budget, progress=False))
        return own, build_tree(self.game, record(self.game, budget, progress=False))

    @property
    def _num_players(self):
        return self.rules.sizes.num_players

    def _run(self, name, words, *arguments):
        before = words.copy()
        result = getattr(self.rules.rules, name)(self.rules.parameters, self.rules.table, words, *arguments)
        assert name == "apply" or (words == before).all(), name
        return result

    def _advance(self, state, words, last, action):
        player = state.current_player()
        if player >= 0:
            last[player] = state.information_state_string(), action
        state.apply_action(action)
        self._run("apply", words, action)

    def _compare(self, state, words, last):
        """Compares a state; returns the actions or outcomes there."""
        self.num_states += 1
        mover = state.current_player()
        where = state.history()
        assert words[MOVER] == mover, where
        if mover == TERMINAL:
            payoffs = np.zeros(self._num_players)
            self._run("returns", words, payoffs)
            assert payoffs.tolist() == state.returns(), where
            return []
        if mover == CHANCE:
            count = self._run("outcomes", words, self._actions, self._probabilities)
            found = zip(self._actions[:count].tolist(), self._probabilities[:count].tolist(), strict=True)
            assert list(found) == state.chance_outcomes(), where
            return self._actions[:count].tolist()
        legal = self._actions[: self._run("legal", words, self._actions)].tolist()
        assert legal == state.legal_actions(), where
        text = state.information_state_string()
        view = np.zeros(len(self._limits), np.int64)
        self._run("look", words, mover, view)
        assert ((view >= 0) & (view < self._limits)).all(), where
        assert self.rules.view_text(mover, view.tolist()) == text, where
        assert self.rules.view_text(mover, np.where(self._kept, view, 0).tolist()) == text, where
        self._pair("view", (mover, text), tuple(view[self._kept].tolist()))
        self._check_codes(words, mover, text, last[mover], where)
        return legal

    def _check_codes(self, words, mover, text, last, where):
        rules, sizes = self.rules.rules, self.rules.sizes
        assert (rules.observe is None) == (sizes.max_observations == 0)
        assert rules.infoset_number is not None or sizes.max_infosets == 0
        if rules.observe is not None:
            code = self._run("observe", words, mover, -1 if last is None else last[1])
            assert 0 <= code < (sizes.max_first_observations if last is None else sizes.max_observations), where
            kept = self._largest[int(last is not None)]
            self._largest[int(last is not None)] = max(kept, code)
            self._pair("code", (mover, text), (last, code))
        if sizes.max_infosets:
            number = self._run("infoset_number", words, mover)
            assert 0 <= number < sizes.max_infosets, where
            self._largest[2] = max(self._largest[2], number)
            self._pair("number", (mover, text), number)

    def _pair(self, what, infoset, other):
        """Requires that an infoset and something else determine each other."""
        player, text = infoset
        if what != "code" or self._perfect_recall:
            assert self._pairs.setdefault((what, "of", player, text), other) == other, (what, infoset)
        assert self._pairs.setdefault((what, "to", player, other), text) == text, (what, infoset, other)


def assert_same_trees(own, other):
    """Requires that two trees are bitwise identical, but for the sign of payoffs that are 0."""
    for field, array in own.arrays._asdict().items():
        theirs = getattr(other.arrays, field)
        assert (array.dtype, array.shape) == (theirs.dtype, theirs.shape), field
        if field == "payoffs":
            array, theirs = array + 0.0, theirs + 0.0
        assert array.tobytes() == theirs.tobytes(), field
    assert own.shape == other.shape
    assert list(own.info_states) == list(other.info_states)
    assert own.slot_action.tolist() == other.slot_action.tolist()
    assert own.outcome_action.tolist() == other.outcome_action.tolist()


def no_rules(name):
    """Returns why a game has no rules, having made sure that it has none."""
    game = pyspiel.load_game(name)
    assert rules_of(game) is None
    return why_no_rules(game)
