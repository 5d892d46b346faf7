"""How tests make solvers on lazy trees, of any little memory, and compare them with those on compiled ones."""

from __future__ import annotations

from typing import Any

import naive
import numpy as np

from mccfr_plus import Solver
from mccfr_plus.solver import tree_choice
from mccfr_plus.tree.memory import MemoryPlan, release_unused, resident_bytes

PLENTY = MemoryPlan(
    limit=10**9,
    max_nodes=1 << 17,
    max_transient=1 << 15,
    max_infosets=1 << 15,
    max_slots=1 << 17,
    infoset_cost=100,
    slot_cost=50,
    infosets_bytes=10**9,
    state_bytes=1 << 20,
)


def beside_this_process(size: float) -> int:
    """Returns a limit on memory with this many bytes to spare, whatever the tests before have left in the process."""
    release_unused()
    return resident_bytes() + int(size)


def lazy_solver(game: Any, *arguments: Any, plan: MemoryPlan = PLENTY, **options: Any) -> Solver:
    """Returns a solver on a lazy tree, with as many places as the plan says."""
    before = tree_choice.plan_memory
    tree_choice.plan_memory = lambda *_, **__: plan
    try:
        return Solver(game, *arguments, tree="lazy", **options)
    finally:
        tree_choice.plan_memory = before


def pair(name: str, *arguments: Any, plan: MemoryPlan = PLENTY, keys: str = "hash", **options: Any) -> tuple:
    """Returns the same solver on a compiled and on a lazy tree; the name is one of `naive.game`."""
    whole = Solver(naive.tree_of(name), *arguments, **options)
    return whole, lazy_solver(naive.game(name), *arguments, plan=plan, keys=keys, **options)


def assert_same_bits(whole: Solver, lazy: Solver) -> None:
    """Asserts that everything that a run has computed is the same, whatever the order of slots."""
    tree, found = whole.tree, lazy.tree
    ours, theirs = whole._engine, lazy._engine
    mine, other, num_found = [], [], 0
    for infoset, text in enumerate(tree.info_states):
        player = int(tree.arrays.infosets["player"][infoset])
        number, slots = found.infoset(text, player), tree.slots(infoset)
        mine.append(np.arange(slots.start, slots.stop))
        if number is None:  # nothing was computed there
            count = slots.stop - slots.start
            assert (ours.strategy[slots] == 1.0 / count).all()
            mine.pop()
            continue
        num_found += 1
        assert found.legal_actions(number) == tree.legal_actions(infoset)
        other.append(np.arange(found.slots(number).start, found.slots(number).stop))
    assert num_found == found.num_infosets
    mine, other = np.concatenate(mine), np.concatenate(other)
    assert ours.strategy[mine].tobytes() == theirs.strategy[other].tobytes()
    assert ours.tables[:, mine].tobytes() == theirs.tables[:, other].tobytes()
    assert ours.average[mine].tobytes() == theirs.average[other].tobytes()
    assert ours.average[tree.num_slots :].tobytes() == theirs.average[found.slot_capacity :].tobytes()
    assert whole.average_strategy()[mine].tobytes() == lazy.average_strategy()[other].tobytes()
    for one, two in zip(ours.scratches, theirs.scratches, strict=True):
        assert one.rng[0] == two.rng[0]
    assert (whole.iterations, whole.nodes_touched) == (lazy.iterations, lazy.nodes_touched)
