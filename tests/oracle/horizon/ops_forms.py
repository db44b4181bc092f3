# SPDX-License-Identifier: Apache-2.0
"""What further nodes compute: shifts, comparisons, pads, shuffles, and the
standard operators that stand between those of the domain. See ops.py."""
import fractions
import math

import numpy as np

from rules import I64, ints, saturate, shift, width

Q = fractions.Fraction


def bit_shift(attrs, inputs, dtypes, rules):
    x, n, bits = inputs[0].astype(I64), ints(attrs, "shift"), width(dtypes[0])
    if attrs["direction"] == "RIGHT":
        return [saturate(shift(x, n, rules["bitshift.right"]), bits)]
    v = x << n
    return [saturate(v, bits) if rules["bitshift.left"] == "sat" else v]


def compare(attrs, inputs, dtypes, rules):
    x, e = [v.astype(I64) for v in inputs]
    which = attrs["comparison"]
    if which == "Equal":
        return [x == e]
    equals = which.endswith("OrEqual")
    if rules["compare.equals"] != "as named":
        equals = rules["compare.equals"] == "count"
    strict = x > e if which.startswith("Greater") else x < e
    return [strict | (x == e) if equals else strict]


# ---- pads -------------------------------------------------------------------

def padded_axis(x, axis, before, after, mode, value):
    size = x.shape[axis]
    if mode == "constant":
        room = [np.full(x.shape[:axis] + (n,) + x.shape[axis + 1:], value,
                        x.dtype) for n in (before, after)]
        return np.concatenate([room[0], x, room[1]], axis)
    at = []
    for i in range(-before, size + after):
        if mode == "edge":
            at.append(min(max(i, 0), size - 1))
            continue
        skip = 0 if mode == "reflect" else 1  # the cell at the border again
        if i < 0:
            i = -i - skip
        if i >= size:
            i = 2 * (size - 1) - i + skip
        at.append(i)
    return np.take(x, at, axis)


def padded(x, pads, mode, value, rules):
    if rules["pad.value"] == "zero":
        value = 0
    if mode == "reflect" and rules["pad.reflect"] == "with the border":
        mode = "symmetric"
    for axis in range(x.ndim):
        x = padded_axis(x, axis, int(pads[axis]), int(pads[x.ndim + axis]),
                        mode, value)
    return x


def hz_pad(attrs, inputs, dtypes, rules):
    value = inputs[1].reshape(-1)[0] if len(inputs) > 1 else 0
    return [padded(inputs[0], attrs["pads"], attrs["mode"], value, rules)]


def std_pad(attrs, inputs, dtypes, rules):
    value = inputs[2].reshape(-1)[0] if len(inputs) > 2 else 0
    return [padded(inputs[0], inputs[1], attrs.get("mode", "constant"), value,
                   rules)]


# ---- what only moves --------------------------------------------------------

def depth_to_space(attrs, inputs, dtypes, rules):
    x, b = inputs[0], attrs["blocksize"]
    n, h, w, c = x.shape
    out = np.empty((n, h * b, w * b, c // (b * b)), x.dtype)
    each = out.shape[3]
    for i in range(b):
        for j in range(b):
            if attrs["mode"] == "CRD" and rules["d2s.crd"] == "channel first":
                out[:, i::b, j::b] = x[..., i * b + j::b * b]
            else:
                at = (i * b + j) * each
                out[:, i::b, j::b] = x[..., at:at + each]
    return [out]


def shuffle(attrs, inputs, dtypes, rules):
    """Channel k of group g goes to k * groups + g."""
    x, groups = inputs[0], attrs["group"]
    each, out = x.shape[3] // groups, np.empty_like(x)
    for g in range(groups):
        if rules["shuffle.to"] == "interleaved":
            out[..., g::groups] = x[..., g * each:(g + 1) * each]
        else:
            out[..., g * each:(g + 1) * each] = x[..., g::groups]
    return [out]


# ---- standard operators -----------------------------------------------------

def several(mean):
    """Floats, pair by pair in binary32."""
    def op(attrs, inputs, dtypes, rules):
        v = inputs[0].astype(np.float32)
        for x in inputs[1:]:
            v = v + x.astype(np.float32)
        return [v / np.float32(len(inputs)) if mean else v]
    return op


def place(how, i, scale, size, count):
    if how == "asymmetric":
        return i / scale
    if how == "align_corners":
        return Q(i * (size - 1), count - 1) if count > 1 else Q(0)
    if how == "pytorch_half_pixel" and count == 1:
        return Q(0)
    return (i + Q(1, 2)) / scale - Q(1, 2)


def nearest(attrs, inputs, dtypes, rules):
    """Resize by repeating and leaving out cells; fractions, no floats."""
    x = inputs[0]
    how = attrs.get("coordinate_transformation_mode", "half_pixel")
    which = attrs.get("nearest_mode", "round_prefer_floor")
    if rules["nearest.place"] != "as named":
        how = rules["nearest.place"]
    sizes = inputs[3] if len(inputs) > 3 else None
    for axis in range(x.ndim):
        size = x.shape[axis]
        if sizes is not None:
            count = int(sizes[axis])
            scale = Q(count, size)
        else:
            scale = Q(float(inputs[2][axis]))
            count = math.floor(size * scale)
        at = []
        for i in range(count):
            p = place(how, i, scale, size, count)
            k = {"floor": math.floor(p), "ceil": math.ceil(p),
                 "round_prefer_floor": math.ceil(p - Q(1, 2)),
                 "round_prefer_ceil": math.floor(p + Q(1, 2))}[which]
            at.append(min(max(k, 0), size - 1))
        x = np.take(x, at, axis)
    return [x]


OPS = {
    "HzQuantizedBitShift": bit_shift, "HzQuantizedComparison": compare,
    "HzPad": hz_pad, "Pad": std_pad, "HzDepthToSpace": depth_to_space,
    "HzChannelShuffle": shuffle, "Sum": several(False),
    "Mean": several(True), "Resize": nearest,
}
