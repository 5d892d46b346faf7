"""The short way from a kernel to pyspiel: the same answers as the expander's, and nothing leaks."""

import ctypes
import gc
import hashlib
import sys

import numpy as np
import pyspiel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lazy_trees import lazy_solver

from mccfr_plus.tree import asking
from mccfr_plus.tree import short_cut as short_cut_module
from mccfr_plus.tree.blake2 import NUM_WORDS, blake2b
from mccfr_plus.tree.expander import Expander
from mccfr_plus.tree.short_cut import ShortCut

GAMES = ["leduc_poker", "phantom_ttt", "liars_dice(numdice=2)", "kuhn_poker(players=3)"]


@given(st.binary(max_size=600), st.integers(1, 64))
def test_blake2b_is_that_of_the_standard_library(data, size):
    scratch = np.zeros(NUM_WORDS, np.uint64)
    array = np.frombuffer(data + b"behind", np.uint8).copy()
    blake2b(array, len(data), size, scratch)
    assert scratch[32:].tobytes()[:size] == hashlib.blake2b(data, digest_size=size).digest()


@pytest.mark.parametrize("size", [0, 1, 127, 128, 129, 255, 256, 257, 10_000])
def test_blake2b_at_the_borders_of_blocks(size):
    scratch, data = np.zeros(NUM_WORDS, np.uint64), np.arange(size, dtype=np.int64).astype(np.uint8)
    blake2b(data, size, 24, scratch)
    assert scratch[32:35].tobytes() == hashlib.blake2b(data.tobytes(), digest_size=24).digest()


@pytest.mark.parametrize("game", GAMES)
def test_both_ways_grow_the_same_tree(game, monkeypatch):
    short = lazy_solver(game, "outcome", seed=1).run(300)
    expander = short.tree.expander
    assert expander.short_cut is not None
    monkeypatch.setattr(ShortCut, "can_ask", lambda game: False)
    long = lazy_solver(game, "outcome", seed=1).run(300)
    assert long.tree.expander.short_cut is None
    assert short.tree.num_asked == long.tree.num_asked > 300
    assert short.tree.num_nodes == long.tree.num_nodes
    for name, array in short.tree.state(short.tree.sizes()).items():
        other = long.tree.state(long.tree.sizes())[name]
        assert array.tobytes() == other.tobytes(), name
    assert short.average_strategy().tobytes() == long.average_strategy().tobytes()


@pytest.mark.parametrize("places", [1, 16])
@pytest.mark.parametrize(("game", "estimator"), [*((game, "outcome") for game in GAMES), ("leduc_poker", "external")])
def test_states_that_are_not_kept_are_played_again(game, estimator, places, monkeypatch):
    plain = lazy_solver(game, estimator, seed=1).run(30)
    monkeypatch.setattr(short_cut_module, "_MOST_PLACES", places)
    look, looks = Expander._older_state, []
    monkeypatch.setattr(Expander, "_older_state", lambda self, node: looks.append(node) or look(self, node))
    replaying = lazy_solver(game, estimator, seed=1)
    assert replaying.tree.expander.short_cut.array[asking.NUM_PLACES] == places
    replaying.run(30)
    if game == "phantom_ttt":  # the others' chance nodes are asked for in Python; here, only new payoffs are
        assert len(looks) <= 3
    for name, array in replaying.tree.state(replaying.tree.sizes()).items():
        assert array.tobytes() == plain.tree.state(plain.tree.sizes())[name].tobytes(), name
    assert replaying.average_strategy().tobytes() == plain.average_strategy().tobytes()


def test_the_frontier_is_seldom_asked(monkeypatch):
    """Or the tests above would compare it with itself."""
    solver = lazy_solver("leduc_poker", "outcome", seed=1)
    calls = []
    look = solver.tree.expander._older_state
    monkeypatch.setattr(solver.tree.expander, "_older_state", lambda node: calls.append(node) or look(node))
    solver.run(2000)
    assert solver.tree.num_asked > 3000
    assert len(calls) < solver.tree.num_asked / 5


def test_games_in_python_are_asked_in_python():
    assert not ShortCut.can_ask(pyspiel.load_game("python_kuhn_poker"))
    assert ShortCut.can_ask(pyspiel.load_game("kuhn_poker"))


@pytest.mark.parametrize(("game", "estimator"), [("phantom_ttt", "outcome"), ("leduc_poker", "external")])
def test_states_go_with_their_tree(game, estimator):
    """An object of a type made at run time holds a reference to it, so that they can be counted."""
    kind = type(pyspiel.load_game(game).new_initial_state())
    gc.collect()
    before = sys.getrefcount(kind)
    solver = lazy_solver(game, estimator, seed=1).run(20)
    assert sys.getrefcount(kind) > before + 5
    solver.tree.evict()
    del solver
    gc.collect()
    assert sys.getrefcount(kind) == before


def test_a_state_that_a_broken_off_walk_has_left_is_given_back():
    """A traversal that ends plays its last state on to a leaf; only one that an error has broken off leaves it there."""
    short_cut = lazy_solver("phantom_ttt", "outcome", seed=1).run(5).tree.expander.short_cut
    state = pyspiel.load_game("phantom_ttt").new_initial_state()
    before = sys.getrefcount(state)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(state))
    short_cut.scratch[0, [asking.LAST_NODE, asking.LAST_STATE]] = 1, id(state)
    short_cut.evict_states(-1)
    assert sys.getrefcount(state) == before
    assert not short_cut.scratch[0, [asking.LAST_NODE, asking.LAST_STATE]].any()


def test_references_are_given_back():
    """Neither integers nor functions gain references for good, and states go with their tree."""
    function = pyspiel.State.__dict__["child"].__func__
    before = sys.getrefcount(function), sys.getrefcount(3)
    for seed in range(5):
        solver = lazy_solver("leduc_poker", "outcome", seed=seed).run(500)
        del solver
    gc.collect()
    after = sys.getrefcount(function), sys.getrefcount(3)
    assert after[0] - before[0] < 10
    assert abs(after[1] - before[1]) < 2000  # of small integers, others hold some too
