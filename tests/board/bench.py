# SPDX-License-Identifier: Apache-2.0
"""What the tests of the board in a box share: programs, counts, boots."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time

import box
import image
import models

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


class Running:
    """An assay in the background, whose talk is read line by line."""

    def __init__(self, command):
        self.lines, self.news = [], threading.Condition()
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            with self.news:
                self.lines.append(line.rstrip())
                self.news.notify_all()

    def wait_line(self, pattern, seconds=60):
        def there():
            return any(re.search(pattern, line) for line in self.lines)
        with self.news:
            if not self.news.wait_for(there, seconds):
                raise box.Trouble("assay said no '%s' in %d s but: %s"
                                  % (pattern, seconds, self.lines[-3:]))

    def end(self, seconds=60):
        """(exit status, what it said, seconds from now)"""
        begun = time.monotonic()
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = "none in %d s" % seconds
        self.reader.join(5)
        return status, "\n".join(self.lines), time.monotonic() - begun


class Bench:
    def __init__(self, packages, build, tally, work):
        self.packages, self.tally, self.work = packages, tally, work
        self.command = os.path.join(build, "x86_64", "assay")
        self.native = os.path.join(build, "x86_64", "assayd")
        self.script = os.path.join(ROOT, "agent/init/assayd.init")
        self.unit = os.path.join(ROOT, "agent/init/assayd.service")
        self.digits = os.path.join(ROOT, "tests/data/digits")
        self.unstripped = os.path.join(build, "aarch64", "assayd")
        # As it is handed out: stripped.
        self.assayd = os.path.join(work, "assayd")
        subprocess.run(["aarch64-linux-gnu-strip", "-o", self.assayd,
                        self.unstripped], check=True)
        self.part, self.cases = "", {}

    def test(self, condition, text):
        self.tally.test(condition, "%s: %s" % (self.part, text))

    def figure(self, text):
        print("board: " + text)
        sys.stdout.flush()

    def case(self, name):
        """A model of models.py, made when it is first asked for."""
        if name not in self.cases:
            folder = os.path.join(self.work, name)
            self.cases[name] = getattr(models, name)(folder)
        return self.cases[name]

    # ---- boards ----

    def busybox(self, config="", respawn=False, keys=(), **how):
        return box.Box(self.packages, image.busybox(
            self.packages, self.assayd, self.script, config, respawn, keys),
            **how)

    def systemd(self, config="", keys=(), **how):
        return box.Box(self.packages, image.systemd(
            self.packages, self.assayd, self.unit, config, keys),
            memory=512, **how)

    # ---- keys ----

    def key(self, name, folder):
        """Makes one; its fingerprint."""
        status, out, err = self.assay("keygen", "-q", "--name", name, "-o",
                                      folder)
        if status != 0:
            raise box.Trouble("no key for %s: %s" % (name, err))
        return out.split()[-1]

    def board_keys(self):
        """A board's key, and anna's, who may come in: what goes to the board.
        From now on the command is anna's."""
        home, board = (os.path.join(self.work, n) for n in ("anna", "board"))
        os.environ["XDG_CONFIG_HOME"] = home
        os.environ["XDG_CACHE_HOME"] = os.path.join(self.work, "cache")
        for path in (home, board):
            shutil.rmtree(path, ignore_errors=True)
        self.print = self.key("board", board)
        anna = self.key("anna", os.path.join(home, "assay"))
        authorized = os.path.join(board, "authorized")
        with open(authorized, "w", encoding="utf-8") as f:
            f.write("anna %s\n" % anna)
        return [(n, os.path.join(board, n)) for n in
                ("cert.pem", "key.pem", "authorized")]

    def trust(self, vm):
        """Pins the board's key for anna; the target."""
        path = os.path.join(self.work, "anna/assay/boards")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
                  "w", encoding="utf-8") as f:
            f.write("%s %s\n" % (vm.target(box.DIRECT), self.print))
        return "tls:" + vm.target(box.DIRECT)

    # ---- the command ----

    def assay(self, *words, seconds=60):
        """(exit status, stdout, stderr)"""
        try:
            done = subprocess.run(
                [self.command] + list(words), stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return "none in %d s" % seconds, "", ""
        return done.returncode, done.stdout, done.stderr

    def start(self, *words):
        return Running([self.command] + list(words))

    def expect(self, status, text, *words, seconds=60):
        """One test: that exit status, with the talk in a failure."""
        got, out, err = self.assay(*words, seconds=seconds)
        self.test(got == status, "%s: exit %s, expected %s: %s%s"
                  % (text, got, status, out[-300:], err[-300:]))
        return out, err

    def report(self, case, target, *more):
        """(exit status, report, talk) of a run."""
        path = os.path.join(self.work, "report.json")
        if os.path.exists(path):
            os.remove(path)
        status, _, err = self.assay("run", case, "--target", target, "-q",
                                    "--json", path, *more)
        if not os.path.exists(path):
            raise box.Trouble("no report of %s: exit %s: %s"
                              % (target, status, err))
        with open(path, encoding="utf-8") as f:
            return status, json.load(f), err


def digests(report):
    return [(r["name"], r["digest_got"], r["kernel"])
            for r in report["layers"]]
