# SPDX-License-Identifier: Apache-2.0
"""Random MLIR types and attributes as text. Every text is one that MLIR 19
takes; the names of dialects are ones that it does not know."""
import struct

import numpy as np

FLOATS = {"bf16": 16, "f16": 16, "f32": 32, "f64": 64, "tf32": 19,
          "f8E5M2": 8, "f8E4M3FN": 8, "f8E5M2FNUZ": 8, "f8E4M3FNUZ": 8,
          "f8E4M3B11FNUZ": 8, "f8E4M3": 8, "f80": 80, "f128": 128}
COMMON_FLOATS = ["f16", "bf16", "f32", "f64", "f32", "f16"]
WIDTHS = [1, 1, 4, 8, 8, 16, 32, 32, 64, 64, 2, 3, 7, 12, 17, 33, 65, 128]
DIALECTS = ["hbdk", "b30", "qnt", "x", "my_dialect", "a1", "b30vpu"]
WORDS = ["a", "kernel", "pad", "_x", "i", "relu", "hbir.scale", "a$b", "loc_",
         "values", "Big.Name.X", "true_", "d0", "index", "f32", "loc", "dense",
         "module", "i32", "attributes", "unknown", "x1", "none", "to", "symbol",
         "offset", "array", "strided", "memref", "affine_map", "unit", "at"]


class Kinds:
    """Types and attributes; `rng` is random.Random."""

    def __init__(self, rng):
        self.rng = rng
        self.type_aliases, self.attr_aliases = [], []
        self.resources = {}
        self.distinct = 0

    # ---- small parts -------------------------------------------------------

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, items):
        return self.rng.choice(items)

    def word(self):
        if self.chance(.5):
            return self.pick(WORDS)
        return (self.pick("abcxyz_KQ") + "".join(
            self.pick("abz019_$.") for _ in range(self.rng.randrange(6)))
        ).rstrip(".")

    def string(self, longest=12, zero=True):
        """zero: a byte 0 may be in it. Names of locations have none."""
        out = []
        for _ in range(self.rng.randrange(longest)):
            r = self.rng.random()
            if r < .75:
                c = chr(self.rng.randrange(32, 127))
                out.append({'"': '\\"', "\\": "\\\\"}.get(c, c))
            elif r < .9:
                out.append(f"\\{self.rng.randrange(1, 256):02X}"
                           if self.chance(.5) else
                           f"\\{self.rng.randrange(1, 256):02x}")
            else:
                out.append(self.pick(["\\00" if zero else "\\01", "\\n",
                                      "\\t", "\\\\", "\\\"", "é", "层",
                                      "\\22", "//", "/*"]))
        return '"' + "".join(out) + '"'

    def key(self):
        if self.chance(.1):
            return '"' + self.pick(["a b", "0", "x\\22y", "é", "-", "a,b", "="
                                    ]) + str(self.rng.randrange(9)) + '"'
        return self.word()

    def keys(self, n):
        """Different ones; a quoted name may be the same as a bare one."""
        seen, out = set(), []
        for _ in range(n):
            k = self.key()
            if k.strip('"') not in seen:
                seen.add(k.strip('"'))
                out.append(k)
        return out

    def symbol_part(self):
        if self.chance(.3):
            return "@" + self.pick(['"a b"', '"x\\22"', '"0"', '"é"', '"-"'])
        return "@" + self.pick(["main", "f", "_g", "a.b", "a$b", "K1"])

    def symbol(self):
        return "::".join(self.symbol_part()
                         for _ in range(1 + self.rng.randrange(3)))

    # ---- a dialect's own text ----------------------------------------------

    def body_part(self, depth):
        r = self.rng.randrange(14)
        if r == 0 and depth:
            o, c = self.pick(["<>", "()", "[]", "{}"])
            return o + self.body(depth - 1) + c
        if r == 1:
            return self.string(6)
        if r == 2:
            return self.pick(["->", "a -> b", "() -> ()"])
        if r == 3:
            return self.pick(["x = 1 : i64", "k=v", "%arg0", "#z", "!t", "^b",
                              "@sym", "-1", "- 1", ";", "a|b", "&", "~", "::",
                              "*", "?", "'", "\\", "/", "// no comment "])
        if r == 4:
            return self.pick(["0x1F", "1.5e-3", "0.2028", "-128:127", "+",
                              "4x5xf32", "1_000", "dense", "é"])
        if r == 5:
            return self.pick(["\n", "  ", "\t", "\n    "])
        return self.word() + self.pick(["", " ", ",", ", ", ":"])

    def body(self, depth=2):
        return "".join(self.body_part(depth)
                       for _ in range(1 + self.rng.randrange(5)))

    def own(self, mark):
        """!d.x, !d.x<…>, !d<…>"""
        d = self.pick(DIALECTS)
        tail = ".".join(self.pick(["uniform", "buf", "Mode", "x", "kind_2"])
                        for _ in range(self.pick([1, 1, 1, 2])))
        r = self.rng.random()
        if r < .35:
            return f"{mark}{d}.{tail}"
        if r < .8:
            return f"{mark}{d}.{tail}<{self.body()}>"
        return f"{mark}{d}<{self.pick(['', ' '])}{self.body()}>"

    def quant(self):
        s = self.pick(["si8", "ui8", "si16", "si32"])
        e = self.pick(["f32", "f32", "f16", "f64"])
        if self.chance(.5):
            n = 1 + self.rng.randrange(4)
            scales = ", ".join(
                f"{self.rng.random():.{self.rng.randrange(1, 12)}g}" +
                (f":{self.rng.randrange(-9, 9)}" if self.chance(.3) else "")
                for _ in range(n))
            return f"!qnt.uniform<{s}:{e}:{self.rng.randrange(4)}, " \
                   f"{{{scales}}}>"
        return f"!qnt.uniform<{s}:{e}, {self.rng.random() * 10:.6g}>"

    # ---- types -------------------------------------------------------------

    def int_type(self):
        return self.pick(["i", "i", "si", "ui"]) + str(self.pick(WIDTHS))

    def scalar(self):
        r = self.rng.random()
        if r < .5:
            return self.int_type()
        if r < .6:
            return "index"
        if r < .9:
            return self.pick(COMMON_FLOATS)
        return self.pick(list(FLOATS))

    def element(self, depth):
        r = self.rng.random()
        if r < .7 or depth <= 0:
            return self.scalar()
        if r < .78:
            return f"complex<{self.pick(['f32', 'f64', 'i32', 'f16'])}>"
        if r < .86:
            return self.quant()
        if r < .93:
            return self.own("!")
        return f"vector<4x{self.pick(COMMON_FLOATS)}>"

    def dims(self, dynamic=True):
        out = []
        for _ in range(self.pick([0, 1, 1, 2, 2, 3, 4, 4, 5])):
            if dynamic and self.chance(.25):
                out.append("?")
            else:
                out.append(str(self.pick([0, 1, 1, 2, 3, 4, 7, 16, 224, 1024,
                                          4294967296])))
        return out

    def tensor(self, depth):
        if self.chance(.1):
            return f"tensor<*x{self.element(depth)}>"
        e = self.element(depth)
        text = "x".join(self.dims() + [e])
        if self.chance(.25):
            text += self.pick([", ", ","]) + self.pick([
                "{dynamic_dims = [-2,-3]}", "{a}", "1 : i32", '"enc"', "#hbdk.e",
                "#hbdk<layout nhwc>", "[1, 2]", "#hbdk.l<a -> b>", "i8", "{}",
                "affine_map<(d0) -> (d0)>",
                f"{{scale = {self.quant()}}}",
                "{dynamic_dims = [-9223372036854775808, -2, -3]}"])
        return f"tensor<{text}>"

    def vector(self):
        out = []
        for _ in range(self.pick([0, 1, 1, 2, 3])):
            n = self.pick([1, 2, 4, 8, 16])
            out.append(f"[{n}]" if self.chance(.3) else str(n))
        return "vector<" + "x".join(
            out + [self.pick(COMMON_FLOATS + ["i8", "si8", "i1", "index"])]
        ) + ">"

    def memref(self, depth):
        e = self.pick([self.scalar(), "memref<f32>",
                       "vector<4xf32>", "complex<f32>"])
        space = self.pick(["", "", ", 1", ", 2 : i32", ', "l1"', ", {a = 1}",
                           ", 7 : index", ", 4294967296"])
        if self.chance(.15):
            return f"memref<*x{e}{space}>"
        rank = self.rng.randrange(4)
        d = ["?" if self.chance(.3) else str(self.rng.randrange(1, 9))
             for _ in range(rank)]
        layout = ""
        if rank and self.chance(.5):
            strides = ", ".join(self.pick(["?", "1", "-4", "16"])
                                for _ in range(rank))
            layout = self.pick([f", strided<[{strides}]>",
                                f", strided<[{strides}], offset: ?>",
                                f", strided<[{strides}], offset: 12>",
                                ", " + self.affine_map(rank, rank)])
        return f"memref<{'x'.join(d + [e])}{layout}{space}>"

    def function(self, depth):
        ins = [self.type(depth - 1) for _ in range(self.rng.randrange(3))]
        outs = [self.type(depth - 1) for _ in range(self.rng.randrange(3))]
        if len(outs) == 1 and not outs[0].startswith("(") and self.chance(.7):
            return f"({', '.join(ins)}) -> {outs[0]}"
        return f"({', '.join(ins)}) -> ({', '.join(outs)})"

    def type(self, depth=2):
        if self.type_aliases and self.chance(.12):
            return self.pick(self.type_aliases)
        r = self.rng.random()
        if r < .35 or depth <= 0:
            return self.scalar()
        if r < .6:
            return self.tensor(depth - 1)
        if r < .66:
            return self.vector()
        if r < .74:
            return self.memref(depth - 1)
        if r < .79:
            return self.function(depth)
        if r < .83:
            n = self.rng.randrange(3)
            return "tuple<" + ", ".join(self.type(depth - 1)
                                        for _ in range(n)) + ">"
        if r < .86:
            return "none"
        if r < .89:
            return f"complex<{self.pick(['f32', 'f64', 'i8', 'bf16'])}>"
        if r < .94:
            return self.quant()
        return self.own("!")

    # ---- numbers -----------------------------------------------------------

    def int_value(self, t):
        """A literal that fits the type."""
        if t == "index":
            return self.pick(["0", "-1", "42", "0x7F", "9223372036854775807",
                              "-9223372036854775808"])
        sign = t.rstrip("0123456789")
        width = int(t[len(sign):])
        lo = {"i": -1 << (width - 1), "si": -1 << (width - 1), "ui": 0}[sign]
        hi = {"i": (1 << width) - 1, "si": (1 << (width - 1)) - 1,
              "ui": (1 << width) - 1}[sign]
        v = self.pick([lo, hi, 0, hi // 2, hi // 3, self.rng.randint(lo, hi),
                       self.rng.randint(lo, hi), min(1, hi), max(-1, lo)])
        if v >= 0 and self.chance(.15) and (sign != "si" or width > 8):
            return f"0x{v:X}" if self.chance(.5) else f"0x{v:x}"
        return str(v)

    def float_value(self, t):
        r = self.rng.random()
        w = FLOATS[t]
        if r < .12 and t in ("f16", "bf16", "f32", "f64"):
            bits = self.pick([0, 1, 1 << (w - 1), (1 << w) - 1,
                              self.rng.getrandbits(w),
                              {"f16": 0x7c00, "bf16": 0x7f80, "f32": 0x7f800000,
                               "f64": 0x7ff0000000000000}[t]])
            return f"0x{bits:0{w // 4}X}"
        if r < .3:
            return self.pick(["0.0", "-0.0", "1.", "-1.5", "0.5e+1", "1.0e-2",
                              "100.25E2", "3.0e38", "1.0e-45", "65504.0"])
        if r < .6:
            return f"{self.rng.uniform(-100, 100):.{self.rng.randrange(1, 15)}f}"
        return f"{self.rng.uniform(-1, 1):.{self.rng.randrange(1, 17)}e}"

    # ---- attributes --------------------------------------------------------

    def affine_expr(self, names, depth=2):
        r = self.rng.random()
        if depth == 0 or r < .3:
            return self.pick(names + [str(self.rng.randrange(-3, 100))])
        a = self.affine_expr(names, depth - 1)
        if r < .55:
            return f"{a} {self.pick('+-')} {self.affine_expr(names, depth - 1)}"
        if r < .7:
            return f"({a}) * {self.rng.randrange(1, 9)}"
        if r < .95:
            return f"({a}) {self.pick(['mod', 'floordiv', 'ceildiv'])} " \
                   f"{self.rng.randrange(1, 9)}"
        return f"-{self.pick(names)}" if names else a

    def affine_map(self, n_dims, n_out):
        ds = [f"d{i}" for i in range(n_dims)]
        ss = [f"s{i}" for i in range(self.pick([0, 0, 1, 2]))]
        exprs = ", ".join(self.affine_expr(ds + ss) for _ in range(n_out))
        syms = f"[{', '.join(ss)}]" if ss else ""
        return f"affine_map<({', '.join(ds)}){syms} -> ({exprs})>"

    def affine_set(self):
        ds = [f"d{i}" for i in range(1 + self.rng.randrange(2))]
        ss = [f"s{i}" for i in range(self.rng.randrange(2))]
        syms = f"[{', '.join(ss)}]" if ss else ""
        cs = ", ".join(f"{self.affine_expr(ds + ss, 1)} "
                       f"{self.pick(['>=', '=='])} 0"
                       for _ in range(1 + self.rng.randrange(3)))
        return f"affine_set<({', '.join(ds)}){syms} : ({cs})>"

    def number(self):
        r = self.rng.random()
        if r < .15:
            return str(self.rng.randrange(-1000, 1000))
        if r < .6:
            t = self.int_type()
            if t in ("i1", "si1"):
                return self.pick(["true", "false", "0 : si1"])
            return f"{self.int_value(t)} : {t}"
        if r < .65:
            return f"{self.int_value('index')} : index"
        if r < .75:
            return self.float_value("f64").replace("0x", "0x") \
                if self.chance(0) else f"{self.rng.uniform(-9, 9):.5f}"
        t = self.pick(COMMON_FLOATS + ["f8E5M2", "tf32", "f128", "f80"])
        return f"{self.float_value(t)} : {t}"

    def typed_array(self):
        t = self.pick(["i1", "i8", "i16", "i32", "i64", "f32", "f64", "i32",
                       "i64", "si8", "ui16", "f16", "i4", "i128", "bf16"])
        if t in ("si8", "ui16", "i4", "i128"):
            t = "i8"
        n = self.rng.randrange(5)
        if n == 0:
            return f"array<{t}>"
        if t == "i1":
            v = [self.pick(["true", "false"]) for _ in range(n)]
        elif t[0] == "i":
            v = [self.int_value(t) for _ in range(n)]
        else:
            v = [self.float_value(t) for _ in range(n)]
        return f"array<{t}: {', '.join(v)}>"

    def dictionary(self, depth):
        return "{" + ", ".join(self.entry(k, depth) for k in
                               self.keys(self.rng.randrange(4))) + "}"

    def entry(self, key, depth):
        if self.chance(.15):
            return key
        return f"{key}{self.pick([' = ', '=', ' = '])}{self.attr(depth)}"

    def location(self, depth=2):
        r = self.rng.random()
        if r < .3 or depth == 0:
            return self.string(10, False) if self.chance(.4) else \
                '"' + self.pick(["conv1", "patch_embed.proj", "a/b:0", "层"]) + '"'
        if r < .5:
            return f'{self.string(8, False)}:{self.rng.randrange(1000)}:' \
                   f'{self.rng.randrange(200)}'
        if r < .65:
            return f"{self.string(8, False)}({self.location(depth - 1)})"
        if r < .85:
            meta = f"<{self.attr(1)}>" if self.chance(.3) else ""
            return f"fused{meta}[" + ", ".join(
                self.location(depth - 1)
                for _ in range(1 + self.rng.randrange(3))) + "]"
        if r < .95:
            return f"callsite({self.location(depth - 1)} at " \
                   f"{self.location(depth - 1)})"
        return "unknown"

    def resource(self, t, size):
        name = f"r{len(self.resources)}" + self.pick(["", "_w", ".x", "$"])
        if self.chance(.85):
            data = struct.pack("<I", self.pick([1, 4, 8, 64])) + \
                self.rng.randbytes(size)
            self.resources[name] = "0x" + data.hex().upper()
        return f"dense_resource<{name}> : {t}"

    def attr(self, depth=2):
        if self.attr_aliases and self.chance(.1):
            return self.pick(self.attr_aliases)
        r = self.rng.random()
        if depth > 0:
            if r < .1:
                return "[" + ", ".join(
                    self.attr(depth - 1)
                    for _ in range(self.rng.randrange(4))) + "]"
            if r < .16:
                return self.dictionary(depth - 1)
            if r < .3:
                return self.dense()
            if r < .33:
                return self.sparse()
            if r < .36:
                return f"loc({self.location()})"
            if r < .38:
                self.distinct += 1
                inner = self.attr(0) if self.chance(.7) else ""
                return f"distinct[{self.distinct - 1}]<{inner}>"
            if r < .41:
                n = self.rng.randrange(1, 5)
                return self.resource(f"tensor<{n}xf32>", 4 * n)
        return self.pick([
            self.number, self.number, self.string, self.typed_array, self.symbol,
            lambda: self.own("#"), lambda: self.own("#"), lambda: self.type(1),
            lambda: self.affine_map(self.rng.randrange(1, 4), 2),
            self.affine_set, lambda: self.pick(["unit", "true", "false"]),
            lambda: self.pick(["strided<[1, ?]>", "strided<[], offset: 4>",
                               "strided<[?, -1], offset: ?>"]),
            lambda: f'{self.string(4)} : {self.own("!")}',
            self.quant])()

    # ---- constants ---------------------------------------------------------

    def nest(self, values, shape):
        if not shape:
            return values[0]
        n = len(values) // shape[0] if shape[0] else 0
        return "[" + ", ".join(
            self.nest(values[i * n:(i + 1) * n], shape[1:])
            for i in range(shape[0])) + "]"

    def dense(self):
        shape = self.pick([[], [1], [3], [5], [2, 3], [1, 1], [2, 2, 2], [8],
                           [9], [17], [0], [2, 0]])
        count = int(np.prod(shape)) if shape else 1
        t = self.pick(["i1", "i8", "si8", "ui8", "i16", "si16", "i32", "si32",
                       "i64", "si64", "ui64", "index", "f16", "bf16", "f32",
                       "f64", "complex<f32>", "complex<i16>", "complex<f64>",
                       "!x.string", "i4", "i128", "i65", "i7", "f8E5M2",
                       "f8E4M3FN", "i17", "ui3", "f80", "tf32"])
        holder = "tensor"
        if shape and 0 not in shape and t in ("i8", "i32", "f32", "f16", "i1"):
            holder = self.pick(["tensor", "tensor", "vector"])
        full = f"{holder}<{'x'.join(map(str, shape + [t]))}>"
        if count == 0:
            return f"dense<> : {full}"
        splat = self.chance(.25)
        if self.chance(.25) and t[0] != "!":
            text = self.hex(t, 1 if splat and t != "i1" else count)
            if text:
                return f'dense<"{text}"> : {full}'
        values = [self.scalar_text(t) for _ in range(1 if splat else count)]
        if splat:
            return f"dense<{values[0]}> : {full}"
        return f"dense<{self.nest(values, shape)}> : {full}"

    def scalar_text(self, t):
        if t.startswith("complex<"):
            e = t[8:-1]
            return f"({self.scalar_text(e)}, {self.scalar_text(e)})"
        if t[0] == "!":
            return self.string(6)
        if t in ("i1",):
            return self.pick(["true", "false", "0", "1", "-1"]) \
                if self.chance(.2) else self.pick(["true", "false"])
        if t in FLOATS:
            return self.float_value(t)
        return self.int_value(t)

    def hex(self, t, count):
        if t.startswith("complex<"):
            one, n = t[8:-1], 2 * count
        else:
            one, n = t, count
        if one == "i1":
            # The judge prints all ones from bytes as a list, from a list as
            # one for all; so never all alike here, and never by pairs.
            if t != "i1" or n == 1:
                return None
            first = self.rng.getrandbits(8)
            if first & 3 in (0, 3):
                first ^= 1
            return "0x" + bytes([first]).hex().upper() + bytes(
                self.rng.getrandbits(8) for _ in range((n - 1) // 8)
            ).hex().upper()
        if one in FLOATS:
            if FLOATS[one] not in (8, 16, 32, 64):
                return None
            size = FLOATS[one] // 8
        elif one == "index":
            size = 8
        else:
            width = int(one.lstrip("siu"))
            if width % 8:
                return None
            size = width // 8
        data = self.rng.randbytes(n * size)
        return "0x" + (data.hex() if self.chance(.3) else data.hex().upper())

    def sparse(self):
        t = self.pick(["i32", "f32", "i8", "f64"])
        n = self.rng.randrange(0, 4)
        if n == 0:
            return f"sparse<> : tensor<3x4x{t}>"
        rows = ", ".join(f"[{self.rng.randrange(3)}, {self.rng.randrange(4)}]"
                         for _ in range(n))
        values = [self.scalar_text(t) for _ in range(n)]
        v = values[0] if self.chance(.2) else "[" + ", ".join(values) + "]"
        return f"sparse<[{rows}], {v}> : tensor<3x4x{t}>"
