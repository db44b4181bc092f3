#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Data: scikit-learn's digits (UCI, CC BY 4.0), bundled with scikit-learn.
"""Train a small CNN on scikit-learn's bundled 8x8 digits (nothing is downloaded)
and quantize it with onnxruntime in several schemes.

    python train_digits.py [OUTDIR]          (default: this script's folder)

Everything is numpy: forward, backward and Adam are written out below, so the
float weights depend only on the seed and on the machine's float32 matmul.
Run with one BLAS thread for repeatability (the script sets it itself).

Network (NCHW, batch 1, input 1x8x8 in 0..1):
  conv1  3x3 1->16 pad 1, Relu                             16x8x8
  conv2  3x3 16->16 stride 2, pads [0,0,1,1], Relu         16x4x4   (asymmetric pads, TF "SAME")
  dw3    3x3 depthwise (group 16) pad 1, Relu              16x4x4
  pw4    1x1 16->32, Relu                                  32x4x4
  conv5  3x3 32->32 pad 1, Add(pw4), Relu                  32x4x4   (residual)
  MaxPool 2x2/2 || AveragePool 2x2/2 -> Concat             64x2x2
  pw6    1x1 64->24, Relu                                  24x2x2
  GlobalAveragePool, Flatten, Gemm 24->10 (transB=1)       10
"""
import os
import sys

for v in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[v] = "1"

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import (CalibrationDataReader, CalibrationMethod,
                                      QuantFormat, QuantType, quantize_static)
from sklearn.datasets import load_digits

SEED = 20240607
EPOCHS = 40
F32 = np.float32

# name, out channels, in channels, kernel, stride, pads (t,l,b,r), group
CONVS = [
    ("conv1", 16, 1, 3, 1, (1, 1, 1, 1), 1),
    ("conv2", 16, 16, 3, 2, (0, 0, 1, 1), 1),
    ("dw3", 16, 16, 3, 1, (1, 1, 1, 1), 16),
    ("pw4", 32, 16, 1, 1, (0, 0, 0, 0), 1),
    ("conv5", 32, 32, 3, 1, (1, 1, 1, 1), 1),
    ("pw6", 24, 64, 1, 1, (0, 0, 0, 0), 1),
]
GEOM = {c[0]: c[1:] for c in CONVS}


# ---------------------------------------------------------------- numpy network
def windows(x, k, s, pads):
    """(N,C,H,W) -> (N,C,OH,OW,k,k) view of the padded input."""
    t, l, b, r = pads
    xp = np.pad(x, ((0, 0), (0, 0), (t, b), (l, r)))
    w = np.lib.stride_tricks.sliding_window_view(xp, (k, k), axis=(2, 3))
    return w[:, :, ::s, ::s]


def unwindows(dw, xshape, k, s, pads):
    """Adjoint of windows(): scatter-add window gradients back to the input."""
    t, l, b, r = pads
    n, c, h, w = xshape
    g = np.zeros((n, c, h + t + b, w + l + r), F32)
    oh, ow = dw.shape[2:4]
    for i in range(k):
        for j in range(k):
            g[:, :, i:i + s * oh:s, j:j + s * ow:s] += dw[..., i, j]
    return g[:, :, t:t + h, l:l + w]


def conv_f(x, W, b, name):
    o, _, k, s, pads, group = GEOM[name]
    w = windows(x, k, s, pads)
    if group == 1:
        y = np.einsum("nchwij,ocij->nohw", w, W, optimize=True)
    else:
        y = np.einsum("nchwij,cij->nchw", w, W[:, 0], optimize=True)
    return y + b[None, :, None, None], (x.shape, w)


def conv_b(dy, cache, W, name):
    o, _, k, s, pads, group = GEOM[name]
    xshape, w = cache
    db = dy.sum((0, 2, 3))
    if group == 1:
        dW = np.einsum("nohw,nchwij->ocij", dy, w, optimize=True)
        dw = np.einsum("nohw,ocij->nchwij", dy, W, optimize=True)
    else:
        dW = np.einsum("nchw,nchwij->cij", dy, w, optimize=True)[:, None]
        dw = np.einsum("nchw,cij->nchwij", dy, W[:, 0], optimize=True)
    return unwindows(dw, xshape, k, s, pads), dW, db


def blocks(x):                      # 2x2/2 pooling blocks: (N,C,H/2,W/2,4)
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)


def unblocks(g):
    n, c, h, w, _ = g.shape
    return g.reshape(n, c, h, w, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h * 2, w * 2)


def forward(P, x):
    C = {}
    def conv(n, v):
        y, C[n] = conv_f(v, P[n + ".w"], P[n + ".b"], n)
        return y
    def relu(n, v):
        C[n + ".m"] = v > 0
        return np.maximum(v, 0)
    a1 = relu("conv1", conv("conv1", x))
    a2 = relu("conv2", conv("conv2", a1))
    a3 = relu("dw3", conv("dw3", a2))
    a4 = relu("pw4", conv("pw4", a3))
    a5 = relu("conv5", conv("conv5", a4) + a4)
    bl = blocks(a5)
    C["arg"] = bl.argmax(-1)
    cat = np.concatenate([bl.max(-1), bl.mean(-1)], 1)
    a6 = relu("pw6", conv("pw6", cat))
    C["gap"] = a6.mean((2, 3))
    return C["gap"] @ P["fc.w"].T + P["fc.b"], C


def backward(P, C, dz):
    G = {"fc.w": dz.T @ C["gap"], "fc.b": dz.sum(0)}
    d = np.repeat(np.repeat((dz @ P["fc.w"])[:, :, None, None] / 4, 2, 2), 2, 3).astype(F32)
    def conv(n, dy):
        dx, G[n + ".w"], G[n + ".b"] = conv_b(dy, C[n], P[n + ".w"], n)
        return dx
    d = conv("pw6", d * C["pw6.m"])
    dmax, davg = d[:, :32], d[:, 32:]
    g = np.repeat(davg[..., None] / 4, 4, -1)
    np.put_along_axis(g, C["arg"][..., None],
                      np.take_along_axis(g, C["arg"][..., None], -1) + dmax[..., None], -1)
    d5 = unblocks(g) * C["conv5.m"]
    d4 = (conv("conv5", d5) + d5) * C["pw4.m"]
    d3 = conv("pw4", d4) * C["dw3.m"]
    d2 = conv("dw3", d3) * C["conv2.m"]
    d1 = conv("conv2", d2) * C["conv1.m"]
    conv("conv1", d1)
    return G


def train(x, y):
    rng = np.random.default_rng(SEED)
    P = {}
    for n, o, i, k, s, p, g in CONVS:
        fan = (i // g) * k * k
        P[n + ".w"] = rng.normal(0, np.sqrt(2 / fan), (o, i // g, k, k)).astype(F32)
        P[n + ".b"] = np.zeros(o, F32)
    P["conv5.w"] *= F32(0.5)
    P["fc.w"] = rng.normal(0, np.sqrt(1 / 24), (10, 24)).astype(F32)
    P["fc.b"] = np.zeros(10, F32)
    M = {k: np.zeros_like(v) for k, v in P.items()}
    V = {k: np.zeros_like(v) for k, v in P.items()}
    t = 0
    for ep in range(EPOCHS):
        lr = 3e-3 * 0.5 * (1 + np.cos(np.pi * ep / EPOCHS)) + 1e-5
        order = rng.permutation(len(x))
        for i in range(0, len(x) - 63, 64):
            b = order[i:i + 64]
            z, C = forward(P, x[b])
            e = np.exp(z - z.max(1, keepdims=True))
            p = e / e.sum(1, keepdims=True)
            p[np.arange(len(b)), y[b]] -= 1
            G = backward(P, C, (p / len(b)).astype(F32))
            t += 1
            for k in P:
                M[k] = 0.9 * M[k] + 0.1 * G[k]
                V[k] = 0.999 * V[k] + 0.001 * G[k] ** 2
                P[k] = (P[k] - lr * (M[k] / (1 - 0.9 ** t)) / (np.sqrt(V[k] / (1 - 0.999 ** t)) + 1e-8)).astype(F32)
    return P


# ---------------------------------------------------------------- ONNX export
def export(P, path):
    nodes, init = [], []
    for k, v in P.items():
        init.append(numpy_helper.from_array(v, k))
    def conv(n, x):
        o, i, k, s, pads, g = GEOM[n]
        nodes.append(helper.make_node("Conv", [x, n + ".w", n + ".b"], [n + ".y"], name=n, kernel_shape=[k, k],
                                      strides=[s, s], pads=list(pads), group=g, dilations=[1, 1]))
        return n + ".y"
    def op(kind, n, ins, **a):
        nodes.append(helper.make_node(kind, ins, [n + ".y"], name=n, **a))
        return n + ".y"
    x = op("Relu", "relu1", [conv("conv1", "input")])
    x = op("Relu", "relu2", [conv("conv2", x)])
    x = op("Relu", "relu3", [conv("dw3", x)])
    r = op("Relu", "relu4", [conv("pw4", x)])
    x = op("Relu", "relu5", [op("Add", "add5", [conv("conv5", r), r])])
    m = op("MaxPool", "maxpool", [x], kernel_shape=[2, 2], strides=[2, 2])
    a = op("AveragePool", "avgpool", [x], kernel_shape=[2, 2], strides=[2, 2])
    x = op("Relu", "relu6", [conv("pw6", op("Concat", "concat", [m, a], axis=1))])
    x = op("Flatten", "flatten", [op("GlobalAveragePool", "gap", [x])], axis=1)
    nodes.append(helper.make_node("Gemm", [x, "fc.w", "fc.b"], ["logits"], name="fc", transB=1))
    g = helper.make_graph(nodes, "digits",
                          [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 1, 8, 8])],
                          [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 10])], init)
    m = helper.make_model(g, opset_imports=[helper.make_opsetid("", 13)], producer_name="train_digits")
    m.ir_version = 8
    m = onnx.shape_inference.infer_shapes(m)
    onnx.checker.check_model(m, full_check=True)
    onnx.save(m, path)


class Reader(CalibrationDataReader):
    def __init__(self, x):
        self.it = iter(x)

    def get_next(self):
        v = next(self.it, None)
        return None if v is None else {"input": v[None]}


def accuracy(path, x, y):
    s = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    return float(np.mean([s.run(None, {"input": v[None]})[0].argmax() == c for v, c in zip(x, y)]))


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    d = load_digits()
    x = (d.images[:, None] / 16).astype(F32)
    y = d.target
    order = np.random.default_rng(SEED + 1).permutation(len(x))
    tr, te = order[:1400], order[1400:]
    P = train(x[tr], y[tr])

    f = os.path.join(out, "digits_float.onnx")
    export(P, f)
    # the exported graph must agree with the numpy network
    s = ort.InferenceSession(f, providers=["CPUExecutionProvider"])
    zo = np.concatenate([s.run(None, {"input": v[None]})[0] for v in x[te[:64]]])
    zn, _ = forward(P, x[te[:64]])
    assert np.abs(zo - zn).max() < 1e-3, np.abs(zo - zn).max()

    calib = x[tr[:200]]
    common = dict(calibrate_method=CalibrationMethod.MinMax)
    jobs = [
        # (i) symmetric int8 activations (zero point 0) and per-channel symmetric int8 weights
        ("digits_qdq_s8.onnx", dict(quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QInt8,
                                    weight_type=QuantType.QInt8,
                                    extra_options={"ActivationSymmetric": True, "WeightSymmetric": True})),
        # (ii) QOperator, asymmetric uint8 activations and weights, per tensor
        ("digits_qop_u8.onnx", dict(quant_format=QuantFormat.QOperator, per_channel=False,
                                    activation_type=QuantType.QUInt8, weight_type=QuantType.QUInt8)),
        # (iii) QDQ with symmetric int16 activations, int8 per-channel weights (needs opset 21 Q/DQ)
        ("digits_qdq_s16.onnx", dict(quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QInt16,
                                     weight_type=QuantType.QInt8,
                                     extra_options={"ActivationSymmetric": True, "WeightSymmetric": True})),
        # (iv) QDQ with asymmetric uint8 activations, int8 per-channel weights (the pair ORT fuses on x86)
        ("digits_qdq_u8s8.onnx", dict(quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QUInt8,
                                      weight_type=QuantType.QInt8)),
    ]
    print("float  accuracy %.4f  (%d test images)" % (accuracy(f, x[te], y[te]), len(te)))
    for name, kw in jobs:
        p = os.path.join(out, name)
        try:
            quantize_static(f, p, Reader(calib), **common, **kw)
        except Exception as e:                              # a scheme the installed version lacks
            print(name, "FAILED:", type(e).__name__, e)
            continue
        print("%-22s accuracy %.4f  %d bytes" % (name, accuracy(p, x[te], y[te]), os.path.getsize(p)))
    np.savez_compressed(os.path.join(out, "digits_inputs.npz"), input=x[te[:64]], labels=y[te[:64]].astype(np.int64))


if __name__ == "__main__":
    main()
