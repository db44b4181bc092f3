# SPDX-License-Identifier: Apache-2.0
"""Makes variants of a case; needs only Python's own library.

edit_case.py CASE unbind           forget which model the goldens belong to
edit_case.py CASE rename OLD NEW   replace bytes in the model (same length)
edit_case.py CASE drop NAME...     remove tensors from every golden
edit_case.py CASE repeat N         the inputs of sample 0, N times over
"""

import glob
import io
import os
import struct
import sys
import zipfile


def goldens(case):
    return sorted(glob.glob(os.path.join(case, "golden", "*.npz")))


def drop(path, names):
    out = io.BytesIO()
    with zipfile.ZipFile(path) as z, zipfile.ZipFile(out, "w") as w:
        for i in z.infolist():
            if i.filename.removesuffix(".npy") not in names:
                w.writestr(i.filename, z.read(i))
    with open(path, "wb") as f:
        f.write(out.getvalue())


def repeat(case, n):
    path = sorted(glob.glob(os.path.join(case, "inputs", "*.npz")))[0]
    with zipfile.ZipFile(path) as z:
        member = z.infolist()[0]
        data = z.read(member)
    start = 10 + struct.unpack("<H", data[8:10])[0]
    header = data[10:start].decode("latin-1")
    shape = header[header.index("(") + 1:header.index(")")]
    header = header.replace("(%s)" % shape, "(%d, %s)" % (n, shape)).strip()
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with zipfile.ZipFile(os.path.join(case, "many.npz"), "w") as w:
        w.writestr(member.filename,
                   data[:8] + struct.pack("<H", len(header)) +
                   header.encode("latin-1") + data[start:] * n)


def main():
    case, what, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    if what == "unbind":
        for path in goldens(case):
            drop(path, {"__meta__"})
        if os.path.exists(os.path.join(case, "case.json")):
            os.remove(os.path.join(case, "case.json"))
    elif what == "rename":
        path = os.path.join(case, "model.onnx")
        data = open(path, "rb").read()
        old, new = (t.encode() for t in rest)
        if len(old) != len(new) or old not in data:
            sys.exit("cannot replace %r" % old)
        open(path, "wb").write(data.replace(old, new))
    elif what == "drop":
        for path in goldens(case):
            drop(path, set(rest))
    elif what == "repeat":
        repeat(case, int(rest[0]))
    else:
        sys.exit(__doc__)


main()
