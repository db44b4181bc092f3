#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which room may include which: the table of docs/ARCHITECTURE.md.

The #include lines of every file are held against the table; the compiler's
.d files then prove that the scan saw every header that was really read.

check-layers.py BUILD ROOT
"""

import glob
import os
import re
import sys

from tally import Tally

LIBC = set("""assert ctype errno fcntl fnmatch float getopt glob inttypes limits
    locale math poll pthread pwd signal spawn stdalign stdarg stdatomic stdbool
    stddef stdint stdio stdlib string strings termios time unistd wordexp
    endian dirent sched syslog ucontext alloca netdb langinfo
    sys/auxv sys/eventfd sys/ioctl sys/mman sys/prctl sys/random sys/resource
    sys/select sys/socket sys/stat sys/syscall sys/time sys/types sys/uio
    sys/un sys/utsname sys/wait sys/sysinfo sys/statvfs sys/file linux/futex
    linux/memfd linux/close_range
    netinet/in netinet/tcp arpa/inet elf setjmp link""".split())
PURE = set("stdint stddef stdbool string math float limits assert".split())

# room: (prefixes of project headers, system headers, third-party headers)
CORE = ["lib/core/", "kernels/program.h"]
ENGINE = CORE + ["lib/engine/", "kernels/kernels.h", "kernels/kernels.def",
                 "kernels/slots.def", "kernels/cpu.h", "kernels/requant.h"]
MODEL = CORE + ["host-tools/model/"]
ROOMS = {
    "kernels": (["kernels/"], PURE, []),
    "lib/core": (CORE, LIBC, ["xxhash.h", "mbedtls/sha256.h",
                              "mbedtls/version.h"]),
    "lib/engine": (ENGINE, LIBC - {"stdio", "time", "sys/time", "unistd",
                                   "sys/socket", "fcntl"}, []),
    "lib/net": (CORE + ["lib/net/"], LIBC, ["uv.h", "mbedtls/*",
                                             "psa/crypto.h"]),
    "proto": (CORE + ["proto/"], LIBC, []),
    "agent": (ENGINE + ["lib/net/", "proto/", "agent/"], LIBC,
              ["uv.h", "malloc.h"]),
    "host-tools/model": (MODEL, LIBC, ["zip.h", "jansson.h", "zlib.h"]),
    "host-tools/vendor": (CORE + ["host-tools/vendor/",
                                  "host-tools/model/file.h",
                                  "host-tools/model/model_info.h"], LIBC,
                          ["jansson.h", "yaml.h"]),
    "host-tools/image": (MODEL + ["host-tools/image/"], LIBC,
                         ["png.h", "jpeglib.h", "jerror.h"]),
    "host-tools/output": (ENGINE + ["host-tools/output/",
                                    "host-tools/diff/diff.h"], LIBC, []),
    "host-tools/triage": (MODEL + ["host-tools/triage/",
                                   "host-tools/vendor/"], LIBC,
                          ["jansson.h"]),
    "host-tools/diff": (ENGINE + ["host-tools/diff/"], LIBC, []),
    "host-tools/cause": (ENGINE + ["host-tools/cause/",
                                   "host-tools/diff/diff.h"], LIBC, []),
    "host-tools/fit": (ENGINE + ["host-tools/fit/"], LIBC - {"stdio"}, []),
    "host-tools/report": (CORE + ["host-tools/diff/diff.h",
                                  "host-tools/report/"], LIBC,
                          ["jansson.h", "libxml/*"]),
    "host-tools": (ENGINE + ["lib/net/", "proto/", "host-tools/"], LIBC,
                   ["uv.h", "jansson.h"]),
}
# Finer than a room: one file's own licence.
EXTRA = {
    "kernels/cpu.c": ["<sys/auxv.h>", "<stdio.h>"],
    "proto/codec*": ["<protobuf-c/protobuf-c.h>", '"proto/assay.pb-c.h"'],
}
for isa in ("neon", "dotprod", "i8mm"):
    EXTRA["kernels/%s/*" % isa] = ["<arm_neon.h>"]
EXTRA["host-tools/model/onnx*"] = ["<protobuf-c/protobuf-c.h>",
                                   '"host-tools/model/onnx.pb-c.h"']
EXTRA["host-tools/model/record*"] = ['"proto/bundle.h"']


def matches(name, patterns):
    return any(name == p or (p.endswith(("/", "*")) and
                             name.startswith(p.rstrip("*")))
               for p in patterns)


def room_of(path):
    fitting = [r for r in ROOMS if path.startswith(r + "/")]
    return max(fitting, key=len) if fitting else None


def includes(path):
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            m = re.match(r'\s*#\s*include\s*([<"][^>"]+[>"])', line)
            if m:
                yield number, m.group(1)


def allowed(path, include):
    own, system, third = ROOMS[room_of(path)]
    for pattern, more in EXTRA.items():
        if matches(path, [pattern]) and include in more:
            return True
    name = include[1:-1]
    if include.startswith('"'):
        # The generated types belong to the one file that EXTRA names.
        return matches(name, own) and not name.endswith(".pb-c.h")
    if re.sub(r"\.h$", "", name) in system:
        return not (name == "sys/auxv.h" and path.startswith("kernels/"))
    return matches(name, third)


def closure(root, path, seen):
    if path in seen or not os.path.exists(os.path.join(root, path)):
        return
    seen.add(path)
    for _, include in includes(os.path.join(root, path)):
        if include.startswith('"'):
            closure(root, include[1:-1], seen)


def check_depfile(tally, build, root, depfile):
    """Every project header in the .d file was seen by the scan."""
    with open(depfile, encoding="utf-8") as f:
        text = f.read().replace("\\\n", " ")
    names = text.split(":", 1)[1].split("\n")[0].split()
    names = [os.path.normpath(n) for n in names]
    if not names or room_of(names[0]) is None:
        return
    if not os.path.exists(os.path.join(root, names[0])):
        return  # left over from a file that is gone
    seen = set()
    closure(root, names[0], seen)
    hidden = [n for n in names if not n.startswith("/") and n not in seen
              and not n.startswith(os.path.relpath(build, root))
              and not n.endswith(".pb-c.h")]
    tally.test(not hidden, "%s: read, but not seen by the scan: %s"
               % (names[0], ", ".join(hidden)))


def main():
    build, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    tally = Tally()
    for room in ROOMS:
        for path in sorted(glob.glob(os.path.join(root, room, "**", "*.[ch]"),
                                     recursive=True)):
            path = os.path.relpath(path, root)
            if room_of(path) != room:
                continue
            bad = ["%s:%d: room '%s' may not include %s" % (path, n, room, i)
                   for n, i in includes(os.path.join(root, path))
                   if not allowed(path, i)]
            for text in bad:
                tally.fail(text)
            if not bad:
                tally.ok()
    depfiles = glob.glob(os.path.join(build, "x86_64", "**", "*.d"),
                         recursive=True)
    if not depfiles:
        tally.fail("no .d files in '%s': build first" % build)
    for depfile in sorted(depfiles):
        check_depfile(tally, build, root, depfile)
    tally.close()


main()
