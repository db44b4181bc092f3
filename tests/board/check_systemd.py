# SPDX-License-Identifier: Apache-2.0
"""A board with systemd and our unit: what the unit promises, tried."""

import re

import check_limits
import check_runs
import check_tls

SHOW = "systemctl show assayd -p %s --value"
CGROUP = "/sys/fs/cgroup/system.slice/assayd.service/"


def show(vm, what):
    return vm.out(SHOW % what).strip()


def wait_active(vm):
    """Until systemd says that it runs."""
    vm.out("until [ \"$(systemctl is-active assayd)\" = active ]; do "
           "usleep 300000; done")


def promised(b, vm):
    """What can be read of the process and its group."""
    status = vm.out("cat /proc/$(/opt/agent)/status")
    for name, want in (("Uid", r"[1-9]\d{4}"), ("CapBnd", "0{16}"),
                       ("CapEff", "0{16}"), ("NoNewPrivs", "1"),
                       ("Seccomp", "2")):
        got = re.search(r"^%s:\t(\S+)" % name, status, re.M).group(1)
        b.test(re.fullmatch(want, got), "%s is %s" % (name, got))
    limits = vm.out("cat /proc/$(/opt/agent)/limits")
    for name, want in (("open files", "512"), ("core file size", "1")):
        b.test(re.search(r"^Max %s +%s +%s " % (name, want, want), limits,
                         re.M), "limit of %s: %s" % (name, limits))
    for name, want in (("memory.max", "536870912"), ("pids.max", "32")):
        got = vm.out("cat %s%s" % (CGROUP, name)).strip()
        b.test(got == want, "%s is %s, expected %s" % (name, got, want))
    said = vm.out("systemd-analyze verify --man=no "
                  "/etc/systemd/system/assayd.service;"
                  "systemd-analyze security assayd --no-pager | tail -n 1")
    b.test("level for assayd.service" in said and
           len(said.strip().splitlines()) == 1, "the unit: %s" % said)
    b.figure("systemd-analyze security: " + re.sub(r"[^ -~]+", "",
                                                   said.strip()))


def tried(b, vm):
    """A service with our unit's lines that tries what it must not: and the
    same without a unit, where all of it works."""
    vm.out("touch /tmp/of-others; mkdir -p /mnt")
    free = vm.out("/opt/probe")
    vm.out("sed -e 's/^Type=.*/Type=oneshot/' -e '/^Restart/d' "
           "-e 's,^ExecStart=.*,ExecStart=/opt/probe,' "
           "/etc/systemd/system/assayd.service "
           ">/run/systemd/system/probe.service\n"
           "systemctl daemon-reload\nsystemctl start probe")
    bound = vm.out("journalctl --no-pager -o cat -u probe")
    names = [line[6:] for line in free.splitlines()
             if line.startswith("could ") and "could not" not in line]
    b.test(len(names) == free.count("could") == 20,
           "root without a unit could: %s" % free)
    for name in names:
        b.test("could not %s\n" % name in bound,
               "the unit lets it %s: %s" % (name, bound))


def dies(b, vm):
    agent = show(vm, "MainPID")
    vm.out("kill -9 " + agent)
    vm.out("until [ \"$(%s)\" = 1 ]; do usleep 300000; done"
           % (SHOW % "NRestarts"))
    wait_active(vm)
    b.expect(0, "behind kill -9", "run", b.digits, "-q", "--target",
             vm.target())
    # The worker is killed for its memory: that is told, and nothing stops.
    vm.out("systemctl set-property --runtime assayd MemoryMax=12M")
    check_limits.killed_worker(b, vm, "memory of the unit")
    b.test(show(vm, "ActiveState") == "active" and
           show(vm, "NRestarts") == "1", "an OOM kill stopped the service")
    vm.out("systemctl set-property --runtime assayd MemoryMax=512M")
    check_limits.lives(b, vm, "an OOM kill")


def configured(b, vm):
    vm.out("systemctl stop assayd")
    b.test(show(vm, "Result") == "success" and
           show(vm, "ExecMainStatus") == "0", "it ends with 0")
    vm.out("echo 'ASSAYD_ARGS=\"--nonsense\"' >/etc/default/assayd")
    vm.sh("systemctl start assayd")
    vm.out("until [ \"$(systemctl is-active assayd)\" = failed ]; do "
           "usleep 300000; done")
    b.test(show(vm, "ExecMainStatus") == "2" and
           show(vm, "NRestarts") == "0",
           "a bad option is not tried again")
    log = vm.out("journalctl --no-pager -o cat -u assayd")
    b.test("unknown option '--nonsense'" in log, "the journal says why")
    vm.out("echo 'ASSAYD_ARGS=\"--listen unix:/run/assayd/socket "
           "--memory 64M\"' >/etc/default/assayd; "
           "systemctl reset-failed assayd; systemctl start assayd")
    wait_active(vm)
    log = vm.out("until [ -S /run/assayd/socket ]; do usleep 300000; done; "
                 "journalctl --no-pager -o cat -u assayd")
    b.test("listening on unix:/run/assayd/socket" in log,
           "a Unix socket in its own folder: %s" % log[-300:])


def with_keys(b, vm):
    """TLS: root's key handed over as a credential, a line taken away."""
    vm.out("""
        mkdir -p /etc/systemd/system/assayd.service.d
        cat >/etc/systemd/system/assayd.service.d/keys.conf <<'END'
[Service]
LoadCredential=cert.pem:/etc/assayd/cert.pem
LoadCredential=key.pem:/etc/assayd/key.pem
END
        echo '%s' >/etc/default/assayd
        systemctl daemon-reload; systemctl restart assayd"""
           % (check_tls.ARGS % {"at": "/run/credentials/assayd.service"}
              ).strip())
    wait_active(vm)
    log = vm.out("journalctl --no-pager -o cat -u assayd | tail -n 3")
    b.test("listening on tls:0.0.0.0:7410" in log, "TLS: %s" % log)
    target = b.trust(vm)
    b.expect(0, "a run by TLS", "run", b.digits, "-q", "--target", target)
    agent = show(vm, "MainPID")
    vm.out(": >/etc/assayd/authorized; systemctl reload assayd")
    vm.out("until journalctl --no-pager -o cat -u assayd | grep -q '%s'; do "
           "usleep 300000; done" % check_tls.READ_AGAIN)
    b.expect(3, "a line that was taken away", "info", "--target", target)
    b.test(show(vm, "MainPID") == agent, "a reload is no restart")


def check(b):
    with b.systemd(keys=b.board_keys()) as vm:
        b.figure("systemd: up in %.1f s" % vm.boot(120))
        b.test(show(vm, "ActiveState") == "active", "the service is active")
        before = vm.out(check_runs.FILES)
        check_runs.same_as_user_mode(b, vm, "cortex-a76")
        check_runs.one_lease(b, vm)
        after = vm.out(check_runs.FILES)
        b.test(after == before, "files changed: %s" % sorted(
            set(after.splitlines()) ^ set(before.splitlines()))[:6])
        promised(b, vm)
        tried(b, vm)
        dies(b, vm)
        configured(b, vm)
        with_keys(b, vm)
