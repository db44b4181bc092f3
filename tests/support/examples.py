# SPDX-License-Identifier: Apache-2.0
"""Executes the examples of a document and compares what they print.

examples.py DOCUMENT BUILD [WORD FOLDER]

A block that begins with ```console is one shell session: lines "$ command"
are run in the repository's root with "build/" taken to be BUILD, the lines
behind each must appear in its output in that order (stdout and stderr). White
space counts as one blank; "…" stands for any text, and alone on a line for
any lines. With WORD it is the blocks that begin with ```console WORD, and they
are run in FOLDER, which has the files that they are about.
"""

import os
import re
import subprocess
import sys

MARK = "@@example-%d@@"


def blocks(text, word):
    for m in re.finditer(r"^```console%s\n(.*?)^```" % word, text,
                         re.M | re.S):
        session = []
        for line in m.group(1).splitlines():
            if line.startswith("$ "):
                session.append((line[2:], []))
            elif session:
                session[-1][1].append(line)
        if session:
            yield session


def pattern_of(line):
    words = " ".join(line.split())
    return ".*".join(re.escape(part) for part in words.split("…"))


def missing(expected, output):
    """The first expected line that does not come in its turn, or None."""
    lines = [" ".join(line.split()) for line in output.splitlines()]
    at = 0
    for line in expected:
        if line.strip() in ("", "…", "..."):
            continue
        wanted = re.compile(pattern_of(line) + "$")
        while at < len(lines) and not wanted.match(lines[at]):
            at += 1
        if at == len(lines):
            return line
        at += 1
    return None


def main():
    document, build = sys.argv[1:3]
    root = os.path.dirname(os.path.dirname(os.path.dirname(
        os.path.abspath(__file__))))
    word, folder = sys.argv[3:5] or ("", root)
    with open(document, encoding="utf-8") as f:
        text = f.read()
    commands = failures = 0
    for session in blocks(text, " " + word if word else ""):
        script = "set -u\n"
        for k, (command, _) in enumerate(session):
            command = re.sub(r"(?<![\w/.-])build/", build + "/", command)
            script += "rc=$?\necho '%s'\n(exit $rc)\n%s\n" % (MARK % k,
                                                              command)
        run = subprocess.run(["bash", "-c", script], cwd=folder, timeout=230,
                             stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for k, (command, expected) in enumerate(session):
            commands += 1
            part = run.stdout.split(MARK % k, 1)
            output = re.split("@@example-", part[1])[0] if len(part) == 2 \
                else ""
            lost = missing(expected, output)
            if len(part) != 2 or lost is not None:
                failures += 1
                print("FAIL $ %s\n  expected: %s\n  output:" % (command, lost))
                print("\n".join("    " + l for l in output.splitlines()))
    print("%d commands, %d wrong" % (commands, failures))
    sys.exit(1 if failures or not commands else 0)


main()
