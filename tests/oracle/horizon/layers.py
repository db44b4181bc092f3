# SPDX-License-Identifier: Apache-2.0
"""Random layers: each function adds one node (seldom a few) to a graph.

A layer takes a Maker and the tensor it reads, and returns the tensor it made.
Parameters are picked from the accumulators, so that ties, rails, the
saturation between the shifts and the wrap of the sums are reached on purpose.
"""
import numpy as np

import scaling
from graph import OUTPUT_KEYS as KEYS
from rules import limits
from scaling import listed

I8, I16, I32 = np.int8, np.int16, np.int32


def bits_of(dtype):
    return np.dtype(dtype).itemsize * 8


class Maker:
    def __init__(self, graph):
        self.g, self.r, self.count = graph, graph.r, 0

    def odds(self, p):
        return self.r.random() < p

    def one_of(self, *what):
        return what[self.r.integers(len(what))]

    def name(self, stem):
        self.count += 1
        form = self.one_of("%s_%d", "%s_%d", "%s_%d", "p2o.%s.%d", "b/%s.%d")
        return form % (stem, self.count)

    def values(self, shape, dtype, kind=None):
        """Anything, rails, small numbers, or one number in a channel."""
        lo, hi = limits(bits_of(dtype))
        kind = kind or self.one_of("any", "any", "rails", "small", "flat")
        if kind == "any":
            v = self.r.integers(lo, hi + 1, shape)
        elif kind == "rails":
            v = self.r.choice([lo, lo + 1, -1, 0, 1, hi - 1, hi], shape)
        elif kind == "small":
            v = np.round(self.r.normal(0, hi / 24 + 2, shape))
        else:
            v = np.broadcast_to(self.r.choice([lo, hi, hi // 3, -7],
                                              shape[-1:]), shape)
        return np.clip(v, lo, hi).astype(dtype)

    def input(self, stem, shape, dtype):
        """A further input of the model: random, but for the last sample."""
        n = self.g.n_samples
        return self.g.input(self.name(stem), [
            self.values(shape, dtype, "rails" if s == n - 1 and n > 1
                        else self.one_of("any", "any", "small", "flat"))
            for s in range(n)])

    def ints(self, lo, hi, n):
        return listed(self.r.integers(lo, hi + 1, n))

    def output(self, op, inputs, attrs, bits, per_channel=True, n=None,
               wraps=False):
        """Adds the attributes of the output: two shifts and a multiplier."""
        raw = self.g.raw(op, inputs, attrs)
        if per_channel and n is None and self.odds(0.15):
            per_channel = False  # one entry for all
        top = scaling.largest(raw, per_channel)
        if wraps:
            top = np.maximum(top, 2.0 ** 31 * self.r.uniform(0.3, 1))
        elif self.odds(0.5):
            # Most elements inside the range: median instead of the maximum.
            top = np.maximum(top * self.r.uniform(0.2, 1), 1)
        first, scale, last = scaling.pick(
            self.r, top, bits, self.one_of(0.02, 0.4, 1, 1, 2, 4),
            self.one_of(0.15, 0.6, 1, 1, 2, 3))
        n = n or top.size
        if self.odds(0.2):
            # Beyond 16 bits between the shifts, and visible in the output.
            room = scaling.log2(top / 32767.0, "floor")
            first = np.maximum(room - int(self.r.integers(0, 3)), 0)
            last = np.full(first.shape, 15 + 15 - bits + 1)
        keys = KEYS[op]
        for key, v in zip(keys, (first, scale, last)):
            attrs[key] = listed(np.broadcast_to(v, n) if v.size in (1, n)
                                else np.full(n, v[0]))
        return attrs



# ---- convolutions -----------------------------------------------------------

def weights(m, shape):
    kind = m.one_of("any", "any", "any", "small", "rails")
    if kind == "any":
        w = m.r.integers(-128, 128, shape)
    elif kind == "small":
        w = np.round(m.r.normal(0, 3, shape))
    else:
        w = m.r.choice([-128, 127], shape)
    return np.clip(w, -128, 127).astype(I8)


def geometry(m, h, w):
    """Kernel, strides, dilations, pads and output size; small ones too."""
    while True:
        k = list(m.one_of((1, 1), (1, 1), (3, 3), (3, 3), (2, 2), (5, 5),
                          (1, 7), (5, 1), (4, 4), (3, 2)))
        s = list(m.one_of((1, 1), (1, 1), (1, 1), (2, 2), (3, 3), (2, 1)))
        d = list(m.one_of((1, 1), (1, 1), (1, 1), (2, 2), (1, 2)))
        if m.odds(0.5):
            pads = [(k[i % 2] - 1) * d[i % 2] // 2 for i in range(4)]
        else:
            more = int(m.one_of(0, 0, 2))  # windows in the padding only
            pads = [int(m.r.integers(0, k[i % 2] * d[i % 2] + more))
                    for i in range(4)]
        out = [(size + pads[i] + pads[i + 2] - d[i] * (k[i] - 1) - 1) // s[i]
               + 1 for i, size in enumerate((h, w))]
        if min(out) > 0 and size_of(out) <= 300:
            return k, s, d, pads, out


def size_of(shape):
    return int(np.prod(shape))


def channels(m, c):
    """(groups, output channels)"""
    kind = m.one_of("full", "full", "depthwise", "groups")
    if kind == "depthwise":
        return c, c * int(m.one_of(1, 1, 1, 2))
    if kind == "groups":
        g = int(m.one_of(*[g for g in range(1, c + 1) if c % g == 0]))
        return g, g * int(m.one_of(1, 2, 3) if g < 12 else 1)
    return 1, int(m.one_of(1, 3, 5, 8, 16, 17, 33, 48))


def bias_of(m, cout, extreme, near=3000000):
    if extreme:
        b = 2 ** 31 - 1 - m.r.integers(0, near, cout)
        b = np.where(m.r.random(cout) < 0.5, b, -b)
        return b.astype(I32), np.zeros(cout, I8)
    size = int(m.one_of(1, 300, 30000, 2 ** 20))
    scale = m.r.integers(0, int(m.one_of(1, 4, 8)), cout).astype(I8)
    return m.r.integers(-size, size + 1, cout).astype(I32), scale


def convolution(m, x, dtype=None, kind=None, sumin=None, relu=None, name=None,
                shape=None):
    """kind: None, or 1 for a 1x1 layer of `shape` output channels."""
    g = m.g
    n, h, w, c = g.shape(x)
    dtype = dtype or m.one_of(I8, I8, I16, I16, I32)
    name = name or m.name("conv")
    if kind == 1:
        k, s, d, pads, out = [1, 1], [1, 1], [1, 1], [0] * 4, [h, w]
        groups, cout = 1, shape or 8
    else:
        k, s, d, pads, out = geometry(m, h, w)
        groups, cout = channels(m, c)
    wraps = m.odds(0.12)
    b, b_scale = bias_of(m, cout, wraps)
    inputs = [x, g.constant(name + "_w_quantized",
                            weights(m, (cout, *k, c // groups))),
              g.constant(name + "_b_quantized", b),
              g.constant(name + "_b_b_scale", b_scale)]
    bits = bits_of(dtype)
    attrs = {"dilations": d, "group": groups, "kernel_shape": k, "pads": pads,
             "strides": s, "use_bias": 1, "weight_thresholds": [1.0] * cout,
             "output_bit": bits, "data_format": "NHWC",
             "high_precision_output": int(bits == 32)}
    if sumin or (sumin is None and m.odds(0.2)):
        size = (n, *out, cout)
        e = sumin or (x if g.shape(x) == size and m.odds(0.7) else
                      m.input("e", size, m.one_of(I8, I8, I16)))
        inputs.append(e)
        entries = 1 if m.odds(0.15) else cout
        lo, hi = m.one_of((-14, 0), (0, 6), (-8, 2), (-3, -1))
        attrs.update(use_sumin=1, e_scale=m.ints(1, 32767, entries),
                     e_shift=m.ints(lo, hi, entries))
    if bits != 32:
        m.output("HzSQuantizedConv", inputs, attrs, bits, wraps=wraps)
    if relu or (relu is None and m.odds(0.25)):
        attrs["activation"] = "relu"
    return g.node("HzSQuantizedConv", name, inputs, dtype, **attrs)


def preprocess(m, x):
    g, name = m.g, m.name("HZ_PREPROCESS_FOR")
    wraps, groups = m.odds(0.3), int(m.one_of(1, 3))
    b, b_scale = bias_of(m, 3, wraps, 9000)
    inputs = [x, g.constant(name + "_weight_quantized",
                            weights(m, (3, 1, 1, 3 // groups))),
              g.constant(name + "_bias_quantized", b),
              g.constant(name + "_bias_b_scale", b_scale)]
    attrs = {"data_format": "NHWC", "input_type": "YUV_BT601_FULL_RANGE_128",
             "channel_group": groups, "weight_thresholds": [0.1] * 3,
             "output_bit": 8, "high_precision_output": 0}
    m.output("HzSQuantizedPreprocess", inputs, attrs, 8, wraps=wraps)
    return g.node("HzSQuantizedPreprocess", name, inputs, I8, **attrs)


def deconvolution(m, x):
    g, name = m.g, m.name("up")
    n, h, w, c = g.shape(x)
    groups = int(m.one_of(1, 1, c, *[i for i in (2, 3, 4) if c % i == 0]))
    per = 1 if groups == c else int(m.one_of(1, 2, 5))
    k = list(m.one_of((2, 2), (3, 3), (4, 4), (3, 3), (3, 2), (1, 1)))
    s = list(m.one_of((2, 2), (2, 2), (1, 1), (3, 3), (2, 1)))
    more = [int(m.one_of(0, v - 1)) for v in s]
    while True:
        pads = [int(m.r.integers(0, k[i % 2])) for i in range(4)]
        if m.odds(0.6):
            pads[2:] = pads[:2]
        out = [(v - 1) * s[i] + k[i] + more[i] - pads[i] - pads[i + 2]
               for i, v in enumerate((h, w))]
        if min(out) > 0:
            break
    cout = groups * per
    wraps = m.odds(0.15)
    b, left = bias_of(m, cout, wraps, 60000)
    inputs = [x, g.constant(name + "_w_quantized",
                            weights(m, (c, *k, per))),
              g.constant(name + "_b_quantized", b)]
    attrs = {"group": groups, "kernel_shape": k, "output_padding": more,
             "pads": pads, "strides": s, "use_bias": 1,
             "weight_thresholds": [1.0] * cout, "b_left_shift": listed(left),
             "data_format": "NHWC"}
    m.output("HzSQuantizedConvTranspose", inputs, attrs, 8, wraps=wraps)
    if m.odds(0.25):
        attrs["activation"] = "relu"
    return g.node("HzSQuantizedConvTranspose", name, inputs, I8, **attrs)


# ---- element by element -----------------------------------------------------

def other_operand(m, x):
    """The operands of a two-operand layer; one may be a constant."""
    g = m.g
    shape = g.shape(x)
    dtype = m.one_of(I8, I16) if m.odds(0.4) else g.dtype(x)
    small = [1] * (len(shape) - 1) + [shape[-1]]
    kind = m.one_of("same", "same", "self", "constant", "left", "gate", "one")
    if kind == "self":
        return [x, x]
    if kind in ("constant", "left"):
        size = m.one_of(small, small, [1] * len(shape), shape)
        k = g.constant(m.name("k"), m.values(size, dtype))
        return [k, x] if kind == "left" else [x, k]
    if kind == "gate" and len(shape) == 4:
        return [x, m.input("e", (shape[0], 1, 1, shape[3]), dtype)]
    if kind == "one":
        return [x, m.input("e", (*shape[:-1], 1), dtype)]
    return [x, m.input("e", shape, dtype)]


def format_of(m, x):
    return "NHWC" if len(m.g.shape(x)) == 4 and m.odds(0.8) else None


def add_or_sub(m, x, op=None, inputs=None, dtype=None):
    g = m.g
    op = op or m.one_of("Add", "Sub")
    inputs = inputs or other_operand(m, x)
    dtype = dtype or m.one_of(I8, I16)
    name = m.name(op.lower())
    out = np.broadcast_shapes(*[g.shape(t) for t in inputs])
    form = format_of(m, x)
    n = out[-1] if form and m.odds(0.7) else 1
    wraps = m.odds(0.25)
    wide = bits_of(g.dtype(inputs[0])) == 16
    lo, hi = (0, 15)
    if wraps:
        lo, hi = (14, 19) if wide else (20, 26)
    attrs = {"x_shift": m.ints(lo, hi, n), "e_scale": m.ints(1, 32767, n),
             "rounding_method": m.one_of("ROUND", "ROUND", "HARDWARE"),
             "output_bit": bits_of(dtype), "data_format": form}
    if m.odds(0.3):
        attrs.update(x_shift=[15] * n, e_scale=m.ints(16384, 32767, n))
    if op == "Add":
        attrs["e_shift"] = m.ints(0, m.one_of(0, 5), n)
    m.output("HzSElementwise" + op, inputs, attrs, bits_of(dtype), n > 1, n,
             wraps)
    if op == "Sub" and m.odds(0.3):
        attrs["output_scale"] = [-v for v in attrs["output_scale"]]
    return g.node("HzSElementwise" + op, name, inputs, dtype, **attrs)


def multiply(m, x, inputs=None, dtype=None):
    inputs = inputs or other_operand(m, x)
    dtype = dtype or m.one_of(I8, I16)
    attrs = {"rounding_method": "ROUND", "output_bit": bits_of(dtype),
             "data_format": format_of(m, x)}
    m.output("HzSElementwiseMul", inputs, attrs, bits_of(dtype), False)
    return m.g.node("HzSElementwiseMul", m.name("mul"), inputs, dtype, **attrs)


def requantize(m, x, dtype=None):
    g, n = m.g, m.g.shape(x)[3]
    dtype = dtype or m.one_of(I8, I16)
    if m.odds(0.15):
        n = 1
    top = scaling.largest(g.values[x], n > 1)
    fill = m.one_of(0.2, 0.8, 1, 2)
    scale = scaling.multipliers(m.r, n)
    if m.odds(0.3):
        scale = m.r.integers(1, 32768, n)
    last = scaling.log2(np.maximum(top, 1) * scale /
                        (fill * 2.0 ** (bits_of(dtype) - 1)), "nearest")
    return g.node("HzRequantize", m.name("x_Requantize"), [x], dtype, axis=3,
                  bits=bits_of(dtype), method="Rescale",
                  output_scale=listed(scale),
                  output_right_shift=listed(np.clip(last, 0, 23)),
                  data_format="NHWC")


def prelu(m, x):
    g, name = m.g, m.name("prelu")
    c, bits = g.shape(x)[3], bits_of(g.dtype(x))
    slope = g.constant(name + "_quantized_slope", m.values(
        (1, 1, 1, c), I16, m.one_of("any", "small")))
    neg, pos = [int(v) for v in scaling.multipliers(m.r, 2)]
    right = int(m.r.integers(8, 17))
    # |x * slope| >> right is at most 2^(bits - 1 + 15 - right).
    last = 14 + 15 - right - int(m.r.integers(0, 4))
    positive = (1, 0) if m.odds(0.5) else (pos, int(m.r.integers(13, 16)))
    return g.node("HzSPRelu", name, [x, slope], g.dtype(x),
                  positive_scale=[positive[0]],
                  positive_right_shift=[positive[1]],
                  accu_right_shift=[right], negative_scale=[neg],
                  negative_right_shift=[max(last, 0)], data_format="NHWC")


def table8(m, x):
    g, name = m.g, m.name("sigmoid")
    k = g.constant(name + "_table_params", m.values((256,), I8))
    return g.node("HzLut", name, [x, k], I8, lut_type=m.one_of(
        "sigmoid", "exp", "mish", "hardswish"), data_format=format_of(m, x))


def segments(m, mode):
    """Eight segments: bounds that rise, lines that run through the tables."""
    lo = 0 if mode != "NONE" else -32768
    inner = np.sort(m.r.integers(lo, 32768, 7))
    if m.odds(0.4):
        inner[6] = 32767  # then the last segment is never reached
    if m.odds(0.3):
        inner[m.r.integers(1, 7)] = inner[0]
        inner = np.sort(inner)
    bound = listed(inner) + [32767]
    rows = []
    for s in range(8):
        if s in (0, 7) or m.odds(0.1):
            rows.append((int(m.r.integers(-32767, 32768)),
                         int(m.r.integers(-32767, 32768)),
                         int(m.r.integers(0, 16)), int(m.r.integers(8, 17))))
            continue
        width = max(bound[s] - bound[s - 1], 1)
        right = int(np.clip(scaling.log2(32767 * width / 16384, "floor"), 0,
                            16))
        scale = int(np.clip(16384 * 2 ** right // width, 1, 32767))
        left = max(int(scaling.log2(abs(bound[s - 1] * scale) + 1, "ceil"))
                   - 15, 0)
        bias = -bound[s - 1] * scale >> left
        if m.odds(0.15):
            scale, bias = -scale, -bias
        rows.append((scale, int(np.clip(bias, -32767, 32767)),
                     min(left, 15), right))
    if mode == "ORIGIN_SYMMETRIC" and m.odds(0.4):
        rows[0] = (-32767, -32767, 15, 8)  # -32768, to be negated
    return bound, [list(v) for v in zip(*rows)]


def table16(m, x):
    mode = m.one_of("NONE", "ORIGIN_SYMMETRIC", "Y_SYMMETRIC")
    bound, (scale, bias, left, right) = segments(m, mode)
    table = m.values((384,), I16, m.one_of("any", "small", "rails"))
    if m.odds(0.5):
        table = np.sort(table)
    dtype = m.one_of(I8, I16, I16, I16)
    return m.g.node("HzLut2Layer", m.name("tanh"), [x], dtype,
                    lut_type="tanh", output_bit=bits_of(dtype),
                    rounding_method="ROUND", symmetry_mode=mode,
                    table_param=listed(table), scale=scale, bias=bias,
                    left_shift=left, right_shift=right, bound=bound,
                    data_format=format_of(m, x))


def maximum(m, x):
    g = m.g
    shape = g.shape(x)
    size = m.one_of(shape, shape, (shape[0], 1, 1, shape[3]))
    e = m.input("e", size, g.dtype(x))
    return g.node("Max", m.name("max"), [x, e], g.dtype(x))
