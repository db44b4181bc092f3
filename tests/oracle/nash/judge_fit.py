#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judge what fit-arith found in a stand-in case.

    judge_fit.py FIT.json [--unique FORM...] [--told]

--told: it was run under the numerics that the case was made with, so the rule
in use has to be left for every layer and every form. --unique: of these forms
one rule is left, up to proven equivalence. At most a minute.
"""
import argparse
import json
import sys


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fit")
    parser.add_argument("--unique", nargs="*", default=[])
    parser.add_argument("--told", action="store_true")
    args = parser.parse_args()
    with open(args.fit, encoding="utf-8") as f:
        fit = json.load(f)
    faults, layers, single = [], 0, 0
    forms = {f["form"]: f for f in fit["forms"]}
    for form in forms.values():
        for l in form["layers"]:
            layers += 1
            single += l["classes"] == 1
            if args.told and not l["in_use_left"]:
                faults.append("%s: the true rule is not left" % l["layer"])
        if args.told and not form["in_use_left"]:
            faults.append("%s: the true rule is not left" % form["form"])
        if not form["candidates"]:
            faults.append("%s: nothing is left" % form["form"])
    for name in args.unique:
        if name not in forms:
            faults.append("%s: not there" % name)
        elif not forms[name]["unique"]:
            faults.append("%s: %d classes are left" % (
                name, forms[name]["classes"]))
    # The time is printed: a busy machine is no fault of the search.
    if fit["stopped"] or not layers:
        faults.append("%d layers, stopped: %s" % (layers, fit["stopped"]))
    if faults:
        sys.exit("; ".join(faults[:6]))
    print("%d layers of %d forms, %d alone, forms alone: %s; %.1f s" % (
        layers, len(forms), single, " ".join(
            n for n, f in forms.items() if f["unique"]),
        fit["duration_ms"] / 1000))


if __name__ == "__main__":
    main()
