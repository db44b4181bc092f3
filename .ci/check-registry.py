#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One word, five places: every line of kernels/kernels.def has its file, its
heading in docs/numerics.md, its kcheck case, and its cell in the matrix.

check-registry.py --write            renews the matrix in docs/numerics.md
check-registry.py KCHECK [RUNNER]    checks; KCHECK is an aarch64 program
"""

import os
import re
import subprocess
import sys

from tally import Tally

DOC = "docs/numerics.md"
BEGIN, END = "<!-- matrix -->", "<!-- /matrix -->"
ISAS = ("ref", "neon", "dotprod", "i8mm")


def registered():
    with open("kernels/kernels.def", encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    return re.findall(r"^ASSAY_KERNEL\((\w+), (\w+), (\w+)\)", text, re.M)


def matrix(kernels):
    slots = []
    for slot, _, _ in kernels:
        if slot not in slots:
            slots.append(slot)
    have = {(slot, isa) for slot, _, isa in kernels}
    rows = ["| kernel | " + " | ".join(ISAS) + " |",
            "|---" * (len(ISAS) + 1) + "|"]
    for slot in slots:
        rows.append("| `%s` | " % slot + " | ".join(
            "yes" if (slot, isa) in have else "-" for isa in ISAS) + " |")
    return "\n".join(rows)


def split_doc():
    with open(DOC, encoding="utf-8") as f:
        text = f.read()
    if BEGIN not in text or END not in text:
        return None
    before, rest = text.split(BEGIN, 1)
    inside, after = rest.split(END, 1)
    return before, inside, after


def write():
    parts = split_doc()
    if parts is None:
        sys.exit("%s: no '%s' ... '%s'" % (DOC, BEGIN, END))
    with open(DOC + ".tmp", "w", encoding="utf-8") as f:
        f.write(parts[0] + BEGIN + "\n" + matrix(registered()) + "\n" + END +
                parts[2])
    os.replace(DOC + ".tmp", DOC)


def main():
    if sys.argv[1:] == ["--write"]:
        write()
        return
    tally = Tally()
    kernels = registered()
    tally.test(len(kernels) == len(set(kernels)), "kernels.def: a line twice")
    with open("kernels/slots.def", encoding="utf-8") as f:
        slots = dict(re.findall(r"^ASSAY_SLOT\((\w+), (\w+)\)", f.read(),
                                re.M))
    try:
        doc = "".join(split_doc() or ("", "", ""))
    except OSError:
        doc = ""
    headings = re.findall(r"^#+ .*$", doc, re.M)
    run = subprocess.run(sys.argv[2:] + [sys.argv[1], "--list-kernels"],
                         text=True, stdout=subprocess.PIPE, timeout=60)
    listed = run.stdout.split()
    tally.test(run.returncode == 0, "kcheck --list-kernels: exit %d"
               % run.returncode)
    for slot, kind, isa in kernels:
        path = "kernels/%s/%s.c" % (isa, slot)
        name = "%s__%s" % (slot, isa)
        tally.test(slots.get(slot) == kind,
                   "%s: slots.def has no ASSAY_SLOT(%s, %s)"
                   % (name, slot, kind))
        tally.test(os.path.exists(path), "%s: no file '%s'" % (name, path))
        tally.test(any(slot in re.findall(r"\w+", h) for h in headings),
                   "%s: no heading with '%s' in %s" % (name, slot, DOC))
        tally.test(any(name in word for word in listed),
                   "%s: not in kcheck --list-kernels" % name)
    for isa in ISAS:
        for name in sorted(os.listdir("kernels/" + isa)) \
                if os.path.isdir("kernels/" + isa) else []:
            if name.endswith(".c"):
                known = any(s == name[:-2] and i == isa
                            for s, _, i in kernels)
                text = open("kernels/%s/%s" % (isa, name)).read()
                tally.test(known or "not a kernel:" in text,
                           "kernels/%s/%s: not in kernels.def" % (isa, name))
    parts = split_doc() if os.path.exists(DOC) else None
    tally.test(parts is not None and
               parts[1].strip() == matrix(kernels),
               "%s: the matrix is old: run 'make matrix'" % DOC)
    tally.close()


main()
