"""What a step of a state costs from Python: games with compiled rules beside OpenSpiel's, in Python and in C++.

A play goes from the start to the end of the game by random moves, asking for the mover, the legal actions or the
outcomes of chance, and in the end the payoffs. Microseconds per move, smallest of several rounds in turn.

    python benchmarks/python_states.py
"""

import random
import time

import open_spiel.python.games  # noqa: F401 - registers OpenSpiel's Python games
import pyspiel
from absl import app, flags

import mccfr_plus  # noqa: F401 - registers ours

FLAGS = flags.FLAGS

flags.DEFINE_multi_string(
    "game",
    [
        "python_kuhn_poker",
        "one_card_poker(deck_size=3)",
        "kuhn_poker",
        "python_liars_poker",
        "bluff(dice1=1,dice2=1)",
        "liars_dice",
        "leduc_ranks(ranks=3)",
        "leduc_poker",
        "latent_tic_tac_toe",
        "latent_ttt",
    ],
    "Games, in this order",
)
flags.DEFINE_integer("rounds", 5, "Turns of each")
flags.DEFINE_float("seconds", 0.2, "Seconds per turn")


def play(game, rng):
    """Plays once; returns the number of moves."""
    state, moves = game.new_initial_state(), 0
    while not state.is_terminal():
        if state.current_player() == pyspiel.PlayerId.CHANCE:
            actions = [outcome for outcome, _ in state.chance_outcomes()]
        else:
            actions = state.legal_actions()
        state.apply_action(rng.choice(actions))
        moves += 1
    state.returns()
    return moves


def a_decision(game, rng):
    """Returns a state at which a player is to move, two moves into the game or more."""
    state = game.new_initial_state()
    while len(state.history()) < 2 or state.is_chance_node():
        state.apply_action(rng.choice(state.legal_actions()))  # at chance nodes these are the outcomes
    return state


def microseconds(function):
    """Returns how long a call takes."""
    calls, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < FLAGS.seconds:
        for _ in range(20):
            function()
        calls += 20
    return (time.perf_counter() - begin) / calls * 1e6


def play_microseconds(game, rng):
    """Returns how long a move takes."""
    moves, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < FLAGS.seconds:
        moves += play(game, rng)
    return (time.perf_counter() - begin) / moves * 1e6


def main(_):
    games = {name: pyspiel.load_game(name) for name in FLAGS.game if name.split("(")[0] in pyspiel.registered_names()}
    best = {name: [float("inf")] * 4 for name in games}
    for turn in range(FLAGS.rounds):
        for name, game in games.items():
            rng = random.Random(turn)
            state = a_decision(game, rng)
            times = (
                play_microseconds(game, rng),
                microseconds(state.clone),
                microseconds(state.information_state_string),
                microseconds(state.information_state_tensor)
                if game.get_type().provides_information_state_tensor
                else 0,
            )
            best[name] = [min(pair) for pair in zip(best[name], times, strict=True)]
    print(f"{'us':<34}{'move':>8}{'clone':>8}{'string':>8}{'tensor':>8}")
    for name, times in best.items():
        print(f"{name:<34}" + "".join(f"{each:>8.2f}" if each else f"{'-':>8}" for each in times))


if __name__ == "__main__":
    app.run(main)
