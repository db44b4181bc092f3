# SPDX-License-Identifier: Apache-2.0
"""What the built-in slices of the self-test have to give, without our code.

selftest_goldens.py            prints lib/engine/selftest.def
selftest_goldens.py --check F  exit 1 when F differs

Python's own integers and fractions, from the formulas of docs/numerics.md:
loops over indices, no packing, no tiles, no programs that are matched. Numbers
are drawn as lib/engine/selftest_slices.c draws them, in the same order.
"""

import hashlib
import math
import struct
import sys
from fractions import Fraction as Q

MASK = (1 << 64) - 1
HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Written by tests/support/selftest_goldens.py, which computes these digests
 * without the kernels. ASSAY_SELFTEST_SLICE(name, coarse, digest),
 * ASSAY_SELFTEST_PROGRAM(name, digest).
 */
"""


class Draw:
    """The generator: FNV-1a of the name, then a linear congruence."""

    def __init__(self, name, number):
        h = 0xcbf29ce484222325
        for c in name.encode():
            h = (h ^ c) * 0x100000001b3 & MASK
        self.state = h ^ number * 0x9e3779b97f4a7c15 & MASK

    def next(self, lo, hi):
        self.state = (self.state * 6364136223846793005 +
                      1442695040888963407) & MASK
        return lo + (self.state >> 33) % (hi - lo + 1)


class Case:
    def __init__(self, name):
        self.name, self.draws = name, 0

    def ints(self, n, lo, hi):
        d = Draw(self.name, self.draws)
        self.draws += 1
        return [d.next(lo, hi) for _ in range(n)]


# ---- numbers -----------------------------------------------------------------

def narrow(q, bits):
    """A fraction to the nearest number of `bits` bits, ties to even."""
    if q == 0:
        return Q(0)
    e = 0
    a = abs(q)
    while a >= 1 << bits:
        a /= 2
        e += 1
    while a < 1 << bits - 1:
        a *= 2
        e -= 1
    return Q(round(a)) * Q(2) ** e * (1 if q > 0 else -1)


def f32(q):
    return narrow(Q(q), 24)


def f64(q):
    return narrow(Q(q), 53)


def half_even(q):
    return round(q)


def half_up(q):
    return math.floor(q + Q(1, 2))


def half_away(q):
    return int(math.copysign(1, q)) * math.floor(abs(q) + Q(1, 2))


def shr(v, n, rounding=math.floor):
    return rounding(Q(v, 1 << n))


def clamp(v, lo, hi):
    return min(max(v, lo), hi)


def sat(v, bits):
    return clamp(v, -(1 << bits - 1), (1 << bits - 1) - 1)


def wrap(v, bits):
    v &= (1 << bits) - 1
    return v - (1 << bits) if v >> bits - 1 else v


def srdhm(v, a):
    return sat((v * a + (1 << 30)) >> 31, 32)


def sdmulh(v, a):
    return sat((v * a) >> 31, 32)


# ---- the three ways to requantize ----------------------------------------------

def by_float(case, channels, down, lo, hi):
    scale = [Q(v, 1 << down) for v in case.ints(channels, 1, 9)]
    return lambda v, c: half_even(
        clamp(f32(f32(v) * scale[c % channels]), Q(lo), Q(hi)))


def by_fixed(case, channels, shift, rounding, zero, lo, hi):
    m = case.ints(channels, 1 << 30, (1 << 31) - 1)
    return lambda v, c: clamp(
        shr(srdhm(v, m[c % channels]), shift, rounding) + zero, lo, hi)


def by_shift(case, channels, shift, rounding, bits):
    m = case.ints(channels, 1, 127)
    return lambda v, c: sat(shr(v * m[c % channels], shift, rounding), bits)


# ---- what slices are made of ----------------------------------------------------

def count(dims):
    return math.prod(dims)


def conv(case, x, w, b, y, requant, x_zero=0, w_zero=0, stride=1, pad=1,
         groups=1):
    (xlo, xhi, (_, h, wd, c)), (wlo, whi, (oc, kh, kw, gc)) = x, w
    xs = case.ints(h * wd * c, xlo, xhi)
    ws = case.ints(oc * kh * kw * gc, wlo, whi)
    bias = case.ints(oc, *b)
    end = requant(case)
    out = []
    for i in range(y[1] * y[2] * oc):
        oy, ox, o = i // oc // y[2], i // oc % y[2], i % oc
        first = o // (oc // groups) * gc
        acc = bias[o]
        for ky in range(kh):
            for kx in range(kw):
                iy, ix = oy * stride - pad + ky, ox * stride - pad + kx
                if not (0 <= iy < h and 0 <= ix < wd):
                    continue
                for k in range(gc):
                    acc += ((xs[(iy * wd + ix) * c + first + k] - x_zero) *
                            (ws[((o * kh + ky) * kw + kx) * gc + k] - w_zero))
        out.append(end(acc, o))
    return out


def conv_float(case):
    return "b", conv(case, (-20, 21, (1, 7, 6, 19)), (-8, 7, (21, 3, 3, 19)),
                     (-300, 300), (1, 7, 6, 21),
                     lambda k: by_float(k, 21, 5, -128, 127), x_zero=3)


def conv_fixed(case):
    return "B", conv(case, (0, 255, (1, 8, 9, 13)), (0, 255, (10, 3, 3, 13)),
                     (-9000, 9000), (1, 4, 5, 10),
                     lambda k: by_fixed(k, 10, 9, half_up, 128, 0, 255),
                     x_zero=128, w_zero=121, stride=2)


def conv_wide(case):
    return "h", conv(case, (-2000, 2000, (1, 5, 6, 9)),
                     (-25, 25, (11, 3, 3, 9)), (-9000, 9000), (1, 5, 6, 11),
                     lambda k: by_shift(k, 11, 9, half_up, 16))


def depthwise_float(case):
    return "b", conv(case, (100, 160, (1, 6, 7, 21)), (-9, 9, (21, 3, 3, 1)),
                     (-60, 60), (1, 6, 7, 21),
                     lambda k: by_float(k, 21, 4, -128, 127), x_zero=128,
                     groups=21)


def depthwise_shift(case):
    return "b", conv(case, (-128, 127, (1, 9, 9, 18)),
                     (-127, 127, (18, 5, 5, 1)), (-900, 900), (1, 5, 5, 18),
                     lambda k: by_shift(k, 18, 14, half_even, 8), stride=2,
                     pad=2, groups=18)


def depthwise_wide(case):
    return "h", conv(case, (-32768, 32767, (1, 5, 5, 17)),
                     (-127, 127, (17, 3, 3, 1)), (-900, 900), (1, 5, 5, 17),
                     lambda k: by_shift(k, 17, 14, math.floor, 16), groups=17)


def gemm(case):
    x, w = case.ints(9 * 40, -128, 127), case.ints(13 * 40, -128, 127)
    bias = case.ints(13, -5000, 5000)
    end = by_float(case, 13, 12, -128, 127)
    return "b", [end(bias[o] + sum(x[r * 40 + k] * w[o * 40 + k]
                                   for k in range(40)), o)
                 for r in range(9) for o in range(13)]


def unary_float(case):
    x = case.ints(5 * 7 * 19, -700, 700)
    end = by_float(case, 19, 4, -128, 127)
    return "b", [end(v, i % 19) for i, v in enumerate(x)]


def unary_fixed(case):
    x = case.ints(5 * 5 * 18, -90000, 90000)
    end = by_fixed(case, 18, 9, half_away, 117, 0, 255)
    return "B", [end(v, i % 18) for i, v in enumerate(x)]


def add_float(case):
    a, b = (case.ints(4 * 5 * 37, -128, 127) for _ in range(2))
    sa, sb = (Q(case.ints(1, 20, 90)[0], 64) for _ in range(2))
    return "b", [half_even(clamp(f32(f32(x * sa) + f32(y * sb)), -128, 127))
                 for x, y in zip(a, b)]


def multiply(case):
    a, b = case.ints(4 * 5 * 33, -128, 127), case.ints(33, -128, 127)
    end = by_shift(case, 1, 13, half_away, 8)
    return "b", [end(v * b[i % 33], 0) for i, v in enumerate(a)]


def lookup(case):
    x, table = case.ints(3 * 5 * 23, -128, 127), case.ints(256, -128, 127)
    return "b", [table[v + 128] for v in x]


def segment_table(case):
    x = case.ints(4 * 5 * 21, -32768, 32767)
    table = case.ints(6 * 64, -30000, 30000)
    case.ints(40, 0, 0)
    bounds = [-24576, -16384, -8192, 0, 8192, 16384, 24576, 32767]
    out = []
    for v in x:
        s = next((k for k in range(7) if v <= bounds[k]), 7)
        if s in (0, 7):
            out.append(sat(shr(v * 3 + -70 * (s + 1) * 16, 2, half_up), 16))
            continue
        at = clamp(2 * v - 2 * bounds[s - 1], 0, 64 * 256 - 1)
        part = table[(s - 1) * 64:s * 64]
        i, f = at // 256, at % 256
        right = part[min(i + 1, 63)]
        out.append(shr(part[i] * (256 - f) + right * f, 8, half_even))
    return "h", out


def choose(case):
    n = 4 * 5 * 17
    c, a = case.ints(n, 0, 1), case.ints(n, -9, 9)
    b = case.ints(17, 50, 99)
    return "h", [a[i] if c[i] else b[i % 17] for i in range(n)]


def windows(h, w, c, oh, ow, k, stride, pad):
    """For each output element: indices of the cells inside the image."""
    for i in range(oh * ow * c):
        oy, ox, ch = i // c // ow, i // c % ow, i % c
        yield [((oy * stride - pad + ky) * w + ox * stride - pad + kx) * c + ch
               for ky in range(k) for kx in range(k)
               if 0 <= oy * stride - pad + ky < h and
               0 <= ox * stride - pad + kx < w]


def pool_max(case):
    x = case.ints(7 * 8 * 35, -128, 127)
    return "b", [max(x[i] for i in cells)
                 for cells in windows(7, 8, 35, 4, 4, 3, 2, 1)]


def pool_average(case):
    x = case.ints(7 * 8 * 35, 0, 255)
    end = by_fixed(case, 1, 3, half_even, 100, 0, 255)
    return "B", [end(sum(x[i] - 100 for i in cells), 0)
                 for cells in windows(7, 8, 35, 4, 4, 3, 2, 1)]


def view(case):
    x = case.ints(9 * 11, -999, 999)
    return "h", [x[row * 11 + col] for col in range(11)
                 for row in (8, 6, 4, 2, 0)]


def reduce(case):
    x = case.ints(3 * 5 * 7 * 9, -128, 127)

    def at(n, i, j, c):
        return x[((n * 5 + i) * 7 + j) * 9 + c]
    sums = [sum(at(n, i, j, c) for i in range(5) for j in range(7))
            for n in range(3) for c in range(9)]
    places = []
    for row in range(3 * 5 * 7):
        part = x[row * 9:row * 9 + 9]
        places.append(part.index(max(part)))
    return "i", sums + places


def resize(case):
    h, w, c = 5, 6, 7
    x = case.ints(h * w * c, -128, 127)

    def taps(i, step, start, size):
        q = (i * step + start) >> 8
        cell, f = q >> 8, q & 255
        return [(clamp(cell, 0, size - 1), 256 - f),
                (clamp(cell + 1, 0, size - 1), f)]
    out = []
    for oy in range(8):
        for ox in range(9):
            for ch in range(c):
                acc = 0
                for iy, wy in taps(oy, 40000, -9000, h):
                    mix = sum(x[(iy * w + ix) * c + ch] * wx
                              for ix, wx in taps(ox, 43000, 7000, w))
                    acc += (mix >> 4) * wy
                out.append(sat(shr(acc, 12, half_up), 8))
    return "b", out


def grid_sample(case):
    h, w, c = 6, 7, 5
    x, grid = case.ints(h * w * c, -128, 127), case.ints(h * w * 2, -700, 700)
    out = []
    for i in range(h * w):
        py = i // w * 256 + grid[2 * i]
        px = i % w * 256 + grid[2 * i + 1]
        for ch in range(c):
            acc = 0
            for dy in range(2):
                for dx in range(2):
                    iy, ix = (py >> 8) + dy, (px >> 8) + dx
                    if not (0 <= iy < h and 0 <= ix < w):
                        continue
                    wy = py & 255 if dy else 256 - (py & 255)
                    wx = px & 255 if dx else 256 - (px & 255)
                    acc += x[(iy * w + ix) * c + ch] * wy * wx
            out.append(sat(shr(acc, 16, half_even), 8))
    return "b", out


def softmax(case):
    x = case.ints(5 * 17, -128, 127)
    table = [Q(v, 256) for v in case.ints(256, 1, 60000)]
    out = []
    for r in range(5):
        row = x[r * 17:r * 17 + 17]
        e = [table[255 - (max(row) - v)] for v in row]
        total = Q(0)
        for v in e:
            total = f32(total + v)
        out += [min(half_even(f64(v * 256 / total)) - 128, 127) for v in e]
    return "b", out


# ---- float C: compared without the last 8 bits -----------------------------------

def coarse(x):
    """Bits of binary32 without the last 8; what lies near the middle between
    two of them would depend on the C library, and is not drawn."""
    bits, = struct.unpack("<I", struct.pack("<f", x))
    assert abs((bits & 255) - 128) > 3, "draw other numbers"
    return (bits + 128) & 0xffffff00


def function(case):
    x = [v / 64 for v in case.ints(7, 20, 190)]
    functions = [
        abs, lambda v: -v, math.floor, math.ceil, math.sqrt,
        lambda v: 1 / math.sqrt(v), lambda v: 1 / v, math.exp, math.log,
        lambda v: 1 / (1 + math.exp(-v)), math.tanh, math.erf,
        lambda v: v / 2 * (1 + math.erf(v / math.sqrt(2))),
        lambda v: v / (1 + math.exp(-v)), lambda v: math.log1p(math.exp(v)),
        math.sin, math.cos]
    return "I", [coarse(f(v)) for f in functions for v in x]


def normalize(case):
    x = [v / 64 for v in case.ints(3 * 11, -300, 300)]
    gamma, beta = ([v / 64 for v in case.ints(11, *r)]
                   for r in ((20, 90), (200, 400)))
    out = []
    for is_layer in (True, False):
        for r in range(3):
            row = x[r * 11:r * 11 + 11]
            mean = math.fsum(row) / 11 if is_layer else 0
            square = math.fsum((v - mean) ** 2 for v in row) / 11
            root = math.sqrt(square + 2.0 ** -10)
            out += [coarse((v - mean) / root * g + (b if is_layer else 0))
                    for v, g, b in zip(row, gamma, beta)]
    return "I", out


# ---- the step interpreter ----------------------------------------------------------

def program():
    name = "program"
    d = Draw(name, 0)
    per = [d.next(-3000, 3000) for _ in range(7)]
    m = 0x5a000001

    def integers(v, c):
        v = sat(v + per[c], 32)
        v = wrap(v << 3, 32)
        v = shr(srdhm(v, m), 3, half_even)
        v = sdmulh(v, m) * per[c]
        v = shr(sat(shr(v, 10, half_away), 24), 5) + 10
        return clamp(v, -32000, 31000)

    def single(v, _):
        v = f32(f32(f32(v) * Q(7, 16)) - 3)
        v = f32(f32(v / 7) * Q(7, 16) - 3)
        return half_even(clamp(v, Q(-241, 2), Q(119)))

    def double(v, _):
        v = f64(f64(v * Q(0.1)) / 3)
        return half_up(f64(v - Q(9, 4)))
    out = []
    for number, steps in enumerate((integers, single, double)):
        d = Draw(name, number + 1)
        out += [steps(d.next(-2000, 2000), (i + 2) % 7) for i in range(61)]
    return "q", out


SLICES = [conv_float, conv_fixed, conv_wide, depthwise_float, depthwise_shift,
          depthwise_wide, gemm, unary_float, unary_fixed, add_float, multiply,
          pool_max, pool_average, view, lookup, segment_table, reduce, resize,
          grid_sample, softmax, choose, function, normalize]
COARSE = (function, normalize)


def digest(kind, values):
    data = struct.pack("<%d%s" % (len(values), kind), *values)
    return hashlib.sha256(data).hexdigest()[:32]


def main():
    text = HEAD
    for make in SLICES:
        # Nothing that always saturates or never differs proves anything.
        kind, values = make(Case(make.__name__))
        assert len(set(values)) > 5 or make is choose
        text += 'ASSAY_SELFTEST_SLICE(%s, %s,\n    "%s")\n' % (
            make.__name__, "true" if make in COARSE else "false",
            digest(kind, values))
    text += 'ASSAY_SELFTEST_PROGRAM(program,\n    "%s")\n' % digest(*program())
    if sys.argv[1:2] != ["--check"]:
        sys.stdout.write(text)
    elif open(sys.argv[2], encoding="utf-8").read() != text:
        sys.exit("%s is not what the script writes" % sys.argv[2])


main()
