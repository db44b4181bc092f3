#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small random quantized models, as cases with onnxruntime's goldens.

    random_models.py FOLDER [--count N] [--seed S] [--only K]

FOLDER/NNNN_KIND/ gets model K of the seed: qop (QOperator), or qdq
(DequantizeLinear ... op ... QuantizeLinear), of int8 or uint8 activations.
Shapes are odd on purpose: batches, 1x1 images, 1 or 33 channels, groups,
dilations, asymmetric and automatic pads, windows that are cut off.
A model depends on the seed and its own number only.
"""
import argparse
import os

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

import make_cases

TYPES = {"u8": (np.uint8, T.UINT8, 0, 255), "s8": (np.int8, T.INT8, -128, 127)}
KINDS = [("qop", "u8", "u8"), ("qop", "s8", "s8"), ("qop", "u8", "s8"),
         ("qdq", "s8", "s8"), ("qdq", "u8", "s8"), ("qdq", "u8", "u8")]


class Maker:
    """A model in the making. A tensor is (name, shape, scale, zero point)."""

    def __init__(self, rng, form, act, weight):
        self.r, self.qdq = rng, form == "qdq"
        self.act, self.weight = act, weight
        self.nodes, self.inits, self.n = [], [], 0

    def odds(self, p):
        return self.r.random() < p

    def one_of(self, *what):
        return what[self.r.integers(len(what))]

    def name(self, stem):
        self.n += 1
        return "%s_%d" % (stem, self.n)

    def const(self, array, stem):
        name = self.name(stem)
        self.inits.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op, inputs, stem=None, domain="", **attrs):
        out = self.name(stem or op.lower())
        self.nodes.append(helper.make_node(op, inputs, [out], name="n_" + out,
                                           domain=domain, **attrs))
        return out

    def zero(self, v, kind=None):
        return self.const(TYPES[kind or self.act][0](v), "zp")

    def pick_zero(self, kind=None):
        _, _, lo, hi = TYPES[kind or self.act]
        return int(self.one_of(lo, hi, (lo + hi + 1) // 2,
                               self.r.integers(lo, hi + 1)))

    def sz(self, t):
        return [self.const(np.float32(t[2]), "scale"), self.zero(t[3])]

    def dq(self, t):
        return self.node("DequantizeLinear", [t[0]] + self.sz(t), "dq")

    def fresh(self, std):
        """Scale and zero point for values that spread like this."""
        scale = np.float32(std / 50 * self.r.uniform(0.6, 1.6))
        return scale, self.pick_zero()

    def quantize(self, value, shape, scale, zp):
        t = (None, shape, scale, zp)
        return (self.node("QuantizeLinear", [value] + self.sz(t), "q"),
                shape, scale, zp)

    def weights(self, shape, axis):
        dtype, _, lo, hi = TYPES[self.weight]
        if self.act == "u8" and self.weight == "s8" and not self.qdq:
            lo, hi = lo // 2, hi // 2  # AVX2 saturates pairs of products
        w = self.r.integers(lo, hi + 1, shape).astype(dtype)
        n = shape[axis] if self.odds(0.6) else 1
        scale = self.r.uniform(0.002, 0.02, n).astype(np.float32)
        zp = np.zeros(n, dtype)
        if self.weight == "u8":
            zp += dtype(self.one_of(128, 0, 119))
        if n == 1:
            scale, zp = scale[0], zp[0]
        return w, scale, zp

    def product(self, op, t, w, scale, zp, out_shape, axis, k, n, **attrs):
        """Conv or Gemm with what is common to both."""
        bias = None
        real = np.float32(t[2]) * np.asarray(scale, np.float32)
        if op != "MatMul" and self.odds(0.7):
            bias = self.r.integers(-3000, 3000, n).astype(np.int32)
        y = self.fresh(float(np.mean(real)) * 74 * 60 * np.sqrt(k))
        wn = self.const(w, "w")
        ws = self.const(scale, "scale")
        wz = self.const(zp, "zp")
        if self.qdq:
            more = {"axis": axis} if np.ndim(scale) else {}
            ins = [self.dq(t), self.node("DequantizeLinear", [wn, ws, wz],
                                         "dqw", **more)]
            if bias is not None:
                b = [self.const(bias, "b"), self.const(real, "scale"),
                     self.const(np.zeros(np.shape(real), np.int32), "zp")]
                more = {"axis": 0} if np.ndim(scale) else {}
                ins.append(self.node("DequantizeLinear", b, "dqb", **more))
            out = self.node(op, ins, **attrs)
            if op == "Conv" and self.odds(0.25):
                out = self.node("Relu", [out])
                y = (y[0], TYPES[self.act][2])
            return self.quantize(out, out_shape, *y)
        ins = [t[0]] + self.sz(t) + [wn, ws, wz]
        ysz = self.sz((None, None) + y)
        b = [] if bias is None else [self.const(bias, "b")]
        if op == "Conv":
            out = self.node("QLinearConv", ins + ysz + b, **attrs)
        elif op == "MatMul":
            out = self.node("QLinearMatMul", ins + ysz)
        elif self.odds(0.4):  # without an output scale: floats
            out = self.node("QGemm", ins + b, domain="com.microsoft", **attrs)
            return out, out_shape, None, None
        else:
            out = self.node("QGemm", ins + (b or [""]) + ysz,
                            domain="com.microsoft", **attrs)
        return (out, out_shape) + y

    def conv(self, t):
        n, c, h, w = t[1]
        kind = self.one_of("full", "full", "depthwise", "groups")
        groups, m = 1, int(self.one_of(1, 3, 8, 16, 33))
        if kind == "depthwise":
            groups, m = c, c * int(self.one_of(1, 1, 2))
        elif kind == "groups":
            groups = int(self.one_of(*[g for g in range(1, c + 1)
                                       if c % g == 0]))
            m = groups * int(self.one_of(1, 2, 5))
        k = [int(self.one_of(1, 3, 3, 2, 5)) for _ in "hw"]
        s = [int(self.one_of(1, 1, 2, 3)) for _ in "hw"]
        d = [int(self.one_of(1, 1, 1, 2)) for _ in "hw"]
        attrs = {"kernel_shape": k, "strides": s, "dilations": d,
                 "group": groups}
        out = self.slide((h, w), k, s, d, attrs)
        if not out:
            return None
        q = self.weights((m, c // groups, k[0], k[1]), 0)
        return self.product("Conv", t, *q, (n, m) + out, 0,
                            c // groups * k[0] * k[1], m, **attrs)

    def slide(self, size, k, s, d, attrs, pool=False):
        """Pads into attrs; the output's height and width, or None."""
        out = []
        mode = self.one_of("pads", "pads", "none", "SAME_UPPER", "SAME_LOWER")
        eff = [(k[i] - 1) * d[i] + 1 for i in (0, 1)]
        if mode.startswith("SAME"):
            if d != [1, 1] or attrs.get("ceil_mode"):
                return None
            attrs["auto_pad"] = mode
            out = tuple(-(-size[i] // s[i]) for i in (0, 1))
            if pool and any((out[i] - 1) * s[i] + k[i] - size[i] < -1
                            for i in (0, 1)):
                return None  # onnxruntime crops the image: skipped by assay
            return out
        pads = [0] * 4
        if mode == "pads":
            top = [k[i] if pool else eff[i] for i in (0, 1)]
            pads = [int(self.r.integers(0, top[i % 2])) for i in range(4)]
            attrs["pads"] = pads
        for i in (0, 1):
            room = size[i] + pads[i] + pads[i + 2] - eff[i]
            if room < 0:
                return None
            n = room // s[i] + 1
            if attrs.get("ceil_mode"):
                n = -(-room // s[i]) + 1
                if (n - 1) * s[i] >= size[i] + pads[i]:
                    return None  # shape inference and kernels disagree
            out.append(n)
        return tuple(out)

    def pool(self, t):
        n, c, h, w = t[1]
        op = self.one_of("MaxPool", "AveragePool")
        k = [int(self.r.integers(1, min(4, x) + 1)) for x in (h, w)]
        s = [int(self.one_of(1, 2, 3)) for _ in "hw"]
        attrs = {"kernel_shape": k, "strides": s}
        if self.odds(0.3):
            attrs["ceil_mode"] = 1
        out = self.slide((h, w), k, s, [1, 1], attrs, True)
        if not out:
            return None
        shape = (n, c) + out
        if op == "AveragePool" and self.odds(0.5):
            if attrs.get("ceil_mode"):
                return None
            attrs["count_include_pad"] = 1
        if op == "MaxPool" and not self.qdq:
            return (self.node(op, [t[0]], **attrs), shape) + t[2:]
        y = t[2:] if self.odds(0.5) else self.fresh(40 * t[2])
        if self.qdq:
            return self.quantize(self.node(op, [self.dq(t)], **attrs), shape,
                                 *y)
        out = self.node("QLinearAveragePool", [t[0]] + self.sz(t) +
                        self.sz((None, None) + y), domain="com.microsoft",
                        **attrs)
        return (out, shape) + y

    def global_pool(self, t):
        shape = t[1][:2] + (1, 1)
        y = self.fresh(20 * t[2])
        if self.qdq:
            return self.quantize(self.node("GlobalAveragePool", [self.dq(t)]),
                                 shape, *y)
        out = self.node("QLinearGlobalAveragePool", [t[0]] + self.sz(t) +
                        self.sz((None, None) + y), domain="com.microsoft",
                        channels_last=0)
        return (out, shape) + y

    def binary(self, t, others):
        op = self.one_of("Add", "Mul")
        same = [o for o in others if o[1] == t[1]]
        if same and self.odds(0.6):
            b = same[self.r.integers(len(same))]
        else:
            shape = list(t[1])
            for i in range(len(shape)):
                if self.odds(0.5):
                    shape[i] = 1
            shape = shape[int(self.r.integers(0, len(shape))):]
            dtype, _, lo, hi = TYPES[self.act]
            b = (self.const(self.r.integers(lo, hi + 1, shape).astype(dtype),
                            "k"), tuple(shape),
                 np.float32(self.r.uniform(0.3, 3) * t[2]), self.pick_zero())
        if self.odds(0.3):
            a, b = b, t
        else:
            a = t
        std = 74 * 74 * a[2] * b[2] if op == "Mul" else 74 * np.hypot(a[2],
                                                                      b[2])
        y = self.fresh(float(std))
        if self.qdq:
            return self.quantize(self.node(op, [self.dq(a), self.dq(b)]),
                                 t[1], *y)
        out = self.node("QLinear" + op, [a[0]] + self.sz(a) + [b[0]] +
                        self.sz(b) + self.sz((None, None) + y),
                        domain="com.microsoft")
        return (out, t[1]) + y

    def concat(self, t, others):
        axis = self.one_of(*range(len(t[1])))
        fit = [o for o in others if len(o[1]) == len(t[1]) and all(
            a == b for i, (a, b) in enumerate(zip(o[1], t[1])) if i != axis)]
        if not fit:
            return None
        ops = [t] + [fit[self.r.integers(len(fit))]
                     for _ in range(int(self.one_of(1, 1, 2)))]
        shape = list(t[1])
        shape[axis] = sum(o[1][axis] for o in ops)
        if np.prod(shape) > 40000:
            return None
        y = self.fresh(74 * float(max(o[2] for o in ops)))
        if self.qdq:
            return self.quantize(
                self.node("Concat", [self.dq(o) for o in ops], axis=axis),
                tuple(shape), *y)
        ins = self.sz((None, None) + y)
        for o in ops:
            ins += [o[0]] + self.sz(o)
        return (self.node("QLinearConcat", ins, domain="com.microsoft",
                          axis=axis), tuple(shape)) + y

    def unary(self, t):
        """Float functions of one operand, between DQ and Q in any model."""
        x = self.dq(t)
        op = self.one_of("Relu", "Clip", "HardSigmoid")
        std = 74 * t[2]
        y = self.fresh(float(std))
        if op == "Clip":
            x = self.node(op, [x, self.const(np.float32(-0.3 * std), "lo"),
                               self.const(np.float32(std), "hi")])
        elif op == "HardSigmoid":
            x = self.node(op, [x], alpha=0.3, beta=0.4)
            y = (np.float32(1 / 255), TYPES[self.act][2])
        else:
            x = self.node(op, [x])
        return self.quantize(x, t[1], *y)

    def move(self, t):
        """Data movement: the same values at other places."""
        shape = list(t[1])
        op = self.one_of("Reshape", "Transpose", "Identity", "Unsqueeze",
                         "Squeeze")
        attrs, more = {}, []
        if op == "Transpose":
            perm = [int(i) for i in self.r.permutation(len(shape))]
            attrs["perm"] = perm
            out = [shape[i] for i in perm]
        elif op == "Unsqueeze":
            if len(shape) > 3:
                return None
            out = [1] + shape
            more = [self.const(np.array([0], np.int64), "axes")]
        elif op == "Squeeze":
            at = [i for i, v in enumerate(shape) if v == 1 and i > 1]
            if not at:
                return None
            out = [v for i, v in enumerate(shape) if i not in at]
            more = [self.const(np.array(at, np.int64), "axes")]
        elif op == "Reshape":
            if len(shape) != 4:
                return None
            out = [shape[0], shape[2], -1, shape[1]]
            more = [self.const(np.array(out, np.int64), "shape")]
            out[2] = shape[3]
        else:
            out = shape
        if self.qdq:
            return self.quantize(self.node(op, [self.dq(t)] + more, **attrs),
                                 tuple(out), *t[2:])
        return (self.node(op, [t[0]] + more, **attrs), tuple(out)) + t[2:]

    def head(self, t):
        """Flatten, a matrix product, sometimes a softmax."""
        n, k = t[1][0], int(np.prod(t[1][1:]))
        if self.qdq:
            t = self.quantize(self.node("Flatten", [self.dq(t)]), (n, k),
                              *t[2:])
        else:
            t = (self.node("Flatten", [t[0]]), (n, k)) + t[2:]
        m = int(self.one_of(1, 10, 17, 33))
        if k > 4000:
            return t
        op = self.one_of("Gemm", "Gemm", "MatMul")
        trans = int(op == "Gemm" and self.odds(0.5))
        w, scale, zp = self.weights((m, k) if trans else (k, m),
                                    0 if trans else 1)
        attrs = {"transB": trans} if op == "Gemm" else {}
        t = self.product(op, t, w, scale, zp, (n, m), 0 if trans else 1, k, m,
                         **attrs)
        if t[2] is not None and self.odds(0.5):
            y = (np.float32(1 / 256), TYPES[self.act][2])
            if self.qdq:
                t = self.quantize(self.node("Softmax", [self.dq(t)], axis=-1),
                                  t[1], *y)
            else:
                t = (self.node("QLinearSoftmax", [t[0]] + self.sz(t) +
                               self.sz((None, None) + y), axis=-1, opset=13,
                               domain="com.microsoft"), t[1]) + y
        return t

    def step(self, t, all_):
        if len(t[1]) != 4:
            what = self.one_of("binary", "unary", "move", "concat")
        else:
            what = self.one_of("conv", "conv", "conv", "pool", "binary",
                               "unary", "concat", "move", "global_pool")
        if what == "global_pool" and self.odds(0.7):
            what = "conv"
        f = getattr(self, what)
        return f(t, all_) if what in ("binary", "concat") else f(t)

    def model(self):
        shape = (int(self.one_of(1, 1, 2, 3)), int(self.one_of(1, 3, 4, 33)),
                 int(self.one_of(1, 5, 8, 13)), int(self.one_of(1, 7, 8, 11)))
        t = self.quantize("x", shape, np.float32(0.0207), self.pick_zero())
        all_ = [t]
        want = int(self.r.integers(4, 11))
        for _ in range(60):
            if len(all_) >= want:
                break
            y = self.step(t, all_)
            if y is None:
                continue
            all_.append(y)
            t = y
        t = self.head(t)
        y = t[0] if t[2] is None else self.dq(t)
        graph = helper.make_graph(
            self.nodes, "random",
            [helper.make_tensor_value_info("x", T.FLOAT, shape)],
            [helper.make_tensor_value_info(y, T.FLOAT, t[1])], self.inits)
        m = helper.make_model(graph, ir_version=8, opset_imports=[
            helper.make_opsetid("", 13),
            helper.make_opsetid("com.microsoft", 1)])
        onnx.checker.check_model(m, full_check=False)
        return m, shape


def make(folder, seed, k, samples):
    form, act, weight = KINDS[k % len(KINDS)]
    rng = np.random.default_rng([seed, k])
    model, shape = Maker(rng, form, act, weight).model()
    case = os.path.join(folder, "%04d_%s_%s%s" % (k, form, act, weight))
    os.makedirs(folder, exist_ok=True)
    path = case + ".onnx"
    onnx.save(model, path)
    np.savez(case + ".npz", x=rng.normal(
        0, 1.5, (samples,) + shape).astype(np.float32))
    make_cases.make_case(path, case + ".npz", case)


def main():
    ap = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("folder")
    ap.add_argument("--count", type=int, default=42)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--samples", type=int, default=2)
    ap.add_argument("--only", type=int)
    a = ap.parse_args()
    which = range(a.count) if a.only is None else [a.only]
    for k in which:
        make(a.folder, a.seed, k, a.samples)


if __name__ == "__main__":
    main()
