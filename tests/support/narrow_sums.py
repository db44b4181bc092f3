# SPDX-License-Identifier: Apache-2.0
"""A convolution whose products are summed in 16 bits; Python's own library.

narrow_sums.py DIR MODEL LAYER INPUT STRIDE PAD GROUP
In every npz of DIR the output of LAYER is computed again from tensor INPUT
with the constants of MODEL (a network of tests/oracle/train_digits.py): GROUP
neighbouring products, in the order of the taps, are one sum of 16 bits that
wraps; 0: all of an element; 1: none, which gives what was there. Zero points
are 0, padding is PAD at the top and left.
"""

import glob
import os
import struct
import sys

import patch_model
import sim_files


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def wrap16(x):
    return (x + 32768) % 65536 - 32768


def main():
    where, model, layer, source = sys.argv[1:5]
    stride, pad, group = map(int, sys.argv[5:])
    data = open(model, "rb").read()
    found = patch_model.constants(data)

    def constant(name):
        kind, start, end = found[name]
        return struct.unpack("<%d%s" % ((end - start) // struct.calcsize(kind),
                                        kind), data[start:end])

    w = constant(layer + ".w_quantized")
    bias = constant(layer + ".b_quantized")
    sx = constant(source.split("_Quant")[0] + "_scale")[0]
    sy = constant(layer + ".y_scale")[0]
    scales = [f32(f32(sx * sw) / sy) for sw in constant(layer + ".w_scale")]
    for path in sorted(glob.glob(os.path.join(where, "*.npz"))):
        arrays = sim_files.read(path)
        shape, x = sim_files.values(arrays[source])
        c, h, width = shape[1:]
        name = layer + ".y_QuantizeLinear_Output"
        out, was = sim_files.values(arrays[name])
        taps = len(w) // out[1]
        k = round((taps // c) ** 0.5)
        y = []
        for i in range(len(was)):
            o, row, col = i // (out[2] * out[3]), i // out[3] % out[2], i % out[3]
            products = []
            for t in range(k):
                for u in range(k):
                    r, q = row * stride + t - pad, col * stride + u - pad
                    inside = 0 <= r < h and 0 <= q < width
                    for j in range(c):
                        products.append(
                            w[o * taps + (j * k + t) * k + u] *
                            (x[(j * h + r) * width + q] if inside else 0))
            n = group or len(products)
            if group == 1:
                total = sum(products)
            else:
                total = sum(wrap16(sum(products[a:a + n]))
                            for a in range(0, len(products), n))
            value = f32(f32(total + bias[o]) * scales[o])
            y.append(round(max(-128, min(127, value))))
        if group == 1 and y != was:
            sys.exit("%s: not what was there: %d differ" % (
                path, sum(a != b for a, b in zip(y, was))))
        arrays[name] = sim_files.npy("|i1", out, y)
        sim_files.write(path, arrays)


main()
