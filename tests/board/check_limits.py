# SPDX-License-Identifier: Apache-2.0
"""A board that has too little of something: memory, processes, descriptors.
Each is told in one sentence, and the agent serves on."""

import box

GROUP = "/sys/fs/cgroup/small"


def restart(vm, wrap):
    """Another agent in place of the script's, in a shell that does something
    to itself; {} is the agent. False: it did not start."""
    vm.sh("/etc/init.d/assayd stop; kill $(/opt/agent); "
          "while [ -n \"$(/opt/agent)\" ]; do usleep 20000; done")
    mark = vm.mark()
    vm.out("(%s || echo assayd: refused) >/dev/console 2>&1 &"
           % wrap.format("/usr/local/bin/assayd --listen 127.0.0.1:7410"))
    line = vm.wait("assayd listening on|assayd: refused", 20, mark)[1]
    return "listening" in line


def lives(b, vm, what):
    b.expect(0, "the agent serves behind " + what, "run", b.digits, "-q",
             "--target", vm.target())


def killed_worker(b, vm, what):
    """A run whose worker the kernel kills: error 4 that names the layer and
    what may have killed it, and keeps what was there before."""
    agent = vm.out("/opt/agent").strip()
    status, report, err = b.report(b.case("wide"), vm.target())
    b.test(status == 4 and report["partial"],
           "%s: exit %s, expected 4 and a partial report" % (what, status))
    b.test("lack of memory" in err and "in layer 'conv0" in err,
           "%s: the layer and what killed it are named: %s" % (what, err[-300:]))
    b.test(vm.out("/opt/agent").strip() == agent,
           "%s: the agent is the same process" % what)
    killed = vm.out("dmesg | grep -i 'killed process'")
    b.test("(assayd)" in killed.splitlines()[-1],
           "%s: the kernel killed: %s" % (what, killed))


def cgroup_memory(b, vm):
    vm.out("echo '+memory +pids' >/sys/fs/cgroup/cgroup.subtree_control\n"
           "mkdir %s && echo 12M >%s/memory.max && "
           "/opt/agent >%s/cgroup.procs" % (GROUP, GROUP, GROUP))
    killed_worker(b, vm, "memory of a cgroup")
    lives(b, vm, "an OOM kill")
    # None at all for another process.
    vm.out("echo max >%s/memory.max; echo 1 >%s/pids.max" % (GROUP, GROUP))
    _, err = b.expect(4, "no process left", "run", b.digits, "--target",
                      vm.target())
    b.test("cannot start a worker" in err,
           "no process left: it is said: %s" % err[-300:])
    vm.out("echo max >%s/pids.max" % GROUP)
    lives(b, vm, "pids.max")


def whole_board(b, vm):
    """The board itself runs out of memory. Its application is larger than the
    worker, and must not be the one that is killed."""
    vm.out("""
        size() { sed -n "s/^$1: *\\([0-9]*\\) .*/\\1/p" "$2"; }
        n=$(($(size MemAvailable /proc/meminfo) - 15000))
        (dd if=/dev/zero bs=${n}k count=1 | sleep 1000) >/dev/null 2>&1 &
        until [ "$(size MemAvailable /proc/meminfo)" -lt 19000 ]; do
            usleep 50000
        done""")
    killed_worker(b, vm, "memory of the board")
    b.test(vm.out("pidof dd; true").strip() != "",
           "the application lives")
    vm.out("kill $(pidof dd)")
    lives(b, vm, "an OOM kill on the whole board")


def address_space(b, vm):
    b.test(restart(vm, "ulimit -v 12000; {}"), "it starts with ulimit -v")
    _, err = b.expect(4, "ulimit -v", "run", b.case("wide"), "--target",
                      vm.target())
    b.test("no memory for" in err, "ulimit -v: it is said: %s" % err[-300:])
    lives(b, vm, "ulimit -v")


def no_process(b, vm):
    """RLIMIT_NPROC does not bind root."""
    b.test(restart(vm, "su -s /bin/sh assay -c 'ulimit -u 1; exec {}'"),
           "it starts with ulimit -u 1")
    _, err = b.expect(4, "ulimit -u", "run", b.digits, "--target",
                      vm.target())
    b.test("cannot start a worker" in err,
           "ulimit -u: it is said: %s" % err[-300:])


def few_descriptors(b, vm):
    """From too few to start up to enough to run: a sentence at each number."""
    ends = {}
    for n in range(6, 40):
        if not restart(vm, "ulimit -n %d; {}" % n):
            ends.setdefault("start", []).append(n)
            continue
        status, _, err = b.assay("run", b.digits, "-q", "--target",
                                 vm.target(), "--timeout", "5")
        words = err.strip().splitlines()
        ends.setdefault(status, []).append(n)
        if status not in (0, 3, 4) or (status != 0 and not words):
            b.test(False, "ulimit -n %d: exit %s: %s" % (n, status, words))
        if vm.out("/opt/agent").strip() == "":
            b.test(False, "ulimit -n %d: the agent is gone" % n)
        if status == 0:
            break
    b.test(0 in ends and len(ends) > 1, "descriptors: %s" % ends)


def check(b):
    with b.busybox() as vm:
        vm.boot()
        whole_board(b, vm)
        cgroup_memory(b, vm)
        address_space(b, vm)
        no_process(b, vm)
        few_descriptors(b, vm)
