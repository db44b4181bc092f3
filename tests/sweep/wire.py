# SPDX-License-Identifier: Apache-2.0
"""ONNX files with nothing but the standard library: as much of protobuf as a
model of one layer needs, and the constants of any."""
import struct

import npz

# numpy's name of an element -> ONNX's number of its type
TYPES = {"<f4": 1, "|u1": 2, "|i1": 3, "<i2": 5, "<i4": 6, "<i8": 7,
         "<f8": 11}
DESCRS = {v: k for k, v in TYPES.items()}
FLOAT, INT, STRING, FLOATS, INTS = 1, 2, 3, 6, 7  # kinds of attributes


# ---- writing ---------------------------------------------------------------------

def varint(n):
    out = bytearray()
    n &= (1 << 64) - 1
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(*fields):
    return b"".join(field(n, v) for n, v in fields)


def tensor(name, a):
    return message(*[(1, d) for d in a.shape], (2, TYPES[a.descr]), (8, name),
                   (9, a.data))


def value(name, a):
    """name has the type and the shape of a."""
    dims = message(*[(1, message((1, d))) for d in a.shape])
    return message((1, name), (2, message(
        (1, message((1, TYPES[a.descr]), (2, dims))))))


def attribute(name, v):
    if isinstance(v, float):
        return message((1, name), (2, v), (20, FLOAT))
    if isinstance(v, int):
        return message((1, name), (3, v), (20, INT))
    if isinstance(v, str):
        return message((1, name), (4, v), (20, STRING))
    if isinstance(v[0], float):
        return message((1, name), *[(7, f) for f in v], (20, FLOATS))
    return message((1, name), *[(8, i) for i in v], (20, INTS))


def node(op, name, inputs, outputs, domain="", **attrs):
    return message(*[(1, i) for i in inputs], *[(2, o) for o in outputs],
                   (3, name), (4, op), (7, domain),
                   *[(5, attribute(k, v)) for k, v in attrs.items()])


def model(nodes, inputs, outputs, constants, opset=13, domains=()):
    """inputs, outputs, constants: name -> npz.Array."""
    graph = message(*[(1, n) for n in nodes], (2, "g"),
                    *[(5, tensor(k, a)) for k, a in constants.items()],
                    *[(11, value(k, a)) for k, a in inputs.items()],
                    *[(12, value(k, a)) for k, a in outputs.items()])
    versions = [("", opset)] + [(d, 1) for d in domains]
    return message((1, 8), (7, graph),
                   *[(8, message((1, d), (2, v))) for d, v in versions])


# ---- reading ---------------------------------------------------------------------

def read_varint(buf, at):
    shift = n = 0
    while True:
        n |= (buf[at] & 127) << shift
        shift += 7
        at += 1
        if buf[at - 1] < 128:
            return n, at


def fields(buf):
    """(number, value) of a message."""
    at = 0
    while at < len(buf):
        key, at = read_varint(buf, at)
        wire = key & 7
        if wire == 0:
            v, at = read_varint(buf, at)
        else:
            if wire == 2:
                n, at = read_varint(buf, at)
            else:
                n = 8 if wire == 1 else 4
            v = buf[at:at + n]
            at += n
        yield key >> 3, v


def constants(path):
    """name -> npz.Array of a model's initializers that are stored raw, or
    as packed floats."""
    with open(path, "rb") as f:
        whole = f.read()
    out = {}
    for number, graph in fields(whole):
        if number != 7:
            continue
        for n, v in fields(graph):
            if n != 5:
                continue
            t = {8: b"", 9: None, 2: 0}
            t.update(fields(v))
            if t[9] is None and t[2] == 1:
                t[9] = t.get(4) # packed floats lie as raw ones do
            dims = [d for k, d in fields(v) if k == 1 and isinstance(d, int)]
            if t[9] is not None and t[2] in DESCRS:
                out[t[8].decode()] = npz.Array(DESCRS[t[2]], dims, t[9])
    return out


def attribute_value(buf):
    """(name, an integer, text, or a list of integers)."""
    v, ints = {}, []
    for number, x in fields(buf):
        if number == 8 and isinstance(x, int):
            ints.append(x)
        elif number == 8: # packed
            at = 0
            while at < len(x):
                n, at = read_varint(x, at)
                ints.append(n)
        else:
            v[number] = x
    ints = [i - (1 << 64) if i >> 63 else i for i in ints]
    kind = v.get(20)
    return v[1].decode(), (ints if kind == INTS else v[4].decode()
                           if kind == STRING else v.get(3))


class Node:
    """A node of a model that was read."""

    def __init__(self, buf):
        self.name, self.op = "", ""
        self.inputs, self.outputs, self.attrs = [], [], {}
        for number, v in fields(buf):
            if number == 1:
                self.inputs.append(v.decode())
            elif number == 2:
                self.outputs.append(v.decode())
            elif number == 3:
                self.name = v.decode()
            elif number == 4:
                self.op = v.decode()
            elif number == 5:
                self.attrs.update([attribute_value(v)])


def nodes(path):
    """Of a model's graph, in order."""
    with open(path, "rb") as f:
        whole = f.read()
    return [Node(v) for number, graph in fields(whole) if number == 7
            for n, v in fields(graph) if n == 1]
