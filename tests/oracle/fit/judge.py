#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judge fit-arith by trying everything, in Python.

    judge.py FOLDER CASE... --under FIT.json NUMERICS.json [--under ...]
             [--made-by NUMERICS.json] [--not NUMERICS.json]
             [--classes [FORM=N ...]] [--without N] [--each N] [--part K/N]

FOLDER holds the separating inputs of the first report. Of every report: a
layer's, and a form's, rule in use is left exactly if it gives the goldens, and
but for that they say the same. Of the first one: each form has as many
candidates as give all its goldens when the whole space is tried; N layers of
each kind likewise; what is told apart by inputs is told apart, and nothing
else; what is proved equal is equal on those inputs and on random ones.
--made-by: that rule is left everywhere; --not: in no form. --classes: what the
forms are left with; those that are not named, with one class. --without: at
most so many layers have several classes and no input. --part: every N-th form.
"""
import argparse
import collections
import json
import os
import sys

import numpy as np

import layers
import space
import trial
import executor

LOOKED_AT = 512  # classes of a layer for which inputs are made
faults, counts = [], collections.Counter()


def fault(layer, text, *args):
    faults.append("%s: %s" % (layer, text % args))


def survivors(texts, trials):
    """Those that give the goldens of all trials; few elements first."""
    for t in trials:
        first = trial.few(t)
        if first is not None:
            texts = [k for k in texts if first.gives(k)]
    for t in trials:
        texts = [k for k in texts if t.gives(k)]
    return texts


def random_inputs(layer, model, rng):
    """Inputs of a layer with ends, small values and ties."""
    have = {}
    for name in layer.proto.input:
        if not name or name in layer.const:
            continue
        dtype, shape = model.typed[name]
        if dtype.kind == "f":
            unit = layer.const[layer.proto.input[1]].astype(np.float64)
            v = rng.integers(-300, 300, shape) * unit / 2
        else:
            lo, hi = np.iinfo(dtype).min, np.iinfo(dtype).max
            v = rng.integers(lo, hi + 1, shape)
            v = np.where(rng.random(shape) < 0.3, rng.integers(-9, 9, shape),
                         v)
            v = np.where(rng.random(shape) < 0.1,
                         rng.choice([lo, lo + 1, hi], shape), v)
        have[name] = v.astype(dtype)
    return have


def every_value(layer, model):
    """All that the input of a table or prelu can be, nearly."""
    dtype, shape = model.typed[layer.proto.input[0]]
    ends = np.iinfo(dtype)
    step = 7 if layer.form == "prelu" and ends.bits > 8 else 1
    v = np.arange(ends.min, ends.max + 1, step).astype(dtype)
    return {layer.proto.input[0]: np.repeat(v[:, None], shape[-1], 1)
            if layer.form == "prelu" else v}


class Case:
    def __init__(self, folder):
        with open(os.path.join(folder, "case.json"), encoding="utf-8") as f:
            self.name = json.load(f)["name"]
        self.model = executor.load(folder)
        self.layers = {l.name: l for l in layers.of(self.model)}
        self.haves = [have for _, have in executor.samples(folder)]


class Reported:
    """A layer of the first report, and what Python has of it."""

    def __init__(self, case, report, folder, rng):
        self.report = report
        self.layer = layer = case.layers[report["layer"]]
        self.name = "%s/%s" % (case.name, layer.name)
        self.golden = trial.of(layer, case.haves)
        self.inputs = []
        for name in report["inputs"]:
            with np.load(os.path.join(folder, name)) as have:
                self.inputs.append(trial.of(layer, [dict(have)], False))
        more = [random_inputs(layer, case.model, rng) for _ in range(2)]
        if layer.form in ("lut_segments", "prelu"):
            more = [every_value(layer, case.model)]
        self.random = trial.of(layer, more, False)

    def kind(self):
        return self.layer.bits, tuple(sorted(self.layer.fields))

    def told_by(self, text):
        return tuple(t.output(text) for t in self.inputs)

    def outputs(self, text):
        return self.told_by(text) + (self.random.output(text),)


def separated(r, winner):
    """Groups by the report and by the outputs have to be the same."""
    report = r.report
    counts["layers with several"] += report["classes"] > 1
    counts["of them without an input"] += (report["classes"] > 1 and
                                           not report["inputs"])
    if report["classes"] > 1 and not report["others"]:
        fault(r.name, "%d classes, none is listed", report["classes"])
    if not winner:
        return
    mine, groups = r.told_by(winner), {}
    for other in report["others"]:
        out = r.told_by(other["rule"])
        if other["told"] != (out != mine) and (
                other["told"] or report["classes"] <= LOOKED_AT):
            fault(r.name, "'%s' is told from '%s': %s, by the outputs %s",
                  other["rule"], winner, other["told"], out != mine)
        counts["told apart by an input"] += out != mine
        if groups.setdefault(other["group"], out) != out:
            fault(r.name, "'%s' is not of group %d", other["rule"],
                  other["group"])
    if len(set(groups.values())) != len(groups):
        fault(r.name, "two groups have the same outputs")
    if report["inputs"] and report["separated"] < 2:
        fault(r.name, "an input that separates nothing")


def searched(form, r, winner):
    """The whole space of one layer."""
    texts = list(space.rules(form, r.layer.fields))
    left = survivors(texts, [r.golden])
    counts["layers searched"] += 1
    counts["candidates"] += len(texts)
    if len(left) != r.report["candidates"]:
        fault(r.name, "%d of %d candidates by trying all, %d reported",
              len(left), len(texts), r.report["candidates"])
    kinds = len({r.outputs(text) for text in left})
    if kinds > r.report["classes"]:
        fault(r.name, "%d kinds of outputs, but %d classes", kinds,
              r.report["classes"])
    for other in r.report["others"]:
        if not r.golden.gives(other["rule"]):
            fault(r.name, "'%s' does not give the goldens", other["rule"])
    if winner and not r.golden.gives(winner):
        fault(r.name, "the form's rule does not give the goldens")


def pooled(form, pool, all_of, expected):
    """The whole space of a form against all its layers."""
    have = {name for r in all_of for name in r.layer.fields}
    texts = list(space.rules(form, have))
    left = survivors(texts, [r.golden for r in all_of])
    counts["candidates of forms"] += len(texts)
    if (len(texts), len(left)) != (pool["space"], pool["candidates"]):
        fault(form, "%d of %d candidates by trying all, %d of %d reported",
              len(left), len(texts), pool["candidates"], pool["space"])
    kinds = {}
    for text in left:
        kinds.setdefault(tuple(r.outputs(text) for r in all_of), text)
    if len(kinds) > pool["classes"]:
        fault(form, "%d kinds of outputs, but %d classes: %s", len(kinds),
              pool["classes"], " / ".join(kinds.values()))
    if pool["unique"] != (pool["classes"] == 1):
        fault(form, "%d classes, unique: %s", pool["classes"], pool["unique"])
    if expected is not None and pool["classes"] != expected.get(form, 1):
        fault(form, "%d classes instead of %d", pool["classes"],
              expected.get(form, 1))
    by_name = {r.name: r for r in all_of}
    for other in pool["others"]:
        if not all(r.golden.gives(other["rule"]) for r in all_of):
            fault(form, "'%s' does not give the goldens", other["rule"])
        if "layer" not in other:
            counts["of forms not told apart"] += 1
            if expected is not None:
                fault(form, "no input for '%s'", other["rule"])
            continue
        r = by_name["%s/%s" % (other["case"], other["layer"])]
        at = r.inputs[r.report["inputs"].index(other["input"])]
        if at.output(other["rule"]) == at.output(pool["rule"]):
            fault(r.name, "'%s' does not tell '%s'", other["input"],
                  other["rule"])
        counts["of forms told apart"] += 1


# ---- what was in use -----------------------------------------------------------

def rules_of(path):
    with open(path, encoding="utf-8") as f:
        return {k: v["rule"] for k, v in json.load(f)["rules"].items()}


def in_use(form, all_of, under):
    """Each report says of its rule in use what the goldens say."""
    first = under[0][0][form]
    for forms, rules in under:
        pool, fits = forms[form], 0
        if (pool["candidates"], pool["classes"], pool["space"]) != tuple(
                first[k] for k in ("candidates", "classes", "space")):
            fault(form, "another search under another numerics")
        for r, report in zip(all_of, pool["layers"]):
            gives = r.golden.gives(rules[form])
            fits += gives
            if report["in_use_left"] != gives:
                fault(r.name, "'%s' is left: %s, by the goldens %s",
                      rules[form], report["in_use_left"], gives)
            for key in ("case", "layer", "elements", "candidates", "classes"):
                if report[key] != r.report[key]:
                    fault(r.name, "%s: %s, under another numerics %s", key,
                          r.report[key], report[key])
        if pool["in_use_left"] != (fits == len(all_of)):
            fault(form, "the rule in use is left: %s, in %d of %d layers",
                  pool["in_use_left"], fits, len(all_of))


def truth(form, all_of, made_by, not_by):
    if made_by is not None:
        fits = sum(r.golden.gives(made_by[form]) for r in all_of)
        counts["true rule left"] += fits
        if fits != len(all_of):
            fault(form, "the true rule is left in %d of %d layers", fits,
                  len(all_of))
    if not_by is not None and all(r.golden.gives(not_by[form])
                                  for r in all_of):
        fault(form, "'%s' gives all goldens", not_by[form])


# ---- all -------------------------------------------------------------------------

def judge(form, cases, under, args, expected, rng):
    pool = under[0][0][form]
    all_of = [Reported(cases[l["case"]], l, args.folder, rng)
              for l in pool["layers"]]
    counts["layers"] += len(all_of)
    for r in all_of:
        if r.layer.form != form:
            fault(r.name, "of form %s, by Python %s", form, r.layer.form)
    in_use(form, all_of, under)
    truth(form, all_of, args.made_by and rules_of(args.made_by),
          args.never and rules_of(args.never))
    kinds = collections.Counter()
    for r in sorted(all_of, key=lambda r: r.report["elements"]):
        separated(r, pool["rule"])
        kinds[r.kind()] += 1
        if kinds[r.kind()] <= args.each:
            searched(form, r, pool["rule"])
    pooled(form, pool, all_of, expected)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("case", nargs="+")
    parser.add_argument("--under", nargs=2, action="append", required=True)
    parser.add_argument("--made-by")
    parser.add_argument("--not", dest="never")
    parser.add_argument("--classes", nargs="*")
    parser.add_argument("--without", type=int)
    parser.add_argument("--each", type=int, default=1)
    parser.add_argument("--part", default="0/1")
    return parser.parse_args()


def main():
    args = arguments()
    under = []
    for path, numerics in args.under:
        with open(path, encoding="utf-8") as f:
            fit = json.load(f)
        if fit["stopped"] or fit["exit_code"] or fit["without_golden"]:
            fault(path, "exit %d", fit["exit_code"])
        under.append(({f["form"]: f for f in fit["forms"]},
                      rules_of(numerics)))
    cases = {c.name: c for c in map(Case, args.case)}
    expected = None if args.classes is None else {
        k: int(v) for k, v in (c.split("=") for c in args.classes)}
    several = [l for f in under[0][0].values() for l in f["layers"]
               if l["classes"] > 1 and not l["inputs"]]
    if args.without is not None and len(several) > args.without:
        fault("inputs", "%d layers have none", len(several))
    known = collections.Counter(
        l.form for c in cases.values() for l in c.layers.values())
    found = {f: len(pool["layers"]) for f, pool in under[0][0].items()}
    if found != dict(known):
        fault("layers", "%s, by Python %s", found, dict(known))
    k, n = map(int, args.part.split("/"))
    forms = sorted(found, key=lambda f: (-known[f], f))[k::n]
    for form in forms:
        judge(form, cases, under, args, expected, np.random.default_rng(7))
    if faults or not counts["layers searched"]:
        sys.exit("; ".join(faults[:6]) or "no layer was searched")
    print("%d forms: %s; the search took %.1f s for %d layers" % (
        len(forms), ", ".join("%d %s" % (v, k) for k, v in counts.items()),
        fit["duration_ms"] / 1000, sum(found.values())))


if __name__ == "__main__":
    main()
