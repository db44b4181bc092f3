# SPDX-License-Identifier: Apache-2.0
"""Makes columns of a compiled model out of npz files; Python's own library.

sim_files.py keep DIR NAME...        leave only these arrays
sim_files.py drop DIR NAME...        remove these arrays
sim_files.py flip DIR NAME           flip the lowest bit of the middle element
                                     in every npz
sim_files.py widen DIR NAME          an int8 array as int32, values unchanged
sim_files.py rename DIR OLD NEW
sim_files.py take DIR FROM NAME...   these arrays from files of the same name
sim_files.py texts NPZ OUT NAME=FEATURE[:PERM]...
                                     as the simulator writes them; PERM: the
                                     order of axes, e.g. 0312
sim_files.py hybrid OUT FEATURE=TENSOR...
                                     a hybrid model that maps features
DIR holds npz files, all of which are changed; NPZ may be one.
"""

import glob
import io
import os
import struct
import sys
import zipfile

FORMATS = {"|i1": "b", "<i2": "h", "<i4": "i", "<f4": "f"}


def read(path):
    with zipfile.ZipFile(path) as z:
        return {i.filename.removesuffix(".npy"): z.read(i)
                for i in z.infolist()}


def write(path, arrays):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in arrays.items():
            # One date: equal tensors make equal files.
            z.writestr(zipfile.ZipInfo(name + ".npy"), data)
    with open(path, "wb") as f:
        f.write(out.getvalue())


def parse(data):
    """(descr, shape, start of the elements)"""
    start = 10 + struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:start].decode("latin-1"), {"__builtins__": {}})
    return header["descr"], header["shape"], start


def values(data):
    descr, shape, start = parse(data)
    n = (len(data) - start) // struct.calcsize(FORMATS[descr])
    return shape, list(struct.unpack("<%d%s" % (n, FORMATS[descr]),
                                     data[start:]))


def npy(descr, shape, numbers):
    text = "{'descr': '%s', 'fortran_order': False, 'shape': %r, }" % (
        descr, shape)
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) +
            text.encode("latin-1") +
            struct.pack("<%d%s" % (len(numbers), FORMATS[descr]), *numbers))


def flip(data):
    descr, _, start = parse(data)
    size = struct.calcsize(FORMATS[descr])
    at = start + (len(data) - start) // size // 2 * size
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


def permute(shape, v, perm):
    strides = [1] * len(shape)
    for a in range(len(shape) - 2, -1, -1):
        strides[a] = strides[a + 1] * shape[a + 1]
    dims = [shape[p] for p in perm]
    out = []

    def walk(axis, at):
        if axis == len(dims):
            out.append(v[at])
            return
        for i in range(dims[axis]):
            walk(axis + 1, at + i * strides[perm[axis]])
    walk(0, 0)
    return dims, out


def texts(path, folder, pairs):
    arrays = read(path)
    os.makedirs(folder, exist_ok=True)
    for n, pair in enumerate(pairs):
        name, feature = pair.split("=")
        shape, v = values(arrays[name])
        if ":" in feature:
            feature, perm = feature.split(":")
            shape, v = permute(shape, v, [int(p) for p in perm])
        width = shape[-1]
        with open(os.path.join(folder, "hbdk_output%d_feature_%s_elem_int.txt"
                               % (n, feature)), "w", encoding="utf-8") as f:
            f.write("#operator: CONV\n#shift = %s\n#valid_dim=%s\n"
                    "#dynamic_n=1\n" % ("0 " * width,
                                        "x".join(str(d) for d in shape)))
            for i in range(0, len(v), width):
                f.write("".join("%d " % x for x in v[i:i + width]) + "\n")


def field(number, data):
    """One field of a protobuf message; small sizes only."""
    if isinstance(data, int):
        return bytes([number << 3, data])
    n, size = len(data), b""
    while True:
        size += bytes([n & 127 | (128 if n > 127 else 0)])
        n >>= 7
        if not n:
            break
    return bytes([number << 3 | 2]) + size + data


def node(op, inputs, outputs):
    return field(1, b"".join(field(1, i.encode()) for i in inputs) +
                 b"".join(field(2, o.encode()) for o in outputs) +
                 field(3, ("n_" + outputs[0]).encode()) +
                 field(4, op.encode()) + field(7, b"horizon"))


def hybrid(path, pairs):
    pairs = [p.split("=") for p in pairs]
    graph = node("HzBpuHBM", ["x"], [f for f, _ in pairs])
    for feature, tensor in pairs:
        graph += node("HzDequantize",
                      [feature, tensor + "_HzCalibration_y_scale"],
                      [tensor + "_calibrated"])
    graph += field(11, field(1, b"x"))
    for _, tensor in pairs:
        graph += field(5, field(2, 1) + field(8, (
            tensor + "_HzCalibration_y_scale").encode()) +
            field(9, struct.pack("<f", 0.5)))
    with open(path, "wb") as f:
        f.write(field(1, 7) + field(7, graph) + field(8, field(2, 11)))


def change(arrays, what, names):
    if what == "keep":
        return {n: arrays[n] for n in names}
    if what == "drop":
        return {n: d for n, d in arrays.items() if n not in names}
    if what == "flip":
        arrays[names[0]] = flip(arrays[names[0]])
    elif what == "widen":
        shape, v = values(arrays[names[0]])
        arrays[names[0]] = npy("<i4", shape, v)
    elif what == "rename":
        arrays[names[1]] = arrays.pop(names[0])
    else:
        sys.exit(__doc__)
    return arrays


def main():
    what, where, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    if what == "texts":
        texts(where, rest[0], rest[1:])
        return
    if what == "hybrid":
        hybrid(where, rest)
        return
    paths = [where] if os.path.isfile(where) else \
        sorted(glob.glob(os.path.join(where, "*.npz")))
    if not paths:
        sys.exit("no npz in '%s'" % where)
    for path in paths:
        arrays = read(path)
        if what == "take":
            other = read(os.path.join(rest[0], os.path.basename(path)))
            arrays.update({n: other[n] for n in rest[1:]})
        else:
            arrays = change(arrays, what, rest)
        write(path, arrays)


if __name__ == "__main__":
    main()
