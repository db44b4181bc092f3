# SPDX-License-Identifier: Apache-2.0
"""What the sweep found: the closing line, the matrix, docs/hypotheses.md."""
import collections


class Failure(Exception):
    """A command that did not do what it is there for."""


class Result:
    """One edit of one layer."""

    def __init__(self, edit):
        self.edit = edit
        self.id = edit.split("=")[0]
        self.seeded = self.named = False
        self.others = set()  # ids that give the same bytes
        self.false = []      # texts that do not
        self.found = ""

    def sentence(self):
        if not self.seeded or (self.named and not self.false):
            return ""
        return ("not named: " if not self.named else "false %s: " %
                ", ".join(self.false)) + self.found


def report(args, seeds, checks, skipped, layers, seconds):
    failures = 0
    for what, r in seeds + checks:
        text = r.sentence() if isinstance(r, Result) else str(r)
        if text:
            failures += 1
            print("FAIL %s: %s" % (what, text))
    results = [r for _, r in seeds if isinstance(r, Result)]
    seeded = [r for r in results if r.seeded]
    for name in skipped:
        print("SKIP %s: not there" % name)
    print("%d layers of %d models; %d edits, of which %d change nothing on "
          "these data; %d checks without a cause; %.0f s" % (
              len(layers), len({l.model.name for l in layers}), len(results),
              len(results) - len(seeded), len(checks), seconds))
    named = sum(bool(r.named) for r in seeded)
    false = sum(bool(r.false) for r in seeded)
    print("%d of %d seeded causes named, %d false" % (named, len(seeded),
                                                      false))
    return 1 if failures else 0
