#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judge one JSON report of a stand-in case.

    judge_nash.py REPORT CASE EXIT [--wrong]

Every golden tensor has its layer; integers are exact, floats exact or within,
and skipped is what case.json names, with a reason. With --wrong the case was
run under other numerics than it was made with: exit 5, verdict unproven, no
layer is called exact that is not, and for each form that does not fit the
report has a rule that does.
"""
import argparse
import json
import os
import sys

import numpy as np


class Fault(Exception):
    pass


def goldens(case):
    folder, count = os.path.join(case, "golden"), {}
    for name in sorted(os.listdir(folder)):
        with np.load(os.path.join(folder, name)) as f:
            for t in f.files:
                count[t] = count.get(t, 0) + f[t].size
    return count


def status(layer):
    states = [c["status"] for name, c in layer.get("columns", {}).items()
              if name in ("host", "cpu-scalar", "cpu")]
    states = [s for s in states if s != "not_observed"] or [layer["status"]]
    odd = [s for s in states if s not in ("exact", "within")]
    return odd[0] if odd else max(states)


def rows(report, case):
    """Layers by their golden tensor."""
    want = goldens(case)
    found = {l["tensor"]: l for l in report["layers"] if l["tensor"] in want}
    lost = [t for t in want if t not in found]
    if lost:
        raise Fault("no layer gives %s" % lost[:5])
    return want, found


def right(report, case, code):
    with open(os.path.join(case, "case.json"), encoding="utf-8") as f:
        skipped = json.load(f)["skipped"]
    want, found = rows(report, case)
    bad, whole, floats, elements = [], 0, 0, 0
    for tensor, l in found.items():
        s = status(l)
        if tensor in skipped:
            if s != "skipped":
                bad.append("%s %s instead of skipped" % (tensor, s))
            continue
        if "int" in l["dtype"]:
            whole += 1
            elements += l["count"]
            good = s == "exact" and not l["mismatch"] and \
                l["count"] == want[tensor]
        else:
            floats += 1
            good = s in ("exact", "within") and l["count"] == want[tensor]
        if not good:
            bad.append("%s %s %s %s/%s" % (l["op"], tensor, s,
                                           l.get("mismatch"), l["count"]))
    others = [l["name"] for l in report["layers"]
              if status(l) == "skipped" and l["tensor"] not in skipped]
    if bad or others or report["culprits"]:
        raise Fault("%d of %d layers: %s; skipped: %s" % (
            len(bad), len(found), "; ".join(bad[:6]), others[:6]))
    if report["verdict"] != "match" or code != 0:
        raise Fault("verdict %s" % report["verdict"])
    if report["coverage"]["skipped"] != len(skipped):
        raise Fault("coverage %s" % report["coverage"])
    return "%d integer layers, %d elements exact, %d float layers, " \
        "%d skipped" % (whole, elements, floats, len(skipped))


def wrong(report, case, code):
    _, found = rows(report, case)
    culprits = report["culprits"]
    if code != 5 or report["verdict"] != "unproven":
        raise Fault("verdict %s" % report["verdict"])
    if not culprits:
        raise Fault("no culprit")
    odd = [l["tensor"] for l in found.values()
           if status(l) == "exact" and l.get("mismatch")]
    if odd:
        raise Fault("exact, but not equal: %s" % odd[:5])
    fits = report["fits"]
    lost = [f["form"] for f in fits if not f["rule"] or f["in_use"]]
    if not fits or lost:
        raise Fault("what would fit is not told of %s" % (lost or "anything"))
    return "unproven, %d culprits, first '%s'; fits told: %d, alone %d" % (
        len(culprits), culprits[0]["name"], len(fits),
        sum(f["unique"] for f in fits))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("report")
    parser.add_argument("case")
    parser.add_argument("exit", type=int)
    parser.add_argument("--wrong", action="store_true")
    args = parser.parse_args()
    try:
        with open(args.report, encoding="utf-8") as f:
            report = json.load(f)
        judge = wrong if args.wrong else right
        print(judge(report, args.case, args.exit))
    except (OSError, ValueError) as e:
        sys.exit("exit %d, no report: %s" % (args.exit, e))
    except Fault as e:
        sys.exit("exit %d: %s" % (args.exit, e))
    except KeyError as e:
        sys.exit("exit %d: the report has no %s" % (args.exit, e))


if __name__ == "__main__":
    main()
