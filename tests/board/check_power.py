# SPDX-License-Identifier: Apache-2.0
"""A board that goes away in the middle of a run: rebooted, reset, cut off its
power or its network. The host says so in time, and goes on with it later."""

import json
import os

import box

TIMEOUT = 3  # seconds, of the host


def lost(b, vm, what, cut, seconds, port=box.RELAY):
    """A run that loses its board in layer 5 or later."""
    path = os.path.join(b.work, "lost.json")
    run = b.start("run", b.case("chain"), "-v", "--target", vm.target(port),
                  "--timeout", str(TIMEOUT), "--json", path)
    run.wait_line(r"layer 5/")
    cut()
    status, said, took = run.end(30)
    words = said.splitlines()[-1]
    b.test(status == 3 and "lost" in words and "layers compared" in words,
           "%s: exit %s, expected 3: %s" % (what, status, words))
    b.test(took <= seconds, "%s: it took %.1f s, expected %d s at most"
           % (what, took, seconds))
    b.figure("%s: exit %s after %.1f s: %s" % (what, status, took, words))
    with open(path, encoding="utf-8") as f:
        report = json.load(f)
    b.test(report["partial"] and report["coverage"]["compared"] >= 4,
           "%s: the layers before are in the report" % what)


def again(b, vm, what):
    b.expect(0, "a run behind " + what, "run", b.digits, "-q", "--target",
             vm.target())


def up_again(vm, mark):
    vm.wait(r"^board: up$", 60, mark)


def check(b):
    with b.busybox() as vm:
        vm.boot()
        mark = vm.mark()
        lost(b, vm, "reboot", lambda: vm.sh("reboot"), TIMEOUT)
        up_again(vm, mark)
        again(b, vm, "a reboot")
        # No process is told, no connection is closed: silence.
        mark = vm.mark()
        lost(b, vm, "reset", lambda: vm.monitor("system_reset"),
             TIMEOUT + 2)
        up_again(vm, mark)
        again(b, vm, "a reset")
        # The cable: neither side is told. What the agent cannot know is told
        # to the next client, who may take the lease over.
        lost(b, vm, "cable", lambda: vm.monitor("set_link net off"),
             TIMEOUT + 2)
        vm.monitor("set_link net on")
        b.expect(0, "a run behind a pulled cable", "run", b.digits, "-q",
                 "--target", vm.target(), "--force")
        lost(b, vm, "power", vm.cut_power, TIMEOUT)
    with b.busybox() as vm:
        vm.boot()
        again(b, vm, "a power cut")
