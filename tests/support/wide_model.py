# SPDX-License-Identifier: Apache-2.0
"""Writes a case of a model that computes little and has large activations.

wide_model.py DIR CHANNELS SIZE LAYERS     Python's own library

x [1,C,S,S] float32 is quantized to int8, and LAYERS groups (dequantize, relu
or a maximum pool, quantize) follow. A sample has LAYERS + 1 tensors of C*S*S
bytes. The case has no golden: the reference is the host's own engine.
"""
import json
import os
import random
import struct
import sys

import sim_files


def varint(v):
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def field(number, data):
    if isinstance(data, int):
        return varint(number << 3) + varint(data)
    return varint(number << 3 | 2) + varint(len(data)) + data


def node(op, inputs, outputs, *attributes):
    return field(1, b"".join(field(1, i.encode()) for i in inputs) +
                 b"".join(field(2, o.encode()) for o in outputs) +
                 field(3, outputs[0].encode()) + field(4, op.encode()) +
                 b"".join(field(5, a) for a in attributes))


def ints(name, *values):
    return (field(1, name.encode()) + b"".join(field(8, v) for v in values) +
            field(20, 7))


def constant(name, dtype, data):
    return field(5, field(2, dtype) + field(8, name.encode()) +
                 field(9, data))


def value(name, shape):
    dims = b"".join(field(1, field(1, d)) for d in shape)
    return field(1, name.encode()) + field(
        2, field(1, field(1, 1) + field(2, dims)))


def quantized(graph, source, name):
    graph.append(node("QuantizeLinear", [source, "s", "z"], [name + "_q"]))
    graph.append(node("DequantizeLinear", [name + "_q", "s", "z"], [name]))


def model(shape, layers):
    graph, last = [], "x0"

    quantized(graph, "x", "x0")
    for i in range(1, layers + 1):
        name = "x%d" % i
        if i % 2:
            graph.append(node("MaxPool", [last], [name + "_f"],
                              ints("kernel_shape", 3, 3),
                              ints("pads", 1, 1, 1, 1),
                              ints("strides", 1, 1)))
        else:
            graph.append(node("Relu", [last], [name + "_f"]))
        quantized(graph, name + "_f", name)
        last = name
    body = b"".join(graph) + field(2, b"wide")
    body += constant("s", 1, struct.pack("<f", 1 / 16))
    body += constant("z", 3, b"\0")
    body += field(11, value("x", shape)) + field(12, value(last, shape))
    return field(1, 7) + field(7, body) + field(8, field(2, 13))


def main():
    out = sys.argv[1]
    channels, size, layers = (int(v) for v in sys.argv[2:])
    shape = (1, channels, size, size)
    dice = random.Random(1)

    os.makedirs(os.path.join(out, "inputs"))
    with open(os.path.join(out, "model.onnx"), "wb") as f:
        f.write(model(shape, layers))
    numbers = [dice.randint(-128, 127) / 16
               for _ in range(channels * size * size)]
    sim_files.write(os.path.join(out, "inputs", "0000.npz"),
                    {"x": sim_files.npy("<f4", shape, numbers)})
    with open(os.path.join(out, "case.json"), "w", encoding="utf-8") as f:
        json.dump({"schema": "assay-case/1"}, f)


main()
