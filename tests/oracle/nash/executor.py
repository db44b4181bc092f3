# SPDX-License-Identifier: Apache-2.0
"""What each operation of a stand-in computes under a numerics.

Integer operations in exact integers (int64, every bound checked), tap by tap;
binary32 only where a tensor is one. Written from docs/numerics.md and
docs/quantized-bc.md; nothing is shared with what it judges.
"""
import numpy as np

import integers as z
from hbir import DTYPES

I64 = np.int64


def bits(v):
    return np.dtype(DTYPES[v.dtype]).itemsize * 8


class Executor:
    def __init__(self, numerics):
        self.rules = {form: numerics.rule(form)
                      for form in numerics.doc["rules"]}

    def run(self, op, have):
        """The result of one operation; have: arrays by Value."""
        x = [v.data if v.data is not None else have[v] for v in op.inputs]
        y = OPS[op.name](self, op, *x)
        out = op.outputs[0]
        if y.shape != out.shape:
            raise ValueError("%s: %s instead of %s" % (out.name, y.shape,
                                                       out.shape))
        if out.dtype[0] != "f" and out.dtype != "i1":
            lo, hi = z.limits(bits(out))
            if y.size and (y.min() < lo or y.max() > hi):
                raise OverflowError("%s: %d to %d" % (out.name, y.min(),
                                                      y.max()))
        return y.astype(DTYPES[out.dtype])

    def finish(self, form, v, fields, op, e=None, section=""):
        rule = self.rules[form]
        fields = rule.derive(fields)
        return rule.run(v, fields, bits(op.outputs[0]), e, section)


# ---- what multiplies and accumulates ----------------------------------------

def row(info, second=False, relu=False):
    info = info.astype(I64)
    fields = dict(zip(("bias", "second_scale", "second_shift", "pre_shift",
                       "scale", "post_shift"), info.T))
    if not second:
        del fields["second_scale"], fields["second_shift"]
    if relu:
        fields["relu"] = I64(1)
    return fields


def is_tail(op, info):
    return op.outputs[0].dtype == "si32" and \
        (info[:, 3:] == [0, 1, 0]).all()


def axis_taps(size, kernel, stride, dilation, before, after):
    room = size + before + after - dilation * (kernel - 1) - 1
    return (np.arange(room // stride + 1)[:, None] * stride - before +
            np.arange(kernel)[None] * dilation)


def taps(x, attrs, kernel, outside):
    """[n, oh, kh, ow, kw, c]"""
    sh, sw = attrs.get("stride", [1, 1])
    dh, dw = attrs.get("dilation", [1, 1])
    t, l, b, r = attrs.get("pad", [0] * 4)
    h, w = x.shape[1:3]
    rows = axis_taps(h, kernel[0], sh, dh, t, b)
    cols = axis_taps(w, kernel[1], sw, dw, l, r)
    v = x[:, np.clip(rows, 0, h - 1)][:, :, :, np.clip(cols, 0, w - 1)]
    gone = (((rows < 0) | (rows >= h))[:, :, None, None] |
            ((cols < 0) | (cols >= w))[None, None])
    return np.where(gone[None, ..., None], outside, v)


def window_sums(x, w, attrs):
    cout, kh, kw, cin = w.shape
    groups = attrs.get("groupNum", attrs.get("group", 1))
    v = taps(x.astype(I64), attrs, (kh, kw), 0)
    z.check(kh * kw * cin * z.largest(v) * z.largest(w))
    n, oh, _, ow, _, c = v.shape
    v = v.transpose(0, 1, 3, 2, 4, 5)
    acc = np.empty((n, oh, ow, cout), I64)
    per = cout // groups
    for g in range(groups):
        a = v[..., g * cin:(g + 1) * cin].reshape(n * oh * ow, -1)
        k = w[g * per:(g + 1) * per].astype(I64).reshape(per, -1)
        acc[..., g * per:(g + 1) * per] = (a @ k.T).reshape(n, oh, ow, per)
    return acc


def conv(ex, op, x, w, info, e=None):
    acc = window_sums(x, w, op.attrs)
    if op.outputs[0].dtype[0] == "f":
        return floats(ex, op, acc, info)
    form = "conv_tail" if is_tail(op, info) else "conv"
    return ex.finish(form, acc, row(info, e is not None,
                                    op.attrs.get("relu", False)), op,
                     None if e is None else e.astype(I64))


def floats(ex, op, acc, info):
    return ex.finish("conv_float", acc,
                     {"bias": info[:, 0].astype(I64), "scale": info[:, 2]},
                     op)


def linear(ex, op, x, w, info, e=None):
    z.check(w.shape[0] * z.largest(x) * z.largest(w))
    acc = x.astype(I64) @ w.astype(I64)
    form = "linear_tail" if is_tail(op, info) else "linear"
    return ex.finish(form, acc, row(info, e is not None,
                                    op.attrs.get("relu", False)), op,
                     None if e is None else e.astype(I64))


def matmul(ex, op, a, b, info):
    z.check(a.shape[-1] * z.largest(a) * z.largest(b))
    return ex.finish("matmul", a.astype(I64) @ b.astype(I64), row(info), op)


# ---- tables -----------------------------------------------------------------

def lut(ex, op, x, *tables):
    if len(tables) == 1:
        how = ex.rules["lut"].word("index", "ascending")
        k = x.astype(I64)
        return tables[0].reshape(-1)[k + 128 if how == "ascending"
                                     else k & 255]
    rule = ex.rules["lut_segments"]
    mode = op.attrs["symMode"]
    entries, ranges = tables[0].astype(I64), tables[1].astype(I64)
    x = x.astype(I64)
    size = np.minimum(np.abs(x), 32767)
    v = x if mode == "none" else size
    segment = (v[..., None] > ranges[:7, 0]).sum(-1)
    alpha, beta, left, right = ranges[segment].transpose(
        x.ndim, *range(x.ndim))[1:]
    t = z.shr(v * alpha + (beta << left), right, rule.word("line"))
    at = np.clip(t, 0, 64 * 256 - 1)
    table = np.clip(segment - 1, 0, 5)
    cell, part = at // 256, at % 256
    mixed = z.shr(entries[table, cell] * (256 - part) +
                  entries[table, np.minimum(cell + 1, 63)] * part, 8,
                  rule.word("mix"))
    y = np.where((segment > 0) & (segment < 7), mixed, z.sat(t, 16))
    if mode == "center":
        y = np.where(x < 0, z.sat(-y, 16), y)
    return ex.finish("lut_segments", y, {}, op)


# ---- pools and reductions ---------------------------------------------------

def ratio(op):
    return float(np.float32(op.inputs[0].scale)) / \
        float(np.float32(op.outputs[0].scale))


def pool(ex, op, x, info=None):
    kernel = op.attrs["kernel"]
    if "max" in op.attrs["mode"]:
        return taps(x.astype(I64), op.attrs, kernel, -1 << 40).max((2, 4))
    acc = taps(x.astype(I64), op.attrs, kernel, 0).sum((2, 4))
    if info is not None:
        return ex.finish("avg_pool", acc, row(info), op)
    fields = named(op)
    if not fields:
        fields = {"real": ratio(op) / float(kernel[0] * kernel[1])}
    return ex.finish("avg_pool", acc, fields, op)


def named(op):
    names = {"preRShift": "pre_shift", "scale": "scale",
             "postRShift": "post_shift", "lhsShift": "x_shift",
             "rhsShift": "e_shift", "rhsScale": "e_scale"}
    return {names[k]: np.atleast_1d(np.asarray(v, I64))
            for k, v in op.attrs.items() if k in names}


def reduce(ex, op, x, info=None):
    axes, mode = tuple(op.attrs["dims"]), op.attrs["mode"]
    keep = op.attrs["keepDim"]
    if mode in ("max", "min"):
        return getattr(x, mode)(axes, keepdims=keep)
    if mode == "argmax":
        return np.expand_dims(x.argmax(axes[0]), axes[0]) if keep \
            else x.argmax(axes[0])
    acc = x.astype(I64).sum(axes, keepdims=keep)
    return ex.finish("reduce", acc, row(info), op)


# ---- element by element -----------------------------------------------------

def rescale(ex, op, x, info=None):
    if info is not None:
        return ex.finish("rescale", x.astype(I64), row(info), op)
    a = op.attrs
    return ex.finish("rescale", x.astype(I64),
                     {"real": float(a["inScale"]) / float(a["outScale"])}, op)


def binary(ex, op, a, b):
    mode = op.attrs["mode"]
    a, b = a.astype(I64), b.astype(I64)
    if mode in ("max", "min"):
        return np.maximum(a, b) if mode == "max" else np.minimum(a, b)
    fields = named(op)
    if mode == "mul":
        return ex.finish("mul", z.mul(a, b), fields, op)
    a = ex.finish(mode, a, fields, op, section="x")
    b = ex.finish(mode, b, fields, op, section="e")
    return ex.finish(mode, z.add(a, b if mode == "add" else -b), fields, op)


def unary(ex, op, x):
    mode = op.attrs["mode"]
    x = x.astype(I64)
    one = np.ones(1, I64)
    if mode == "relu":
        return np.maximum(x, 0)
    if mode == "neg":
        return ex.finish("rescale", x, {"scale": -one, "post_shift": 0 * one},
                         op)
    if mode == "shift":
        return ex.finish("rescale", x, {
            "pre_shift": np.atleast_1d(np.asarray(op.attrs["rshift"], I64))},
                         op)
    fields = {"pos_scale": one, "pos_shift": 0 * one, "slope": -one,
              "slope_shift": 0 * one, "neg_scale": one, "neg_shift": 0 * one}
    v = np.where(x < 0, ex.finish("prelu", x, fields, op, section="neg"),
                 ex.finish("prelu", x, fields, op, section="pos"))
    return ex.finish("prelu", v, fields, op)


def select(ex, op, cond, a, b):
    return np.where(cond != 0, a, b)


# ---- sampling ---------------------------------------------------------------

def resize(ex, op, x):
    rule, a = ex.rules["resize"], op.attrs
    out = op.outputs[0].shape[1:3]
    step = a.get("step") or [(n << 16) // m
                             for n, m in zip(x.shape[1:3], out)]
    start = a.get("initialOffset", [0, 0])
    x = x.astype(I64)

    def axis(k):
        size = x.shape[1 + k]
        at = np.arange(out[k], dtype=I64) * step[k] + start[k]
        if a["mode"] == "nearest":
            return np.clip(at >> 16, 0, size - 1), None, None
        at >>= 8
        cell = at >> 8
        return (np.clip(cell, 0, size - 1), np.clip(cell + 1, 0, size - 1),
                at & 255)

    r0, r1, fr = axis(0)
    c0, c1, fc = axis(1)
    if a["mode"] == "nearest":
        return x[:, r0][:, :, c0]
    fr, fc = fr[:, None, None], fc[:, None]
    between = int(rule.word("between", "0"))
    wide = x[:, :, c0] * (256 - fc) + x[:, :, c1] * fc
    wide = z.shr(wide, between, "floor")
    v = wide[:, r0] * (256 - fr) + wide[:, r1] * fr
    return ex.finish("resize", v, {"frac": I64(16 - between)}, op)


def sample(default_absolute):
    def run(ex, op, x, grid):
        a = op.attrs
        n, h, w, _ = x.shape
        shift = a.get("moveFracBitNum", 0)
        one = 1 << shift
        x, grid = x.astype(I64), grid.astype(I64)
        row, col = grid[..., 0], grid[..., 1]
        if not a["isMoveYx"]:
            row, col = col, row
        if not a.get("isAbsoluteMv", default_absolute):
            row = row + np.arange(grid.shape[1])[:, None] * one
            col = col + np.arange(grid.shape[2]) * one
        if a["padBorder"]:
            row = np.clip(row, 0, (h - 1) * one)
            col = np.clip(col, 0, (w - 1) * one)
        image = np.arange(n)[:, None, None]

        def tap(r, c):
            inside = (r >= 0) & (r < h) & (c >= 0) & (c < w)
            v = x[image, np.clip(r, 0, h - 1), np.clip(c, 0, w - 1)]
            return np.where(inside[..., None], v, 0)

        if a.get("mode", "nearest") == "nearest":
            return tap(z.shr(row, shift, "half_up"),
                       z.shr(col, shift, "half_up"))
        fr, fc = (row % one)[..., None], (col % one)[..., None]
        r, c = row // one, col // one
        top = tap(r, c) * (one - fc) + tap(r, c + 1) * fc
        low = tap(r + 1, c) * (one - fc) + tap(r + 1, c + 1) * fc
        return ex.finish("grid_sample", top * (one - fr) + low * fr,
                         {"frac": I64(2 * shift)}, op)
    return run


# ---- what only moves --------------------------------------------------------

def slice_of(ex, op, x):
    a = op.attrs
    return x[tuple(slice(b, e, s) for b, e, s in zip(
        a["begin"], a["end"], a["step"]))]


# ---- between integers and floats --------------------------------------------

def scales(op, s):
    s = np.asarray(s, np.float64).astype(np.float32)
    return s  # of the last axis, or one


def quantize(ex, op, x):
    return ex.finish("quantize", x.astype(np.float32), {
        "scale_f32": scales(op, op.attrs["scales"])}, op)


def dequantize(ex, op, x):
    return ex.finish("dequantize", x.astype(I64), {
        "scale_f32": scales(op, op.attrs["scales"])}, op)


def softmax(ex, op, x):
    x = x.astype(np.float64)
    e = np.exp(x - x.max(op.attrs["dim"], keepdims=True))
    return e / e.sum(op.attrs["dim"], keepdims=True)


def layer_norm(ex, op, x, gamma, beta):
    x = x.astype(np.float64)
    axes = tuple(op.attrs["dims"])
    mean = x.mean(axes, keepdims=True)
    var = ((x - mean) ** 2).mean(axes, keepdims=True)
    return (x - mean) / np.sqrt(var + op.attrs["eps"]) * gamma + beta


def call(ex, op, *x):
    name = op.attrs["signature"].split("(")[0]
    return CALLS[name](ex, op, *x)


def parameter(op, k):
    return op.attrs["parameters"][k]


CALLS = {
    "quant::quantize": lambda ex, op, x: ex.finish(
        "quantize", x, {"scale_f32": scales(op, parameter(op, 0))}, op),
    "quant::dequantize": lambda ex, op, x: ex.finish(
        "dequantize", x.astype(I64),
        {"scale_f32": scales(op, parameter(op, 0))}, op),
    "native::Transpose": lambda ex, op, x: x.transpose(parameter(op, 0)),
    "native::Reshape": lambda ex, op, x: x.reshape(parameter(op, 0)),
    "native::Softmax": lambda ex, op, x: softmax(
        ex, op._replace(attrs={"dim": parameter(op, 0)}), x),
    "native::Sigmoid": lambda ex, op, x:
        1 / (1 + np.exp(-x.astype(np.float64))),
    "native::Argmax": lambda ex, op, x: np.expand_dims(
        x.argmax(parameter(op, 0)[0]), parameter(op, 0)[0]),
}
OPS = {
    "b30.conv2d": conv, "b30.linear": linear, "b30.matmul": matmul,
    "b30.lut": lut, "b30.pool2d": pool, "b30.reduce": reduce,
    "b30.rescale": rescale, "b30.binary_eltwise": binary,
    "b30.unary_eltwise": unary, "b30.ternary_eltwise": select,
    "b30.resize2d": resize, "b30.warp": sample(False),
    "b30.grid_sample": sample(False), "b30.gather2d": sample(True),
    "b30.quantize": quantize, "b30.dequantize": dequantize,
    "b30vpu.quantize": quantize, "b30vpu.dequantize": dequantize,
    "b30.reshape": lambda ex, op, x: x.reshape(op.attrs["shape"]),
    "hbir.reshape": lambda ex, op, x: x.reshape(op.attrs["shape"]),
    "b30.trans_layout": lambda ex, op, x: x.transpose(op.attrs["perm"]),
    "hbir.transpose": lambda ex, op, x: x.transpose(op.attrs["dims"]),
    "hbir.slice": slice_of,
    "hbir.concat": lambda ex, op, *x: np.concatenate(x, op.attrs["dim"]),
    "hbir.cast_type": lambda ex, op, x: x,
    "b30vpu.cast": lambda ex, op, x: x,
    "b30vpu.softmax": softmax, "b30vpu.layer_norm": layer_norm,
    "b30vpu.exp": lambda ex, op, x: np.exp(x.astype(np.float64)),
    "b30vpu.mul": lambda ex, op, a, b: a.astype(np.float64) * b,
    "b30vpu.add": lambda ex, op, a, b: a.astype(np.float64) + b,
    "hbtl.call": call,
    # An operation that nobody knows: each element with its left neighbour.
    "b30.polar_shift": lambda ex, op, x: np.roll(x, 1, 2),
}
