"""Two minutes on games that do not fit: ours and OpenSpiel's C++ solver, judged by the same estimator.

    python benchmarks/large_games.py                # about 15 minutes
    python benchmarks/large_games.py --seconds=20 --games=phantom_ttt --judge_seconds=10

Both run for the same time by the clock, one after the other, with the same scheme. Then the local best response to
each of the two average policies gives a lower bound of its exploitability, and the two play one another in both seats.
"""

import time

import pyspiel
from absl import app, flags

import mccfr_plus
from mccfr_plus.evaluation import exploitability_lower_bound, head_to_head

FLAGS = flags.FLAGS

THEIRS = {"outcome": pyspiel.OutcomeSamplingMCCFRSolver, "external": pyspiel.ExternalSamplingMCCFRSolver}

flags.DEFINE_multi_string(
    "games",
    ["phantom_ttt", "liars_dice(numdice=2)", "dark_hex(num_rows=3,num_cols=3)"],
    "Games, one per flag, for their commas",
)
flags.DEFINE_enum("scheme", "outcome", list(THEIRS), "Scheme of both")
flags.DEFINE_float("seconds", 120.0, "Seconds of a run, by the clock")
flags.DEFINE_float("judge_seconds", 60.0, "Seconds of each judgement")
flags.DEFINE_string("memory", "10GB", "Memory limit of ours")


def theirs(game):
    """Returns OpenSpiel's solver after its run, and its iterations; its policy reads its memory, so keep it."""
    solver, done, begin = THEIRS[FLAGS.scheme](game), 0, time.perf_counter()
    while time.perf_counter() - begin < FLAGS.seconds:
        solver.run_iteration()
        done += 1
    return solver, done


def bound(game, policy):
    found = exploitability_lower_bound(game, policy, num_games=10**7, seconds=FLAGS.judge_seconds, seed=1).estimate
    return f"{found.value:8.4f} ({found.low:.4f} to {found.high:.4f})"


def main(_):
    mccfr_plus.Solver("kuhn_poker", FLAGS.scheme, tree="lazy").run(100)  # loads the kernels
    for name in FLAGS.games:
        game = pyspiel.load_game(name)
        other, iterations = theirs(game)
        solver = mccfr_plus.Solver(game, FLAGS.scheme, "rm", tree="lazy", memory=FLAGS.memory, seed=1)
        solver.run(seconds=FLAGS.seconds)
        policies = solver.average_policy(), other.average_policy()
        print(f"{name}, {FLAGS.scheme}, {FLAGS.seconds:g} seconds each")
        print(f"  ours       {solver.iterations:>12,} iterations, {solver.tree.num_infosets:,} information sets")
        print(f"  OpenSpiel  {iterations:>12,} iterations")
        print(f"  exploitability at least, ours      {bound(game, policies[0])}", flush=True)
        print(f"  exploitability at least, OpenSpiel {bound(game, policies[1])}", flush=True)
        played = head_to_head(game, *policies, num_games=10**7, seconds=FLAGS.judge_seconds, seed=1).estimate
        print(f"  ours wins per game {played.value:+.4f} ({played.low:+.4f} to {played.high:+.4f})", flush=True)


if __name__ == "__main__":
    app.run(main)
