# SPDX-License-Identifier: Apache-2.0
"""Random files of MLIR's generic grammar, seeded: text(seed) is one file."""
import random

from kinds import Kinds


class Text(Kinds):
    """One file. `located`: every operation and argument has a location."""

    def __init__(self, seed):
        super().__init__(random.Random(seed))
        self.located = self.chance(.4)
        self.size = self.pick([1, 2, 3, 5, 8, 14])
        self.n_values = self.n_blocks = 0
        self.loc_aliases, self.late_locs = [], []
        self.pending = []  # forward references: (name, type)

    # ---- names -------------------------------------------------------------

    def value_name(self):
        self.n_values += 1
        n = self.n_values
        return self.pick([f"%{n}", f"%{n}", f"%v{n}", f"%arg{n}", f"%_{n}",
                          f"%a.b-{n}", f"%${n}", f"%-x{n}", f"%.{n}"])

    def block_name(self):
        self.n_blocks += 1
        return self.pick(["^bb{}", "^{}", "^b.l-{}", "^_{}", "^$x{}"]).format(
            self.n_blocks)

    def blank(self):
        if self.chance(.04):
            return self.pick(["// a comment\n", "//\n", "// %0 = \"a\" {\n",
                              "\n\n", "\t", "   \n"])
        return ""

    def loc(self):
        if self.loc_aliases and self.chance(.25):
            return f" loc({self.pick(self.loc_aliases)})"
        if self.chance(.1):
            name = f"#loc{len(self.late_locs)}"
            self.late_locs.append(f"{name} = loc({self.location()})")
            return f" loc({name})"
        return f" loc({self.location()})"

    def maybe_loc(self):
        return self.loc() if self.located or self.chance(.05) else ""

    # ---- operations --------------------------------------------------------

    def dict_of(self, n):
        """The entries of a dictionary, not its brackets."""
        return ", ".join(self.entry(k, 2) for k in self.keys(n))

    def op(self, visible, depth, successors=None, forward=False):
        """One operation's text; its results are added to `visible`."""
        operands = [self.pick(visible)
                    for _ in range(self.pick([0, 1, 1, 2, 3, 5]))
                    if visible]
        if forward and self.chance(.2):
            name = self.value_name()
            self.pending.append((name, self.type(1)))
            operands.append(self.pending[-1])
        out = self.blank()
        results, named = [], []
        groups = self.pick([[], [1], [1], [1], [2], [3], [1, 2], [2, 1, 1]])
        if successors is not None and self.chance(.8):
            groups = []
        fixed = None
        if self.pending and forward and self.chance(.5):
            fixed = self.pending.pop(0)
            groups = [1]
        for g in groups:
            name = fixed[0] if fixed else self.value_name()
            types = [fixed[1]] if fixed else [self.type() for _ in range(g)]
            named.append(f"{name}:{g}" if g > 1 or
                         (not fixed and self.chance(.05)) else name)
            results += [(f"{name}#{i}" if g > 1 or self.chance(.05) else name,
                         t) for i, t in enumerate(types)]
        if named:
            out += ", ".join(named) + " = "
        d = self.pick(["b30", "hbir", "hbdk", "x", "a1", "my_dialect"])
        name = self.pick([f"{d}.conv2d", f"{d}.op", f"{d}.a.b", f"{d}.x_y$z",
                          f"{d}.{self.word()}", d, f"{d}.Q-1", f"{d}.a b"])
        out += f'"{name}"({", ".join(n for n, _ in operands)})'
        if successors is not None:
            k = self.rng.randrange(len(successors) + 1)
            if k:
                out += "[" + ", ".join(self.pick(successors)
                                       for _ in range(k)) + "]"
        if self.chance(.3):
            n = self.rng.randrange(4)
            out += f" <{{{self.dict_of(n)}}}>" if self.chance(.95) else \
                f" <{self.pick(['[1, 2]', '7 : i8', '@x', 'unit'])}>"
        if depth > 0 and self.chance(.2):
            regions = ", ".join(self.region(visible, depth - 1) for _ in
                                range(self.pick([1, 1, 2, 3])))
            out += f" ({regions})"
        if self.chance(.6):
            out += f" {{{self.dict_of(self.rng.randrange(5))}}}"
        types = [t for _, t in results]
        ret = f"({', '.join(types)})"
        if len(types) == 1 and not types[0].startswith("(") and \
                self.chance(.9):
            ret = types[0]
        out += f" : ({', '.join(t for _, t in operands)}) -> {ret}"
        visible += results
        return out + self.maybe_loc()

    def args(self, n):
        out = [(self.value_name(), self.type()) for _ in range(n)]
        text = ", ".join(f"{n}{self.pick([': ', ' : ', ':'])}{t}"
                         f"{self.maybe_loc()}" for n, t in out)
        return out, text

    def region(self, outer, depth):
        if self.chance(.12):
            return self.pick(["{}", "{\n}"])
        several = self.chance(.35)
        labels = [self.block_name() for _ in range(1 + self.rng.randrange(3))] \
            if several else []
        visible = list(outer)
        lines = ["{"]
        if self.chance(.6):
            args, text = self.args(self.pick([0, 1, 2]))
            visible += args
            lines.append(f"{self.block_name()}" +
                         (f"({text}):" if args or self.chance(.2) else ":"))
        self.block(lines, visible, depth, labels if several else None)
        for label in labels:
            args, text = self.args(self.pick([0, 0, 1, 2]))
            inner = visible + args
            lines.append(label + (f"({text}):" if args else ":"))
            self.block(lines, inner, depth, labels)
        return "\n".join(lines) + "\n}"

    def block(self, lines, visible, depth, labels):
        for _ in range(self.rng.randrange(4)):
            lines.append("  " + self.op(visible, depth))
        if labels is not None:
            lines.append("  " + self.op(visible, 0, labels))

    # ---- the file ----------------------------------------------------------

    def head(self):
        lines = []
        for k in range(self.pick([0, 0, 1, 3])):
            self_made = self.type(2)
            lines.append(f"!t{k}{self.pick(['', '_x', 'q'])} = {self_made}")
            self.type_aliases.append(lines[-1].split(" ")[0])
        for k in range(self.pick([0, 0, 1, 3])):
            value = self.attr(2)
            lines.append(f"#a{k}{self.pick(['', '_x', 'q'])} = {value}")
            self.attr_aliases.append(lines[-1].split(" ")[0])
        for k in range(self.pick([0, 0, 2])):
            lines.append(f"#l{k} = loc({self.location()})")
            self.loc_aliases.append(f"#l{k}")
        return lines

    def deep(self):
        """One chain of nested things."""
        n = self.rng.randrange(8, 40)
        kind = self.rng.randrange(4)
        if kind == 0:
            return f'"x.y"() {{a = {"[" * n}{"]" * n}}} : () -> ()'
        if kind == 1:
            return '"x.y"() {a = ' + "{k = " * n + "1" + "}" * n + "} : () -> ()"
        if kind == 2:
            return f'"x.y"() {{a = {"tuple<" * n}i8{">" * n}}} : () -> ()'
        return '"x.r"() ({\n' * n + '"x.y"() : () -> ()\n' + \
            "}) : () -> ()\n" * n

    def write(self):
        lines = self.head()
        visible = []
        for _ in range(self.size):
            lines.append(self.op(visible, 3, forward=True))
        while self.pending:
            name, t = self.pending.pop()
            lines.append(f'{name} = "x.late"() : () -> {t}'
                         if not t.startswith("(") else
                         f'{name} = "x.late"() : () -> ({t})')
            if self.located:
                lines[-1] += self.loc()
        if self.chance(.08) and not self.located:
            lines.append(self.deep())
        lines += self.late_locs
        text = "\n".join(lines) + "\n"
        if self.resources or self.chance(.03):
            entries = ",\n".join(f'      {k}: "{v}"'
                                 for k, v in self.resources.items())
            text += "\n{-#\n  dialect_resources: {\n    builtin: {\n" \
                    f"{entries}\n    }}\n  }}\n#-}}\n"
        return text


def text(seed):
    """(file, whether every location is written out)."""
    t = Text(seed)
    out = t.write()
    return out, t.located
