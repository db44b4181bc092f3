# SPDX-License-Identifier: Apache-2.0
"""Flips the lowest bit of one element of one golden tensor, in sample 0.

flip_golden.py CASE LAYER     needs only Python's own library
"""

import glob
import io
import os
import sys
import zipfile


def main():
    case, layer = sys.argv[1:3]
    path = sorted(glob.glob(os.path.join(case, "golden", "*.npz")))[0]
    with zipfile.ZipFile(path) as z:
        members = [(i.filename, z.read(i)) for i in z.infolist()]
    # The tensor of a layer: its name, or the one that begins like it.
    names = [n[:-4] for n, _ in members]
    found = [n for n in names if n == layer] or \
        [n for n in names if n.startswith(layer) and not n.startswith("__")]
    if not found:
        sys.exit("no tensor of layer '%s' in '%s': %s" % (layer, path, names))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in members:
            if name == found[0] + ".npy":
                header = 10 + int.from_bytes(data[8:10], "little")
                at = header + (len(data) - header) // 2
                data = data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
                print(found[0], at - header)
            z.writestr(name, data)
    with open(path, "wb") as f:
        f.write(out.getvalue())


main()
