# SPDX-License-Identifier: Apache-2.0
"""same_report.py A.json B.json    are two reports equal in all but times, bytes
                                received, what was typed and where it went?
same_report.py --killed A.json OUT   OUT/K/cut.json: is each of a run that died
                                in layer K, those before compared, it an error,
                                none behind? OUT/K/report.json: is it A?"""

import json
import os
import sys


def strip(report):
    for key in ("started", "duration_ms", "argv"):
        del report["run"][key]
    for key in ("received_bytes", "artifacts"):
        del report[key]
    for layer in report["layers"]:
        del layer["time_us"]
    return report


def differences(a, b, path=""):
    if type(a) is not type(b):
        yield path
    elif isinstance(a, dict):
        for key in sorted(set(a) | set(b)):
            yield from differences(a.get(key), b.get(key), path + "." + key)
    elif isinstance(a, list) and len(a) == len(b):
        for i, pair in enumerate(zip(a, b)):
            yield from differences(*pair, "%s[%d]" % (path, i))
    elif a != b:
        yield "%s: %r, %r" % (path, a, b)


def is_cut(report, k):
    assert report["partial"] and report["coverage"]["compared"] == k, \
        report["coverage"]
    for layer in report["layers"]:
        i, status = layer["index"], layer["status"]
        if i == k:
            assert status == "error", layer
        elif i > k:
            assert status == "not_observed", layer
            assert layer["reason"] == "not reached", layer
        else:
            assert status in ("exact", "diverged", "inherited"), layer
    name = report["layers"][k]["name"]
    op = report["layers"][k]["op"]
    assert "'%s' (%s, kernel " % (name, op) in report["error"], report["error"]
    assert " --resume " in report["next"], report["next"]


def compare(a, b):
    found = list(differences(strip(a), strip(b)))
    for line in found[:20]:
        print(line)
    return not found


def load(*path):
    with open(os.path.join(*path)) as f:
        return json.load(f)


def main():
    if sys.argv[1] != "--killed":
        sys.exit(not compare(load(sys.argv[1]), load(sys.argv[2])))
    whole, out, bad = sys.argv[2], sys.argv[3], 0
    n = len(load(whole)["layers"])
    for k in range(n):
        folder = os.path.join(out, str(k))
        is_cut(load(folder, "cut.json"), k)
        if not compare(load(whole), load(folder, "report.json")) or \
                os.path.exists(os.path.join(folder, "resume.journal")):
            print("resumed behind layer %d" % k)
            bad += 1
    print("%d layers" % n)
    sys.exit(bad > 0)


main()
