# SPDX-License-Identifier: Apache-2.0
"""Counts of one check: prints failures as they come and the closing line."""

import sys


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def ok(self):
        self.passed += 1

    def fail(self, text):
        self.failed += 1
        print("FAIL " + text)

    def skip(self, text):
        self.skipped += 1
        print("SKIP " + text)

    def test(self, condition, text):
        if condition:
            self.ok()
        else:
            self.fail(text)

    def close(self):
        """Prints the closing line and exits; no test at all is a failure."""
        if self.passed + self.failed + self.skipped == 0:
            self.fail("nothing was checked")
        print("%d passed, %d failed, %d skipped"
              % (self.passed, self.failed, self.skipped))
        sys.exit(1 if self.failed else 0)
