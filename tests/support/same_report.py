# SPDX-License-Identifier: Apache-2.0
"""same_report.py A.json B.json    are two reports equal in all but times, bytes
                                received, what was typed and where it went?
same_report.py --cut A.json K  is it one of a run that died in layer K: those
                                before compared, it an error, none behind?"""

import json
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
    assert k == 0 or " --resume " in report["next"], report["next"]


def main():
    if sys.argv[1] == "--cut":
        is_cut(json.load(open(sys.argv[2])), int(sys.argv[3]))
        return
    a, b = (strip(json.load(open(path))) for path in sys.argv[1:3])
    found = list(differences(a, b))
    for line in found[:20]:
        print(line)
    sys.exit(len(found) > 0)


main()
