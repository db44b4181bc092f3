# SPDX-License-Identifier: Apache-2.0
"""A model of many layers, with branches that join far behind; Python's own
library.

long_chain.py LAYERS SAMPLES OUT     OUT/ is a case without goldens
"""

import os
import random
import struct
import sys

import sim_files
from read_outputs import field, initializer, value_info

C, SIZE = 4, 6
SCALE, MICROSOFT = 0.05, "com.microsoft"


def node(op, inputs, output, domain="", attributes=b""):
    return field(1, b"".join(field(1, i) for i in inputs) +
                 field(2, output) + field(3, output + "_node") +
                 field(4, op) + attributes +
                 (field(7, domain) if domain else b""))


def attribute(name, values):
    return field(5, field(1, name) + b"".join(field(8, v) for v in values) +
                 field(20, 7))


def tensor(name, dtype, dims, raw):
    return field(5, b"".join(field(1, d) for d in dims) +
                 initializer(name, dtype, raw))


def conv(rng, n, x, y):
    """A 3x3 convolution whose output keeps the range of its input."""
    w = bytes(rng.randrange(256) for _ in range(C * C * 9))
    b = struct.pack("<%di" % C, *(rng.randrange(-900, 900) for _ in range(C)))
    name = "c%d" % n
    constants = (tensor(name + "w", 3, (C, C, 3, 3), w) +
                 tensor(name + "ws", 1, (), struct.pack("<f", 0.0026)) +
                 tensor(name + "b", 6, (C,), b))
    return constants, node(
        "QLinearConv",
        (x, "s", "z", name + "w", name + "ws", "z", "s", "z", name + "b"), y,
        "", attribute("pads", (1, 1, 1, 1)))


def model(layers, rng):
    constants = (tensor("s", 1, (), struct.pack("<f", SCALE)) +
                 tensor("z", 3, (), b"\0"))
    nodes = node("QuantizeLinear", ("input", "s", "z"), "t0")
    made = ["t0"]
    for n in range(1, layers - 1):
        x, y = made[-1], "t%d" % n
        if n % 5 == 4:  # joins with what is four layers back
            nodes += node("QLinearAdd",
                          (x, "s", "z", made[-4], "s", "z", "s", "z"), y,
                          MICROSOFT)
        elif n % 5 == 2:
            nodes += node("MaxPool", (x,), y, "",
                          attribute("kernel_shape", (3, 3)) +
                          attribute("pads", (1, 1, 1, 1)))
        else:
            more, body = conv(rng, n, x, y)
            constants += more
            nodes += body
        made.append(y)
    nodes += node("DequantizeLinear", (made[-1], "s", "z"), "output")
    shape = (1, C, SIZE, SIZE)
    graph = (nodes + field(2, "chain") + constants +
             field(11, value_info("input", shape)) +
             field(12, value_info("output", shape)))
    return (field(1, 8) + field(7, graph) +
            field(8, field(1, "") + field(2, 13)) +
            field(8, field(1, MICROSOFT) + field(2, 1)))


def main():
    layers, samples, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    rng = random.Random(layers)
    os.makedirs(os.path.join(out, "inputs"), exist_ok=True)
    with open(os.path.join(out, "model.onnx"), "wb") as f:
        f.write(model(layers, rng))
    for k in range(samples):
        x = [rng.uniform(-6, 6) for _ in range(C * SIZE * SIZE)]
        sim_files.write("%s/inputs/%04d.npz" % (out, k), {
            "input": sim_files.npy("<f4", (1, C, SIZE, SIZE), x)})


main()
