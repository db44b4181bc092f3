#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures for tests, and what assay must make of them, in plain Python.

It shares no code with the C: docs/numerics.md, "Image input", is its source.

    picture.py make KIND WxH OUT.png      KIND: photo, gray, noise
    picture.py raw OUT.png TYPE RAW       the pixels again, as TYPE's bytes
    picture.py judge OUT.npz OUT.png TYPE [full]   the steps of `assay image`
"""
import struct
import sys
import zipfile
import zlib


# ---- PNG ---------------------------------------------------------------------
def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + \
        struct.pack(">I", zlib.crc32(kind + body))


def write_png(path, width, height, rgb, extra=b""):
    rows = b"".join(b"\0" + rgb[3 * width * y:3 * width * (y + 1)]
                    for y in range(height))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" +
                chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0,
                                           0, 0)) + extra +
                chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def read_png(path):
    """Of write_png's kind, or of libpng's with any filter."""
    with open(path, "rb") as f:
        data = f.read()
    at, body, size = 8, b"", None
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        part = data[at + 8:at + 8 + n]
        if kind == b"IHDR":
            size = struct.unpack(">II", part[:8])
            assert part[8:13] == b"\x08\x02\0\0\0", "not plain RGB"
        elif kind == b"IDAT":
            body += part
        at += 12 + n
    rows, w = zlib.decompress(body), 3 * size[0]
    out, above = b"", bytes(w)
    for y in range(size[1]):
        row = unfilter(rows[(w + 1) * y], rows[(w + 1) * y + 1:
                                               (w + 1) * (y + 1)], above)
        out, above = out + row, row
    return size[0], size[1], out


def unfilter(kind, row, above):
    out = bytearray(row)
    for i in range(len(row)):
        a = out[i - 3] if i >= 3 else 0
        b, c = above[i], above[i - 3] if i >= 3 else 0
        p = a + b - c
        paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b),
                    (abs(p - c), 2, c))[2]
        out[i] = (row[i] + (0, a, b, (a + b) // 2, paeth)[kind]) & 255
    return bytes(out)


# ---- pictures ------------------------------------------------------------------
def pixels(kind, width, height):
    state = 12345
    out = bytearray()
    for y in range(height):
        for x in range(width):
            state = (state * 1103515245 + 12345) & 0x7fffffff
            if kind == "gray":
                out += bytes([(3 * x + 5 * y) & 255] * 3)
            elif kind == "noise":
                out += bytes([state >> 16 & 255, state >> 8 & 255,
                              state >> 20 & 255])
            else:
                out += bytes([(255 * x // width + (state >> 20) % 9) & 255,
                              255 * y // height,
                              (x * y // 7 + 40 * (x // 8 % 3)) & 255])
    return bytes(out)


# ---- what assay makes of them ------------------------------------------------------
WEIGHTS = {
    "full": ((77, 150, 29), (-43, -84, 127), (127, -106, -21)),
    "studio": ((66, 129, 25), (-38, -74, 112), (112, -94, -18)),
}


def to_yuv(r, g, b, span):
    off = (16 if span == "studio" else 0, 128, 128)
    return [max(0, min(255, ((m[0] * r + m[1] * g + m[2] * b + 128) >> 8) + o))
            for m, o in zip(WEIGHTS[span], off)]


def as_type(kind, width, height, rgb, span):
    px = [rgb[i:i + 3] for i in range(0, len(rgb), 3)]
    if kind == "rgb":
        return rgb
    if kind == "bgr":
        return b"".join(p[::-1] for p in px)
    yuv = [to_yuv(*p, span) for p in px]
    if kind == "gray":
        return bytes(p[0] for p in yuv)
    if kind == "yuv444":
        return b"".join(map(bytes, yuv))
    out = bytearray(p[0] for p in yuv)
    for y in range(0, height, 2):
        for x in range(0, width, 2):
            four = [yuv[(y + j) * width + x + i] for j in (0, 1)
                    for i in (0, 1)]
            pair = [(sum(p[k] for p in four) + 2) // 4 for k in (1, 2)]
            out += bytes(pair if kind == "nv12" else pair[::-1])
    return bytes(out)


def npy_bytes(data):
    n = struct.unpack("<H", data[8:10])[0]
    return data[10:10 + n].decode(), data[10 + n:]


def judge(npz, png, kind, span):
    width, height, rgb = read_png(png)
    want = as_type(kind.replace("_128", ""), width, height, rgb, span)
    if kind.endswith("_128"):
        want = bytes(v ^ 128 for v in want)
    with zipfile.ZipFile(npz) as z:
        names = z.namelist()
        first = npy_bytes(z.read("decode.npy"))[1]
        header, last = npy_bytes(z.read(names[-1]))
    assert first == rgb, "decode.npy is not the picture"
    assert last == want, "%s %s: %d of %d bytes differ" % (
        names[-1], header, sum(a != b for a, b in zip(last, want)), len(want))
    print("%s: %d bytes equal" % (names[-1], len(want)))


def main(argv):
    if argv[0] == "make":
        width, height = map(int, argv[2].split("x"))
        write_png(argv[3], width, height, pixels(argv[1], width, height))
    elif argv[0] == "raw":
        width, height, rgb = read_png(argv[1])
        with open(argv[3], "wb") as f:
            f.write(as_type(argv[2], width, height, rgb, "studio"))
    else:
        judge(argv[1], argv[2], argv[3],
              argv[4] if len(argv) > 4 else "studio")


if __name__ == "__main__":
    main(sys.argv[1:])
