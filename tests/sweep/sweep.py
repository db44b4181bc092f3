#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make sweep, make check-sweep: every entry of the catalogue of causes that a
slice can say is seeded into layers of real models with `assay mutate`, run on
the agent, and looked for with `assay pinpoint --got`.

A seeded cause is *named* when it is among the proved hypotheses (or is the
layout that was found). Every other proved one must give the same bytes on
these data, which is verified by running it: else it is a *false* cause. A
mutation that changes nothing on these data is not seeded. Besides: clean
outputs have no cause, and corrupted ones have none that is proved.

  sweep.py --build DIR [--target local|agent] [--models NAME,...]
           [--layers NAME,...] [--jobs N] [--quick N] [--least N] [--write]

The last line is `N of N seeded causes named, 0 false`, and the exit code 1
when that is not so or fewer than --least were seeded. --quick takes N edits a
layer of few layers and ends with the closing line of a check. --write puts the
catalogue and the matrix into docs/hypotheses.md. Files of $ASSAY_SHARED (default ../shared) are used
where they are there.
"""
import argparse
import concurrent.futures
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import catalogue  # noqa: E402
import models  # noqa: E402
import npz  # noqa: E402
from report import Failure, Result, report  # noqa: E402

SEED = 20261202
SWAPPED = "L5=output"  # concerns two layers
SOLVED = 77  # the number of entries whose number is solved for
BEYOND = 300  # one that 8 bits do not hold, where a layer can be padded so
DENSITIES = (0.02, 0.1, 0.5)


def id_of(edit):
    return re.match(r"\w+", edit).group(0)


class Tool:
    def __init__(self, args):
        self.assay = os.path.join(args.build, "x86_64", "assay")
        self.target = ["--local"]
        if args.target == "agent":
            agent = os.path.join(args.build, "aarch64", "assayd")
            self.target = ["--target", "exec:%s -cpu max %s --stdio" %
                           (args.qemu, agent)]

    def run(self, *args, ok=(0,)):
        # Agents of one board share a lease: each run is a board of its own.
        with tempfile.TemporaryDirectory() as folder:
            r = subprocess.run(
                [self.assay, *args], capture_output=True, text=True,
                timeout=300, stdin=subprocess.DEVNULL, check=False,
                env=dict(os.environ, TMPDIR=folder, NO_COLOR="1",
                         ASSAYD_BOARD_ID="sweep-" + os.path.basename(folder)))
        if r.returncode not in ok:
            raise Failure("%s: exit %d: %s" % (" ".join(args), r.returncode,
                                               r.stderr.strip()[-300:]))
        return r.stdout


# ---- a model and what its layers give -----------------------------------------

class Model:
    """One of models.py with everything that commands need."""

    def __init__(self, tool, spec, folder):
        self.tool, self.spec, self.name = tool, spec, spec.name
        # Parts of one model with other ids have a folder each.
        self.folder = tempfile.mkdtemp(dir=folder)
        self.inputs = self.folder + "/inputs"
        self.reference = self.folder + "/reference"
        self.read = ["-m", spec.model]
        if spec.scales:
            self.read += ["--scales", spec.scales]
        if spec.numerics:
            self.read += ["--numerics", spec.numerics]
        for name in spec.layers if spec.arith else ():
            self.read += ["--arith", "%s=%s" % (name, spec.arith)]
        self.take_samples()
        self.clean = self.folder + "/clean/outputs"
        found = json.loads(tool.run(
            "run", *self.read, "-i", self.inputs, "-q", *self.golden(),
            *tool.target, "--save-outputs", "-o", self.folder + "/clean",
            "--format", "json", ok=(0, 5)))
        self.tensors = {l["name"]: l["tensor"] for l in found["layers"]}
        if not spec.golden:
            os.rename(self.clean, self.reference)
            self.clean = self.reference
        self.layers = self.list_layers()

    def golden(self):
        return ["-r", self.reference] if self.spec.golden else []

    def take_samples(self):
        """Few samples: inputs, and golden tensors where there are some."""
        os.makedirs(self.inputs)
        if not os.path.isdir(self.spec.inputs):
            a = npz.read(self.spec.inputs, self.spec.input_names)
            npz.write(self.inputs + "/0000.npz",
                      {k: v.first(4) for k, v in a.items()})
            return
        for folder, to in ((self.spec.inputs, self.inputs),
                           (self.spec.golden, self.reference)):
            os.makedirs(to, exist_ok=True)
            if not folder:
                continue
            for f in sorted(os.listdir(folder))[:self.spec.samples]:
                shutil.copy(os.path.join(folder, f), to)

    def list_layers(self, *other):
        """name -> operator, in order."""
        text = self.tool.run("run", *(other or self.read), "-i", self.inputs,
                             "--local", "--list", "-q")
        rows = [l.split(None, 2) for l in text.splitlines()]
        return {r[2].strip(): r[1] for r in rows
                if len(r) == 3 and r[0].isdigit()}

    def edits(self, layer):
        text = self.tool.run("mutate", *self.read, "--layer", layer, "--list")
        found = [m.group(1) for m in
                 re.finditer(r"^([A-Z]+\d+\S*) ", text, re.M)
                 if id_of(m.group(1)) in self.spec.only or not self.spec.only]
        more = [t.replace(":N", ":%d" % BEYOND) for t in found
                if t == "P5=all:N" and "Conv" in self.layers[layer]]
        return [t.replace(":N", ":%d" % SOLVED) for t in found] + more


class Layer:
    """Outputs of one layer under edits; each is computed once."""

    def __init__(self, model, name):
        self.model, self.name = model, name
        self.lock = threading.Lock()
        self.known = {}
        self.tensor = model.tensors[name]
        self.edits = model.edits(name)
        self.base = self.bytes_in(model.clean)
        a = npz.read(os.path.join(model.clean, "0000.npz"), {self.tensor})
        self.width = a[self.tensor].width
        self.is_integer = a[self.tensor].descr[1] in "iu"

    def bytes_in(self, folder):
        """Of all samples; None: not there."""
        files = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        found = [npz.read(os.path.join(folder, f), {self.tensor})
                 for f in files]
        if not found or any(self.tensor not in f for f in found):
            return None
        return [f[self.tensor].data for f in found]

    def run(self, edit):
        """(folder of outputs, bytes) under an edit; bytes None: no such."""
        with self.lock:
            if edit in self.known:
                return self.known[edit]
        m = self.model
        work = tempfile.mkdtemp(dir=m.folder)
        file = work + "/edited.slice"
        sets = [a for e in edit.split(" and ") for a in ("--set", e)]
        m.tool.run("mutate", *m.read, "--layer", self.name, *sets, "-o", file,
                   "-q")
        part = []
        if edit != SWAPPED:
            new = [n for n in m.list_layers("-m", file)
                   if n not in m.layers or n == self.name]
            part = ["--start-layer", new[0], "--end-layer", new[-1]]
        m.tool.run("run", "-m", file, "-i", m.inputs, "-r", m.reference,
                   *m.tool.target, "-q", *part, "--save-outputs", "-o", work,
                   ok=(0, 1, 5))
        os.unlink(file)
        got = (work + "/outputs", self.bytes_in(work + "/outputs"))
        if got[1] is None:
            raise Failure("%s %s %s: no outputs" % (m.name, self.name, edit))
        with self.lock:
            self.known[edit] = got
        return got

    def pinpoint(self, folder, alone=True):
        """The report's culprit of this layer, and what is proved: texts of
        edits, or a layout's ids."""
        m = self.model
        file = tempfile.mktemp(dir=m.folder, suffix=".json")
        part = ["--start-layer", self.name, "--end-layer", self.name]
        if not alone:
            part = []
        m.tool.run("pinpoint", *m.read, "-i", m.inputs, "-r",
                   m.reference, "--got", folder, "--local", "-q", *part,
                   "--json", file, ok=(0, 1))
        with open(file, encoding="utf-8") as f:
            found = json.load(f)
        os.unlink(file)
        culprit = [c for c in found["culprits"] if c["column"] == "got" and
                   c["name"] == self.name]
        proved = [h["id"] for h in found["hypotheses"] if h["proved"] and
                  h["column"] == "got" and h["name"] == self.name]
        return culprit[0] if culprit else None, proved


# ---- one seeded cause ----------------------------------------------------------

def is_same(layer, text, want):
    """Does what is proved give these bytes?"""
    try:
        return layer.run(text)[1] == want
    except Failure:
        return False


def says_nothing(layer, got):
    """All elements at one value, at a limit of the type for instance: any
    fault that is large enough does that."""
    return all(len(d) > layer.width and
               d == d[:layer.width] * (len(d) // layer.width) for d in got)


def seed(layer, edit):
    r = Result(edit, layer.model.name + " " + layer.name)
    folder, got = layer.run(edit)
    if got == layer.base or says_nothing(layer, got):
        return r
    r.seeded = True
    culprit, proved = layer.pinpoint(folder, edit != SWAPPED)
    is_layout = culprit and culprit["verdict"] == "layout"
    r.named = edit in proved or bool(is_layout and r.id in proved)
    for text in proved:
        id_ = id_of(text)
        # An arrangement is the same data, whatever it is called.
        if text == edit or (is_layout and r.named) or \
                is_same(layer, text, got):
            r.others |= {id_} - {r.id}
            # Another number that gives the same is the same cause.
            r.named |= ":" in edit and \
                text.split(":")[0] == edit.split(":")[0]
        elif id_ in catalogue.NOT_SLICES and r.named:
            r.others.add(id_)  # cannot be run: it is the search's own word
        else:
            r.false.append(text)
    r.found = "%s, proved %s" % (culprit and culprit["hypothesis"],
                                         ", ".join(proved) or "none")
    return r


# ---- what has no cause ---------------------------------------------------------

def clean(layer):
    """Sentence, or "" when outputs as they should be have no cause."""
    culprit, proved = layer.pinpoint(layer.model.clean)
    return "" if culprit is None and not proved else \
        "clean outputs: %s, proved %s" % (culprit, proved)


def corrupted(layer, density):
    """The same for outputs of which random bytes are random."""
    rng = random.Random("%d %s %s %g" % (SEED, layer.model.name, layer.name,
                                         density))
    folder = tempfile.mkdtemp(dir=layer.model.folder)
    changed = 0
    for f in sorted(os.listdir(layer.model.clean)):
        arrays = npz.read(os.path.join(layer.model.clean, f), {layer.tensor})
        a = arrays[layer.tensor]
        data = bytearray(a.data)
        for i in range(len(data)):
            if rng.random() < density or (i == 0 and changed == 0):
                data[i] ^= rng.randrange(1, 256)
                changed += 1
        a.data = bytes(data)
        npz.write(os.path.join(folder, f), arrays)
    culprit, proved = layer.pinpoint(folder)
    if culprit and culprit["verdict"] == "unexplained" and not proved:
        return ""
    return "%d corrupted bytes: %s, proved %s" % (
        changed, culprit and culprit["verdict"], ", ".join(proved) or "none")


# ---- all of them ----------------------------------------------------------------

def open_layers(tool, args, work):
    layers, skipped = [], []
    for spec in models.specs(ROOT, args.quick, work):
        if args.models and spec.name not in args.models:
            continue
        if not os.path.exists(spec.model):
            skipped.append(spec.name)
            continue
        m = Model(tool, spec, work)
        for name in spec.layers or m.layers:
            if args.layers and name not in args.layers:
                continue
            layers.append(Layer(m, name))
    return layers, skipped


def in_parallel(jobs, tasks):
    """[(what, function, arguments)] -> [(what, result or Failure)]"""
    def one(task):
        try:
            return task[0], task[1](*task[2])
        except (Failure, subprocess.TimeoutExpired) as e:
            return task[0], Failure(str(e))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, tasks))


def tasks_of(layers, quick):
    rng = random.Random(SEED)
    tasks = []
    for layer in layers:
        edits = layer.edits
        if quick:
            edits = sorted(rng.sample(edits, min(quick, len(edits))))
        tasks += [("%s %s %s" % (layer.model.name, layer.name, e), seed,
                   (layer, e)) for e in edits]
    return tasks


def checks_of(layers):
    tasks = []
    for layer in layers:
        at = "%s %s" % (layer.model.name, layer.name)
        tasks.append((at + " clean", clean, (layer,)))
        tasks += [("%s corrupted %g" % (at, d), corrupted, (layer, d))
                  for d in DENSITIES if layer.is_integer]
    return tasks


def options():
    """Those that culprits.py has, too."""
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--qemu", default="qemu-aarch64")
    p.add_argument("--target", choices=("local", "agent"), default="agent")
    p.add_argument("--models", type=lambda s: s.split(","), default=[])
    p.add_argument("--jobs", type=int, default=2)
    return p


def main():
    p = options()
    p.add_argument("--layers", type=lambda s: s.split(","), default=[])
    p.add_argument("--quick", type=int, default=0, metavar="N")
    p.add_argument("--least", type=int, default=100)
    p.add_argument("--write", action="store_true")
    args = p.parse_args()
    begun = time.time()
    with tempfile.TemporaryDirectory() as work:
        tool = Tool(args)
        layers, skipped = open_layers(tool, args, work)
        seeds = in_parallel(args.jobs, tasks_of(layers, args.quick))
        checks = in_parallel(args.jobs, checks_of(layers))
    return report(args, seeds, checks, skipped, layers,
                            time.time() - begun)


if __name__ == "__main__":
    sys.exit(main())
