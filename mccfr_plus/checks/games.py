"""Small games whose outcomes can be enumerated: uneven chance, unequal depths, one to three players."""

import functools
import itertools
import random
from importlib import resources

import numpy as np
import pyspiel

from mccfr_plus.trees.game_tree import GameTree, compile_game

# General sum: chance is uneven, B is entered at two depths, D has a single action, and both players move twice. Three
# players: C is entered at two depths, of which one lies behind chance. One player against chance, three decisions deep.
SPANS, THREE, ALONE = (
    resources.files("mccfr_plus.checks").joinpath(f"{name}.efg").read_text(encoding="utf-8")
    for name in ("spans", "three", "alone")
)

_LEVELS = 5  # of `deep_text`

# OpenSpiel calls all of them "efg_game()". The cache below keeps the games alive, so that ids are unique.
_TITLES: dict[int, str] = {}


def name_of(tree: GameTree) -> str:
    """Returns a short text for a game."""
    text = str(tree.game)
    return _TITLES.get(id(tree.game), text if len(text) <= 60 else text[:57] + "...")


def deep_text(reverse: bool = False) -> str:
    """Returns a two-player zero-sum game without ties: the players move in turn and see their own moves alone.

    With `reverse`, actions and so infosets are listed in another order.
    """
    rng, fresh, lines = random.Random(7), itertools.count(1), ['EFG 2 R "deep" { "P0" "P1" }']
    payoffs = [rng.uniform(-2, 2) for _ in range(1 << _LEVELS)]
    actions = "10" if reverse else "01"

    def expand(path: str) -> None:
        if len(path) == _LEVELS:
            payoff = payoffs[int(path, 2)]
            lines.append(f't "" {next(fresh)} "" {{ {payoff:.6f} {-payoff:.6f} }}')
            return
        player = len(path) % 2
        number = int(f"1{path[player::2]}", 2)  # one per sequence of own moves
        names = " ".join(f'"{"ab"[int(action)]}"' for action in actions)
        lines.append(f'p "" {player + 1} {number} "I{number}" {{ {names} }} 0')
        for action in actions:
            expand(path + action)

    expand("")
    return "\n".join(lines) + "\n"


def one_infoset_text(num_actions: int, width: float) -> str:
    """Returns a one-player game with a single infoset, in which the payoffs are 0 and `width`."""
    actions = " ".join(f'"a{action}"' for action in range(num_actions))
    leaves = [f't "" {action + 1} "" {{ {width if action else 0.0!r} }}' for action in range(num_actions)]
    return "\n".join(['EFG 2 R "one infoset" { "P0" }', f'p "" 1 1 "I" {{ {actions} }} 0', *leaves]) + "\n"


def three_infosets_text(num_actions: int) -> str:
    """Returns a one-player game with infosets of 2, `num_actions` and 3 actions beside one another."""
    lines = ['EFG 2 R "three infosets" { "P0" }', 'c "" 1 "deal" { "x" 0.25 "y" 0.5 "z" 0.25 } 0']
    fresh = itertools.count(1)
    for number, count in enumerate((2, num_actions, 3), 1):
        actions = " ".join(f'"a{action}"' for action in range(count))
        lines.append(f'p "" 1 {number} "I{number}" {{ {actions} }} 0')
        lines += [f't "" {next(fresh)} "" {{ {float(action)} }}' for action in range(count)]
    return "\n".join(lines) + "\n"


@functools.cache
def tree_of_text(text: str) -> GameTree:
    """Returns the tree of a game that is given as text in the EFG format."""
    tree = compile_game(pyspiel.load_efg_game(text))
    _TITLES[id(tree.game)] = text.split('"')[1]
    return tree


tree_of_name = functools.cache(compile_game)  # the tree of an OpenSpiel game


def tiny_trees() -> list[GameTree]:
    """Returns games on which the random outcomes of most traversals can be enumerated."""
    return [tree_of_name("kuhn_poker"), *(tree_of_text(text) for text in (SPANS, THREE, ALONE))]


def random_strategy(tree: GameTree, rng: np.random.Generator, zeros: float = 0.0) -> np.ndarray:
    """Returns a random strategy, ``[num_slots]`` float64; each probability is 0 with chance `zeros`, but never all."""
    strategy = rng.exponential(size=tree.num_slots) + 0.05
    strategy[rng.random(tree.num_slots) < zeros] = 0.0
    for infoset in range(tree.num_infosets):
        slots = tree.slots(infoset)
        if not strategy[slots].any():
            strategy[rng.integers(slots.start, slots.stop)] = 1.0
        strategy[slots] /= strategy[slots].sum()
    return strategy
