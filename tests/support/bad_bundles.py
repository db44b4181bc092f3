# SPDX-License-Identifier: Apache-2.0
"""Damages a bundle in every way that a disk or a mail can.

bad_bundles.py BUNDLE FOLDER     prints PATH <tab> REGEX a line
"""

import os, random, struct, sys

data = open(sys.argv[1], "rb").read()
folder = sys.argv[2]
os.makedirs(folder)


def put(name, content, regex):
    path = os.path.join(folder, name + ".assay")
    with open(path, "wb") as f:
        f.write(content)
    print(path, regex, sep="\t")


def frames():
    at = 0
    while at < len(data):
        header, payload = struct.unpack_from("<II", data, at + 12)
        yield at, 32 + header + payload
        at += 32 + header + payload


places = list(frames())
put("empty", b"", "an empty file")
put("text", b"not a bundle at all, and longer than a prefix",
    "at byte 0: frame 0: bad magic: expected 'ASY1'")
put("onnx", b"\x08\x07\x12\x04" + bytes(60), "bad magic")
for at, n in places:
    put("cut-at-%d" % at, data[:at],
        "an empty file" if at == 0 else "at byte %d: the end is missing" % at)
    put("cut-in-%d" % at, data[:at + n - 1],
        "at byte %d: a frame is cut: %d of" % (at, at))
put("more", data + b"x", "at byte %d: a frame is cut" % len(data))
put("twice", data + data, "at byte %d: frame out of order" % len(data))
put("no-first", data[places[1][0]:], "frame out of order: expected sequence 0")
swapped = data[:places[1][0]] + data[places[2][0]:places[3][0]] + \
    data[places[1][0]:places[2][0]] + data[places[3][0]:]
put("swapped", swapped, "frame out of order")
big = bytearray(data)
struct.pack_into("<I", big, 12, 0x7fffffff)
put("huge-header", big, "exceeds the header cap of 1048576")
big = bytearray(data)
struct.pack_into("<I", big, 16, 0x7fffffff)
put("huge-payload", big, "exceeds the chunk cap of 1048576")
random.seed(7)
for k in range(60):
    flipped = bytearray(data)
    where = random.randrange(len(data))
    flipped[where] ^= 1 << random.randrange(8)
    put("flipped-%d" % where, flipped, "flipped-[0-9]+.assay: at byte [0-9]+: ")
