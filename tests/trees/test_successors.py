"""The table that leads from infoset to infoset, against a dictionary."""

from __future__ import annotations

import numpy as np
import pytest
from lazy_trees import beside_this_process

from mccfr_plus import Solver
from mccfr_plus.kernels.intrinsics import address_of
from mccfr_plus.kernels.slots import bind
from mccfr_plus.trees.by_rules import successors as n

COUNT_BITS, MAX_COUNT = 5, 31


class Table:
    """A table with room for so many slots and infosets."""

    def __init__(self, slots, infosets, log_words_per_slot):
        self.expansion = np.zeros(n.NUM_BLOCK_WORDS + 1, np.int64)
        self.words = np.zeros(slots << log_words_per_slot, np.int64)
        self.blocks = np.zeros(n.most_block_words(infosets, False), np.int64)
        self.expansion[[n.WORDS, n.BLOCKS]] = address_of(self.words), address_of(self.blocks)
        constants = {n.COUNT_BITS: COUNT_BITS, n.LOG_WORDS_PER_SLOT: log_words_per_slot}
        self._find, self._enter = (bind(each, constants, partial=True) for each in (n.find, n.enter))

    def enter(self, slot, code, first, count):
        self._enter(self.expansion, slot, code, count << 32 | first)

    def find(self, slot, code):
        found = int(self._find(self.expansion, slot, code))
        return (found & 0xFFFFFFFF, found >> 32) if found else None


@pytest.mark.parametrize("log_words_per_slot", [0, 1])
@pytest.mark.parametrize("codes", [2, 25, 1 << n.bits_of_codes(MAX_COUNT)])
def test_it_finds_what_a_dictionary_finds(codes, log_words_per_slot):
    rng = np.random.default_rng(1)
    table, known = Table(50, 2000, log_words_per_slot), {}
    for _ in range(2000):
        slot, code = int(rng.integers(50)), int(rng.integers(codes))
        assert table.find(slot, code) == known.get((slot, code))
        if (slot, code) not in known:
            known[slot, code] = int(rng.integers(1 << 31)), int(rng.integers(1, MAX_COUNT + 1))
            table.enter(slot, code, *known[slot, code])
    assert all(table.find(*place) == infoset for place, infoset in known.items())


@pytest.mark.parametrize("stride", [1, 64])
def test_blocks_never_take_more_than_they_are_said_to(stride):
    table = Table(1, 300, 0)
    for entered in range(1, 301):
        table.enter(0, stride * entered, entered, 1)
        assert table.expansion[n.NUM_BLOCK_WORDS] <= n.most_block_words(entered, False)


def test_one_successor_takes_no_block():
    table = Table(3, 3, 0)
    for slot in range(3):
        table.enter(slot, 24, 7 * slot, 2)
    assert table.expansion[n.NUM_BLOCK_WORDS] == 0
    assert table.find(2, 24) == (14, 2)


@pytest.mark.usefixtures("interpreted_loops")
def test_a_checkpoint_holds_the_blocks(tmp_path):
    def solver(**options):
        return Solver("liars_dice(numdice=2)", "outcome", tree="rules", seed=1, **options)

    once, half = solver(memory=beside_this_process(1e9)).run(400), solver(memory=beside_this_process(1e9)).run(200)
    assert half.tree.sizes().block_words > 0
    half.save_checkpoint(tmp_path / "half")
    loaded = solver(memory=beside_this_process(5e8)).run(10)
    loaded.restore(tmp_path / "half")
    loaded.run(200)
    assert loaded.tree.sizes() == once.tree.sizes()
    assert (loaded.average_strategy() == once.average_strategy()).all()
