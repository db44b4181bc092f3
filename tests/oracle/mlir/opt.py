# SPDX-License-Identifier: Apache-2.0
"""mlir-opt as the judge: many texts in one call, an answer for each."""
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

MARK = "// -----"
BATCH = 60
GENERIC = ["--allow-unregistered-dialect", "--mlir-print-op-generic"]
DEBUG = ["--mlir-print-debuginfo"]
# Where a text came from is not a part of it: locations that mlir-opt makes up.
MADE_UP = re.compile(r'"(?:within split at )?<stdin>[^"]*"')
ERROR = re.compile(r"^(?:within split at <stdin>:(\d+) offset :|<stdin>:)"
                   r"(\d+):(\d+): error: (.*)$")


def program():
    """The judge's name, or None where it is not installed."""
    for name in (os.environ.get("MLIR_OPT"), "mlir-opt-19"):
        if name and shutil.which(name):
            return name
    return None


class Answer:
    """What mlir-opt said of one text."""

    def __init__(self, out=None, message="", line=0, column=0):
        self.out = out  # None: refused
        self.message, self.line, self.column = message, line, column

    @property
    def accepted(self):
        return self.out is not None


def _one(text, args, timeout):
    """Alone, where a batch did not survive."""
    r = subprocess.run([program(), *args], input=text.encode(),
                       capture_output=True, timeout=timeout, check=False)
    if r.returncode == 0:
        return Answer(r.stdout.decode(errors="surrogateescape"))
    for line in r.stderr.decode(errors="replace").splitlines():
        m = ERROR.match(line)
        if m:
            return Answer(None, m[4], int(m[2]), int(m[3]))
    return Answer(None, f"mlir-opt died, exit {r.returncode}")


def _batch(texts, args, timeout):
    r = subprocess.run([program(), *args, "--split-input-file"],
                       input=f"\n{MARK}\n".join(texts).encode(
                           errors="surrogateescape"),
                       capture_output=True, timeout=timeout, check=False)
    outs = r.stdout.decode(errors="surrogateescape").split(MARK + "\n")
    if len(outs) != len(texts) or r.returncode not in (0, 1):
        return [_one(t, args, timeout) for t in texts]
    # The judge names a text by the line of the mark before it.
    index, line = {1: 0}, 1
    for k, t in enumerate(texts[:-1]):
        # The mark before text k (if any) stands on its own line.
        line += t.count("\n") + 1 + (k != 0)
        index[line] = k + 1
    answers = [Answer(o) if o.strip() else Answer(None, "no message")
               for o in outs]
    for line in r.stderr.decode(errors="replace").splitlines():
        m = ERROR.match(line)
        if not m:
            continue
        k = index[int(m[1] or 1)]
        if answers[k].out is None and answers[k].message == "no message":
            answers[k] = Answer(None, m[4], int(m[2]) - (k != 0), int(m[3]))
    return answers


def run(texts, args, timeout=120):
    """An answer for each text, in order."""
    texts = [t.replace(MARK, "// ----") for t in texts]
    parts = [texts[i:i + BATCH] for i in range(0, len(texts), BATCH)]
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(lambda p: _batch(p, args, timeout), parts)
        return [a for part in done for a in part]


def comparable(out):
    """Text of mlir-opt without the places that it made up itself."""
    return MADE_UP.sub('"here"', out)
