"""Search with a certificate: ``python benchmarks/search.py SUBJECT [--flags]``.

methods  exact exploitability over iterations of search, and with gadgets solved by linear programming, by method, after
         coarse blueprints of Leduc poker on 13 ranks and of liar's dice with two dice of three sides each
safety   30 blueprints of three games: how much more exploitable the searching policies are, beside the gadgets' errors
river    answers to a bet that the blueprint lacks, in the rivers of Libratus' endgames: --folder=FOLDER
"""

import time
from pathlib import Path
from unittest import mock

import matplotlib.pyplot as plt
import numpy as np
from absl import flags
from measuring import FLAGS, run

import mccfr_plus
from mccfr_plus import Solver, search
from mccfr_plus.checks.games import random_strategy
from mccfr_plus.evaluation.exact import equilibrium_of
from mccfr_plus.experiments.curves import write_figure
from mccfr_plus.games import load_libratus_endgame
from mccfr_plus.policies.table import TreePolicy
from mccfr_plus.search.ends import last_slots, matrix_of
from mccfr_plus.search.partial_game import slots_before
from mccfr_plus.trees.public.public_tree import PublicTree

flags.DEFINE_string("picture", None, "methods: the picture of Leduc poker to write")
flags.DEFINE_string("folder", None, "river: a folder with files of https://github.com/Sandholm-Lab/LibratusEndgames")
flags.DEFINE_integer("blueprints", 10, "safety: blueprints of each game, half of them random")
flags.DEFINE_multi_string("games", None, "methods, safety: only these games")
flags.DEFINE_integer("iterations", 1000, "safety, river: iterations per subgame")

LEDUC, LIARS_DICE = "leduc_ranks(ranks=13)", "liars_dice(numdice=2,dice_sides=3)"
COARSE = {LEDUC: ("chance", 10), LIARS_DICE: (2, 8)}  # where search begins, and the blueprint's iterations
STEPS = [10, 30, 100, 300, 1000]
SAFE = ("resolve", "maxmargin", "reach")
STARTS = {"leduc_poker": "chance", "leduc_ranks(ranks=5)": "chance", "liars_dice": 3}


def methods():
    for game in FLAGS.games or COARSE:
        start, iterations = COARSE[game]
        blueprint = Solver(game, "full", "rm+", tree="public").run(iterations).average_policy()
        tree, rows = PublicTree(game), {}
        uniform = mccfr_plus.exploitability(tree, TreePolicy(tree, tree.uniform_strategy()))
        before = mccfr_plus.exploitability(tree, blueprint)
        print(f"{game}: uniform play {uniform:.4f}, blueprint {before:.4f}, {before / uniform:.0%} of it")
        for method in search.METHODS:
            policies = [search.SearchPolicy(blueprint, tree, start, method, iterations=each) for each in STEPS]
            rows[method] = [mccfr_plus.exploitability(tree, policy) for policy in policies]
            last = search.certify(policies[-1])
            with mock.patch("mccfr_plus.search.resolving.Solver", ByLinearProgram):
                exact = search.certify(search.SearchPolicy(blueprint, tree, start, method))
            print(f"{method:10}" + "".join(f"{each:9.4f}" for each in rows[method]) + f"   {last.share:.1%}, {last}")
            print(f"{'exactly':46}{exact.exploitability:9.4f}   {exact.share:.1%}, {exact}", flush=True)
        if FLAGS.picture and game == LEDUC:
            draw(rows, before, last.attained, Path(FLAGS.picture))


class ByLinearProgram:
    """Solves gadget games exactly, in the place of `Solver`."""

    iterations = 1

    def __init__(self, game, *_):
        self._game = game

    def run(self, _):
        return self

    def average_strategy(self):
        game, found = self._game, []
        for end in range(len(game.arrays.ends)):
            payoffs = game.arrays.scales[end, 0] * matrix_of(game.arrays, end, 0)
            slots = np.broadcast_arrays(last_slots(game, end, 0)[:, None], last_slots(game, end, 1))
            found.append([*(each.reshape(-1) for each in slots), payoffs.reshape(-1)])
        rows, columns, values = (np.concatenate(each) for each in zip(*found, strict=True))
        return equilibrium_of(game, rows, columns, values).policy.strategy()


def draw(rows, before, least, path):
    """Writes the picture of exploitabilities by method, a number for each of `STEPS`."""
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for method, found in rows.items():
        axes.plot(STEPS, found, marker=".", label=method)
    axes.axhline(before, color="gray", linestyle=":", label="blueprint")
    axes.axhline(least, color="gray", linestyle="--", label="least with the blueprint's first round")
    axes.set(xscale="log", xlabel="iterations per subgame", ylabel="exploitability (chips)", ylim=(0, 1))
    axes.set_title("Leduc poker with 13 ranks, search after the first betting round", fontsize=10)
    axes.legend(fontsize=8)
    write_figure(figure, path)


def safety():
    """Prints, over blueprints, the largest values of what must be at most 0, and how large the errors are."""
    print("game, blueprints, method: searches with more than the blueprint's exploitability; largest increase; largest")
    print("increase beyond the errors, beyond the excess; sum of errors; mean exploitability before and after")
    for game in FLAGS.games or STARTS:
        tree = PublicTree(game)
        rows = {}
        for number in range(FLAGS.blueprints):
            kind = "random" if number % 2 == 0 else "MCCFR"
            if number % 2 == 0:
                policy = TreePolicy(tree, random_strategy(tree, np.random.default_rng(number)))
            else:
                policy = Solver(game, "external", seed=number).run(30 * number**2).average_policy()
            for method in SAFE:
                searching = search.SearchPolicy(policy, tree, STARTS[game], method, iterations=FLAGS.iterations)
                rows.setdefault((kind, method), []).append(search.certify(searching, iterations=1))
        for (kind, method), found in rows.items():
            gains = np.array([each.exploitability - each.blueprint for each in found])
            errors, excess = np.array([(each.error, each.excess) for each in found]).T
            means = np.mean([(each.blueprint, each.exploitability) for each in found], axis=0)
            print(
                f"{game:21} {len(found):3} {kind:7} {method:10} {(gains > 0).sum()}  {gains.max():10.5f} "
                f"{(gains - errors).max():10.5f} {(gains - excess).max():10.5f}  {errors.min():.5f} to "
                f"{errors.max():.5f}   {means[0]:.4f} {means[1]:.4f}",
                flush=True,
            )


def river():
    for path in sorted(Path(FLAGS.folder).glob("subgame*.txt")):
        if "-round 4" not in path.read_text():
            continue
        small, large = load_libratus_endgame(path, "100%"), load_libratus_endgame(path, "0.5 1;0.5 1;1")
        percent = 100 / small.get_parameters()["pot"]
        solver = Solver(small, "full", "pdcfr+", tree="public").run(1000)
        begin = time.process_time()
        blueprint = search.Blueprint(solver.average_policy(), large, start=1)
        spent = time.process_time() - begin
        print(
            f"{path.name}: {blueprint.tree.num_nodes} public nodes; both games beside each other in {spent:.2f} CPU s"
        )
        for subgame in blueprint.subgames:
            if not blueprint.outside[slots_before(blueprint.tree, subgame, 0)[0]]:
                continue
            for method in SAFE:
                search.resolve(blueprint, subgame, 1, method, iterations=1)  # compiles
                for iterations in (300, 1000):
                    begin = time.process_time()
                    found = search.resolve(blueprint, subgame, 1, method, iterations=iterations)
                    spent = time.process_time() - begin
                    print(
                        f"  half a pot, {method:9} {iterations:5} iterations {spent:5.2f} CPU s: error "
                        f"{percent * found.error / 2:.4f}%, excess {percent * found.excess / 2:.4f}% of the pot"
                    )
        policy = search.SearchPolicy(solver.average_policy(), large, 1, "resolve", iterations=FLAGS.iterations)
        begin = time.process_time()
        found = search.certify(policy)
        print(
            f"  whole policy, {len(policy.resolved)} searches in {time.process_time() - begin:.0f} CPU s: blueprint "
            f"{percent * found.blueprint:.3f}% in its own game, search {percent * found.exploitability:.3f}%, least "
            f"{percent * found.least:.3f} to {percent * found.attained:.3f}%, excess {percent * found.excess:.3f}%",
            flush=True,
        )


if __name__ == "__main__":
    run(__doc__, {"methods": methods, "safety": safety, "river": river})
