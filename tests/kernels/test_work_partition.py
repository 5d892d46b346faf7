"""Who owns which infoset: whole subtrees, about as much for each thread, and what is above them is nobody's."""

import naive
import numpy as np
import pytest

from mccfr_plus import Solver
from mccfr_plus.kernels.loops import work_partition as shares
from mccfr_plus.kernels.loops.work_partition import new_work_partition

UNOWNED = 0
PARTS = 4  # a subtree holds at most one part in (this * threads) of its player's slots
GAMES = ["kuhn_poker(players=3)", "leduc_poker", "goofspiel(num_cards=4,imp_info=True,points_order=descending)"]


class Owned:
    """Owners per infoset, read from the words of `WorkPartition.owners` by their definition."""

    def __init__(self, tree, threads):
        self.tree, self.infosets = tree, tree.arrays.infosets
        words = new_work_partition(tree.arrays, threads, True).owners
        self.num_cells = new_work_partition(tree.arrays, threads, True).num_cells
        self.owner, self.cell, infoset_of = [], [], {}
        for number, infoset in enumerate(self.infosets):
            first, count = int(infoset["first_slot"]), int(infoset["num_actions"])
            assert len({int(word) for word in words[first : first + count]}) == 1, "actions of one infoset"
            self.owner.append(int(words[first]) % 256)
            self.cell.append(int(words[first]) // 256)
            infoset_of.update(dict.fromkeys(range(first, first + count), number))
        self.parent = [infoset_of.get(int(infoset["parent_slot"])) for infoset in self.infosets]

    def slots_below(self, player):
        """Returns {infoset of the player: slots of it and of all its descendants}."""
        begin, end = self.tree.arrays.infoset_range[player : player + 2]
        below = {number: int(self.infosets[number]["num_actions"]) for number in range(begin, end)}
        for number in range(end - 1, begin - 1, -1):
            if self.parent[number] is not None:
                below[self.parent[number]] += below[number]
        return below


@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize("game", GAMES)
def test_threads_own_whole_subtrees(game, threads):
    owned = Owned(naive.tree_of(game), threads)
    tops = []
    for number, (owner, cell, parent) in enumerate(zip(owned.owner, owned.cell, owned.parent, strict=True)):
        above = UNOWNED if parent is None else owned.owner[parent]
        if above != UNOWNED:
            assert (owner, cell) == (above, 0)
        elif owner != UNOWNED:
            tops.append(number)
        else:
            assert cell == 0
    assert sorted(owned.cell[number] for number in tops) == list(range(1, owned.num_cells + 1))


@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize("game", GAMES)
def test_shares_are_about_equal(game, threads):
    """The thread that has least gets the next subtree, so that no two are further apart than the largest of these."""
    owned = Owned(naive.tree_of(game), threads)
    for player in range(owned.tree.num_players):
        below = owned.slots_below(player)
        begin, end = owned.tree.arrays.slot_range[player : player + 2]
        limit = (end - begin) // (PARTS * threads)
        loads = np.zeros(threads, int)
        for number, slots in below.items():
            if owned.owner[number] == UNOWNED:
                assert slots > limit, "what is small enough is given away"
            else:
                assert slots <= limit
                loads[owned.owner[number] - 1] += int(owned.infosets[number]["num_actions"])
        assert loads.max() - loads.min() <= limit


def test_too_many_subtrees_to_number_are_not_shared_out(monkeypatch):
    tree = naive.tree_of("leduc_poker")
    cells = new_work_partition(tree.arrays, 2, True).num_cells
    monkeypatch.setattr(shares, "_MOST_CELLS", cells)
    assert new_work_partition(tree.arrays, 2, True).num_cells == cells
    monkeypatch.setattr(shares, "_MOST_CELLS", cells - 1)
    found = new_work_partition(tree.arrays, 2, True)
    assert found.num_cells == 0
    assert not found.owners.any()


def test_most_of_a_game_is_shared_out():
    owned = Owned(naive.tree_of("leduc_poker"), 2)
    assert {1, 2} <= set(owned.owner)
    assert owned.owner.count(UNOWNED) < 0.05 * len(owned.owner)


@pytest.mark.parametrize(
    ("minimizer", "averaging", "is_shared"),
    [("rm", "lazy", True), ("rm+", "stochastic", True), ("hedge", "lazy", True), ("ftrl", "uniform", False)],
)
def test_what_needs_more_than_an_infoset_is_not_shared_out(minimizer, averaging, is_shared):
    tree = naive.tree_of("leduc_poker")
    solver = Solver(tree, "external", minimizer, averaging, threads=2)
    assert (solver._engine._partition.num_cells > 0) == is_shared
