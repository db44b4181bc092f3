# SPDX-License-Identifier: Apache-2.0
"""Random networks of several layers, from a float input to float outputs."""
import numpy as np

import layers as l
import layers_forms as forms
import layers_more as more
from layers import I8, I16, I32


def head(m, n, c, h, w):
    q = more.quantize(m, (n, c, h, w))
    return more.transpose(m, q, [0, 2, 3, 1])


def as8(m, x):
    return x if m.g.dtype(x) == I8 else l.requantize(m, x, I8)


def residual(m, x):
    """A convolution that adds its own input, or an Add."""
    c = m.g.shape(x)[3]
    if m.g.dtype(x) == I8 and m.odds(0.5):
        return l.convolution(m, x, I8, 1, sumin=x, relu=True, shape=c)
    y = l.convolution(m, x, m.one_of(I8, I16), 1, sumin=False, shape=c)
    return l.add_or_sub(m, x, "Add", [y, x])


def squeeze(m, x):
    """Global average, two convolutions, a table, a product."""
    c = m.g.shape(x)[3]
    y = more.global_average(m, as8(m, x), I8)
    y = l.convolution(m, y, I8, 1, sumin=False, relu=True, shape=4)
    y = l.convolution(m, y, I8, 1, sumin=False, shape=c)
    return l.multiply(m, x, [x, l.table8(m, y)])


def branches(m, x):
    parts = more.split(m, x, (3,))
    if parts is None:
        return x
    parts = [l.convolution(m, p, m.g.dtype(x), 1, sumin=False, shape=4)
             if m.odds(0.6) else p for p in parts]
    return m.g.node("Concat", m.name("concat"), parts, m.g.dtype(x), axis=3)


def pooled(m, x):
    x = as8(m, x)
    return m.one_of(more.max_pool, more.average_pool)(m, x)


def scaled(m, x):
    y = m.one_of(more.upsample, more.resize)(m, as8(m, x))
    if max(m.g.shape(y)[1:3]) > 14:
        y = more.max_pool(m, y)
    return y


def activated(m, x):
    if m.g.dtype(x) == I16:
        return m.one_of(l.table16, l.prelu)(m, x)
    return m.one_of(l.table8, l.prelu)(m, x)


def attention(m, x):
    """softmax(a * a^T) in integers: max, Sub, exp, sum, 1/x, Mul."""
    x = as8(m, x)
    n, h, w, c = m.g.shape(x)
    a = more.reshape(m, x, (n, h * w, c))
    b = more.transpose(m, a, [0, 2, 1])
    s = more.matmul(m, a, b, I8)
    top = m.g.node("HzQuantizedReduceMax", m.name("max"), [s], I8, axis=2,
                   output_bit=8)
    d = l.add_or_sub(m, s, "Sub", [s, top], I8)
    e = l.table8(m, d)
    attrs = {"axis": 2, "output_bit": 16}
    m.output("HzSQuantizedReduceSum", [e], attrs, 16, False, h * w)
    t = m.g.node("HzSQuantizedReduceSum", m.name("sum"), [e], I16, **attrs)
    p = l.multiply(m, e, [e, l.table16(m, t)], I8)
    y = more.matmul(m, p, a, I8)
    return more.reshape(m, y, (n, h, w, c))


def warped(m, x):
    """A grid made by integer nodes: a constant plus a scaled coordinate."""
    x = as8(m, x)
    n = m.g.shape(x)[0]
    parts = []
    for axis in "yx":
        c = m.input("coordinate", (n, 5, 4, 1), I16)
        k = m.g.constant(m.name("k"), np.full((1, 1, 1, 1),
                                              m.r.integers(-900, 900), I16))
        parts.append(m.g.node(
            "HzSElementwiseAdd", m.name("grid_add_for_" + axis), [k, c], I16,
            x_shift=[0], e_scale=[1], e_shift=[0], accu_right_shift=[0],
            output_scale=[int(m.r.integers(3, 9))], output_right_shift=[6],
            rounding_method="HARDWARE", output_bit=16, data_format="NHWC"))
    grid = m.g.node("Concat", m.name("grid"), parts, I16, axis=3)
    return more.grid_sample(m, x, grid)


def padded(m, x):
    return m.one_of(forms.pad, forms.bit_shift)(m, x)


def masked(m, x):
    """Where one channel is above a number: a product with 0 or 1."""
    return l.multiply(m, x, [x, forms.comparison(m, x)])


def tail(m, x):
    """All 32 bits of a sum, transposed, dequantized per channel."""
    if m.odds(0.2):
        x = more.global_average(m, as8(m, x), I32)
        y = more.dequantize(m, x)
        return more.reshape(m, y, (m.g.shape(y)[0], -1))
    if m.odds(0.5):
        x = more.global_average(m, as8(m, x), m.one_of(I8, I16))
    x = l.convolution(m, x, I32, 1, shape=int(m.one_of(2, 5, 10)))
    if m.odds(0.4):
        return more.softmax(m, x)
    y = more.dequantize(m, x)
    n = m.g.shape(y)[0]
    return more.reshape(m, y, (n, -1))


BLOCKS = [residual, residual, squeeze, branches, pooled, scaled, activated,
          activated, attention, warped, padded, masked,
          lambda m, x: l.convolution(m, x, m.one_of(I8, I16)),
          lambda m, x: l.convolution(m, x, m.one_of(I8, I16), relu=True),
          lambda m, x: l.deconvolution(m, as8(m, x)),
          lambda m, x: l.requantize(m, x)]


def network(m, depth):
    x = head(m, int(m.one_of(1, 1, 2)), int(m.one_of(1, 3, 4)),
             *[int(v) for v in m.r.integers(5, 12, 2)])
    x = l.convolution(m, x, m.one_of(I8, I16), 1, sumin=False, shape=8)
    for k in range(depth):
        block = BLOCKS[m.r.integers(len(BLOCKS))]
        if np.prod(m.g.shape(x)[1:3]) > 200:
            block = pooled
        if block is pooled and min(m.g.shape(x)[1:3]) < 5:
            block = residual
        if m.g.shape(x)[3] > 24:
            block = lambda m, x: l.convolution(  # noqa: E731
                m, x, I8, 1, sumin=False, shape=8)
        x = block(m, x)
        if m.odds(0.15):
            tail(m, x)
    tail(m, x)
