#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up what `assay explain` prints, by itself, and compares with the golden.

re_add.py ASSAY N SEED CASE...: N random elements of each case's layers, each
explained with -v, so that every product and cell is there. Shares no code with
assay: numbers come from the printed text alone, binary32 from struct. Prints
"N elements re-added, M of them without a calculation", or the first line that
does not follow from those above it, and exits with 1.
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


def close(a, b):
    return a == b or (isinstance(b, float) and abs(a - b) <= abs(b) * 1e-8)


def calculation(lines):
    """Follows the lines; the last value, or None without a calculation."""
    taps, v, operands, wide = 0, None, [], False
    for line in lines:
        # What is printed behind the first value are the columns.
        m = re.match(r"(\s+)(\S+(?: \S+)*)  +(-?[\d.]+(?:e[-+]?\d+)?|-?inf|"
                     r"-?nan)(?:   .*)?$", line)
        if not m:
            return None
        words, value = m.group(2).split(), number(m.group(3))
        made = None
        if words[0] == "tap":
            x, w = re.search(r"\(([^)]*)\) \* \(([^)]*)\)", line).groups()
            made = eval_sum(x) * eval_sum(w)
            taps += made
        elif words[0] == "sum" and "taps" in line:
            made = v = taps
        elif words[:2] == ["+", "bias"]:
            v += value
        elif words[0] == "acc":
            made = v if "64 bits" in line or "wraps" in line else wrap(v, 32)
            v = made
        elif words[0] == "element":
            operands.append(value)
            v = value
        elif words[0] in ("a", "max(a,", "min(a,", "fma(b,"):
            made = v = combine(words, operands, value)
        elif words[0].startswith("table["):
            made, v = value, value
        elif words[0] == "largest":
            made = v = max(operands)
        elif words[0] == "sum":  # of cells
            made = v = value
        elif words[0] == "/":
            made = v = value
        elif v is not None:
            wide = words[0] == "to_f64" or (wide and words[0] != "to_f32")
            made = v = step(words, v, wide)
            if made is None:
                raise Wrong("%s: an unknown line" % line)
            if operands:
                operands[-1] = v
        if made is not None and not close(made, value):
            raise Wrong("%s: found %r" % (line, made))
    return v


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
    run = subprocess.run([assay, "show", case], capture_output=True, text=True)
    for line in run.stdout.splitlines()[2:]:
        m = re.search(r" (?:float32|u?int\d+)\s+(scalar|\d+(?:x\d+)*)\s", line)
        if m and not line.rstrip().endswith("skipped"):
            dims = m.group(1)
            yield line.split()[2], ([] if dims == "scalar" else
                                    [int(d) for d in dims.split("x")])


def judge(assay, case, name, at):
    run = subprocess.run(
        [assay, "explain", case, "--layer", name, "--at", at, "-v", "-q"],
        capture_output=True, text=True)
    if run.returncode != 0:
        raise Wrong(run.stderr)
    lines = run.stdout.splitlines()[1:]
    last = calculation(lines)
    m = re.search(r"   reference (\S+)", lines[-1])
    if last is not None and m and not close(last, number(m.group(1))):
        raise Wrong("the golden is %s, found %r" % (m.group(1), last))
    return last is not None


def main():
    assay, n, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng, done, without = random.Random(seed), 0, 0
    for case in sys.argv[4:]:
        known = list(layers(assay, case))
        for _ in range(n):
            name, dims = rng.choice(known)
            at = ",".join(str(rng.randrange(d)) for d in dims) or "0"
            try:
                without += not judge(assay, case, name, at)
            except Wrong as e:
                print("%s: %s at %s: %s" % (case, name, at, e))
                return 1
            done += 1
    print("%d elements re-added, %d of them without a calculation" %
          (done, without))
    return 0 if done > 2 * without else 1


if __name__ == "__main__":
    sys.exit(main())
