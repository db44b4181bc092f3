# SPDX-License-Identifier: Apache-2.0
"""The letters of the ranking: which causes belong to which, what a report
names, and the tables of docs/causes.md."""
import collections
import os
import re

import report as sweep_report

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                    "docs", "causes.md")

LETTERS = {
    "a": ("input domain: NV12, range, channel order, -128",
          "U1 Y1 Y2 Y3 Y4 Y5 Y6 Y7 Y10 Y11 Y12 Y13 Y15 Y16"),
    "b": ("stride and padding", "L2 L3 L4 P1 P2 P3 P4 P5 O11 Y8 H14 H16 H17"),
    "c": ("wrong or doubled scale, removed Quantize or Dequantize",
          "Q1 Q2 Q3 Q6 Q7 Y9 H2 H3 H4 Z4"),
    "d": ("layout, order of outputs", "L1 L5 W3 U2 Y14 H13"),
    "e": ("march or version", "D4"),
    "f": ("rounding of the requantization, shift off by one",
          "R1 R2 R3 R4 R5 R6 R7 R8 R9 R10 R11 R12 R13 R14 R15 R16 R17 R18 "
          "R19 R20 R21 R22 R23 Q4 Q5"),
    "g": ("LUT segment", "O3 O8 O9"),
    "h": ("cache not flushed", "D2"),
    "i": ("stale artefact", "D3"),
}
VERDICTS = {"version": "e", "stale": "i"}
LETTER_OF = {i: k for k, (_, ids) in LETTERS.items() for i in ids.split()}


def letters_of(ids):
    """Of texts like "P5=all:128" or "Y1+L1"; "?": of no letter."""
    return {LETTER_OF.get(re.match(r"\w+", one).group(0), "?")
            for text in ids for one in re.split(r"\+| and ", text)}


# ---- what a report names ----------------------------------------------------

def of_run(r):
    """Ids that are proved of the first culprit."""
    received = [c["id"] for i in r.get("inputs_received", [])
                for c in i["causes"]]
    if r["verdict"] == "input":
        return received
    first = r["culprits"][0] if r["culprits"] else None
    proved = [h["id"] for h in r["hypotheses"] if first and h["proved"] and
              not h["struck"] and h["column"] == first["column"] and
              h["name"] == first["name"]]
    # What no edit says (D2) stands with the culprit alone.
    own = first["hypothesis"] if first else None
    return proved or ([own] if own else [])


def of_output(r):
    return ["+".join(s["id"] for s in e["steps"]) for o in r["outputs"]
            for e in o["explanations"] if e["proved"] and e["steps"]]


def of_image(r):
    return [h["id"] for i in r["inputs"] for h in i["hypotheses"]
            if h["proved"] and h["changes"]]


READERS = {"assay-report/1": of_run, "assay-output/1": of_output,
           "assay-image/1": of_image}


class Named:
    """What a command said: ids, letters, and the sentence for people."""

    def __init__(self, report, text):
        verdict = report.get("verdict", "")
        self.ids = READERS[report["schema"]](report)
        self.letters = letters_of(self.ids)
        if verdict in VERDICTS:
            self.letters = {VERDICTS[verdict]}
        self.verdict = verdict
        self.sentence = sentence(text, verdict in VERDICTS)


def sentence(text, is_verdict):
    """The first line of the cause: where there is none, or where the verdict
    is the cause, of the verdict."""
    text = re.sub(r"\n {3,10}(?=\S)(?!(cause|fix|or|proof|where|try) )", " ",
                  text)
    lines = [l.strip() for l in text.splitlines()]
    cause = [l for l in lines if l.startswith("cause ")]
    head = [l for l in lines if re.match(
        r"(input|output|layout|version|stale|compile|runtime|unexplained|"
        r"arithmetic|match)(:| )", l)]
    found = head if is_verdict else cause or head
    found = re.sub(r"^cause +", "", found[0]) if found else ""
    found = re.sub(r"\b20[0-9-]+T[0-9:]+Z", "TIME", found)
    return re.sub(r"  +", "  ", re.sub(r"\bproved .*", "proved", found))


# ---- the tables -------------------------------------------------------------

def column_of(result):
    if not result.named.letters:
        return "none"
    return "several" if len(result.named.letters) > 1 else \
        next(iter(result.named.letters))


def confusion(results):
    """Markdown: rows seeded, columns named."""
    columns = list(LETTERS) + ["none", "several"]
    lines = ["| seeded | | models | n | " + " | ".join(columns) + " |",
             "|---|---|--:|--:|" + "--:|" * len(columns)]
    for letter, (what, _) in LETTERS.items():
        own = [r for r in results if r.seed.letter == letter]
        count = collections.Counter(column_of(r) for r in own)
        cells = ["%d %%" % (100 * count[c] // len(own)) if c == letter and own
                 else str(count[c] or "·") for c in columns]
        lines.append("| %s | %s | %d | %d | %s |" % (
            letter, what, len({r.seed.case for r in own}), len(own),
            " | ".join(cells)))
    return "\n".join(lines)


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def sentences(results):
    """Markdown: what the user reads, of one model for each variant."""
    lines = ["| | fault | models | the sentence, of the first of them |",
             "|---|---|---|---|"]
    by = {}
    for r in results:
        by.setdefault((r.seed.letter, r.seed.variant), []).append(r)
    for (letter, variant), own in sorted(by.items(), key=lambda k: k[0]):
        lines.append("| %s | %s | %s | %s |" % (
            letter, cell(variant), ", ".join(
                dict.fromkeys(r.seed.case for r in own)),
            cell(own[0].named.sentence)))
    return "\n".join(lines)


def gap_list(gaps):
    return "\n".join("* %s, %s (%s): %s. The report says: %s" % (
        g.seed.letter, g.seed.variant, g.seed.case, g.seed.gap,
        cell(g.named.sentence)) for g in gaps) or "None."


def ids():
    """Markdown: which causes belong to which letter."""
    lines = ["| | cause | ids |", "|---|---|---|"]
    for letter, (what, own) in LETTERS.items():
        verdict = [v for v, l in VERDICTS.items() if l == letter]
        lines.append("| %s | %s | %s |" % (letter, what, ", ".join(
            ["verdict `%s`" % v for v in verdict] + own.split())))
    return "\n".join(lines)


def write_docs(results, gaps, facts):
    with open(DOCS, encoding="utf-8") as f:
        text = f.read()
    for name, new in (("ids", ids()), ("confusion", facts + "\n\n" +
                                       confusion(results)),
                      ("sentences", sentences(results)),
                      ("gaps", gap_list(gaps))):
        text = sweep_report.put(text, name, new, "docs/causes.md")
    with open(DOCS, "w", encoding="utf-8") as f:
        f.write(text)


def docs_errors():
    """Do the docs have the table of ids that this file has?"""
    with open(DOCS, encoding="utf-8") as f:
        text = f.read()
    return [] if ids() in text else [
        "docs/causes.md: the table of ids is another: make ranking writes it"]
