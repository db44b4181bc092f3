#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""assay image against OpenCV, Pillow and libyuv, on pictures made here.

judge.py ASSAY FOLDER     one line a judgement: ok, FAIL or SKIP
"""
import ctypes
import ctypes.util
import os
import subprocess
import sys

import cv2
import numpy as np
from PIL import Image

SIZES = [(640, 640, 1280, 720), (224, 224, 320, 240), (7, 5, 3, 2),
         (3, 2, 7, 5), (1, 1, 9, 9), (9, 9, 1, 1), (160, 120, 320, 240),
         (100, 76, 300, 228), (64, 64, 33, 47), (33, 200, 64, 77),
         (122, 50, 68, 118), (64, 93, 68, 116), (128, 100, 130, 99)]


class Judge:
    def __init__(self, assay, folder):
        self.assay, self.folder = assay, folder

    def run(self, picture, kind, width, height, *options):
        out = os.path.join(self.folder, "out.npz")
        subprocess.run([self.assay, "image", picture, "--as", kind, "--size",
                        "%dx%d" % (width, height), "-o", out, "-q", *options],
                       check=True, stdout=subprocess.DEVNULL, timeout=60)
        with np.load(out) as z:
            return {k: z[k] for k in z.files}

    def last(self, *args):
        return list(self.run(*args).values())[-1]

    def write(self, name, pixels, **options):
        path = os.path.join(self.folder, name)
        Image.fromarray(pixels).save(path, **options)
        return path


def far(a, b):
    assert a.shape == b.shape, (a.shape, b.shape)
    return int(np.abs(a.astype(np.int64) - b).max())


def tell(what, differ, most=0):
    print("%s %s: at most %d, found %d" % (
        "ok  " if differ <= most else "FAIL", what, most, differ))


def smooth(rng, width, height):
    small = rng.integers(0, 256, (max(2, height // 9), max(2, width // 9), 3),
                         dtype=np.uint8)
    return cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC)


def resizes(j, rng):
    worst = dict.fromkeys(("linear", "nearest", "area", "pillow",
                           "pillow-bicubic"), 0)
    for ow, oh, iw, ih in SIZES:
        pixels = rng.integers(0, 256, (ih, iw, 3), dtype=np.uint8)
        path = j.write("p.png", pixels)
        for name, flag in (("linear", cv2.INTER_LINEAR),
                           ("nearest", cv2.INTER_NEAREST),
                           ("area", cv2.INTER_AREA)):
            want = cv2.resize(pixels, (ow, oh), interpolation=flag)
            got = j.last(path, "rgb", ow, oh, "--resize", "stretch:" + name)
            worst[name] = max(worst[name], far(got[0], want))
        for name, flag in (("pillow", Image.BILINEAR),
                           ("pillow-bicubic", Image.BICUBIC)):
            want = np.asarray(Image.fromarray(pixels).resize((ow, oh), flag))
            both = [far(j.last(path, "rgb", ow, oh, "--resize",
                               "stretch:" + name + order)[0], want)
                    for order in ("", "-columns")]
            worst[name] = max(worst[name], min(both))
    for name, differ in worst.items():
        tell("resize %s, %d pairs of sizes" % (name, len(SIZES)), differ,
             1 if name == "area" else 0)


def i420(yuv, height):
    """Rows of I420 as Y and pairs."""
    flat = yuv.reshape(-1)
    n = flat.size * 2 // 3
    u, v = flat[n:n + n // 4], flat[n + n // 4:]
    return np.concatenate([flat[:n], np.stack([u, v], -1).reshape(-1)])


def colours(j, rng):
    pixels = rng.integers(0, 256, (48, 64, 3), dtype=np.uint8)
    path = j.write("c.png", pixels)
    want = i420(cv2.cvtColor(pixels, cv2.COLOR_RGB2YUV_I420), 48)
    got = j.last(path, "nv12", 64, 48, "--set", "arith=opencv", "--set",
                 "down=first").reshape(-1)
    tell("NV12 as COLOR_RGB2YUV_I420", far(got, want))
    got = j.last(path, "nv12", 64, 48, "--set", "down=first").reshape(-1)
    tell("NV12 in our integers, OpenCV's tolerance", far(got, want), 2)
    for arith, range_, flag, order in (
            ("opencv", "full", cv2.COLOR_RGB2YCrCb, [0, 2, 1]),
            ("opencv-yuv", "full", cv2.COLOR_RGB2YUV, [0, 1, 2])):
        got = j.last(path, "yuv444", 64, 48, "--range", range_, "--set",
                     "arith=" + arith)[0]
        tell("YUV444 %s %s" % (arith, range_),
             far(got, cv2.cvtColor(pixels, flag)[..., order]))
    got = j.last(path, "gray", 64, 48, "--set", "arith=opencv")[0, ..., 0]
    tell("gray", far(got, cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)))
    # JPEG's YCbCr, by Pillow's tables: the full range.
    want = np.asarray(Image.fromarray(pixels).convert("YCbCr"))
    for arith in ("real", "integer"):
        got = j.last(path, "yuv444", 64, 48, "--range", "full", "--set",
                     "arith=" + arith)[0]
        tell("YUV444 full %s, Pillow's YCbCr" % arith, far(got, want), 2)


def back(j, rng):
    # Below 16 they part by design: OpenCV takes 16 for it.
    raw = rng.integers(16, 236, (72, 64), dtype=np.uint8)
    path = os.path.join(j.folder, "x.nv12")
    raw.tofile(path)
    got = j.last(path, "rgb", 64, 48, "--raw", "nv12:64x48", "--range",
                 "studio", "--set", "arith=opencv")[0]
    tell("RGB as COLOR_YUV2RGB_NV12",
         far(got, cv2.cvtColor(raw, cv2.COLOR_YUV2RGB_NV12)))
    got = j.last(path, "rgb", 64, 48, "--raw", "nv12:64x48", "--range",
                 "studio")[0]
    tell("RGB in our integers, OpenCV's tolerance",
         far(got, cv2.cvtColor(raw, cv2.COLOR_YUV2RGB_NV12)), 2)


def files(j, rng):
    pixels = smooth(rng, 130, 75)
    worst = 0
    for name, options in (("a.png", {}), ("a.jpg", {"quality": 80}),
                          ("b.jpg", {"subsampling": 0}),
                          ("c.jpg", {"progressive": True})):
        path = j.write(name, pixels, **options)
        got = j.run(path, "rgb", 130, 75)["decode"][0]
        worst = max(worst, far(got, np.asarray(Image.open(path))))
        worst = max(worst, far(got, cv2.imread(path)[..., ::-1]))
    tell("PNG and JPEG, Pillow's and OpenCV's pixels", worst)
    path = j.write("d.png", pixels[..., 0])
    got = j.run(path, "rgb", 130, 75)["decode"][0]
    tell("gray PNG", far(got, cv2.imread(path)[..., ::-1]))
    exif = Image.Exif()
    worst = 0
    for orientation in range(1, 9):
        exif[0x0112] = orientation
        path = j.write("e.jpg", pixels, exif=exif)
        want = cv2.imread(path)[..., ::-1]
        got = j.last(path, "rgb", want.shape[1], want.shape[0], "--set",
                     "orientation=0")[0]
        worst = max(worst, far(got, want))
    tell("the eight orientations, as OpenCV turns them", worst)


def libyuv(j, rng):
    """Its BT.601 studio: 8-bit weights of another rounding."""
    name = ctypes.util.find_library("yuv")
    if name is None:
        print("SKIP libyuv: not installed")
        return
    lib = ctypes.CDLL(name)
    w, h = 64, 48
    pixels = np.repeat(np.repeat(rng.integers(
        0, 256, (h // 2, w // 2, 3), dtype=np.uint8), 2, 0), 2, 1)
    argb = np.dstack([pixels[..., ::-1], np.full((h, w), 255, np.uint8)])
    argb = np.ascontiguousarray(argb)
    out = np.zeros((h * 3 // 2, w), np.uint8)
    at = out.ctypes.data
    rc = lib.ARGBToNV12(ctypes.c_void_p(argb.ctypes.data), 4 * w,
                        ctypes.c_void_p(at), w, ctypes.c_void_p(at + w * h), w,
                        w, h)
    assert rc == 0
    path = j.write("y.png", pixels)
    tell("NV12 as libyuv's ARGBToNV12", far(j.last(path, "nv12", w, h), out),
         2)


def main():
    j = Judge(sys.argv[1], sys.argv[2])
    rng = np.random.default_rng(1)
    for judge in (resizes, colours, back, files, libyuv):
        judge(j, rng)


if __name__ == "__main__":
    main()
