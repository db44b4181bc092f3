#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judge one JSON report of a fixed-point case.

    judge_report.py REPORT CASE EXIT [--sim equal|FILE] [--tally FILE]

Every layer that the case has a golden for has to be there; integer layers have
to be exact, floats exact or within the tolerance, the coverage has to be all.
--sim equal: what the sim column shows is equal, and shows at least what
case.json counts; the verdict is a match. --sim FILE: the column has the counts
of FILE, see expected/pad16.json, and the verdict is a compile divergence.
--tally: a line "layers elements mismatches" is appended.
"""
import argparse
import json
import os
import sys

import numpy as np


class Fault(Exception):
    pass


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except (OSError, ValueError) as e:
        raise Fault("no report: %s" % e)


def goldens(case):
    """Elements that all samples have together, by tensor."""
    folder, count = os.path.join(case, "golden"), {}
    for name in sorted(os.listdir(folder)):
        with np.load(os.path.join(folder, name)) as f:
            for t in f.files:
                count[t] = count.get(t, 0) + f[t].size
    return count


def own(layer):
    """Status of what was computed: all columns of ours agree on it."""
    states = [layer["columns"][c]["status"]
              for c in ("host", "cpu-scalar", "cpu")
              if c in layer.get("columns", {})]
    states = [s for s in states if s != "not_observed"]
    if not states:
        return layer["status"]
    odd = [s for s in states if s not in ("exact", "within")]
    return odd[0] if odd else max(states)


def cpu(report, case):
    """Layers, elements and differing elements of the integer layers."""
    want = goldens(case)
    # Some layers are run in parts that the source has no tensors for.
    layers = [l for l in report["layers"] if l["tensor"] in want]
    whole = [l for l in layers if "int" in l.get("dtype", "")]
    floats = [l for l in layers if "float" in l.get("dtype", "")]
    bad = ["%s %s %s %s/%s max %s" % (
        l["op"], l["name"], own(l), l["mismatch"], l["count"],
        l["max_lsb"]) for l in whole if own(l) != "exact" or l["mismatch"]]
    bad += ["%s %s %s" % (l["op"], l["name"], own(l)) for l in floats
            if own(l) not in ("exact", "within")]
    mismatches = sum(l.get("mismatch", 0) for l in whole)
    coverage = report["coverage"]
    if bad:
        raise Fault("%d of %d layers are not exact: %s" % (
            len(bad), len(layers), "; ".join(bad[:6])))
    if len(layers) != len(want):
        raise Fault("%d layers, the reference has %d tensors" % (
            len(layers), len(want)))
    if coverage["compared"] != coverage["expected"] or coverage["skipped"] \
            or coverage["expected"] != len(want):
        raise Fault("coverage %s, the reference has %d tensors" % (
            coverage, len(want)))
    elements = sum(l["count"] for l in layers)
    if elements != sum(want.values()):
        raise Fault("%d elements compared, the reference has %d" % (
            elements, sum(want.values())))
    return len(whole), sum(l["count"] for l in whole), mismatches, len(floats)


def column(layer, name="sim"):
    c = layer.get("columns", {}).get(name)
    return c if c and c["status"] != "not_observed" else None


def sim_equal(report, case):
    shown = [l for l in report["layers"] if column(l)]
    bad = [l["name"] for l in shown if column(l)["mismatch"] or
           column(l)["status"] not in ("exact", "within")]
    told = read(os.path.join(case, "case.json"))["golden_vs_sim"]
    if bad:
        raise Fault("sim differs in %s" % bad[:6])
    if len(shown) < told["tensors_inner"]:
        raise Fault("sim: %d layers observed, the case has %d inner ones" % (
            len(shown), told["tensors_inner"]))
    return "sim: %d observed, all equal" % len(shown)


def sim_counts(report, path):
    """Exact counts: {"layers": {name: [status, count, mismatch, isolated]},
    "observed": n, "exact": n, "diverged": n, "inherited": n}"""
    want = read(path)
    by_name = {l["name"]: l for l in report["layers"]}
    faults = []
    for name, counts in want["layers"].items():
        c = column(by_name[name]) or {}
        got = [c.get(k) for k in ("status", "count", "mismatch", "isolated")]
        if isinstance(got[3], dict):
            got[3] = got[3]["mismatch"]
        if got != counts:
            faults.append("%s: %s instead of %s" % (name, got, counts))
    states = [column(l)["status"] for l in report["layers"] if column(l)]
    for state in ("exact", "diverged", "inherited"):
        if states.count(state) != want[state]:
            faults.append("%d layers %s instead of %d" % (
                states.count(state), state, want[state]))
    if len(states) != want["observed"]:
        faults.append("%d observed" % len(states))
    culprits = [c["name"] for c in report["culprits"]
                if c.get("column") == "sim"]
    if culprits != want["culprits"]:
        faults.append("culprits %s instead of %s" % (
            culprits, want["culprits"]))
    if report["verdict"] != "compile":
        faults.append("verdict %s" % report["verdict"])
    if faults:
        raise Fault("sim: " + "; ".join(faults))
    return "sim: %d observed, %d culprits, counts as measured" % (
        len(states), len(culprits))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("report")
    parser.add_argument("case")
    parser.add_argument("exit", type=int)
    parser.add_argument("--sim")
    parser.add_argument("--tally")
    args = parser.parse_args()
    try:
        report = read(args.report)
        layers, elements, bad, floats = cpu(report, args.case)
        text = "%d integer layers, %d elements, %d float layers" % (
            layers, elements, floats)
        code, verdict = 0, "match"
        if args.sim == "equal":
            text += "; " + sim_equal(report, args.case)
        elif args.sim:
            text += "; " + sim_counts(report, args.sim)
            code, verdict = 1, "compile"
        if args.exit != code or report["verdict"] != verdict:
            raise Fault("exit %d, verdict %s" % (args.exit,
                                                 report["verdict"]))
    except Fault as e:
        sys.exit("exit %d: %s" % (args.exit, e))
    except KeyError as e:
        sys.exit("exit %d: the report has no %s" % (args.exit, e))
    if args.tally:
        with open(args.tally, "a", encoding="ascii") as f:
            f.write("%d %d %d\n" % (layers, elements, bad))
    print(text)


if __name__ == "__main__":
    main()
