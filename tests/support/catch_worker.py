# SPDX-License-Identifier: Apache-2.0
"""Stops the first child that a process makes, and prints its number.

catch_worker.py PID       Python's own library; ends after 20 s without one
"""

import os
import signal
import sys
import time

path = "/proc/%s/task/%s/children" % (sys.argv[1], sys.argv[1])
end = time.monotonic() + 20
with open(path) as f:
    print("ready", flush=True)
    while time.monotonic() < end:
        f.seek(0)
        children = f.read().split()
        if children:
            os.kill(int(children[0]), signal.SIGSTOP)
            print(children[0], flush=True)
            sys.exit(0)
sys.exit(1)
