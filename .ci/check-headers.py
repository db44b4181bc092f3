#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Headers compile alone, carry a licence line and a guard, and declare only
assay_ and ASSAY_ names. Sources and scripts carry the licence line.

check-headers.py BUILD ROOT
"""

import os
import re
import subprocess
import sys

from tally import Tally

CODE = (".c", ".h", ".def", ".py", ".sh", ".mk", ".proto")
ROOMS = ("kernels", "lib", "proto", "agent", "host-tools", "cross", "tests",
         ".ci")


def sources(root):
    for room in ROOMS:
        for folder, _, names in os.walk(os.path.join(root, room)):
            for name in sorted(names):
                if name.endswith(CODE):
                    path = os.path.join(folder, name)
                    yield os.path.relpath(path, root)


def strip_comments(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r'"(\\.|[^"\\])*"', '""', text)


def guard_of(path):
    """lib/core/err.h -> what its guard must look like: ASSAY_..._ERR_H."""
    name = re.sub(r"\W", "_", os.path.basename(path)[:-2]).upper()
    return r"ASSAY_(\w+_)?%s_H$" % name


def public_names(text):
    """Names that a header gives to everybody who includes it."""
    text = strip_comments(text)
    for m in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", text, re.M):
        yield "macro", m.group(1)
    text = re.sub(r"^[ \t]*#.*?(?<!\\)$", "", text, flags=re.M | re.S)
    for m in re.finditer(r"\b(struct|enum|union)\s+(\w+)\s*\{", text):
        yield m.group(1), m.group(2)
    # Functions and objects at file scope: flatten what stands in braces.
    flat = text
    while True:
        smaller = re.sub(r"\{[^{}]*\}", " ", flat)
        if smaller == flat:
            break
        flat = smaller
    flat = re.sub(r"__attribute__\s*\(\(.*?\)\)\)?", " ", flat, flags=re.S)
    flat = re.sub(r"\bASSAY_[A-Z_]+\s*(\([^()]*\))?", " ", flat)
    for m in re.finditer(r"typedef[^;]*?\(\*\s*(\w+)\)", flat):
        yield "typedef", m.group(1)
    flat = re.sub(r"typedef[^;]*;", " ", flat)
    for m in re.finditer(r"(?:^|[;\s*])([A-Za-z_]\w*)\s*\(", flat):
        if not re.match(r"(void|int|char|bool|size_t|sizeof|if|return|while"
                        r"|for|switch|defined)$", m.group(1)):
            # A parameter list may hold function pointers; their names are
            # followed by ')' and do not reach here.
            yield "function", m.group(1)
    for m in re.finditer(r"\bextern\b[^;(]*?(\w+)\s*(?:\[[^]]*\])?\s*;",
                         flat):
        yield "object", m.group(1)


def check_header(tally, build, root, path, text):
    problem = None
    guard = re.search(r"^#ifndef (\w+)\n#define (\w+)\n", text, re.M)
    if not guard or guard.group(1) != guard.group(2):
        problem = "no include guard"
    elif not re.match(guard_of(path), guard.group(1)):
        problem = "guard '%s', expected one like '%s'" % (
            guard.group(1), guard_of(path))
    tally.test(problem is None, "%s: %s" % (path, problem))

    bad = [kind + " " + name for kind, name in public_names(text)
           if not re.match(r"(assay|ASSAY)_", name)]
    # Test support headers are private to the tests.
    if path.startswith("tests/"):
        bad = []
    tally.test(not bad, "%s: public names without assay_: %s"
               % (path, ", ".join(bad[:5])))

    cc = ["gcc"]
    if re.match(r"kernels/(neon|dotprod|i8mm)/", path):
        cc = ["aarch64-linux-gnu-gcc"]
    run = subprocess.run(
        cc + ["-std=c11", "-D_GNU_SOURCE", "-DASSAY_VERSION=\"0\"", "-I.",
              "-I" + os.path.join(build, "gen"), "-Wall", "-Wextra", "-Werror",
              "-fsyntax-only", "-x", "c", "-"],
        # Included, not compiled itself: "pragma once in main file" and
        # unused static functions are no concern here.
        input='#include "%s"\nextern int assay_header_alone;\n' % path,
        cwd=root, text=True, stderr=subprocess.PIPE, timeout=60)
    first = run.stderr.strip().split("\n")[0]
    tally.test(run.returncode == 0,
               "%s: does not compile alone: %s" % (path, first))


def main():
    build, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    tally = Tally()
    for path in sources(root):
        with open(os.path.join(root, path), encoding="utf-8") as f:
            text = f.read()
        lines = text.split("\n", 3)[:3]
        tally.test(any("SPDX-License-Identifier: Apache-2.0" in line
                       for line in lines),
                   "%s: no SPDX line at the top" % path)
        if path.endswith(".h"):
            check_header(tally, build, root, path, text)
    tally.close()


main()
