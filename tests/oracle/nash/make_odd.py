# SPDX-License-Identifier: Apache-2.0
"""Cases of odd shapes: images of one pixel, one line, one channel, 33
channels, batches; every operation of int8 on each of them, side by side.

    make_odd.py OUT NUMERICS      writes OUT/0 to OUT/5
"""
import json
import os
import sys

import numpy as np

import make_nash
import nets
from hbir import Writer
from net import Net
from rule import Numerics

# batch, height, width, channels, channels of results, kernel
SHAPES = ((1, 1, 1, 1, 1, 1), (1, 5, 4, 1, 33, 3), (2, 5, 7, 33, 1, 3),
          (2, 1, 9, 17, 5, (1, 3)), (3, 8, 1, 3, 64, (3, 1)),
          (2, 3, 3, 64, 33, 3))
WARPS = ((True, True, 8, False, "bilinear"), (False, False, 4, True,
                                              "bilinear"),
         (True, False, 0, True, "nearest"), (False, True, 3, False,
                                             "nearest"))


def windows(net, x, c2, k):
    wide = net.conv("wide", x, c2, 3, dtype="si16")
    return [wide,
            net.conv("conv", x, c2, k, stride=2, relu=True),
            net.conv("one", x, c2, 1),
            net.conv("depth", x, dw=True),
            net.conv("dilated", x, c2, 3, dilation=3),
            net.conv("tail", x, c2, 1, dtype="si32"),
            net.conv("sum", x, x.shape[3], 1, e=x),
            net.conv("float", x, c2, 1, dtype="f32"),
            net.conv("of16", wide, c2, 3),
            net.lut16("lut16", wide, "y"),
            net.max_pool("max", x, 3, 2, (1, 1, 1, 1)),
            net.avg_pool("avg", x, 3, 2, (1, 1, 1, 1)),
            net.avg_pool("avg.attrs", x, 2, 1, (1, 1, 1, 1), how="attrs"),
            net.avg_pool("avg.scales", x, 1, 1, how="scales")]


def rows(net, x, c2):
    k = net.const(net.rng.integers(-128, 128, (1, 1, 1, x.shape[3])), "si8")
    return [net.reduce("mean", x, (1, 2)),
            net.reduce("mean.c", x, (3,), keep=False),
            net.reduce("most", x, (0, 1), mode="max"),
            net.reduce("least", x, (1, 2, 3), mode="min", keep=False),
            net.reduce("sum.h", x, (1,), mode="sum", keep=False),
            net.linear("linear", x, c2),
            net.linear("linear.sum", x, x.shape[3], e=x),
            net.lut8("lut", x),
            net.binary("add", x, x, "add"),
            net.binary("mul", x, x, "mul"),
            net.binary("mul.c", x, k, "mul"),
            net.rescale("rescale", x, "si16", "scales")]


def places(net, x):
    n, h, w, c = x.shape
    out = []
    for a, b, mode in ((1, 1, "bilinear"), (h, w, "nearest"),
                       (2 * h + 1, 3 * w, "bilinear"), (1, w, "nearest"),
                       (7, 1, "bilinear")):
        out.append(net.op("b30.resize2d", "resize", [x], "si8", (n, a, b, c),
                          {"size": [a, b], "mode": mode,
                           "expansionMode": "border"}))
    for absolute, yx, frac, border, mode in WARPS:
        most = 32767 if frac == 8 else 90
        grid = net.const(net.rng.integers(-most - 1, most, (n, h, w, 2)),
                         "si16")
        out.append(net.op("b30.warp", "warp", [x, grid], "si8", x.shape,
                          {"isAbsoluteMv": absolute, "isMoveYx": yx,
                           "moveFracBitNum": frac, "padBorder": border,
                           "padValue": 0, "mode": mode}))
    grid = net.const(net.rng.integers(-3, max(h, w) + 3, (n, 2, 3, 2)), "si16")
    out.append(net.op("b30.gather2d", "gather", [x, grid], "si8",
                      (n, 2, 3, c), {"isMoveYx": True, "padBorder": False,
                                     "padValue": 0}))
    out.append(net.move("b30.trans_layout", "turn", x, (n, c, h, w),
                        perm=[0, 3, 1, 2]))
    return out


def one(numerics, seed, n, h, w, c, c2, k):
    images = nets.image_inputs(np.random.default_rng(seed), 3, (n, h, w, c),
                               0.0625)
    net = Net("odd", numerics, seed, [{"img": x} for x in images])
    img = net.input("img", "f32")
    x = nets.call(net, "quant", nets.QUANTIZE, img,
                  [[0.0625], [0], False, 3, False], "si8", img.shape, 0.0625)
    for i, y in enumerate(windows(net, x, c2, k) + rows(net, x, c2) +
                          places(net, x)):
        net.g.result(y, "out.%d" % i)
    return net


def main():
    out, numerics = sys.argv[1], Numerics(sys.argv[2])
    layers = 0
    for i, shape in enumerate(SHAPES):
        net = one(numerics, 100 + i, *shape)
        to = os.path.join(out, str(i))
        sha = make_nash.write(net, to, Writer(
            net.g, i % 2 == 1, ("list", "hex", "resource", "npz")[i % 4]))
        with open(os.path.join(to, "case.json"), "w", encoding="ascii") as f:
            json.dump({"march": "nash-m", "model_sha256": sha,
                       "stage": "quantized.bc", "numerics": numerics.name,
                       "made_by": "tests/oracle/nash/make_odd.py: a "
                                  "stand-in", "skipped": []}, f)
        layers += len(net.g.ops)
    print("%d cases of odd shapes, %d operations" % (len(SHAPES), layers))


if __name__ == "__main__":
    main()
