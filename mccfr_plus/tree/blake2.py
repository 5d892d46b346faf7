"""BLAKE2b in a kernel: the keys of information states, the same bits as `hashlib.blake2b` gives.

Reference: Saarinen, Aumasson 2015, RFC 7693, "The BLAKE2 cryptographic hash and message authentication code", sections
2.6 to 3.3.
"""

import numpy as np

from mccfr_plus.kernels.compile import inline_kernel, kernel

_BLOCK = 128  # bytes
NUM_WORDS = 16 + 16 + 8  # of scratch memory: the working vector, the message block and the state

_IV = np.array(
    [
        0x6A09E667F3BCC908,
        0xBB67AE8584CAA73B,
        0x3C6EF372FE94F82B,
        0xA54FF53A5F1D36F1,
        0x510E527FADE682D1,
        0x9B05688C2B3E6C1F,
        0x1F83D9ABFB41BD6B,
        0x5BE0CD19137E2179,
    ],
    np.uint64,
)
_PERMUTATIONS = (
    "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15",
    "14 10 4 8 9 15 13 6 1 12 0 2 11 7 5 3",
    "11 8 12 0 5 2 15 13 10 14 3 6 7 1 9 4",
    "7 9 3 1 13 12 11 14 2 6 5 10 4 0 15 8",
    "9 0 5 7 2 4 10 15 14 1 11 12 6 8 3 13",
    "2 12 6 10 0 11 8 3 4 13 7 5 15 14 1 9",
    "12 5 1 15 14 13 4 10 0 7 6 3 9 2 8 11",
    "13 11 7 14 12 1 3 9 5 0 15 4 8 6 2 10",
    "6 15 14 9 11 3 0 8 12 2 13 7 1 4 10 5",
    "10 2 8 4 7 6 1 5 15 11 9 14 3 12 13 0",
)
_SIGMA = np.array([row.split() for row in (*_PERMUTATIONS, *_PERMUTATIONS[:2])]).astype(np.int64)


@inline_kernel
def _rotated(word, bits):
    return (word >> np.uint64(bits)) | (word << np.uint64(64 - bits))


@inline_kernel
def _mix(v, a, b, c, d, x, y):
    """RFC 7693, section 3.1."""
    v[a] = v[a] + v[b] + x
    v[d] = _rotated(v[d] ^ v[a], 32)
    v[c] = v[c] + v[d]
    v[b] = _rotated(v[b] ^ v[c], 24)
    v[a] = v[a] + v[b] + y
    v[d] = _rotated(v[d] ^ v[a], 16)
    v[c] = v[c] + v[d]
    v[b] = _rotated(v[b] ^ v[c], 63)


@kernel
def blake2b(data, size, digest_size, scratch):
    """Writes the digest of the first `size` bytes of `data`, unkeyed, to the last 8 words of `scratch`.

    Args:
        data: uint8.
        size: How many bytes.
        digest_size: Bytes of the digest that will be read, which is part of what is hashed.
        scratch: ``[NUM_WORDS]`` uint64. Modified in place.
    """
    v, m, h = scratch[:16], scratch[16:32], scratch[32:40]
    for i in range(8):
        h[i] = _IV[i]
    h[0] ^= np.uint64(0x01010000) ^ np.uint64(digest_size)
    done = 0
    while True:
        end = min(size - done, _BLOCK)
        for word in range(16):
            value = np.uint64(0)
            for byte in range(8 * word, min(8 * word + 8, end)):
                value |= np.uint64(data[done + byte]) << np.uint64(8 * (byte - 8 * word))
            m[word] = value
        done += end
        for i in range(8):
            v[i] = h[i]
            v[i + 8] = _IV[i]
        v[12] ^= np.uint64(done)
        if done == size:
            v[14] ^= np.uint64(0xFFFFFFFFFFFFFFFF)
        for turn in range(12):
            s = _SIGMA[turn]
            _mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]])
            _mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]])
            _mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]])
            _mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]])
            _mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]])
            _mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]])
            _mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]])
            _mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]])
        for i in range(8):
            h[i] ^= v[i] ^ v[i + 8]
        if done == size:
            return
