# SPDX-License-Identifier: Apache-2.0
"""Writes files as runs on a board leave them, out of a case's npz; needs only
Python's own library. Layouts are computed here on their own, from what the
vendor publishes: docs/horizon.md, "Dumps".

board_dump.py make NPZ OUT [OPTION...] TENSOR=STEM...
    --mode 1|2|3     .bin; .bin and .txt of all elements; both of valid ones
    --layout L       dense, x5, image, image4, row32, row64, pair32, pair64,
                     high64 (rows to 64 bytes, the axis before to 32), row128,
                     tail (dense, zeros up to 4096 bytes)
    --perm 0231      axes of the file, by those of the tensor
    --type T         f4 (times --scale), i4, u1 (an int8 image plus 128)
    --scale S
    --poke N         flips the lowest bit of element N of the file's order
    --fill N         padding holds this byte
    --info x5|ucp    a model_info.txt, with strides
    --side output    of the model_info
    --npy            .npy instead
board_dump.py all NPZ OUT [OPTION...]
                     every tensor, as outputs of one segment
board_dump.py nv12 NPZ OUT TENSOR STEM_Y STEM_UV STRIDE [ADD]
                     an int8 image of even size as two planes: chroma of every
                     second row and column; ADD to each byte of luma
board_dump.py halve NPZ TENSOR      replicates such chroma, in place
board_dump.py cut FILE BYTES        leaves the first BYTES
board_dump.py add FILE BYTES        more bytes, not zero
board_dump.py swap FILE UNIT        turns each element's bytes round
board_dump.py poke FILE AT          flips a bit
board_dump.py spread FILE HEX       zero, and then these bytes again and again
board_dump.py retype FILE AT TEXT   another number in a .txt
"""

import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sim_files  # noqa: E402

sim_files.FORMATS.setdefault("|u1", "B")
TYPES = {"|i1": "S8", "|u1": "U8", "<i2": "S16", "<i4": "S32", "<f4": "F32"}


def up(n, to):
    return (n + to - 1) // to * to


def channels(n):
    base, over = n // 256 * 256, n % 256
    if over == 0:
        return n
    return base + min(t for t in (16, 32, 64, 128, 256) if over <= t)


def strides(layout, dims, unit):
    """Bytes from one element to the next, by axis; bytes of all."""
    ext = list(dims)
    row = dims[-1] * unit
    pair = None
    if layout == "x5":
        row = channels(row)
    elif layout in ("image", "image4"):
        ext[1], ext[2] = up(ext[1], 2), up(ext[2], 32)
        row = 4 * unit if layout == "image4" else row
    elif layout.startswith("row"):
        row = up(row, int(layout[3:]))
    elif layout == "high64":
        row, ext[-2] = up(row, 64), up(ext[-2], 32)
    elif layout.startswith("pair"):
        pair = up(row * ext[-2], int(layout[4:]))
    out = [unit]
    at = row
    for axis in range(len(dims) - 2, -1, -1):
        out.insert(0, at)
        at *= ext[axis]
        if pair is not None and axis == len(dims) - 2:
            at = pair
    return out, at


def lay(dims, values, fmt, layout, fill):
    unit = struct.calcsize(fmt)
    by, size = strides(layout, dims, unit)
    out = bytearray([fill]) * (up(size, 4096) if layout == "tail" else size)
    at = [0] * len(dims)
    for v in values:
        o = sum(a * b for a, b in zip(at, by))
        out[o:o + unit] = struct.pack("<" + fmt, v)
        for axis in range(len(dims) - 1, -1, -1):
            at[axis] += 1
            if at[axis] < dims[axis]:
                break
            at[axis] = 0
    return bytes(out), by


def text(fmt, numbers):
    form = "%.9f" if fmt == "f" else "%d"
    return "".join(form % v + (" " if i % 8 < 7 else "\n")
                   for i, v in enumerate(numbers)) + "\n"


def options(argv):
    o = {"mode": "1", "layout": "dense", "perm": "", "type": "", "scale": "1",
         "fill": "0", "info": "", "side": "output", "npy": "", "poke": ""}
    rest = []
    while argv:
        a = argv.pop(0)
        if a == "--npy":
            o["npy"] = "yes"
        elif a.startswith("--"):
            o[a[2:]] = argv.pop(0)
        else:
            rest.append(a)
    return o, rest


def convert(descr, values, o):
    if o["type"] == "f4":
        scale = struct.unpack("<f", struct.pack("<f", float(o["scale"])))[0]
        return "<f4", [struct.unpack("<f", struct.pack("<f", v * scale))[0]
                       for v in values]
    if o["type"] == "i4":
        return "<i4", values
    if o["type"] == "u1":
        return "|u1", [v + 128 for v in values]
    return descr, values


def info_text(o, n, name, dims, aligned, by, size, descr):
    end = "," if o["info"] == "x5" else ""
    t = "%s[%d]: \nname: %s\n" % (o["side"], n, name)

    def tuple_of(v):
        return "(" + ",".join(str(i) for i in v) + end + ")"

    t += "valid shape: %s\n" % tuple_of(dims)
    if o["info"] == "x5":
        t += "aligned shape: %s\n" % tuple_of(aligned)
    t += "aligned byte size: %d\n" % size
    t += "tensor type: HB_DNN_TENSOR_TYPE_%s\n" % TYPES[descr]
    if o["info"] == "x5":
        t += "tensor layout: HB_DNN_LAYOUT_NHWC\n"
    t += "quanti type: NONE\nstride: %s\n\n" % tuple_of(by)
    return t


def make(npz, out, argv):
    o, pairs = options(argv)
    arrays = sim_files.read(npz)
    info = "This model file has 1 model:\n[model name]: made\n\n"
    os.makedirs(out, exist_ok=True)
    for n, pair in enumerate(pairs):
        tensor, stem = pair.split("=", 1)
        descr, _, _ = sim_files.parse(arrays[tensor])
        dims, values = sim_files.values(arrays[tensor])
        descr, values = convert(descr, values, o)
        if o["perm"]:
            dims, values = sim_files.permute(dims, values,
                                             [int(c) for c in o["perm"]])
        if o["poke"]:
            values = list(values)
            values[int(o["poke"])] ^= 1
        fmt = sim_files.FORMATS[descr]
        path = os.path.join(out, stem)
        if o["npy"]:
            with open(path + ".npy", "wb") as f:
                f.write(sim_files.npy(descr, tuple(dims), values))
            continue
        data, by = lay(dims, values, fmt, o["layout"], int(o["fill"]))
        with open(path + ".bin", "wb") as f:
            f.write(data)
        listed = values
        if o["mode"] == "2":
            listed = struct.unpack(
                "<%d%s" % (len(data) // struct.calcsize(fmt), fmt), data)
        if o["mode"] != "1":
            with open(path + ".txt", "w", encoding="ascii") as f:
                f.write(text(fmt, listed))
        info += info_text(o, n, tensor, dims, dims, by, len(data), descr)
    if o["info"]:
        with open(os.path.join(out, "model_info.txt"), "w",
                  encoding="ascii") as f:
            f.write(info)


def everything(npz, out, argv):
    arrays = sim_files.read(npz)
    names = [n for n in arrays if not n.startswith("__") and
             sim_files.parse(arrays[n])[0] in TYPES and
             sim_files.parse(arrays[n])[1]]
    make(npz, out, argv + [
        "%s=layer-0-bpu-net_subgraph_0-output-%d-%s" %
        (n, i, n.replace("/", "_")) for i, n in enumerate(names)])
    print(len(names))


def image_of(npz, tensor):
    """Height, width, values, and where (row, column, channel) is of them."""
    dims, v = sim_files.values(sim_files.read(npz)[tensor])
    if dims[1] == 3:
        h, w = dims[2:]
        return dims, h, w, list(v), lambda y, x, k: (k * h + y) * w + x
    h, w = dims[1:3]
    return dims, h, w, list(v), lambda y, x, k: 3 * (y * w + x) + k


def nv12(npz, out, tensor, stem_y, stem_uv, stride, add="0"):
    _, h, w, v, at = image_of(npz, tensor)
    stride = int(stride)
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, stem_y + ".bin"), "wb") as f:
        for y in range(h):
            r = bytes((v[at(y, x, 0)] + 128 + int(add)) & 255
                      for x in range(w))
            f.write(r.ljust(stride, b"\0"))
    with open(os.path.join(out, stem_uv + ".bin"), "wb") as f:
        for y in range(0, h, 2):
            r = bytes(v[at(y, x, k)] + 128
                      for x in range(0, w, 2) for k in (1, 2))
            f.write(r.ljust(stride, b"\0"))


def halve(npz, tensor):
    arrays = sim_files.read(npz)
    descr, _, _ = sim_files.parse(arrays[tensor])
    dims, h, w, v, at = image_of(npz, tensor)
    for y in range(h):
        for x in range(w):
            for k in (1, 2):
                v[at(y, x, k)] = v[at(y & ~1, x & ~1, k)]
    arrays[tensor] = sim_files.npy(descr, tuple(dims), v)
    sim_files.write(npz, arrays)


def change(path, edit):
    with open(path, "rb") as f:
        data = bytearray(f.read())
    data = edit(data)
    with open(path, "wb") as f:
        f.write(data)


def poke(data, at):
    data[at] ^= 1
    return data


def swap(data, unit):
    return b"".join(bytes(reversed(data[i:i + unit]))
                    for i in range(0, len(data), unit))


def spread(data, word):
    n = len(word)
    return bytes(n) + word * ((len(data) - n) // n)


def retype(data, at, word):
    words = data.decode("ascii").split()
    words[at] = word
    return " ".join(words).encode("ascii") + b"\n"


def main(verb, *args):
    if verb == "make":
        make(args[0], args[1], list(args[2:]))
    elif verb == "all":
        everything(args[0], args[1], list(args[2:]))
    elif verb in ("nv12", "halve"):
        {"nv12": nv12, "halve": halve}[verb](*args)
    else:
        change(args[0], {
            "cut": lambda d: d[:int(args[1])],
            "add": lambda d: d + b"\x7f" * int(args[1]),
            "swap": lambda d: swap(d, int(args[1])),
            "spread": lambda d: spread(d, bytes.fromhex(args[1])),
            "poke": lambda d: poke(d, int(args[1])),
            "retype": lambda d: retype(d, int(args[1]), args[2]),
        }[verb])


if __name__ == "__main__":
    main(*sys.argv[1:])
