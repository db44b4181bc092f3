# SPDX-License-Identifier: Apache-2.0
"""Integers of the stand-in's arithmetic: exact, in int64, every bound checked.

Written from docs/numerics.md, "Steps"; nothing is shared with what it judges.
"""
import numpy as np

I64 = np.int64
LIMIT = 1 << 63


def largest(v):
    """The largest magnitude, as a Python integer."""
    v = np.asarray(v)
    return max(abs(int(v.min())), abs(int(v.max()))) if v.size else 0


def check(bound):
    if bound >= LIMIT:
        raise OverflowError("the stand-in leaves 64 bits: %d" % bound)


def add(a, b):
    check(largest(a) + largest(b))
    return a + b


def mul(a, b):
    check(largest(a) * largest(b))
    return a * b


def shl(v, n):
    check(largest(v) << largest(n))
    return v << n


def shr(v, n, how):
    """v / 2^n to an integer by one of the eight roundings; 0 <= n <= 62."""
    v, n = np.broadcast_arrays(np.asarray(v, I64), np.asarray(n, I64))
    if n.size and (n.min() < 0 or n.max() > 62):
        raise ValueError("shift by %d" % (n.min() if n.min() < 0 else n.max()))
    q = v >> n
    rest = v - (q << n)
    half = np.where(n > 0, I64(1) << np.maximum(n - 1, 0), 1)
    tie, above = rest == half, rest > half
    up = {
        "floor": np.zeros(v.shape, bool),
        "ceil": rest > 0,
        "trunc": (v < 0) & (rest > 0),
        "half_up": above | tie,
        "half_even": above | (tie & (q % 2 != 0)),
        "half_away": above | (tie & (v >= 0)),
        "half_down": above,
        "half_zero": above | (tie & (v < 0)),
    }[how]
    return q + up


def limits(bits):
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def sat(v, bits):
    return np.clip(v, *limits(bits))


def wrap(v, bits):
    low = limits(bits)[0]
    return ((np.asarray(v, I64) - low) & ((1 << bits) - 1)) + low
