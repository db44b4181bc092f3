#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No instruction outside its folder: dot products only in kernels/dotprod,
matrix products only in kernels/i8mm, and each of these folders really has
its own.

check-isa.py BUILD OBJDUMP
"""

import glob
import os
import re
import subprocess
import sys

from tally import Tally

DOT = re.compile(r"^(sdot|udot)$")
MATRIX = re.compile(r"^(smmla|ummla|usmmla|usdot|sudot|bfdot|bfmmla)$")
OTHER = re.compile(r"^(ptrue|whilelo|ld1rw|sqrdmlah|sqrdmlsh|fcmla|fcadd"
                   r"|ldadd\w*|casal?|swpal?)$")


def mnemonics(tool, path):
    out = subprocess.run([tool, "-d", "--no-show-raw-insn", path], check=True,
                         text=True, stdout=subprocess.PIPE, timeout=120).stdout
    for line in out.splitlines():
        m = re.match(r"\s+[0-9a-f]+:\s+([a-z]\S*)", line)
        if m:
            yield m.group(1)


def main():
    build, tool = sys.argv[1:3]
    top = os.path.join(build, "aarch64")
    tally = Tally()
    for path in sorted(glob.glob(os.path.join(top, "**", "*.o"),
                                 recursive=True)):
        relative = os.path.relpath(path, top)
        if not os.path.exists(relative[:-2] + ".c") and \
                not relative.startswith("gen/"):
            continue
        words = set(mnemonics(tool, path))
        forbidden = [OTHER]
        if not relative.startswith(("kernels/dotprod/", "kernels/i8mm/")):
            forbidden.append(DOT)
        if not relative.startswith("kernels/i8mm/"):
            forbidden.append(MATRIX)
        bad = sorted(w for w in words if any(f.match(w) for f in forbidden))
        tally.test(not bad, "%s: has %s" % (relative, ", ".join(bad)))
        if relative.startswith("kernels/dotprod/"):
            tally.test(any(DOT.match(w) for w in words),
                       "%s: has no dot product: wrong folder or flags"
                       % relative)
        if relative.startswith("kernels/i8mm/"):
            tally.test(any(MATRIX.match(w) for w in words),
                       "%s: has no matrix product: wrong folder or flags"
                       % relative)
    tally.close()


main()
