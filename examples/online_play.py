"""Learns a game by playing it, against a uniform player, an approximate equilibrium, or another learner.

python examples/online_play.py --game=leduc_poker --opponent=learner --games=100000

At logarithmically spaced numbers of games, the program prints the average payoff and the regret, that is, the
additional payoff per game of the best fixed strategy in hindsight over the strategies that were played, including
exploration.
"""

import numpy as np
import pyspiel
from absl import app, flags

import mccfr_plus

_GAME = flags.DEFINE_string(
    "game", "kuhn_poker", "OpenSpiel's name of a two-player game that is small enough to compile."
)
_OPPONENT = flags.DEFINE_enum("opponent", "uniform", ["uniform", "equilibrium", "learner"], "Who the other player is.")
_PLAYER = flags.DEFINE_integer("player", 0, "Which player learns.", lower_bound=0, upper_bound=1)
_GAMES = flags.DEFINE_integer("games", 100_000, "How many games to play.", lower_bound=1)
_EPSILON = flags.DEFINE_float(
    "epsilon", None, "Exploration at each node, instead of in whole games.", lower_bound=1e-6, upper_bound=1.0
)
_SEED = flags.DEFINE_integer("seed", 1, "Seed of everything.", lower_bound=0)


def learner(player, seed):
    if _EPSILON.value is not None:
        return mccfr_plus.OnlineOutcomeSampling(player, epsilon=_EPSILON.value, seed=seed)
    return mccfr_plus.OnlineOutcomeSampling(player, horizon=_GAMES.value, seed=seed)


def main(_):
    tree = mccfr_plus.compile_game(_GAME.value)
    if tree.num_players != 2:
        raise app.UsageError(f"--game={_GAME.value} has {tree.num_players} players: choose a game with two.")
    game, me, other = tree.game, _PLAYER.value, 1 - _PLAYER.value
    policy = mccfr_plus.TreePolicy(tree, tree.uniform_strategy())
    if _OPPONENT.value == "equilibrium":
        policy = mccfr_plus.Solver(tree, estimator="full", minimizer="rm+").run(1000).average_policy()

    bots = [learner(player, 2 * _SEED.value + player) for player in range(2)]
    if _OPPONENT.value != "learner":
        bots[other] = pyspiel.make_policy_bot(game, other, _SEED.value, policy.to_pyspiel())
    rng = np.random.default_rng(_SEED.value)

    print(f"player {me} learns {game} against: {_OPPONENT.value}; epsilon {bots[me].epsilon:.4f}")
    print(f"{'games':>9} {'payoff':>9} {'+-':>7} {'best fixed':>11} {'regret':>8}")
    won = np.empty(0)
    for games in np.unique(np.geomspace(min(100, _GAMES.value), _GAMES.value, 10).round().astype(int)).tolist():
        won = np.append(won, mccfr_plus.play_games(game, bots, games - len(won), seed=rng).payoffs[:, me])
        both = [policy, policy]
        if _OPPONENT.value == "learner":
            both[other] = bots[other].average_policy(exploring=True)
        both[me] = bots[me].average_policy(exploring=True)
        result = mccfr_plus.evaluate(tree, both)
        best = result.best_response_values[me]
        # Against a fixed opponent, the average strategy's value is the expected payoff. Against a learner it is not, as
        # both strategies change: the payoffs themselves are unbiased, with more variance.
        expected = won.mean() if _OPPONENT.value == "learner" else result.values[me]
        error = won.std() / np.sqrt(games)
        print(f"{games:9d} {won.mean():9.4f} {error:7.4f} {best:11.4f} {best - expected:8.4f}", flush=True)


if __name__ == "__main__":
    app.run(main)
