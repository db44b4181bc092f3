# SPDX-License-Identifier: Apache-2.0
"""STAND-IN, not the vendor's package: see __init__.py."""
import json
import os
import signal
import time

import numpy as np

from . import ops

MODE = set(os.environ.get("HBDK4_STANDIN", "").split(","))


def parts(kind):
    """'tensor<1x8xsi8>' -> shape, element"""
    words = kind[len("tensor<"):-1].split("x")
    return tuple(int(w) for w in words[:-1]), words[-1]


class Type:
    def __init__(self, kind):
        shape, self.dtype = parts(kind)
        self.shape = self.dims = shape
        self.np_dtype = ops.TYPE[self.dtype]


class Value:
    def __init__(self, name, kind):
        self.name, self.type = name, Type(kind)


class Location:
    def __init__(self, text):
        self.text = text

    def __str__(self):
        return "loc(%s)" % self.text


class Operation:
    def __init__(self, function, op):
        self.type = op["op"]
        self.name = op["loc"] or "loc(unknown)"
        if "nameless" in MODE:
            self.name = "?"
        self.location = Location(json.dumps(op["loc"]) if op["loc"] and
                                 "nameless" not in MODE else "unknown")
        self.inputs = [Value(v, function.kinds[v]) for v in op["in"]]
        self.outputs = [Value(op["loc"], k) for k in op["types"]]


if "no-type" in MODE:
    del Value.__init__

    def bare(self, name, kind):
        self.name = name
    Value.__init__ = bare


class Function:
    def __init__(self, data):
        self.data = data
        self.kinds = {a["value"]: a["type"] for a in data["args"]}
        for op in data["ops"]:
            self.kinds.update(zip(op["out"], op["types"]))
        self.callback, self.calls, self.memory = None, 0, {}

    @property
    def flatten_inputs(self):
        return [Value(a["name"], a["type"]) for a in self.data["args"]]

    @property
    def flatten_outputs(self):
        return [Value(r["name"], self.kinds[r["value"]])
                for r in self.data["results"]]

    def register_callback(self, callback, enable_track=True):
        self.callback = callback

    def values(self, feed, hook=None):
        have = {}
        for a in self.data["args"]:
            if a["name"] not in feed:
                raise ValueError("cannot find argument named " + a["name"])
            v = feed[a["name"]]
            if v.shape != parts(a["type"])[0]:
                raise ValueError("shape of argument " + a["name"])
            have[a["value"]] = v
        for op in self.data["ops"]:
            if op["run"] == "constant":
                shape, kind = parts(op["types"][0])
                have[op["out"][0]] = np.array(
                    op["data"], ops.TYPE[kind]).reshape(shape)
                continue
            out = ops.RUN[op["run"]](op["p"], *[have[v] for v in op["in"]])
            kind = parts(op["types"][0])[1]
            # Results live in memory that the next call uses again.
            kept = self.memory.setdefault(
                op["out"][0], np.empty(out.shape, ops.TYPE[kind]))
            kept[...] = out
            have[op["out"][0]] = kept
            if hook:
                hook(op, [kept])
        return have

    def called(self, seen):
        todo = list(reversed(seen)) if "backwards" in MODE else seen
        if "strange" in MODE:
            op, arrays = todo[0]
            todo = [(dict(op, op="hbtl.move", loc="helper"), arrays)] + todo
        for k, (op, arrays) in enumerate(todo):
            if "early" in MODE and k >= 3:
                break
            arrays = list(arrays)
            if op["loc"] == "stem":
                if "none" in MODE:
                    arrays[0] = None
                elif "shape" in MODE:
                    arrays[0] = arrays[0].reshape(-1)
                elif "dtype" in MODE:
                    arrays[0] = arrays[0].astype(np.int64)
                elif "object" in MODE:
                    arrays[0] = np.array([object()])
            go_on = self.callback(Operation(self, op), arrays, [])
            if "false-goes-on" in MODE and go_on:
                break
        for _, arrays in seen:
            arrays[0].fill(0)  # the memory is used again

    def feed(self, inputs):
        self.calls += 1
        if "raise" in MODE and self.calls > 1:
            raise RuntimeError("out of cheese\nand a long trace")
        if "kill" in MODE and self.calls > 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        seen = []

        def hook(op, arrays):
            if "slow" in MODE:
                time.sleep(0.3)
            seen.append((op, [a.copy() for a in arrays]))
        values = self.values(inputs, hook)
        out = {r["name"]: values[r["value"]] for r in self.data["results"]}
        if self.callback is not None:
            self.called(seen)
        return self.spoil(out)

    def spoil(self, out):
        first = next(iter(out))
        if "feed-none" in MODE:
            return None
        if "feed-shape" in MODE:
            out[first] = out[first].reshape(-1)
        if "feed-object" in MODE:
            out[first] = np.array([None])
        if "lost" in MODE:
            del out[first]
        if "unstable" in MODE and self.callback is None:
            out[first] = out[first] + 1
        return out

    def extract_function(self, input_names, output_names):
        if "extract-fails" in MODE:
            raise RuntimeError("cannot be extracted")
        data, names = self.data, {}
        for a in data["args"]:
            names[a["name"]] = a["value"]
        for op in data["ops"]:
            if op["loc"] and op["run"] != "constant":
                names.setdefault(op["loc"], op["out"][0])
        for r in data["results"]:
            names[r["name"]] = r["value"]
        wanted = [names[n] for n in output_names]
        given = [names[n] for n in input_names]
        need, keep = set(wanted), []
        for op in reversed(data["ops"]):
            if op["out"][0] in need and op["out"][0] not in given:
                keep.insert(0, op)
                need.update(op["in"])
        return Module(dict(
            data, ops=keep,
            args=[{"name": n, "value": v, "type": self.kinds[v]}
                  for n, v in zip(input_names, given) if v in need],
            results=[{"name": n, "value": v}
                     for n, v in zip(output_names, wanted)]))


for word, name in (("no-feed", "feed"), ("no-inputs", "flatten_inputs"),
                   ("no-callback", "register_callback"),
                   ("no-extract", "extract_function")):
    if word in MODE:
        delattr(Function, name)


class Printer:
    """What Module.module is: it prints itself."""

    def __init__(self, data):
        self.data = data
        self.operation = self

    def __str__(self):
        return self.get_asm(True, True)

    def get_asm(self, print_generic_op_form=False, enable_debug_info=False):
        d, debug = self.data, enable_debug_info
        ssa = {a["value"]: "%%arg%d" % k for k, a in enumerate(d["args"])}
        kinds, lines = {a["value"]: a["type"] for a in d["args"]}, []
        for k, op in enumerate(d["ops"]):
            ssa[op["out"][0]] = "%%%d" % k
            kinds.update(zip(op["out"], op["types"]))
            lines.append("    %%%d = \"%s\"(%s)%s : (%s) -> %s%s" % (
                k, op["op"], ", ".join(ssa[v] for v in op["in"]),
                " <{%s}>" % self.attrs(op) if self.attrs(op) else "",
                ", ".join(kinds[v] for v in op["in"]), op["types"][0],
                self.loc(op, k) if debug else ""))
        head = ", ".join("%s: %s {hbir.name = %s}" % (
            ssa[a["value"]], a["type"], json.dumps(a["name"]))
            for a in d["args"])
        tail = ", ".join("%s {hbir.name = %s}" % (
            kinds[r["value"]], json.dumps(r["name"])) for r in d["results"])
        back = ", ".join(ssa[r["value"]] for r in d["results"])
        types = ", ".join(kinds[r["value"]] for r in d["results"])
        attributes = ", ".join("%s = %s" % kv for kv in
                               d["attributes"].items())
        return "\n".join(
            ["#loc1 = loc(\"block.py\":7:3)",
             "module attributes {%s} {" % attributes,
             "  func.func @main(%s) -> (%s) {" % (head, tail)] + lines +
            ["    return %s : %s" % (back, types), "  }", "}", ""])

    def attrs(self, op):
        if op["run"] != "constant":
            return op["attrs"]
        if "elide" in MODE and len(op["data"]) > 16:
            return "values = dense_resource<__elided__> : " + op["types"][0]
        shape, kind = parts(op["types"][0])
        data = np.array(op["data"], ops.TYPE[kind]).reshape(shape)
        if len(op["data"]) > 100:  # as MLIR prints long ones
            text = '"0x%s"' % data.tobytes().hex().upper()
        else:
            text = json.dumps(data.tolist())
        return "values = dense<%s> : %s" % (text, op["types"][0])

    @staticmethod
    def loc(op, k):
        if not op["loc"]:
            return " loc(unknown)"
        name = json.dumps(op["loc"])
        return (" loc(%s)" % name, " loc(%s(#loc1))" % name,
                " loc(fused<\"graph\">[\"block.py\":%d:3, %s])" % (k, name)
                )[k % 3]


if "no-asm" in MODE:
    del Printer.get_asm
    Printer.__str__ = object.__str__
elif "no-keywords" in MODE:
    Printer.whole = Printer.get_asm
    Printer.__str__ = lambda self: self.whole(True, True)
    Printer.get_asm = lambda self: self.whole(True, True)


class Module:
    def __init__(self, data):
        if data.get("standin") != "bc":
            raise ValueError("not MLIR bytecode")
        self.functions = [Function(data)]
        self.march, self.version = data["march"], "standin"
        if "no-module" not in MODE:
            self.module = Printer(data)

    def __getitem__(self, k):
        return self.functions[k]


def load_module(path):
    with open(path, encoding="utf-8") as f:
        return Module(json.load(f))
