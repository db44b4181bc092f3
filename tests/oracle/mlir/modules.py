# SPDX-License-Identifier: Apache-2.0
"""Random files as a Python binding's print(module) gives them: `module`,
`func.func` and `return` as MLIR prints them, the operations between in the
generic form, with the names of docs/quantized-bc.md."""
import random

from kinds import Kinds

HEAD = ["hbdk.perf_stage = 1 : i64", 'hbdk.target = "B30G"', "hbdk.x",
        'hbdk.versions = {a = "1.0", b = [1, 2]}', "hbir.march = #hbdk<b30g>",
        "a.scale = !qnt.uniform<si8:f32, 0.5>"]


class Module(Kinds):
    def __init__(self, seed):
        super().__init__(random.Random(seed))
        self.located = self.chance(.6)
        self.lines, self.n = [], 0
        self.locs, self.values = [], []
        self.names = self.chance(.5)

    def act(self):
        """The type of an activation."""
        n, h, w, c = (self.pick([1, 2, 8, 32]) for _ in range(4))
        e = self.pick(["si8", "si8", "si16", "f32", "si32", "f16", "ui8", "i1",
                       "bool8", "si64"])
        if e == "bool8":
            e = "!hbir.bool8"
        if self.chance(.1):
            e = self.quant()
        t = self.pick([f"{n}x{h}x{w}x{c}x{e}"] * 4 + [f"{n}x{c}x{e}", e,
                                                     f"?x{h}x?x{c}x{e}"])
        if "?" in t:
            return f"tensor<{t}, {{dynamic_dims = [-2,-3]}}>"
        return f"tensor<{t}>"

    def loc(self):
        if not self.located:
            return ""
        r = self.rng.random()
        if r < .5:
            k = len(self.locs)
            name = self.pick(["blocks.0.conv1", "head/cls:0", "backbone.stem"])
            text = self.pick([f'"{name}.{k}"', f'"{name}.{k}"(#loc)',
                              f'fused<{{a = "b"}}>["m.py":{k}:3, "{name}"]',
                              f'callsite("{name}" at "m.py":{k}:1)',
                              self.location()])
            self.locs.append(f"#loc{k + 1} = loc({text})")
            return f" loc(#loc{k + 1})"
        if r < .7:
            return f" loc({self.location()})"
        return " loc(#loc)"

    def small(self, depth=1):
        """An attribute such as the operators have."""
        return self.pick([
            lambda: "[" + ", ".join(str(self.rng.randrange(-1, 9))
                                    for _ in range(self.pick([2, 4]))) + "]",
            lambda: f"{self.rng.randrange(-9, 99)} : i64",
            lambda: self.pick(["true", "false"]), lambda: self.string(8),
            lambda: f"array<i32: 1, 1, 1, {self.rng.randrange(2)}, 0>",
            lambda: f'#b30<{self.pick(["pool_mode", "eltwise", "x"])} <'
                    f'{self.pick(["max", "avg", "add"])}>>',
            lambda: f"{self.rng.random():.12g} : f64",
            lambda: f"[{self.rng.random():.9e}, {self.rng.random():.3f}]",
            lambda: f'"quant::quantize(Tensor, double[] scales, int64_t[] '
                    f'zeros, bool?, int64_t axis) -> (Tensor)"',
            lambda: self.quant(), lambda: self.attr(depth)])()

    def constant(self):
        shape = [self.pick([1, 2, 4]), self.pick([3, 6])]
        t = self.pick(["si8", "si16", "si64", "si32", "f32", "f16", "ui8"])
        full = f"tensor<{shape[0]}x{shape[1]}x{t}>"
        r = self.rng.random()
        if r < .4:
            text = self.nest([self.scalar_text(t) for _ in
                              range(shape[0] * shape[1])], shape)
            text = f"dense<{text}> : {full}"
        elif r < .6:
            text = f"dense<{self.scalar_text(t)}> : {full}"
        elif r < .8:
            text = f'dense<"{self.hex(t, shape[0] * shape[1])}"> : {full}'
        else:
            width = int(t.lstrip("siuf"))
            text = self.resource(full, shape[0] * shape[1] * width // 8)
        return f"values = {text}", full

    def op(self):
        name = self.pick(["b30.conv2d", "b30.lut", "b30vpu.softmax", "hbtl.call",
                          "b30.binary_eltwise", "hbir.reshape", "b30.warp",
                          "qnt.const_fake_quant", "b30.pool2d", "hbir.concat"])
        operands = [self.pick(self.values)
                    for _ in range(self.pick([1, 2, 2, 3, 4]))]
        n = self.pick([1, 1, 1, 1, 2, 3])
        types = [self.act() for _ in range(n)]
        if self.chance(.2):
            name, operands = "hbir.constant", []
            props, types = self.constant()
            types, n = [types], 1
        else:
            props = ", ".join(f"{k} = {self.small()}" for k in
                              self.keys(self.rng.randrange(6)))
        v = f"%{self.n}" if not self.names else f"%x{self.n}_1"
        self.n += 1
        region = self.pick([" ({})", " ({\n    })", ""]) \
            if self.chance(.1) else ""
        attrs = ""
        if self.chance(.3):
            attrs = " {" + ", ".join(
                f"{k} = {self.small()}" for k in
                [f"hbir.{i}" for i in range(self.rng.randrange(1, 3))]) + "}"
        ret = types[0] if n == 1 else f"({', '.join(types)})"
        self.lines.append(
            f'    {v}{f":{n}" if n > 1 else ""} = "{name}"('
            f'{", ".join(x for x, _ in operands)})'
            f'{f" <{{{props}}}>" if props else ""}{region}{attrs} : '
            f'({", ".join(t for _, t in operands)}) -> {ret}{self.loc()}')
        self.values += [(v if n == 1 else f"{v}#{i}", t)
                        for i, t in enumerate(types)]

    def io_attrs(self, name):
        if self.chance(.2):
            return ""
        return " {" + ", ".join(x for x in [
            f'hbir.desc = {self.string(6)}', f"hbir.id = {self.n} : i64",
            f'hbir.name = "{name}"', f"hbir.scale = {self.quant()}",
            "hbir.x"] if self.chance(.6)) + "}"

    def func(self, name, private=False):
        self.values = []
        args = []
        for k in range(self.pick([0, 1, 2, 3])):
            t = self.act()
            self.values.append((f"%arg{k}", t))
            args.append(f"%arg{k}: {t}{self.io_attrs(f'in{k}')}{self.loc()}")
        if private:
            types = ", ".join(t for _, t in self.values)
            attrs = " attributes {a.b, c.d = 1 : i8}" if self.chance(.5) else ""
            self.lines.append(f"  func.func private @{name}({types}){attrs}"
                              f"{self.loc()}")
            return
        place = len(self.lines)
        self.lines.append("")
        self.n = self.n if self.names else 0
        if not self.values:
            self.lines.append(f'    %{self.n} = "hbir.constant"() <{{values = '
                              f'dense<0> : tensor<2xsi8>}}> : () -> '
                              f'tensor<2xsi8>{self.loc()}')
            self.values.append((f"%{self.n}", "tensor<2xsi8>"))
            self.n += 1
        for _ in range(self.pick([0, 1, 4, 10, 20])):
            self.op()
        out = [self.pick(self.values) for _ in range(self.pick([0, 1, 1, 2]))]
        res = [f"{t}{self.io_attrs(f'out{k}')}"
               for k, (_, t) in enumerate(out)]
        ret = f" -> ({', '.join(res)})"
        if not out:
            ret = ""
        elif len(out) == 1 and "{hbir" not in res[0] and \
                not res[0].endswith("{}") and self.chance(.7):
            ret = f" -> {res[0]}"
        attrs = ""
        if self.chance(.3):
            attrs = " attributes {" + ", ".join(
                f"x.{k} = {self.small()}" for k in range(2)) + "}"
        visibility = self.pick(["", "", "public ", "private "])
        self.lines[place] = f"  func.func {visibility}@{name}(" \
            f"{', '.join(args)}){ret}{attrs} {{"
        word = self.pick(["return", "return", "func.return"])
        if out:
            word += f" {', '.join(n for n, _ in out)} : " \
                    f"{', '.join(t for _, t in out)}"
        self.lines += [f"    {word}{self.loc()}", f"  }}{self.loc()}"]

    def write(self):
        bare = self.chance(.15)
        if not bare:
            name = self.pick(["", "", " @net", ' @"a b"'])
            attrs = ", ".join(h for h in HEAD if self.chance(.4))
            attrs = f" attributes {{{attrs}}}" if attrs else ""
            self.lines.append(f"module{name}{attrs} {{")
        for k in range(self.pick([1, 1, 1, 2, 3])):
            self.func("main" if k == 0 else f"f{k}",
                          private=k > 0 and self.chance(.5))
        if not bare:
            self.lines.append(f"}}{self.loc()}")
        head = ['#loc = loc(unknown)'] if self.chance(.3) else []
        tail = [] if head else ['#loc = loc("m.py":0:0)']
        self.rng.shuffle(self.locs)
        tail += self.locs
        text = "\n".join(head + self.lines + tail) + "\n"
        if self.resources:
            entries = ",\n".join(f'      {k}: "{v}"'
                                 for k, v in self.resources.items())
            text += "\n{-#\n  dialect_resources: {\n    builtin: {\n" \
                    f"{entries}\n    }}\n  }}\n#-}}\n"
        return text


def text(seed):
    """(file, whether every location is written out)."""
    m = Module(seed)
    out = m.write()
    return out, m.located
