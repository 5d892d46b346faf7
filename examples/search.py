"""Compares methods of subgame solving: exact exploitability, and the lowest that the blueprint's first part allows.

python examples/search.py --game="leduc_ranks(ranks=13)" --blueprint_iterations=30
python examples/search.py --game=kuhn_poker --start=1
"""

import sys

from absl import app, flags

import mccfr_plus
from mccfr_plus import search

_GAME = flags.DEFINE_string("game", "leduc_poker", "An OpenSpiel game string; its public tree is searched.")
_START = flags.DEFINE_string("start", "chance", 'Where search begins: a number of actions, or "chance".')
_BLUEPRINT = flags.DEFINE_integer("blueprint_iterations", 30, "Iterations of CFR+ for the blueprint.", lower_bound=1)
_ITERATIONS = flags.DEFINE_integer("iterations", 1000, "Iterations for each subgame.", lower_bound=1)


def main(_):
    try:
        print_methods()
    except mccfr_plus.MccfrPlusError as error:  # such as a game without a public tree
        sys.exit(f"error: {error}")


def print_methods():
    start = int(_START.value) if _START.value.isdigit() else _START.value
    solver = mccfr_plus.Solver(_GAME.value, "full", "rm+", tree="public").run(_BLUEPRINT.value)
    blueprint = solver.average_policy()
    policies = {
        method: search.SearchPolicy(blueprint, _GAME.value, start, method, iterations=_ITERATIONS.value)
        for method in search.METHODS
    }
    print("method     blueprint    search     least    error   share of the gap closed")
    for method, policy in policies.items():
        found = search.certify(policy)
        numbers = found.blueprint, found.exploitability, found.attained, found.error
        print(f"{method:10}" + "".join(f"{number:10.5f}" for number in numbers) + f"   {found.share:8.0%}")


if __name__ == "__main__":
    app.run(main)
