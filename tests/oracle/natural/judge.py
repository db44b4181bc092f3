#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Explain where two goldens of one model differ, and judge it.

    judge.py ASSAY WORK ROWS TITLE CASE GOT [OP=EDIT[,EDIT...] ...]

CASE, GOT  a case, and a folder of npz of another CPU or form
OP=EDIT    the cause that layers of this operator are known to differ by:
           among the proved ones there must be one of these
ROWS       tab separated rows of the table are appended to it

The search looks at 32 samples at most, so samples are given to it in parts of
32, and the counts of a layer are added up. One line is printed, ok or FAIL.
"""
import json
import os
import shutil
import subprocess
import sys

PART = 32


def parts(work, case, got):
    """Folders of up to PART samples each: (case, got)."""
    names = sorted(os.listdir(os.path.join(case, "golden")))
    for first in range(0, len(names), PART):
        folder = os.path.join(work, "part")
        shutil.rmtree(folder, ignore_errors=True)
        for sub, source in (("inputs", os.path.join(case, "inputs")),
                            ("golden", os.path.join(case, "golden")),
                            ("got", got)):
            os.makedirs(os.path.join(folder, sub))
            for n in names[first:first + PART]:
                shutil.copyfile(os.path.join(source, n),
                                os.path.join(folder, sub, n))
        for f in ("model.onnx", "case.json"):
            shutil.copyfile(os.path.join(case, f), os.path.join(folder, f))
        yield folder, len(names[first:first + PART])


def run(assay, folder):
    path = os.path.join(folder, "report.json")
    r = subprocess.run([assay, "pinpoint", folder, "--json", path, "--local",
                        "-q"], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, timeout=600)
    if r.returncode not in (0, 1):
        raise SystemExit("assay: exit %d: %s" % (
            r.returncode, r.stdout.decode(errors="replace")[-300:]))
    with open(path, encoding="utf-8") as f:
        return json.load(f)


class Layer:
    """What is known of a layer that differs by itself."""

    def __init__(self, name, op):
        self.name, self.op = name, op
        self.differing = self.matched = self.all = self.all_matched = 0
        self.proved = None
        self.best = {}

    def add(self, report, isolated):
        found = [h for h in report["hypotheses"]
                 if h["name"] == self.name and h["column"] == "got"]
        proved = {h["id"]: h for h in found if h["proved"]}
        self.proved = (set(proved) if self.proved is None
                       else self.proved & set(proved))
        self.differing += isolated
        self.best.update({k: [h[n] for n in (
            "differing_matched", "differing", "all_matched", "all")]
            for k, h in proved.items()
            for h in [add(self.best.get(k), h)]})


def add(old, h):
    if old:
        keys = ("differing_matched", "differing", "all_matched", "all")
        return dict(h, **{k: h[k] + o for k, o in zip(keys, old)})
    return h


def main():
    assay, work, rows, title, case, got = sys.argv[1:7]
    known = {}
    for a in sys.argv[7:]:
        op, edits = a.split("=", 1)
        known[op] = edits.split(",")
    layers, order, samples, observed = {}, [], 0, 0
    for folder, n in parts(work, case, got):
        report = run(assay, folder)
        samples += n
        observed = sum("got" in l["columns"] for l in report["layers"])
        for l in report["layers"]:
            c = l["columns"].get("got", {})
            if c.get("status") != "diverged":
                continue
            if l["name"] not in layers:
                layers[l["name"]] = Layer(l["name"], l["op"])
                order.append(l["name"])
            layers[l["name"]].add(report, c["isolated"]["mismatch"])
        # A layer that is neither equal, nor fed something else, nor searched.
        bad = [l["name"] for l in report["layers"]
               if l["columns"].get("got", {}).get("status") in
               ("error", "skipped", "flaky")]
        if bad:
            raise SystemExit("layers without a judgement: %s" % bad)
    text, wrong = [], []
    with open(rows, "a", encoding="utf-8") as f:
        for name in order:
            l = layers[name]
            want = [e for e in known.get(l.op, []) if e in l.proved]
            if not want:
                wrong.append("%s %s: none of %s is proved, but %s" % (
                    l.op, name, known.get(l.op, []), sorted(l.proved) or
                    "nothing"))
                continue
            m, d, a, n = l.best[want[0]]
            if (m, a) != (d, n) or d != l.differing:
                wrong.append("%s: %d of %d differing, %d of %d all; %d differ"
                             % (name, m, d, a, n, l.differing))
            others = len(l.proved) - 1
            f.write("\t".join([title, os.path.basename(case).split("-")[0],
                               "%d" % samples, "%s %s" % (l.op, name), want[0],
                               "%d of %d" % (m, d), "%d of %d" % (a, n),
                               "%d" % others]) + "\n")
            text.append("%s %s %d/%d" % (name, want[0], m, d))
        if not order and not wrong:
            f.write("\t".join([title, os.path.basename(case).split("-")[0],
                               "%d" % samples, "none", "", "", "", ""]) + "\n")
    if wrong or not observed:
        raise SystemExit("; ".join(wrong) or "nothing was compared")
    print("%d samples, %d layers; %s" % (
        samples, observed, ", ".join(text) or "no layer differs by itself"))


if __name__ == "__main__":
    main()
