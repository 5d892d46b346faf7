"""Keys of information states: 128 bits, all of them used."""

import struct

import pytest
from lazy_games import FaultyState
from lazy_trees import differences, lazy_solver, pair

from mccfr_plus import GameError
from mccfr_plus.trees import info_states, lazy_tree
from mccfr_plus.trees.info_states import digest_of_text


def weak(low_bits, high_bits):
    """Returns a digest of which only some bits differ."""

    def digest(text):
        low, high = struct.unpack("<QQ", digest_of_text(text))
        return struct.pack("<QQ", low & ((1 << low_bits) - 1), high & ((1 << high_bits) - 1))

    return digest


@pytest.fixture
def digest(monkeypatch):
    def replace(function):
        for module in (info_states, lazy_tree):
            monkeypatch.setattr(module, "digest_of_text", function)

    return replace


@pytest.mark.parametrize("bits", [(64, 0), (0, 64)])
def test_both_words_tell_infosets_apart(digest, bits):
    """Half the key is enough here, whichever half, so that neither is left out."""
    digest(weak(*bits))
    whole, lazy = pair("leduc_poker", "external", seed=3)
    assert differences(whole.run(100), lazy.run(100)) == []


def test_a_collision_of_infosets_with_different_actions(digest):
    digest(weak(0, 0))
    with pytest.raises(GameError, match=r"leduc_poker\(\), at history \[.*\], action .* two sets of legal actions, \["):
        lazy_solver("leduc_poker", "external", seed=1).run(100)


@pytest.mark.usefixtures("interpreted_loops")
def test_players_with_the_same_texts_have_infosets_of_their_own(monkeypatch):
    monkeypatch.setattr(FaultyState, "information_state_string", lambda state, player=None: str(len(state._moves) // 2))
    solver = lazy_solver("python_faulty(length=4)", "outcome", averaging="stochastic", seed=1).run(50)
    assert solver.tree.num_infosets == 2 * (1 + 3)  # the second ones after each own action
    assert solver.tree.infoset("0", 0) != solver.tree.infoset("0", 1)
