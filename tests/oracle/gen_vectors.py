#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden rows for vcheck, from docs/numerics.md and nothing else.

Numbers are Python integers and Fractions; every binary32 or binary64 result
is rounded here, so that no floating point of this machine takes part (softmax
uses decimal, 60 digits, for its exponentials). It shares no code with the C.

    gen_vectors.py [--seed N] OUTDIR      the same seed writes the same bytes
"""
import argparse
import csv
import decimal
import math
import os
import random
import struct
from fractions import Fraction as F

from image_vectors import image_rows

I32 = (-(1 << 31), (1 << 31) - 1)
HALF = F(1, 2)
MODES = {
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "half_up": lambda q: math.floor(q + HALF),
    "half_down": lambda q: math.ceil(q - HALF),
    "half_even": round,  # of a Fraction: ties to the even integer
    "half_away": lambda q: math.floor(abs(q) + HALF) * (1 if q >= 0 else -1),
    "half_zero": lambda q: math.ceil(abs(q) - HALF) * (1 if q >= 0 else -1),
}


def limit(x, lo, hi):
    return max(lo, min(hi, x))


def wrap(x, bits):
    return (x + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def sat(x, bits):
    return limit(x, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def shr(x, n, mode):
    return MODES[mode](F(x, 1 << n)) if n > 0 else x << -n


def ilog2(a):
    """floor(log2(a)) of a positive Fraction."""
    e = a.numerator.bit_length() - a.denominator.bit_length()
    return e if F(2) ** e <= a else e - 1


def nearest(q, digits, least):
    """q in binary floating point: ties to even, gradual underflow."""
    if q == 0:
        return F(0)
    unit = F(2) ** (max(ilog2(abs(q)), least) - digits + 1)
    return round(q / unit) * unit


def f32(q):
    return nearest(F(q), 24, -126)


def f64(q):
    return nearest(F(q), 53, -1022)


def bits32(q):
    return "0x%08x" % struct.unpack(">I", struct.pack(">f", float(q)))


def bits64(q):
    return "0x%016x" % struct.unpack(">Q", struct.pack(">d", float(q)))


def step32(q, ulps):
    """The binary32 `ulps` behind a positive one."""
    u = struct.unpack(">I", struct.pack(">f", float(q)))[0] + ulps
    return F(struct.unpack(">f", struct.pack(">I", u))[0])


def derive(x):
    """m * 2**(s - 31) ~ x."""
    if x == 0:
        return 0, 0
    s = ilog2(x) + 1
    m = MODES["half_away"](x / F(2) ** s * 2**31)
    if m == 1 << 31:
        m, s = 1 << 30, s + 1
    return (m, s) if s >= -31 else (0, 0)


# ---- policies: (acc, m, s) -> v, and (acc, scale) -> real ----------------
def srdhm(a, b):
    return sat((a * b + (1 << 30)) >> 31, 32)


def sdmulh(a, b):
    return sat((a * b) >> 31, 32)


def two_stage(high, left, right, forced=False):
    def run(acc, m, s):
        down = max(-s, 1 if forced else 0)
        return shr(high(left(acc << (s + down if s + down > 0 else 0), 32), m),
                   down, right)
    return run


def one_stage(mode):
    return lambda acc, m, s: shr(acc * m, 31 - s, mode)


def q16_i64(acc, m, s):
    short = (m + (1 << 15)) >> 16 if m < 0x7FFF0000 else 0x7FFF
    return wrap(shr(acc * short, 15 - s, "half_up"), 32)


INTEGER = {  # name: (function, largest s, negative m allowed)
    "q31_double": (two_stage(srdhm, wrap, "half_away"), 30, True),
    "q31_double_nofix": (two_stage(srdhm, wrap, "half_up"), 30, True),
    "q31_double_lsat": (two_stage(srdhm, sat, "half_away"), 30, True),
    "q31_trunc_rshl": (two_stage(sdmulh, wrap, "half_up"), 30, False),
    "q31_trunc_rshl_f1": (two_stage(sdmulh, wrap, "half_up", True), 29, False),
    "q31_round_rshl_f1": (two_stage(srdhm, wrap, "half_up", True), 29, False),
    "q31_single": (one_stage("half_up"), 30, False),
    "q31_floor": (one_stage("floor"), 30, False),
    "q31_trunc0": (one_stage("trunc"), 30, False),
    "q16_i64": (q16_i64, 7, False),
}


def add_half(x, rounded):
    return math.trunc(rounded(x + (HALF if x >= 0 else -HALF)))


FLOAT = {  # name: (rounding of the width, real -> integer)
    "fp32_rne": (f32, round),
    "fp32_magic": (f32, round),
    "fp32_half_away": (f32, MODES["half_away"]),
    "fp32_trunc": (f32, math.trunc),
    "fp32_floor05": (f32, lambda x: math.floor(f32(x + HALF))),
    "fp32_trunc05": (f32, lambda x: add_half(x, f32)),
    "fp64_rne": (f64, round),
    "fp64_half_away": (f64, MODES["half_away"]),
}


def float_policy(name, acc, scale, zp, lo, hi):
    if name == "fp32_rne_zpin":
        x = f32(f32(f32(acc) * scale) + zp)
        return round(limit(x, F(lo), F(hi)))
    width, to_int = FLOAT[name]
    x = width(width(acc) * scale)
    return limit(to_int(limit(x, F(lo - zp), F(hi - zp))) + zp, lo, hi)


def integer_policy(name, acc, m, s, zp, lo, hi):
    return limit(INTEGER[name][0](acc, m, s) + zp, lo, hi)


RANGES = ((0, -128, 127), (3, -128, 127), (-128, -128, 127), (128, 0, 255),
          (0, *I32))
ACC_CORNERS = (I32[0], I32[0] + 1, -(1 << 30), -(1 << 24) - 1, -257, -1, 0, 1,
               2, 255, (1 << 24) + 1, 1 << 30, I32[1] - 1, I32[1])


def near_tie(r, real, zp, lo, hi):
    """An accumulator whose image is close to k + 1/2 inside the range."""
    k = r.randint(max(lo, -70000) - zp - 2, min(hi, 70000) - zp + 2)
    return limit(round(F(2 * k + 1, 2) / real) + r.randint(-1, 1), *I32)


def requant_rows(r):
    for name, (_, s_max, negative) in INTEGER.items():
        for i in range(420):
            zp, lo, hi = r.choice(RANGES)
            s = r.randint(-31, s_max) if i % 3 else r.randint(-12, 1)
            m = r.choice((r.randint(1 << 30, I32[1]), 1 << 30, I32[1], 0,
                          r.randint(0, I32[1])))
            if negative and i % 7 == 0:
                m = r.choice((I32[0], -1, -r.randint(1, I32[1])))
            acc = r.choice(ACC_CORNERS)
            if i % 3 == 0 and m > 0:
                acc = near_tie(r, F(m) * F(2) ** (s - 31), zp, lo, hi)
            elif i % 3 == 1:
                acc = r.randint(*I32)
            if name == "q16_i64" and i % 5 == 0:
                acc = r.randint(-(1 << 47), (1 << 47) - 1)
            yield (name, acc, m, s, "", zp, lo, hi,
                   integer_policy(name, acc, m, s, zp, lo, hi), "int")
    for name in list(FLOAT) + ["fp32_rne_zpin"]:
        double = name.startswith("fp64")
        for i in range(320):
            ranges = RANGES[:4] if name != "fp32_rne" else RANGES
            zp, lo, hi = r.choice(ranges)
            scale = F(r.randint(1 << 23, (1 << 24) - 1)) * \
                F(2) ** (r.randint(-20, 0) - 23)
            if i % 5 == 0:
                scale = r.choice((HALF, F(1, 4), step32(HALF, -1), F(2) ** -23,
                                  F(2) ** -140))
            if double:
                scale = f64(F(r.randint(1 << 52, (1 << 53) - 1)) *
                            F(2) ** (r.randint(-16, 0) - 52))
            acc = r.choice(ACC_CORNERS) if i % 3 == 0 else \
                near_tie(r, scale, zp, lo, hi) if i % 3 == 1 else \
                r.randint(-300, 300)
            yield (name, acc, "", "", (bits64 if double else bits32)(scale),
                   zp, lo, hi, float_policy(name, acc, scale, zp, lo, hi),
                   "float")


def hbm_rows(r):
    modes = list(MODES)
    add = {"wrap32": lambda t: wrap(t, 32), "sat32": lambda t: sat(t, 32),
           "wide": lambda t: t}
    for i in range(600):
        pre, post = r.randint(0, 31 if i % 4 == 0 else 10), r.randint(0, 30)
        m = r.choice((r.randint(1 << 14, (1 << 15) - 1), r.randint(0, 65535),
                      65535, 0))
        mid = r.choice((0, 16, 32))
        how = r.choice(list(add))
        acc = r.choice(ACC_CORNERS + (r.randint(*I32),
                                      r.randint(-70000, 70000)))
        bias = r.choice((0, 1, -1, *I32, r.randint(-5000, 5000)))
        pr, po = r.choice(modes), r.choice(modes)
        zp, lo, hi = r.choice(RANGES)
        t = shr(add[how](acc + bias), pre, pr)
        t = sat(t, mid) if mid else t
        yield (acc, bias, how, pre, pr, mid, m, post, po, zp, lo, hi,
               limit(shr(t * m, post, po) + zp, lo, hi), "rand")


def shift_rows(r):
    for n in list(range(0, 5)) + [r.randint(5, 30), 31, 32, r.randint(34, 61),
                                  62]:
        xs = {0, 1, -1, *I32, -(1 << 63), (1 << 63) - 1}
        xs |= {r.randint(-(1 << 63), (1 << 63) - 1) for _ in range(6)}
        for k in range(-3, 3):
            tie = (2 * k + 1) << (n - 1) if n else k
            xs |= {x for x in (tie - 1, tie, tie + 1) if -2**63 <= x < 2**63}
        for x in sorted(xs):
            for mode in MODES:
                yield mode, x, n, shr(x, n, mode)


def multiplier_rows(r):
    xs = [F(0), F(1), HALF, 1 - F(1, 2**53), 1 - F(1, 2**33), F(2) ** -32,
          F(2) ** -33, F(2) ** 29, 1 - F(1, 2**32)]
    xs += [f64(F(r.randint(1, 10**12), r.randint(1, 10**12)))
           for _ in range(120)]
    for x in xs:
        yield (bits64(x), *derive(x))


# ---- forms of layers ------------------------------------------------------
def scale32(r, least=-10, most=-1):
    """Mantissa and exponent by hand: no libm in what is written."""
    return F(r.randint(1 << 23, (1 << 24) - 1)) * \
        F(2) ** (r.randint(least, most) - 23)


def dequantized(q, scale, zero):
    return f32(f32(q - zero) * scale)


def add_tflite(left, policy):
    def run(a, b, sa, za, sb, zb, sc, zc, lo, hi):
        t = 2 * max(sa, sb)
        f = INTEGER[policy][0]
        x = f((a - za) << left, *derive(f64(sa / t)))
        y = f((b - zb) << left, *derive(f64(sb / t)))
        out = f(x + y, *derive(f64(t / f64(2**left * sc))))
        return limit(out + zc, lo, hi)
    return run


def add_pair(top, mode):
    def run(a, b, sa, za, sb, zb, sc, zc, lo, hi):
        ra, rb = f32(sa / sc), f32(sb / sc)
        n = top - ilog2(max(ra, rb))
        v = (a - za) * round(ra * 2**n) + (b - zb) * round(rb * 2**n)
        return limit(sat(sat(shr(v, n, mode), 16) + zc, 16), lo, hi)
    return run


def add_ort(fused):
    def run(a, b, sa, za, sb, zb, sc, zc, lo, hi):
        ra, rb = f32(sa / sc), f32(sb / sc)
        t = f32(zc - f32(f32(ra * za) + f32(rb * zb)))
        for x, k in ((a, ra), (b, rb)):
            t = f32(t + (x * k if fused else f32(x * k)))
        return limit(round(t), lo, hi)
    return run


def add_literal(zero_inside):
    def run(a, b, sa, za, sb, zb, sc, zc, lo, hi):
        t = f32(f32(dequantized(a, sa, za) + dequantized(b, sb, zb)) / sc)
        if zero_inside:
            return round(f32(limit(t, F(lo - zc), F(hi - zc)) + zc))
        return limit(round(t) + zc, lo, hi)
    return run


ADD = {
    "tflite_l20": add_tflite(20, "q31_double"),
    "tflite_l20_single": add_tflite(20, "q31_single"),
    "xnn": add_pair(20, "half_up"),
    "ort_neon": add_pair(21, "half_away"),
    "ort_fma": add_ort(True),
    "ort_sse": add_ort(False),
    "ort_plain": add_literal(True),
    "dq_q": add_literal(False),
}


def mul_form(name):
    def run(a, b, sa, za, sb, zb, sc, zc, lo, hi):
        p, k = (a - za) * (b - zb), f32(f32(sa * sb) / sc)
        if name == "fp32_rne_zpin_fma":
            return limit(round(f32(p * k + zc)), lo, hi)
        if name in ("fp32_rne", "fp32_rne_zpin"):
            return float_policy(name, p, k, zc, lo, hi)
        if name == "q31_double_f64":
            k = f64(f64(sa * sb) / sc)
        policy = "q31_single" if name == "q31_single_m24" else "q31_double"
        return integer_policy(policy, p, *derive(k), zc, lo, hi)
    return run


MUL = {n: mul_form(n) for n in (
    "tflite_q31_double", "q31_double_f64", "q31_single_m24", "fp32_rne",
    "fp32_rne_zpin", "fp32_rne_zpin_fma")}


def zero_in(r, lo, hi):
    return r.choice((lo, hi, (lo + hi + 1) // 2, r.randint(lo, hi)))


def binary_rows(r, forms, settings):
    for i in range(settings):
        lo, hi = ((-128, 127), (0, 255))[i % 2]
        sa, sb = scale32(r, -5, -1), scale32(r, -5, -1)
        if forms is MUL:
            sc = f32(sa * sb * F(r.randint(20, 150)))
        else:
            sc = f32((sa + sb) * F(r.randint(30, 120), 100))
        z = [zero_in(r, lo, hi) for _ in range(3)]
        for _ in range(13):
            a, b = r.randint(lo, hi), r.randint(lo, hi)
            for name, form in forms.items():
                yield (name, a, b, bits32(sa), z[0], bits32(sb), z[1],
                       bits32(sc), z[2], lo, hi,
                       form(a, b, sa, z[0], sb, z[1], sc, z[2], lo, hi))
    if forms is MUL:
        return
    l15 = add_tflite(15, "q31_double")
    for _ in range(8):
        s = [scale32(r, -10, -7) for _ in range(3)]
        for _ in range(13):
            a, b = r.randint(-32768, 32767), r.randint(-32768, 32767)
            yield ("tflite_l15", a, b, bits32(s[0]), 0, bits32(s[1]), 0,
                   bits32(s[2]), 0, -32768, 32767,
                   l15(a, b, s[0], 0, s[1], 0, s[2], 0, -32768, 32767))


def rescale(name, q, si, zi, so, zo, lo, hi):
    k = f32(si / so)
    if name == "dq_q":
        return limit(round(f32(dequantized(q, si, zi) / so)) + zo, lo, hi)
    if name == "q8_half_up":
        return limit(shr((q - zi) * round(256 * k), 8, "half_up") + zo, lo, hi)
    if name == "fp32_rne":
        return float_policy(name, q - zi, k, zo, lo, hi)
    return integer_policy(name, q - zi, *derive(f64(si / so)), zo, lo, hi)


def rescale_rows(r):
    for i in range(12):
        lo, hi = ((-128, 127), (0, 255))[i % 2]
        si = scale32(r)
        so = f32(si * F(r.randint(40, 250), 100))
        zi, zo = zero_in(r, lo, hi), zero_in(r, lo, hi)
        for q in r.sample(range(lo, hi + 1), 29):
            for name in ("q31_double", "q31_single", "q8_half_up", "fp32_rne",
                         "dq_q"):
                yield (name, q, bits32(si), zi, bits32(so), zo, lo, hi,
                       rescale(name, q, si, zi, so, zo, lo, hi))


def quantize(mode, x, s, zp, lo, hi):
    v = f32(x * f32(1 / s)) if mode == "recip_half_even" else f32(x / s)
    if mode == "zpin_half_even":
        return limit(round(f32(v + zp)), lo, hi)
    if mode == "legacy_floor05":
        return limit(math.floor(f32(v + HALF)) + zp, lo, hi)
    rounding = "half_even" if mode == "recip_half_even" else mode
    return limit(MODES[rounding](v) + zp, lo, hi)


def quantize_rows(r):
    modes = ("half_even", "half_away", "legacy_floor05", "recip_half_even",
             "zpin_half_even", "trunc")
    for i in range(10):
        zp, lo, hi = RANGES[i % 4]
        s = r.choice((scale32(r), F(1, 4), f32(F(1, 255))))
        xs = [F(0), f32(F(10) ** 30), f32(-F(10) ** 30), F(2) ** -149]
        for _ in range(12):
            tie = f32((r.randint(-140, 260) + HALF) * s)
            xs += [tie, f32(F(r.randint(-99999, 99999), 300) * s)]
            if tie:
                sign = 1 if tie > 0 else -1
                xs += [sign * step32(abs(tie), d) for d in (-1, 1)]
        for x in xs:
            for mode in modes:
                yield (mode, bits32(x), bits32(s), zp, lo, hi,
                       quantize(mode, x, s, zp, lo, hi))


def dequantize_rows(r):
    for _ in range(10):
        s, zp = scale32(r), r.choice((0, -3, 128, r.randint(-128, 255)))
        for q in [-32768, 32767, -128, 0, 255] + \
                [r.randint(-32768, 32767) for _ in range(16)]:
            yield q, bits32(s), zp, bits32(dequantized(q, s, zp))


def average(mode, cells, si, zi, so, zo, lo, hi):
    n, centred = len(cells), sum(cells) - len(cells) * zi
    if mode.startswith("div_"):
        return limit(MODES[mode[4:]](F(sum(cells), n)), lo, hi)
    if mode.startswith("divc_"):
        return limit(MODES[mode[5:]](F(centred, n)) + zi, lo, hi)
    if mode == "f32_seq_zpin":
        t = F(0)
        for q in cells:
            t = f32(t + dequantized(q, si, zi))
        return limit(round(f32(f32(f32(t / n) / so) + zo)), lo, hi)
    if mode == "q31_double":
        return integer_policy(mode, centred, *derive(f64(f64(si / so) / n)),
                              zo, lo, hi)
    k = f32(si / f32(so * n)) if mode == "f32_sum_scale" \
        else f32(f32(si / n) / so)
    return float_policy("fp32_rne", centred, k, zo, lo, hi)


def avgpool_rows(r):
    same = ("div_half_away", "div_half_up", "div_half_even", "div_trunc",
            "div_floor", "divc_half_away", "divc_half_up")
    any_scale = ("f32_seq_zpin", "f32_sum_scale", "f32_sum_scale2",
                 "q31_double")
    for i in range(24):
        lo, hi = ((-128, 127), (0, 255))[i % 2]
        si, so = scale32(r), scale32(r)
        zi, zo = zero_in(r, lo, hi), zero_in(r, lo, hi)
        n = r.choice((1, 2, 3, 4, 6, 9, 16, 49))
        spread = r.choice((3, 20, 255))
        for _ in range(11):
            mid = r.randint(lo, hi)
            cells = [limit(mid + r.randint(-spread, spread), lo, hi)
                     for _ in range(n)]
            for mode in same + any_scale:
                s2, z2 = (si, zi) if mode in same else (so, zo)
                yield (mode, " ".join(map(str, cells)), n, bits32(si), zi,
                       bits32(s2), z2, lo, hi,
                       average(mode, cells, si, zi, s2, z2, lo, hi))


# ---- softmax ----------------------------------------------------------------
def exact(d):
    return F(*d.as_integer_ratio())


def to_decimal(q):
    return decimal.Decimal(q.numerator) / decimal.Decimal(q.denominator)


def softmax_table(scale, cols):
    largest = f32((F(2) - F(2) ** -23) * F(2) ** 127)
    room = f32(exact(to_decimal(f32(largest / cols)).ln())) - 5
    shift = f64(max(F(0), room) / scale)
    entries = []
    for i in range(256):
        arg = f64(f64(i - 255 + shift) * scale)
        entries.append(f32(f64(exact(to_decimal(arg).exp()))))
    return entries


def softmax(row, table, sy, zy, lo, hi):
    e = [table[255 - max(row) + q] for q in row]
    total, factor = F(0), math.floor(f32(1 / sy))
    for x in e:
        total = f32(total + x)
    return [limit(round(f64(x * factor / total)) + zy, lo, hi) for x in e]


def softmax_rows(r):
    for i in range(24):
        name, lo, hi = (("int8", -128, 127), ("uint8", 0, 255))[i % 2]
        cols, sx = r.choice((1, 2, 3, 10, 40)), scale32(r, -7, -1)
        sy = f32(F(1, r.choice((127, 128, 255, 256, 333))))
        zy = r.choice((lo, 0, r.randint(lo, hi)))
        table = softmax_table(sx, cols)
        for _ in range(6):
            row = [r.randint(lo, lo + r.choice((3, 30, 255)))
                   for _ in range(cols)]
            out = softmax(row, table, sy, zy, lo, hi)
            yield (name, cols, " ".join(map(str, row)), bits32(sx),
                   bits32(sy), zy, " ".join(map(str, out)))


FILES = {
    "requant.csv": ("policy acc mult shift scale_bits zp qmin qmax expected "
                    "tag", requant_rows),
    "requant_hbm.csv": ("acc bias bias_add pre_shift pre_round mid_bits mult "
                        "post_shift post_round zp qmin qmax expected tag",
                        hbm_rows),
    "shift_round.csv": ("mode x n expected", shift_rows),
    "multiplier.csv": ("scale_f64_bits mult shift", multiplier_rows),
    "add.csv": ("mode a b sa_bits za sb_bits zb sc_bits zc qmin qmax expected",
                lambda r: binary_rows(r, ADD, 16)),
    "mul.csv": ("mode a b sa_bits za sb_bits zb sc_bits zc qmin qmax expected",
                lambda r: binary_rows(r, MUL, 14)),
    "avgpool.csv": ("mode values count si_bits zi so_bits zo qmin qmax "
                    "expected", avgpool_rows),
    "quantize.csv": ("mode x_bits scale_bits zp qmin qmax expected",
                     quantize_rows),
    "dequantize.csv": ("q scale_bits zp expected_bits", dequantize_rows),
    "rescale.csv": ("mode q si_bits zi so_bits zo qmin qmax expected",
                    rescale_rows),
    "softmax.csv": ("dtype count values sx_bits sy_bits zy expected",
                    softmax_rows),
    "image.csv": ("op in0 in1 in2 out0 out1 out2", image_rows),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("outdir")
    args = parser.parse_args()
    decimal.getcontext().prec = 60
    os.makedirs(args.outdir, exist_ok=True)
    for name, (header, rows) in FILES.items():
        source = random.Random("%s %d" % (name, args.seed))
        path = os.path.join(args.outdir, name)
        with open(path, "w", newline="", encoding="ascii") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(header.split())
            writer.writerows(rows(source))


if __name__ == "__main__":
    main()
