# SPDX-License-Identifier: Apache-2.0
"""The catalogue of causes as the sources have it."""
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
DEF = os.path.join(HERE, "..", "..", "host-tools", "cause", "catalogue.def")


def entries():
    """[(id, family, variants, name)] of catalogue.def, in its order."""
    with open(DEF, encoding="utf-8") as f:
        text = f.read()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    out = []
    for m in re.finditer(r"ASSAY_CAUSE\((\w+),\s*\w+,\s*\w+,\s*(\w+),\s*"
                         r"((?:\"[^\"]*\"\s*)+),\s*((?:\"[^\"]*\"\s*)+),",
                         text):
        words = ["".join(re.findall(r"\"([^\"]*)\"", m.group(i)))
                 for i in (3, 4)]
        out.append((m.group(1), m.group(2), words[0].split(), words[1]))
    return out


# No edit of a slice: `assay mutate` cannot write them.
NOT_SLICES = {e[0] for e in entries() if e[1] == "none"}


def edits():
    """id -> what is edited, in words; of edits.txt."""
    with open(os.path.join(HERE, "edits.txt"), encoding="utf-8") as f:
        lines = [l.rstrip("\n").split("\t") for l in f
                 if l.strip() and not l.startswith("#")]
    return {l[0]: l[1] for l in lines}
