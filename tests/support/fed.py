# SPDX-License-Identifier: Apache-2.0
"""What scripts feed to a model, rightly and wrongly; Python's own library, and
nothing of what assay computes with.

fed.py picture OUT.png OUT.npy W H   a picture like a photograph, its pixels
fed.py nearest RGB.npy OUT.npy W H   the pixels at another size
fed.py feed RGB.npy OUT HOW          HOW: a word of FEEDS; OUT: .npy, else bytes
fed.py model OUT.onnx W H            a quantized model of one layer
Pixels are uint8 [1,H,W,3], R first.
"""
import os
import random
import struct
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "sweep"))
import npz  # noqa: E402
import wire  # noqa: E402

MEAN = (123.675, 116.28, 103.53)
SCALE = (0.01712475, 0.017507, 0.01742919)
FULL = ((77, 150, 29, 0), (-43, -84, 127, 128), (127, -106, -21, 128))
STUDIO = ((66, 129, 25, 16), (-38, -74, 112, 128), (112, -94, -18, 128))


def clamp(v):
    return max(0, min(255, v))


def read(path):
    with open(path, "rb") as f:
        a = npz.parse(f.read())
    _, h, w, c = a.shape
    if a.descr != "|u1" or c != 3:
        raise SystemExit("%s: expected uint8 [1,H,W,3]" % path)
    return h, w, a.data


def write(path, descr, shape, data):
    a = npz.Array(descr, shape, bytes(data))
    with open(path, "wb") as f:
        f.write(npz.bytes_of(a) if path.endswith(".npy") else a.data)


# ---- pictures --------------------------------------------------------------------

def picture(w, h):
    dice = random.Random(20261202)
    out = bytearray()
    for y in range(h):
        for x in range(w):
            patch = (x // 13 + y // 9) % 3 == 0
            noise = dice.randint(0, 9)
            out += bytes(map(clamp, (
                x * 255 // w + noise,
                y * 255 // h + (60 if patch else 0) - noise,
                230 - (x + y) * 160 // (w + h) - (90 if patch else 0))))
    return bytes(out)


def png(w, h, rgb):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(
            ">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + rgb[3 * w * y:3 * w * (y + 1)] for y in range(h))
    return (b"\x89PNG\r\n\x1a\n" +
            chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def nearest(h, w, rgb, width, height):
    """The pixel that the upper left corner of the new one lies in."""
    out = bytearray()
    for y in range(height):
        for x in range(width):
            at = 3 * (y * h // height * w + x * w // width)
            out += rgb[at:at + 3]
    return bytes(out)


# ---- what is fed -----------------------------------------------------------------

def yuv(rgb, rows):
    out = bytearray()
    for i in range(0, len(rgb), 3):
        r, g, b = rgb[i:i + 3]
        out += bytes(clamp(((k[0] * r + k[1] * g + k[2] * b + 128) >> 8) +
                           k[3]) for k in rows)
    return out


def planes(h, w, rgb, rows=FULL, first=0):
    """NV12; NV21 with first = 1."""
    p = yuv(rgb, rows)
    out = bytearray(p[0::3])
    for y in range(0, h, 2):
        for x in range(0, w, 2):
            at = [3 * ((y + j) * w + x + i) for j in (0, 1) for i in (0, 1)]
            pair = [(sum(p[a + c] for a in at) + 2) >> 2 for c in (1, 2)]
            out += bytes((pair[first], pair[1 - first]))
    return out


def widened(h, w, rgb):
    """The chroma of NV12, for each pixel."""
    n = planes(h, w, rgb)
    out = bytearray()
    for y in range(h):
        for x in range(w):
            at = h * w + y // 2 * w + x // 2 * 2
            out += bytes((n[y * w + x], n[at], n[at + 1]))
    return out


def bgr(rgb):
    out = bytearray(rgb)
    out[0::3], out[2::3] = rgb[2::3], rgb[0::3]
    return bytes(out)


def floats(values):
    return struct.pack("<%df" % len(values), *values)


def normalised(rgb):
    return [(v - MEAN[i % 3]) * SCALE[i % 3] for i, v in enumerate(rgb)]


def nchw(data):
    return b"".join(data[c::3] for c in range(3))


def feed(h, w, rgb, how):
    """descr, shape, bytes."""
    pixels, rows = (1, h, w, 3), (h * 3 // 2, w)
    if how == "nv12":
        return "|u1", rows, planes(h, w, rgb)
    if how == "nv12-studio":
        return "|u1", rows, planes(h, w, rgb, STUDIO)
    if how == "nv21":
        return "|u1", rows, planes(h, w, rgb, FULL, 1)
    if how == "rgb":
        return "|u1", pixels, rgb
    if how == "bgr":
        return "|u1", pixels, bgr(rgb)
    if how == "bgr-nchw":
        return "|u1", (1, 3, h, w), nchw(bgr(rgb))
    if how == "rgb-float":
        return "<f4", pixels, floats([float(v) for v in rgb])
    if how == "rgb-divided":
        return "<f4", pixels, floats([v / 255 for v in rgb])
    if how == "rgb-normalised":
        return "<f4", pixels, floats(normalised(rgb))
    if how == "centred":
        return "|i1", pixels, bytes(v ^ 128 for v in widened(h, w, rgb))
    if how == "not-centred":
        return "|u1", pixels, widened(h, w, rgb)
    if how == "noise":
        dice = random.Random(7)
        return "|u1", pixels, bytes(dice.randint(0, 255) for _ in rgb)
    raise SystemExit("fed.py: no such feed: " + how)


def model(w, h):
    pool = wire.node("HzQuantizedMaxPool", "pool", ["x"], ["y"], "horizon",
                     kernel_shape=[2, 2], strides=[2, 2], data_format="NHWC")
    return wire.model([pool], {"x": npz.Array("|i1", (1, h, w, 3), b"")},
                      {"y": npz.Array("|i1", (1, h // 2, w // 2, 3), b"")}, {},
                      11, ["horizon"])


def main():
    what, args = sys.argv[1], sys.argv[2:]
    if what == "picture":
        w, h = int(args[2]), int(args[3])
        rgb = picture(w, h)
        with open(args[0], "wb") as f:
            f.write(png(w, h, rgb))
        write(args[1], "|u1", (1, h, w, 3), rgb)
    elif what == "nearest":
        w, h = int(args[2]), int(args[3])
        write(args[1], "|u1", (1, h, w, 3), nearest(*read(args[0]), w, h))
    elif what == "feed":
        write(args[1], *feed(*read(args[0]), args[2]))
    elif what == "model":
        with open(args[0], "wb") as f:
            f.write(model(int(args[1]), int(args[2])))
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
