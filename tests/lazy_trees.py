"""How tests make solvers on lazy trees, of any little memory, and compare them with those on compiled ones."""

from __future__ import annotations

from typing import Any

import naive
import numpy as np

from mccfr_plus import Solver
from mccfr_plus.solver import choice
from mccfr_plus.trees.memory import MemoryPlan, release_unused, resident_bytes

PLENTY = MemoryPlan(
    limit=10**9,
    max_nodes=1 << 17,
    max_infosets=1 << 15,
    max_slots=1 << 17,
    infoset_cost=100,
    slot_cost=50,
    tree_bytes=10**9,
    state_bytes=1 << 20,
)


def beside_this_process(size: float) -> int:
    """Returns a limit on memory with this many bytes to spare, whatever the tests before have left in the process."""
    release_unused()
    return resident_bytes() + int(size)


def lazy_solver(game: Any, *arguments: Any, plan: MemoryPlan = PLENTY, **options: Any) -> Solver:
    """Returns a solver on a lazy tree, with as many places as the plan says."""
    before = choice.plan_memory
    choice.plan_memory = lambda *_, **__: plan
    try:
        return Solver(game, *arguments, tree="lazy", **options)
    finally:
        choice.plan_memory = before


def pair(name: str, *arguments: Any, plan: MemoryPlan = PLENTY, **options: Any) -> tuple:
    """Returns the same solver on a compiled and on a lazy tree; the name is one of `naive.game`."""
    whole = Solver(naive.tree_of(name), *arguments, **options)
    return whole, lazy_solver(naive.game(name), *arguments, plan=plan, **options)


def differences(whole: Solver, lazy: Solver) -> list[str]:
    """Returns what of a run's results is not bitwise the same on a compiled and on a lazy tree: [] if all is."""
    tree, found = whole.tree, lazy.tree
    ours, theirs = whole._engine, lazy._engine
    mine, other, num_found, differing = [], [], 0, set()
    for infoset, text in enumerate(tree.info_states):
        player = int(tree.arrays.infosets["player"][infoset])
        number, slots = found.infoset(text, player), tree.slots(infoset)
        if number is None:  # nothing was computed there
            if (ours.strategy[slots] != 1.0 / (slots.stop - slots.start)).any():
                differing.add(f"visits of {text}")
            continue
        num_found += 1
        if found.legal_actions(number) != tree.legal_actions(infoset):
            differing.add(f"legal actions of {text}")
        mine.append(np.arange(slots.start, slots.stop))
        other.append(np.arange(found.slots(number).start, found.slots(number).stop))
    mine, other = np.concatenate(mine), np.concatenate(other)
    results = {
        "number of infosets": (num_found, found.num_infosets),
        "strategy": (ours.strategy[mine], theirs.strategy[other]),
        "tables": (ours.tables[:, mine], theirs.tables[:, other]),
        "average": (ours.average[mine], theirs.average[other]),
        "empty sequences": (ours.average[tree.num_slots :], theirs.average[found.slot_capacity :]),
        "average strategy": (whole.average_strategy()[mine], lazy.average_strategy()[other]),
        "random numbers": tuple([scratch.rng[0] for scratch in each.scratches] for each in (ours, theirs)),
        "iterations": (whole.iterations, lazy.iterations),
        "nodes touched": (whole.nodes_touched, lazy.nodes_touched),
    }
    differing |= {name for name, pair in results.items() if len({np.asarray(each).tobytes() for each in pair}) > 1}
    return sorted(differing)
