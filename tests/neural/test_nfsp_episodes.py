"""Episodes: records agree with OpenSpiel's states, frequencies with enumeration."""

import collections

import numpy as np
import pytest

import mccfr_plus
from mccfr_plus.estimators.draws import draw_action, draw_coin, draw_outcome, draw_uniform
from mccfr_plus.kernels.random_numbers import new_state
from mccfr_plus.neural.episodes import TERMINAL_ROW, Episodes, Tables
from mccfr_plus.tree.order import representative_states

FAR = 1 << 60
GAMES = ["kuhn_poker(players=3)", "leduc_poker", "goofspiel(num_cards=3,imp_info=True,points_order=descending)"]


def tables_of(tree, seed):
    """Returns a random average policy and a random best response."""
    rng = np.random.default_rng(seed)
    average = rng.exponential(size=tree.num_slots)
    counts = tree.arrays.infosets["num_actions"]
    average /= np.repeat(np.add.reduceat(average, tree.arrays.infosets["first_slot"]), counts)
    return Tables(average, rng.integers(0, counts).astype(np.int32))


def play_all(episodes, tables, epsilon, wanted, due=None):
    """Plays episodes; returns each player's transitions and decisions."""
    players = len(epsilon)
    due = np.full(players, FAR) if due is None else due
    transitions, decisions = [[[] for _ in range(players)] for _ in range(2)]
    while wanted:
        done = episodes.play(tables, np.asarray(epsilon, np.float64), due, wanted)
        assert done >= 1
        wanted -= done
        for player in range(players):
            transitions[player].append(episodes.transitions(player).copy())
            decisions[player].append(episodes.decisions(player).copy())
    return [np.concatenate(each) for each in transitions], [np.concatenate(each) for each in decisions]


class Slow:
    """Reference implementation on OpenSpiel's states with the same draws (Heinrich, Silver 2016, algorithm 1)."""

    def __init__(self, tree, tables, anticipatory, epsilon, rng):
        self.tree, self.tables, self.anticipatory, self.epsilon, self.rng = tree, tables, anticipatory, epsilon, rng
        self.transitions = [[] for _ in epsilon]
        self.decisions = [[] for _ in epsilon]
        self.steps, self.nodes = [0 for _ in epsilon], 0

    def episode(self):
        tree, players = self.tree, range(len(self.epsilon))
        is_best = [draw_coin(self.anticipatory, self.rng) for _ in players]
        last = [None for _ in players]
        state, node = tree.game.new_initial_state(), tree.arrays.nodes[0]
        while not state.is_terminal():
            self.nodes += 1
            if state.is_chance_node():  # only the chance tables come from the tree
                outcomes = state.chance_outcomes()
                index = draw_outcome(tree.arrays.chance, int(node["payload"]), len(outcomes), self.rng)
                node = tree.arrays.nodes[int(node["first_child"]) + index]
                state.apply_action(outcomes[index][0])
                continue
            player = state.current_player()
            infoset = tree.infoset(state.information_state_string(), player)
            row, legal = infoset - int(tree.arrays.infoset_range[player]), state.legal_actions()
            if not is_best[player]:
                index = draw_action(self.tables.average, tree.slots(infoset).start, len(legal), self.rng)
            elif draw_coin(self.epsilon[player], self.rng):
                index = draw_uniform(len(legal), self.rng)
            else:
                index = self.tables.best[infoset]
            if last[player] is not None:
                self.transitions[player].append((*last[player], row, 0.0))
            last[player] = (row, legal[index])
            if is_best[player]:
                self.decisions[player].append(last[player])
            self.steps[player] += 1
            node = tree.arrays.nodes[int(node["first_child"]) + index]
            state.apply_action(legal[index])
        self.nodes += 1
        for player in players:
            if last[player] is not None:
                self.transitions[player].append((*last[player], TERMINAL_ROW, state.returns()[player]))
            self.steps[player] += 1


@pytest.mark.parametrize("game", GAMES)
def test_records_equal_those_on_openspiel_states(game):
    tree = mccfr_plus.compile_game(game)
    tables, epsilon = tables_of(tree, 1), [0.3, 0.1, 0.5][: tree.num_players]
    episodes, slow = Episodes(tree, 0.4, new_state(3)), Slow(tree, tables, 0.4, epsilon, new_state(3))
    transitions, decisions = play_all(episodes, tables, epsilon, 300)
    for _ in range(300):
        slow.episode()
    for player in range(tree.num_players):
        assert transitions[player].tolist() == slow.transitions[player]
        assert decisions[player].tolist() == slow.decisions[player]
        assert 100 < len(decisions[player]) < 0.6 * len(transitions[player])
    assert episodes.steps.tolist() == slow.steps
    assert episodes.nodes_touched == slow.nodes


def last_moves(tree, tables, anticipatory, epsilon, player):
    """Returns the probability of each (row, action, payoff) of a player's last decision in an episode, enumerated."""
    result = collections.Counter()
    for modes in np.ndindex(*(2,) * tree.num_players):
        share = np.prod([anticipatory if is_best else 1 - anticipatory for is_best in modes])
        stack = [(tree.game.new_initial_state(), share, None)]
        while stack:
            state, weight, last = stack.pop()
            if state.is_terminal():
                result[last and (*last, state.returns()[player])] += weight
                continue
            if state.is_chance_node():
                stack += [(state.child(action), weight * chance, last) for action, chance in state.chance_outcomes()]
                continue
            mover, legal = state.current_player(), state.legal_actions()
            infoset = tree.infoset(state.information_state_string(), mover)
            probabilities = tables.average[tree.slots(infoset)]
            if modes[mover]:
                probabilities = np.full(len(legal), epsilon[mover] / len(legal))
                probabilities[tables.best[infoset]] += 1 - epsilon[mover]
            row = infoset - int(tree.arrays.infoset_range[mover])
            for action, probability in zip(legal, probabilities, strict=True):
                stack.append((state.child(action), weight * probability, (row, action) if mover == player else last))
    return result


@pytest.mark.parametrize("game", ["kuhn_poker", "kuhn_poker(players=3)"])
def test_frequencies_of_episodes(game):
    """Chi-squared of a player's last decision and payoff, once per episode; fails by chance once in 1e6."""
    tree = mccfr_plus.compile_game(game)
    tables, epsilon, count = tables_of(tree, 2), [0.3, 0.2, 0.4][: tree.num_players], 100_000
    transitions, _ = play_all(Episodes(tree, 0.35, new_state(1)), tables, epsilon, count)
    for player in range(tree.num_players):
        exact = last_moves(tree, tables, 0.35, epsilon, player)
        assert sum(exact.values()) == pytest.approx(1)
        ends = transitions[player][transitions[player]["next_row"] == TERMINAL_ROW]
        seen = collections.Counter(zip(*(ends[name].tolist() for name in ("row", "action", "reward")), strict=True))
        if count > len(ends):
            seen[None] = count - len(ends)
        assert set(seen) <= {key for key, probability in exact.items() if probability > 0}
        kinds = [key for key, probability in exact.items() if count * probability >= 20]
        expected = np.array([count * exact[key] for key in kinds])
        rest = np.array([seen[key] for key in kinds]) - expected
        freedom = len(kinds)  # one more than it is where nothing is left out: the limit is only a little wider
        assert (rest**2 / expected).sum() < freedom * (1 - 2 / (9 * freedom) + 4.753 * np.sqrt(2 / (9 * freedom))) ** 3
        assert freedom > 10


def test_frequency_of_best_responses():
    """Player 0 begins every episode of Kuhn poker, so that first decisions count those of its best response."""
    tree = mccfr_plus.compile_game("kuhn_poker")
    count, share = 100_000, 0.1
    _, decisions = play_all(Episodes(tree, share, new_state(5)), tables_of(tree, 1), [0.0, 0.0], count)
    begins = tree.arrays.infosets["parent_slot"][: tree.arrays.infoset_range[1]] >= tree.num_slots
    often = np.count_nonzero(begins[decisions[0]["row"]])
    assert abs(often - count * share) < 4.9 * np.sqrt(count * share * (1 - share))  # two-sided, once in 1e6
    for anticipatory in (0.0, 1.0):
        transitions, decisions = play_all(Episodes(tree, anticipatory, new_state(5)), tables_of(tree, 1), [0.5] * 2, 99)
        assert [len(each) for each in decisions] == [anticipatory * len(each) for each in transitions]


def test_tensors_of_rows_equal_those_of_the_states():
    """Rows are positions within a player's infosets, as in `Features`."""
    from mccfr_plus.neural.features import features_of

    tree = mccfr_plus.compile_game("leduc_poker")
    features, states = features_of(tree), representative_states(tree)
    transitions, _ = play_all(Episodes(tree, 0.5, new_state(1)), tables_of(tree, 1), [0.5, 0.5], 50)
    for player in range(2):
        for row, action, next_row, _ in transitions[player].tolist():
            state = states[int(tree.arrays.infoset_range[player]) + row]
            assert state.information_state_tensor(player) == features[player].tensors[row].tolist()
            assert action in state.legal_actions()
            if next_row != TERMINAL_ROW:
                later = states[int(tree.arrays.infoset_range[player]) + next_row]
                assert len(later.history()) > len(state.history())


def test_full_buffer_splits_calls_only():
    tree = mccfr_plus.compile_game("leduc_poker")
    tables = tables_of(tree, 1)
    whole, split = (Episodes(tree, 0.5, new_state(5)) for _ in range(2))
    buffer = split._buffer
    room = tree.shape.max_depth + 3
    split._buffer = buffer._replace(transitions=buffer.transitions[:, :room], decisions=buffer.decisions[:, :room])
    for left, right in zip(*(play_all(each, tables, [0.1, 0.1], 200) for each in (whole, split)), strict=True):
        for ours, theirs in zip(left, right, strict=True):
            assert ours.tolist() == theirs.tolist()
    assert whole.nodes_touched == split.nodes_touched > 200


def test_stops_after_the_episode_in_which_steps_fall_due():
    tree = mccfr_plus.compile_game("kuhn_poker")
    tables = tables_of(tree, 1)
    episodes = Episodes(tree, 0.5, new_state(5))
    assert episodes.play(tables, np.zeros(2), np.array([FAR, 30]), 1000) < 1000
    assert 30 <= episodes.steps[1] <= 32  # an episode has at most two decisions of a player, and an end
    assert episodes.play(tables, np.zeros(2), np.array([FAR, FAR]), 10) == 10
    assert episodes.play(tables, np.zeros(2), np.array([FAR, FAR]), 0) == 0
    assert len(episodes.transitions(0)) == 0
