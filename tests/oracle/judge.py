#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judge one JSON report: judge.py REPORT exact|literal EXIT

exact    every integer layer that the reference has is equal on the
         reference's inputs (isolated 0, or exact), and there are some;
         float layers are within the tolerance.
literal  the reference computed in floats (report of --mode isolated): what
         differs is counted and printed; more than 1 LSB fails.
"""
import json
import sys


def main():
    path, want, code = sys.argv[1], sys.argv[2], int(sys.argv[3])
    try:
        with open(path, encoding="utf-8") as f:
            report = json.load(f)
    except (OSError, ValueError) as e:
        sys.exit("no report (exit %d): %s" % (code, e))
    # A layer that the source has no node for (another order in memory, parts of
    # a node, operands of a lower rank) has no golden; the coverage does not expect one.
    helper = [l for l in report["layers"] if l["status"] == "not_observed" and
              any(p in l["name"] for p in ("/order/", "/part/", "/rank"))]
    ints = [l for l in report["layers"]
            if "int" in l.get("dtype", "") and l not in helper]
    floats = [l for l in report["layers"] if "float" in l.get("dtype", "")]
    bad, inherited, elements = [], 0, 0
    for l in ints:
        elements += l["count"]
        if l["status"] == "exact":
            continue
        if l["status"] == "inherited" and l.get("isolated") == 0:
            inherited += 1
            continue
        bad.append(l)
    text = "%d integer layers, %d elements, %d inherited" % (
        len(ints), elements, inherited)
    islands = [l for l in floats if l["status"] == "within"]
    if islands:
        worst = max(islands, key=lambda l: l["atol"])
        text += ", %d float layers within, largest difference %.3g in %s" % (
            len(islands), worst["atol"], worst["name"])
    lost = [l["name"] for l in floats if l["status"] in ("diverged", "error")]
    if not ints or lost:
        sys.exit("%s; float layers differ: %s" % (text, lost))
    if want == "exact":
        if bad or code != 0:
            sys.exit("%s; exit %d; not exact: %s" % (
                text, code, ["%s %s %s/%s max %s" % (
                    l["name"], l["status"], l["mismatch"], l["count"],
                    l["max_lsb"]) for l in bad[:8]]))
    else:
        text += "; %d elements of %d layers differ by 1" % (
            sum(l["mismatch"] for l in bad), len(bad))
        far = [l["name"] for l in bad if l["max_lsb"] > 1]
        if far or code not in (0, 1, 5):
            sys.exit("%s; exit %d; more than 1 LSB: %s" % (text, code, far))
    print(text)


if __name__ == "__main__":
    main()
