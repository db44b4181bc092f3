# SPDX-License-Identifier: Apache-2.0
"""What layers compute, rightly and with one fault, in Python's own integers:
nothing here is shared with the command that has to find it.

Each function takes the nodes of a model, its constants and the tensors of a
sample, and gives the layer's output as an array. fault "" is the right one, so
that a fault's twin proves the rest of the calculation.
"""
import math
import struct

import npz

CODES = {"|i1": "b", "|u1": "B", "<i2": "h", "<i4": "i", "<f4": "f"}
BITS = {"|i1": 8, "<i2": 16, "<i4": 32}


def values(a):
    return struct.unpack("<%d%s" % (a.count, CODES[a.descr]), a.data)


def array(like, v):
    return npz.Array(like.descr, like.shape, struct.pack(
        "<%d%s" % (len(v), CODES[like.descr]), *v))


def f32(v):
    return struct.unpack("<f", struct.pack("<f", v))[0]


def saturate(v, bits):
    return max(-(1 << bits - 1), min((1 << bits - 1) - 1, v))


def half_up(v, n):
    return v + (1 << n - 1) >> n if n else v


def node_of(nodes, name):
    return next(n for n in nodes if n.name == name)


# ---- convolutions of the fixed-point model, NHWC ----------------------------

def sums(x, w, attrs, oh, ow):
    """Of products, by place and output channel; w is [out, kh, kw, in]."""
    _, h, wd, cin = x.shape
    cout, kh, kw, per = w.shape
    groups = attrs.get("group", 1)
    (sh, sw), (t, l) = attrs["strides"], attrs["pads"][:2]
    a, b, out = values(x), values(w), []
    for y, c in ((y, c) for y in range(oh) for c in range(ow)):
        taps = [(i, j) for i in range(kh) for j in range(kw)
                if 0 <= y * sh - t + i < h and 0 <= c * sw - l + j < wd]
        for o in range(cout):
            first, total = o // (cout // groups) * per, 0
            for i, j in taps:
                at = ((y * sh - t + i) * wd + c * sw - l + j) * cin + first
                k = ((o * kh + i) * kw + j) * per
                total += sum(p * q for p, q in zip(a[at:at + per],
                                                   b[k:k + per]))
            out.append(total)
    return out


def scaled(acc, first, scale, last, bits, fault):
    """Shift, saturate to 16 bits, multiply, shift, saturate."""
    if fault == "shifts merged":
        v = acc * scale >> first + last
    else:
        v = half_up(acc, first) if fault == "first shift rounds" else \
            acc >> first
        v = saturate(v, 16) * scale
        if fault == "last shift one short":
            last -= 1
        elif fault == "last shift one long":
            last += 1
        v = half_up(v, last) if fault == "last shift rounds" else v >> last
    return saturate(v, bits)


def conv(nodes, constants, have, name, fault):
    n = node_of(nodes, name)
    y = have[n.outputs[0]]
    cout, bits = y.shape[3], BITS[y.descr]
    acc = sums(have[n.inputs[0]], constants[n.inputs[1]], n.attrs,
               *y.shape[1:3])
    bias = [b << s for b, s in zip(values(constants[n.inputs[2]]),
                                   values(constants[n.inputs[3]]))]
    first, scale, last = [n.attrs[k] * (1 if len(n.attrs[k]) > 1 else cout)
                          for k in ("right_shift", "scale", "out_shift")]
    out = [scaled(v + bias[i % cout], first[i % cout], scale[i % cout],
                  last[i % cout], bits, fault) for i, v in enumerate(acc)]
    if n.attrs.get("activation") == "relu":
        out = [max(v, 0) for v in out]
    return n.outputs[0], array(y, out)


# ---- a pointwise convolution between DequantizeLinear and QuantizeLinear ----

ROUNDS = {"": round, "floor": math.floor, "truncated": math.trunc,
          "ceil": math.ceil}


def pointwise(nodes, constants, have, name, fault):
    """conv + Quantize as one integer layer, int8, NCHW."""
    by_output = {o: n for n in nodes for o in n.outputs}
    n = node_of(nodes, name)
    x, w, b = [by_output[i] for i in n.inputs]
    q = next(m for m in nodes if m.inputs[0] == n.outputs[0])
    sx, sw, sy = [values(constants[m.inputs[1]]) for m in (x, w, q)]
    a, k = have[x.inputs[0]], constants[w.inputs[0]]
    y = have[q.outputs[0]]
    cout, cin, size = y.shape[1], a.shape[1], a.shape[2] * a.shape[3]
    av, kv = values(a), values(k)
    bias = values(constants[b.inputs[0]])
    out = []
    for o in range(cout):
        factor = f32(f32(sx[0] * sw[o % len(sw)]) / sy[0])
        for p in range(size):
            acc = bias[o] + sum(av[i * size + p] * kv[o * cin + i]
                                for i in range(cin))
            out.append(saturate(ROUNDS[fault](f32(f32(acc) * factor)), 8))
    return q.outputs[0], array(y, out)


# ---- functions by table -----------------------------------------------------

def table(nodes, constants, have, name, fault):
    """256 entries, int8."""
    n = node_of(nodes, name)
    entries = values(constants[n.inputs[1]])
    at = {"": lambda v: v + 128, "index unsigned": lambda v: v & 255,
          "read from the end": lambda v: 127 - v}[fault]
    return n.outputs[0], array(have[n.outputs[0]], [
        entries[at(v)] for v in values(have[n.inputs[0]])])


def segments(nodes, constants, have, name, fault):
    """8 segments, the inner ones of 64 entries with lines between them."""
    n = node_of(nodes, name)
    a, bits = n.attrs, BITS[have[n.outputs[0]].descr]
    rows = [a["table_param"][i:i + 64] for i in range(0, 384, 64)]
    if fault == "table of the next segment":
        rows = rows[1:] + rows[:1]
    out = []
    for x in values(have[n.inputs[0]]):
        v = x if a["symmetry_mode"] == "NONE" else saturate(abs(x), 16)
        s = sum(v > b or (fault == "edge in the next segment" and v == b)
                for b in a["bound"][:7])
        line = half_up(v * a["scale"][s] + (a["bias"][s] << a["left_shift"][s]),
                       a["right_shift"][s])
        y = saturate(line, 16)
        if 0 < s < 7:
            cell, part = divmod(max(0, min(64 * 256 - 1, line)), 256)
            row = rows[s - 1]
            mixed = row[cell] * (256 - part) + row[min(cell + 1, 63)] * part
            y = mixed >> 8 if fault == "no rounding between entries" else \
                half_up(mixed, 8)
        if a["symmetry_mode"] == "ORIGIN_SYMMETRIC" and x < 0:
            y = saturate(-y, 16)
        out.append(saturate(y, bits))
    return n.outputs[0], array(have[n.outputs[0]], out)
