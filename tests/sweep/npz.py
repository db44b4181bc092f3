# SPDX-License-Identifier: Apache-2.0
"""npz files with nothing but the standard library: arrays as bytes."""
import ast
import math
import struct
import zipfile

SIZES = {"b1": 1, "i1": 1, "u1": 1, "i2": 2, "u2": 2, "i4": 4, "u4": 4,
         "f4": 4, "i8": 8, "u8": 8, "f8": 8}


class Array:
    """descr as numpy writes it, shape, data in C order."""

    def __init__(self, descr, shape, data):
        self.descr, self.shape, self.data = descr, tuple(shape), data

    @property
    def width(self):
        return SIZES[self.descr[1:]]

    @property
    def count(self):
        return math.prod(self.shape)

    def first(self, n):
        """The first n of axis 0."""
        size = len(self.data) // self.shape[0]
        return Array(self.descr, (n,) + self.shape[1:], self.data[:n * size])


def parse(raw):
    if raw[:6] != b"\x93NUMPY":
        raise ValueError("not an npy file")
    wide = raw[6] > 1
    n, = struct.unpack_from("<I" if wide else "<H", raw, 8)
    at = 12 if wide else 10
    head = ast.literal_eval(raw[at:at + n].decode("latin1"))
    if head["fortran_order"]:
        raise ValueError("Fortran order")
    return Array(head["descr"], head["shape"], raw[at + n:])


def bytes_of(a):
    head = repr({"descr": a.descr, "fortran_order": False,
                 "shape": a.shape}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + a.data


def read(path, names=None):
    """name -> Array, of strings and others that have no size: left out."""
    out = {}
    with zipfile.ZipFile(path) as z:
        for info in z.infolist():
            name = info.filename.removesuffix(".npy")
            if names is not None and name not in names:
                continue
            a = parse(z.read(info))
            if a.descr[1:] in SIZES:
                out[name] = a
    return out


def write(path, arrays):
    with zipfile.ZipFile(path, "w") as z:
        for name, a in arrays.items():
            z.writestr(zipfile.ZipInfo(name + ".npy"), bytes_of(a))
