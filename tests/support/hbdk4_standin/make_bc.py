#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the files that the STAND-IN of hbdk4.compiler loads:

    make_bc.py FOLDER

quantized.bc, the same without Quantize and Dequantize at its borders
(net_quantized_removed_model.bc), a float stage (qat.bc), compiled models of
both (net.hbm, removed.hbm), one that computes a layer otherwise
(differs.hbm), one with other names (renamed.hbm), of another march
(march.hbm), one whose board wants a password (locked.hbm); inputs.npz,
samples/*.npz.
"""
import copy
import json
import os
import sys

import numpy as np

rng = np.random.default_rng(6)


class Net:
    def __init__(self):
        self.args, self.ops, self.results, self.n = [], [], [], 0

    def value(self):
        self.n += 1
        return "v%d" % self.n

    def arg(self, name, kind):
        v = self.value()
        self.args.append({"name": name, "value": v, "type": kind})
        return v

    def op(self, run, op, loc, ins, kind, attrs, **p):
        v = self.value()
        self.ops.append({"op": op, "run": run, "loc": loc, "in": ins,
                         "out": [v], "types": [kind], "attrs": attrs, "p": p})
        return v

    def constant(self, array, element):
        v = self.value()
        kind = "tensor<%s>" % "x".join([*map(str, array.shape), element])
        self.ops.append({"op": "hbir.constant", "run": "constant", "loc": "",
                         "in": [], "out": [v], "types": [kind], "attrs": "",
                         "p": {}, "data": array.reshape(-1).tolist()})
        return v

    def result(self, value, name):
        self.results.append({"value": value, "name": name})

    def data(self, **more):
        return dict({"standin": "bc", "march": "nash-e", "attributes": {
            "hbdk.perf_stage": "1 : i64", "hbdk.target": '"B30G"'},
            "args": self.args, "ops": self.ops, "results": self.results},
            **more)


def rows(bias, pre, scale, post):
    n = len(bias)
    out = np.zeros((n, 6), np.int64)
    out[:, 0], out[:, 1], out[:, 3] = bias, 1, pre
    out[:, 4], out[:, 5] = scale, post
    return out


def conv(net, name, x, cin, cout, k, size, relu):
    w = net.constant(rng.integers(-127, 128, (cout, k, k, cin)), "si8")
    q = net.constant(rows(rng.integers(-900, 900, cout), 2,
                          rng.integers(16384, 32768, cout), 21), "si64")
    pad = k // 2
    p = dict(pad=[pad] * 4, stride=[1, 1], relu=relu)
    attrs = ("dilation = [1, 1], kernel = [%d, %d], "
             "operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, "
             "pad = [%d, %d, %d, %d], relu = %s, stride = [1, 1]" % (
                 (k, k) + (pad,) * 4 + (str(relu).lower(),)))
    return net.op("conv2d", "b30.conv2d", name, [x, w, q],
                  "tensor<1x%dx%dx%dxsi8>" % (size, size, cout), attrs,
                  out="si8", **p)


def quantize(net, name, x, kind, scale):
    attrs = ('parameters = [[%r], [0], false, 0, false], signature = "quant::'
             'quantize(Tensor, double[], int64_t[], bool, int64_t, bool) -> '
             '(Tensor)"' % scale)
    return net.op("quantize", "hbtl.call", name, [x], kind, attrs,
                  scales=[scale], out="si8")


def dequantize(net, name, x, kind, scale):
    return net.op("dequantize", "b30.dequantize", name, [x], kind,
                  "axis = 0 : i64, scales = [%r], zeros = [0]" % scale,
                  scales=[scale])


def network(removed=False, names=("img", "pred", "feat")):
    global rng
    rng = np.random.default_rng(6)
    net = Net()
    if removed:
        x = net.arg(names[0], "tensor<1x8x8x3xsi8>")
    else:
        x = net.arg(names[0], "tensor<1x8x8x3xf32>")
        x = quantize(net, "img_quant", x, "tensor<1x8x8x3xsi8>", 0.0078125)
    x = conv(net, "stem", x, 3, 8, 3, 8, True)
    x = net.op("max_pool", "b30.pool2d", "pool", [x],
               "tensor<1x4x4x8xsi8>", 'kernel = [2, 2], mode = "max", '
               "pad = [0, 0, 0, 0], stride = [2, 2]", kernel=[2, 2])
    x = conv(net, "block", x, 8, 8, 1, 4, False)
    x = conv(net, "block", x, 8, 8, 1, 4, False)  # the same name twice
    feat = x = conv(net, "", x, 8, 8, 1, 4, True)  # and none
    x = net.op("reshape", "b30.reshape", "flat", [x], "tensor<1x128xsi8>",
               "shape = [1, 128]", shape=[1, 128])
    w = net.constant(rng.integers(-127, 128, (128, 10)), "si8")
    q = net.constant(rows(rng.integers(-900, 900, 10), 0, 1, 0), "si64")
    x = net.op("linear", "b30.linear", "head", [x, w, q],
               "tensor<1x10xsi32>", "relu = false", out="si32", relu=False)
    if not removed:
        x = dequantize(net, "head_dequant", x, "tensor<1x10xf32>",
                       0.0001220703125)
    net.result(x, names[1])
    net.result(feat, names[2])
    return net


def float_network():
    net = Net()
    x = net.arg("img", "tensor<1x8x8x3xf32>")
    for name, cin in (("stem", 3), ("block", 8)):
        x = net.op("fake_quant", "qnt.const_fake_quant", name, [x],
                   "tensor<1x8x8x%dxf32>" % cin, "max = 0.9921875 : f64, "
                   "min = -1.0 : f64", scale=0.0078125)
        w = net.constant(np.round(rng.standard_normal((8, 1, 1, cin)), 3),
                         "f32")
        x = net.op("float_conv", "hbir.conv2d", name, [x, w],
                   "tensor<1x8x8x8xf32>", "stride = [1, 1]")
    net.result(x, "feat")
    return net.data(attributes={})


def main(folder):
    os.makedirs(os.path.join(folder, "samples"), exist_ok=True)

    def write(name, data):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            json.dump(data, f)
    plain, removed = network().data(), network(True).data()
    write("quantized.bc", plain)
    write("net_quantized_removed_model.bc", removed)
    write("qat.bc", float_network())

    def hbm(name, model, **more):
        write(name, dict(standin="hbm", model=model, **more))
    hbm("net.hbm", plain)
    hbm("removed.hbm", removed)
    hbm("differs.hbm", plain, differs="head")
    hbm("inner.hbm", removed, differs="block")
    hbm("renamed.hbm", network(False, ("img", "out0", "out1")).data())
    other = copy.deepcopy(plain)
    other["march"] = "nash-p"
    hbm("march.hbm", other)
    hbm("locked.hbm", plain, needs=["root", "secret"])
    x = np.random.default_rng(7).uniform(-1, 1, (3, 8, 8, 3)).astype("f4")
    np.savez(os.path.join(folder, "inputs.npz"), img=x[:2])
    for k in range(2):
        np.savez(os.path.join(folder, "samples", "%04d.npz" % k),
                 img=x[k:k + 1])


if __name__ == "__main__":
    main(sys.argv[1])
