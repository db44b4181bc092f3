# SPDX-License-Identifier: Apache-2.0
"""What the sweep found: the closing line, the matrix, docs/hypotheses.md."""
import collections
import os
import re

import catalogue

HERE = os.path.dirname(os.path.abspath(__file__))
LAYERS = 3  # on which an entry is seeded at least
DOCS = os.path.join(HERE, "..", "..", "docs", "hypotheses.md")


class Failure(Exception):
    """A command that did not do what it is there for."""


class Result:
    """One edit of one layer."""

    def __init__(self, edit, layer):
        self.edit, self.layer = edit, layer
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


# ---- tables ----------------------------------------------------------------------

def entry_table(seeded):
    """Markdown: the catalogue, and where each entry was seeded."""
    count = collections.Counter(r.id for r in seeded)
    layers = {i: len({r.layer for r in seeded if r.id == i}) for i in count}
    what = catalogue.edits()
    rows = ["| id | name | variants | what is edited, or why it is not | "
            "seeded |", "|---|---|---|---|---|"]
    for id_, family, variants, name in catalogue.entries():
        if count[id_]:
            where = "%d on %d layer%s" % (count[id_], layers[id_],
                                          "" if layers[id_] == 1 else "s")
        else:
            where = "–" if family == "none" else "not on these models"
        rows.append("| %s | %s | %s | %s | %s |" % (
            id_, name, " ".join("`%s`" % v for v in variants),
            what.get(id_, ""), where))
    return "\n".join(rows)


def matrix(seeded):
    """Text: a row an id that was seeded, a column one that was named. The
    diagonal is a percentage, the rest counts what gave the same bytes."""
    order = [e[0] for e in catalogue.entries()]
    rows = [i for i in order if any(r.id == i for r in seeded)]
    names = {o for r in seeded for o in r.others} | set(rows)
    columns = [i for i in order if i in names]
    lines = ["seeded    n " + "".join("%4s" % c for c in columns)]
    for i in rows:
        own = [r for r in seeded if r.id == i]
        named = sum(r.named for r in own)
        cells = []
        for c in columns:
            n = sum(c in r.others for r in own)
            cells.append("%4s" % ("%d%%" % (100 * named // len(own))
                                  if c == i else n or "."))
        lines.append("%-6s %4d %s" % (i, len(own), "".join(cells)))
    return "```text\n%s\n```" % "\n".join(l.rstrip() for l in lines)


def put(text, name, new, file="docs/hypotheses.md"):
    """Between <!-- name --> and <!-- /name -->."""
    pattern = r"(<!-- %s -->\n).*?(<!-- /%s -->)" % (name, name)
    out, n = re.subn(pattern, lambda m: m.group(1) + new + "\n" + m.group(2),
                     text, flags=re.S)
    if n != 1:
        raise SystemExit("%s: no <!-- %s -->" % (file, name))
    return out


def write_docs(seeded, facts):
    with open(DOCS, encoding="utf-8") as f:
        text = f.read()
    text = put(text, "catalogue", entry_table(seeded))
    text = put(text, "matrix", facts + "\n\n" + matrix(seeded))
    with open(DOCS, "w", encoding="utf-8") as f:
        f.write(text)


def docs_errors():
    """Does the table list what catalogue.def has?"""
    with open(DOCS, encoding="utf-8") as f:
        text = f.read()
    out = []
    for id_, _, variants, name in catalogue.entries():
        row = "| %s | %s | %s | " % (id_, name,
                                     " ".join("`%s`" % v for v in variants))
        if row not in text:
            out.append("docs/hypotheses.md: no row '%s': make sweep writes "
                       "it" % row.strip())
        if id_ not in catalogue.edits():
            out.append("tests/sweep/edits.txt: no line for %s" % id_)
    return out


def on_few_layers(seeded):
    """Sentences on entries that a slice can say and that few layers had."""
    out = []
    for id_, family, _, _ in catalogue.entries():
        n = len({r.layer for r in seeded if r.id == id_})
        if family != "none" and n < LAYERS:
            out.append("%s was seeded on %d layer%s, %d are expected" % (
                id_, n, "" if n == 1 else "s", LAYERS))
    return out


# ---- the end ---------------------------------------------------------------------

def report(args, seeds, checks, skipped, layers, seconds):
    wrong = []
    for what, r in seeds + checks:
        text = r.sentence() if isinstance(r, Result) else str(r)
        if text:
            wrong.append("%s: %s" % (what, text))
    if args.quick:
        wrong += docs_errors()
    results = [r for _, r in seeds if isinstance(r, Result)]
    seeded = [r for r in results if r.seeded]
    named = sum(r.named for r in seeded)
    false = sum(bool(r.false) for r in seeded)
    n_models = len({l.model.name for l in layers})
    facts = "%d edits of %d layers of %d models, on %s: %d " \
        "change the output and leave more than one value in it, %d do not " \
        "and count for nothing. %d of %d seeded causes named, %d false. " \
        "%d runs without a cause (clean outputs, and random bytes in 2 %%, " \
        "10 %% and 50 %% of the elements) had none." % (
            len(results), len(layers), n_models,
            "the aarch64 agent" if args.target == "agent" else
            "the host's engine", len(seeded),
            len(results) - len(seeded), named, len(seeded), false,
            sum(not r for _, r in checks))
    for text in wrong:
        print("FAIL " + text)
    for name in skipped:
        print("SKIP %s: its files are not there" % name)
    print("%s %.0f s" % (facts, seconds))
    if args.quick:
        ok = len(seeded) + len(checks) - len(wrong)
        print("%d passed, %d failed, %d skipped" % (max(ok, 0), len(wrong),
                                                    len(skipped)))
        return 1 if wrong else 0
    print(matrix(seeded))
    if not (skipped or args.models or args.layers):
        for text in on_few_layers(seeded):
            wrong.append(text)
            print("FAIL " + text)
    few = len(seeded) < args.least
    if few:
        print("FAIL only %d causes were seeded, %d are expected" % (
            len(seeded), args.least))
    if args.write and not skipped: # percentages below 100 show what was wrong
        write_docs(seeded, facts)
    print("%d of %d seeded causes named, %d false" % (named, len(seeded),
                                                      false))
    return 1 if wrong or few else 0
