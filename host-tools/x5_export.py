#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make a case folder for assay with the vendor's own tools (RDK X5, J5).

    x5_export.py P_quantized_model.onnx -i INPUTS -o CASE
        [--hybrid P_hybrid_model.onnx] [--sim-text DIR ...]
        [--calibrated P_calibrated_model.onnx] [--vendor FILE ...]

Runs in the vendor's container (Python 3.8 or later, numpy, onnx, horizon_nn).
It is one file, however long, since it is copied there by itself.
The quantized model is run by the vendor's ONNX executor with every tensor as
an output; that is the reference (golden/). With --hybrid the compiled model
is run by the vendor's x86 simulator (sim/): final outputs, and the inner
layers that a build with layer_out_dump: True shows. Those are floats; they are
divided by their scale and checked to be exactly an integer times the scale.
With --sim-text folders of hbdk-sim's text files, one a sample, are taken
instead, and the hybrid model only tells which file is which tensor.

INPUTS: an npz (input name -> array: one sample, or one more axis in front for
several), or a folder of such files in the order of their names.

The case appears under its name when it is complete, never before. What was
interrupted stays in CASE.partial and goes on with --resume.

Exit code: 0 the case is there; 1 --self-check found a difference; 2 anything
else, with one sentence.
"""
import argparse
import collections
import glob
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import sys
import time
import traceback

SUFFIX = ".partial"
TEXT_FILES = (".yaml", ".yml", ".log", ".json", ".txt", ".csv")


class Refused(Exception):
    """One sentence for the user."""

    def __init__(self, text, code=2):
        Exception.__init__(self, text)
        self.code = code


def say(text):
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def imported(name, why):
    try:
        module = __import__(name, fromlist=["*"])
    except ImportError as e:
        missing = getattr(e, "name", None) or name
        raise Refused("package '%s' is missing (%s): run this in the vendor's "
                      "container, or install it" % (missing, why))
    except Exception as e:
        raise Refused("package '%s' cannot be loaded: %s: %s" %
                      (name, type(e).__name__, first_line(e)))
    return module


def attribute(module, name):
    if not hasattr(module, name):
        raise Refused("'%s.%s' is missing: this version of the vendor's "
                      "package has no such name" % (module.__name__, name))
    return getattr(module, name)


def first_line(error):
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else "no reason given"


def sha256(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            h.update(block)
    return h.hexdigest()


# ---- the vendor's executor --------------------------------------------------

class Executor:
    """ORTExecutor(load_model(model)): create_session(), forward(feed)."""

    def __init__(self, model, what):
        api = imported("horizon_nn.api", "the vendor's executor")
        ir = imported("horizon_nn.ir", "the vendor's model reader")
        self.what = what
        make = attribute(api, "ORTExecutor")
        load = attribute(ir, "load_model")
        try:
            self.session = make(load(model))
            create = getattr(self.session, "create_session", None)
            if create is None:
                raise Refused("'ORTExecutor.create_session' is missing: this "
                              "version of the vendor's package has no such "
                              "name")
            create()
        except Refused:
            raise
        except Exception as e:
            raise Refused("the vendor's executor refuses the %s: %s: %s" %
                          (what, type(e).__name__, first_line(e)))
        if not hasattr(self.session, "forward"):
            raise Refused("'ORTExecutor.forward' is missing: this version of "
                          "the vendor's package has no such name")

    def __call__(self, feed, sample):
        import numpy as np
        try:
            result = self.session.forward(
                {k: np.array(v, copy=True) for k, v in feed.items()})
            # Its memory may be used again by the next call.
            return {str(k): np.array(v, copy=True)
                    for k, v in dict(result).items()}
        except Exception as e:
            raise Refused("sample %s: the vendor's executor failed on the %s: "
                          "%s: %s" % (sample, self.what, type(e).__name__,
                                      first_line(e)))


def versions():
    out = collections.OrderedDict()
    out["python"] = platform.python_version()
    for name in ("horizon_nn", "hbdk", "numpy", "onnx"):
        module = sys.modules.get(name)
        text = getattr(module, "__version__", None)
        if isinstance(text, str) and text:
            out[name] = text
    try:
        import importlib.metadata as metadata
    except ImportError:
        return out
    for name in ("dgdk", "dg-nn-toolkit", "horizon-nn", "hbdk",
                 "rdkx5-yolo-mapper"):
        try:
            out.setdefault(name.replace("horizon-nn", "horizon_nn"),
                           metadata.version(name))
        except Exception:
            pass
    return out


# ---- models -----------------------------------------------------------------

def load_onnx(path, what):
    import onnx
    if not os.path.isfile(path):
        raise Refused("%s '%s' is not there" % (what, path))
    try:
        return onnx.load(path)
    except Exception as e:
        raise Refused("%s '%s' is no ONNX model: %s" %
                      (what, path, first_line(e)))


def np_type(value):
    import numpy as np
    from onnx import TensorProto
    known = {TensorProto.FLOAT: np.float32, TensorProto.INT8: np.int8,
             TensorProto.UINT8: np.uint8, TensorProto.INT16: np.int16,
             TensorProto.UINT16: np.uint16, TensorProto.INT32: np.int32,
             TensorProto.INT64: np.int64, TensorProto.BOOL: np.bool_,
             TensorProto.DOUBLE: np.float64}
    t = value.type.tensor_type
    kind = known.get(t.elem_type)
    return (np.dtype(kind) if kind is not None else None,
            tuple(d.dim_value for d in t.shape.dim))


def graph_inputs(model):
    constant = {i.name for i in model.graph.initializer}
    return collections.OrderedDict(
        (i.name, np_type(i)) for i in model.graph.input
        if i.name not in constant)


class Constants:
    """Arrays of the initializers that are asked for: a hybrid model holds the
    compiled bytes as a string, which no array can be made of."""

    def __init__(self, model):
        self.by_name = {i.name: i for i in model.graph.initializer}

    def __contains__(self, name):
        return name in self.by_name

    def __getitem__(self, name):
        from onnx import numpy_helper
        return numpy_helper.to_array(self.by_name[name])


def expose(model):
    """A copy with every typed tensor as an output -> copy, types, untyped."""
    import onnx
    m = onnx.ModelProto()
    m.CopyFrom(model)
    typed = {v.name: v for v in m.graph.value_info}
    types = collections.OrderedDict((o.name, np_type(o))
                                    for o in m.graph.output)
    untyped = []
    for node in m.graph.node:
        for name in node.output:
            if not name or name in types:
                continue
            if name in typed:
                m.graph.output.append(typed[name])
                types[name] = np_type(typed[name])
            else:
                untyped.append(name)
    return m, types, untyped


def dequantized(model):
    """Float output of each HzDequantize -> (tensor before the Transposes in
    front of it, their permutations from the last to the first, scales)."""
    by = {o: n for n in model.graph.node for o in n.output}
    constant = Constants(model)
    out = {}
    for node in model.graph.node:
        if node.op_type != "HzDequantize" or len(node.input) < 2:
            continue
        tensor, perms = node.input[0], []
        while tensor in by and by[tensor].op_type == "Transpose":
            perm = [a for a in by[tensor].attribute if a.name == "perm"]
            if not perm:
                break
            perms.append(list(perm[0].ints))
            tensor = by[tensor].input[0]
        if node.input[1] in constant:
            out[node.output[0]] = (tensor, perms, constant[node.input[1]],
                                   node.input[0])
    return out


def border_scales(model):
    """Integer tensor -> scales, as far as the quantized model tells."""
    constant = Constants(model)
    out = {}
    for node in model.graph.node:
        if node.op_type == "HzQuantize" and node.input[1] in constant:
            out[node.output[0]] = constant[node.input[1]]
    for tensor, _, scale, feature in dequantized(model).values():
        out[tensor] = scale
        out[feature] = scale
    return {k: [float(x) for x in v.ravel()] for k, v in out.items()}


# ---- samples ----------------------------------------------------------------

def npz_files(path):
    if os.path.isdir(path):
        files = sorted(glob.glob(os.path.join(path, "*.npz")))
        if not files:
            raise Refused("folder '%s' has no .npz file" % path)
        return files
    if not os.path.isfile(path):
        raise Refused("inputs '%s' are not there" % path)
    return [path]


def arrays_of(path):
    import numpy as np
    try:
        with np.load(path, allow_pickle=False) as z:
            return {k: z[k] for k in z.files if not k.startswith("__")}
    except Exception as e:
        raise Refused("'%s' is no npz: %s" % (path, first_line(e)))


def text_of(dtype, shape):
    return "%s %s" % (dtype, "x".join(str(d) for d in shape) or "scalar")


def count_of(array, shape, path, name):
    """How many samples: 0 one without a further axis."""
    if array.shape == shape:
        return 0
    if array.ndim == len(shape) + 1 and array.shape[1:] == shape:
        return array.shape[0]
    if (array.ndim == len(shape) and shape and shape[0] == 1 and
            array.shape[1:] == shape[1:]):
        return array.shape[0]
    raise Refused("'%s': input '%s' has shape %s, the model takes %s" %
                  (path, name, "x".join(map(str, array.shape)),
                   "x".join(map(str, shape))))


def feeds_of(path, wanted):
    """One dict for each sample of one file."""
    import numpy as np
    have = arrays_of(path)
    counts, picked = set(), {}
    for k, (name, (dtype, shape)) in enumerate(wanted.items()):
        array = have.get(name, have.get("in%d" % k))
        if array is None:
            raise Refused("'%s' lacks input '%s' (or in%d); it has %s" %
                          (path, name, k, ", ".join(sorted(have)) or
                           "nothing"))
        if dtype is not None and array.dtype != dtype:
            raise Refused("'%s': input '%s' is %s, the model takes %s%s" %
                          (path, name, array.dtype, dtype,
                           " (an image minus 128)"
                           if str(dtype) == "int8" else ""))
        counts.add(count_of(array, shape, path, name))
        picked[name] = (array, shape)
    if len(counts) > 1:
        raise Refused("'%s': its inputs have different numbers of samples: %s"
                      % (path, ", ".join(str(c or 1) for c in
                                         sorted(counts))))
    count = counts.pop()
    if count == 0:
        return [{n: np.ascontiguousarray(a) for n, (a, _) in picked.items()}]
    return [{n: np.ascontiguousarray(a[i]).reshape(s)
             for n, (a, s) in picked.items()} for i in range(count)]


# ---- one sample -------------------------------------------------------------

def check_golden(got, types, sample, notes):
    for name, (dtype, shape) in types.items():
        if name not in got:
            raise Refused("sample %s: the vendor's executor gave no tensor "
                          "'%s'" % (sample, name))
        a = got[name]
        if a.dtype != dtype or (all(shape) and a.shape != shape):
            raise Refused("sample %s: tensor '%s' is %s, the model says %s" %
                          (sample, name, text_of(a.dtype, a.shape),
                           text_of(dtype, shape)))
        if a.dtype.kind == "f" and not np_all_finite(a):
            notes.setdefault("not_finite", {}).setdefault(name, []).append(
                sample)
    return {name: got[name] for name in types}


def np_all_finite(a):
    import numpy as np
    return bool(np.isfinite(a).all())


def to_integer(y, scale, dtype):
    """The integers q with float32(q) * scale == y, or None when y does not
    say which they are."""
    import numpy as np
    s = np.asarray(scale, np.float32)
    if s.size > 1:
        axis = 1 if y.ndim > 1 and y.shape[1] == s.size else y.ndim - 1
        if y.shape[axis] != s.size:
            return None
        s = s.reshape([-1 if k == axis else 1 for k in range(y.ndim)])
    elif s.size == 1:
        s = s.reshape(())
    if not np.isfinite(y).all() or not (s > 0).all():
        return None
    q = np.rint(y.astype(np.float64) / s.astype(np.float64))
    same = [np.equal((q + d).astype(np.float32) * s, y) for d in (-1, 0, 1)]
    info = np.iinfo(dtype)
    if (not same[1].all() or same[0].any() or same[2].any() or
            q.min() < info.min or q.max() > info.max):
        return None
    return q.astype(dtype)


def integer_tensor(name, hybrid, quantized, golden):
    """What an output of the hybrid model is -> (tensor, perms, scale)."""
    if name in quantized:
        tensor, perms, scale, _ = quantized[name]
        return tensor, perms, scale
    if name in hybrid:
        _, perms, scale, feature = hybrid[name]
        base = name[:-len("_calibrated")] if name.endswith("_calibrated") \
            else name
        # A Transpose is fused into what a feature of this name shows.
        if not perms and feature.endswith("_nhwc2nchw_transposed_output0"):
            perms = [[0, 3, 1, 2]]
        for tensor in (base + "_quantized", name + "_quantized", feature):
            if tensor in golden:
                return tensor, perms, scale
    return None


def arranged(q, perms):
    """As it was before the Transposes; by name, as shapes such as 6x6x6 do
    not tell."""
    import numpy as np
    for perm in perms:              # perms[0] was applied last
        if len(perm) != q.ndim:
            return None
        q = q.transpose(np.argsort(perm))
    return q


def simulated(run, feed, sample, hybrid, quantized, golden, notes):
    import numpy as np
    out = {}
    for name, y in run(feed, sample).items():
        found = integer_tensor(name, hybrid, quantized, golden)
        if found is None:
            if name in golden and y.shape == golden[name].shape:
                out[name] = y
            else:
                notes.setdefault("sim_unknown", set()).add(name)
            continue
        tensor, perms, scale = found
        if tensor not in golden:
            notes.setdefault("sim_unknown", set()).add(name)
            continue
        want = golden[tensor]
        if want.dtype.kind not in "iu":
            notes.setdefault("sim_unknown", set()).add(name)
            continue
        q = to_integer(y, scale, want.dtype)
        if q is not None:
            q = arranged(q, perms)
        if q is None or q.shape != want.shape:
            notes.setdefault("sim_not_exact", set()).add(name)
        else:
            out[tensor] = np.ascontiguousarray(q)
        if name in golden and y.shape == golden[name].shape:
            out[name] = y
    if not out:
        raise Refused("sample %s: none of the hybrid model's outputs is a "
                      "tensor of the quantized model: are they of one build?"
                      % sample)
    return out


def write_npz(path, arrays):
    import numpy as np
    new = path + ".new"
    with open(new, "wb") as f:
        np.savez_compressed(f, **arrays)
    os.replace(new, path)


def write_json(path, what):
    new = path + ".new"
    with open(new, "w", encoding="utf-8") as f:
        json.dump(what, f, indent=1, sort_keys=False)
        f.write("\n")
    os.replace(new, path)


def meta_of(model_sha, feed, tools):
    import numpy as np
    return json.dumps({
        "model_sha256": model_sha,
        "input_sha256": {k: hashlib.sha256(
            np.ascontiguousarray(v).tobytes()).hexdigest()
            for k, v in feed.items()},
        "engine": "horizon_nn", "version": tools.get("horizon_nn", ""),
        "options": {"opt": "none"},
        "machine": platform.machine()})


# ---- the whole --------------------------------------------------------------

class Export:
    def __init__(self, args):
        self.args = args
        self.notes = {}
        self.final = args.output.rstrip("/")
        self.work = self.final + SUFFIX

    def check_arguments(self):
        a = self.args
        if not self.final:
            raise Refused("option '-o': a folder is expected")
        if os.path.lexists(self.final) and not a.force:
            raise Refused("'%s' is there already: give --force to replace it, "
                          "or another name" % self.final)
        for path in a.vendor + a.sim_text:
            if not os.path.exists(path):
                raise Refused("'%s' is not there" % path)
        for path in a.sim_text:
            if not glob.glob(os.path.join(path, "*_elem_int.txt")):
                raise Refused("folder '%s' has no *_elem_int.txt of hbdk-sim"
                              % path)

    def load(self):
        a = self.args
        imported("numpy", "arrays")
        imported("onnx", "models")
        self.model = load_onnx(a.model, "quantized model")
        if not any(n.domain == "horizon" for n in self.model.graph.node):
            raise Refused("'%s' has no operator of domain 'horizon': it is not "
                          "a P_quantized_model.onnx" % a.model)
        if any(n.op_type == "HzCalibration" for n in self.model.graph.node):
            raise Refused("'%s' is a calibrated model: give the quantized one"
                          % a.model)
        if any(n.op_type == "HzBpuHBM" for n in self.model.graph.node):
            raise Refused("'%s' is a hybrid model: give the quantized one, "
                          "and this one with --hybrid" % a.model)
        self.hybrid = load_onnx(a.hybrid, "hybrid model") if a.hybrid else None
        if self.hybrid is not None and not any(
                n.op_type == "HzBpuHBM" for n in self.hybrid.graph.node):
            raise Refused("'%s' has no node HzBpuHBM: it is not a "
                          "P_hybrid_model.onnx" % a.hybrid)
        if a.calibrated:
            model = load_onnx(a.calibrated, "calibrated model")
            if not any(n.op_type == "HzCalibration" for n in model.graph.node):
                raise Refused("'%s' has no node HzCalibration: it is not a "
                              "P_calibrated_model.onnx" % a.calibrated)
        self.sha = sha256(a.model)
        self.hybrid_sha = sha256(a.hybrid) if a.hybrid else ""
        self.inputs = graph_inputs(self.model)
        self.feeds = [f for p in npz_files(a.input)
                      for f in feeds_of(p, self.inputs)]
        if not self.feeds:
            raise Refused("'%s' holds no sample" % a.input)
        if a.sim_text and len(a.sim_text) != len(self.feeds):
            raise Refused("%d folders of --sim-text for %d samples" %
                          (len(a.sim_text), len(self.feeds)))

    def stamp(self):
        """What a partial case must have been made from to be gone on with."""
        import numpy as np
        h = hashlib.sha256()
        for feed in self.feeds:
            for name in sorted(feed):
                h.update(name.encode() + b"\0" +
                         np.ascontiguousarray(feed[name]).tobytes())
        return {"model": self.sha, "hybrid": self.hybrid_sha,
                "inputs": h.hexdigest(), "samples": len(self.feeds),
                "sim_text": [os.path.abspath(p) for p in self.args.sim_text]}

    def prepare_folder(self):
        path = os.path.join(self.work, "partial.json")
        self.resumed = False
        if os.path.isdir(self.work) and self.args.resume:
            try:
                with open(path, encoding="utf-8") as f:
                    if json.load(f) != self.stamp():
                        raise Refused("'%s' was made from another model or "
                                      "other inputs: remove it, or leave "
                                      "--resume out" % self.work)
                self.resumed = True
            except (OSError, ValueError):
                pass
        if not self.resumed:
            shutil.rmtree(self.work, ignore_errors=True)
        for folder in ("inputs", "golden") + (
                ("sim",) if self.args.hybrid or self.args.sim_text else ()):
            os.makedirs(os.path.join(self.work, folder), exist_ok=True)
        write_json(path, self.stamp())

    def sample_done(self, number):
        names = [("inputs", ".npz"), ("golden", ".npz")]
        if self.args.sim_text:
            names.append(("sim", ""))
        elif self.hybrid is not None:
            names.append(("sim", ".npz"))
        return all(os.path.exists(os.path.join(self.work, folder,
                                               number + suffix))
                   for folder, suffix in names)

    def run_samples(self):
        exposed, self.types, self.untyped = expose(self.model)
        run = Executor(exposed, "quantized model")
        plain = Executor(self.model, "quantized model, as it is") \
            if self.args.self_check else None
        compiled = None
        if self.hybrid is not None and not self.args.sim_text:
            compiled = Executor(self.hybrid, "hybrid model")
            self.compiled_map = dequantized(self.hybrid)
        self.tools = versions()
        quantized = dequantized(self.model)
        for k, feed in enumerate(self.feeds):
            number, begun = "%04d" % k, time.time()
            if self.resumed and self.sample_done(number):
                say("sample %d/%d: is there" % (k + 1, len(self.feeds)))
                continue
            golden = check_golden(run(feed, number), self.types, number,
                                  self.notes)
            if plain is not None:
                self.self_check(plain(feed, number), golden, number)
            at = os.path.join(self.work, "%s", number + ".npz")
            # sim first and golden last: what is complete has a golden.
            write_npz(at % "inputs", feed)
            inner = 0
            if compiled is not None:
                sim = simulated(compiled, feed, number, self.compiled_map,
                                quantized, golden, self.notes)
                write_npz(at % "sim", sim)
                inner = len(sim)
            elif self.args.sim_text:
                inner = self.copy_texts(self.args.sim_text[k], number)
            golden["__meta__"] = meta_of(self.sha, feed, self.tools)
            write_npz(at % "golden", golden)
            say("sample %d/%d: %d tensors, %d of the compiled model, %.1f s" %
                (k + 1, len(self.feeds), len(self.types), inner,
                 time.time() - begun))

    def self_check(self, got, golden, number):
        import numpy as np
        for o in self.model.graph.output:
            a, b = got.get(o.name), golden[o.name]
            same = a is not None and a.shape == b.shape and \
                a.dtype == b.dtype and \
                np.array_equal(a, b) or (
                    a is not None and a.shape == b.shape and
                    b.dtype.kind == "f" and
                    bool(((a == b) | (np.isnan(a) & np.isnan(b))).all()))
            if not same:
                raise Refused("sample %s: output '%s' differs when every "
                              "tensor is an output: the executor fuses, or "
                              "does not repeat itself" % (number, o.name), 1)

    def copy_texts(self, source, number):
        target = os.path.join(self.work, "sim", number)
        shutil.rmtree(target, ignore_errors=True)
        os.makedirs(target + ".new", exist_ok=True)
        texts = glob.glob(os.path.join(source, "*_elem_int.txt"))
        for path in texts:
            shutil.copy(path, target + ".new")
        os.replace(target + ".new", target)
        return len(texts)

    def vendor_files(self):
        """(source, name in vendor/): text files, folders one level deep."""
        for path in self.args.vendor:
            if not os.path.isdir(path):
                yield path, os.path.basename(path)
                continue
            for name in sorted(os.listdir(path)):
                full = os.path.join(path, name)
                if os.path.isfile(full) and name.endswith(TEXT_FILES) and \
                        os.path.getsize(full) < 64 << 20:
                    yield full, name

    def copy_vendor(self):
        folder = os.path.join(self.work, "vendor")
        taken = set()
        shutil.rmtree(folder, ignore_errors=True)
        for source, name in self.vendor_files():
            while name in taken:
                name = "_" + name
            taken.add(name)
            os.makedirs(folder, exist_ok=True)
            shutil.copy(source, os.path.join(folder, name))
        return sorted(taken)

    def march(self):
        if self.args.march:
            return self.args.march
        found = set()
        for source, _ in self.vendor_files():
            with open(source, "rb") as f:
                text = f.read(64 << 20).decode("utf-8", "replace")
            found.update(re.findall(
                r"""^\s*['"]?march['"]?\s*:\s*['"]?([a-z0-9-]+)""", text,
                re.M))
            found.update(re.findall(r"model_deps_info: .*?'march': '([^']+)'",
                                    text))
        return found.pop() if len(found) == 1 else ""

    def describe(self, vendor):
        ops = collections.Counter(
            (n.domain + ":" if n.domain else "") + n.op_type
            for n in self.model.graph.node)
        out = collections.OrderedDict()
        out["name"] = os.path.basename(self.final)
        march = self.march()
        if march:
            out["march"] = march
        out["tools"] = self.tools
        out["made"] = "x5_export.py of assay"
        out["producer"] = ("%s %s" % (self.model.producer_name,
                                      self.model.producer_version)).strip()
        out["model"] = "model.onnx"
        out["model_sha256"] = self.sha
        if self.hybrid_sha:
            out["hybrid_sha256"] = self.hybrid_sha
        out["inputs"] = {n: {"dtype": str(t), "shape": list(s)}
                         for n, (t, s) in self.inputs.items()}
        out["outputs"] = [o.name for o in self.model.graph.output]
        out["samples"] = len(self.feeds)
        out["ops"] = dict(sorted(ops.items()))
        out["vendor_files"] = vendor
        out["untyped_tensors_not_in_golden"] = self.untyped
        for key in ("sim_not_exact", "sim_unknown", "not_finite"):
            value = self.notes.get(key, [])
            out[key] = value if isinstance(value, dict) else sorted(value)
        return out

    def finish(self):
        a = self.args
        scales = border_scales(self.model)
        if self.hybrid is not None:
            for name, (_, _, scale, _) in dequantized(self.hybrid).items():
                base = name[:-len("_calibrated")] + "_quantized" \
                    if name.endswith("_calibrated") else ""
                if base in self.types:
                    scales.setdefault(base, [float(x) for x in scale.ravel()])
        shutil.copyfile(a.model, os.path.join(self.work, "model.onnx"))
        if a.hybrid and a.sim_text:
            shutil.copyfile(a.hybrid, os.path.join(self.work, "hybrid.onnx"))
        if a.calibrated:
            shutil.copyfile(a.calibrated,
                            os.path.join(self.work, "calibrated.onnx"))
        write_json(os.path.join(self.work, "scales.json"),
                   dict(sorted(scales.items())))
        write_json(os.path.join(self.work, "case.json"),
                   self.describe(self.copy_vendor()))
        os.remove(os.path.join(self.work, "partial.json"))
        old = self.final + ".old"
        if os.path.lexists(self.final):
            shutil.rmtree(old, ignore_errors=True)
            os.rename(self.final, old)
        os.rename(self.work, self.final)
        shutil.rmtree(old, ignore_errors=True)

    def tell(self):
        for key, text in (
                ("sim_not_exact", "%d outputs of the compiled model are not "
                 "exactly an integer times their scale and were left out: %s"),
                ("sim_unknown", "%d outputs of the compiled model are no "
                 "tensor of the quantized model: %s"),
                ("not_finite", "%d tensors hold NaN or infinity: %s")):
            names = sorted(self.notes.get(key, []))
            if names:
                say("note: " + text % (len(names), ", ".join(names[:5])))
        if self.untyped:
            say("note: %d tensors have no type in the model and are not in "
                "golden/: %s" % (len(self.untyped),
                                 ", ".join(self.untyped[:5])))
        print(self.final)

    def main(self):
        self.check_arguments()
        self.load()
        self.prepare_folder()
        self.run_samples()
        self.finish()
        self.tell()


def arguments(argv):
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", metavar="QUANTIZED_MODEL.onnx")
    p.add_argument("-i", "--input", required=True, metavar="NPZ|DIR")
    p.add_argument("-o", "--output", required=True, metavar="CASE")
    p.add_argument("--hybrid", metavar="FILE",
                   help="P_hybrid_model.onnx: run it, or (with --sim-text) "
                   "take its names")
    p.add_argument("--sim-text", nargs="+", default=[], metavar="DIR",
                   help="folders of hbdk-sim's text files, one a sample")
    p.add_argument("--calibrated", metavar="FILE",
                   help="P_calibrated_model.onnx: scales of all tensors")
    p.add_argument("--vendor", nargs="+", default=[], metavar="PATH",
                   help="YAML, log, quant_info.json, hbdk-disas --json")
    p.add_argument("--march", default="", help="default: from --vendor files")
    p.add_argument("--self-check", action="store_true",
                   help="final outputs must equal those of a plain run")
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
        say("error: cannot read or write '%s': %s" % (e.filename, e.strerror))
        code = 2
    except KeyboardInterrupt:
        say("interrupted")
        code = 130
    if os.path.isdir(export.work):
        done = len(glob.glob(os.path.join(export.work, "golden", "*.npz")))
        if done:
            say("%d samples are kept in '%s': go on with --resume" %
                (done, export.work))
        else:
            shutil.rmtree(export.work, ignore_errors=True)
    return code


def supervised():
    """main() in a child: the vendor's package can end the process by itself,
    with exit code 0, when it misses a part of its own. Only a child that says
    how it ended has ended as it should."""
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(told)
        try:
            code = main()
        except SystemExit as e:  # a wrong argument, --help
            code = e.code if isinstance(e.code, int) else 2
            if "horizon_nn" in sys.modules:
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
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    while True:
        try:
            _, status = os.waitpid(child, 0)
            break
        except KeyboardInterrupt:
            pass  # the child had it as well and tells what it keeps
    os.set_blocking(told, False)  # a process that the child left may hold it
    try:
        said = os.read(told, 16)
    except BlockingIOError:
        said = b""
    if said:
        return int(said)
    if os.WIFSIGNALED(status):
        say("error: killed by signal %d" % os.WTERMSIG(status))
        return 128 + os.WTERMSIG(status)
    say("error: the vendor's package ended the program; its reason may stand "
        "above (is the package's bin folder in PATH?)")
    return 2


if __name__ == "__main__":
    sys.exit(supervised())
