#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make a case folder for assay with the vendor's own tools (J6, RDK S100).

    hbir_export.py quantized.bc -i INPUTS -o CASE
        [--hbm MODEL.hbm [--remote-ip ADDRESS]] [--stage qat.bc]
        [--from LAYER] [--to LAYER] [--self-check] [--resume]

Runs in the vendor's container (Python 3.8 or later, numpy, hbdk4.compiler).
It is one file, however long, since it is copied there by itself. The model is
written as generic MLIR text (model.mlir; large constants in constants.npz),
and every tensor of it as the vendor's own interpreter computes it (golden/).

INPUTS, repeatable: an npz (input name -> array; one more axis in front is
several samples), a folder of npz files, of NAME.npy or NAME.bin files, or of
such folders, one a sample; NAME=FILE (npy, or raw bytes of the input's type);
for a model with one input also a plain npy or raw file.

--hbm runs the compiled model as well: in the vendor's simulation (sim/), or
with --remote-ip on a board (bpu/). A board's user and password are taken from
HBIR_EXPORT_USER and HBIR_EXPORT_PASSWORD, never from the command line.
--stage takes a float-stage file (fake-quant operators): its tensors only.

The case appears under its name when it is complete. What was interrupted
stays in CASE.partial and goes on with --resume. docs/quantized-bc.md.

Exit code: 0 the case is there; 1 --self-check found a difference; 2 anything
else, with one sentence; 130, 143 interrupted.
"""
import argparse
import collections
import fcntl
import glob
import hashlib
import inspect
import io
import json
import os
import platform
import re
import shutil
import signal
import sys
import threading
import time
import traceback
import zipfile

SUFFIX = ".partial"
LARGE = 1024  # bytes of a constant's text that stay in model.mlir
RESOURCE = "assay_constant_"
CONSTANTS = ("hbir.constant", "hbdk.constant", "b30.constant",
             "arith.constant", "b30vpu.constant")
RETURNS = ("return", "func.return")
FAKE_QUANT = "qnt.const_fake_quant"
MAX_NAMED = 5  # names that one note lists


class Refused(Exception):
    """One sentence for the user."""

    def __init__(self, text, code=2):
        Exception.__init__(self, text)
        self.code = code


def say(text):
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def first_line(error):
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else "no reason given"


def reason(error):
    return "%s: %s" % (type(error).__name__, first_line(error))


def sha256(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            h.update(block)
    return h.hexdigest()


def some(names):
    names = list(names)
    more = len(names) - MAX_NAMED
    return ", ".join(str(n) for n in names[:MAX_NAMED]) + (
        " and %d more" % more if more > 0 else "")


def dims_text(shape):
    return "x".join("?" if d is None or d < 0 else str(d) for d in shape) \
        or "scalar"


def type_text(dtype, shape):
    return "%s %s" % (dtype, dims_text(shape))


# ---- the vendor's package ---------------------------------------------------

class Vendor:
    """hbdk4.compiler: only the names of docs/quantized-bc.md are used, and a
    missing one is named together with the version that was met."""

    def __init__(self):
        self.module = self.imported("hbdk4.compiler")
        self.version = self.find_version()

    @staticmethod
    def imported(name, why="the vendor's compiler"):
        try:
            return __import__(name, fromlist=["*"])
        except ImportError as e:
            missing = getattr(e, "name", None) or name
            raise Refused("package '%s' is missing (%s): run this in the "
                          "vendor's container" % (missing, why))
        except Exception as e:
            raise Refused("package '%s' cannot be loaded: %s" %
                          (name, reason(e)))

    def find_version(self):
        for module in (self.module, sys.modules.get("hbdk4")):
            text = getattr(module, "__version__", None)
            if isinstance(text, str) and text:
                return text
        try:
            version = __import__("hbdk4.compiler.version", fromlist=["*"])
            text = getattr(version, "VERSION", None)
            if isinstance(text, str) and text:
                return text
        except Exception:
            pass
        try:
            import importlib.metadata as metadata
            for name in ("hbdk4-compiler", "hbdk4_compiler", "hbdk4"):
                try:
                    return metadata.version(name)
                except Exception:
                    pass
        except ImportError:
            pass
        return ""

    def missing(self, name):
        return Refused("'%s' is missing: this version of hbdk4.compiler (%s) "
                       "has no such name" % (name, self.version or
                                             "it does not say which"))

    def name(self, owner, *names):
        """The first of the attributes that is there."""
        for name in names:
            try:
                value = getattr(owner, name)
            except AttributeError:
                continue
            except Exception as e:
                raise Refused("'%s.%s' cannot be read: %s" %
                              (type(owner).__name__, name, reason(e)))
            if value is not None:
                return value
        whose = "hbdk4.compiler" if owner is self.module \
            else type(owner).__name__
        raise self.missing("%s.%s" % (whose, names[0]))

    def load(self, path):
        load = self.name(self.module, "load")
        if not os.path.isfile(path):
            raise Refused("model '%s' is not there" % path)
        try:
            module = load(path)
        except Exception as e:
            raise Refused("'%s' cannot be loaded by hbdk4.compiler %s: %s (was "
                          "it made by another version?)" %
                          (path, self.version, reason(e)))
        if module is None:
            raise Refused("'%s': hbdk4.compiler.load gave nothing" % path)
        return module

    def function(self, module, path):
        try:
            count = len(self.name(module, "functions", "graphs"))
        except TypeError:
            count = 1
        if count != 1:
            raise Refused("'%s' has %d functions, expected one: extract it "
                          "first" % (path, count))
        try:
            function = module[0]
        except (TypeError, AttributeError):
            function = self.name(module, "functions", "graphs")[0]
        if function is None:
            raise Refused("'%s': its function is None" % path)
        return function

    def signature(self, function, what):
        """Inputs and outputs: name -> (dtype, shape)."""
        import numpy as np
        out = []
        for side in ("flatten_inputs", "flatten_outputs"):
            items = collections.OrderedDict()
            for k, item in enumerate(self.name(function, side)):
                name = self.name(item, "name")
                kind = self.name(item, "type")
                shape = self.name(kind, "shape")
                try:
                    dtype = np.dtype(self.name(kind, "np_dtype"))
                    shape = tuple(int(d) for d in shape)
                except (TypeError, ValueError):
                    raise Refused("%s: '%s' has no type that numpy knows: %r "
                                  "%r" % (what, name, kind.np_dtype, shape))
                if str(name) in items:
                    raise Refused("%s: two of its %s are named '%s'" %
                                  (what, side, name))
                items[str(name)] = (dtype, shape)
            out.append(items)
        return out

    def text(self, module):
        """The module as text -> text, how it was had."""
        inner = self.name(module, "module")
        owners = [inner]
        if getattr(inner, "operation", None) is not None:
            owners.insert(0, inner.operation)
        wanted = ({"print_generic_op_form": True, "enable_debug_info": True},
                  {"print_generic_op_form": True}, {})
        problem = None
        for keywords in wanted:
            for owner in owners:
                get = getattr(owner, "get_asm", None)
                if get is None:
                    continue
                try:
                    text = get(**keywords)
                except TypeError as e:
                    problem = e
                    continue
                except Exception as e:
                    raise Refused("get_asm failed: %s" % reason(e))
                if isinstance(text, bytes):
                    text = text.decode("utf-8", "replace")
                if isinstance(text, str) and text.strip():
                    return text, "get_asm(%s)" % ", ".join(sorted(keywords))
        text = str(inner)
        if "func" not in text or "{" not in text:
            raise Refused("'Module.module' gives no text (%s)" %
                          (first_line(problem) if problem else
                           "no get_asm, and print gives '%s'" % text[:60]))
        return text, "print"

    def feed(self, function, feed, types, what, **keywords):
        """function.feed with everything checked and copied."""
        run = self.name(function, "feed")
        try:
            got = run({k: copied(v) for k, v in feed.items()}, **keywords)
        except Exception as e:
            raise Refused("%s: the vendor's feed failed: %s" %
                          (what, reason(e)))
        if got is None or not hasattr(got, "items"):
            raise Refused("%s: the vendor's feed gave %s, expected a dict" %
                          (what, "nothing" if got is None
                           else type(got).__name__))
        out = {str(k): array_of(v, "%s: output '%s'" % (what, k))
               for k, v in got.items()}
        for name, (dtype, shape) in types.items():
            if name not in out:
                raise Refused("%s: the vendor's feed gave no '%s', only %s" %
                              (what, name, some(out) or "nothing"))
            check_type(out[name], dtype, shape, "%s: output '%s'" %
                       (what, name))
        return out


def copied(v):
    import numpy as np
    return np.array(v, copy=True, order="C")


def array_of(value, what):
    """A copy as an array: the vendor may use its memory again."""
    import numpy as np
    if value is None:
        raise Refused("%s is None" % what)
    if not isinstance(value, np.ndarray) and not hasattr(value, "__array__"):
        for name in ("numpy", "to_numpy"):
            if callable(getattr(value, name, None)):
                value = getattr(value, name)()
                break
    try:
        out = copied(value)
    except Exception as e:
        raise Refused("%s is no array: %s" % (what, reason(e)))
    if out.dtype.kind not in "biuf":
        raise Refused("%s is %s of dtype %s, no numbers" %
                      (what, type(value).__name__, out.dtype))
    return out.astype(np.uint8) if out.dtype.kind == "b" else out


def plain_type(dtype):
    import numpy as np
    return np.dtype(np.uint8) if dtype is not None and dtype.kind == "b" \
        else dtype


def shape_fits(have, want):
    return len(have) == len(want) and all(
        w < 0 or w == h for h, w in zip(have, want))


def type_fits(a, dtype, shape):
    """None: not known, so it fits."""
    return (shape is None or shape_fits(a.shape, shape)) and \
        (dtype is None or a.dtype == plain_type(dtype))


def check_type(a, dtype, shape, what):
    if not type_fits(a, dtype, shape):
        raise Refused("%s is %s, the model says %s" %
                      (what, type_text(a.dtype, a.shape),
                       type_text(plain_type(dtype), shape or ())))


# ---- the text ---------------------------------------------------------------

ELEMENTS = {"si8": "i1", "i8": "i1", "ui8": "u1", "si16": "i2", "i16": "i2",
            "ui16": "u2", "si32": "i4", "i32": "i4", "ui32": "u4",
            "si64": "i8", "i64": "i8", "ui64": "u8", "f16": "f2", "f32": "f4",
            "f64": "f8", "i1": "u1", "!hbir.bool8": "u1", "bool8": "u1"}
TENSOR = re.compile(r"tensor<((?:(?:\d+|\?)x)*)(!?[A-Za-z][\w.]*)"
                    r"(?:<(\w+):)?")


def tensor_type(text):
    """'tensor<1x8xsi8>' -> dtype or None, shape or None (-1: dynamic)."""
    import numpy as np
    m = TENSOR.match(text.strip())
    if m is None:
        return None, None
    shape = tuple(-1 if d == "?" else int(d)
                  for d in m.group(1).split("x")[:-1])
    element = m.group(2)
    if element == "!qnt.uniform" and m.group(3):
        element = m.group(3)  # what it is stored as
    code = ELEMENTS.get(element)
    return (np.dtype("<" + code) if code else None), shape


def zip_array(z, name, array):
    """What np.savez does, for any name: its own takes none like 'file'."""
    import numpy as np
    data = io.BytesIO()
    np.lib.format.write_array(data, np.asarray(array, order="C"),
                              allow_pickle=False)
    z.writestr(name + ".npy", data.getbuffer())


class Constants:
    """constants.npz while it is written: one array after the other."""

    def __init__(self, path):
        self.path, self.zip, self.count, self.bytes = path, None, 0, 0

    def add(self, name, array):
        if self.zip is None:
            self.zip = zipfile.ZipFile(self.path + ".new", "w",
                                       zipfile.ZIP_DEFLATED, True)
        zip_array(self.zip, name, array)
        self.count += 1
        self.bytes += array.nbytes

    def close(self):
        if self.zip is not None:
            self.zip.close()
            os.replace(self.path + ".new", self.path)


def dense_array(body, dtype, shape):
    """The data between dense< and >; None: not understood, stays as text."""
    import numpy as np
    if dtype is None or shape is None or any(d < 0 for d in shape):
        return None
    count = 1
    for d in shape:
        count *= d
    if body.startswith('"'):
        if not body.startswith('"0x') or not body.endswith('"'):
            return None
        try:
            data = bytes.fromhex(body[3:-1])
        except ValueError:
            return None
        if len(data) != count * dtype.itemsize:
            return None
        return np.frombuffer(data, dtype).reshape(shape)
    items = body.replace("[", "").replace("]", "").split(",")
    if len(items) != count:
        return None
    try:
        if dtype.kind == "f":
            return np.array([hex_float(x.strip(), dtype) for x in items],
                            dtype).reshape(shape)
        return np.array([int(x, 0) for x in items], dtype).reshape(shape)
    except (ValueError, OverflowError):
        return None


def hex_float(text, dtype):
    import numpy as np
    if not text.startswith("0x"):
        return float(text)
    return np.array(int(text, 16), "<u%d" % dtype.itemsize).view(dtype)[()]


def take_out(text, constants, write, large=LARGE):
    """Writes the text with its large constants in `constants` instead. One
    walk from front to back; names in strings are passed over."""
    mark = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|dense<|dense_resource<')
    after = re.compile(r'\s*:\s*(tensor<[^\n]{0,400})')
    section = text.rfind("{-#")
    end = section if section >= 0 else len(text)
    at, done, types = 0, 0, {}
    while True:
        m = mark.search(text, at, end)
        if m is None:
            break
        at = m.end()
        if m.group() == "dense_resource<":
            close = text.find(">", at, end)
            name = text[at:close].strip('"') if close > 0 else ""
            if "elided" in name:
                raise Refused("the text leaves constants out ('%s'): the "
                              "printer of this version elides them" % name)
            t = after.match(text, close + 1)
            types[name] = tensor_type(t.group(1)) if t else (None, None)
            continue
        if m.group() != "dense<":
            continue
        if text.startswith('"', at):
            close = text.find('"', at + 1, end) + 1
        else:
            close = text.find(">", at, end)
        if close <= 0 or text[close:close + 1] != ">":
            continue
        if "elided" in text[at:min(close, at + 40)]:
            raise Refused("the text leaves constants out (dense<__elided__>): "
                          "the printer of this version elides them")
        first, at = at, close
        if close - first <= large:
            continue
        t = after.match(text, close + 1)
        array = dense_array(text[first:close], *tensor_type(t.group(1))) \
            if t else None
        if array is None:
            continue
        name = "%s%d" % (RESOURCE, constants.count)
        constants.add(name, array)
        write(text[done:first - len("dense<")])
        write("dense_resource<%s" % name)
        done = close
    write(text[done:end])
    if section >= 0:
        write(without_resources(text[section:], types, constants, large))


def without_resources(section, types, constants, large):
    """The file's resources: `name: "0x<alignment><bytes>"`."""
    import numpy as np
    entry = re.compile(r'\s*([\w.$-]+|"[^"]*")\s*:\s*"0x([0-9A-Fa-f]*)"\s*,?')
    out, at = [], 0
    for m in entry.finditer(section):
        name = m.group(1).strip('"')
        dtype, shape = types.get(name, (None, None))
        if dtype is None or len(m.group(2)) <= large:
            continue
        data = bytes.fromhex(m.group(2))[4:]
        count = int(np.prod(shape, dtype=np.int64))
        if len(data) != count * dtype.itemsize:
            continue
        constants.add(name, np.frombuffer(data, dtype).reshape(shape))
        out.append(section[at:m.start()])
        at = m.end()
    text = re.sub(r",(\s*})", r"\1", "".join(out) + section[at:])
    empty = r"\{-#\s*dialect_resources\s*:\s*\{\s*builtin\s*:\s*\{\s*\}" \
        r"\s*\}\s*#-\}\s*"
    return re.sub(empty, "", text)


# ---- reading it, as far as names go -----------------------------------------

TOKEN = re.compile(
    r'\s+|//[^\n]*|(?P<s>"[^"\\]*(?:\\.[^"\\]*)*")|(?P<v>%[\w.$-]+(?:#\d+)?)|'
    r'(?P<w>[@^!#]?[\w.$]+(?:::@?[\w.$]+)*)|(?P<p>->|>=|<=|==|\{-#|#-\}|.)',
    re.S)
OPEN, CLOSE = {"(": ")", "[": "]", "{": "}", "<": ">"}, set(")]}>")


def unquoted(s):
    def one(m):
        e = m.group(1)
        simple = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
        return simple[e] if e in simple else chr(int(e, 16))
    raw = re.sub(r"\\([nt\"\\]|[0-9A-Fa-f]{2})", one, s[1:-1])
    try:
        return raw.encode("latin-1").decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError):
        return raw


class Operation:
    def __init__(self, kind, position):
        self.kind, self.position = kind, position
        self.results, self.operands = [], []  # (value, type text); values
        self.loc, self.attrs = "", ""
        self.name, self.base, self.tensors = None, None, []

    @property
    def constant(self):
        return self.kind in CONSTANTS


class Text:
    """What of a generic MLIR module is needed here: the function's arguments,
    operations in order, their operands, result types and locations. Not a
    check of the text: that is assay's importer."""

    def __init__(self, text, what):
        self.what, self.text = what, text
        self.tokens = [(m.lastgroup, m.group(), m.start(), m.end())
                       for m in TOKEN.finditer(text) if m.lastgroup]
        self.at, self.aliases, self.functions = 0, {}, []
        self.module_attrs = ""
        self.walk()
        public = [f for f in self.functions if f["name"] == "main"]
        if len(self.functions) == 1:
            public = self.functions
        if not public:
            raise Refused("%s: its text has %d functions (%s), expected one, "
                          "or one named main" % (what, len(self.functions),
                                                 some(f["name"] for f in
                                                      self.functions)))
        self.function = public[0]
        self.name_all()

    def peek(self, k=0):
        i = self.at + k
        return self.tokens[i][1] if i < len(self.tokens) else ""

    def kind(self, k=0):
        i = self.at + k
        return self.tokens[i][0] if i < len(self.tokens) else ""

    def skip(self):
        """One balanced group, or one token; -> its text."""
        begin = self.tokens[self.at][2] if self.at < len(self.tokens) else 0
        depth = 0
        while self.at < len(self.tokens):
            t, kind = self.peek(), self.kind()
            self.at += 1
            if kind == "p" and t in OPEN:
                depth += 1
            elif kind == "p" and t in CLOSE:
                depth -= 1
            if depth <= 0:
                break
        return self.text[begin:self.tokens[self.at - 1][3]]

    def until(self, *ends):
        """Balanced text up to one of the tokens, which stays."""
        begin = self.at
        while self.at < len(self.tokens) and self.peek() not in ends:
            self.skip()
        if self.at == begin:
            return ""
        return self.text[self.tokens[begin][2]:self.tokens[self.at - 1][3]]

    def walk(self):
        # Aliases may stand behind their uses: read first.
        for m in re.finditer(r"^(#[\w.$]+)\s*=\s*loc\s*\((.*)\)\s*$",
                             self.text, re.M):
            self.aliases[m.group(1)] = m.group(2)
        module = re.search(r"\bmodule\b[^{]*\battributes\s*\{", self.text)
        if module and "func" not in self.text[:module.start()]:
            self.module_attrs = balanced(self.text, module.end() - 1)
        elif self.text.lstrip()[:200].find('"builtin.module"') >= 0 or \
                '"builtin.module"' in self.text[:4096]:
            self.module_attrs = self.generic_module_attrs()
        while self.at < len(self.tokens):
            t = self.peek()
            if t in ("func.func", '"func.func"'):
                self.read_function()
            else:
                self.at += 1

    def generic_module_attrs(self):
        start = self.text.find('"builtin.module"')
        props = self.text.find("<{", start, start + 200)
        out = balanced(self.text, props + 1) if props >= 0 else ""
        # Discardable attributes stand behind the region, at the end.
        tail = self.text.rstrip()
        section = tail.rfind("{-#")
        m = re.search(r"\}\)\s*(\{.*\})\s*:\s*\(\)\s*->\s*\(\)",
                      tail[max(0, (section if section >= 0 else len(tail))
                               - 8192):], re.S)
        if m:
            behind = m.group(1)
            k = behind.rfind("})")
            behind = behind[k + 2:].strip() if k >= 0 else behind
            out += " " + behind
        return out

    def loc(self):
        if self.peek() != "loc":
            return ""
        self.at += 1
        return self.skip()[1:-1]

    def read_function(self):
        self.at += 1
        f = {"name": "", "args": [], "results": [], "ops": [],
             "returned": []}
        if self.kind(-1) == "s":
            self.generic_function(f)
        else:
            self.custom_function(f)
        if f["ops"]:
            self.functions.append(f)

    def arguments(self, f):
        """( %a: type {attrs} loc(..), ... ) of a block or a function"""
        self.at += 1
        while self.peek() not in (")", ""):
            value = self.peek()
            self.at += 2
            kind = self.until(",", ")", "{", "loc")
            attrs = self.skip() if self.peek() == "{" else ""
            self.loc()
            f["args"].append([value, kind, attr_string(attrs, "hbir.name")])
            if self.peek() == ",":
                self.at += 1
        self.at += 1

    def custom_function(self, f):
        while self.peek() and not self.peek().startswith("@"):
            self.at += 1
        f["name"] = self.peek()[1:]
        self.at += 1
        if self.peek() == "(":
            self.arguments(f)
        if self.peek() == "->":
            self.at += 1
            many = self.peek() == "("
            self.at += many
            while self.peek() not in (")", "attributes", "{", ""):
                kind = self.until(",", ")", "{", "attributes", "loc")
                attrs = self.skip() if many and self.peek() == "{" else ""
                f["results"].append([kind, attr_string(attrs, "hbir.name")])
                if self.peek() != ",":
                    break
                self.at += 1
            self.at += self.peek() == ")"
        if self.peek() == "attributes":
            self.at += 1
            self.skip()
        if self.peek() == "{":
            self.at += 1
            self.body(f)

    def generic_function(self, f):
        self.skip()  # ()
        props = ""
        if self.peek() == "<":
            props = self.skip()
        f["name"] = attr_string(props, "sym_name")
        region = self.peek() == "("
        if not region:
            return
        self.at += 2  # ( {
        if self.peek().startswith("^"):
            self.at += 1
            if self.peek() == "(":
                self.arguments(f)
            self.at += self.peek() == ":"
        self.body(f)
        self.at += self.peek() == ")"
        attrs = self.skip() if self.peek() == "{" else ""
        every = props + attrs
        if not f["name"]:
            f["name"] = attr_string(every, "sym_name")
        for key, where in (("arg_attrs", f["args"]),
                           ("res_attrs", f["results"])):
            lists = attr_dicts(every, key)
            if key == "res_attrs":
                f["results"] = [["", attr_string(d, "hbir.name")]
                                for d in lists]
                continue
            for a, d in zip(where, lists):
                a[2] = a[2] or attr_string(d, "hbir.name")

    def body(self, f):
        """Operations up to the closing brace of the region."""
        position = 0
        while self.peek() not in ("}", ""):
            if self.peek().startswith("^"):
                self.at += 1
                if self.peek() == "(":
                    self.skip()
                self.at += self.peek() == ":"
                continue
            op = self.operation(position)
            position += 1
            f["ops"].append(op)
            if op.kind in RETURNS:
                f["returned"] = op.operands
        self.at += 1

    def operation(self, position):
        results = []
        while self.kind() == "v":
            value, count = self.peek(), None
            self.at += 1
            if self.peek() == ":":
                count = int(self.peek(1))
                self.at += 2
            results += [value] if count is None else \
                ["%s#%d" % (value, k) for k in range(count)]
            self.at += self.peek() == ","
        self.at += self.peek() == "="
        quoted = self.kind() == "s"
        kind = unquoted(self.peek()) if quoted else self.peek()
        op = Operation(kind, position)
        self.at += 1
        if not quoted:
            return self.custom(op, results)
        op.operands = re.findall(r"%[\w.$-]+(?:#\d+)?", self.skip())
        if self.peek() == "[":
            self.skip()
        while self.peek() in ("<", "(", "{"):
            group = self.skip()
            if not group.startswith("("):
                op.attrs += group
        types = []
        if self.peek() == ":":
            self.at += 1
            self.skip()  # operands' types
            self.at += self.peek() == "->"
            types = self.types()
        op.loc = self.loc()
        op.results = list(zip(results, types + [""] * len(results)))
        return op

    def types(self):
        if self.peek() == "(":
            self.at += 1
            out = []
            while self.peek() not in (")", ""):
                out.append(self.until(",", ")"))
                self.at += self.peek() == ","
            self.at += 1
            return out
        begin = self.at
        self.at += 1
        if self.peek() == "<":
            self.skip()
        return [self.text[self.tokens[begin][2]:self.tokens[self.at - 1][3]]]

    def custom(self, op, results):
        """Pretty form (return, and what str() prints): one line."""
        begin = self.tokens[self.at - 1][2]
        stop = self.text.find("\n", begin)
        stop = len(self.text) if stop < 0 else stop
        while self.at < len(self.tokens) and self.tokens[self.at][2] < stop \
                and self.peek() not in ("loc", "}"):
            if self.kind() == "v":
                op.operands.append(self.peek())
            self.skip()
            stop = max(stop, self.text.find("\n", self.tokens[self.at - 1][3]))
        line = self.text[begin:self.tokens[self.at - 1][3]]
        op.attrs = line
        kind = line.rsplit("->", 1)[-1].rsplit(" : ", 1)[-1].strip()
        op.loc = self.loc()
        op.results = [(r, kind) for r in results]
        return op

    # Names: docs/quantized-bc.md "Names". One rule, here and in the importer.
    def loc_name(self, loc, depth=0):
        """The last name of a location; FILE:LINE:COLUMN is none."""
        found = None
        if depth > 32:
            return None
        tokens = [m for m in TOKEN.finditer(loc) if m.lastgroup]
        metadata = 0
        for k, m in enumerate(tokens):
            # fused<...>: what stands between < and > is no location.
            if m.group() == "<" and (metadata or k and
                                     tokens[k - 1].group() == "fused"):
                metadata += 1
            elif m.group() == ">" and metadata:
                metadata -= 1
            if metadata:
                continue
            if m.lastgroup == "s":
                behind = tokens[k + 1].group() if k + 1 < len(tokens) else ""
                if behind != ":":
                    found = unquoted(m.group())
            elif m.group().startswith("#"):
                inner = self.aliases.get(m.group())
                name = self.loc_name(inner, depth + 1) if inner else None
                found = name if name is not None else found
        return found

    def name_all(self):
        f = self.function
        self.tensor_of, self.type_of = {}, {}
        layers, tensors = {}, {}

        def unique(taken, name):
            name = clean(name)
            if name not in taken:
                taken[name] = 2
                return name
            while True:
                text = "%s#%d" % (name, taken[name])
                taken[name] += 1
                if text not in taken:
                    taken[text] = 2
                    return text
        for k, (value, kind, name) in enumerate(f["args"]):
            self.tensor_of[value] = unique(tensors, name or "_input_%d" % k)
            self.type_of[value] = kind
        # Results of the function have their names before any operation.
        constant = {v for op in f["ops"] if op.constant for v, _ in op.results}
        result, seen = {}, set()
        for k, value in enumerate(f["returned"]):
            name = f["results"][k][1] if k < len(f["results"]) else ""
            if value in self.tensor_of or value in constant or value in seen:
                continue
            seen.add(value)
            if name:
                result[value] = unique(tensors, name)
        for op in f["ops"]:
            for value, kind in op.results:
                self.type_of[value] = kind
            if op.constant or op.kind in RETURNS:
                continue
            op.name = unique(layers, attr_string(op.attrs, "hbir.name") or
                             self.loc_name(op.loc) or
                             "%s_%d" % (op.kind, op.position))
            op.base = re.sub(r"#\d+$", "", op.name)
            for k, (value, _) in enumerate(op.results):
                name = result.get(value)
                if name is None:
                    name = op.name if k == 0 else \
                        unique(layers, "%s:%d" % (op.name, k))
                    name = unique(tensors, name)
                op.tensors.append(name)
                self.tensor_of[value] = name
        self.outputs = [self.tensor_of.get(v, "") for v in f["returned"]]
        self.layers = [op for op in f["ops"] if op.name is not None]
        self.producer = {v: op for op in f["ops"] for v, _ in op.results}


def clean(name):
    return re.sub(r"[\x00-\x1f\x7f]", "?", name)


def balanced(text, at):
    """From an opening brace to its closing one, strings passed over."""
    depth = 0
    for m in re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}]').finditer(text, at):
        if m.group() == "{":
            depth += 1
        elif m.group() == "}":
            depth -= 1
            if depth == 0:
                return text[at:m.end()]
    return text[at:]


def attr_string(attrs, key):
    m = re.search(r'(?<![\w."])"?%s"?\s*=\s*("(?:[^"\\]|\\.)*")' %
                  re.escape(key), attrs or "")
    return unquoted(m.group(1)) if m else ""


def attr_dicts(attrs, key):
    """key = [{...}, {}] -> the dictionaries' texts."""
    m = re.search(r"\b%s\s*=\s*\[" % key, attrs)
    out, depth, begin = [], 0, 0
    if m is None:
        return out
    for t in TOKEN.finditer(attrs, m.end()):
        if t.lastgroup != "p":
            continue
        if t.group() == "{":
            if depth == 0:
                begin = t.start()
            depth += 1
        elif t.group() == "}":
            depth -= 1
            if depth == 0:
                out.append(attrs[begin:t.end()])
        elif t.group() == "]" and depth == 0:
            break
    return out


def module_options(attrs):
    """hbdk.* attributes of the module, as text."""
    out = collections.OrderedDict()
    for m in re.finditer(r'"?(hbdk\.[\w.]+)"?(?:\s*=\s*'
                         r'("(?:[^"\\]|\\.)*"|[^,{}]+))?', attrs or ""):
        value = (m.group(2) or "true").strip()
        value = unquoted(value) if value.startswith('"') else \
            value.split(" : ")[0].strip()
        out[m.group(1)] = value
    return out


# ---- samples ----------------------------------------------------------------

def arrays_of(path):
    import numpy as np
    try:
        with np.load(path, allow_pickle=False) as z:
            return {k: z[k] for k in z.files if not k.startswith("__")}
    except Exception as e:
        raise Refused("'%s' is no npz: %s" % (path, first_line(e)))


def array_file(path, dtype, shape):
    """A npy, or raw bytes of this type."""
    import numpy as np
    if not os.path.isfile(path):
        raise Refused("input '%s' is not there" % path)
    if path.endswith(".npy"):
        try:
            return np.load(path, allow_pickle=False)
        except Exception as e:
            raise Refused("'%s' is no npy: %s" % (path, first_line(e)))
    if any(d < 0 for d in shape):
        raise Refused("'%s': raw bytes need a fixed shape, the input is %s" %
                      (path, dims_text(shape)))
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    size = os.path.getsize(path)
    if count == 0 or size == 0 or size % count:
        raise Refused("'%s' has %d bytes, one sample of %s is %d" %
                      (path, size, type_text(dtype, shape), count))
    data = np.fromfile(path, dtype)
    return data.reshape(shape) if size == count else \
        data.reshape((size // count,) + tuple(shape))


def sample_list(array, dtype, shape, path, name):
    """The samples of one array: one, or along a first axis."""
    if array.dtype != plain_type(dtype) and array.dtype != dtype:
        raise Refused("'%s': input '%s' is %s, the model takes %s" %
                      (path, name, array.dtype, dtype))
    if shape_fits(array.shape, shape):
        return [array]
    if shape_fits(array.shape[1:], shape):
        return list(array)
    if shape and shape[0] == 1 and array.ndim == len(shape) and \
            shape_fits((1,) + array.shape[1:], shape):
        return [array[k:k + 1] for k in range(array.shape[0])]
    raise Refused("'%s': input '%s' has shape %s, the model takes %s" %
                  (path, name, dims_text(array.shape), dims_text(shape)))


def combined(parts, path):
    """name -> samples of it, to samples."""
    counts = {len(v) for v in parts.values()}
    if len(counts) > 1:
        raise Refused("'%s': its inputs have different numbers of samples: %s"
                      % (path, ", ".join("%s %d" % (k, len(v))
                                         for k, v in parts.items())))
    return [{n: copied(v[k]) for n, v in parts.items()}
            for k in range(counts.pop() if counts else 0)]


def feeds_of_npz(path, wanted):
    have = arrays_of(path)
    parts = collections.OrderedDict()
    for k, (name, (dtype, shape)) in enumerate(wanted.items()):
        array = have.get(name, have.get("in%d" % k))
        if array is None:
            raise Refused("'%s' lacks input '%s' (or in%d); it has %s" %
                          (path, name, k, some(sorted(have)) or "nothing"))
        parts[name] = sample_list(array, dtype, shape, path, name)
    return combined(parts, path)


def file_of(folder, name, k):
    for base in (name, name.replace("/", "_"), "in%d" % k):
        for end in (".npy", ".bin", ".raw"):
            path = os.path.join(folder, base + end)
            if os.path.isfile(path):
                return path
    return None


def feeds_of_folder(path, wanted):
    npz = sorted(glob.glob(os.path.join(path, "*.npz")))
    if npz:
        return [f for p in npz for f in feeds_of_npz(p, wanted)]
    parts = collections.OrderedDict()
    for k, (name, (dtype, shape)) in enumerate(wanted.items()):
        one = file_of(path, name, k)
        if one is not None:
            parts[name] = sample_list(array_file(one, dtype, shape), dtype,
                                      shape, one, name)
    if len(parts) == len(wanted):
        return combined(parts, path)
    if parts:
        raise Refused("folder '%s' has no NAME.npy or NAME.bin of input '%s'" %
                      (path, next(n for n in wanted if n not in parts)))
    folders = sorted(e.path for e in os.scandir(path) if e.is_dir())
    if not folders:
        raise Refused("folder '%s' has no .npz, and no NAME.npy or NAME.bin of"
                      " the inputs %s" % (path, some(wanted)))
    return [f for p in folders for f in feeds_of_folder(p, wanted)]


def feeds_of(specs, wanted):
    """All samples of all -i."""
    out, named = [], collections.OrderedDict()
    for spec in specs:
        name, equals, path = spec.partition("=")
        if equals and not os.path.exists(spec):
            known = dict(wanted)
            known.update({"in%d" % k: v
                          for k, v in enumerate(wanted.values())})
            if name not in known:
                raise Refused("-i '%s': the model has no input '%s', only %s" %
                              (spec, name, some(wanted)))
            real = name if name in wanted else list(wanted)[int(name[2:])]
            dtype, shape = known[name]
            named.setdefault(real, []).extend(sample_list(
                array_file(path, dtype, shape), dtype, shape, path, real))
        elif os.path.isdir(spec):
            out += feeds_of_folder(spec, wanted)
        elif not os.path.isfile(spec):
            raise Refused("inputs '%s' are not there" % spec)
        elif spec.endswith(".npz"):
            out += feeds_of_npz(spec, wanted)
        elif len(wanted) == 1:
            only, (dtype, shape) = next(iter(wanted.items()))
            out += combined({only: sample_list(
                array_file(spec, dtype, shape), dtype, shape, spec, only)},
                spec)
        else:
            raise Refused("'%s': the model has %d inputs, so write NAME=FILE "
                          "(%s)" % (spec, len(wanted), some(wanted)))
    if named:
        lacking = [n for n in wanted if n not in named]
        if lacking:
            raise Refused("-i NAME=FILE: input '%s' is not given" % lacking[0])
        out += combined(named, "-i")
    return out


# ---- every tensor -----------------------------------------------------------

class Capture:
    """Every intermediate tensor of one function: by register_callback, and
    where there is none by extract_function, layer by layer."""

    def __init__(self, vendor, module, path, text, by_extract=False):
        self.vendor, self.path, self.text = vendor, path, text
        self.function = vendor.function(module, path)
        self.inputs, self.outputs = vendor.signature(self.function, path)
        self.by = collections.defaultdict(list)
        for op in text.layers:
            self.by[op.kind].append(op)
        self.now, self.answer = None, True
        self.how = "extract_function"
        self.strangers, self.problems = collections.OrderedDict(), []
        self.lost = collections.OrderedDict()
        self.told_order = False
        register = None if by_extract else \
            getattr(self.function, "register_callback", None)
        if register is not None:
            self.how = "register_callback"
            try:
                register(self.called)
            except Exception as e:
                raise Refused("'%s.register_callback' failed: %s" %
                              (type(self.function).__name__, reason(e)))
        elif getattr(self.function, "extract_function", None) is None:
            raise Refused("'%s.register_callback' and '.extract_function' are "
                          "both missing: hbdk4.compiler %s shows no "
                          "intermediate tensor" %
                          (type(self.function).__name__, vendor.version))
        elif not by_extract:
            say("note: '%s.register_callback' is missing in hbdk4.compiler %s:"
                " each layer is extracted and run by itself" %
                (type(self.function).__name__, vendor.version))

    # What is raised in here would go through the vendor's interpreter.
    def called(self, op, results, operands=None):
        now = self.now
        if now is None:
            return self.answer
        try:
            self.take(now, op, results)
        except Refused as e:
            now["problem"] = now["problem"] or e
        except Exception as e:
            now["problem"] = now["problem"] or Refused(
                "the callback met what it does not know: %s" % reason(e))
        return self.answer

    def names_of(self, op):
        """(kinds, names) that the vendor's object says of itself."""
        kinds, names = [], []
        for o in (op, getattr(op, "op", None), getattr(op, "operation", None)):
            if o is None:
                continue
            for key in ("type", "name"):
                value = getattr(o, key, None)
                if isinstance(value, str):
                    kinds.append(value)
                    names.append(value)
            for key in ("location", "loc"):
                value = getattr(o, key, None)
                if value is not None:
                    names.append(str(value))
        plain = []
        for n in names:
            m = re.match(r"loc\((.*)\)$", n.strip(), re.S)
            inner = self.text.loc_name(m.group(1)) if m else n
            if inner:
                plain.append(inner)
        return kinds, plain

    def find(self, op, arrays, seen):
        kinds, names = self.names_of(op)
        kind = next((k for k in kinds if k in self.by), None)
        if kind is None:
            if not any(k in CONSTANTS + RETURNS for k in kinds):
                what = kinds[0] if kinds else type(op).__name__
                self.strangers[what] = self.strangers.get(what, 0) + 1
            return None
        pending = [o for o in self.by[kind] if id(o) not in seen]
        same = [o for o in pending
                if o.base in names or o.name in names]
        if not same and any(o.base in names for o in self.by[kind]):
            return None  # run once more
        for o in same or pending:
            if len(o.results) == len(arrays) and all(
                    type_fits(a, *tensor_type(t))
                    for a, (_, t) in zip(arrays, o.results)):
                return o
        if same:
            return same[0]  # told by the check of its type
        return pending[0] if pending else None

    def twins(self, op, named):
        """Could another operation be taken for this one?"""
        def key(o):
            return [o.base if named else "", [t for _, t in o.results]]
        return sum(key(o) == key(op) for o in self.by[op.kind]) > 1

    def take(self, now, op, results):
        if results is None:
            values = []
        elif isinstance(results, dict):
            values = list(results.values())
        elif isinstance(results, (list, tuple)):
            values = list(results)
        elif hasattr(results, "__len__") and not hasattr(results, "__array__"):
            values = list(results)
        else:
            values = [results]
        arrays = [array_of(v, "a result of '%s'" % str(getattr(
            op, "name", "?"))[:100]) for v in values]
        found = self.find(op, arrays, now["seen"])
        if found is None:
            return
        if len(arrays) != len(found.results):
            raise Refused("operation '%s': the callback gave %d results, the "
                          "text says %d" % (found.name, len(arrays),
                                            len(found.results)))
        for array, (_, kind), tensor in zip(arrays, found.results,
                                            found.tensors):
            dtype, shape = tensor_type(kind)
            if shape is not None:
                check_type(array, dtype, shape, "tensor '%s'" % tensor)
            now["tensors"][tensor] = array
        now["seen"].add(id(found))
        named = found.base in self.names_of(op)[1]
        now["order"].append((found, self.twins(found, named)))

    def in_order(self, now):
        """What only the order tells apart is trusted only when the callbacks
        came in the order of the text."""
        known = [o.position for o, twin in now["order"] if not twin]
        if known == sorted(known):
            return
        lost = [t for o, twin in now["order"] if twin for t in o.tensors]
        for tensor in lost:
            del now["tensors"][tensor]
        if lost and not self.told_order:
            self.told_order = True
            say("note: the callbacks came in another order than the text's: "
                "operations of equal name and type cannot be told apart and "
                "are left out: %s" % some(lost))

    def progress(self):
        return (len(self.now["seen"]) if self.now else 0), \
            len(self.text.layers)

    def run(self, feed, sample):
        if self.how == "extract_function":
            return self.run_extracted(feed, sample)
        for answer in (True, False):
            self.answer = answer
            self.now = {"seen": set(), "tensors": collections.OrderedDict(),
                        "order": [], "problem": None}
            final = self.vendor.feed(self.function, feed, self.outputs,
                                     "sample %s" % sample)
            now, done = self.now, len(self.now["seen"])
            self.now = None
            if now["problem"] is not None:
                raise Refused("sample %s: %s" % (sample, now["problem"]))
            if done == len(self.text.layers) or not answer:
                break
            best = (done, now, final)
            if done > 1:  # the answer was understood: a few have none
                break
        if not answer and best[0] >= done:
            done, now, final = best
            self.answer = True
        if done == 0:
            raise Refused("sample %s: the callback was never called with an "
                          "operation of the text (%s): try --by-extract" %
                          (sample, some(self.strangers) or "not at all"))
        self.in_order(now)
        return self.complete(now["tensors"], final, sample)

    def complete(self, tensors, final, sample):
        import numpy as np
        for name, value in zip(self.text.outputs, final.values()):
            if not name:
                continue
            mine = tensors.setdefault(name, value)
            if not np.array_equal(mine, value, equal_nan=False) and not (
                    mine.dtype.kind == "f" and same_bits(mine, value)):
                raise Refused("sample %s: output '%s': the callback saw other "
                              "values than feed gave (%d differ)" %
                              (sample, name, int((mine != value).sum())), 1)
        for op in self.text.layers:
            for name in op.tensors:
                if name not in tensors:
                    self.lost[name] = op.kind
        return tensors

    def run_extracted(self, feed, sample):
        tensors = collections.OrderedDict()
        begun = time.time()
        for k, op in enumerate(self.text.layers):
            self.now = {"seen": range(k)}
            for (_, kind), tensor in zip(op.results, op.tensors):
                value = self.extracted(feed, tensor, sample)
                if value is None:
                    continue
                dtype, shape = tensor_type(kind)
                if shape is not None:
                    check_type(value, dtype, shape, "sample %s: tensor '%s'" %
                               (sample, tensor))
                tensors[tensor] = value
        self.now = None
        if not tensors:
            raise Refused("sample %s: extract_function gave no tensor (%s)" %
                          (sample, self.problems[0] if self.problems
                           else "no reason given"))
        final = self.vendor.feed(self.function, feed, self.outputs,
                                 "sample %s" % sample)
        if time.time() - begun > 60:
            say("note: sample %s took %.0f s" % (sample, time.time() - begun))
        return self.complete(tensors, final, sample)

    def extracted(self, feed, tensor, sample):
        try:
            part = self.function.extract_function(list(self.inputs), [tensor])
            function = self.vendor.function(part, "extract of '%s'" % tensor)
            ins, outs = self.vendor.signature(function,
                                              "extract of '%s'" % tensor)
            got = self.vendor.feed(
                function, {n: feed[n] for n in ins}, outs,
                "sample %s: extract of '%s'" % (sample, tensor))
        except Exception as e:
            self.problems.append("'%s': %s" % (tensor, first_line(e)))
            self.lost[tensor] = "extract"
            return None
        return next(iter(got.values())) if len(got) == 1 else got.get(tensor)


def same_bits(a, b):
    import numpy as np
    return a.shape == b.shape and a.dtype == b.dtype and \
        np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


# ---- the compiled model -----------------------------------------------------

class Compiled:
    """Hbm(path)[0]: in simulation, or on a board."""

    def __init__(self, vendor, path, remote):
        make = getattr(vendor.module, "Hbm", None)
        if make is None:
            module = sys.modules.get("hbdk4.compiler.hbm")
            make = getattr(module, "Hbm", None)
        if make is None:
            raise vendor.missing("hbdk4.compiler.Hbm")
        if not os.path.isfile(path):
            raise Refused("compiled model '%s' is not there" % path)
        self.vendor, self.path, self.side = vendor, path, \
            "bpu" if remote else "sim"
        try:
            hbm = make(path)
            self.function = hbm[0]
        except Exception as e:
            raise Refused("'%s' cannot be loaded as hbm: %s" %
                          (path, reason(e)))
        self.march = text_of(getattr(hbm, "march", None))
        self.keywords = self.credentials(remote) if remote else {}
        self.inputs = self.outputs = None
        try:
            self.inputs, self.outputs = vendor.signature(self.function, path)
        except Refused as e:
            say("note: %s; its inputs and outputs are taken as the model's" %
                e)

    def credentials(self, remote):
        """Where the version's feed takes them: from the environment."""
        out = {"remote_ip": remote}
        feed = self.vendor.name(self.function, "feed")
        try:
            known = inspect.signature(feed).parameters
        except (TypeError, ValueError):
            return out
        for variable, names in (
                ("HBIR_EXPORT_USER", ("username", "user", "remote_user")),
                ("HBIR_EXPORT_PASSWORD", ("password", "remote_password"))):
            value = os.environ.get(variable)
            key = next((n for n in names if n in known), None)
            if value is not None and key is not None:
                out[key] = value
            elif value is not None:
                say("note: %s is not used: feed of hbdk4.compiler %s takes no "
                    "such argument" % (variable, self.vendor.version))
        return out

    def plan(self, text, inputs, outputs):
        """How its inputs are had and what its outputs are, told once."""
        self.notes, self.taken, self.given = [], [], []
        if self.inputs is None:
            self.inputs, self.outputs = inputs, outputs
        self.plan_inputs(text, inputs)
        self.plan_outputs(text, outputs)

    def plan_inputs(self, text, inputs):
        if len(self.inputs) != len(inputs):
            raise Refused("'%s' has %d inputs (%s), the model has %d (%s): of "
                          "another build, or image inputs were added" %
                          (self.path, len(self.inputs), some(self.inputs),
                           len(inputs), some(inputs)))
        values = {name: value for value, _, name in text.function["args"]}
        values.update({name: text.function["args"][k][0]
                       for k, name in enumerate(inputs)})
        for k, (name, (dtype, shape)) in enumerate(self.inputs.items()):
            mine = name
            if name not in inputs:
                mine = list(inputs)[k]
                self.notes.append(
                    "input '%s' of the compiled model is taken as '%s': the "
                    "same place, no such name" % (name, mine))
            if inputs[mine] == (dtype, shape):
                self.taken.append((name, mine, None))
                continue
            tensor = quantized_input(text, values.get(mine), dtype, shape)
            if tensor is None:
                raise Refused("'%s': input '%s' is %s, the model's is %s: of "
                              "another build" % (
                                  self.path, name, type_text(dtype, shape),
                                  type_text(*inputs[mine])))
            self.notes.append("input '%s' is %s in the compiled model: its "
                              "Quantize was removed; it is given the tensor "
                              "'%s'" % (name, dtype, tensor))
            self.taken.append((name, mine, tensor))

    def plan_outputs(self, text, outputs):
        named = dict(zip(outputs, text.function["returned"]))
        for name, (dtype, shape) in self.outputs.items():
            if name not in outputs:
                self.notes.append("output '%s' of the compiled model has no "
                                  "such name in the model: kept as it is" %
                                  name)
                self.given.append((name, name))
                continue
            if outputs[name][0] == dtype:
                self.given.append((name, text.tensor_of.get(named[name],
                                                            name)))
                continue
            tensor = dequantized_from(text, named.get(name), dtype)
            if tensor is None:
                self.notes.append("output '%s' is %s in the compiled model and"
                                  " %s here" % (name, dtype, outputs[name][0]))
            else:
                self.notes.append("output '%s' is %s in the compiled model: "
                                  "its Dequantize was removed; it is the "
                                  "tensor '%s'" % (name, dtype, tensor))
            self.given.append((name, tensor or name))

    def run(self, feed, golden, sample):
        inputs = {}
        for name, mine, tensor in self.taken:
            if tensor is None:
                inputs[name] = feed[mine]
            elif tensor in golden:
                inputs[name] = golden[tensor]
            else:
                raise Refused("sample %s: tensor '%s' was not captured, and "
                              "the compiled model takes it as input" %
                              (sample, tensor))
        got = self.vendor.feed(self.function, inputs, self.outputs,
                               "sample %s: compiled model" % sample,
                               **self.keywords)
        out = collections.OrderedDict()
        for name, tensor in self.given:
            if tensor in out and not same_bits(out[tensor], got[name]):
                raise Refused("sample %s: the compiled model's outputs give "
                              "'%s' twice with different values" %
                              (sample, tensor))
            out[tensor] = got[name]
        return out


def quantized_input(text, value, dtype, shape):
    """The integer tensor that the Quantize of an argument gives."""
    for op in text.layers:
        if value in op.operands and "quant" in op.kind + op.attrs and \
                len(op.results) == 1:
            if tensor_type(op.results[0][1]) == (dtype, shape):
                return op.tensors[0]
    return None


def dequantized_from(text, value, dtype):
    """The integer tensor in front of a Dequantize."""
    op = text.producer.get(value)
    if op is None or not op.operands or "quant" not in op.kind + op.attrs:
        return None
    source = op.operands[0]
    if tensor_type(text.type_of.get(source, ""))[0] != dtype:
        return None
    return text.tensor_of.get(source)


def text_of(value):
    if value is None:
        return ""
    value = getattr(value, "name", None) or getattr(value, "value", None) \
        or value
    return str(value)


def signature_text(ins, outs):
    return [(n, str(t), s) for n, (t, s) in list(ins.items()) +
            list(outs.items())]


# ---- files ------------------------------------------------------------------

def write_npz(path, arrays):
    new = path + ".new"
    with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED, True) as z:
        for name, array in arrays.items():
            zip_array(z, name, array)
    os.replace(new, path)


def write_json(path, what):
    new = path + ".new"
    with open(new, "w", encoding="utf-8") as f:
        json.dump(what, f, indent=1, sort_keys=False)
        f.write("\n")
    os.replace(new, path)


class Heartbeat:
    """A line every ten seconds while the vendor's code runs."""

    def __init__(self, what, progress):
        self.what, self.progress = what, progress
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.beat, daemon=True)

    def beat(self):
        begun = time.time()
        while not self.stop.wait(float(os.environ.get(
                "HBIR_EXPORT_HEARTBEAT", "10"))):
            done, of = self.progress()
            say("%s: %d of %d operations, %.0f s" %
                (self.what, done, of, time.time() - begun))

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


# ---- the whole --------------------------------------------------------------

class Export:
    def __init__(self, args):
        self.args = args
        self.final = args.output.rstrip("/")
        self.work = self.final + SUFFIX
        self.notes, self.text, self.stage, self.cut = [], None, None, None
        self.compiled, self.differing = None, collections.OrderedDict()
        self.lock, self.owned = None, False

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)
            say("note: " + text)

    def check_arguments(self):
        a = self.args
        if not self.final:
            raise Refused("option '-o': a folder is expected")
        if a.model is None and a.stage is None:
            raise Refused("a quantized.bc is expected (or --stage qat.bc)")
        if a.model is None and (a.hbm or a.first or a.last or a.self_check):
            raise Refused("--stage alone takes no --hbm, --from, --to and "
                          "--self-check: give the quantized.bc as well")
        if a.remote_ip and not a.hbm:
            raise Refused("--remote-ip without --hbm: which compiled model?")
        if a.hbm and (a.first or a.last):
            raise Refused("--hbm runs the whole model: leave --from and --to "
                          "out")
        if os.path.lexists(self.final) and not a.force:
            raise Refused("'%s' is there already: give --force to replace it, "
                          "or another name" % self.final)
        if os.path.lexists(self.final) and not os.path.isfile(
                os.path.join(self.final, "case.json")):
            raise Refused("'%s' is no case (it has no case.json): --force does "
                          "not replace it" % self.final)
        for option in a.option:
            if "=" not in option:
                raise Refused("--option '%s': KEY=VALUE is expected" % option)

    def open(self, path, what):
        """-> module, its whole text, how it was had."""
        module = self.vendor.load(path)
        text, how = self.vendor.text(module)
        if "elided" in text[:1 << 16] and "__elided__" in text:
            raise Refused("the text of '%s' leaves constants out: the printer "
                          "of hbdk4.compiler %s elides them" %
                          (path, self.vendor.version))
        return module, text, how

    def load(self):
        a = self.args
        Vendor.imported("numpy", "arrays")
        self.vendor = Vendor()
        self.sha = {}
        for key in ("model", "hbm", "stage"):
            path = getattr(a, key)
            if path is not None:
                if not os.path.isfile(path):
                    raise Refused("'%s' is not there" % path)
                self.sha[key] = sha256(path)
        if a.stage is not None:
            self.load_stage()
        if a.model is None:
            self.inputs = self.stage.inputs
        else:
            self.module, self.full, self.how = self.open(a.model, "model")
            if FAKE_QUANT in self.full:
                raise Refused("'%s' is of a float stage (%s): it is not a "
                              "reference of integers; give it with --stage, "
                              "and its quantized.bc as the model" %
                              (a.model, FAKE_QUANT))
            function = self.vendor.function(self.module, a.model)
            self.inputs, self.outputs = self.vendor.signature(function,
                                                              a.model)
            self.march = text_of(getattr(self.module, "march", None))
        self.feeds = feeds_of(a.input, self.inputs)
        if not self.feeds:
            raise Refused("%s: no sample" % some(a.input))

    def load_stage(self):
        path = self.args.stage
        module, text, _ = self.open(path, "stage")
        if FAKE_QUANT not in text:
            raise Refused("'%s' has no %s: it is no float stage; give it as "
                          "the model" % (path, FAKE_QUANT))
        small = []
        take_out(text, Nowhere(), small.append)
        self.stage_text = Text("".join(small), "'%s'" % path)
        self.stage = Capture(self.vendor, module, path, self.stage_text,
                             self.args.by_extract)

    def stamp(self):
        import numpy as np
        h = hashlib.sha256()
        for feed in self.feeds:
            for name in sorted(feed):
                h.update(name.encode() + b"\0" + str(feed[name].dtype).encode()
                         + np.ascontiguousarray(feed[name]).tobytes())
        return {"files": self.sha, "inputs": h.hexdigest(),
                "samples": len(self.feeds), "from": self.args.first,
                "to": self.args.last, "remote": bool(self.args.remote_ip),
                "version": self.vendor.version,
                "self_check": self.args.self_check, "large": self.args.large,
                "by_extract": self.args.by_extract}

    def take_folder(self):
        """One export at a time: where only the parent was killed, its child
        goes on. The lock ends with the process."""
        os.makedirs(self.work, exist_ok=True)
        lock = os.open(self.work, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise Refused("'%s' is being written by another export" %
                          self.work)
        except OSError:
            pass  # a file system without locks
        if self.lock is not None:
            os.close(self.lock)
        self.lock = lock

    def prepare_folder(self):
        path = os.path.join(self.work, "partial.json")
        self.resumed = False
        self.take_folder()
        if self.args.resume:
            try:
                with open(path, encoding="utf-8") as f:
                    if json.load(f) != self.stamp():
                        raise Refused("'%s' was made from another model, other"
                                      " inputs or options: remove it, or leave"
                                      " --resume out" % self.work)
                self.resumed = True
            except (OSError, ValueError):
                pass
        if not self.resumed:
            shutil.rmtree(self.work, ignore_errors=True)
            self.take_folder()
        folders = ["inputs"]
        if self.args.model is not None:
            folders.append("golden")
        if self.args.hbm:
            folders.append("bpu" if self.args.remote_ip else "sim")
        if self.stage is not None:
            folders.append(os.path.join("stage", "float"))
        self.folders = folders
        for folder in folders:
            os.makedirs(os.path.join(self.work, folder), exist_ok=True)
        write_json(path, self.stamp())
        self.owned = True

    def write_text(self):
        """model.mlir and constants.npz; reads the names of it."""
        a = self.args
        path = os.path.join(self.work, "model.mlir")
        constants = Constants(os.path.join(self.work, "constants.npz"))
        with open(path + ".new", "w", encoding="utf-8", newline="\n") as f:
            take_out(self.full, constants, f.write, a.large)
        constants.close()
        os.replace(path + ".new", path)
        self.constants = constants.count, constants.bytes
        self.full = None
        with open(path, encoding="utf-8", newline="") as f:
            self.text = Text(f.read(), "'%s'" % a.model)
        self.model_sha = sha256(path)
        if not any(op.loc for op in self.text.layers):
            self.note("the text has no locations: layers are named by "
                      "operator and position")
        if not self.text.layers:
            raise Refused("'%s': its text has no operation" % a.model)

    def open_capture(self):
        a = self.args
        self.source = Capture(self.vendor, self.module, a.model, self.text,
                              a.by_extract)
        self.target = self.source
        if a.first or a.last:
            self.cut_range()

    def cut_range(self):
        """Layers from..to by extract_function; the samples of the cut come
        from the whole model."""
        a, layers = self.args, self.text.layers
        names = [op.name for op in layers]
        for name in (a.first, a.last):
            if name is not None and name not in names:
                raise Refused("no layer '%s' in '%s'; it has %s" %
                              (name, a.model, some(names)))
        low = names.index(a.first) if a.first else 0
        high = names.index(a.last) if a.last else len(layers) - 1
        if low > high:
            raise Refused("layer '%s' (--from) stands behind '%s' (--to)" %
                          (a.first, a.last))
        inside = layers[low:high + 1]
        made = {v for op in inside for v, _ in op.results}
        within = {id(op) for op in inside}
        used = {v for op in self.text.function["ops"] if id(op) not in within
                for v in op.operands}
        inputs, outputs = [], []
        for op in inside:
            for v in op.operands:
                maker = self.text.producer.get(v)
                if v not in made and not (maker and maker.constant) and \
                        v in self.text.tensor_of and \
                        self.text.tensor_of[v] not in inputs:
                    inputs.append(self.text.tensor_of[v])
            for v, _ in op.results:
                if v in used or v in self.text.function["returned"]:
                    outputs.append(self.text.tensor_of[v])
        self.tell_range(low, high, inside)
        function = self.source.function
        extract = getattr(function, "extract_function", None)
        if extract is None:
            raise self.vendor.missing("%s.extract_function" %
                                      type(function).__name__)
        what = "'%s' to '%s'" % (inside[0].name, inside[-1].name)
        try:
            module = extract(inputs, outputs)
        except Exception as e:
            raise Refused("extract_function of %s failed: %s" %
                          (what, reason(e)))
        if module is None:
            raise Refused("extract_function of %s gave nothing" % what)
        self.full, self.how = self.vendor.text(module)
        self.cut = {"from": inside[0].name, "to": inside[-1].name,
                    "inputs": inputs, "outputs": outputs}
        self.write_text()
        self.target = Capture(self.vendor, module, what, self.text,
                              a.by_extract)
        if len(self.target.inputs) != len(inputs):
            raise Refused("extract_function of %s has %d inputs (%s), expected"
                          " %s" % (what, len(self.target.inputs),
                                   some(self.target.inputs), some(inputs)))
        self.outputs = self.target.outputs

    def tell_range(self, low, high, inside):
        say("layers %d..%d of %d: '%s' to '%s'" %
            (low, high, len(self.text.layers), inside[0].name,
             inside[-1].name))
        if self.stage is None:
            say("bc_editor counts the fake-quant operators of qat.bc: give it "
                "with --stage to have its range printed")
            return
        wanted = {op.base for op in inside}
        numbers, k, inside_now = [], 0, False
        for op in self.stage_text.layers:
            if op.kind == FAKE_QUANT:
                if op.base in wanted or inside_now:
                    numbers.append(k)
                k += 1
            else:
                inside_now = op.base in wanted
        if not numbers:
            say("no fake-quant operator of '%s' belongs to these layers by "
                "name" % self.args.stage)
            return
        say('bc_editor: {"remove_fake_quant": [[%d, %d]]} (counted from 0 in '
            "the order of '%s': look at both ends before you use it)" %
            (numbers[0], numbers[-1], self.args.stage))

    def open_compiled(self):
        a = self.args
        self.compiled = Compiled(self.vendor, a.hbm, a.remote_ip)
        self.compiled.plan(self.text, self.inputs, self.outputs)
        for n in self.compiled.notes:
            self.note(n)
        self.origin = self.which_bc()
        say("hbm: %s" % self.origin)

    def which_bc(self):
        """Whose inputs and outputs the compiled model has."""
        a = self.args
        want = signature_text(self.compiled.inputs, self.compiled.outputs)
        folder = os.path.dirname(os.path.abspath(a.model))
        beside = sorted(set(glob.glob(os.path.join(folder, "*quantized*.bc"))))
        rows = [(a.model, signature_text(self.inputs, self.outputs))]
        for path in a.beside + [p for p in beside if os.path.abspath(p) !=
                                os.path.abspath(a.model)]:
            try:
                module = self.vendor.load(path)
                rows.append((path, signature_text(*self.vendor.signature(
                    self.vendor.function(module, path), path))))
            except Refused as e:
                self.note("'%s' is not compared with the hbm: %s" % (path, e))
        same = [os.path.basename(p) for p, s in rows if s == want]
        shapes = lambda s: [(t, d) for _, t, d in s]
        if len(same) == 1:
            return "inputs and outputs are those of '%s'" % same[0]
        if same:
            return "inputs and outputs are those of each of: %s" % \
                ", ".join("'%s'" % s for s in same)
        near = [os.path.basename(p) for p, s in rows
                if shapes(s) == shapes(want)]
        if near:
            return "inputs and outputs are those of '%s' under other names" % \
                near[0]
        mine = {n: t for n, t, _ in rows[0][1]}
        ints = [n for n, t, _ in want if t.startswith("int") and
                mine.get(n, t).startswith("float")]
        if ints:
            return "made from a model without the Quantize or Dequantize of " \
                "%s: a *_quantized_removed_model.bc that is not here" % \
                some("'%s'" % n for n in ints)
        return "inputs and outputs are those of no .bc here"

    def sample_done(self, number):
        """Is it there, whole? What its golden lacks is told once more."""
        paths = [os.path.join(self.work, folder, number + ".npz")
                 for folder in self.folders]
        if not all(zipfile.is_zipfile(p) for p in paths):
            return False
        if self.args.model is not None:
            with zipfile.ZipFile(paths[self.folders.index("golden")]) as z:
                have = set(z.namelist())
            for op in self.target.text.layers:
                self.target.lost.update(
                    (t, op.kind) for t in op.tensors if t + ".npy" not in have)
        return True

    def run_samples(self):
        a = self.args
        plain = None
        if a.self_check:
            module = self.vendor.load(a.model)
            plain = self.vendor.function(module, a.model)
        for k, feed in enumerate(self.feeds):
            number, begun = "%04d" % k, time.time()
            what = "sample %d/%d" % (k + 1, len(self.feeds))
            if self.resumed and self.sample_done(number):
                say("%s: is there" % what)
                continue
            count = self.one_sample(number, what, feed, plain)
            if count is None:
                say("%s: --self-check differs, not kept" % what)
                continue
            say("%s: %s, %.1f s" % (what, count, time.time() - begun))

    def one_sample(self, number, what, feed, plain):
        at, told = os.path.join(self.work, "%s", number + ".npz"), []
        golden, whole = None, feed
        if self.args.model is not None:
            with Heartbeat(what, self.source.progress):
                golden = self.source.run(feed, number)
            if plain is not None and not self.self_check(plain, feed, golden,
                                                         number):
                return None  # --resume has to find it again
            if self.cut is not None:
                golden.update(feed)
                given = {name: golden[mine] for name, mine in
                         zip(self.target.inputs, self.cut["inputs"])
                         if mine in golden}
                if len(given) != len(self.target.inputs):
                    raise Refused("sample %s: an input of the cut was not "
                                  "captured" % number)
                feed = given
                with Heartbeat(what, self.target.progress):
                    golden = self.target.run(feed, number)
            told.append("%d tensors" % len(golden))
        write_npz(at % "inputs", feed)
        if self.stage is not None:
            with Heartbeat(what, self.stage.progress):
                stage = self.stage.run(self.stage_feed(whole), number)
            write_npz(at % os.path.join("stage", "float"), stage)
            told.append("%d of the float stage" % len(stage))
        if self.compiled is not None:
            got = self.compiled.run(feed, golden, number)
            got["__meta__"] = self.meta({})
            write_npz(at % self.compiled.side, got)
            told.append("%d of the compiled model" % (len(got) - 1))
        if golden is not None:  # last: what is complete has it
            golden["__meta__"] = self.meta(feed)
            write_npz(at % "golden", golden)
        return ", ".join(told)

    def stage_feed(self, feed):
        if set(self.stage.inputs) <= set(feed):
            return {n: feed[n] for n in self.stage.inputs}
        raise Refused("'%s' takes %s, the samples have %s" %
                      (self.args.stage, some(self.stage.inputs), some(feed)))

    def self_check(self, function, feed, golden, number):
        got = self.vendor.feed(function, feed, self.source.outputs,
                               "sample %s: plain feed" % number)
        equal = True
        for (name, b), tensor in zip(got.items(), self.source.text.outputs):
            a = golden.get(tensor)
            if a is not None and same_bits(a, b):
                continue
            equal = False
            if a is None:
                self.differing.setdefault(name, "not captured")
            elif a.shape == b.shape and a.dtype == b.dtype:
                self.differing.setdefault(
                    name, "%d of %d elements in sample %s" %
                    ((words(a) != words(b)).sum(), a.size, number))
            else:
                self.differing.setdefault(name, "another type in sample %s" %
                                          number)
        return equal

    def meta(self, feed):
        import numpy as np
        return json.dumps({
            "model_sha256": self.model_sha,
            "input_sha256": {k: hashlib.sha256(np.ascontiguousarray(
                v).tobytes()).hexdigest() for k, v in feed.items()},
            "engine": "hbdk4", "version": self.vendor.version,
            "machine": platform.machine()})

    def describe(self):
        a = self.args
        out = collections.OrderedDict()
        out["name"] = os.path.basename(self.final)
        out["stage"] = "quantized" if a.model is not None else "float"
        tools = collections.OrderedDict(
            hbdk4=self.vendor.version, python=platform.python_version(),
            numpy=sys.modules["numpy"].__version__)
        out["tools"] = tools
        out["made"] = "hbir_export.py of assay"
        options = collections.OrderedDict(o.split("=", 1) for o in a.option)
        if a.model is not None:
            if self.march:
                out["march"] = self.march
            out["model"] = "model.mlir"
            out["model_sha256"] = self.model_sha
            out["bc"] = {"file": os.path.basename(a.model),
                         "sha256": self.sha["model"]}
            attrs = module_options(self.text.module_attrs)
            if attrs.get("hbdk.target"):
                out["target"] = attrs["hbdk.target"]
            out["module_attributes"] = attrs
            out["how"] = {"text": self.how, "tensors": self.target.how}
            out["constants"] = {"count": self.constants[0],
                                "bytes": self.constants[1]}
            out["outputs"] = list(self.outputs)
            out["ops"] = dict(sorted(collections.Counter(
                op.kind for op in self.text.layers).items()))
            if self.target.lost:
                out["not_in_golden"] = self.target.lost
            if self.target.strangers:
                out["not_in_text"] = self.target.strangers
            if self.cut is not None:
                out["cut"] = self.cut
        if options:
            out["options"] = options
        shown = self.target.inputs if a.model is not None else self.inputs
        out["inputs"] = {n: {"dtype": str(t), "shape": list(s)}
                         for n, (t, s) in shown.items()}
        out["samples"] = len(self.feeds)
        if self.stage is not None:
            out["float_stage"] = {"file": os.path.basename(a.stage),
                                  "sha256": self.sha["stage"]}
        if self.compiled is not None:
            out["hbm"] = {"file": os.path.basename(a.hbm),
                          "sha256": self.sha["hbm"], "origin": self.origin}
            side = collections.OrderedDict(
                tools=dict(hbdk4=self.vendor.version),
                sha256=self.sha["hbm"])
            if self.compiled.march:
                side["march"] = self.compiled.march
            out["columns"] = {self.compiled.side: side}
        if self.notes:
            out["notes"] = self.notes
        return out

    def finish(self):
        write_json(os.path.join(self.work, "case.json"), self.describe())
        os.remove(os.path.join(self.work, "partial.json"))
        old = self.work + ".old"
        if os.path.lexists(self.final):
            shutil.rmtree(old, ignore_errors=True)
            os.rename(self.final, old)
        os.rename(self.work, self.final)
        shutil.rmtree(old, ignore_errors=True)

    def tell(self):
        if self.args.model is not None:
            if self.target.lost:
                say("note: %d tensors could not be captured: %s" %
                    (len(self.target.lost), some(self.target.lost)))
            if self.target.strangers:
                say("note: the interpreter ran operators that the text does "
                    "not have: %s" % some(self.target.strangers))
        print(self.final)

    def main(self):
        self.check_arguments()
        self.load()
        self.prepare_folder()
        say("hbdk4.compiler %s%s" % (
            self.vendor.version or "(it does not say which version)",
            ", march " + self.march if self.args.model and self.march else ""))
        if self.args.model is not None:
            self.write_text()
            self.open_capture()
            if self.args.hbm:
                self.open_compiled()
        self.run_samples()
        if self.differing:
            shutil.rmtree(self.work, ignore_errors=True)
            raise Refused("--self-check: outputs differ from a plain feed: "
                          "%s" % some("'%s' (%s)" % kv for kv in
                                      self.differing.items()), 1)
        self.finish()
        self.tell()


class Nowhere:
    """Constants that nobody needs."""
    count = 0

    def add(self, name, array):
        self.count += 1


def words(a):
    """Elements by their bits."""
    import numpy as np
    a = np.ascontiguousarray(a)
    return a.reshape(-1).view("u%d" % a.dtype.itemsize)


def arguments(argv):
    p = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", metavar="QUANTIZED.bc", nargs="?",
                   help="quantized.bc, *_quantized_model.bc or "
                   "*_quantized_removed_model.bc")
    p.add_argument("-i", "--input", required=True, action="append",
                   metavar="INPUTS")
    p.add_argument("-o", "--output", required=True, metavar="CASE")
    p.add_argument("--hbm", metavar="FILE", help="run the compiled model too")
    p.add_argument("--remote-ip", metavar="ADDRESS",
                   help="on this board instead of in simulation")
    p.add_argument("--beside", action="append", default=[], metavar="BC",
                   help="a .bc that the hbm may have been made from; those in "
                   "the model's folder are looked at by themselves")
    p.add_argument("--stage", metavar="QAT.bc",
                   help="a float stage: its tensors into stage/float/")
    p.add_argument("--from", dest="first", metavar="LAYER")
    p.add_argument("--to", dest="last", metavar="LAYER")
    p.add_argument("--by-extract", action="store_true",
                   help="extract_function for each layer, no callback")
    p.add_argument("--option", action="append", default=[],
                   metavar="KEY=VALUE", help="what convert was told, e.g. "
                   "consistency=1: kept in case.json")
    p.add_argument("--large", type=int, default=LARGE, metavar="BYTES",
                   help="longer constants go to constants.npz (%d)" % LARGE)
    p.add_argument("--self-check", action="store_true",
                   help="final outputs must equal those of a plain feed")
    p.add_argument("--resume", action="store_true",
                   help="go on with CASE.partial")
    p.add_argument("--force", action="store_true",
                   help="replace a case of that name")
    return p.parse_args(argv)


def main(argv=None):
    export = Export(arguments(argv))
    try:
        export.main()
        return 0
    except Refused as e:
        say("error: %s" % e)
        code = e.code
    except OSError as e:
        say("error: cannot read or write '%s': %s" % (
            export.work if e.filename is None else e.filename, e.strerror))
        code = 2
    except MemoryError:
        say("error: out of memory")
        code = 2
    except KeyboardInterrupt:
        say("interrupted")
        code = 130
    except Terminated:
        say("terminated")
        code = 143
    if not export.owned:
        return code
    kept = [f for f in (os.path.join(export.work, "golden"),
                        os.path.join(export.work, "stage", "float"))
            if os.path.isdir(f)]
    done = len(glob.glob(os.path.join(kept[0], "*.npz"))) if kept else 0
    if done:
        say("%d samples are kept in '%s': go on with --resume" %
            (done, export.work))
    elif os.path.isdir(export.work):
        shutil.rmtree(export.work, ignore_errors=True)
    return code


class Terminated(BaseException):
    pass


def terminate(*_):
    raise Terminated()


def interrupt(*_):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent passes it on too
    raise KeyboardInterrupt()


def supervised():
    """main() in a child: the vendor's package can end the process by itself.
    Only a child that says how it ended has ended as it should."""
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(told)
        signal.signal(signal.SIGTERM, terminate)
        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            signal.signal(signal.SIGINT, interrupt)
        try:
            code = main()
        except SystemExit as e:  # a wrong argument, --help
            code = e.code if isinstance(e.code, int) else 2
            if "hbdk4" in sys.modules:
                code = None  # the vendor's: told below
        except BaseException:  # a fault of this file: with its place
            traceback.print_exc()
            code = 2
        sys.stdout.flush()
        sys.stderr.flush()  # before Python 3.9 it keeps lines back
        if code is not None:
            os.write(tell, b"%d" % code)
        os._exit(code or 0)
    os.close(tell)
    for number in (signal.SIGTERM, signal.SIGINT):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda n, _: os.kill(child, n))
    _, status = os.waitpid(child, 0)
    os.set_blocking(told, False)  # a process that the child left may hold it
    try:
        said = os.read(told, 16)
    except BlockingIOError:
        said = b""
    if said:
        return int(said)
    if os.WIFSIGNALED(status):
        say("error: the vendor's package died of signal %d (for a stack "
            "overflow try: ulimit -s unlimited); what was done stays in "
            "CASE.partial: --resume" % os.WTERMSIG(status))
        return 2
    say("error: the vendor's package ended the program; its reason may stand "
        "above")
    return 2


if __name__ == "__main__":
    sys.exit(supervised())
