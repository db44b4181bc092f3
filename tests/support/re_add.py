#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up what `assay explain` prints, by itself, and compares with the golden.

re_add.py ASSAY N SEED CASE...: N random elements of each case's layers, each
explained with -v, so that every product and cell is there. CASE: a folder, or
MODEL:INPUTS[:REFERENCE], and options: "FOLDER --numerics FILE". Shares no code with assay: numbers come from the
printed text alone, binary32 from struct. Prints the first line of each element
that does not follow from those above it, then "N elements re-added, M of them
without a calculation, W wrong", and exits with 1 unless M and W are 0.
"""
import fractions
import math
import random
import re
import struct
import subprocess
import sys


def f32(x):
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def shift(v, n, how):
    if n <= 0:
        return v << -n
    low, rest, half = v >> n, v & ((1 << n) - 1), 1 << (n - 1)
    return {
        "floor": low, "ceil": low + (rest > 0), "trunc": low + (v < 0 < rest),
        "half_up": low + (rest >= half), "half_down": low + (rest > half),
        "half_even": low + (rest > half or (rest == half and low & 1)),
        "half_away": low + (rest > half or (rest == half and v >= 0)),
        "half_zero": low + (rest > half or (rest == half and v < 0)),
    }[how]


def to_int(v, how):
    if how == "add_half":
        return math.trunc(f32(v + math.copysign(0.5, v)))
    low = math.floor(v)
    rest = v - low
    return {
        "floor": low, "ceil": math.ceil(v), "trunc": math.trunc(v),
        "half_up": low + (rest >= 0.5),
        "half_even": low + (rest > 0.5 or (rest == 0.5 and low & 1)),
        "half_away": low + (rest > 0.5 or (rest == 0.5 and v >= 0)),
    }[how]


def wrap(v, bits):
    v &= (1 << bits) - 1
    return v - (1 << bits) if v >> (bits - 1) else v


def sat(v, bits):
    return max(-(1 << (bits - 1)), min((1 << (bits - 1)) - 1, v))


def high(a, b, rounds):
    return sat((a * b + ((1 << 30) if rounds else 0)) >> 31, 32)


def number(text):
    """An integer, or a binary32 or binary64 as it was printed: enough digits
    to find it again."""
    if not re.search(r"[.eni]", text):
        return int(text)
    digits = len(re.sub(r"e.*|[^\d]", "", text).lstrip("0"))
    return float(text) if digits > 9 else f32(float(text))


def exact(v):
    """A product or sum that is rounded once."""
    return fractions.Fraction(v)


def step(words, v, wide):
    """The value behind one printed step; None: it is no step."""
    keep = float if wide else f32
    a = [number(w) for w in words[1:] if re.match(r"-?[\d.]", w) or
         w in ("inf", "-inf", "nan")]
    how = words[-1]
    if words[0] == "add":
        return v + a[0]
    if words[0] == "shl":
        return v << a[0]
    if words[0] == "shr":
        return shift(v, a[0], how)
    if words[0] == "mul":
        return v * a[0]
    if words[0] in ("srdhm", "sdmulh"):
        return high(v, a[0], words[0] == "srdhm")
    if words[0] == "add_input":  # add_input SHIFT SCALE ROUND of E
        return v + shift(a[2], a[0], words[3]) * a[1]
    if words[0] == "add_scaled":
        return v + shift(a[2] * a[1], a[0], words[3])
    if words[0] == "sat":
        return sat(v, a[0])
    if words[0] == "wrap":
        return wrap(v, a[0])
    if words[0] == "add_zp":
        return v + a[0]
    if words[0] == "clamp":
        return min(max(v, a[0]), a[1])
    if words[0] in ("to_f32", "to_f64"):
        return keep(v)
    if words[0] == "fmul":
        return keep(v * keep(float(a[0])))
    if words[0] == "fdiv":
        return keep(v / keep(float(a[0])))
    if words[0] == "fadd":
        return keep(v + keep(float(a[0])))
    if words[0] == "ffma":
        return once(exact(keep(v)) * exact(keep(float(a[0]))) +
                    exact(keep(float(a[1]))), wide)
    if words[0] == "fclamp":
        return min(max(v, float(a[0])), float(a[1]))
    if words[0] == "fround":
        return to_int(v, how)
    return None


def once(exactly, wide):
    """To the nearest binary32 (binary64), ties to even; no denormals here."""
    if exactly == 0:
        return 0.0
    bits = 53 if wide else 24
    e = math.floor(math.log2(abs(exactly))) + 1
    while abs(exactly) >= fractions.Fraction(2) ** e:
        e += 1
    while abs(exactly) < fractions.Fraction(2) ** (e - 1):
        e -= 1
    unit = fractions.Fraction(2) ** (e - bits)
    return float(round(exactly / unit) * unit)


class Wrong(Exception):
    pass


def close(a, b, tolerance=1e-8):
    return a == b or (math.isnan(a) and math.isnan(b)) or (
        isinstance(b, float) and abs(a - b) <= abs(b) * tolerance)


def sequential(cells):
    total = 0.0
    for c in cells:
        total = f32(total + c)
    return total


FUNCTIONS = {
    "abs": abs, "neg": lambda x: -x, "floor": math.floor, "ceil": math.ceil,
    "sqrt": math.sqrt, "rsqrt": lambda x: 1 / math.sqrt(x),
    "reciprocal": lambda x: 1 / x, "exp": math.exp, "log": math.log,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)), "tanh": math.tanh,
    "erf": math.erf, "sin": math.sin, "cos": math.cos,
    "gelu": lambda x: 0.5 * x * (1 + math.erf(x * math.sqrt(0.5))),
    "silu": lambda x: x / (1 + math.exp(-x)),
    "softplus": lambda x: max(x, 0) + math.log1p(math.exp(-abs(x))),
}


class Sheet:
    """Follows the lines. Each handler gets the words of a line, the line and
    the value printed behind it, and gives what the value must be, or None
    where it is read from a tensor."""

    def __init__(self):
        self.v = None        # the last value of the calculation
        self.taps = 0        # sum of products
        self.cells = []      # of a window or a row
        self.parts = []      # cells that were made binary32, rows, entries
        self.operands = []
        self.wide = False
        self.kept = {}       # numbers that later lines use by name
        self.tolerance = 1e-8

    def tap(self, words, line, value):
        x, w = re.search(r"\(([^)]*)\) \* \(([^)]*)\)", line).groups()
        made = eval_sum(x) * eval_sum(w)
        self.taps += made
        return made

    def cell(self, words, line, value):
        self.cells.append(value)

    def dequantized(self, words, line, value):
        self.parts.append(value)

    def part(self, words, line, value):
        self.parts.append(value)

    def sum(self, words, line, value):
        text = " ".join(words)
        if " taps" in text:
            self.v = self.taps
        elif "rows" in words:
            self.v = sum(self.parts)
        elif "exp(x" in words:
            top = max(self.cells)
            self.v = self.kept["sum"] = sum(math.exp(c - top)
                                            for c in self.cells)
            self.tolerance = 1e-5
        elif "table[255" in words:
            self.v = self.kept["sum"] = sequential(self.parts)
        elif "dequantized," in words:
            self.v = sequential(self.parts)
        elif "binary32" in words:
            self.v = sequential(self.cells)
        else:
            less = re.search(r"less (-?\d+) each", text)
            self.v = sum(self.cells) - (
                int(less.group(1)) * len(self.cells) if less else 0)
        if words[1:2] == ["of"] and words[2].isdigit():
            assert int(words[2]) == len(self.cells), line
        return self.v

    def bias(self, words, line, value):
        self.v += value

    def acc(self, words, line, value):
        if "(32" in words:
            self.v = wrap(self.v, 32)
        return self.v

    def element(self, words, line, value):
        self.operands.append(value)
        self.v = value

    def table(self, words, line, value):
        self.v = value

    def largest(self, words, line, value):
        self.v = self.kept["largest"] = max(self.cells)
        return self.v

    def smallest(self, words, line, value):
        self.v = min(self.cells)
        return self.v

    def place(self, words, line, value):
        self.v = self.cells.index(max(self.cells))
        return self.v

    def divide(self, words, line, value):
        n, how = int(words[1]), words[2]
        if how == "in":
            self.v = f32(f32(self.v) / n)
        else:
            low, rest = divmod(self.v, n)
            self.v = low + {
                "floor": 0, "trunc": self.v < 0 < rest,
                "half_up": 2 * rest >= n,
                "half_even": 2 * rest > n or (2 * rest == n and low & 1),
                "half_away": 2 * rest > n or (2 * rest == n and self.v >= 0),
            }[how]
        return self.v

    # Tables in segments.

    def segment(self, words, line, value):
        if "behind" not in line:
            self.kept["bound"] = value

    def its(self, words, line, value):
        if words[1] == "own":
            self.kept["own"] = value
            assert value in self.parts, line
            return None
        assert self.v == value and value <= self.kept.get("bound", value), line
        return self.v

    def negated(self, words, line, value):
        self.v = sat(-self.v, 16)
        return self.v

    def entry(self, words, line, value):
        at = self.v >> 8
        assert int(words[1]) in (at, min(at + 1, 63)), line
        self.parts.append(value)

    def mix(self, words, line, value):
        a, f, b, g = (int(x) for x in re.findall(r"\((-?\d+)\)", line))
        assert [a, b] == self.parts and g == self.v & 255 == 256 - f, line
        self.v = a * f + b * g
        return self.v

    def what(self, words, line, value):
        return self.v

    # Images between their pixels.

    def coordinate(self, words, line, value):
        m = re.search(r"at \((-?\d+) \* (-?\d+) \+ (-?\d+)\) shr (\d+)", line)
        if m:
            i, step_, start, bits = (int(g) for g in m.groups())
            return (i * step_ + start) >> bits
        m = re.search(r"at (-?\d+) \* (\d+) \+ \((-?\d+)\)", line)
        i, one, offset = (int(g) for g in m.groups())
        if "in the image" in line:
            return max(0, value) if value else value
        return i * one + offset

    def row(self, words, line, value):
        a, b, c, d = (int(x) for x in re.findall(r"\((-?\d+)\)", line))
        bits = int(re.search(r"shr (\d+) floor", line).group(1))
        self.v = (a * b + c * d) >> bits
        return self.v

    def index(self, words, line, value):
        pass

    # In floating point.

    def exp(self, words, line, value):
        self.tolerance = 1e-6
        self.v = math.exp(self.operands[-1] - self.kept["largest"])
        return self.v

    def that(self, words, line, value):
        op, by = words[1], words[2]
        other = self.kept["sum"] if by == "sum" else self.operands[-1]
        before = self.kept.get("norm", self.v)
        self.v = {"/": lambda: before / other, "*": lambda: before * other,
                  "+": lambda: before + other}[op]()
        self.kept["norm"] = self.v
        return self.v

    def floor(self, words, line, value):
        self.kept["scale"] = value
        assert value == math.floor(value), line

    def own(self, words, line, value):
        self.v = self.kept["own"] * self.kept["scale"] / self.kept["sum"]
        self.wide = True
        return self.v

    def mean(self, words, line, value):
        centre = self.kept.get("mean", 0)
        n = len(self.cells)
        if "row" in words:
            self.v = self.kept["mean"] = sum(self.cells) / n
        else:
            self.v = sum((c - centre) ** 2 for c in self.cells) / n
        return self.v

    def sqrt(self, words, line, value):
        epsilon = float(re.search(r"that \+ ([^)]*)\)", line).group(1))
        self.v = self.kept["root"] = math.sqrt(self.v + epsilon)
        return self.v

    def x(self, words, line, value):
        self.v = self.kept["norm"] = (
            (self.operands[-1] - self.kept.get("mean", 0)) / self.kept["root"])
        return self.v

    def function(self, words, line, value):
        self.tolerance = 1e-6
        self.v = FUNCTIONS[words[0][:-4]](self.operands[-1])
        return self.v

    def combine(self, words, line, value):
        self.v = combine(words, self.operands, value)
        return self.v

    def step(self, words, line, value):
        if self.v is None:
            raise Wrong("%s: nothing stands in front of it" % line)
        if words[:1] == ["add"] and words[1].startswith("("):
            m = re.search(r"\((-?\d+) shl (\d+)\)", line)
            self.v += int(m.group(1)) << int(m.group(2))
            return self.v
        if words[0] == "mul" and "row" in self.kept:
            self.parts.append(self.v * int(words[1]))
        self.wide = words[0] == "to_f64" or (
            self.wide and words[0] not in ("to_f32", "fround"))
        self.v = step(words, self.v, self.wide)
        if self.v is None:
            raise Wrong("%s: an unknown line" % line)
        if self.operands:
            self.operands[-1] = self.v
        return self.v


HANDLERS = {
    "tap": Sheet.tap, "cell": Sheet.cell, "dequantized": Sheet.dequantized,
    "part": Sheet.part, "sum": Sheet.sum, "+": Sheet.bias, "acc": Sheet.acc,
    "element": Sheet.element, "largest": Sheet.largest,
    "smallest": Sheet.smallest, "place": Sheet.place, "/": Sheet.divide,
    "segment": Sheet.segment, "its": Sheet.its, "negated,": Sheet.negated,
    "entry": Sheet.entry, "mix": Sheet.mix, "what": Sheet.what,
    "h": Sheet.coordinate, "w": Sheet.coordinate, "row": Sheet.row,
    "index": Sheet.index, "condition,": Sheet.index, "exp(x": Sheet.exp,
    "that": Sheet.that, "floor(1": Sheet.floor, "own": Sheet.own,
    "mean": Sheet.mean, "sqrt(that": Sheet.sqrt, "(x": Sheet.x,
    "a": Sheet.combine, "max(a,": Sheet.combine, "min(a,": Sheet.combine,
    "fma(b,": Sheet.combine,
}


def calculation(lines):
    """Follows the lines; the last value, or None without a calculation."""
    sheet = Sheet()
    for line in lines:
        # What is printed behind the first value are the columns.
        m = re.match(r"(\s+)(\S+(?: \S+)*)  +(-?[\d.]+(?:e[-+]?\d+)?|-?inf|"
                     r"-?nan)(?:   .*)?$", line)
        if not m:
            return None
        words, value = m.group(2).split(), number(m.group(3))
        handler = HANDLERS.get(words[0], Sheet.step)
        if words[0].startswith("table["):
            handler = Sheet.table
        if words[0][-4:] == "(x)," and words[0][:-4] in FUNCTIONS:
            handler = Sheet.function
        if words[0] == "row":
            sheet.kept["row"] = True
        try:
            made = handler(sheet, words, line, value)
        except AssertionError:
            raise Wrong("%s: does not follow" % line)
        if made is not None and not close(made, value, sheet.tolerance):
            raise Wrong("%s: found %r" % (line, made))
    return sheet.v


def eval_sum(text):
    total, sign = 0, 1
    for word in text.split():
        if word == "-":
            sign = -1
        else:
            total += sign * int(word)
            sign = 1
    return total


def combine(words, operands, value):
    a, b = operands[-2:]
    if isinstance(value, float) or isinstance(a, float):
        a, b = float(a), float(b)
        keep = f32
    else:
        keep = int
    if words[0] == "fma(b,":
        k = exact(f32(float(words[1].rstrip(","))))
        return once(exact(f32(b)) * k + exact(f32(a)), False)
    if words[0].startswith("max"):
        return max(a, b)
    if words[0].startswith("min"):
        return min(a, b)
    return {"+": lambda: keep(a + b), "-": lambda: keep(a - b),
            "*": lambda: keep(a * b), "/": lambda: keep(a / b)}[words[1]]()


def layers(assay, case):
    run = subprocess.run([assay, "show", *case], capture_output=True, text=True,
                         timeout=60)
    for line in run.stdout.splitlines()[2:]:
        m = re.search(r" (?:float32|u?int\d+)\s+(scalar|\d+(?:x\d+)*)\s", line)
        if m and not line.rstrip().endswith("skipped"):
            dims = m.group(1)
            yield line.split()[2], ([] if dims == "scalar" else
                                    [int(d) for d in dims.split("x")])


def judge(assay, case, name, at):
    """True: it has a calculation."""
    run = subprocess.run(
        [assay, "explain", *case, "--layer", name, "--at", at, "-v", "-q"],
        capture_output=True, text=True, timeout=60)
    if run.returncode != 0:
        raise Wrong(run.stderr)
    head, *lines = run.stdout.splitlines()
    end = [i for i, l in enumerate(lines) if "   host " in l]
    last = calculation(lines[:end[0] + 1])
    m = re.search(r"   reference (\S+)( \(differs\))?", lines[end[0]])
    if last is None or not m:
        return last is not None
    # A float layer is compared within the tolerance of a run.
    tolerance = 0
    if isinstance(number(m.group(1)), float):
        tolerance = 2 ** -9 if "binary16" in head else 1e-5
    if not close(last, number(m.group(1)), tolerance):
        raise Wrong("the golden is %s, found %r" % (m.group(1), last))
    return True


def arguments(case):
    """What names the case: a folder, or MODEL:INPUTS[:REFERENCE]; behind it,
    parted by blanks, options."""
    case, *options = case.split()
    model, *files = case.split(":")
    if not files:
        return [case] + options
    return ["-m", model] + [w for option, path in zip(("-i", "-r"), files)
                            for w in (option, path)] + options


def main():
    assay, n, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng, done, without, wrong = random.Random(seed), 0, 0, 0
    for case in sys.argv[4:]:
        model, *options = case.split()
        known = list(layers(assay, [model.split(":")[0]] + options))
        for _ in range(n):
            name, dims = rng.choice(known)
            at = ",".join(str(rng.randrange(d)) for d in dims) or "0"
            try:
                without += not judge(assay, arguments(case), name, at)
            except Wrong as e:
                print("%s: %s at %s: %s" % (case, name, at, e))
                wrong += 1
            done += 1
    print("%d elements re-added, %d of them without a calculation, %d wrong" %
          (done, without, wrong))
    return 0 if done > 0 and without == 0 and wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
