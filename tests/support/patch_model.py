# SPDX-License-Identifier: Apache-2.0
"""Changes numbers of a constant in an ONNX file; Python's own library.

patch_model.py MODEL list
patch_model.py MODEL NAME                   prints its elements
patch_model.py MODEL NAME FIRST NUMBER...   elements from FIRST on
patch_model.py MODEL NAME all NUMBER        every element
Only constants held as raw bytes, of 8 or 32-bit integers or float32, and
packed floats and 8-bit zero points of 0 to 127.
"""

import struct
import sys

# TensorProto.DataType
KINDS = {1: "f", 2: "B", 3: "b", 6: "i"}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data, at, end):
    """(number, value or (start, end)) of each field of a message"""
    while at < end:
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
            yield tag >> 3, value
        elif tag & 7 == 2:
            size, at = varint(data, at)
            yield tag >> 3, (at, at + size)
            at += size
        elif tag & 7 in (1, 5):
            at += 8 if tag & 7 == 1 else 4
        else:
            sys.exit("no ONNX file: field of kind %d" % (tag & 7))


def constants(data):
    """name -> (letter of struct, start, end)"""
    found = {}
    for number, graph in fields(data, 0, len(data)):
        if number != 7:
            continue
        for number, place in fields(data, *graph):
            if number != 5:
                continue
            tensor = dict(fields(data, *place))
            small = tensor.get(2) in (2, 3) and tensor.get(5)
            place = tensor.get(9) or tensor.get(4) or small
            if 8 in tensor and place and tensor.get(2) in KINDS:
                name = data[slice(*tensor[8])].decode()
                found[name] = (KINDS[tensor[2]],) + place
    return found


def main():
    path, name, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    data = bytearray(open(path, "rb").read())
    found = constants(bytes(data))
    if name == "list":
        for name, (kind, start, end) in found.items():
            print(name, kind, (end - start) // struct.calcsize(kind))
        return
    if name not in found:
        sys.exit("no such constant: '%s'" % name)
    kind, start, end = found[name]
    size = struct.calcsize(kind)
    if not rest:
        print(*(v for v, in struct.iter_unpack("<" + kind, data[start:end])))
        return
    numbers = [(float if kind == "f" else int)(t) for t in rest[1:]]
    if rest[0] == "all":
        numbers *= (end - start) // size
    else:
        start += int(rest[0]) * size
    new = struct.pack("<%d%s" % (len(numbers), kind), *numbers)
    if start + len(new) > end:
        sys.exit("'%s' has no so many elements" % name)
    data[start:start + len(new)] = new
    with open(path, "wb") as f:
        f.write(data)


if __name__ == "__main__":
    main()
