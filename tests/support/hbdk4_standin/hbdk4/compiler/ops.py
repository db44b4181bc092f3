# SPDX-License-Identifier: Apache-2.0
"""STAND-IN, not the vendor's package: see __init__.py. The arithmetic of the
few operators that make_bc.py writes, in exact integers, tap by tap. It is
what docs/numerics.md starts from for this family by inference; nothing here
says what a BPU does."""
import numpy as np

LIMIT = {"si8": (-128, 127), "si16": (-32768, 32767),
         "si32": (-2**31, 2**31 - 1)}
TYPE = {"si8": np.int8, "si16": np.int16, "si32": np.int32, "si64": np.int64,
        "f32": np.float32, "f16": np.float16}


def saturated(x, kind):
    low, high = LIMIT[kind]
    return np.clip(x, low, high)


def end(acc, q, out, relu):
    """acc: int64 [..., C]; rows of six."""
    if out == "si32":
        acc = acc + q[:, 0]
        return saturated(acc, out)
    acc = (acc + q[:, 0]) >> q[:, 3]
    acc = saturated(acc, "si16") * q[:, 4]
    acc = saturated(acc >> q[:, 5], out)
    return np.maximum(acc, 0) if relu else acc


def conv2d(p, x, w, q):
    n, h, wide, c = x.shape
    co, kh, kw, _ = w.shape
    top, left, bottom, right = p["pad"]
    sh, sw = p["stride"]
    x = np.pad(x.astype(np.int64), ((0, 0), (top, bottom), (left, right),
                                    (0, 0)))
    oh = (h + top + bottom - kh) // sh + 1
    ow = (wide + left + right - kw) // sw + 1
    acc = np.zeros((n, oh, ow, co), np.int64)
    for y in range(kh):
        for z in range(kw):
            part = x[:, y:y + sh * (oh - 1) + 1:sh,
                     z:z + sw * (ow - 1) + 1:sw]
            acc += part @ w[:, y, z].astype(np.int64).T
    return end(acc, q, p["out"], p["relu"])


def linear(p, x, w, q):
    return end(x.astype(np.int64) @ w.astype(np.int64), q, p["out"],
               p["relu"])


def max_pool(p, x):
    kh, kw = p["kernel"]
    oh, ow = x.shape[1] // kh, x.shape[2] // kw
    x = x[:, :oh * kh, :ow * kw]
    return x.reshape(x.shape[0], oh, kh, ow, kw, -1).max((2, 4))


def quantize(p, x):
    s = np.array(p["scales"], np.float32)
    return saturated(np.rint(x / s), p["out"])


def dequantize(p, x):
    return x.astype(np.float32) * np.array(p["scales"], np.float32)


def reshape(p, x):
    return x.reshape(p["shape"])


def fake_quant(p, x):
    s = np.float32(p["scale"])
    return saturated(np.rint(x / s), "si8").astype(np.float32) * s


def float_conv(p, x, w):
    p = dict(p, out="si32", relu=False)
    n, h, wide, _ = x.shape
    return np.einsum("nhwc,oc->nhwo", x, w[:, 0, 0]).astype(np.float32)


RUN = {f.__name__: f for f in (conv2d, linear, max_pool, quantize, dequantize,
                               reshape, fake_quant, float_conv)}
