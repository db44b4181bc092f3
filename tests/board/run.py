#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make check-board: a board in a box, booted for each group of tests.

    run.py BUILD [GROUP...]     groups: script runs cpus limits power
                                tls systemd

Ends with "N passed, N failed, N skipped". What cannot be had (the emulator, a
package) is a skip with its reason."""

import os
import resource
import shutil
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", ".ci"))

import bench  # noqa: E402
import box  # noqa: E402
import check_limits  # noqa: E402
import check_power  # noqa: E402
import check_runs  # noqa: E402
import check_script  # noqa: E402
import check_systemd  # noqa: E402
import check_tls  # noqa: E402
import packages  # noqa: E402
import tally  # noqa: E402

# name, function, whether it boots a board
GROUPS = (
    ("script", check_script.check, False),
    ("runs", check_runs.check, True),
    ("cpus", check_runs.other_cpus, True),
    ("limits", check_limits.check, True),
    ("power", check_power.check, True),
    ("tls", check_tls.check, True),
    ("systemd", check_systemd.check, True),
)


def main(build, wanted):
    counts = tally.Tally()
    work = tempfile.mkdtemp(prefix="board")
    os.environ["NO_COLOR"] = "1"
    os.environ.pop("ASSAY_TARGET", None)
    try:
        why = None
        try:
            debian = packages.Packages(os.path.join(build, "board"))
        except packages.Missing as e:
            debian, why = None, e
        b = bench.Bench(debian, os.path.abspath(build), counts, work)
        for name, function, boots in GROUPS:
            if wanted and name not in wanted:
                continue
            if boots and debian is None:
                counts.skip("%s: %s" % (name, why))
                continue
            one(b, name, function)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    counts.close()


def one(b, name, function):
    b.part, begun, before = name, time.monotonic(), b.tally.passed
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        function(b)
    except packages.Missing as e:
        b.tally.skip("%s: %s" % (name, e))
    except box.Trouble as e:
        b.test(False, str(e))
    except Exception:  # a mistake in a test is a failure of that group
        b.test(False, traceback.format_exc())
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    print("  %s: %d passed (%.0f s, %.0f s of CPU)"
          % (name, b.tally.passed - before, time.monotonic() - begun,
             now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime))
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
