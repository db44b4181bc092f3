# SPDX-License-Identifier: Apache-2.0
"""What each node of a fixed-point model computes, in exact integers.

`run(node, inputs, dtypes, rules)` gives the node's outputs. A node is a
Node(op, attrs); inputs are arrays, None where one is left out; dtypes are
those of the outputs. Written from the description of the arithmetic, tap by
tap, and slow on purpose: nothing here is shared with what it judges.
"""
import collections

import numpy as np

import ops_forms
from rules import (I64, accumulator, finish, ints, limits, saturate, shift,
                   width)

Node = collections.namedtuple("Node", "op attrs")


def relu(v, attrs):
    return np.maximum(v, 0) if attrs.get("activation") == "relu" else v


# ---- windows ----------------------------------------------------------------

def axis_taps(size, kernel, stride, dilation, before, after, ceil=False):
    """Position of tap k of window o, as [o, k]; also outside the image."""
    room = size + before + after - dilation * (kernel - 1) - 1
    count = (-(-room // stride) if ceil else room // stride) + 1
    return (np.arange(count)[:, None] * stride - before +
            np.arange(kernel)[None, :] * dilation)


def taps(x, rows, cols, outside):
    """[n, oh, kh, ow, kw, c]; what lies outside is `outside`."""
    h, w = x.shape[1:3]
    v = x[:, np.clip(rows, 0, h - 1)][:, :, :, np.clip(cols, 0, w - 1)]
    out_r = (rows < 0) | (rows >= h)
    out_c = (cols < 0) | (cols >= w)
    gone = out_r[:, :, None, None] | out_c[None, None]
    return np.where(gone[None, ..., None], outside, v)


def pool_taps(x, attrs, outside):
    kernel, strides = attrs["kernel_shape"], attrs["strides"]
    t, l, b, r = attrs["pads"]
    ceil = bool(attrs.get("ceil_mode", 0))
    rows = axis_taps(x.shape[1], kernel[0], strides[0], 1, t, b, ceil)
    cols = axis_taps(x.shape[2], kernel[1], strides[1], 1, l, r, ceil)
    return taps(x.astype(I64), rows, cols, outside)


# ---- convolutions -----------------------------------------------------------

def window_sums(x, w, attrs, excess=0):
    """Sum of x*w over each window; w is [cout, kh, kw, cin / groups]."""
    cout, kh, kw, cin = w.shape
    groups = attrs.get("group", attrs.get("channel_group", 1))
    sh, sw = attrs.get("strides", [1, 1])
    dh, dw = attrs.get("dilations", [1, 1])
    t, l, b, r = attrs.get("pads", [0, 0, 0, 0])
    rows = axis_taps(x.shape[1], kh, sh, dh, t, b)
    cols = axis_taps(x.shape[2], kw, sw, dw, l, r)
    v = taps(x.astype(I64), rows, cols, 0)
    if excess:
        far = ((rows >= x.shape[1] + min(t, b))[:, :, None, None] |
               (cols >= x.shape[2] + min(l, r))[None, None])
        v = np.where(far[None, ..., None], excess, v)
    n, oh, _, ow, _, c = v.shape
    # Exact in binary64: no sum of ours comes near 2^53.
    v = v.transpose(0, 1, 3, 2, 4, 5).astype(np.float64)
    acc = np.empty((n, oh, ow, cout), I64)
    per = cout // groups
    for g in range(groups):
        a = v[..., g * cin:(g + 1) * cin].reshape(n * oh * ow, kh * kw * cin)
        k = w[g * per:(g + 1) * per].reshape(per, -1).astype(np.float64)
        acc[..., g * per:(g + 1) * per] = (a @ k.T).reshape(n, oh, ow, per)
    return acc


def conv(attrs, inputs, dtypes, rules, name="conv"):
    x, w = inputs[0], inputs[1]
    excess = 0
    if name == "conv" and x.dtype == np.int16:
        excess = rules["conv.excess"]
    acc = window_sums(x, w, attrs, excess)
    if len(inputs) > 2 and inputs[2] is not None:
        acc = acc + (inputs[2].astype(I64) << inputs[3].astype(I64))
    if attrs.get("use_sumin"):
        left = ints(attrs, "e_shift")
        e = inputs[4].astype(I64) << np.maximum(left, 0)
        acc = acc + shift(e * ints(attrs, "e_scale"), np.maximum(-left, 0),
                          rules["conv.sumin"])
    acc = accumulator(acc, rules[name + ".acc"])
    if not attrs.get("high_precision_output"):
        acc = finish(acc, rules, name, ints(attrs, "right_shift"),
                     ints(attrs, "scale"), ints(attrs, "out_shift"),
                     width(dtypes[0]))
    return [relu(acc, attrs)]


def preprocess(attrs, inputs, dtypes, rules):
    return conv(attrs, inputs, dtypes, rules, "preprocess")


def deconv(attrs, inputs, dtypes, rules):
    x, w, bias = [v.astype(I64) for v in inputs[:3]]
    cin, kh, kw, per = w.shape
    groups = attrs.get("group", 1)
    sh, sw = attrs["strides"]
    t, l, b, r = attrs["pads"]
    more = attrs.get("output_padding", [0, 0])
    n, h, wd, _ = x.shape
    room = np.zeros((n, (h - 1) * sh + kh + more[0],
                     (wd - 1) * sw + kw + more[1], groups * per), I64)
    part = cin // groups
    for y in range(h):
        for c in range(wd):
            for g in range(groups):
                i = slice(g * part, (g + 1) * part)
                room[:, y * sh:y * sh + kh, c * sw:c * sw + kw,
                     g * per:(g + 1) * per] += np.tensordot(
                         x[:, y, c, i], w[i], (1, 0))
    acc = room[:, t:room.shape[1] - b, l:room.shape[2] - r]
    acc = accumulator(acc + (bias << ints(attrs, "b_left_shift")),
                      rules["deconv.acc"])
    v = finish(acc, rules, "deconv", ints(attrs, "accu_right_shift"),
               ints(attrs, "y_quant_scale"), ints(attrs, "y_right_shift"),
               width(dtypes[0]))
    return [relu(v, attrs)]


# ---- element by element -----------------------------------------------------

def add_or_sub(name, sign):
    def op(attrs, inputs, dtypes, rules):
        x, e = [v.astype(I64) for v in inputs]
        x = x << ints(attrs, "x_shift")
        e = (e << ints(attrs, "e_shift", [0])) * ints(attrs, "e_scale")
        acc = accumulator(x + sign * e, rules[name + ".acc"])
        return [finish(acc, rules, name, ints(attrs, "accu_right_shift"),
                       ints(attrs, "output_scale"),
                       ints(attrs, "output_right_shift"), width(dtypes[0]))]
    return op


def mul(attrs, inputs, dtypes, rules):
    x, e = [v.astype(I64) for v in inputs]
    return [finish(x * e, rules, "mul", ints(attrs, "accu_right_shift"),
                   ints(attrs, "output_scale"),
                   ints(attrs, "output_right_shift"), width(dtypes[0]))]


def requantize(attrs, inputs, dtypes, rules):
    v = inputs[0].astype(I64) * ints(attrs, "output_scale")
    v = shift(v, ints(attrs, "output_right_shift"), rules["requantize.last"])
    return [saturate(v, attrs["bits"])]


def quantize(attrs, inputs, dtypes, rules):
    x, scale = inputs[0].astype(np.float32), inputs[1].astype(np.float32)
    with np.errstate(over="ignore"):
        if rules["quantize.by"] == "division":
            q = x / scale
        else:
            q = x * (np.float32(1) / scale)
        if rules["quantize.round"] == "half_even":
            q = np.rint(q)
        else:
            q = np.floor(q.astype(np.float64) + 0.5)
    lo, hi = limits(attrs["bits"])
    return [np.clip(q, lo, hi).astype(I64)]


def dequantize(attrs, inputs, dtypes, rules):
    scale = inputs[1].astype(np.float32)
    if scale.size > 1:
        shape = [1] * inputs[0].ndim
        shape[attrs.get("axis", 1)] = scale.size
        scale = scale.reshape(shape)
    return [inputs[0].astype(np.float32) * scale]


def prelu(attrs, inputs, dtypes, rules):
    x, slope = inputs[0].astype(I64), inputs[1].astype(I64).reshape(-1)
    last = rules["prelu.last"]
    pos = shift(x * ints(attrs, "positive_scale"),
                ints(attrs, "positive_right_shift"), last)
    neg = shift(x * slope, ints(attrs, "accu_right_shift"),
                rules["prelu.first"])
    neg = shift(neg * ints(attrs, "negative_scale"),
                ints(attrs, "negative_right_shift"), last)
    v = np.where(x < 0, neg, pos)
    return [saturate(v, width(dtypes[0])) if rules["prelu.sat"] else v]


def lut8(attrs, inputs, dtypes, rules):
    return [inputs[1].reshape(-1)[inputs[0].astype(I64) + 128]]


def lut16(attrs, inputs, dtypes, rules):
    x = inputs[0].astype(I64)
    table = ints(attrs, "table_param").reshape(6, 64)
    mode = attrs["symmetry_mode"]
    size = np.abs(x)
    if rules["lut16.size"] == "sat":
        size = saturate(size, 16)
    v = x if mode == "NONE" else size
    bound = ints(attrs, "bound")
    segment = (v[..., None] > bound[:7]).sum(-1)
    scale, bias, left, right = [
        ints(attrs, k)[segment]
        for k in ("scale", "bias", "left_shift", "right_shift")]
    line = shift(v * scale + (bias << left), right, rules["lut16.index"])
    at = np.clip(line, 0, 64 * 256 - 1)
    row, cell, part = np.clip(segment - 1, 0, 5), at // 256, at % 256
    mixed = shift(table[row, cell] * (256 - part) +
                  table[row, np.minimum(cell + 1, 63)] * part, 8,
                  rules["lut16.mix"])
    inner = (segment > 0) & (segment < 7)
    y = np.where(inner, mixed, saturate(line, 16))
    if mode == "ORIGIN_SYMMETRIC":
        turned = saturate(-y, 16) if rules["lut16.negated"] == "sat" else -y
        y = np.where(x < 0, turned, y)
    if width(dtypes[0]) == 8 and rules["lut16.int8"] == "sat":
        y = saturate(y, 8)
    return [y]


# ---- pools and reductions ---------------------------------------------------

def max_pool(attrs, inputs, dtypes, rules):
    return [pool_taps(inputs[0], attrs, limits(40)[0]).max((2, 4))]


def average_pool(attrs, inputs, dtypes, rules):
    total = pool_taps(inputs[0], attrs, 0).sum((2, 4))
    cells = attrs["kernel_shape"][0] * attrs["kernel_shape"][1]
    n = attrs["scale"]
    if rules["avgpool.factor"] == "fixed":
        v = shift(total * ((1 << n) // cells), n, rules["avgpool.last"])
    else:
        v = total // cells
    return [saturate(v, width(dtypes[0]))]


def global_average(attrs, inputs, dtypes, rules):
    total = inputs[0].astype(I64).sum((1, 2), keepdims=True)
    if width(dtypes[0]) == 32:  # a tail
        return [total]
    return [finish(total, rules, "gap", ints(attrs, "accu_right_shift"),
                   ints(attrs, "output_scale"),
                   ints(attrs, "output_right_shift"), width(dtypes[0]))]


def reduce_scaled(name):
    def op(attrs, inputs, dtypes, rules):
        total = inputs[0].astype(I64).sum(attrs["axis"], keepdims=True)
        lists = [ints(attrs, k)
                 for k in ("accu_right_shift", "scale", "out_shift")]
        for v in lists:  # one entry a channel, and the channels are summed
            if (v != v[0]).any():
                raise ValueError("entries of a reduction differ")
        return [finish(total, rules, name, lists[0][0], lists[1][0],
                       lists[2][0], width(dtypes[0]))]
    return op


def arg_max(attrs, inputs, dtypes, rules):
    x, axis = inputs[0], attrs["axis"]
    if rules["argmax.of"] == "first":
        k = x.argmax(axis)
    else:
        k = x.shape[axis] - 1 - np.flip(x, axis).argmax(axis)
    k = np.expand_dims(k, axis)
    if rules["argmax.index"] == "saturate":
        k = saturate(k, width(dtypes[0]))
    return [k]  # in the type of the output: it wraps


def matmul(attrs, inputs, dtypes, rules):
    a, b = [v.astype(np.float64) for v in inputs]
    total = (a @ b).astype(I64)
    if width(dtypes[0]) == 32:  # a tail
        return [total]
    return [finish(total, rules, "matmul",
                   ints(attrs, "right_shift"), ints(attrs, "scale"),
                   ints(attrs, "out_shift"), width(dtypes[0]))]


# ---- sampling ---------------------------------------------------------------

def resize(attrs, inputs, dtypes, rules):
    x, point = inputs[0].astype(I64), attrs["step_decimal_bit"]
    bits = rules["resize.weight_bits"]
    one = 1 << bits

    def axis(k):
        size, count = x.shape[1 + k], attrs["sizes"][k]
        if attrs["align_mode"] == "given_step":
            step = attrs["step"][k]
        elif rules["resize.step"] == "floor":
            step = (size << point) // count
        else:
            step = (2 * (size << point) + count) // (2 * count)
        at = np.arange(count, dtype=I64) * step
        if attrs["align_mode"] == "center":
            at += (step >> 1) - (1 << (point - 1))
        at >>= point - bits
        cell = at >> bits
        return (np.clip(cell, 0, size - 1), np.clip(cell + 1, 0, size - 1),
                at & (one - 1))

    r0, r1, fr = axis(0)
    c0, c1, fc = axis(1)
    fr, fc = fr[:, None, None], fc[:, None]
    wide = x[:, :, c0] * (one - fc) + x[:, :, c1] * fc
    twice = bool(attrs.get("is_interpolate_twice"))
    if twice:
        wide = shift(wide, bits, rules["resize.twice"])
    v = wide[:, r0] * (one - fr) + wide[:, r1] * fr
    if twice:
        v = shift(v, bits, rules["resize.twice"])
    else:
        v = shift(v, 2 * bits, rules["resize.once"])
    return [saturate(v, width(dtypes[0]))]


def upsample(attrs, inputs, dtypes, rules):
    v = inputs[0]
    for k, times in enumerate(attrs["scale"]):
        v = np.repeat(v, times, 1 + k)
    return [v]


def grid_sample(attrs, inputs, dtypes, rules):
    x, grid = inputs[0].astype(I64), inputs[1].astype(I64)
    bits = attrs["coord_shift"]
    one = 1 << bits
    n, h, w, _ = x.shape
    row = grid[..., 0] + np.arange(grid.shape[1])[:, None] * one
    col = grid[..., 1] + np.arange(grid.shape[2]) * one
    if attrs["padding_mode"] == "border" and rules["grid.border"] == "clamped":
        row = np.clip(row, 0, (h - 1) * one)
        col = np.clip(col, 0, (w - 1) * one)
    image = np.arange(n)[:, None, None]

    def tap(r, c):
        inside = (r >= 0) & (r < h) & (c >= 0) & (c < w)
        v = x[image, np.clip(r, 0, h - 1), np.clip(c, 0, w - 1)]
        return np.where(inside[..., None], v, 0)

    if attrs["mode"] == "nearest":
        how = rules["grid.nearest"]
        return [tap(shift(row, bits, how), shift(col, bits, how))]
    how = rules["grid.rounded" if attrs["output_round"] else "grid.cut"]
    fr, fc = (row % one)[..., None], (col % one)[..., None]
    r, c = row // one, col // one
    top = tap(r, c) * (one - fc) + tap(r, c + 1) * fc
    low = tap(r + 1, c) * (one - fc) + tap(r + 1, c + 1) * fc
    if rules["grid.axes"] == "together":
        v = shift(top * (one - fr) + low * fr, 2 * bits, how)
    else:
        top, low = shift(top, bits, how), shift(low, bits, how)
        v = shift(top * (one - fr) + low * fr, bits, how)
    return [saturate(v, width(dtypes[0]))]


# ---- what only moves --------------------------------------------------------

def space_to_depth(attrs, inputs, dtypes, rules):
    x, p, q = inputs[0], attrs["block_height"], attrs["block_width"]
    return [np.concatenate([x[:, i::p, j::q]
                            for i in range(p) for j in range(q)], 3)]


def slice_of(attrs, inputs, dtypes, rules):
    x, starts, ends = inputs[:3]
    axes = inputs[3] if len(inputs) > 3 else range(len(starts))
    steps = inputs[4] if len(inputs) > 4 else [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        size = x.shape[axis]
        a, z = [int(v) + (size if v < 0 else 0) for v in (start, end)]
        if step > 0:
            picked = range(min(max(a, 0), size), min(max(z, 0), size), step)
        else:
            picked = range(min(max(a, -1), size - 1),
                           min(max(z, -1), size - 1), step)
        x = np.take(x, list(picked), axis)
    return [x]


def split(attrs, inputs, dtypes, rules):
    at, out = 0, []
    for size in attrs["split"]:
        out.append(np.take(inputs[0], range(at, at + size), attrs["axis"]))
        at += size
    return out


def softmax(attrs, inputs, dtypes, rules):
    """In floats; compared with a tolerance."""
    x, axis = inputs[0].astype(np.float64), attrs.get("axis", 1)
    flat = x.reshape(int(np.prod(x.shape[:axis])), -1)  # opset 11
    e = np.exp(flat - flat.max(1, keepdims=True))
    return [(e / e.sum(1, keepdims=True)).reshape(x.shape)]


def simple(fn):
    return lambda attrs, inputs, dtypes, rules: [fn(attrs, *inputs)]


OPS = {
    "HzSQuantizedConv": conv, "HzSQuantizedPreprocess": preprocess,
    "HzSQuantizedConvTranspose": deconv,
    "HzSElementwiseAdd": add_or_sub("add", 1),
    "HzSElementwiseSub": add_or_sub("sub", -1), "HzSElementwiseMul": mul,
    "HzRequantize": requantize, "HzQuantize": quantize,
    "HzDequantize": dequantize, "HzSPRelu": prelu, "HzLut": lut8,
    "HzLut2Layer": lut16, "HzQuantizedMaxPool": max_pool,
    "HzQuantizedAveragePool": average_pool,
    "HzSQuantizedGlobalAveragePool": global_average,
    "HzQuantizedGlobalMaxPool": simple(
        lambda a, x: x.max((1, 2), keepdims=True)),
    "HzSQuantizedReduceMean": reduce_scaled("mean"),
    "HzSQuantizedReduceSum": reduce_scaled("sum"),
    "HzQuantizedReduceMax": simple(
        lambda a, x: x.max(a["axis"], keepdims=True)),
    "HzQuantizedArgMax": arg_max, "HzSQuantizedMatmul": matmul,
    "HzQuantizedRoiResize": resize, "HzQuantizedResizeUpsample": upsample,
    "HzQuantizedGridSample": grid_sample, 
    "HzSpaceToDepth": space_to_depth, "Slice": slice_of, "Split": split,
    "Softmax": softmax,
    "Transpose": simple(lambda a, x: np.transpose(x, a["perm"])),
    "Concat": simple(lambda a, *x: np.concatenate(x, a["axis"])),
    "Reshape": simple(lambda a, x, to: x.reshape(
        [x.shape[i] if d == 0 else d for i, d in enumerate(to.tolist())])),
    "Gather": simple(lambda a, x, k: np.take(x, k, a["axis"])),
    "Tile": simple(lambda a, x, k: np.tile(x, k)),
    "Max": simple(lambda a, *x: np.maximum(*x) if len(x) > 1 else x[0]),
    "Cast": simple(lambda a, x: x),
    **ops_forms.OPS,
}


def run(node, inputs, dtypes, rules):
    outputs = OPS[node.op](node.attrs, inputs, dtypes, rules)
    if len(outputs) != len(dtypes):
        raise ValueError("%s: %d outputs" % (node.op, len(outputs)))
    return [np.ascontiguousarray(v).astype(t)
            for v, t in zip(outputs, dtypes)]
