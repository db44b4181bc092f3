# SPDX-License-Identifier: Apache-2.0
"""A board in a box: one qemu-system-aarch64 with a serial console that is read
line by line, a shell behind a forwarded port, and a power switch."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time

SHELL, RELAY, STDIO = 9, 10, 11  # ports of guest/control
DIRECT = 7410  # where an agent listens that has TLS


class Trouble(Exception):
    """The board did not do what a test cannot go on without."""


class Box:
    """with Box(packages, tree) as box: ... ; the power is off behind it."""

    def __init__(self, packages, tree, cpu="cortex-a76", memory=256,
                 clock=None):
        self.work = tempfile.mkdtemp(prefix="box")
        self.lines, self.news = [], threading.Condition()
        self.ended = False
        initrd = os.path.join(self.work, "initrd")
        tree.write(initrd)
        self.monitor_path = os.path.join(self.work, "monitor")
        net = "user,id=net,restrict=on" + "".join(
            ",hostfwd=tcp:127.0.0.1:0-:%d" % p for p in
            (SHELL, RELAY, STDIO, DIRECT))
        self.process = subprocess.Popen(
            ["qemu-system-aarch64", "-M", "virt", "-cpu", cpu, "-smp", "1",
             "-m", "%dM" % memory, "-nodefaults", "-nographic",
             "-kernel", packages.image(), "-initrd", initrd,
             "-append", "console=ttyAMA0 quiet loglevel=1 panic=-1",
             "-serial", "stdio",
             "-monitor", "unix:%s,server,nowait" % self.monitor_path,
             "-netdev", net,
             "-device", "virtio-net-pci,netdev=net,romfile="] +
            (["-rtc", "base=" + clock] if clock else []),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        self.begun = time.monotonic()
        threading.Thread(target=self.read_console, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cut_power()
        shutil.rmtree(self.work, ignore_errors=True)

    # ---- console ----

    def read_console(self):
        for line in self.process.stdout:
            line = line.decode("utf-8", "replace").rstrip()
            with self.news:
                self.lines.append(line)
                self.news.notify_all()
        with self.news:
            self.ended = True
            self.news.notify_all()

    def mark(self):
        """Where the console is now, for wait(since=...)."""
        with self.news:
            return len(self.lines)

    def wait(self, pattern, seconds=60, since=0):
        """The first line from there on that matches; its number too."""
        until = time.monotonic() + seconds
        at = since
        with self.news:
            while True:
                while at < len(self.lines):
                    if re.search(pattern, self.lines[at]):
                        return at, self.lines[at]
                    at += 1
                left = until - time.monotonic()
                if left <= 0 or self.ended:
                    raise Trouble("no line '%s' on the console %s; it ends "
                                  "with:\n    %s" % (
                                      pattern, "before the power went off"
                                      if self.ended else
                                      "in %d s" % seconds,
                                      "\n    ".join(self.lines[-15:])))
                self.news.wait(left)

    def boot(self, seconds=90):
        """Waits until the board is up; seconds that it took."""
        self.wait(r"^board: up$", seconds)
        self.booted = time.monotonic() - self.begun
        self.ports = self.forwarded()
        return self.booted

    # ---- network ----

    def monitor(self, command, seconds=10):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(seconds)
            s.connect(self.monitor_path)
            read_until(s, b"(qemu) ", seconds)
            s.sendall(command.encode() + b"\n")
            return read_until(s, b"\n(qemu) ", seconds).decode(
                "utf-8", "replace")

    def forwarded(self):
        ports = {}
        for line in self.monitor("info usernet").splitlines():
            words = line.split()
            if words and words[0].startswith("TCP[HOST_FORWARD"):
                ports[int(words[5])] = int(words[3])
        return ports

    def target(self, port=RELAY):
        return "127.0.0.1:%d" % self.ports[port]

    def sh(self, script, seconds=30):
        """Runs a script in a shell on the board: (exit status, output)."""
        end = "end-of-script-%d" % time.monotonic_ns()
        with socket.create_connection(("127.0.0.1", self.ports[SHELL]),
                                      seconds) as s:
            s.settimeout(seconds)
            s.sendall(("export PATH=/bin:/usr/bin:/usr/local/bin\n"
                       "{ %s\n} </dev/null 2>&1\necho %s $?\nexit\n"
                       % (script, end)).encode())
            try:
                got = read_until(s, end.encode(), seconds, b"\n").decode()
            except (OSError, EOFError) as e:
                raise Trouble("no end of '%s' on the board: %s"
                              % (script.strip().splitlines()[0], e)) from None
        text, status = got.rsplit(end, 1)
        return int(status), text

    def out(self, script, seconds=30):
        """The output of a script that must not fail."""
        status, text = self.sh(script, seconds)
        if status != 0:
            raise Trouble("'%s' ended with %d on the board: %s"
                          % (script.strip(), status, text.strip()))
        return text

    # ---- power ----

    def cut_power(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def off(self, seconds=30):
        """Waits until the board has switched itself off."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Trouble("the board is still on after %d s" % seconds) \
                from None


def read_until(s, end, seconds, more=b""):
    """All bytes up to an end, and from there up to `more`."""
    until, got = time.monotonic() + seconds, b""
    while True:
        at = got.find(end)
        if at >= 0 and more in got[at + len(end):]:
            return got
        s.settimeout(max(until - time.monotonic(), 0.001))
        data = s.recv(65536)
        if not data:
            raise EOFError("the connection ended behind %r" % got[-200:])
        got += data
