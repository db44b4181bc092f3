# SPDX-License-Identifier: Apache-2.0
"""Random layers: shifts, comparisons, pads, shuffles, and the standard
operators that stand between those of the domain. See layers.py."""
import numpy as np

from layers import I8, I16, bits_of, format_of, other_operand
from scaling import listed

F32 = np.float32


def bit_shift(m, x):
    g, shape = m.g, m.g.shape(x)
    bits = bits_of(g.dtype(x))
    n = int(m.one_of(1, shape[3]))
    left = m.odds(0.4)
    top = m.one_of(3, bits - 1, 15)
    return g.node("HzQuantizedBitShift", m.name("floor"), [x], g.dtype(x),
                  direction="LEFT" if left else "RIGHT",
                  shift=m.ints(0, 4 if left and m.odds(0.5) else top, n),
                  output_bit=bits, data_format="NHWC")


def comparison(m, x):
    inputs = other_operand(m, x)
    if m.odds(0.4):  # many equal ones
        g = m.g
        k = g.r.choice(g.values[x][0].reshape(-1), g.shape(x)[-1:])
        inputs = [x, g.constant(m.name("k"), k.reshape(
            [1] * (len(g.shape(x)) - 1) + [-1]))]
    return m.g.node("HzQuantizedComparison", m.name("greater"), inputs, I8,
                    comparison=m.one_of("Greater", "GreaterOrEqual", "Less",
                                        "LessOrEqual", "Equal"),
                    data_format=format_of(m, x))


# ---- pads -------------------------------------------------------------------

def pads_of(m, shape):
    """(mode, pads): along one axis or several, also the first."""
    mode = m.one_of("constant", "constant", "reflect", "edge")
    pads = np.zeros((2, len(shape)), np.int64)
    axes = [i for i, size in enumerate(shape)
            if m.odds(0.1 if i == 0 else 0.5) and
            (size > 1 or mode != "reflect")]
    for i in axes or [len(shape) - 1]:
        top = min(shape[i] - 1, 3) if mode == "reflect" else 3
        if top > 0:
            pads[:, i] = m.r.integers(0, top + 1, 2)
    return mode, pads.reshape(-1)


def pad(m, x):
    g, name = m.g, m.name("pad")
    mode, pads = pads_of(m, g.shape(x))
    inputs = [x]
    if mode == "constant":
        inputs.append(g.constant(name + "_value", m.values(
            (1,), g.dtype(x), m.one_of("any", "rails"))))
    return g.node("HzPad", name, inputs, g.dtype(x), pads=listed(pads),
                  mode=mode, data_format="NHWC")


def standard_pad(m, x):
    g, name = m.g, m.name("pad")
    if m.odds(0.5):
        x = float_input(m, m.one_of((1, 3, 5, 6), (2, 4, 3), (1, 7)))
    mode, pads = pads_of(m, g.shape(x))
    inputs = [x, g.constant(name + "_pads", pads)]
    if mode == "constant" and m.odds(0.7):
        value = (m.r.normal(0, 3, ()).astype(F32)
                 if g.dtype(x) == F32 else
                 m.values((1,), g.dtype(x), "any").reshape(()))
        inputs.append(g.constant(name + "_value", value))
    return g.node("Pad", name, inputs, g.dtype(x),
                  mode=None if mode == "constant" and m.odds(0.3) else mode)


# ---- what only moves --------------------------------------------------------

def shuffle(m, x):
    c = m.g.shape(x)[3]
    groups = int(m.one_of(*[i for i in range(1, c + 1) if c % i == 0]))
    return m.g.node("HzChannelShuffle", m.name("shuffle"), [x], m.g.dtype(x),
                    group=groups, data_format="NHWC")


def nearest(m, x):
    """Scales that binary fractions are exact for, or whole multiples."""
    g, name = m.g, m.name("resize")
    if m.odds(0.4):
        x = float_input(m, (1, 3, 5, 6))
    shape = g.shape(x)
    roi = g.constant(name + "_roi", np.zeros(0, F32))
    scales = np.ones(len(shape), F32)
    for i in range(1, len(shape)):
        if m.odds(0.5):
            scales[i] = m.one_of(2, 3, 1.5, 2.5, 0.5, 0.5)
        if int(shape[i] * scales[i]) < 1:
            scales[i] = 1
    inputs = [x, roi, g.constant(name + "_scales", scales)]
    if m.odds(0.3):
        sizes = np.array(shape) * np.maximum(scales, 1).astype(int)
        inputs[2] = g.constant(name + "_scales", np.zeros(0, F32))
        inputs.append(g.constant(name + "_sizes", sizes.astype(np.int64)))
    return g.node("Resize", name, inputs, g.dtype(x), mode="nearest",
                  coordinate_transformation_mode=m.one_of(
                      "asymmetric", "asymmetric", "half_pixel",
                      "align_corners", "pytorch_half_pixel"),
                  nearest_mode=m.one_of("floor", "floor", "ceil",
                                        "round_prefer_floor",
                                        "round_prefer_ceil"))


# ---- floats -----------------------------------------------------------------

def float_input(m, shape):
    return m.g.input(m.name("f"), [
        np.ldexp(m.r.uniform(-1, 1, shape), m.r.integers(-3, 6, shape))
        .astype(F32) for _ in range(m.g.n_samples)])


def several(m, x):
    """Mean or Sum of a few floats."""
    shape = m.one_of((1, 3, 5, 6), (2, 7), (2, 3, 4))
    inputs = [float_input(m, shape)]
    for _ in range(int(m.one_of(0, 1, 1, 2, 3))):
        small = m.one_of(shape, shape, shape[1:], (1,) * len(shape))
        inputs.append(float_input(m, small))
    op = m.one_of("Mean", "Sum")
    return m.g.node(op, m.name(op.lower()), inputs, np.float32)
