# SPDX-License-Identifier: Apache-2.0
"""Puts numbers that say nothing into the npz files of a folder.

odd_numbers.py FOLDER SUBFOLDER:ARRAY:KIND. The array of that name becomes, in
every file, KIND: nan (its first element), empty (no elements), constant (7
throughout). Python's own library.
"""
import glob
import re
import struct
import sys
import zipfile


def npy(dtype, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (
        dtype, shape)
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) +
            head.encode() + data)


def changed(raw, kind):
    size, = struct.unpack("<H", raw[8:10])
    head, data = raw[10:10 + size].decode(), raw[10 + size:]
    dtype = re.search(r"'descr': '([^']+)'", head).group(1)
    shape = re.search(r"'shape': (\([^)]*\))", head).group(1)
    if kind == "empty":
        return npy(dtype, "(0,)", b"")
    if kind == "nan":
        assert dtype == "<f4"
        return npy(dtype, shape, struct.pack("<f", float("nan")) + data[4:])
    width = int(dtype[2:])
    return npy(dtype, shape, bytes([7] + [0] * (width - 1)) *
               (len(data) // width))


def main():
    folder, what = sys.argv[1:]
    sub, array, kind = what.split(":")
    for path in glob.glob("%s/%s/*.npz" % (folder, sub)):
        with zipfile.ZipFile(path) as z:
            members = {n: z.read(n) for n in z.namelist()}
        members[array + ".npy"] = changed(members[array + ".npy"], kind)
        with zipfile.ZipFile(path, "w") as z:
            for name, raw in members.items():
                z.writestr(name, raw)


if __name__ == "__main__":
    main()
