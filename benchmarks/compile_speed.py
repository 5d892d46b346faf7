"""Nodes per second of `compile_game` beside a bare Python traversal over the same pyspiel states, and bytes per node.

The traversal calls what any traversal has to call (whose turn, which actions, the child states) and keeps nothing, so
it is the limit of what can be done from Python. The two take turns; the median of the paired ratios counts.
"""

import statistics
import time

import pyspiel
from absl import app, flags

import mccfr_plus

_GAME = flags.DEFINE_string("game", "liars_dice", "A game string.")
_ROUNDS = flags.DEFINE_integer("rounds", 5, "How often each side is measured.", lower_bound=1)


def traversal(state: pyspiel.State) -> int:
    """Returns the number of histories from a state on."""
    nodes = 1
    if not state.is_terminal():
        for action in state.legal_actions():
            nodes += traversal(state.child(action))
    return nodes


def asking_walk(root: pyspiel.State) -> int:
    """Returns the number of histories, asking each for what a compiler has to know and keeping none of it."""
    states, nodes = [root], 0
    while states:
        state = states.pop()
        nodes += 1
        player = state.current_player()
        if player >= 0:
            state.information_state_string()
            states += [state.child(action) for action in state.legal_actions()]
        elif player == pyspiel.PlayerId.TERMINAL:
            state.returns()
        else:
            states += [state.child(action) for action, _ in state.chance_outcomes()]
    return nodes


def main(_):
    game = mccfr_plus.load_game(_GAME.value)
    tree = mccfr_plus.compile_game(game)  # compiles the kernels that lay the arrays out
    pairs = []
    for _ in range(_ROUNDS.value):
        begin = time.perf_counter()
        mccfr_plus.compile_game(game, progress=False)
        middle = time.perf_counter()
        nodes = traversal(game.new_initial_state())
        traversed = time.perf_counter()
        asked = asking_walk(game.new_initial_state())
        times = (middle - begin, traversed - middle, time.perf_counter() - traversed)
        pairs.append([nodes / seconds for seconds in times])
    assert nodes == asked == tree.num_nodes
    sizes = tree.statistics()
    print(f"{_GAME.value}: {nodes:,} histories, median of {_ROUNDS.value} rounds")
    print(f"compile_game / bare traversal  {statistics.median(a / b for a, b, _ in pairs):.2f}x")
    print(f"compile_game / asking     {statistics.median(a / c for a, _, c in pairs):.2f}x")
    print(f"compile_game              {statistics.median(a for a, _, _ in pairs):,.0f} nodes/s")
    print(f"bare traversal                 {statistics.median(b for _, b, _ in pairs):,.0f} nodes/s")
    print(f"traversal that asks as we do   {statistics.median(c for _, _, c in pairs):,.0f} nodes/s")
    print(f"tree                      {sizes.tree_bytes / nodes:.1f} bytes per history")
    print(f"with information sets     {(sizes.tree_bytes + sizes.infoset_bytes) / nodes:.1f} bytes per history")


if __name__ == "__main__":
    app.run(main)
