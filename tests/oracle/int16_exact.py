#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exact goldens for a QDQ model with int16 activations.

    int16_exact.py MODEL.onnx INPUTS.npz CASE [--samples N]

binary32 cannot hold int16 x int8 accumulators, so no float evaluation of such
a model is a bit-exact reference. Here convolutions and Gemm accumulate in
unbounded integers and are requantized in binary64 (round half to even); all
other operators are their definition: dequantize, one binary32 operation a
step, quantize. Shares no code with the C. Prints how far onnxruntime is.
"""
import argparse

import numpy as np
import onnx
from onnx import helper, numpy_helper

import make_cases
import ort_layers

F = np.float32


class Model:
    def __init__(self, path):
        self.m = onnx.load(path)
        self.const = {i.name: numpy_helper.to_array(i)
                      for i in self.m.graph.initializer}
        self.made = {o: n for n in self.m.graph.node for o in n.output}
        self.read = {}
        for n in self.m.graph.node:
            for i in n.input:
                self.read.setdefault(i, []).append(n)

    def params(self, node):
        """Scale and zero point of a Quantize- or DequantizeLinear."""
        s = self.const[node.input[1]].astype(F)
        z = (self.const[node.input[2]].astype(np.int64)
             if len(node.input) > 2 else np.zeros(s.shape, np.int64))
        return s, z


def attrs(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def dequantize(q, s, z):
    return (q.astype(np.int64) - z).astype(F) * F(s)


def quantize(x, s, z, dtype):
    info = np.iinfo(dtype)
    v = np.rint(x / F(s)).astype(np.float64) + float(z)
    return np.clip(v, info.min, info.max).astype(dtype)


def requantize(acc, scale, z, dtype):
    """acc: integers, channels on axis 1; scale: binary64, one a channel."""
    info = np.iinfo(dtype)
    shape = [1, -1] + [1] * (acc.ndim - 2)
    v = np.rint(acc.astype(np.float64) * scale.reshape(shape)) + float(z)
    return np.clip(v, info.min, info.max).astype(dtype)


def convolve(x, w, strides, pads, dilations, group):
    """Exact sums; x and w are already without their zero points."""
    n, c, h, wd = x.shape
    oc, cg, kh, kw = w.shape
    xp = np.zeros((n, c, h + pads[0] + pads[2], wd + pads[1] + pads[3]),
                  np.int64)
    xp[:, :, pads[0]:pads[0] + h, pads[1]:pads[1] + wd] = x
    oh = (xp.shape[2] - dilations[0] * (kh - 1) - 1) // strides[0] + 1
    ow = (xp.shape[3] - dilations[1] * (kw - 1) - 1) // strides[1] + 1
    acc = np.zeros((n, oc, oh, ow), np.int64)
    per = oc // group
    for o in range(oc):
        g = o // per
        for i in range(kh):
            for j in range(kw):
                y0, x0 = i * dilations[0], j * dilations[1]
                patch = xp[:, g * cg:(g + 1) * cg,
                           y0:y0 + strides[0] * oh:strides[0],
                           x0:x0 + strides[1] * ow:strides[1]]
                acc[:, o] += np.einsum("nchw,c->nhw", patch, w[o, :, i, j])
    return acc


def average(x, kh, kw, sh, sw):
    """Cells added one after the other in binary32, then divided."""
    oh, ow = (x.shape[2] - kh) // sh + 1, (x.shape[3] - kw) // sw + 1
    s = np.zeros(x.shape[:2] + (oh, ow), F)
    for i in range(kh):
        for j in range(kw):
            s = s + x[:, :, i:i + sh * oh:sh, j:j + sw * ow:sw]
    return s / F(kh * kw)


def largest(q, kh, kw, sh, sw):
    oh, ow = (q.shape[2] - kh) // sh + 1, (q.shape[3] - kw) // sw + 1
    return np.max([q[:, :, i:i + sh * oh:sh, j:j + sw * ow:sw]
                   for i in range(kh) for j in range(kw)], axis=0)


def product(m, node, q, ins, out_q):
    """Conv or Gemm of a group, in integers."""
    (x, sx, zx), (wn, sw, zw) = ins[0], ins[1]
    a = attrs(node)
    so, zo = m.params(out_q)
    dtype = m.const[out_q.input[2]].dtype
    w = wn.astype(np.int64)
    w = w - zw.reshape([-1] + [1] * (w.ndim - 1))
    if node.op_type == "Conv":
        acc = convolve(x.astype(np.int64) - zx, w, a["strides"], a["pads"],
                       a.get("dilations", [1, 1]), a.get("group", 1))
    else:
        assert a.get("transB", 0) == 1
        acc = (x.astype(np.int64) - zx) @ w.T
    if len(ins) > 2:
        b = ins[2][0].astype(np.int64)
        acc = acc + b.reshape([1, -1] + [1] * (acc.ndim - 2))
    scale = (np.float64(sx) * sw.astype(np.float64).reshape(-1)
             / np.float64(so))
    scale = np.broadcast_to(scale, acc.shape[1:2])
    return requantize(acc, scale, zo, dtype)


def group(m, node, q, out_q):
    """One group: the value of its QuantizeLinear."""
    ins = []
    for name in node.input:
        dq = m.made[name]
        assert dq.op_type == "DequantizeLinear", dq.op_type
        src = dq.input[0]
        s, z = m.params(dq)
        ins.append((m.const[src] if src in m.const else q[src], s, z))
    so, zo = m.params(out_q)
    dtype = m.const[out_q.input[2]].dtype
    a, x = attrs(node), ins[0][0]
    if node.op_type in ("Conv", "Gemm"):
        return product(m, node, q, ins, out_q)
    real = [dequantize(*i) for i in ins]
    if node.op_type == "Relu":
        y = np.maximum(real[0], F(0))
    elif node.op_type == "Add":
        y = real[0] + real[1]
    elif node.op_type == "Concat":
        y = np.concatenate(real, a["axis"])
    elif node.op_type == "MaxPool":
        y = dequantize(largest(x, *a["kernel_shape"], *a["strides"]),
                       *ins[0][1:])
    elif node.op_type == "AveragePool":
        y = average(real[0], *a["kernel_shape"], *a["strides"])
    elif node.op_type == "GlobalAveragePool":
        y = average(real[0], *x.shape[2:], 1, 1)
    elif node.op_type == "Flatten":
        y = real[0].reshape(x.shape[0], -1)
    else:
        raise SystemExit("operator '%s' is not known here" % node.op_type)
    return quantize(y, so, zo, dtype)


def run(m, feed):
    q, out = {}, dict(feed)
    for n in m.m.graph.node:
        if n.op_type == "QuantizeLinear":
            s, z = m.params(n)
            if n.input[0] in feed:
                q[n.output[0]] = quantize(feed[n.input[0]], s, z,
                                          m.const[n.input[2]].dtype)
            else:
                q[n.output[0]] = group(m, m.made[n.input[0]], q, n)
            out[n.output[0]] = q[n.output[0]]
    for o in m.m.graph.output:
        dq = m.made[o.name]
        out[o.name] = dequantize(q[dq.input[0]], *m.params(dq))
    return out


def main():
    ap = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model")
    ap.add_argument("inputs")
    ap.add_argument("case")
    ap.add_argument("--samples", type=int)
    a = ap.parse_args()
    m = Model(a.model)
    feeds = make_cases.feeds_of(m.m, dict(np.load(a.inputs)), a.samples)
    goldens = [run(m, f) for f in feeds]
    about = ort_layers.meta(a.model, {}, "ort", {"opt": "all"})
    about.pop("input_sha256")
    about["engine"] = "int16_exact"
    about["version"] = "1"
    make_cases.write_case(a.case, a.model, m.m, feeds, goldens, about)
    total = differ = worst = 0
    for f, g in zip(feeds, goldens):
        o = ort_layers.run_ort(m.m, f, "none", "int")
        for k, v in g.items():
            if k in o and v.dtype == np.int16:
                d = np.abs(v.astype(np.int64) - o[k].astype(np.int64))
                total += d.size
                differ += int((d > 0).sum())
                worst = max(worst, int(d.max(initial=0)))
    print("%s: %d samples; onnxruntime differs in %d of %d int16 elements, "
          "at most %d LSB" % (a.case, len(feeds), differ, total, worst))


if __name__ == "__main__":
    main()
