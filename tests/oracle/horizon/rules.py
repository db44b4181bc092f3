# SPDX-License-Identifier: Apache-2.0
"""The rules of the fixed-point arithmetic, each under a name, and integers.

An executor is given a dict of rules. DEFAULT is what the models mean; a
mutation is DEFAULT with one or two names changed (mutations.py).

A rounding is floor, half_up, half_even or half_away. `first` is the shift
right behind the accumulator, `last` the one behind the multiplier.
"""
import numpy as np

I64 = np.int64

DEFAULT = {
    # What the sums do beyond 32 bits: wrap or saturate.
    "conv.acc": "wrap", "deconv.acc": "wrap", "add.acc": "wrap",
    "sub.acc": "wrap", "preprocess.acc": "wrap",
    # Saturation to 16 bits between the two shifts.
    "conv.s16": True, "deconv.s16": True, "preprocess.s16": True,
    "add.s16": True, "sub.s16": True, "mul.s16": True, "gap.s16": True,
    "mean.s16": True, "sum.s16": True, "matmul.s16": True,
    # The two shifts.
    "conv.first": "floor", "conv.last": "floor",
    "preprocess.first": "floor", "preprocess.last": "floor",
    "deconv.first": "floor", "deconv.last": "floor",
    "add.first": "floor", "add.last": "half_up",
    "sub.first": "floor", "sub.last": "half_up",
    "mul.first": "floor", "mul.last": "half_up",
    "mean.first": "floor", "mean.last": "half_up",
    "sum.first": "floor", "sum.last": "half_up",
    "matmul.first": "floor", "matmul.last": "half_up",
    "gap.first": "half_up", "gap.last": "half_up",
    "prelu.first": "floor", "prelu.last": "half_up",
    "requantize.last": "half_up",
    "conv.sumin": "floor",
    # Padding of an int16 convolution beyond the symmetric part.
    "conv.excess": 0,
    "prelu.sat": True,
    "lut16.index": "half_up", "lut16.mix": "half_up", "lut16.negated": "sat",
    "lut16.size": "sat",
    "avgpool.factor": "fixed", "avgpool.last": "floor",
    "resize.step": "floor", "resize.weight_bits": 8,
    "resize.once": "half_up", "resize.twice": "floor",
    "grid.rounded": "half_up", "grid.cut": "floor", "grid.nearest": "half_up",
    "grid.axes": "together", "grid.border": "clamped",
    "quantize.round": "half_even", "quantize.by": "division",
    "argmax.of": "first", "argmax.index": "wrap",
    "lut16.int8": "sat",
    "bitshift.right": "floor", "bitshift.left": "sat",
    "compare.equals": "as named",
    "pad.value": "given", "pad.reflect": "without the border",
    "d2s.crd": "channel first", "shuffle.to": "interleaved",
    "nearest.place": "as named",
}


def width(dtype):
    return np.dtype(dtype).itemsize * 8


def ints(attrs, key, default=None):
    """A list of one entry a channel, or of one for all."""
    v = attrs.get(key, default)
    if v is None:
        raise KeyError("attribute '%s' is missing" % key)
    return np.atleast_1d(np.asarray(v, I64))


def altered(**changes):
    """altered(conv__first="half_up"): DEFAULT but for these."""
    rules = dict(DEFAULT)
    for key, value in changes.items():
        name = key.replace("__", ".")
        assert name in rules and rules[name] != value, key
        rules[name] = value
    return rules


def shift(v, n, how):
    """v / 2^n to an integer; exact, for 0 <= n <= 62."""
    v, n = np.asarray(v, I64), np.asarray(n, I64)
    q = v >> n
    if how == "floor":
        return q
    rest = v - (q << n)
    half = np.where(n > 0, I64(1) << np.maximum(n - 1, 0), 1)
    if how == "half_up":
        up = rest >= half
    elif how == "half_even":
        up = (rest > half) | ((rest == half) & (q % 2 != 0))
    elif how == "half_away":
        up = (rest > half) | ((rest == half) & (v >= 0))
    else:
        raise ValueError(how)
    return q + up


def limits(bits):
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def saturate(v, bits):
    lo, hi = limits(bits)
    return np.minimum(np.maximum(v, lo), hi)


def accumulator(v, how):
    """The 32 bits that are left of an exact sum."""
    if how == "saturate":
        return saturate(v, 32)
    return np.asarray(v, I64).astype(np.uint64).astype(np.uint32).view(
        np.int32).astype(I64)


def finish(acc, rules, op, first, scale, last, bits):
    """Shift, saturate to 16 bits, multiply, shift, saturate."""
    v = shift(acc, first, rules[op + ".first"])
    if rules[op + ".s16"]:
        v = saturate(v, 16)
    return saturate(shift(v * scale, last, rules[op + ".last"]), bits)
