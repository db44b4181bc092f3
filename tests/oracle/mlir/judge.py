# SPDX-License-Identifier: Apache-2.0
"""The parser of MLIR text against mlir-opt, which stands for MLIR itself.

    judge.py PROGRAM [--generic N] [--modules N] [--rounds N] [--mutants N]
             [--seed N] [--keep FOLDER]

PROGRAM is tests/support/mlir_print. A file is the same when mlir-opt prints
our print of it exactly as it prints the file itself, locations included where
all of them are written out. Spoiled files have to be refused by both or taken
by both; what only the verifier refuses is not counted. Prints a line for each
group, "ok ..." or "FAIL ...", and a line that begins with "mlir"."""
import argparse
import collections
import os
import random
import re
import subprocess
import sys

import dialects
import lexer
import modules
import mutants
import opt
import texts

# Not syntax: the verifier's, which runs after a text has been read whole.
VERIFIER = re.compile(
    r"^'[^']*' op |"
    r"operand #\d+ does not dominate this use|"
    r"redefinition of symbol named|"
    r"type of return operand \d+ |"
    r"branching to block of a different region|"
    r"empty block: expect at least a terminator|"
    r"entry block of region may not have predecessors|"
    r"block with no terminator|"
    r"operation with block successors must terminate its parent block|"
    r"op(eration)? with successors must terminate|"
    r"strides must not be zero|unsupported memory space Attribute|"
    r"expected the number of strides to match the rank|"
    r"invalid (tensor|memref) element type|"
    # What mlir-opt knows of attributes and resources by their names.
    r"attribute can only be attached|^dialect '[^']*' is unknown")

# Where we differ knowingly; docs/testing.md has the reasons.
EXCEPTIONS = [
    ("we refuse", "a byte 0 in a"),
    ("we refuse", "stands twice"),
    ("we take", "expected location, but found '#"),
]


class Ours:
    """What our parser said: `out` is None where it refused."""

    def __init__(self, out, message):
        self.out, self.message = out, message


def print_all(program, all_texts, timeout=120):
    """Our print of each text."""
    data = f"{opt.MARK}\n".join(t if t.endswith("\n") else t + "\n"
                                for t in all_texts)
    r = subprocess.run([program], input=data.encode(errors="surrogateescape"),
                       capture_output=True, timeout=timeout, check=False)
    outs = r.stdout.decode(errors="surrogateescape").split(opt.MARK + "\n")
    if r.returncode not in (0, 1) or len(outs) != len(all_texts):
        sys.exit(f"'{program}' died, exit {r.returncode}: "
                 f"{r.stderr.decode(errors='replace')[-2000:]}")
    refused = {}
    for line in r.stderr.decode(errors="replace").splitlines():
        m = re.match(r"(\d+): (.*)$", line)
        if m:
            refused[int(m[1])] = m[2]
    return [Ours(None, refused[k]) if k in refused else Ours(o, "")
            for k, o in enumerate(outs)]


class Judge:
    def __init__(self, program, keep):
        self.program, self.keep = program, keep
        self.failed = 0
        self.files = self.spoiled = 0

    def kept(self, name, text, out="", ours=""):
        if self.keep:
            os.makedirs(self.keep, exist_ok=True)
            path = os.path.join(self.keep, re.sub(r"[^\w.]", "_", name))
            for tail, t in (("mlir", text), ("judge", out), ("ours", ours)):
                if t:
                    with open(f"{path}.{tail}", "w", encoding="utf-8",
                              errors="surrogateescape") as f:
                        f.write(t)

    def report(self, group, n, bad, more=""):
        """bad: lines that say what disagrees."""
        print(f"{'FAIL' if bad else 'ok  '} mlir {group}: {n - len(bad)} of "
              f"{n} agree{more}")
        for line in bad[:12]:
            print("    " + line)
        self.failed += bool(bad)

    def compare(self, names, all_texts, located):
        """What is wrong with our print of texts that the judge takes: one
        line or None for each; the judge's answers."""
        args = opt.GENERIC + (opt.DEBUG if located else [])
        theirs = opt.run(all_texts, args)
        ours = print_all(self.program, [t.replace(opt.MARK, "// ----")
                                        for t in all_texts])
        both = [k for k, a in enumerate(theirs)
                if a.accepted and ours[k].out is not None]
        back = dict(zip(both, opt.run([ours[k].out for k in both], args)))
        lines = []
        for k, (a, o) in enumerate(zip(theirs, ours)):
            line = None
            if a.accepted and o.out is None:
                line = f"we refuse: {o.message}"
            elif not a.accepted and o.out is not None:
                line = f"we take, {a.line}:{a.column}: {a.message}"
            elif k in back and not back[k].accepted:
                line = f"our print is refused: {back[k].message}"
            elif k in back and (opt.comparable(back[k].out) !=
                                opt.comparable(a.out)):
                line = "our print is another: " + first_difference(
                    opt.comparable(a.out), opt.comparable(back[k].out))
            if line:
                self.kept(names[k], all_texts[k], a.out or "", o.out or "")
            lines.append(line)
        return lines, theirs

    def group(self, name, files):
        """files: (name, text, located); all of them are legal."""
        bad = []
        for located in (False, True):
            part = [f for f in files if f[2] == located]
            if not part:
                continue
            lines, theirs = self.compare([f[0] for f in part],
                                         [f[1] for f in part], located)
            for f, line, a in zip(part, lines, theirs):
                if not a.accepted:
                    line = f"the judge refuses a file of ours: {a.message}"
                if line:
                    bad.append(f"{f[0]}: {line}")
        self.files += len(files)
        self.report(name, len(files), bad, ", of these " + str(
            sum(f[2] for f in files)) + " with all locations")

    def sight(self, files, seed):
        """The comparison itself: our prints with one number, type or string
        changed, which it has to notice."""
        rng = random.Random(seed)
        changed, seen = [], 0
        for (name, text, _), o in zip(files, print_all(
                self.program, [f[1] for f in files])):
            m = mutants.Mutant(o.out or "", rng)
            spoiled = rng.choice([m.number, m.other_type, m.other_string])()
            if spoiled:
                changed.append((text, spoiled))
        theirs = opt.run([c[0] for c in changed], opt.GENERIC)
        back = opt.run([c[1] for c in changed], opt.GENERIC)
        for a, b in zip(theirs, back):
            seen += not b.accepted or b.out != a.out
        # A number may be one of a location, which is not printed here.
        bad = seen < len(changed) * 8 // 10 or len(changed) < len(files) // 2
        print(f"{'FAIL' if bad else 'ok  '} mlir judge: sees {seen} of "
              f"{len(changed)} changes of our prints")
        self.failed += bad

    def mutations(self, bases, n, seed):
        bad, counts, kinds = [], collections.Counter(), set()
        made = []
        k = 0
        while len(made) < n and k < 4 * n:
            name, text, _ = bases[(seed * 7919 + k) % len(bases)]
            kind, out = mutants.mutant(text, seed * 1000003 + k)
            if out is not None:
                made.append((f"{name}.{kind}.{k}", out))
                kinds.add(kind)
            k += 1
        lines, theirs = self.compare([m[0] for m in made],
                                     [m[1] for m in made], False)
        for (name, text), line, a in zip(made, lines, theirs):
            if not a.accepted and exempt(text, a):
                counts["not counted"] += 1
                continue
            counts["taken" if a.accepted else "refused"] += 1
            if line and any(line.startswith(how) and what in line
                            for how, what in EXCEPTIONS):
                counts["exceptions"] += 1
            elif line:
                bad.append(f"{name}: {line}")
        judged = counts["taken"] + counts["refused"]
        self.spoiled += judged
        self.report(f"spoiled ({len(kinds)} ways)", judged, bad,
                    f": {counts['refused']} refused, {counts['taken']} taken, "
                    f"{counts['exceptions']} known exceptions; "
                    f"{counts['not counted']} more are the verifier's or a "
                    "dialect's and not counted")


def first_difference(a, b):
    for x, y in zip(a.split("\n"), b.split("\n")):
        if x != y:
            at = next((i for i, (c, d) in enumerate(zip(x, y)) if c != d),
                      min(len(x), len(y)))
            at = max(0, at - 30)
            return f"expected '{x[at:at + 70]}', found '{y[at:at + 70]}'"
    return "one is longer"


def exempt(text, answer):
    """Refused by the verifier, by mlir-opt's death, or by a dialect that knows
    its own text: of that, a generic parser can know nothing. What is told of
    another place than the text, the location of an operation, is the
    verifier's, too; and so is what is told of an operation that mlir-opt knows,
    at its name."""
    if VERIFIER.search(answer.message) or answer.line == 0:
        return True
    place = place_of(text, answer.line, answer.column)
    m = re.match(r'"(\w+)\.', text[place:place + 80])
    if m and m[1] in lexer.KNOWN:
        return True
    return any(a < place < b and lexer.known(text[a:b])
               for a, b in lexer.dialect_spans(text))


def place_of(text, line, column):
    lines = text.split("\n")
    return sum(len(x) + 1 for x in lines[:line - 1]) + column - 1


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("--generic", type=int, default=300)
    p.add_argument("--modules", type=int, default=150)
    p.add_argument("--rounds", type=int, default=1)
    p.add_argument("--mutants", type=int, default=2600)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--keep")
    p.add_argument("--corpus", help="also writes files and mutants here")
    p.add_argument("--only-corpus", action="store_true",
                   help="where there is no mlir-opt")
    o = p.parse_args()
    judge = Judge(o.program, o.keep)
    first = (o.seed - 1) * 1000000
    generic = [(f"generic.{s}", *texts.text(s))
               for s in range(first, first + o.generic)]
    module = [(f"module.{s}", *modules.text(s))
              for s in range(first, first + o.modules)]
    if o.only_corpus:
        write_corpus(o.corpus, [f for f in generic + module
                                if len(f[1]) < 4000] * 2, o.seed)
        return 0
    judge.group("generic grammar", generic)
    judge.group("print(module)", module)
    judge.group("other blanks", [
        (f"{n}.shaken", mutants.shaken(t, k), False) for k, (n, t, _) in
        enumerate((generic + module)[::4])])
    own, taken, filled = dialects.texts(o.seed, o.rounds)
    judge.group(f"MLIR's own dialects ({taken} of {filled} templates)", own)
    if taken < filled * 9 // 10:
        print("FAIL mlir templates: too few are legal")
        judge.failed += 1
    judge.sight([f for f in generic + module if not f[2]], o.seed)
    small = [f for f in generic + module + own if len(f[1]) < 4000]
    judge.mutations(small, o.mutants, o.seed)
    if o.corpus:
        write_corpus(o.corpus, small, o.seed)
    print(f"mlir differential: {judge.files} files, {judge.spoiled} spoiled "
          f"ones, {judge.failed} groups disagree")
    return 1 if judge.failed else 0


def write_corpus(folder, bases, seed):
    os.makedirs(folder, exist_ok=True)
    for k, (_, text, _) in enumerate(bases[::2]):
        kind, out = mutants.mutant(text, seed * 31 + k)
        for name, t in ((f"{k:04}", text), (f"{k:04}-{kind}", out)):
            if t:
                with open(os.path.join(folder, name + ".mlir"), "w",
                          encoding="utf-8", errors="surrogateescape") as f:
                    f.write(t)


if __name__ == "__main__":
    sys.exit(main())
