#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make ranking, make check-sweep: is each root cause of the ranking (a) to (i)
named when it is there, and none when it is not?

Every fault (ranking_list.py) is put into files of a real model, the command
that a user would run is run, and its JSON report read. The causes that it
proves belong to letters (ranking_table.py); a seed is *right* when they are all
of the letter that was seeded. Its clean twin is the same command on the same
files without the fault: it must exit 0 and name nothing. A gap is a fault that
is known to have no cause yet: it is run, told, and must not have a wrong one.

  ranking.py --build DIR [--jobs N] [--letters abc] [--models NAME,...]
             [--quick] [--least N] [--write]

The last line is `N of N root causes right, M of M clean`; the exit code is 1
when that is not so or fewer than --least were seeded. --quick takes few seeds
of the models that the repository has, and ends with the line of a check.
--write puts the tables into docs/causes.md. Models of $ASSAY_SHARED (default
../shared) are used where they are there; what is not is told and counted.
"""
import argparse
import json
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import ranking_case  # noqa: E402
import ranking_list  # noqa: E402
import ranking_table as table  # noqa: E402
import sweep  # noqa: E402
from report import Failure  # noqa: E402

CODES = {"version": 2}


class Result:
    """One seed: what was named with the fault, and what without it."""

    def __init__(self, seed):
        self.seed, self.named, self.clean = seed, None, None
        self.wrong = []

    def judge(self, code, clean_code):
        want = CODES.get(self.named.verdict, 1)
        if self.seed.gap and self.named.letters != {self.seed.letter}:
            if self.named.letters or code != 1:
                self.wrong.append("a gap has no cause: %s" %
                                  ", ".join(self.named.ids))
        elif self.seed.gap:
            self.wrong.append("is named now, and no gap any more")
        elif self.named.letters != {self.seed.letter}:
            self.wrong.append("%s: %s (%s)" % (
                self.named.verdict, ", ".join(self.named.ids) or "no cause",
                self.named.sentence[:100]))
        elif code != want:
            self.wrong.append("exit code %d, expected %d" % (code, want))
        if self.clean.verdict != "match" or self.clean.ids or clean_code:
            self.wrong.append("clean twin: exit %d, %s, %s" % (
                clean_code, self.clean.verdict, ", ".join(self.clean.ids)
                or self.clean.sentence[:100]))


def ask(tool, command, work):
    """(what was named, exit code)"""
    path = os.path.join(work, "report.json")
    text = tool.run(*command, "-q", "--json", path, ok=(0, 1, 2))
    if not os.path.exists(path):
        raise Failure("no report: %s" % " ".join(command))
    with open(path, encoding="utf-8") as f:
        found = json.load(f)
    return table.Named(found, text), found["exit_code"]


def try_seed(tool, seed):
    """What a report or a file lacks is a failure of this seed alone."""
    r = Result(seed)
    try:
        run_twice(tool, r)
    except (KeyError, IndexError, OSError, ValueError) as e:
        raise Failure("%s: %s" % (type(e).__name__, e)) from e
    return r


def run_twice(tool, r):
    seed = r.seed
    with tempfile.TemporaryDirectory() as work:
        os.makedirs(work + "/seeded")
        os.makedirs(work + "/clean")
        r.named, code = ask(tool, seed.command(tool, work + "/seeded", True),
                            work + "/seeded")
        r.clean, clean_code = ask(
            tool, seed.command(tool, work + "/clean", False), work + "/clean")
    r.judge(code, clean_code)


def quick(seeds):
    """The first of each letter and model."""
    seen, out = set(), []
    for s in seeds:
        if (s.letter, s.case.name) not in seen and \
                not s.case.name.startswith("x5/"):
            seen.add((s.letter, s.case.name))
            out.append(s)
    return out


def choose(args):
    """(seeds, names of models that are not there)"""
    shared = os.environ.get("ASSAY_SHARED", os.path.join(ROOT, "..", "shared"))
    cases = ranking_case.cases(ROOT, shared)
    seeds, absent = [], {}
    for s in ranking_list.seeds():
        s.case = cases[s.case]
        if args.letters and s.letter not in args.letters:
            continue
        if args.models and s.case.name not in args.models:
            continue
        if s.case.is_there():
            seeds.append(s)
        else:
            absent[s.case.name] = absent.get(s.case.name, 0) + 1
    return quick(seeds) if args.quick else seeds, absent


def report(args, found, absent, seconds):
    gaps = [r for _, r in found if isinstance(r, Result) and r.seed.gap]
    results = [r for _, r in found if isinstance(r, Result) and
               not r.seed.gap]
    wrong = ["%s: %s" % (what, text) for what, r in found
             for text in (r.wrong if isinstance(r, Result) else [str(r)])]
    count = len(found) - len(gaps)
    right = sum(r.named.letters == {r.seed.letter} for r in results)
    clean = sum(not any("clean twin" in w for w in r.wrong) for r in results)
    if args.quick:
        wrong += table.docs_errors()
    for text in wrong:
        print("FAIL " + text)
    for name, n in sorted(absent.items()):
        print("SKIP %s: its files are not there (%d seeds)" % (name, n))
    for r in gaps:
        print("GAP %s %s, %s: %s" % (r.seed.letter, r.seed.case.name,
                                     r.seed.variant, r.seed.gap))
    facts = "%d faults, seeded into %d models: %d right; %d of %d clean " \
        "twins had no cause." % (count, len({r.seed.case.name for r in
                                             results}), right, clean, count)
    print("%s %.0f s" % (facts, seconds))
    if args.quick:
        print("%d passed, %d failed, %d skipped" % (
            2 * len(found) - min(len(wrong), 2 * len(found)), len(wrong),
            len(absent)))
        return 1 if wrong else 0
    for r in results + gaps:
        r.seed.case = r.seed.case.name
    print(table.confusion(results))
    few = count < args.least
    if few:
        print("FAIL only %d faults were seeded, %d are expected" % (
            count, args.least))
    if args.write and not absent:
        table.write_docs(results, gaps, facts)
    print("%d of %d root causes right, %d of %d clean" % (
        right, count, clean, count))
    return 1 if wrong or few else 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--letters", default="")
    p.add_argument("--models", type=lambda v: v.split(","), default=[])
    p.add_argument("--quick", action="store_true")
    p.add_argument("--least", type=int, default=1)
    p.add_argument("--write", action="store_true")
    args = p.parse_args()
    args.target = "local"
    begun = time.time()
    tool = sweep.Tool(args)
    seeds, absent = choose(args)
    found = sweep.in_parallel(args.jobs, [
        ("%s %s, %s" % (s.letter, s.case.name, s.variant), try_seed, (tool, s))
        for s in seeds])
    return report(args, found, absent, time.time() - begun)


if __name__ == "__main__":
    sys.exit(main())
