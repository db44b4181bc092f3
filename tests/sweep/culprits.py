#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make bench-culprits: is the first culprit right, and are the others told?

One layer of a whole model, or two, are changed with `assay mutate`; the edited
slice is run on the agent (or on the host's engine), and what it gave is put
beside the model: as a column of its own (`assay pinpoint --got`) and, the
other way round, as the reference of a run on that target (`assay run -r`).
What has to come out follows from the bytes of three runs: a changed layer is
a culprit when its output differs from what the unchanged layer gives on the
same inputs. So of two layers, the first is one when the run with it alone
differs there from the clean run, and the second when the run with both
differs there from the run with the first alone.

Judged: the first culprit, that the others are just those that there are
(neither missing, nor inherited, nor one too many), and that the cause of each
is named: it is among the proved ones, or one that is gives the same bytes.

  culprits.py --build DIR [--target local|agent] [--singles N] [--pairs N]
              [--models NAME,...] [--jobs N] [--seed N]

The last line is `N of N first culprits right`; exit 1 when anything is wrong.
"""
import json
import os
import random
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import models  # noqa: E402
import npz  # noqa: E402
import sweep  # noqa: E402
from report import Failure  # noqa: E402

WHOLE = {"digits", "horizon", "digits_qop_u8", "digits_qdq_s16", "x5/pad16",
         "x5/ops_conv", "x5/ops_elt", "x5/ops_pool", "x5/ops_i16c"}
TRIES = 40  # draws for one run: many edits change nothing on these data


class Layers:
    """What may be changed in a model: integer layers and their edits."""

    def __init__(self, model):
        self.model = model
        self.clean = read(model.clean)
        self.names = [n for n in model.layers if self.is_integer(n)]
        self.edits = {}

    def is_integer(self, name):
        tensor = self.model.tensors.get(name)
        return tensor in self.clean and \
            self.clean[tensor][0].descr[1] in "iu"

    def edits_of(self, name):
        if name not in self.edits:
            self.edits[name] = [e for e in self.model.edits(name)
                                if e != sweep.SWAPPED]
        return self.edits[name]


def read(folder):
    """tensor -> an array of each sample"""
    out = {}
    for f in sorted(os.listdir(folder)):
        for k, a in npz.read(os.path.join(folder, f)).items():
            out.setdefault(k, []).append(a)
    return out


def data(arrays):
    return [a.data for a in arrays]


class Trial:
    """Edits of one model, [(layer, edit)] in its order, and what they give."""

    def __init__(self, layers, changes):
        self.layers, self.model, self.changes = layers, layers.model, changes
        self.folder = tempfile.mkdtemp(dir=self.model.folder)
        self.text = "%s %s" % (self.model.name, " and ".join(
            "%s %s" % c for c in changes))

    def outputs(self, changes, name):
        """Folder of all tensors under some changes."""
        m, read_as = self.model, self.model.read
        for i, (layer, edit) in enumerate(changes):
            file = "%s/%s%d.slice" % (self.folder, name, i)
            m.tool.run("mutate", *read_as, "--layer", layer, "--set", edit,
                       "-o", file, "-q")
            read_as = ["-m", file]
        out = os.path.join(self.folder, name)
        m.tool.run("run", *read_as, "-i", m.inputs, *m.tool.target, "-q",
                   "-r", m.reference, "--save-outputs", "-o", out,
                   ok=(0, 1, 5))
        return out + "/outputs"

    def run(self):
        """Sets truth: [(layer, edit, says something)] of the culprits."""
        before, self.truth = self.layers.clean, []
        for n, (layer, edit) in enumerate(self.changes):
            self.got = self.outputs(self.changes[:n + 1], "got%d" % n)
            now = read(self.got)
            tensor = self.model.tensors[layer]
            if data(now[tensor]) != data(before[tensor]):
                # One value everywhere: any fault that is large enough.
                says = any(d.data != d.data[:d.width] * d.count
                           for d in now[tensor])
                self.truth.append((layer, edit, says))
            before = now
        return bool(self.truth)

    def same_bytes(self, layer, text):
        """Does what is proved of a layer give what was got as well?"""
        changes = [(l, text if l == layer else e) for l, e in self.changes]
        tensor = self.model.tensors[layer]
        try:
            other = read(self.outputs(changes, "other"))
        except Failure:
            return False
        return data(other[tensor]) == data(read(self.got)[tensor])

    def report(self, as_reference):
        """(culprits, proved) of a column's report, or of a run's in which
        what was got is the reference."""
        m, file = self.model, self.folder + "/report.json"
        column = "cpu" if as_reference else "got"
        how = ["run", *m.read, "-i", m.inputs, "-r", self.got,
               *m.tool.target] if as_reference else \
            ["pinpoint", *m.read, "-i", m.inputs, "-r", m.reference, "--got",
             self.got, "--local"]
        m.tool.run(*how, "-q", "--json", file, ok=(0, 1, 5))
        with open(file, encoding="utf-8") as f:
            found = json.load(f)
        return ([c for c in found["culprits"] if c["column"] == column],
                [h for h in found["hypotheses"] if h["proved"] and
                 h["column"] == column])

    def is_named(self, layer, edit, culprits, proved):
        texts = [h["id"] for h in proved if h["name"] == layer]
        verdict = [c["verdict"] for c in culprits if c["name"] == layer]
        solved = edit.split(":")[0] + ":"
        return edit in texts or \
            any(t.startswith(solved) for t in texts if ":" in edit) or \
            ("layout" in verdict and sweep.id_of(edit) in texts) or \
            any(self.same_bytes(layer, t) for t in texts[:3])

    def judge(self, as_reference):
        """(is the first right, are all, how many are named, of how many,
        sentence)"""
        culprits, proved = self.report(as_reference)
        got = [c["name"] for c in culprits]
        want = [layer for layer, _, _ in self.truth]
        unnamed = [layer for layer, edit, says in self.truth if says and
                   not self.is_named(layer, edit, culprits, proved)]
        asked = sum(says for _, _, says in self.truth)
        text = ""
        if got != want or unnamed:
            text = "%s %s: culprits %s, expected %s; not named: %s" % (
                "as reference" if as_reference else "as column", self.text,
                got, want, ", ".join("%s (%s)" % (n, ", ".join(
                    h["id"] for h in proved if h["name"] == n) or "none")
                    for n in unnamed) or "none")
        return (got[:1] == want[:1], got == want, asked - len(unnamed), asked,
                text)


def one(task):
    """A trial whose edits change something, judged in one of the two ways."""
    every, number, n_changes, seed = task
    rng = random.Random("%d %d %d" % (seed, n_changes, number))
    for _ in range(TRIES):
        layers = every[rng.randrange(len(every))]
        order = sorted(rng.sample(range(len(layers.names)), n_changes))
        names = [layers.names[i] for i in order]
        if not all(layers.edits_of(n) for n in names):
            continue
        trial = Trial(layers, [(n, rng.choice(layers.edits_of(n)))
                               for n in names])
        if trial.run():
            return trial.judge(number % 2 == 1)
    raise Failure("no edit that changes anything in %d draws" % TRIES)


def main():
    p = sweep.options()
    p.add_argument("--singles", type=int, default=80)
    p.add_argument("--pairs", type=int, default=160)
    p.add_argument("--seed", type=int, default=sweep.SEED)
    args = p.parse_args()
    begun = time.time()
    with tempfile.TemporaryDirectory() as work:
        tool = sweep.Tool(args)
        every = [Layers(sweep.Model(tool, s, work)) for s in
                 models.specs(sweep.ROOT, False, work)
                 if not s.only and s.name in (args.models or WHOLE) and
                 os.path.exists(s.model)]
        tasks = [(every, i, n, args.seed) for n, count in
                 ((1, args.singles), (2, args.pairs)) for i in range(count)]
        found = sweep.in_parallel(args.jobs, [
            ("run %d of %d changes" % (i, n), one, ((e, i, n, s),))
            for e, i, n, s in tasks])
    for what, r in found:
        if isinstance(r, Failure) or r[4]:
            print("FAIL %s: %s" % (what, r if isinstance(r, Failure) else
                                   r[4]))
    judged = [r for _, r in found if not isinstance(r, Failure)]
    print("%d changes of one layer and %d of two, in %d models, on %s: all "
          "culprits and no others in %d of %d, %d of %d causes named; %.0f s" %
          (args.singles, args.pairs, len(every),
           "the aarch64 agent" if args.target == "agent" else
           "the host's engine", sum(r[1] for r in judged), len(found),
           sum(r[2] for r in judged), sum(r[3] for r in judged),
           time.time() - begun))
    first = sum(r[0] for r in judged)
    print("%d of %d first culprits right" % (first, len(found)))
    return 0 if len(judged) == len(found) and \
        all(not r[4] for r in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
