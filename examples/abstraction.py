"""Solves abstractions of Leduc poker and liar's dice, and compares exploitability in the abstract and the real game.

python examples/abstraction.py --iterations=1000 --out=abstraction.png

An abstract game has fewer information sets. Its solution is a policy for the real game, whose players see more, so the
difference between the two exploitabilities is the price of the abstraction.
"""

import numba
from absl import app, flags

import mccfr_plus

_ITERATIONS = flags.DEFINE_integer("iterations", 1000, "Iterations of CFR+ for each abstraction.", lower_bound=1)
_OUT = flags.DEFINE_string("out", None, "Where to write the picture, a PNG or SVG file.")


def cards(state, player):
    """Returns the ranks of the own and of the public card of Leduc poker, -1 where it is not dealt."""
    text = state.information_state_string(player)
    return [int(text.split(f"[{name}: ")[1][0]) // 2 if name in text else -1 for name in ("Private", "Public")]


def rank(state, player):
    return tuple(cards(state, player))


def two_buckets(state, player):
    """Returns whether the own card is a king, and with a public card whether they make a pair."""
    own, public = cards(state, player)
    return own == 2 if public < 0 else own == public


# Kernels on what the compiled rules of liar's dice show: the own roll first, faces from 1 on, then the bids.


@numba.njit
def wild_or_not(parameters, table, view, player):
    """Returns 1 if the die shows the highest face, which matches any bid, and 0 otherwise."""
    return int(view[0] == parameters[0])


@numba.njit
def low_high_or_wild(parameters, table, view, player):
    sides = parameters[0]
    return 2 if view[0] == sides else int(2 * view[0] >= sides)


def face(state, player):
    return state.information_state_string(player)[0]


def last_bid(state, player):
    bids = state.history()[2:]
    return bids[-1] if bids else None


# Of each game: title, and for each abstraction its name and the arguments of `mccfr_plus.abstract` after the game.
GAMES = {
    "leduc_poker": {
        "ranks": (rank,),
        "two buckets, perfect recall": (two_buckets, "perfect"),
        "two buckets, imperfect recall": (two_buckets,),
    },
    "liars_dice(dice_sides=5)": {
        "low, high or wild": (low_high_or_wild,),
        "wild or not": (wild_or_not,),
        "face and last bid": (face, "imperfect", last_bid),
    },
}


def solved(name, iterations):
    """Yields the name of each abstraction, its number of information sets, and the two exploitabilities."""
    real = mccfr_plus.compile_game(name)
    for title, arguments in {"the game itself": None, **GAMES[name]}.items():
        game = real if arguments is None else mccfr_plus.abstract(name, *arguments)
        solver = mccfr_plus.Solver(game, "full", "rm+", tree="compiled").run(iterations)
        found = mccfr_plus.evaluate(real, solver.average_policy())
        yield title, solver.tree.num_infosets, solver.exploitability(), found.exploitability


def draw(rows, axes, title):
    """Draws the exploitabilities of abstractions against their information sets."""
    for number, (name, infosets, inside, outside) in enumerate(rows):
        color = f"C{number}"
        axes.plot([infosets, infosets], [inside, outside], color=color, linewidth=1)
        axes.plot(infosets, outside, "o", color=color, label=name)
        axes.plot(infosets, inside, "o", color=color, markerfacecolor="white")
    axes.set(xscale="log", yscale="log", xlabel="information sets", ylabel="exploitability", title=title)
    axes.set_xticks([row[1] for row in rows], [f"{row[1]:,}" for row in rows], rotation=90)
    axes.set_xticks([], minor=True)
    axes.grid(alpha=0.3)
    title = "filled: in the real game; hollow: in the abstract game"
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.28), ncols=2, fontsize="small", title=title)


def main(_):
    found = {}
    for name in GAMES:
        print(f"{name}\n  {'':<32}{'information sets':>17}{'abstract game':>15}{'real game':>11}")
        found[name] = []
        for row in solved(name, _ITERATIONS.value):
            found[name].append(row)
            print(f"  {row[0]:<32}{row[1]:>17,}{row[2]:>15.4f}{row[3]:>11.4f}", flush=True)
    if _OUT.value is not None:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(1, len(found), figsize=(5.5 * len(found), 5), layout="constrained")
        for each, (name, rows) in zip(axes, found.items(), strict=True):
            draw(rows, each, name)
        figure.savefig(_OUT.value, dpi=120, bbox_inches="tight")


if __name__ == "__main__":
    app.run(main)
