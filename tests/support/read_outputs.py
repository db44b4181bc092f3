# SPDX-License-Identifier: Apache-2.0
"""A model with three outputs, and what applications make of outputs; Python's
own library.

read_outputs.py model OUT            OUT/ is a case: outputs boxes (1x20x4),
                                     scores (1x6x5x7, NCHW) and logits (1x10),
                                     each a Quantize and Dequantize of an input
                                     with a scale of its own; 3 samples
read_outputs.py read CASE OUT NAME HOW...
                                     OUT (a folder, NNNN.npz) holds, under
                                     NAME, output NAME of CASE's golden changed
                                     by each HOW in turn:
    as=TENSOR     begin with another tensor of the golden
    sample=-1     begin with that of another sample, the first with its own
    permute=0231  sigmoid  softmax  scale=X  shift=N  swab  int  u8
    stride=N,M    rows of N elements, M apart, read as dense; 99 between them
    cut=N         the first N elements, flat
    noise=SEED    every third element another one
    letterbox=W,H,w,h  boxes of 4 out of w x h to a picture of W x H, once
"""

import math
import os
import random
import struct
import sys

import sim_files

HEADS = (("boxes", (1, 20, 4), 0.5), ("scores", (1, 6, 5, 7), 0.03),
         ("logits", (1, 10), 0.25))


# ---- ONNX, as much as is needed ----

def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, v):
    if isinstance(v, int):
        return varint(number << 3) + varint(v)
    v = v.encode() if isinstance(v, str) else v
    return varint(number << 3 | 2) + varint(len(v)) + v


def value_info(name, shape, dtype=1):
    dims = b"".join(field(1, field(1, d)) for d in shape)
    tensor = field(1, dtype) + field(2, dims)
    return field(1, name) + field(2, field(1, tensor))


def node(op, inputs, output):
    return (b"".join(field(1, i) for i in inputs) + field(2, output) +
            field(3, output + "_node") + field(4, op))


def initializer(name, dtype, raw):
    return field(2, dtype) + field(8, name) + field(9, raw)


def model():
    graph = field(2, "heads")
    nodes = inputs = outputs = constants = b""
    for name, shape, scale in HEADS:
        s, z, q = name + "_scale", name + "_zero", name + "_int"
        constants += field(5, initializer(s, 1, struct.pack("<f", scale)))
        constants += field(5, initializer(z, 3, b"\0"))
        nodes += field(1, node("QuantizeLinear", (name + "_in", s, z), q))
        nodes += field(1, node("DequantizeLinear", (q, s, z), name))
        inputs += field(11, value_info(name + "_in", shape))
        outputs += field(12, value_info(name, shape))
    return (field(1, 8) + field(7, nodes + graph + constants + inputs +
                                outputs) + field(8, field(1, "") +
                                                 field(2, 13)))


def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def make_model(out):
    rng = random.Random(8)
    for folder in ("inputs", "golden"):
        os.makedirs(os.path.join(out, folder), exist_ok=True)
    with open(os.path.join(out, "model.onnx"), "wb") as f:
        f.write(model())
    for k in range(3):
        inputs, golden = {}, {}
        for name, shape, scale in HEADS:
            q = [rng.randrange(-128, 128) for _ in range(math.prod(shape))]
            x = [single(v * single(scale)) for v in q]
            inputs[name + "_in"] = sim_files.npy("<f4", shape, x)
            golden[name + "_int"] = sim_files.npy("|i1", shape, q)
            golden[name] = sim_files.npy("<f4", shape, x)
        for folder, arrays in (("inputs", inputs), ("golden", golden)):
            sim_files.write("%s/%s/%04d.npz" % (out, folder, k), arrays)


# ---- what was read ----

def permute(shape, v, order):
    order = [int(c) for c in order]
    to = tuple(shape[a] for a in order)
    strides = [math.prod(shape[a + 1:]) for a in range(len(shape))]
    out = [0] * len(v)
    for i in range(len(v)):
        rest, at = i, 0
        for a in range(len(to) - 1, -1, -1):
            at += rest % to[a] * strides[order[a]]
            rest //= to[a]
        out[i] = v[at]
    return to, out


def softmax(v):
    total = sum(math.exp(x) for x in v)
    return [math.exp(x) / total for x in v]


def spread(v, row, pitch):
    out = [99] * len(v)
    for i in range(len(v)):
        if i % pitch < row and i // pitch * row + i % pitch < len(v):
            out[i] = v[i // pitch * row + i % pitch]
    return out


def unboxed(v, w, h, net_w, net_h):
    s = min(net_w / w, net_h / h)
    pads = ((net_w - round(w * s)) / 2, (net_h - round(h * s)) / 2)
    return [(x - pads[i % 2]) / s for i, x in enumerate(v)]


def changed(descr, shape, v, how, arg):
    numbers = [float(x) for x in arg.split(",")] if how in (
        "scale", "shift", "stride", "cut", "noise", "letterbox") else []
    if how == "permute":
        shape, v = permute(shape, v, arg)
    elif how == "sigmoid":
        v = [1 / (1 + math.exp(-x)) for x in v]
    elif how == "softmax":
        v = softmax(v)
    elif how == "scale":
        v = [single(x * numbers[0]) for x in v]
    elif how == "shift":
        n = int(numbers[0])
        v = [0] * n + v[:len(v) - n]
    elif how == "int":
        descr = "<i4"
    elif how == "u8":
        descr, v = "|u1", [x & 255 for x in v]
    elif how == "swab":
        f = "%d%s" % (len(v), sim_files.FORMATS[descr])
        v = list(struct.unpack(">" + f, struct.pack("<" + f, *v)))
    elif how == "stride":
        v = spread(v, int(numbers[0]), int(numbers[1]))
    elif how == "cut":
        v = v[:int(numbers[0])]
        shape = (len(v),)
    elif how == "noise":
        rng = random.Random(int(numbers[0]))
        v = [x if i % 3 else x + 1 + rng.randrange(9)
             for i, x in enumerate(v)]
    elif how == "letterbox":
        v = unboxed(v, *numbers)
    else:
        sys.exit("what is '%s'?" % how)
    return descr, shape, v


def read(case, out, name, hows):
    os.makedirs(out, exist_ok=True)
    sim_files.FORMATS["|u1"] = "B"
    files = sorted(os.listdir(os.path.join(case, "golden")))
    goldens = [sim_files.read(os.path.join(case, "golden", f)) for f in files]
    for k, file in enumerate(files):
        tensor, sample, steps = name, k, []
        for how in hows:
            word, _, arg = how.partition("=")
            if word == "as":
                tensor = arg
            elif word == "sample":
                sample = max(0, k + int(arg))
            else:
                steps.append((word, arg))
        data = goldens[sample][tensor]
        descr = sim_files.parse(data)[0]
        shape, v = sim_files.values(data)
        for word, arg in steps:
            descr, shape, v = changed(descr, shape, v, word, arg)
        path = os.path.join(out, file)
        arrays = sim_files.read(path) if os.path.exists(path) else {}
        arrays[name] = sim_files.npy(descr, shape, v)
        sim_files.write(path, arrays)


def main(argv):
    if argv[0] == "model":
        make_model(argv[1])
    else:
        read(argv[1], argv[2], argv[3], argv[4:])


if __name__ == "__main__":
    main(sys.argv[1:])
