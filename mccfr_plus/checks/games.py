"""Small games whose outcomes can be enumerated, and exact values in plain Python without any code of the kernels."""

import functools
import itertools
import random
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.errors import shortened
from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.trees.game_tree import GameTree, compile_game
from mccfr_plus.trees.public.public_tree import PublicTree, given_public_tree

# General sum: chance is uneven, B is entered at two depths, D has a single action, and both players move twice. Three
# players: C is entered at two depths, of which one lies behind chance. One player against chance, three decisions deep.
SPANS, THREE, ALONE = (
    resources.files("mccfr_plus.checks").joinpath(f"{name}.efg").read_text(encoding="utf-8")
    for name in ("spans", "three", "alone")
)

_LEVELS = 5  # of `deep_text`


def name_of(tree: GameTree | PublicTree) -> str:
    """Returns a short text for a game."""
    return getattr(tree, "title", "") or shortened(tree.game, 60)


def deep_text(reverse: bool = False) -> str:
    """Returns a zero-sum game without ties: two players move in turn and see their own moves alone.

    With `reverse`, actions and so infosets are listed in another order.
    """
    rng, order = random.Random(7), "10" if reverse else "01"
    payoffs = [rng.uniform(-2, 2) for _ in range(1 << _LEVELS)]
    lines, names = ['EFG 2 R "deep" { "P0" "P1" }'], " ".join(f'"{"ab"[int(action)]}"' for action in order)
    paths = ["".join(path) for level in range(_LEVELS + 1) for path in itertools.product("01", repeat=level)]
    for path in sorted(paths, key=lambda path: [order.index(action) for action in path]):
        player, leaf = len(path) % 2, int(f"0{path}", 2)
        number = int(f"1{path[player::2]}", 2)  # one per sequence of own moves
        if len(path) < _LEVELS:
            lines.append(f'p "" {player + 1} {number} "I{number}" {{ {names} }} 0')
        else:
            lines.append(f't "" {leaf + 1} "" {{ {payoffs[leaf]:.6f} {-payoffs[leaf]:.6f} }}')
    return "\n".join(lines) + "\n"


def infosets_text(counts: Sequence[int], width: float = 1.0) -> str:
    """Returns a one-player game with an infoset, or three beside one another, for each number of actions."""
    lines = [f'EFG 2 R "{len(counts)} infosets" {{ "P0" }}']
    if len(counts) > 1:
        lines.append('c "" 1 "deal" { "x" 0.25 "y" 0.5 "z" 0.25 } 0')
    fresh = itertools.count(1)
    for number, count in enumerate(counts, 1):
        actions = " ".join(f'"a{action}"' for action in range(count))
        lines.append(f'p "" 1 {number} "I{number}" {{ {actions} }} 0')
        lines += [f't "" {next(fresh)} "" {{ {width if action else 0.0!r} }}' for action in range(count)]
    return "\n".join(lines) + "\n"


@functools.cache
def tree_of_text(text: str) -> GameTree:
    tree: Any = compile_game(pyspiel.load_efg_game(text))
    tree.title = text.split('"')[1]  # OpenSpiel calls all of these games "efg_game()"
    return tree


tree_of_name = functools.cache(compile_game)  # the tree of an OpenSpiel game


def tiny_trees() -> list[GameTree]:
    """Returns games on which the random outcomes of most traversals can be enumerated."""
    return [tree_of_name("kuhn_poker"), *(tree_of_text(text) for text in (SPANS, THREE, ALONE))]


def public_trees() -> list[PublicTree]:
    """Returns public trees for the same, without and with public outcomes."""
    return [PublicTree(tree_of_name(name)) for name in ("kuhn_poker", "leduc_ranks(ranks=2,suits=2)")]


def random_strategy(tree: GameTree | PublicTree, rng: np.random.Generator, zeros: float = 0.0) -> np.ndarray:
    """Returns a random strategy, ``[num_slots]`` float64; each probability is 0 with chance `zeros`, but never all."""
    strategy = rng.exponential(size=tree.num_slots) + 0.05
    strategy[rng.random(tree.num_slots) < zeros] = 0.0
    for infoset in range(tree.num_infosets):
        slots = tree.slots(infoset)
        if not strategy[slots].any():
            strategy[rng.integers(slots.start, slots.stop)] = 1.0
        strategy[slots] /= strategy[slots].sum()
    return strategy


def exact_gradient(tree: GameTree | PublicTree, strategy: np.ndarray, player: int) -> np.ndarray:
    """Returns the player's utility gradient, ``[num_slots + num_players]``.

    Entry s is the sum of u(z) * (reach of chance and the others) over the leaves z behind the player's last slot s.
    """
    if (public := given_public_tree(tree)) is not None:
        found = exact_gradient(public.stored, public.on_stored(strategy), player)
        return np.append(found[public.stored_slots], found[tree.num_slots :])
    arrays = tree.arrays
    nodes, chance, payoffs = arrays.nodes.tolist(), arrays.chance["probability"].tolist(), arrays.payoffs[:, player]
    gradient = np.zeros(tree.num_slots + tree.num_players)
    slots, weights = np.full(len(nodes), tree.num_slots + player), np.ones(len(nodes))  # player's last slot; reach
    for node, (kind, count, child, payload) in enumerate(nodes):  # parents come before children
        if kind == TERMINAL:
            gradient[slots[node]] += weights[node] * payoffs[payload]
        for index in range(count):
            share = chance[payload + index] if kind == CHANCE else strategy[payload + index]
            slots[child + index] = payload + index if kind == player else slots[node]
            weights[child + index] = weights[node] * (1.0 if kind == player else share)
    return gradient


def own_reach(tree: GameTree, strategy: np.ndarray) -> np.ndarray:
    """Returns the probability with which its player's own actions play each sequence, ``[num_slots]`` float64."""
    reach = np.append(np.zeros(tree.num_slots), np.ones(tree.num_players))
    for infoset, parent in enumerate(tree.arrays.infosets["parent_slot"]):
        slots = tree.slots(infoset)
        reach[slots] = reach[parent] * strategy[slots]
    return reach[: tree.num_slots]
