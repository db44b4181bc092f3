#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names that our objects define and that the kernels need.

Every external symbol starts with assay_ or is main. Kernels call nothing but
an allow-list: no allocator, no stdio, no errno, no clock.

check-symbols.py BUILD MACHINE NM
"""

import glob
import os
import re
import subprocess
import sys

from tally import Tally

ALLOWED = re.compile(
    r"(assay_\w+|memcpy|memset|memcmp|memmove|str(len|cmp|ncmp|chr|cspn|spn)"
    r"|(floor|ceil|trunc|rint|nearbyint|round|roundeven|fma|exp|expm1|log"
    r"|log1p|sin|cos|tanh|sqrt|fabs|ldexp|scalbn|frexp|pow|fmin|fmax|lrint|llrint|isnan"
    r"|fmod|erf)f?"
    r"|__(stack_chk_\w+|assert_fail|popcountdi2|divti3|udivti3|modti3|umodti3"
    r"|multi3|ashlti3|ashrti3|lshrti3)"
    r"|__aarch64_\w+|_GLOBAL_OFFSET_TABLE_)$")
# Generated code keeps its generator's names.
GENERATED = re.compile(r"assay_\w+$")


def nm(tool, option, path):
    out = subprocess.run([tool, option, path], check=True, text=True,
                         stdout=subprocess.PIPE, timeout=60).stdout
    for line in out.splitlines():
        fields = line.split()
        if len(fields) >= 2:
            yield fields[-2], fields[-1]


def sections(tool, path):
    out = subprocess.run([tool, "-a", "-f", "sysv", path], check=True,
                         text=True, stdout=subprocess.PIPE, timeout=60).stdout
    for line in out.splitlines():
        fields = [f.strip() for f in line.split("|")]
        if len(fields) == 7:
            yield fields[0], fields[6]


def main():
    build, machine, tool = sys.argv[1:4]
    top = os.path.join(build, machine)
    tally = Tally()
    for room in ("kernels", "lib", "proto", "agent", "host-tools", "gen"):
        for path in sorted(glob.glob(os.path.join(top, room, "**", "*.o"),
                                     recursive=True)):
            source = os.path.relpath(path, top)[:-2] + ".c"
            if room != "gen" and not os.path.exists(source):
                continue  # left over from a file that is gone
            pattern = GENERATED if room == "gen" else \
                re.compile(r"(assay_\w+|main)$")
            bad = [name for kind, name in nm(tool, "-g", path)
                   if kind not in "Uwv" and not pattern.match(name)]
            tally.test(not bad, "%s: defines %s" % (path, ", ".join(bad[:5])))
            if room != "kernels":
                continue
            may = ["getauxval", "snprintf"] if path.endswith("/cpu.o") else []
            bad = [name for _, name in nm(tool, "-u", path)
                   if not ALLOWED.match(name) and name not in may]
            tally.test(not bad, "%s: needs %s" % (path, ", ".join(bad[:5])))
            # A kernel has no state. Constant tables of pointers are made
            # read-only by the loader (.data.rel.ro).
            bad = [name for name, section in sections(tool, path)
                   if re.match(r"\.(data(?!\.rel\.ro)|bss)|\*COM", section)
                   and not name.startswith(".")]
            tally.test(not bad, "%s: writable data %s"
                       % (path, ", ".join(bad[:5])))
    tally.close()


main()
