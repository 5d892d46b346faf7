"""SplitMix64 against its published numbers, and seeds."""

import naive
import numpy as np
import pytest

from mccfr_plus import ConfigError
from mccfr_plus.kernels.intrinsics import next_double, next_word
from mccfr_plus.parameters import new_state

KNOWN = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]


def test_known_words_and_their_first_53_bits():
    state, twin = np.array([1234567], np.uint64), naive.SplitMix(1234567)
    assert [int(next_word(state)) for _ in KNOWN] == [twin.next_word() for _ in KNOWN] == KNOWN
    state[0] = 1234567
    assert [next_double(state) for _ in KNOWN] == [(word >> 11) / 2**53 for word in KNOWN]


def test_seeds():
    assert new_state(5) == new_state(5) == new_state(np.int64(5))
    assert new_state(5) != new_state(6)
    assert new_state(None) != new_state(None)
    assert new_state(np.random.default_rng(1)) == new_state(np.random.default_rng(1))
    generator = np.random.default_rng(1)
    assert new_state(generator) != new_state(generator)


@pytest.mark.parametrize("seed", [-1, 1.0, "1", True, [1]])
def test_bad_seeds(seed):
    with pytest.raises(ConfigError, match="seed="):
        new_state(seed)
