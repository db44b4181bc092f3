#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What scripts of users feed, made with OpenCV, Pillow and numpy as they make
it, has to be named by assay image --got.

received.py ASSAY FOLDER     one line a judgement: ok or FAIL
"""
import json
import os
import subprocess
import sys

import cv2
import numpy as np
from PIL import Image

SIDE = 320
MEAN = np.array([0.485, 0.456, 0.406])
STD = np.array([0.229, 0.224, 0.225])
CONFIG = """input_parameters:
  input_name: 'x'
  input_type_rt: '%s'
  input_type_train: 'rgb'
  input_layout_train: 'NCHW'
  input_shape: '1x3x%dx%d'
  norm_type: 'data_mean_and_scale'
  mean_value: '123.675 116.28 103.53'
  scale_value: '0.01712475 0.017507 0.01742919'
"""


def photograph(rng, width, height):
    y, x = np.mgrid[0:height, 0:width]
    img = np.stack([x * 230 / width,
                    y * 200 / height + 40 * ((x // 90 + y // 70) % 3 == 0),
                    220 - (x + y) * 150 / (width + height)], -1)
    img += cv2.GaussianBlur(rng.normal(0, 60, img.shape), (0, 0), 3)
    return np.clip(img + rng.normal(0, 3, img.shape), 0, 255).astype(np.uint8)


def nv12(bgr, swapped=False):
    h, w = bgr.shape[:2]
    i420 = cv2.cvtColor(bgr, cv2.COLOR_BGR2YUV_I420).reshape(-1)
    y, u, v = np.split(i420, [h * w, h * w * 5 // 4])
    pairs = np.stack([v, u] if swapped else [u, v], -1)
    return np.concatenate([y, pairs.reshape(-1)]).reshape(h * 3 // 2, w)


def letterbox(bgr, pad):
    s = min(SIDE / bgr.shape[0], SIDE / bgr.shape[1])
    w, h = int(bgr.shape[1] * s), int(bgr.shape[0] * s)
    top, left = (SIDE - h) // 2, (SIDE - w) // 2
    return cv2.copyMakeBorder(cv2.resize(bgr, (w, h)), top, SIDE - h - top,
                              left, SIDE - w - left, cv2.BORDER_CONSTANT,
                              value=(pad, pad, pad))


def feeds(bgr, picture):
    """what, input_type_rt, options, array, ids (None: a match)"""
    small = cv2.resize(bgr, (SIDE, SIDE))
    rgb = np.ascontiguousarray(small[..., ::-1])
    torch = np.array(picture.resize((SIDE, SIDE), Image.BILINEAR))
    torch = ((torch / 255 - MEAN) / STD).astype(np.float32).transpose(2, 0, 1)
    boxed = ["--resize", "letterbox"]
    yield "RGB of OpenCV", "rgb", [], rgb[None], None
    yield "cv2.imread as it is", "rgb", [], small[None], "Y6"
    yield "BGR planes by 255", "nv12", [], small.transpose(2, 0, 1)[None] \
        .astype(np.float32) / 255, "Y15 and Y9 and L1"
    yield "torchvision's transforms", "rgb", [], torch[None], \
        "Y12 and Y9 and L1"
    yield "(x - 128) / 128", "rgb", [], \
        ((rgb.astype(np.float32) - 128) / 128)[None], "Y9"
    yield "float64", "rgb", [], rgb[None].astype(np.float64), "Y16"
    yield "OpenCV's I420", "nv12", [], nv12(small), "Y3"
    yield "OpenCV's I420 as NV21", "nv12", [], nv12(small, True), "Y1 and Y3"
    yield "I420's planes", "nv12", [], \
        cv2.cvtColor(small, cv2.COLOR_BGR2YUV_I420), "Y17 and Y3"
    yield "RGB taken for BGR", "nv12", [], nv12(rgb), "Y6 and Y3"
    yield "I420, letterboxed", "nv12", [], nv12(letterbox(bgr, 127)), \
        "Y12 and Y3"
    yield "another border", "rgb", boxed, \
        letterbox(bgr, 114)[None, ..., ::-1], "Y12"
    yield "stretched", "rgb", boxed, rgb[None], "Y12"
    yield "YCrCb", "yuv444", [], \
        cv2.cvtColor(small, cv2.COLOR_BGR2YCrCb)[None], "Y1 and Y11"
    yield "mirrored", "rgb", [], rgb[None, :, ::-1], "Y13"
    yield "turned when it was small", "rgb", [], \
        cv2.rotate(rgb, cv2.ROTATE_90_CLOCKWISE)[None], "Y13"
    yield "planes", "rgb", [], rgb.transpose(2, 0, 1)[None], "L1"
    yield "reshaped, which moves nothing", "rgb", [], \
        rgb.reshape(1, 3, SIDE, SIDE), None
    yield "not resized", "rgb", [], bgr[None, ..., ::-1], "Y12"
    yield "cubic, which is not known", "rgb", [], \
        cv2.resize(bgr, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)[
            None, ..., ::-1], ""
    yield "another picture", "rgb", [], 255 - rgb[None, ::-1] // 2, ""


def judge(assay, picture, config, options, fed):
    r = subprocess.run([assay, "image", picture, "--got", fed, "--vendor",
                        config, "--format", "json", *options],
                       stdout=subprocess.PIPE, timeout=120)
    report = json.loads(r.stdout)
    found = report["inputs"][0]
    proved = all(h["proved"] for h in found["hypotheses"])
    ids = [h["id"] for h in found["hypotheses"]]
    return r.returncode, found["verdict"], ids, proved


def main():
    assay, folder = sys.argv[1:]
    rng = np.random.default_rng(20261203)
    path = os.path.join(folder, "received.jpg")
    Image.fromarray(photograph(rng, 640, 360)).save(path, quality=92)
    fed = os.path.join(folder, "fed.npy")
    for what, rt, options, array, ids in feeds(
            cv2.imread(path), Image.open(path).convert("RGB")):
        config = os.path.join(folder, rt + ".yaml")
        with open(config, "w", encoding="ascii") as f:
            f.write(CONFIG % (rt, SIDE, SIDE))
        np.save(fed, np.ascontiguousarray(array))
        code, verdict, have, proved = judge(assay, path, config, options, fed)
        if ids is None:
            good = code == 0 and verdict == "match"
        elif ids == "":
            good = code == 1 and verdict == "unexplained" and not have
        else:
            good = code == 1 and verdict == "input" and proved and ids in have
        print("%s fed %s: %s" % (
            "ok  " if good else "FAIL", what,
            verdict if not have else ", ".join(have)))


main()
