# SPDX-License-Identifier: Apache-2.0
"""Random layers: pools, reductions, products, sampling, and what only moves
elements. See layers.py."""
import numpy as np

import scaling
from layers import I8, I16, I32, bits_of
from scaling import listed


# ---- pools and reductions ---------------------------------------------------

def pool_geometry(m, h, w):
    while True:
        k = list(m.one_of((2, 2), (3, 3), (3, 2), (1, 3), (5, 5), (4, 4)))
        s = list(m.one_of((1, 1), (2, 2), (2, 1), (3, 3)))
        pads = [int(m.r.integers(0, (k[i % 2] + 1) // 2)) for i in range(4)]
        ceil = m.odds(0.3)
        fits = True
        for i, size in enumerate((h, w)):
            room = size + pads[i] + pads[i + 2] - k[i]
            count = (-(-room // s[i]) if ceil else room // s[i]) + 1
            # No window of padding only: what that means is not known.
            fits = fits and room >= 0 and (
                (count - 1) * s[i] < size + pads[i])
        if fits:
            return k, s, pads, ceil


def max_pool(m, x):
    g = m.g
    k, s, pads, ceil = pool_geometry(m, *g.shape(x)[1:3])
    return g.node("HzQuantizedMaxPool", m.name("maxpool"), [x], g.dtype(x),
                  ceil_mode=1 if ceil else None, kernel_shape=k, strides=s,
                  pads=pads, output_bit=bits_of(g.dtype(x)),
                  data_format="NHWC")


def average_pool(m, x):
    g = m.g
    while True:
        k, s, pads, ceil = pool_geometry(m, *g.shape(x)[1:3])
        if not ceil:
            break
    return g.node("HzQuantizedAveragePool", m.name("avgpool"), [x], I8,
                  kernel_shape=k, pads=pads, strides=s,
                  scale=int(m.one_of(9, 12, 16, 25, 4)), data_format="NHWC")


def global_max(m, x):
    return m.g.node("HzQuantizedGlobalMaxPool", m.name("gmp"), [x],
                    m.g.dtype(x), data_format="NHWC")


def global_average(m, x, dtype=None):
    large = dtype is None and m.odds(0.3)
    if large:  # sums beyond 16 bits
        x = m.g.input(m.name("flat"), [m.values((1, 18, 20, 4), I8, "flat")
                                       for _ in range(m.g.n_samples)])
    dtype = dtype or m.one_of(I8, I8, I16, I16, I32)
    if dtype == I32:  # a tail
        return m.g.node("HzSQuantizedGlobalAveragePool", m.name("gap"), [x],
                        dtype, output_bit=32, data_format="NHWC")
    attrs = {"rounding_method": "ROUND", "output_bit": bits_of(dtype),
             "data_format": "NHWC"}
    m.output("HzSQuantizedGlobalAveragePool", [x], attrs, bits_of(dtype))
    if m.odds(0.3):  # ties of the first shift
        attrs["accu_right_shift"] = m.ints(0 if large else 1, 4,
                                           m.g.shape(x)[3])
    return m.g.node("HzSQuantizedGlobalAveragePool", m.name("gap"), [x],
                    dtype, **attrs)


def reduce_scaled(m, x):
    g = m.g
    shape = g.shape(x)
    op = "HzSQuantizedReduce" + m.one_of("Mean", "Sum")
    dtype = I16 if g.dtype(x) == I16 else m.one_of(I8, I16)
    attrs = {"axis": int(m.one_of(3, len(shape) - 1, 1, 2)) % len(shape),
             "output_bit": bits_of(dtype)}
    m.output(op, [x], attrs, bits_of(dtype), False, shape[-1])
    return g.node(op, m.name("reduce"), [x], dtype, **attrs)


def reduce_max(m, x):
    g = m.g
    axis = int(m.r.integers(1, len(g.shape(x))))
    return g.node("HzQuantizedReduceMax", m.name("reducemax"), [x],
                  g.dtype(x), axis=axis, output_bit=bits_of(g.dtype(x)))


def arg_max(m, x):
    g = m.g
    dtype, axis = g.dtype(x), int(m.one_of(3, 3, 1, 2))
    if m.odds(0.5):  # an int8 index wraps
        shape = (1, 2, 3, int(m.one_of(129, 200, 300)))
        x, axis = g.input(m.name("wide"), [
            m.values(shape, dtype, "any") for _ in range(g.n_samples)]), 3
    y = g.node("HzQuantizedArgMax", m.name("argmax"), [x], dtype, axis=axis,
               output_bit=bits_of(dtype))
    if m.odds(0.4):
        y = g.node("Transpose", m.name("t"), [y], dtype, perm=[0, 3, 1, 2])
        y = g.node("Cast", m.name("argmax_cast"), [y], np.int64, to=7)
    return y


# ---- products ---------------------------------------------------------------

def matmul(m, x, b=None, dtype=None):
    """a is x as it stands, or as [N, H*W, C]; b is of the right shape."""
    g = m.g
    if len(g.shape(x)) == 4 and m.odds(0.4):
        n, h, w, c = g.shape(x)
        x = reshape(m, x, (n, h * w, c))
    shape = g.shape(x)
    if b is None:
        last = int(m.one_of(1, 3, 8, 19))
        lead = shape[:-2] if m.odds(0.8) else (1,) * (len(shape) - 2)
        b = m.input("b", (*lead, shape[-1], last), I8)
    dtype = dtype or m.one_of(I8, I8, I16, I16, I32)
    if dtype == I32:  # a tail
        return g.node("HzSQuantizedMatmul", m.name("matmul"), [x, b], dtype,
                      output_bit=32)
    attrs = {"output_bit": bits_of(dtype), "rounding_method": "ROUND"}
    m.output("HzSQuantizedMatmul", [x, b], attrs, bits_of(dtype), False)
    return g.node("HzSQuantizedMatmul", m.name("matmul"), [x, b], dtype,
                  **attrs)


# ---- sampling ---------------------------------------------------------------

def resize(m, x):
    g = m.g
    sizes = [int(m.r.integers(1, 3 * v + 3)) for v in g.shape(x)[1:3]]
    mode = m.one_of("center", "origin", "given_step")
    step = None
    if mode == "given_step":  # align_corners
        step = [((v - 1) << 16) // max(o - 1, 1)
                for v, o in zip(g.shape(x)[1:3], sizes)]
    return g.node("HzQuantizedRoiResize", m.name("resize"), [x], I8,
                  align_mode=mode, step=step, sizes=sizes,
                  pad_mode="boundary", step_decimal_bit=16,
                  is_interpolate_twice=int(m.odds(0.3)), data_format="NHWC")


def upsample(m, x):
    return m.g.node("HzQuantizedResizeUpsample", m.name("nearest"), [x],
                    m.g.dtype(x), mode="nearest", scale=[2, 2],
                    data_format="NHWC")


def grid_sample(m, x, grid=None):
    g = m.g
    n, h, w, _ = g.shape(x)
    if grid is None:
        size = (n, int(m.r.integers(1, 10)), int(m.r.integers(1, 10)), 2)
        far = int(m.one_of(300, 256 * max(h, w) + 600))
        arrays = [m.r.integers(-far, far, size).astype(I16)
                  for _ in range(g.n_samples)]
        # Some at half pixels and whole ones: ties.
        arrays[-1] = (arrays[-1] // 128 * 128).astype(I16)
        grid = g.input(m.name("grid"), arrays)
    mode = m.one_of("bilinear", "bilinear", "bilinear", "nearest")
    return g.node("HzQuantizedGridSample", m.name("gridsample"), [x, grid],
                  I8, mode=mode, padding_mode=m.one_of("zeros", "border"),
                  coord_shift=8, itplt_shift=8,
                  output_round=int(m.odds(0.7)), data_format="NHWC")


# ---- what only moves --------------------------------------------------------

def transpose(m, x, perm=None):
    g = m.g
    if perm is None:
        perm = m.one_of([0, 3, 1, 2], [0, 2, 1, 3],
                        listed(m.r.permutation(4)))
    return g.node("Transpose", m.name("t"), [x], g.dtype(x), perm=perm)


def reshape(m, x, to=None):
    g = m.g
    if to is None:
        n, h, w, c = g.shape(x)
        to = m.one_of((n, h * w, c), (n, -1), (n * h, w * c), (0, 0, -1, 1))
    k = g.constant(m.name("shape"), np.array(to, np.int64))
    return g.node("Reshape", m.name("reshape"), [x, k], g.dtype(x))


def concat(m, x):
    g = m.g
    shape = list(g.shape(x))
    axis = int(m.one_of(3, 3, 1, 2))
    parts = [x]
    for _ in range(int(m.r.integers(1, 4))):
        size = list(shape)
        size[axis] = int(m.r.integers(1, 6))
        parts.insert(int(m.r.integers(0, 2)),
                     m.input("c", tuple(size), g.dtype(x)))
    return g.node("Concat", m.name("concat"), parts, g.dtype(x), axis=axis)


def split(m, x, among=(3, 3, 1, 2)):
    g = m.g
    axes = [a for a in among if g.shape(x)[a] > 1]
    if not axes:
        return None
    axis = int(m.one_of(*axes))
    size = g.shape(x)[axis]
    first = int(m.r.integers(1, size))
    parts = [first, size - first]
    if parts[1] > 1:
        parts[1:] = [1, parts[1] - 1]
    return g.node("Split", m.name("split"), [x], [g.dtype(x)] * len(parts),
                  axis=axis, split=parts)


def slice_of(m, x):
    g = m.g
    starts, ends, axes, steps = [], [], [], []
    for axis, size in enumerate(g.shape(x)):
        if axis == 0 or m.odds(0.3):
            continue
        a = int(m.r.integers(0, size))
        z = int(m.r.integers(a + 1, size + 1))
        step = int(m.one_of(1, 1, 2, 3, -1))
        if step < 0:  # backwards, from z - 1 to a
            a, z = z - 1, a - 1 if a else -size - 1
        elif m.odds(0.3):
            a -= size
        elif z == size and m.odds(0.5):
            z = 2 ** 31 - 1
        starts.append(a)
        ends.append(z)
        axes.append(axis)
        steps.append(step)
    if not axes:
        return None
    name = m.name("slice")
    k = [g.constant("%s_k%d" % (name, i), np.array(v, np.int64))
         for i, v in enumerate((starts, ends, axes, steps))]
    return g.node("Slice", name, [x] + k, g.dtype(x))


def gather(m, x):
    g, name = m.g, m.name("gather")
    axis = int(m.one_of(3, 3, 1, 2))
    size = g.shape(x)[axis]
    k = m.r.integers(0, size, int(m.r.integers(1, 7))).astype(np.int32)
    return g.node("Gather", name, [x, g.constant(name + "_k", k)],
                  g.dtype(x), axis=axis)


def tile(m, x):
    g, name = m.g, m.name("tile")
    times = m.one_of([1, 1, 2, 1], [1, 2, 1, 1], [1, 1, 1, 3], [1, 2, 2, 2])
    k = g.constant(name + "_k", np.array(times, np.int64))
    return g.node("Tile", name, [x, k], g.dtype(x))


def depth_to_space(m, x):
    g = m.g
    if g.shape(x)[3] % 4:
        x = tile(m, x)
        while g.shape(x)[3] % 4:
            k = g.constant(m.name("k"), np.array([1, 1, 1, 4], np.int64))
            x = g.node("Tile", m.name("tile"), [x, k], g.dtype(x))
    return g.node("HzDepthToSpace", m.name("d2s"), [x], g.dtype(x),
                  blocksize=2, mode=m.one_of("DCR", "CRD"),
                  data_format="NHWC")


def space_to_depth(m, x):
    g = m.g
    h, w = g.shape(x)[1:3]
    if h % 2 or w % 2:
        x = upsample(m, x)
    return g.node("HzSpaceToDepth", m.name("s2d"), [x], g.dtype(x),
                  block_height=2, block_width=2, data_format="NHWC")


# ---- floats -----------------------------------------------------------------

def some_scale(m, lo, hi, n):
    return np.ldexp(m.r.uniform(1, 2, n), m.r.integers(lo, hi, n)).astype(
        np.float32)


def quantize(m, shape=None):
    """A float input of the model, with values next to the ties."""
    g = m.g
    name = m.name("x")
    bits = int(m.one_of(8, 8, 16))
    scale = np.float32(some_scale(m, -12, 2, 1)[0])
    shape = shape or m.one_of((1, 3, 5, 6), (2, 4, 7, 3), (1, 33),
                              (1, 1, 9, 9))
    arrays = []
    for _ in range(g.n_samples):
        top = 2 ** (bits - 1)
        k = m.r.uniform(-1.2 * top, 1.2 * top, shape)
        tie = np.floor(k) + 0.5
        v = np.where(m.r.random(shape) < 0.5, tie, k).astype(np.float32)
        v = (v * scale).astype(np.float32)
        near = m.r.integers(-1, 2, shape)
        v = np.where(near > 0, np.nextafter(v, np.float32(np.inf)), v)
        v = np.where(near < 0, np.nextafter(v, np.float32(-np.inf)), v)
        v.flat[0] = m.one_of(0.0, -0.0, 1e30, -1e30)
        arrays.append(v.astype(np.float32))
    x = g.input(name, arrays)
    s = g.constant(name + "_HzCalibration_y_scale", np.array([scale]))
    y = g.node("HzQuantize", name + "_HzCalibration_HzQuantize", [x, s],
               I8 if bits == 8 else I16,
               [name + "_calibrated_quantized"], bits=bits)
    g.scales[y] = [float(scale)]
    return y


def dequantize(m, x, top=None):
    """As at the border of a model: NCHW, scales along axis 1."""
    g = m.g
    if len(g.shape(x)) == 4:
        x = transpose(m, x, [0, 3, 1, 2])
    n = g.shape(x)[1] if len(g.shape(x)) > 1 and m.odds(0.6) else 1
    name = m.name("y")
    scale = some_scale(m, -20, 2, n)
    if top:
        scale = (scale * 0 + top / max(scaling.largest(
            g.values[x], False)[0], 1)).astype(np.float32)
    s = g.constant(name + "_x_scale", scale)
    g.scales[x] = [float(v) for v in g.const[s]]
    return g.node("HzDequantize", name + "_HzDequantize", [x, s], np.float32,
                  axis=1 if m.odds(0.5) or n > 1 else None)


def softmax(m, x):
    y = dequantize(m, x, 12.0)
    return m.g.node("Softmax", m.name("softmax"), [y], np.float32, axis=1)


