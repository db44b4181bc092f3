# SPDX-License-Identifier: Apache-2.0
"""A graph of the Nash family's fixed-point dialects, and its MLIR text.

Own words for what no sample shows: this is a stand-in for a file that only
the vendor's tools write. Two forms of text: as print(module) gives it, and
all generic.
"""
import collections

import numpy as np

DTYPES = {"si8": np.int8, "si16": np.int16, "si32": np.int32,
          "si64": np.int64, "i1": np.bool_, "f32": np.float32,
          "f16": np.float16, "f64": np.float64}


class Raw(str):
    """An attribute that is text already."""


class Typed(tuple):
    """array<i32: ...>"""


class Value:
    def __init__(self, dtype, shape, data=None, scale=None):
        self.dtype, self.shape, self.data = dtype, tuple(shape), data
        self.scale = scale       # real scale, for quantizing
        self.name = None         # the tensor's
        self.ssa = None
        self.typed_scale = False  # stands in the type

    def type(self):
        element = self.dtype
        if self.typed_scale:
            element = "!qnt.uniform<%s:f32, %s>" % (self.dtype,
                                                    real(self.scale))
        return "tensor<%s>" % "x".join([*map(str, self.shape), element])


Op = collections.namedtuple("Op", "name attrs inputs outputs loc")


class Graph:
    def __init__(self, name, march, seed):
        self.name, self.march = name, march
        self.rng = np.random.default_rng(seed)
        self.inputs, self.results, self.ops = [], [], []
        self.used = collections.Counter()

    def input(self, name, dtype, shape, scale=None):
        v = Value(dtype, shape, scale=scale)
        v.name = name
        self.inputs.append(v)
        return v

    def constant(self, data, dtype):
        return Value(dtype, np.shape(data),
                     np.ascontiguousarray(data, DTYPES[dtype]))

    def op(self, op, name, inputs, dtype, shape, attrs, scale=None, loc=None):
        """One result. name: of the layer and the tensor; None: no location
        gives one."""
        base = name or "%s_%d" % (op, self.position(inputs))
        self.used[base] += 1
        tensor = base
        if self.used[base] > 1:
            tensor = "%s#%d" % (base, self.used[base])
        v = Value(dtype, shape, scale=scale)
        v.name = tensor
        self.ops.append(Op(op, attrs, list(inputs), [v],
                           (loc or "name", name)))
        return v

    def position(self, inputs):
        """Of an operation that comes next: constants stand in front."""
        used = [v for o in self.ops for v in o.inputs] + list(inputs)
        return len(self.ops) + len({id(v) for v in used
                                    if v.data is not None})

    def result(self, v, name):
        """The function's result: the tensor has the result's name."""
        v.name = name
        self.results.append(v)


def real(x):
    text = "%.17g" % float(x)
    if "e" in text:
        mantissa, e = text.split("e")
        return (mantissa if "." in mantissa else mantissa + ".0") + "e" + e
    return text if "." in text else text + ".0"


def string(s):
    """A string of MLIR: quotes, backslashes and all beyond ASCII escaped."""
    out = ""
    for b in s.encode():
        c = chr(b)
        out += c if 32 <= b < 127 and c not in '"\\' else "\\%02X" % b
    return '"%s"' % out


def attribute(v, inner=False):
    if isinstance(v, Raw):
        return str(v)
    if isinstance(v, (bool, np.bool_)):
        return "true" if v else "false"
    if isinstance(v, (int, np.integer)):
        return "%d" % v if inner else "%d : i64" % v
    if isinstance(v, (float, np.floating)):
        return real(v) if inner else real(v) + " : f64"
    if isinstance(v, str):
        return string(v)
    if isinstance(v, Typed):
        return "array<i32: %s>" % ", ".join(map(str, v))
    return "[%s]" % ", ".join(attribute(x, True) for x in v)


def key(name):
    plain = name.replace("_", "a").replace(".", "a").replace("$", "a")
    return name if plain.isalnum() and not name[0].isdigit() else string(name)


def dictionary(d):
    return "{%s}" % ", ".join("%s = %s" % (key(k), attribute(v))
                              for k, v in sorted(d.items()))


def nested(v, dtype):
    if v.ndim:
        return "[%s]" % ", ".join(nested(x, dtype) for x in v)
    if dtype[0] == "f":
        return real(v)
    return str(int(v)) if dtype != "i1" else ("true" if v else "false")


class Writer:
    """constants: how the large ones are written: list, hex, resource or npz;
    small ones and splats as lists."""

    def __init__(self, graph, generic=False, constants="list"):
        self.g, self.generic, self.how = graph, generic, constants
        self.lines, self.n = [], 0
        self.aliases, self.resources, self.npz = {}, {}, {}
        self.front = set()  # aliases that stand in front of the module
        self.position = 0

    # -- locations ------------------------------------------------------------

    def alias(self, text):
        return self.aliases.setdefault(text, "#loc%d" % (
            len(self.aliases) + 1))

    def location(self, loc):
        kind, name = loc
        if name is None:
            return "loc(unknown)"
        s = string(name)
        plain = self.alias("loc(%s)" % s)
        file = self.alias('loc("model/blocks.py":%d:%d)' % (
            20 + len(name), 1 + len(name) % 9))
        if kind == "fused":
            return "loc(%s)" % self.alias("loc(fused<\"graph\">[%s, %s])" % (
                file, plain))
        if kind == "nested":
            inner = self.alias("loc(%s(%s))" % (s, file))
            return "loc(%s)" % self.alias("loc(fused[%s, %s])" % (file, inner))
        if kind in ("inline", "callsite"):
            self.front.add(file)
        if kind == "inline":
            return "loc(%s(%s))" % (s, file)
        if kind == "callsite":
            return "loc(callsite(%s at %s))" % (s, file)
        return "loc(%s)" % plain

    # -- operations -----------------------------------------------------------

    def literal(self, v):
        data = v.data
        kind = "tensor<%s>" % "x".join([*map(str, v.shape), v.dtype])
        if data.size > 1 and (data == data.reshape(-1)[0]).all():
            one = nested(data.reshape(-1)[0], v.dtype)
            return "dense<%s> : %s" % (one, kind)
        if data.size <= 8 or self.how == "list":
            return "dense<%s> : %s" % (nested(data, v.dtype), kind)
        hexed = data.astype(data.dtype.newbyteorder("<")).tobytes().hex()
        if self.how == "hex":
            return 'dense<"0x%s"> : %s' % (hexed.upper(), kind)
        n = len(self.resources) + len(self.npz)
        name = "w_%d" % n if n % 5 else "w.%d" % n
        if self.how == "npz":
            self.npz[name] = data
        else:
            self.resources[name] = "0x%02X000000%s" % (
                max(data.dtype.itemsize, 4), hexed.upper())
        return "dense_resource<%s> : %s" % (key(name), kind)

    def emit(self, text, loc, depth=2):
        self.lines.append("  " * depth + text + " " + self.location(loc))

    def operand(self, v):
        if v.ssa is None and v.data is not None:
            v.ssa = "%%%s" % self.fresh()
            arith = v.dtype == "f32"
            self.emit('%s = "%s"() <{%s = %s}> : () -> %s' % (
                v.ssa, "arith.constant" if arith else
                "hbdk.constant" if self.position % 2 else "hbir.constant",
                "value" if arith else "values", self.literal(v), v.type()),
                ("name", None))
            self.position += 1
        return v.ssa

    def fresh(self):
        self.n += 1
        return str(self.n - 1)

    def operation(self, op):
        inputs = [self.operand(v) for v in op.inputs]
        out = op.outputs[0]
        out.ssa = "%" + self.fresh()
        attrs, props = {}, dict(op.attrs)
        # What older printers put behind the regions, newer ones in front.
        if self.position % 3 == 0:
            attrs, props = props, {}
        attrs["instanceId"] = self.position
        text = '%s = "%s"(%s)' % (out.ssa, op.name, ", ".join(inputs))
        if props:
            text += " <%s>" % dictionary(props)
        text += " " + dictionary(attrs)
        text += " : (%s) -> %s" % (
            ", ".join(v.type() for v in op.inputs), out.type())
        self.emit(text, op.loc)
        self.position += 1

    def border(self, v, k):
        d = {"hbir.name": v.name, "hbir.id": k}
        if k == 0:
            d["hbir.desc"] = "first \"%s\"" % v.name
        if v.scale is not None and np.ndim(v.scale) == 0 and \
                v.dtype in ("si8", "si16"):
            d["hbir.scale"] = Raw("!qnt.uniform<%s:f32, %s>" % (
                v.dtype, real(v.scale)))
        return dictionary(d)

    def text(self):
        g = self.g
        for v in g.inputs:
            v.ssa = "%%arg%d" % g.inputs.index(v)
        for op in g.ops:
            for v in (*op.inputs, *op.outputs):
                if v not in g.inputs:
                    v.ssa = None
        for op in g.ops:
            self.operation(op)
        back = ", ".join(v.ssa for v in g.results)
        types = ", ".join(v.type() for v in g.results)
        here = self.alias('loc("model.py":1:1)')
        module = {"hbdk.perf_stage": 1, "hbdk.target": g.march}
        if self.generic:
            head = ['"builtin.module"() ({',
                    '  "func.func"() <{arg_attrs = [%s], function_type = '
                    '(%s) -> (%s), res_attrs = [%s], sym_name = "main"}> ({'
                    % (", ".join(self.border(v, k)
                                 for k, v in enumerate(g.inputs)),
                       ", ".join(v.type() for v in g.inputs), types,
                       ", ".join(self.border(v, k)
                                 for k, v in enumerate(g.results))),
                    "  ^bb0(%s):" % ", ".join(
                        "%s: %s loc(%s)" % (v.ssa, v.type(), here)
                        for v in g.inputs)]
            tail = ['    "func.return"(%s) : (%s) -> () loc(%s)' % (
                back, types, here),
                "  }) : () -> () loc(%s)" % here,
                "}) %s : () -> () loc(%s)" % (dictionary(module), here)]
        else:
            head = ["module attributes %s {" % dictionary(module),
                    "  func.func @main(%s) -> (%s) {" % (
                        ", ".join("%s: %s %s loc(%s)" % (
                            v.ssa, v.type(), self.border(v, k), here)
                            for k, v in enumerate(g.inputs)),
                        ", ".join("%s %s" % (v.type(), self.border(v, k))
                                  for k, v in enumerate(g.results)))]
            tail = ["    return %s : %s loc(%s)" % (back, types, here),
                    "  } loc(%s)" % here, "} loc(%s)" % here]
        known = {name: "%s = %s" % (name, text)
                 for text, name in self.aliases.items()}
        # Only the location of a whole operation may be told later.
        out = [t for n, t in known.items() if n in self.front]
        out += head + self.lines + tail
        out += [t for n, t in known.items() if n not in self.front]
        if self.resources:
            out += ["", "{-#", "  dialect_resources: {", "    builtin: {",
                    ",\n".join('      %s: "%s"' % (key(k), v)
                               for k, v in self.resources.items()),
                    "    }", "  }", "#-}"]
        return "\n".join(out) + "\n"
