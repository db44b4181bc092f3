# SPDX-License-Identifier: Apache-2.0
"""Changes one array in every npz of a folder; Python's own library.

rearrange.py DIR NAME permute 0231   elements in another order of axes, read
                                     with the shape as it was
rearrange.py DIR NAME reverse AXIS
rearrange.py DIR NAME swap AXIS I J
rearrange.py DIR NAME stride N ALIGN rows of N bytes, written ALIGN apart and
                                     read as if they were dense
rearrange.py DIR NAME sign           8-bit elements: top bit the other way
rearrange.py DIR NAME swab           bytes of an element in the other order
rearrange.py DIR NAME shift N        N elements towards the end, zeros in front
rearrange.py DIR NAME pack K         NCHW as [C/K][H][W][K]
rearrange.py DIR NAME become OTHER   another array's elements, and back
rearrange.py DIR NAME noise SEED     every fifth element another value
rearrange.py DIR NAME add N          integers, saturated
rearrange.py DIR NAME times X        floats
rearrange.py DIR NAME add-at N AXIS LO HI
                                     only where AXIS is LO..HI
rearrange.py DIR NAME add-ring N     only at the edge of an NCHW image
"""

import glob
import os
import random
import struct
import sys

import sim_files

RANGES = {"|i1": (-128, 127), "<i2": (-32768, 32767),
          "<i4": (-2 ** 31, 2 ** 31 - 1)}


def strides(shape):
    out = [1] * len(shape)
    for a in range(len(shape) - 2, -1, -1):
        out[a] = out[a + 1] * shape[a + 1]
    return out


def index(shape, i):
    return [i // s % d for s, d in zip(strides(shape), shape)]


def linear(shape, at):
    return sum(a * s for a, s in zip(at, strides(shape)))


def by_place(shape, v, move):
    """Element i becomes the one at move(index of i)."""
    return [v[linear(shape, move(index(shape, i)))] for i in range(len(v))]


def reverse(shape, v, axis):
    axis = int(axis)
    return by_place(shape, v, lambda at: at[:axis] +
                    [shape[axis] - 1 - at[axis]] + at[axis + 1:])


def swap(shape, v, axis, i, j):
    axis, other = int(axis), {int(i): int(j), int(j): int(i)}
    return by_place(shape, v, lambda at: at[:axis] +
                    [other.get(at[axis], at[axis])] + at[axis + 1:])


def pack(shape, v, k):
    n, c, h, w = shape
    k = int(k)
    out = []
    for i in range(n):
        for block in range((c + k - 1) // k):
            for place in range(h * w):
                for lane in range(k):
                    ch = block * k + lane
                    out.append(v[(i * c + ch) * h * w + place]
                               if ch < c else 0)
    return out[:len(v)]


def noise(descr, v, seed):
    lo, hi = RANGES[descr]
    r = random.Random(int(seed))
    return [r.randint(lo, hi) if r.randrange(5) == 0 else x for x in v]


def add(descr, shape, v, by, where):
    lo, hi = RANGES[descr]
    return [min(max(x + by, lo), hi) if where(index(shape, i)) else x
            for i, x in enumerate(v)]


def on_edge(shape):
    h, w = shape[2], shape[3]
    return lambda at: at[2] in (0, h - 1) or at[3] in (0, w - 1)


def rows(raw, n, align):
    step = (n + align - 1) // align * align
    padded = b"".join(raw[i:i + n] + bytes(step - n)
                      for i in range(0, len(raw), n))
    return padded[:len(raw)]


def changed(data, how, args):
    descr, shape, start = sim_files.parse(data)
    raw = data[start:]
    size = struct.calcsize(sim_files.FORMATS[descr])
    if how == "stride":
        return data[:start] + rows(raw, int(args[0]), int(args[1]))
    if how == "sign":
        return data[:start] + bytes(b ^ 0x80 for b in raw)
    if how == "swab":
        return data[:start] + b"".join(raw[i:i + size][::-1]
                                       for i in range(0, len(raw), size))
    v = sim_files.values(data)[1]
    if how == "permute":
        v = sim_files.permute(shape, v, [int(a) for a in args[0]])[1]
    elif how == "reverse":
        v = reverse(shape, v, *args)
    elif how == "swap":
        v = swap(shape, v, *args)
    elif how == "shift":
        v = [0] * int(args[0]) + v[:len(v) - int(args[0])]
    elif how == "pack":
        v = pack(shape, v, *args)
    elif how == "noise":
        v = noise(descr, v, *args)
    elif how == "times":
        v = [x * float(args[0]) for x in v]
    elif how == "add":
        v = add(descr, shape, v, int(args[0]), lambda at: True)
    elif how == "add-at":
        by, axis, lo, hi = [int(a) for a in args]
        v = add(descr, shape, v, by, lambda at: lo <= at[axis] <= hi)
    elif how == "add-ring":
        v = add(descr, shape, v, int(args[0]), on_edge(shape))
    else:
        sys.exit(__doc__)
    return sim_files.npy(descr, shape, v)


def main():
    folder, name, how = sys.argv[1:4]
    paths = sorted(glob.glob(os.path.join(folder, "*.npz")))
    if not paths:
        sys.exit(folder + ": no npz")
    for path in paths:
        arrays = sim_files.read(path)
        if how == "become":
            arrays[name], arrays[sys.argv[4]] = (arrays[sys.argv[4]],
                                                 arrays[name])
        else:
            arrays[name] = changed(arrays[name], how, sys.argv[4:])
        sim_files.write(path, arrays)


if __name__ == "__main__":
    main()
