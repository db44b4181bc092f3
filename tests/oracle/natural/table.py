#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of natural divergences in docs/hypotheses.md.

    table.py ROWS [--write]

ROWS: what judge.py wrote. Without --write every row must stand in the table as
it is; a comparison that this machine cannot make (a CPU with VNNI) has none.
"""
import os
import re
import sys

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "..", "..", "..", "docs", "hypotheses.md")
HEAD = ("| comparison | model | samples | layer | cause | differing | all | "
        "also proved |\n|---|---|---|---|---|---|---|---|")
PATTERN = re.compile(r"(<!-- natural -->\n).*?(<!-- /natural -->)", re.S)


def table(path):
    with open(path, encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f]
    out = []
    for title, model, samples, layer, cause, differing, all_, others in rows:
        if not cause:
            layer = "none differs"
        out.append("| %s | %s | %s | %s | %s | %s | %s | %s |" % (
            title, model, samples, layer, cause, differing, all_, others))
    return out


def main():
    rows = table(sys.argv[1])
    with open(DOCS, encoding="utf-8") as f:
        text = f.read()
    if not PATTERN.search(text):
        sys.exit("no <!-- natural --> there")
    if "--write" in sys.argv[2:]:
        new = HEAD + "\n" + "\n".join(rows) + "\n"
        text = PATTERN.sub(lambda m: m.group(1) + new + m.group(2), text)
        with open(DOCS, "w", encoding="utf-8") as f:
            f.write(text)
    missing = [r for r in rows if r not in text]
    if missing or not rows:
        sys.exit("%d of %d rows are not in the table: %s" % (
            len(missing), len(rows), missing[:3]))
    print("%d rows as they stand there" % len(rows))


if __name__ == "__main__":
    main()
