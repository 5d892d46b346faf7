"""Keys of information states: 128 bits, all of them used; collisions found where they are looked for."""

import hashlib
import struct

import naive
import pytest
from lazy_games import FaultyState
from lazy_trees import differences, lazy_solver, pair

from mccfr_plus import ConfigError, GameError
from mccfr_plus.trees import keys as keys_module
from mccfr_plus.trees.keys import KINDS, Keys, digest_of_text

WORDS = struct.Struct("<qqq")


def weak(low_bits, high_bits, check_bits=64):
    """Returns a digest of which only some bits differ."""

    def digest(text):
        low, high, check = struct.unpack("<QQQ", digest_of_text(text))
        parts = (word & ((1 << bits) - 1) for word, bits in ((low, low_bits), (high, high_bits), (check, check_bits)))
        return struct.pack("<QQQ", *parts)

    return digest


@pytest.fixture
def digest(monkeypatch):
    return lambda function: monkeypatch.setattr(keys_module, "digest_of_text", function)


def test_the_digest_is_blake2b():
    assert digest_of_text("abc") == hashlib.blake2b(b"abc", digest_size=24).digest()
    assert Keys("hash").find("abc") == WORDS.unpack(digest_of_text("abc"))[:2]


@pytest.mark.parametrize("bits", [(64, 0), (0, 64)])
@pytest.mark.parametrize("keys", ["hash", "checked"])
def test_both_words_tell_infosets_apart(digest, bits, keys):
    """Half the key is enough here, whichever half, so that neither is left out."""
    digest(weak(*bits))
    whole, lazy = pair("leduc_poker", "external", keys=keys, seed=3)
    assert differences(whole.run(100), lazy.run(100)) == []


@pytest.mark.parametrize("bits", [(0, 0), (2, 2)])
def test_a_collision_is_found_by_checked_keys_alone(digest, bits):
    """In a game in which all infosets have the same actions."""
    digest(weak(*bits))
    for keys in KINDS:
        solver = lazy_solver("python_faulty(length=4)", "outcome", averaging="stochastic", keys=keys, seed=1)
        if keys == "checked":
            with pytest.raises(GameError, match=r"at history \[.*has the 128-bit key of another one.*keys='text'"):
                solver.run(1000)
        else:
            solver.run(1000)
            # With one key for all, a player has one infoset; the texts do not know about digests.
            most = 2 * (1 << sum(bits))
            found = solver.tree.num_infosets
            assert most / 2 < found <= most if keys == "hash" else found > most


@pytest.mark.parametrize("keys", ["hash", "checked"])
def test_a_collision_of_infosets_with_different_actions(digest, keys):
    digest(weak(0, 0, 0))
    with pytest.raises(GameError, match=r"leduc_poker\(\), at history \[.*\], action .* two sets of legal actions, \["):
        lazy_solver("leduc_poker", "external", keys=keys, seed=1).run(100)


@pytest.mark.parametrize("keys", KINDS)
def test_players_with_the_same_texts_have_infosets_of_their_own(monkeypatch, keys):
    monkeypatch.setattr(FaultyState, "information_state_string", lambda state, player=None: str(len(state._moves) // 2))
    solver = lazy_solver("python_faulty(length=4)", "outcome", averaging="stochastic", keys=keys, seed=1).run(50)
    assert solver.tree.num_infosets == 4
    assert solver.tree.infoset("0", 0) != solver.tree.infoset("0", 1)


def test_texts_are_kept_and_restored():
    solver = lazy_solver("leduc_poker", "external", keys="text", seed=1).run(50)
    tree, whole = solver.tree, naive.tree_of("leduc_poker")
    texts = tree.info_states
    assert len(texts) == len(set(texts)) == tree.num_infosets
    assert set(texts) <= set(whole.info_states)
    for number, text in enumerate(texts):
        assert tree.infoset(text) == number
    twin, copy = Keys("text"), tree.keys.copy()
    twin.restore(tree.keys.as_bytes())
    for other in (twin, copy):
        assert other.texts == tree.keys.texts
        assert other.find(texts[3]) == tree.keys.find(texts[3])
        assert other.find("nonsense") is None
    copy.new("another one")
    assert "another one" not in tree.keys.texts


def test_unknown_kinds():
    with pytest.raises(ConfigError, match="keys='md5': give one of hash, checked, text"):
        Keys("md5")
