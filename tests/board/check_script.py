# SPDX-License-Identifier: Apache-2.0
"""The start script on this machine, under each shell that is here: what does
not need a board, and what a board has no time for."""

import os
import re
import select
import shutil
import signal
import subprocess
import time

import box

# busybox's is the one of the board.
SHELLS = (("sh", ["/bin/sh"]), ("bash", ["bash", "--posix"]))


class Service:
    """The script with a configuration and a process number of its own."""

    def __init__(self, b, shell, args):
        self.folder = os.path.join(b.work, "service")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.log, self.pidfile, config, self.script = (
            os.path.join(self.folder, n) for n in ("log", "pid", "config",
                                                   "assayd.init"))
        # The log is a pipe: what comes is seen when it comes.
        os.mkfifo(self.log)
        self.pipe, self.got = os.open(self.log, os.O_RDWR), b""
        with open(config, "w", encoding="utf-8") as f:
            f.write('ASSAYD_ARGS="%s"\nASSAYD_BIN="%s"\nASSAYD_LOG="%s"\n'
                    % (args, b.native, self.log))
        # It starts itself once more: with the shell that is tried.
        with open(b.script, encoding="utf-8") as f:
            text = f.read().split("\n", 1)[1]
        with open(self.script, "w", encoding="utf-8") as f:
            f.write("#!/usr/bin/env -S %s\n%s" % (" ".join(shell), text))
        os.chmod(self.script, 0o755)
        self.env = dict(os.environ, ASSAYD_CONFIG=config,
                        ASSAYD_PIDFILE=self.pidfile,
                        ASSAYD_BOARD_ID="script-%d" % os.getpid())

    def do(self, *words, seconds=30):
        done = subprocess.run([self.script] + list(words), env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=seconds, check=False)
        return done.returncode, done.stdout + done.stderr

    def wait(self, pattern, seconds=20):
        """The next line of the log that matches."""
        until = time.monotonic() + seconds
        while True:
            line, newline, rest = self.got.partition(b"\n")
            if newline:
                self.got = rest
                if re.search(pattern, line.decode()):
                    return line.decode()
                continue
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.pipe], [], [], left)[0]:
                raise box.Trouble("no line '%s' in the log" % pattern)
            self.got += os.read(self.pipe, 4096)

    def address(self):
        return self.wait("^assayd listening on").split()[-1]

    def close(self):
        os.close(self.pipe)

    def agent(self):
        return int(self.do("status")[1].split()[-1])


def one_shell(b, name, shell):
    s = Service(b, shell, "--listen 127.0.0.1:0")
    status, said = s.do("status")
    b.test(status == 3, "%s: status before: %d %s" % (name, status, said))
    status, said = s.do("start")
    b.test(status == 0 and "started" in said,
           "%s: start: %d %s" % (name, status, said))
    b.expect(0, name + ": it serves", "info", "--target", s.address())
    status, said = s.do("start")
    b.test(status == 0 and "runs already" in said,
           "%s: start again: %d %s" % (name, status, said))
    os.kill(s.agent(), signal.SIGKILL)
    b.expect(0, name + ": another one behind kill -9", "info", "--target",
             s.address())
    status, said = s.do("restart")
    b.test(status == 0, "%s: restart: %d %s" % (name, status, said))
    b.expect(0, name + ": it serves behind a restart", "info", "--target",
             s.address())
    agent = s.agent()
    status, said = s.do("stop")
    b.test(status == 0 and not os.path.exists("/proc/%d" % agent) and
           not os.path.exists(s.pidfile),
           "%s: stop: %d %s" % (name, status, said))
    status, said = s.do("stop")
    b.test(status == 0 and "does not run" in said,
           "%s: stop again: %d %s" % (name, status, said))
    s.close()


def refusals(b):
    s = Service(b, ["/bin/sh"], "--nonsense")
    status, said = s.do("start")
    b.test(status == 1 and "did not start" in said,
           "a bad option: %d %s" % (status, said))
    s.wait("unknown option '--nonsense'")
    s.wait("ended with 2")
    s.close()
    # A number that is somebody else's, as after a power cut.
    s = Service(b, ["/bin/sh"], "--listen 127.0.0.1:0")
    with open(s.pidfile, "w", encoding="utf-8") as f:
        f.write("%d\n" % os.getpid())
    status, said = s.do("stop")
    b.test(status == 0 and "does not run" in said,
           "another process's number: %d %s" % (status, said))
    for word in ("", "nonsense"):
        status, said = s.do(word)
        b.test(status == 2 and said.startswith("usage: "),
               "'%s': %d %s" % (word, status, said))
    s.close()
    # What the words hold is no pattern and no command.
    s = Service(b, ["/bin/sh"], "--listen 127.0.0.1:0 --board-id *")
    status, said = s.do("start")
    b.test(status == 1, "a star as an option: %d %s" % (status, said))
    s.wait(r"'\*'")
    s.close()


def check(b):
    for name, shell in SHELLS:
        if shutil.which(shell[0]) is None:
            b.tally.skip("script: %s is not installed" % name)
        else:
            one_shell(b, name, shell)
    refusals(b)
