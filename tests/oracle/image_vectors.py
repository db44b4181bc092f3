# SPDX-License-Identifier: Apache-2.0
"""Golden rows of colours, for gen_vectors.py: docs/numerics.md, "Image input".

An op is direction, range, matrix where it is not BT.601, and "real" where the
formula is rounded once instead of having integer weights.
"""
import math
from fractions import Fraction as F

# [range, matrix]: rows of weights / 256; offsets of a range.
FORWARD = {
    ("full", "601"): ((77, 150, 29), (-43, -84, 127), (127, -106, -21)),
    ("studio", "601"): ((66, 129, 25), (-38, -74, 112), (112, -94, -18)),
    ("full", "709"): ((54, 183, 19), (-29, -98, 127), (127, -115, -12)),
    ("studio", "709"): ((47, 157, 16), (-26, -86, 112), (112, -102, -10)),
}
# Y, R of v, G of u and v, B of u.
BACK = {
    ("full", "601"): (256, 359, 88, 183, 454),
    ("studio", "601"): (298, 409, 100, 208, 516),
    ("full", "709"): (256, 403, 48, 120, 475),
    ("studio", "709"): (298, 459, 55, 136, 541),
}
OFFSET = {"full": (0, 128, 128), "studio": (16, 128, 128)}
# What a range spans of Y, and of U and V.
SPAN = {"full": (F(1), F(1)), "studio": (F(219, 255), F(224, 255))}
LUMA = {"601": (F(299, 1000), F(587, 1000), F(114, 1000)),
        "709": (F(2126, 10000), F(7152, 10000), F(722, 10000))}


def clamp(x):
    return max(0, min(255, x))


def to_yuv(rgb, form):
    return [clamp(math.floor(F(sum(map(int.__mul__, row, rgb)) + 128, 256)) +
                  off)
            for row, off in zip(FORWARD[form], OFFSET[form[0]])]


def to_rgb(yuv, form):
    gain, rv, gu, gv, bu = BACK[form]
    y = gain * (yuv[0] - OFFSET[form[0]][0])
    u, v = yuv[1] - 128, yuv[2] - 128
    return [clamp(math.floor(F(y + t + 128, 256)))
            for t in (rv * v, -gu * u - gv * v, bu * u)]


def to_yuv_real(rgb, form):
    k, (luma, chroma) = LUMA[form[1]], SPAN[form[0]]
    y = sum(a * b for a, b in zip(k, rgb))
    u, v = (rgb[2] - y) / (2 - 2 * k[2]), (rgb[0] - y) / (2 - 2 * k[0])
    return [clamp(round(t + off)) for t, off in
            zip((luma * y, chroma * u, chroma * v), OFFSET[form[0]])]


def to_rgb_real(yuv, form):
    k, (luma, chroma) = LUMA[form[1]], SPAN[form[0]]
    y = (yuv[0] - OFFSET[form[0]][0]) / luma
    u, v = (yuv[1] - 128) / chroma, (yuv[2] - 128) / chroma
    r, b = y + (2 - 2 * k[0]) * v, y + (2 - 2 * k[2]) * u
    return [clamp(round(t))
            for t in (r, (y - k[0] * r - k[2] * b) / k[1], b)]


def image_rows(r):
    corners = (0, 1, 15, 16, 17, 127, 128, 129, 235, 236, 240, 254, 255)
    for i in range(500):
        one = r.choice(corners)
        x = ((one,) * 3 if i % 10 == 0 else
             tuple(r.choice(corners) for _ in range(3)) if i % 3 == 0 else
             tuple(r.randint(0, 255) for _ in range(3)))
        for form in FORWARD:
            name = form[0] if form[1] == "601" else "%s_%s" % form
            yuv = to_yuv(x, form)
            yield ("rgb2yuv_" + name, *x, *yuv)
            yield ("rgb2cyuv_" + name, *x, *[v - 128 for v in yuv])
            yield ("yuv2rgb_" + name, *x, *to_rgb(x, form))
            yield ("rgb2yuv_%s_real" % name, *x, *to_yuv_real(x, form))
            yield ("yuv2rgb_%s_real" % name, *x, *to_rgb_real(x, form))
        y, u, v = (t - 128 for t in x)
        yield ("nv12_to_cyuv", *x, y, u, v)
        yield ("nv21_read_as_nv12_cyuv", *x, y, v, u)
