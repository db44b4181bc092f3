# SPDX-License-Identifier: Apache-2.0
"""A board that runs: what it says of itself, what it computes, what stays."""

import re

import bench
import box

# Of /proc/cpuinfo's names those that hello knows (agent/sysinfo.c).
KNOWN = ("fp asimd fphp asimdhp asimdrdm asimddp sve asimdfhm sve2 i8mm "
         "bf16").split()
# All files of the board's own file system with their times; and their sums.
FILES = """find / -xdev -type f | sort | xargs stat -c '%n %s %Y %Z %a %u'
find / -xdev ! -type f | sort
find /tmp /run -xdev | grep -v '^/run/systemd' | sort
cat /run/assayd.pid || true"""
SUMS = "\nfind / -xdev -type f | sort | xargs sha256sum"


def same_as_user_mode(b, vm, cpu):
    """The same program under the user-mode emulator: the same bits."""
    emulated = "exec:qemu-aarch64 -cpu %s %s --stdio" % (cpu, b.assayd)
    status, there, _ = b.report(b.digits, vm.target())
    b.test(status == 0, "digits through TCP: exit %s" % status)
    status, here, _ = b.report(b.digits, emulated)
    b.test(status == 0, "digits in user mode: exit %s" % status)
    b.test(bench.digests(there) == bench.digests(here) and
           len(there["layers"]) == 21,
           "digests and kernels differ from those of user mode")
    return there


def features(b, vm, report, kernels):
    said = vm.out("sed -n 's/^Features\\t: //p' /proc/cpuinfo | head -n 1")
    want = " ".join(f for f in KNOWN if f in said.split())
    b.test(report["board"]["features"] == want,
           "features '%s', /proc/cpuinfo has '%s'"
           % (report["board"]["features"], want))
    b.test(report["agent"]["kernels"] == kernels,
           "kernels %s, expected %s" % (report["agent"]["kernels"], kernels))
    b.test(report["board"]["id"] == "box", "the board's id is its host name")


def memory(vm):
    """(Rss, private) of the agent in KiB. VmRSS of the kernel's status lags
    by up to 64 pages; this is exact."""
    text = vm.out("cat /proc/$(/opt/agent)/smaps_rollup")
    return (int(re.search(r"^Rss: +(\d+) kB", text, re.M).group(1)),
            sum(int(n) for n in re.findall(r"^Private_\w+: +(\d+) kB", text,
                                           re.M)))


def twenty_runs(b, vm):
    at = {}
    for k in range(1, 21):
        status, _, err = b.assay("run", b.digits, "-q", "--target",
                                 vm.target())
        if status != 0:
            b.test(False, "run %d of 20: exit %s: %s" % (k, status, err))
            return
        if k in (3, 20):
            at[k] = memory(vm)
    b.test(True, "20 runs")
    b.test(at[20][0] <= at[3][0] + 128,
           "RSS grew from %d KiB to %d KiB in 17 runs"
           % (at[3][0], at[20][0]))
    b.test(at[20][0] <= 8192, "RSS is %d KiB" % at[20][0])
    b.figure("agent after 20 runs: RSS %d KiB, of it private %d KiB" % at[20])
    left = vm.out("ls /proc/$(/opt/agent)/fd | wc -l; /opt/agent worker")
    b.test(left.split()[1:] == [], "a worker is left: %s" % left.split())


def one_lease(b, vm):
    """One board, one lease: on loopback, and for an agent on stdio as ssh
    starts it, which attaches to the daemon."""
    run = b.start("run", b.case("chain"), "-v", "--target", vm.target())
    run.wait_line(r"layer 2/")
    b.expect(3, "busy for a client through stdio", "run", b.digits, "-q",
             "--target", vm.target(box.STDIO))
    status, said, _ = run.end()
    b.test(status == 0, "the first client is not disturbed: exit %s: %s"
           % (status, said[-300:]))
    b.expect(0, "then it is free", "run", b.digits, "-q", "--target",
             vm.target(box.STDIO))


def client_is_killed(b, vm):
    run = b.start("run", b.case("chain"), "-v", "--target", vm.target())
    run.wait_line(r"layer 2/")
    run.process.kill()
    run.end()
    # The next one is served, once the kernel has told the agent.
    b.expect(0, "served behind a client that was killed", "run", b.digits,
             "-q", "--target", vm.target(), "--timeout", "10")
    b.test(vm.out("/opt/agent worker").strip() == "",
           "the worker of a client that was killed is gone")


def no_core(b, vm):
    """A vendor's board may collect cores of everything: of a worker that
    crashes there is none, neither a file nor a pipe to a collector."""
    vm.out("echo '#!/bin/sh' >/tmp/collect; chmod +x /tmp/collect\n"
           "echo 'echo \"$1\" >>/tmp/collected' >>/tmp/collect")
    for pattern in ("/tmp/core.%e.%p", "|/tmp/collect %e"):
        vm.out("echo '%s' >/proc/sys/kernel/core_pattern\n"
               "sh -c 'ulimit -c unlimited; kill -SEGV $$' || true" % pattern)
        b.test(vm.out("ls /tmp").count("c") > 1,
               "another program's core is there")
        run = b.start("run", b.case("chain"), "-v", "--target", vm.target())
        run.wait_line(r"layer 2/")
        vm.out("kill -SEGV $(/opt/agent worker)")
        status, said, _ = run.end()
        b.test(status == 4 and
               re.search("signal 11 .*(in|behind) layer 'conv", said),
               "a crash names layer and signal: exit %s: %s"
               % (status, said[-300:]))
        b.test("assayd" not in vm.out("ls /tmp; cat /tmp/collected || true"),
               "no core for '%s'" % pattern)
    vm.out("rm /tmp/c*")


def script(b, vm):
    """What the start script does on the board's own shell."""
    agent = vm.out("/opt/agent").strip()
    status, text = vm.sh("/etc/init.d/assayd status")
    b.test(status == 0 and "agent %s" % agent in text,
           "status: exit %s: %s" % (status, text))
    status, text = vm.sh("/etc/init.d/assayd start")
    b.test(status == 0 and "runs already" in text,
           "a second start: exit %s: %s" % (status, text))
    mark = vm.mark()
    vm.out("kill -9 %s" % agent)
    vm.wait("assayd: ended with 137", 20, mark)
    vm.wait("assayd listening on 127.0.0.1:7410", 20, mark)
    b.test(vm.out("/opt/agent").strip() not in ("", agent),
           "another agent behind kill -9")
    b.expect(0, "behind kill -9", "run", b.digits, "-q", "--target",
             vm.target())
    status, text = vm.sh("/etc/init.d/assayd restart")
    b.test(status == 0 and "stopped" in text and "started" in text,
           "restart: exit %s: %s" % (status, text))
    b.expect(0, "behind a restart", "run", b.digits, "-q", "--target",
             vm.target())


def stopped_by_init(b, vm):
    """SIGTERM by init: the agent ends at once, with 0."""
    mark = vm.mark()
    vm.out("poweroff")
    vm.wait("assayd: stopped", 20, mark)
    vm.off()
    b.test(not any("ended with" in line or "killed" in line
                   for line in vm.lines[mark:]),
           "the agent ended with 0 at SIGTERM: %s" % vm.lines[mark:])


def check(b):
    with b.busybox(config="ulimit -c unlimited\n") as vm:
        b.figure("busybox: up in %.1f s" % vm.boot())
        before = vm.out(FILES + SUMS)
        b.test(before.count("/usr/local/bin/assayd") >= 2,
               "the files are looked at")
        report = same_as_user_mode(b, vm, "cortex-a76")
        features(b, vm, report, "dotprod")
        twenty_runs(b, vm)
        one_lease(b, vm)
        client_is_killed(b, vm)
        no_core(b, vm)
        after = vm.out(FILES + SUMS)
        b.test(after == before, "files changed: %s" % sorted(
            set(after.splitlines()) ^ set(before.splitlines()))[:6])
        script(b, vm)
        stopped_by_init(b, vm)


def other_cpus(b):
    """A CPU without dot products, at a time when its clock has not been set;
    and one with everything."""
    with b.busybox(cpu="cortex-a53", clock="1970-01-01T00:00:00") as vm:
        vm.boot()
        b.test(vm.out("date +%Y").strip() == "1970", "it is 1970 there")
        features(b, vm, same_as_user_mode(b, vm, "cortex-a53"), "neon")
        # The clock is set in the middle of a run.
        run = b.start("run", b.case("chain"), "-v", "--target", vm.target())
        run.wait_line(r"layer 2/")
        vm.out("date -s 2030-01-01")
        vm.out("date -s 2010-01-01")
        status, said, _ = run.end()
        b.test(status == 0, "the clock jumped: exit %s: %s"
               % (status, said[-300:]))
    with b.busybox(cpu="max", respawn=True) as vm:
        vm.boot()
        vm.wait("assayd listening on", 20)
        features(b, vm, same_as_user_mode(b, vm, "max"), "dotprod")
        # Here init itself starts it again.
        mark = vm.mark()
        vm.out("kill -9 $(/opt/agent)")
        vm.wait("assayd listening on", 20, mark)
        b.expect(0, "behind init's respawn", "run", b.digits, "-q",
                 "--target", vm.target())
