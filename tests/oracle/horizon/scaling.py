# SPDX-License-Identifier: Apache-2.0
"""Multipliers and shifts that fit accumulators which were looked at."""
import numpy as np


def log2(v, how):
    """Of v >= 1 to an integer; the same on every machine."""
    part, power = np.frexp(np.maximum(np.asarray(v, np.float64), 1))
    if how == "ceil":
        return np.where(part > 0.5, power, power - 1)
    if how == "floor":
        return power - 1
    return np.where(part * part > 0.5, power, power - 1)  # nearest


def multipliers(rng, n):
    """In [2^14, 2^15); often round, since ties need that."""
    if rng.random() < 0.25:
        return rng.choice([16384, 24576, 20480, 28672], n)
    return rng.integers(16384, 32768, n)


def pick(rng, largest, bits, over, fill, scale=None):
    """(first shift, multiplier, last shift), one entry for each of `largest`.

    The largest accumulators become `over` times what 16 bits hold, and what
    is left of them `fill` times what the output holds.
    """
    largest = np.maximum(np.abs(np.asarray(largest, np.float64)), 1)
    first = np.clip(log2(largest / (32767.0 * over), "ceil"), 0, 31)
    if scale is None:
        scale = multipliers(rng, largest.size).reshape(largest.shape)
    kept = np.minimum(largest / 2.0 ** first, 32767.0)
    last = np.clip(log2(kept * scale / (fill * 2.0 ** (bits - 1)), "nearest"),
                   0, 31)
    return first.astype(int), np.asarray(scale), last.astype(int)


def largest(arrays, per_channel=True):
    """Of all samples, for each entry of the last axis or for all."""
    top = [np.abs(a.astype(np.float64)) for a in arrays]
    if not per_channel:
        return np.array([max(t.max() for t in top)])
    return np.max([t.reshape(-1, t.shape[-1]).max(0) for t in top], 0)


def listed(v):
    return [int(i) for i in np.ravel(v)]
