"""What a history costs that pyspiel is asked for: expansion as a whole, beside the bare calls from Python that it needs.

    python benchmarks/new_histories.py
    python benchmarks/new_histories.py --games=phantom_ttt --seconds=5

The first column is everything that external sampling does on a tree that is_lazy from nothing: the traversal, pyspiel, hashes,
tables and updates, in CPU time per history asked for. The others are calls on the decision nodes of random plays, made
from a list comprehension, the fastest of three times. (`child` is a copy and a move.)
"""

import random
import time

import pyspiel
from absl import app, flags

import mccfr_plus

FLAGS = flags.FLAGS

flags.DEFINE_multi_string("games", ["phantom_ttt", "liars_dice(numdice=2)"], "Games")
flags.DEFINE_float("seconds", 20.0, "CPU seconds of lazy")
flags.DEFINE_integer("states", 20_000, "States of random plays")
flags.DEFINE_string("memory", "12GB", "Memory limit")


def lazy_solver(game):
    """Returns microseconds of CPU time per history asked for, and the share of those among all touched."""
    solver = mccfr_plus.Solver(game, "external", "rm", tree="lazy", memory=FLAGS.memory, seed=1)
    begin = time.process_time()
    while time.process_time() - begin < FLAGS.seconds and not solver.stopped:
        solver.run(seconds=min(1.0, FLAGS.seconds))
    spent, asked = time.process_time() - begin, solver.tree.num_asked
    return 1e6 * spent / asked, asked / solver.nodes_touched


def decisions(game):
    """Returns states of random plays in which a player moves."""
    states, rng = [], random.Random(1)
    while len(states) < FLAGS.states:
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(rng.choice(state.chance_outcomes())[0])
                continue
            states.append(state.clone())
            state.apply_action(rng.choice(state.legal_actions()))
    return states


def microseconds(call, states):
    """Returns what a call takes per state."""
    best = float("inf")
    for _ in range(3):
        begin = time.process_time()
        call(states)
        best = min(best, time.process_time() - begin)
    return 1e6 * best / len(states)


def main(_):
    mccfr_plus.Solver("kuhn_poker", "external", tree="lazy").run(100)  # loads the kernels
    calls = {
        "child": lambda pairs: [state.child(action) for state, action in pairs],
        "player": lambda pairs: [state.current_player() for state, _ in pairs],
        "text": lambda pairs: [state.information_state_string() for state, _ in pairs],
        "actions": lambda pairs: [state.legal_actions() for state, _ in pairs],
    }
    print("microseconds of CPU time per history")
    print(f"{'game':<26}{'lazy':>9}{'new':>6}" + "".join(f"{name:>9}" for name in calls) + f"{'calls':>9}")
    for name in FLAGS.games:
        game, rng = pyspiel.load_game(name), random.Random(2)
        cost, share = lazy_solver(game)
        pairs = [(state, rng.choice(state.legal_actions())) for state in decisions(game)]
        each = [microseconds(call, pairs) for call in calls.values()]
        print(f"{name:<26}{cost:>9.2f}{share:>6.0%}" + "".join(f"{x:>9.2f}" for x in each) + f"{sum(each):>9.2f}")


if __name__ == "__main__":
    app.run(main)
