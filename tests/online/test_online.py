"""The online learner: unbiased whatever is drawn, exact averages, and regret that falls.

Learners that are broken on purpose go through the same checks and fail them.
"""

import naive
import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import exploitability

import mccfr_plus
from mccfr_plus import GameError, OnlineOutcomeSampling, TreePolicy, play_games

KUHN = pyspiel.load_game("kuhn_poker")
EXPLORATIONS = ({"epsilon": 0.3}, {"horizon": 20})  # the horizon's epsilon is 0.37


class IgnoresWeights(OnlineOutcomeSampling):
    """Broken: takes the payoff for the gradient."""

    def _weighed(self, payoff):
        return payoff


class FlipsSign(OnlineOutcomeSampling):
    """Broken: learns to lose."""

    def _weighed(self, payoff):
        return -super()._weighed(payoff)


class Idle(OnlineOutcomeSampling):
    """Learns nothing: stays uniform."""

    def _weighed(self, payoff):
        return 0.0


BROKEN = (IgnoresWeights, FlipsSign, Idle)


class Bot(pyspiel.Bot):
    """Begins games without a look at them."""

    def restart_at(self, state):
        pass


class Chooses(Bot):
    def __init__(self, action):
        super().__init__()
        self._action = action

    def step(self, state):
        return self._action


@pytest.mark.parametrize("game", ["kuhn_poker", "matrix_rps"])
def test_play_games_refuses_illegal_actions(game):
    for player in (0, 1):
        bots = [Chooses(7 if each == player else 0) for each in (0, 1)]
        with pytest.raises(GameError, match=rf"the bot of player {player}, a Chooses, chose action 7 at history"):
            play_games(game, bots, 1, seed=1)


class Guarded:
    def __init__(self, state, player):
        self.information_state_string = lambda own: state.information_state_string({player: own}[own])
        self.legal_actions = lambda own: state.legal_actions({player: own}[own])


class Blindfolded(OnlineOutcomeSampling):
    """Gets no more of a state than a player sees."""

    def restart_at(self, state):
        super().restart_at(None)

    def step(self, state):
        state = Guarded(state, self._player)
        policy = self.get_policy(state)
        assert sum(p for _, p in policy) == pytest.approx(1)
        action = super().step(state)
        assert action in dict(policy)
        return action


@pytest.mark.parametrize("name", ["kuhn_poker", "goofspiel(num_cards=3,imp_info=True)", "kuhn_poker(players=3)"])
def test_looks_at_nothing_that_a_player_does_not_see(name):
    game = pyspiel.load_game(name)
    results = [
        taught(cls, game, 1, {"horizon": 300}, 300).average_policy().rows
        for cls in (OnlineOutcomeSampling, Blindfolded)
    ]
    assert results[0] == results[1]


# --- the estimate ---


class Dictated:
    def random(self):
        return self.next


def taught(cls, game, player, arguments, num_games=20, seed=11):
    """Returns a learner after games against uniform play, always in the same place."""
    bot = cls(player, seed=seed, **arguments)
    bots = [pyspiel.make_uniform_random_bot(p, seed + 1 + p) for p in range(game.num_players())]
    bots[player] = bot
    play_games(game, bots, num_games, seed=seed + 2)
    return bot


def rows(bot, infosets):
    """Returns what a bot plays next as a strategy dictionary, uniform where it has not been."""
    known = bot.current_policy().rows
    return {
        (player, text): list(known[text].values()) if player == bot._player and text in known else [1 / count] * count
        for (player, text), count in infosets.items()
    }


def mean_of_all_outcomes(cls, game, root, player, arguments, others):
    """Returns the expected change of regrets in one game, from a replay of each history, and the sum of chances."""
    mean, mass = {}, 0.0

    def visit(state, node, history):
        nonlocal mass
        if node.player == naive.TERMINAL:
            probability = replay(history)
            mass += probability
            return
        for index, child in enumerate(node.children):
            visit(state.child(node.actions[index]), child, [*history, (node, index)])

    def replay(history):
        bot = taught(cls, game, player, arguments)
        before = {key: list(infoset.regrets) for key, infoset in bot._infosets.items()}
        bot._rng = Dictated()
        state, probability = game.new_initial_state(), 1.0
        bot.restart_at(state)
        for node, index in history:
            if node.player == player:
                chances = [p for _, p in bot.get_policy(state)]
                bot._rng.next = sum(chances[:index]) + chances[index] / 2
                assert bot.step(state) == node.actions[index]
                probability *= chances[index]
            else:
                row = node.probabilities if node.player == naive.CHANCE else others[node.key]
                probability *= row[index]
            state.apply_action(node.actions[index])
        bot.end_game(state.returns()[player])
        for key, infoset in bot._infosets.items():
            change = np.array(infoset.regrets) - before.get(key, 0.0)
            mean[key] = mean.get(key, 0.0) + probability * change
        return probability

    visit(game.new_initial_state(), root, [])
    return mean, mass


@pytest.mark.parametrize("name", ["kuhn_poker", "random:2:1", "random:3:2"])
@pytest.mark.parametrize("arguments", EXPLORATIONS, ids=str)
@pytest.mark.parametrize("player", [0, 1])
def test_mean_over_all_outcomes_is_the_exact_regret(name, player, arguments):
    game, root = naive.game(name), naive.root_of(name)
    tree = naive.tree_of(name)
    others = naive.to_dict(tree, naive.random_strategy(tree, seed=5))

    def differs(cls):
        mean, mass = mean_of_all_outcomes(cls, game, root, player, arguments, others)
        assert mass == pytest.approx(1, abs=1e-12)  # get_policy says what step draws from
        own = rows(taught(cls, game, player, arguments), naive.infosets_of(root))
        strategy = {**others, **{k: row for k, row in own.items() if k[0] == player}}
        full = naive.sample_gradient(root, player, strategy, "full", None)
        exact = naive.regrets_of(full, strategy, player, root)
        return max((np.abs(mean.get(key[1], 0.0) - row).max() for key, row in exact.items()), default=0.0)

    assert differs(OnlineOutcomeSampling) < 1e-12
    if name == "kuhn_poker":
        for cls in BROKEN:
            assert differs(cls) > 1e-3, cls


# --- the averages ---


@pytest.mark.parametrize("arguments", EXPLORATIONS, ids=str)
@pytest.mark.parametrize(("name", "exploring"), [("kuhn_poker", True), ("random:3:2", False), ("leduc_poker", True)])
def test_averages_are_those_of_all_games(name, exploring, arguments):
    root, tree = naive.root_of(name), naive.tree_of(name)
    infosets = naive.infosets_of(root)
    bots = [pyspiel.make_uniform_random_bot(p, 4) for p in range(tree.num_players)]
    bot = bots[1] = OnlineOutcomeSampling(1, seed=2, **arguments)
    played, rng = [], np.random.default_rng(6)
    for _ in range(40):
        played.append(naive.to_array(tree, rows(bot, infosets)))
        play_games(tree.game, bots, 1, seed=rng)
    share, uniform = bot.epsilon * exploring, np.tile(tree.uniform_strategy(), (len(played), 1))
    if bot.horizon is None:  # each action may be an exploring one, else a whole game
        expected = plans(tree, share * uniform + (1 - share) * np.array(played)).sum(axis=0)
    else:
        expected = (share * plans(tree, uniform) + (1 - share) * plans(tree, np.array(played))).sum(axis=0)
    for _ in range(2):  # asking changes nothing
        found = bot.average_policy(exploring=exploring).rows
        for infoset in range(tree.arrays.infoset_range[1], tree.arrays.infoset_range[2]):
            row, count = expected[tree.slots(infoset)], len(tree.legal_actions(infoset))
            if row.sum() > 1e-9:  # elsewhere any row is an average
                known = found.get(tree.info_states[infoset], dict.fromkeys(range(count), 1 / count))
                np.testing.assert_allclose(list(known.values()), row / row.sum(), atol=1e-10)


def plans(tree, strategies):
    """Returns own reach of every sequence under many strategies, ``[games, num_slots + num_players]``."""
    reach = np.ones((len(strategies), tree.num_slots + tree.num_players))
    for infoset in range(tree.num_infosets):
        slots = tree.slots(infoset)
        above = tree.arrays.infosets[infoset]["parent_slot"]
        reach[:, slots] = reach[:, above, None] * strategies[:, slots]
    return reach


# --- regret against fixed opponents ---


@pytest.mark.parametrize("player", [0, 1])
def test_regret_falls_below_that_of_idleness(player):
    """Per game against uniform play, of the strategies that were played, exploration included."""
    tree, horizon = naive.tree_of("kuhn_poker"), 2000

    def regret_of(policy):
        both = [TreePolicy(tree, tree.uniform_strategy())] * 2
        both[player] = policy
        result = mccfr_plus.evaluate(tree, both)
        return (result.best_response_values - result.values)[player]

    def regrets(cls, seeds):
        bots = [taught(cls, KUHN, player, {"horizon": horizon}, horizon, seed) for seed in range(seeds)]
        return [regret_of(bot.average_policy(exploring=True)) for bot in bots]

    idle, found = regret_of(TreePolicy(tree, tree.uniform_strategy())), regrets(OnlineOutcomeSampling, 4)
    # What uniform play costs is lost in a share epsilon of the games, whatever is learned.
    assert min(found) >= horizon ** (-1 / 3) * idle - 1e-9
    assert max(found) < idle / 2
    assert min(min(regrets(cls, 2)) for cls in (FlipsSign, Idle)) > idle - 1e-9


# --- as a bot of OpenSpiel ---


def test_a_game_without_an_end_is_discarded():
    bot, state = OnlineOutcomeSampling(0, epsilon=0.2, seed=1), KUHN.new_initial_state().child(2).child(1)
    bot.restart_at(state)
    bot.step(state)
    bot.restart()
    bot.end_game(1.0)  # of a game without own moves
    assert bot.num_games == 1
    assert dict(bot.current_policy().rows["2"]) == {0: 0.5, 1: 0.5}


def test_step_twice_for_one_move_is_refused():
    bot, state = OnlineOutcomeSampling(0, epsilon=0.2), KUHN.new_initial_state()
    assert bot.step(state) == pyspiel.INVALID_ACTION  # chance's move
    assert bot.get_policy(state) == []
    state.apply_action(0)
    state.apply_action(1)
    bot.step(state)
    with pytest.raises(GameError, match="twice"):
        bot.step(state)
    state.apply_action(0)
    assert bot.step(state) == pyspiel.INVALID_ACTION  # the opponent's move


def test_imperfect_recall_is_refused():
    game = pyspiel.load_efg_game("""EFG 2 R "forgets" { "A" "B" }
p "" 1 1 "first" { "l" "r" } 0
 p "" 1 2 "second" { "l" "r" } 0
  t "" 1 "" { 1 -1 }
  t "" 2 "" { 2 -2 }
 p "" 1 2 "second" { "l" "r" } 0
  t "" 3 "" { 3 -3 }
  t "" 4 "" { 4 -4 }
""")
    bots = [OnlineOutcomeSampling(0, epsilon=1.0, seed=1), pyspiel.make_uniform_random_bot(1, 1)]
    with pytest.raises(GameError, match="imperfect recall"):
        play_games(game, bots, 100, seed=1)


@pytest.mark.parametrize("name", ["kuhn_poker", "goofspiel(num_cards=3,imp_info=True)"])
def test_policies_are_openspiels(name):
    game = pyspiel.load_game(name)
    bots = [OnlineOutcomeSampling(p, horizon=200, seed=p) for p in range(2)]
    play_games(game, bots, 200, seed=3)
    turn_based, tree = mccfr_plus.load_game(game), mccfr_plus.compile_game(game)
    for policy in (bots[0].average_policy(turn_based), bots[0].current_policy(turn_based)):
        expected = mccfr_plus.nash_conv(tree, policy)
        assert exploitability.nash_conv(turn_based, policy) == pytest.approx(expected, abs=1e-10)
        before = policy.rows.copy()
        bots[0].restart()
        play_games(game, bots, 20, seed=4)
        assert policy.rows == before
    state = turn_based.new_initial_state()
    while state.current_player() != 1:
        state.apply_action(state.legal_actions()[0])
    actions = state.legal_actions()
    assert policy.action_probabilities(state) == dict.fromkeys(actions, 1 / len(actions))  # not the bot's own


# --- the driver ---


def test_result_of_a_match():
    bots = [pyspiel.make_uniform_random_bot(p, p) for p in range(2)]
    result = play_games("kuhn_poker", bots, 1000, seed=1, progress=False)
    assert result.payoffs.shape == (1000, 2)
    assert set(np.unique(result.payoffs)) == {-2.0, -1.0, 1.0, 2.0}
    np.testing.assert_allclose(result.payoffs.sum(axis=1), 0)
    np.testing.assert_allclose(result.mean, result.payoffs.mean(axis=0))
    np.testing.assert_allclose(result.standard_error, result.payoffs.std(axis=0, ddof=1) / 1000**0.5)
    assert abs(result.mean[0] - 0.125) < 5 * result.standard_error[0]  # what uniform play is worth
    assert np.isnan(play_games(KUHN, bots, 1).standard_error).all()


class Listener(pyspiel.Bot):
    """Plays first actions and writes down what it is told."""

    def __init__(self, player):
        super().__init__()
        self.player, self.told = player, []

    def restart_at(self, state):
        self.told.append("restart")

    def inform_action(self, state, player, action):
        self.told.append((player, action))

    def inform_actions(self, state, actions):
        self.told.append(actions)

    def step(self, state):
        return state.legal_actions(self.player)[0]

    def end_game(self, payoff):
        self.told.append(payoff)


def test_bots_are_told_what_happened():
    bots = [Listener(0), Listener(1)]
    result = play_games(KUHN, bots, 2, seed=1)
    for player, bot in enumerate(bots):
        half = len(bot.told) // 2
        for number, told in enumerate((bot.told[:half], bot.told[half:])):
            assert told[0] == "restart"
            assert [p for p, _ in told[1:-1]] == [pyspiel.PlayerId.CHANCE] * 2 + [1 - player]
            assert told[-1] == result.payoffs[number, player]
    bots = [Listener(0), Listener(1)]
    play_games("matrix_rps", bots, 1)
    assert bots[0].told == ["restart", [0, 0], 0.0]
