# SPDX-License-Identifier: Apache-2.0
"""Rules of a numerics file, read and run in exact integers.

    rule    = section *( "|" section )
    section = [ name ":" ] step *( ";" step )

docs/numerics.md, "Rules". A step that names a field which the layer does not
have is left out.
"""
import fractions
import json
import math

import numpy as np

import integers as z

FLOATS = {"to_f32", "fmul", "fdiv", "fadd", "fclamp", "fround"}


class Numerics:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.doc = json.load(f)
        self.name = self.doc["name"]
        self.path = path

    def rule(self, form):
        return Rule(self.doc["rules"][form]["rule"])


class Rule:
    """text: {section: [[word, operand, ...], ...]}; "" is the last one."""

    def __init__(self, text):
        self.text = text
        self.sections = {}
        for part in text.split("|"):
            name, colon, steps = part.partition(":")
            if not colon:
                name, steps = "", part
            self.sections[name.strip()] = [
                s.split() for s in steps.split(";") if s.split()]

    def words(self, word):
        return [s for s in self.sections.get("", []) if s[0] == word]

    def word(self, word, default=None):
        found = self.words(word)
        return found[0][1] if found else default

    def uses(self, field):
        return any(field in step[1:] for steps in self.sections.values()
                   for step in steps)

    def shifts_second_first(self):
        return any(step[0] == "add_input" for step in self.sections[""])

    def before(self, first, second):
        """Is the field `first` used in front of the field `second`?"""
        at = {}
        for i, step in enumerate(self.sections.get("", [])):
            for name in step[1:]:
                at.setdefault(name, i)
        return at.get(first, 99) < at.get(second, 99)

    def derive(self, fields):
        """scale and post_shift of `real`, where the row has none."""
        how = self.word("derive")
        if "scale" in fields or "real" not in fields or how is None:
            return fields
        real = fractions.Fraction(float(fields["real"]))
        if "post_shift" in fields:
            shift = int(np.asarray(fields["post_shift"]).reshape(-1)[0])
            scale = rounded(real * 2 ** shift, how)
        else:
            shift = 15 - math.frexp(float(real))[1]
            scale = rounded(real * fractions.Fraction(2) ** shift, how)
            if scale == 1 << 15:
                scale, shift = 1 << 14, shift - 1
        return dict(fields, scale=np.array([scale]),
                    post_shift=np.array([shift]))

    def run(self, v, fields, bits, e=None, section=""):
        """One section over v; fields are lists of one or of the channels."""
        for word, *args in self.sections.get(section, []):
            names = [a for a in args if a in FIELDS]
            if any(n not in fields for n in names):
                continue
            v = step(word, args, v, fields, bits, e)
        return v


FIELDS = {"bias", "second_shift", "second_scale", "pre_shift", "scale",
          "post_shift", "x_shift", "e_shift", "e_scale", "real", "frac",
          "relu", "scale_f32", "zero_point", "slope", "pos_scale", "pos_shift", "slope_shift",
          "neg_scale", "neg_shift"}
IGNORED = {"derive", "index", "line", "mix", "between"}


def rounded(x, how):
    """A fraction to an integer."""
    floor, rest = divmod(x, 1)
    half = fractions.Fraction(1, 2)
    up = {"floor": False, "ceil": rest > 0, "trunc": x < 0 and rest > 0,
          "half_up": rest >= half,
          "half_even": rest > half or (rest == half and floor % 2 == 1),
          "half_away": rest > half or (rest == half and x >= 0),
          "half_down": rest > half,
          "half_zero": rest > half or (rest == half and x < 0)}[how]
    return int(floor) + up


def step(word, args, v, fields, bits, e):
    def value(i):
        a = args[i]
        return fields[a] if a in FIELDS else np.int64(int(a))

    def width(i):
        return bits if args[i] == "out" else int(args[i])

    if word in FLOATS:
        return float_step(word, args, v, fields, bits)
    if word == "add":
        v = z.add(v, value(0))
        how = args[1] if len(args) > 1 else ""
        return {"": lambda: v, "wrap32": lambda: z.wrap(v, 32),
                "sat32": lambda: z.sat(v, 32)}[how]()
    if word == "shl":
        return z.shl(v, value(0))
    if word == "shr":
        return z.shr(v, value(0), args[1])
    if word == "mul":
        return z.mul(v, value(0))
    if word == "add_input":  # shift, round, scale
        return z.add(v, z.mul(z.shr(e, value(0), args[1]), value(2)))
    if word == "add_scaled":  # scale, shift, round
        return z.add(v, z.shr(z.mul(e, value(0)), value(1), args[2]))
    if word == "sat":
        return z.sat(v, width(0))
    if word == "wrap":
        return z.wrap(v, width(0))
    if word == "add_zp":
        return z.add(v, value(0))
    if word == "clamp":
        return np.clip(v, value(0), value(1))
    if word == "relu":
        return np.maximum(v, 0) if "relu" in fields else v
    if word in IGNORED:
        return v
    raise ValueError("the step '%s' is not known" % word)


def float_step(word, args, v, fields, bits):
    """binary32; only quantize, dequantize and float layers have these."""
    f32 = np.float32
    if word == "to_f32":
        return np.asarray(v).astype(f32)
    if word == "fclamp":
        lo, hi = z.limits(bits)
        return np.clip(v, f32(lo), f32(hi))
    if word == "fround":
        v = v.astype(np.float64)
        return {"half_even": np.rint, "floor": np.floor, "ceil": np.ceil,
                "trunc": np.trunc,
                "half_up": lambda x: np.floor(x + 0.5),
                "half_away": lambda x: np.copysign(
                    np.floor(np.abs(x) + 0.5), x),
                }[args[0]](v).astype(np.int64)
    a = np.asarray(fields[args[0]], f32)
    return {"fmul": lambda: v * a, "fdiv": lambda: v / a,
            "fadd": lambda: v + a}[word]()
