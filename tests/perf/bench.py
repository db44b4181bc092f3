#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench.py BUILD: instructions a multiply-accumulate of the convolution
kernels under the emulator, those of the fixed-point ends against the cheapest
other end, probes against what they say that they cost, speed of the scalar
kernels on this machine, the comparison of equal tensors against memcmp, and
a picture made into an input.
Exit 1 when a limit is missed.
"""
import json
import os
import re
import subprocess
import sys

DEADLINE = 600  # seconds for one program

# shape: (label, limit of neon, limit of dotprod); docs/performance.md says
# where the limits come from.
SHAPES = {
    "pw_14x14x96x576": ("pw 14x14 96->576", 0.421, 0.147),
    "pw_7x7x576x160": ("pw 7x7 576->160", 0.376, 0.126),
    "conv3_14x14x64x64": ("conv3x3 14x14 64->64", 0.389, 0.1287),
    "dw3_28x28x64": ("dw3x3 28x28x64", 1.458, 1.458),
    "stem_112x112x3x16": ("stem 3x3 s2 112x112 3->16", 1.334, 0.668),
}
# (column, emulated CPU, --cpumask, index of the limit or None)
COLUMNS = (
    ("scalar", "cortex-a53", "0", None),
    ("neon a53", "cortex-a53", "all", 1),
    ("dotprod a76", "cortex-a76", "all", 2),
    ("max", "max", "all", 2),
)
# Ends of conv_run (tests/perf/conv_run.c) and how they are judged: to int8
# without the fixed-point model; the ones whose limit is END_LIMIT times the
# least of those; and (end, limit a row) that only have a limit of their own,
# in the order of SHAPES.
CHEAP_ENDS = ("fp32_rne", "fp32_rne_zpin", "q31_double", "q31_single")
FIXED_ENDS = ("hz_conv", "hz_conv_relu", "hz_conv_s16", "hz_conv_high",
              "hz_matmul")
END_LIMIT = 1.1
SECOND_ENDS = ("hz_sumin_s8", "hz_sumin_s16")
SECOND_LIMITS = (1.2, 1.1, 1.1, 1.35, 1.2)  # times the least, by shape
WIDE_ENDS = ("hz_x16", "hz_x16_s16")
WIDE_LIMIT = {"pw_14x14x96x576": 0.44, "pw_7x7x576x160": 0.40,
              "conv3_14x14x64x64": 0.41, "dw3_28x28x64": 1.5,
              "stem_112x112x3x16": 1.17}
SCALAR_SHAPES = ("pw_14x14x96x576", "conv3_14x14x64x64")
SCALAR_LIMIT = 0.5  # GMAC/s
SEARCH_LIMIT = 3.0  # times one run of the layer
IMAGE_LIMIT = 30.0  # ms
PROBE_LIMIT = 1.1  # times what a probe says that it costs


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def judge(self, ok, text):
        self.passed += ok
        self.failed += not ok
        if not ok:
            print("FAIL " + text)

    def skip(self, text):
        self.skipped += 1
        print("SKIP " + text)


def run(argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True,
                          timeout=DEADLINE)


def count(build, cpu, shape, runs, mask, end=CHEAP_ENDS[0]):
    """Instructions of a whole program, its kernel, its MACs."""
    done = run(["qemu-aarch64", "-cpu", cpu, "-plugin",
                os.path.join(build, "x86_64/tests/perf/libicount.so"),
                os.path.join(build, "aarch64/tests/perf/conv_run"),
                shape, str(runs), mask, end])
    kernel, macs = done.stdout.split()
    total = int(re.search(r"^icount (\d+)$", done.stderr, re.M).group(1))
    return total, kernel, int(macs)


def per_mac(build, cpu, shape, end):
    """Of one run, from 3; and the kernel."""
    first, kernel, macs = count(build, cpu, shape, 1, "all", end)
    last, _, _ = count(build, cpu, shape, 3, "all", end)
    return (last - first) / 2 / macs, kernel


def right_kernel(kernel, cpu, end):
    """A scalar kernel would be no measurement of a fused end."""
    wants = ("neon" if cpu == "cortex-a53" or "dw" in kernel or
             end in WIDE_ENDS else "dotprod")
    return kernel.endswith(wants)


def ends(build, tally):
    """Fixed-point ends as multiples of the cheapest other end."""
    names = FIXED_ENDS + SECOND_ENDS
    print("fixed-point ends: instructions times those of the cheapest end "
          "(limit %.2f; with a second operand %s)" %
          (END_LIMIT, "/".join("%.2f" % v for v in SECOND_LIMITS)))
    print("%-11s %-26s%14s" % ("", "shape", "cheapest") +
          "".join("%13s" % n for n in names))
    for cpu in ("cortex-a53", "cortex-a76"):
        for (shape, row), second in zip(SHAPES.items(), SECOND_LIMITS):
            least, name = min((per_mac(build, cpu, shape, e)[0], e)
                              for e in CHEAP_ENDS)
            line = "%-11s %-26s%14s" % (cpu[7:], row[0],
                                        "%.4f" % least)
            for end in names:
                value, kernel = per_mac(build, cpu, shape, end)
                limit = second if end in SECOND_ENDS else END_LIMIT
                line += "%13.3f" % (value / least)
                tally.judge(value <= limit * least and
                            right_kernel(kernel, cpu, end),
                            "%s, %s: %s with %s is %.3f times %s, limit %.2f" %
                            (row[0], cpu, end, kernel, value / least, name,
                             limit))
            print(line, flush=True)


def rounding(build, tally):
    """Ends whose first shift rounds too: within the limits of the kernel."""
    print("shifts that both round: instructions a multiply-accumulate (limit)")
    for shape, row in SHAPES.items():
        line = "%-26s" % row[0]
        for cpu, limit in (("cortex-a53", row[1]), ("cortex-a76", row[2])):
            value, kernel = per_mac(build, cpu, shape, "long")
            line += "%18s" % ("%.4f (%.4f)" % (value, limit))
            tally.judge(value <= limit and right_kernel(kernel, cpu, "long"),
                        "%s, %s: long with %s: %.4f, limit %.4f" %
                        (row[0], cpu, kernel, value, limit))
        print(line, flush=True)


def wide(build, tally):
    print("int16 activations, neon: instructions a multiply-accumulate "
          "(limit)")
    for shape, limit in WIDE_LIMIT.items():
        line = "%-26s" % SHAPES[shape][0]
        for end in WIDE_ENDS:
            value, kernel = per_mac(build, "cortex-a53", shape, end)
            line += "%14s %.4f (%.4f)" % (end, value, limit)
            tally.judge(value <= limit and
                        right_kernel(kernel, "cortex-a53", end),
                        "%s: %s with %s: %.4f, limit %.4f" %
                        (SHAPES[shape][0], end, kernel, value, limit))
        print(line, flush=True)


def instructions(build, tally):
    print("instructions a multiply-accumulate (limit)")
    print("%-26s" % "shape" + "".join("%18s" % c[0] for c in COLUMNS))
    for shape, row in SHAPES.items():
        cells, missed = [], []
        for name, cpu, mask, limit in COLUMNS:
            first, kernel, macs = count(build, cpu, shape, 1, mask)
            last, _, _ = count(build, cpu, shape, 11, mask)
            value = (last - first) / 10 / macs
            if limit is None:
                cells.append("%.4f" % value)
                continue
            cells.append("%.4f (%.4f)" % (value, row[limit]))
            wrong = not kernel.endswith("neon" if limit == 1 or
                                        "dw" in kernel else "dotprod")
            missed.append((value <= row[limit] and not wrong,
                           "%s, %s: %.4f with %s, limit %.4f" %
                           (row[0], name, value, kernel, row[limit])))
        print("%-26s" % row[0] + "".join("%18s" % c for c in cells),
              flush=True)
        for ok, text in missed:
            tally.judge(ok, text)


def icount(build, program, *arguments):
    done = run(["qemu-aarch64", "-cpu", "cortex-a53", "-plugin",
                os.path.join(build, "x86_64/tests/perf/libicount.so"),
                os.path.join(build, "aarch64/tests/perf", program),
                *arguments])
    return (int(re.search(r"^icount (\d+)$", done.stderr, re.M).group(1)),
            done.stdout.split())


def probes(build, tally):
    """A probe's instructions, against what it says that it costs."""
    print("probe of a layer, neon: million instructions (those it says), times "
          "one run of the layer, an output element")
    for shape, row in SHAPES.items():
        line = "%-26s" % row[0]
        once = (icount(build, "conv_run", shape, "3", "all")[0] -
                icount(build, "conv_run", shape, "1", "all")[0]) / 2
        for data in ("rich", "dull"):
            first, out = icount(build, "probe_run", shape, "1", data)
            cost = icount(build, "probe_run", shape, "2", data)[0] - first
            said, values = int(out[0]), int(out[1])
            line += "  %s %.1f (%.1f) %.1f %.0f" % (
                data, cost / 1e6, said / 1e6, cost / once, cost / values)
            tally.judge(cost <= PROBE_LIMIT * said,
                        "%s, %s: a probe of %d instructions says %d" %
                        (row[0], data, cost, said))
        print(line, flush=True)


def scalar(build, tally):
    print("scalar kernels on this machine, plain C without vectorisation")
    done = run([os.path.join(build, "x86_64/kcheck"), "--bench", "--json",
                "--function=*__ref", "--seed", "1"])
    for row in json.loads(done.stdout):
        if row["shape"] not in SCALAR_SHAPES:
            continue
        print("%-26s %.2f GMAC/s (%.1f)" % (SHAPES[row["shape"]][0],
                                            row["gmac_per_s"], SCALAR_LIMIT))
        tally.judge(row["gmac_per_s"] >= SCALAR_LIMIT,
                    "%s: %.2f GMAC/s, limit %.1f" %
                    (row["shape"], row["gmac_per_s"], SCALAR_LIMIT))


def compare(build, tally):
    done = subprocess.run(
        [os.path.join(build, "x86_64/tests/perf/bench_compare")],
        capture_output=True, text=True, timeout=DEADLINE, check=False)
    print("two equal tensors of 100 MB: " + done.stdout.strip())
    tally.judge(done.returncode == 0, "compare: " +
                (done.stderr.strip() or done.stdout.strip()))


def search(build, tally):
    """All causes of one large convolution, in scalar runs of it; CPU time."""
    program = os.path.join(build, "x86_64/tests/perf/search_time")
    runs = [run([program]).stdout.split() for _ in range(3)]
    ratio, once, tried = sorted((float(s) / float(r), r, n)
                                for r, s, n in runs)[1]
    print("search of a cause, conv3x3 14x14 512->512: %s edits in %.2f times "
          "one scalar run (%s s)" % (tried, ratio, once))
    tally.judge(ratio <= SEARCH_LIMIT, "search: %.2f times, limit %.1f" %
                (ratio, SEARCH_LIMIT))


def image(build, tally):
    """A JPEG of 1080p to NV12 of 640x640; CPU time."""
    words = run([os.path.join(build, "x86_64/tests/perf/image_time")]
                ).stdout.split()
    got = dict(zip(words[::2], words[1::2]))
    print("JPEG 1920x1080 (%s bytes) to NV12 640x640: %s ms, of which "
          "decoding %s" % (got["jpeg_bytes"], got["image_ms"],
                           got["decode_ms"]))
    tally.judge(float(got["image_ms"]) <= IMAGE_LIMIT,
                "image: %s ms, limit %.0f" % (got["image_ms"], IMAGE_LIMIT))


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: bench.py BUILD")
    tally = Tally()
    instructions(sys.argv[1], tally)
    ends(sys.argv[1], tally)
    rounding(sys.argv[1], tally)
    wide(sys.argv[1], tally)
    probes(sys.argv[1], tally)
    scalar(sys.argv[1], tally)
    compare(sys.argv[1], tally)
    search(sys.argv[1], tally)
    image(sys.argv[1], tally)
    print("%d passed, %d failed, %d skipped" %
          (tally.passed, tally.failed, tally.skipped))
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
