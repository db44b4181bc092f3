#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tensors of the stages qat.pt and qat.export.pt, for assay triage.

    stage_export.py --stage qat=qat.pt --stage qat.export=qat.export.pt
        -i INPUTS -o FOLDER [--layers GLOB ...] [--samples N] [--force]

Runs where the models can be loaded (Python 3.8 or later, torch, and what
their classes need). Each model is run on each sample with a hook on every
module that has no modules inside, and on the model itself; what they give is
written to FOLDER/<stage>/NNNN.npz, the inputs to FOLDER/inputs. Names are
those of the modules, the same in all stages (a prefix "module." or
"_orig_mod." is taken off): the second use of a module is NAME#1, the parts of
a tuple are NAME[0], of a dict NAME[key], the model's output is "output".
FOLDER/layers.json says which module gave which name, and which stages have it.

INPUTS: an npz (name -> array, one sample) or a folder of them. Arrays go to
the parameters of forward() that have their names, else by their order.
Loading a model runs the code that its file holds: load your own files only.

A model that is built by a script is exported from there:

    import stage_export
    stage_export.export({"qat": qat, "qat.export": pre_export(qat)},
                        stage_export.read_inputs("inputs"), "FOLDER")

Then: assay triage FOLDER --qat-bc ... --quantized-bc ...
Exit code: 0 the folders are there; 2 anything else, with one sentence.
"""
import argparse
import ast
import fnmatch
import inspect
import json
import os
import re
import shutil
import struct
import sys
import zipfile

STAGES = ("float", "calibration", "qat", "qat.export")
PREFIXES = ("module.", "_orig_mod.")
# torch's word for a type -> numpy's.
DESCR = {"torch.float32": "<f4", "torch.float64": "<f8",
         "torch.float16": "<f2", "torch.int8": "|i1", "torch.uint8": "|u1",
         "torch.int16": "<i2", "torch.int32": "<i4", "torch.int64": "<i8",
         "torch.bool": "|b1"}
WIDTH = {"f4": 4, "f8": 8, "f2": 2, "i1": 1, "u1": 1, "i2": 2, "i4": 4,
         "i8": 8, "b1": 1}


class Refused(Exception):
    """One sentence for the user."""


def say(text):
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def first_line(error):
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else "no reason given"


def torch_module():
    """torch, only when it is needed."""
    try:
        import torch
    except ImportError as e:
        raise Refused("package '%s' is missing: run this where the models can "
                      "be loaded" % (getattr(e, "name", None) or "torch"))
    except Exception as e:
        raise Refused("package 'torch' cannot be loaded: %s: %s" %
                      (type(e).__name__, first_line(e)))
    return torch


# ---- npz without numpy ------------------------------------------------------

def npy_bytes(descr, shape, data):
    head = repr({"descr": descr, "fortran_order": False,
                 "shape": tuple(shape)}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data)


def write_npz(path, arrays):
    """name -> (descr, shape, bytes); equal tensors give equal files."""
    with zipfile.ZipFile(path + ".partial", "w") as z:
        for name, (descr, shape, data) in arrays.items():
            z.writestr(zipfile.ZipInfo(name + ".npy"),
                       npy_bytes(descr, shape, data))
    os.replace(path + ".partial", path)


def parse_npy(raw, what):
    try:
        if raw[:6] != b"\x93NUMPY":
            raise ValueError("no npy file")
        wide = raw[6] > 1
        n, = struct.unpack_from("<I" if wide else "<H", raw, 8)
        at = 12 if wide else 10
        head = ast.literal_eval(raw[at:at + n].decode("latin1"))
        descr, shape = head["descr"], tuple(head["shape"])
        if head["fortran_order"] and len(shape) > 1:
            raise ValueError("Fortran order")
        count = 1
        for d in shape:
            count *= d
        data = raw[at + n:]
        if len(data) != count * WIDTH[descr[1:]]:
            raise ValueError("%d bytes, expected %d" %
                             (len(data), count * WIDTH[descr[1:]]))
        return descr, shape, data
    except KeyError as e:
        raise Refused("%s: type or entry %s is not known" % (what, e))
    except Exception as e:
        raise Refused("%s: %s" % (what, first_line(e)))


def read_npz(path):
    try:
        with zipfile.ZipFile(path) as z:
            return {i.filename[:-4]: parse_npy(z.read(i), "%s: '%s'" %
                                               (path, i.filename))
                    for i in z.infolist() if i.filename.endswith(".npy") and
                    not i.filename.startswith("__")}
    except (OSError, zipfile.BadZipFile) as e:
        raise Refused("%s: %s" % (path, first_line(e)))


def read_inputs(path):
    """[(sample name, {input name: (descr, shape, bytes)})]"""
    if os.path.isdir(path):
        files = sorted(os.path.join(path, f) for f in os.listdir(path)
                       if f.endswith(".npz"))
    else:
        files = [path]
    if not files:
        raise Refused("%s: no npz file in the folder of inputs" % path)
    samples = [(os.path.basename(f)[:-4], read_npz(f)) for f in files]
    for f, (_, arrays) in zip(files, samples):
        if not arrays:
            raise Refused("%s: no array in it" % f)
    return samples


# ---- tensors ----------------------------------------------------------------

def is_tensor(x):
    return hasattr(x, "detach") and hasattr(x, "shape") and \
        hasattr(x, "dtype")


def one_scale(x):
    """The scale of the whole tensor, or None (of channels, or none)."""
    get = getattr(x, "q_scale", None)
    if get is None:
        return None
    try:
        s = get()
        if is_tensor(s):
            values = s.detach().cpu().reshape(-1).tolist()
            s = values[0] if len(values) == 1 else None
        return float(s) if s is not None and float(s) > 0 else None
    except Exception:  # a tensor that has no scale says so by raising
        return None


def plain(x, torch):
    """Real values: a quantized tensor is dequantized, a subclass is not."""
    if getattr(x, "is_quantized", False):
        x = x.dequantize()
    elif type(x) is not torch.Tensor and hasattr(x, "as_subclass"):
        x = x.as_subclass(torch.Tensor)
    x = x.detach().cpu()
    if str(x.dtype) not in DESCR:
        x = x.float()
    return x.contiguous()


def as_array(x, torch, what):
    try:
        t = plain(x, torch)
        return DESCR[str(t.dtype)], tuple(int(d) for d in t.shape), \
            t.numpy().tobytes()
    except Exception as e:
        raise Refused("%s: its tensor (%s) cannot be read: %s" %
                      (what, getattr(x, "dtype", type(x).__name__),
                       first_line(e)))


def parts(name, value):
    """(name, tensor) of everything in a module's output."""
    if is_tensor(value):
        yield name, value
    elif isinstance(value, dict):
        for k, v in value.items():
            yield from parts("%s[%s]" % (name, k), v)
    elif isinstance(value, (tuple, list)):
        names = getattr(value, "_fields", range(len(value)))
        for k, v in zip(names, value):
            yield from parts("%s[%s]" % (name, k), v)


def layer_name(qualified):
    for prefix in PREFIXES:
        while qualified.startswith(prefix):
            qualified = qualified[len(prefix):]
    return qualified


# ---- one stage ------------------------------------------------------------

class Stage:
    def __init__(self, name, model, patterns):
        self.name = name
        self.model = model
        self.torch = torch_module()
        self.layers = {}  # name -> (module, type)
        self.handles = []
        for need in ("named_modules", "eval"):
            if not hasattr(model, need):
                raise Refused("stage '%s' is a %s and no model: it has no "
                              "'%s'" % (name, type(model).__name__, need))
        for qualified, module in model.named_modules():
            if any(True for _ in module.children()) or qualified == "":
                continue
            own = layer_name(qualified)
            if patterns and not any(fnmatch.fnmatchcase(own, p)
                                    for p in patterns):
                continue
            if not hasattr(module, "register_forward_hook"):
                raise Refused("module '%s' of stage '%s' takes no hook" %
                              (qualified, name))
            self.handles.append(module.register_forward_hook(
                self.hook(own, qualified, type(module).__name__)))
        if not self.handles and patterns:
            raise Refused("stage '%s': no module has a name like %s" %
                          (name, ", ".join("'%s'" % p for p in patterns)))

    def hook(self, own, qualified, kind):
        def keep(module, inputs, output):
            uses = self.uses.get(own, 0)
            self.uses[own] = uses + 1
            called = own if uses == 0 else "%s#%d" % (own, uses)
            self.keep(called, output, qualified, kind)
        return keep

    def keep(self, called, value, qualified, kind):
        for name, tensor in parts(called, value):
            scale = one_scale(tensor)
            self.arrays[name] = as_array(
                tensor, self.torch, "stage '%s', '%s'" % (self.name, name))
            if scale is not None:
                self.scales[name] = scale
            self.layers.setdefault(name, (qualified, kind))

    def arguments(self, sample):
        """Arrays by the names of forward()'s parameters, else by order."""
        tensors = {}
        for name, (descr, shape, data) in sample.items():
            dtype = next(t for t, d in DESCR.items() if d == descr)
            dtype = getattr(self.torch, dtype.split(".")[1])
            tensors[name] = self.torch.frombuffer(
                bytearray(data), dtype=dtype).reshape(shape)
        try:
            known = set(inspect.signature(self.model.forward).parameters)
        except (TypeError, ValueError, AttributeError):
            known = set()
        if set(tensors) <= known:
            return (), tensors
        return tuple(tensors.values()), {}

    def run(self, sample, what):
        self.uses, self.arrays, self.scales = {}, {}, {}
        try:
            args, named = self.arguments(sample)
            self.model.eval()
            with self.torch.no_grad():
                output = self.model(*args, **named)
        except Refused:
            raise
        except Exception as e:
            raise Refused("stage '%s', sample '%s': the model refuses it: "
                          "%s: %s" % (self.name, what, type(e).__name__,
                                      first_line(e)))
        self.keep("output", output, "", type(self.model).__name__)
        if not self.arrays:
            raise Refused("stage '%s', sample '%s': no tensor came out" %
                          (self.name, what))
        arrays = dict(self.arrays)
        meta = json.dumps({"stage": self.name, "scales": self.scales,
                           "torch": str(self.torch.__version__)},
                          sort_keys=True)
        arrays["__meta__"] = ("<U%d" % len(meta), (),
                              meta.encode("utf-32-le"))
        return arrays

    def close(self):
        for h in self.handles:
            h.remove()


# ---- all stages -----------------------------------------------------------

def layer_map(stages):
    names = {}
    for s in stages:
        for name, (module, kind) in s.layers.items():
            entry = names.setdefault(name, {"name": name, "stages": {}})
            entry["stages"][s.name] = {"module": module, "type": kind}
    common = [n for n, e in names.items() if len(e["stages"]) == len(stages)]
    return {"schema": "assay-stage-map/1", "stages": [s.name for s in stages],
            "in_all": len(common), "layers": list(names.values())}


def export(models, samples, folder, patterns=(), force=False):
    """models: {stage: model}; samples: of read_inputs(). Writes the folder."""
    for name in models:
        if name not in STAGES:
            raise Refused("'%s' is no stage that torch runs, expected one of "
                          "%s" % (name, ", ".join(STAGES)))
    work = folder.rstrip("/") + ".partial"
    taken = [n for n in list(models) + ["inputs"]
             if os.path.exists(os.path.join(folder, n))]
    if taken and not force:
        raise Refused("'%s' is there already: give --force to replace it" %
                      os.path.join(folder, taken[0]))
    shutil.rmtree(work, ignore_errors=True)
    stages = []
    try:
        for name, model in models.items():
            stages.append(Stage(name, model, patterns))
        for stage in stages:
            os.makedirs(os.path.join(work, stage.name))
            for k, (sample, arrays) in enumerate(samples):
                out = stage.run(arrays, sample)
                write_npz(os.path.join(work, stage.name, sample + ".npz"), out)
                say("stage %s, sample %d/%d: %d tensors" %
                    (stage.name, k + 1, len(samples), len(out) - 1))
        os.makedirs(os.path.join(work, "inputs"))
        for sample, arrays in samples:
            write_npz(os.path.join(work, "inputs", sample + ".npz"), arrays)
        layers = layer_map(stages)
        if len(stages) > 1 and layers["in_all"] <= 1:
            say("note: the stages have no layer's name in common but the "
                "model's output")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(work, "layers.json"), "w",
                  encoding="utf-8") as f:
            json.dump(layers, f, indent=1)
            f.write("\n")
        for name in sorted(os.listdir(work)):
            target = os.path.join(folder, name)
            if os.path.isdir(target):
                shutil.rmtree(target)
            os.replace(os.path.join(work, name), target)
    except OSError as e:
        raise Refused("%s: %s" % (e.filename or folder, e.strerror or e))
    finally:
        for stage in stages:
            stage.close()
        shutil.rmtree(work, ignore_errors=True)
    return folder


def load(path):
    torch = torch_module()
    if not os.path.isfile(path):
        raise Refused("%s: no such file" % path)
    options = {"map_location": "cpu"}
    if "weights_only" in inspect.signature(torch.load).parameters:
        options["weights_only"] = False  # a model is more than its weights
    try:
        model = torch.load(path, **options)
    except Exception as e:
        raise Refused("%s: torch cannot load it: %s: %s" %
                      (path, type(e).__name__, first_line(e)))
    if isinstance(model, dict):
        raise Refused("%s: holds weights (a dict) and no model: build the "
                      "model in a script and call stage_export.export()" %
                      path)
    return model


def parse_stage(text):
    m = re.match(r"([a-z.]+)=(.+)$", text)
    if not m or m.group(1) not in STAGES:
        raise Refused("--stage '%s': expected STAGE=FILE with one of %s" %
                      (text, ", ".join(STAGES)))
    return m.group(1), m.group(2)


def main(argv=None):
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--stage", action="append", default=[], required=True,
                   metavar="STAGE=FILE")
    p.add_argument("-i", "--input", required=True, metavar="INPUTS")
    p.add_argument("-o", "--output-dir", required=True, metavar="FOLDER")
    p.add_argument("--layers", action="append", default=[], metavar="GLOB")
    p.add_argument("--samples", type=int, default=0, metavar="N")
    p.add_argument("--force", action="store_true")
    a = p.parse_args(argv)
    try:
        stages = [parse_stage(s) for s in a.stage]
        if len(dict(stages)) != len(stages):
            raise Refused("--stage: a stage is given twice")
        samples = read_inputs(a.input)
        samples = samples[:a.samples] if a.samples > 0 else samples
        models = {name: load(path) for name, path in stages}
        print(export(models, samples, a.output_dir, a.layers, a.force))
        return 0
    except Refused as e:
        say("error: %s" % e)
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    return 2


if __name__ == "__main__":
    sys.exit(main())
