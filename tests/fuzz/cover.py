#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`make cover`: which lines of each parser its fuzzer's inputs reach.

cover.py BUILD [--write docs/testing.md] [NAME...]

Runs every replay program of the machine x86_64-cover over the committed
corpus, what `make fuzz` has kept in BUILD/fuzz/corpus, and mutations, and
counts lines of the files that the fuzzer's line " * covers:" names (patterns;
a folder stands for its sources; one with '!' in front is left out). Prints a row for docs/testing.md each; with
--write they replace those between its markers.
"""
import glob
import gzip
import json
import os
import re
import subprocess
import sys

MACHINE = "x86_64-cover"
SECONDS, MUTATIONS = 15, 3000
BEGIN, END = "<!-- cover: begin -->", "<!-- cover: end -->"


def named(source, word):
    with open(source) as f:
        return [w for line in re.findall(r"^ \* %s: (.*)$" % word, f.read(),
                                         re.M) for w in line.split()]


def files_of(source):
    words = [w + "*.c" if w[-1] == "/" else w
             for w in named(source, "covers")]
    out = {f for w in words if w[0] != "!" for f in glob.glob(w)}
    for w in words:
        if w[0] == "!":
            out -= set(glob.glob(w[1:]))
    return sorted(out)


def lines_of(build, path):
    """(lines, lines that ran) of one source."""
    counts = os.path.join(build, MACHINE, path[:-2] + ".gcda")
    if not os.path.exists(counts):
        return 0, 0
    run = subprocess.run(["gcov", "--json-format", "--stdout", counts],
                         check=True, stdout=subprocess.PIPE)
    data = run.stdout
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    ran = {}
    for f in json.loads(data)["files"]:
        if f["file"] != path:
            continue
        for line in f["lines"]:
            n = line["line_number"]
            ran[n] = ran.get(n, False) or line["count"] > 0
    return len(ran), sum(ran.values())


def cover(build, source):
    name = os.path.basename(source)[5:-2]
    for old in glob.glob(os.path.join(build, MACHINE, "**", "*.gcda"),
                         recursive=True):
        os.remove(old)
    corpus = [f for f in ["tests/fuzz/corpus/" + name,
                          os.path.join(build, "fuzz/corpus", name)]
              if os.path.isdir(f)]
    corpus += [f for w in named(source, "corpus") for f in glob.glob(w)]
    program = os.path.join(build, MACHINE, "tests/fuzz/replay_" + name)
    subprocess.run([program, "--seconds", str(SECONDS), "--mutations",
                    str(MUTATIONS)] + corpus, check=True, timeout=600,
                   stdout=subprocess.DEVNULL)
    lines = ran = 0
    for path in files_of(source):
        n, k = lines_of(build, path)
        lines, ran = lines + n, ran + k
    if lines == 0:
        sys.exit("cover.py: fuzz_%s covers nothing that it names" % name)
    what = " ".join("`%s`" % w if w[0] != "!" else "without `%s`" % w[1:]
                    for w in named(source, "covers"))
    return "| %s | %s | %d | %.1f %% |" % (name, what, lines,
                                           100.0 * ran / lines)


def main(argv):
    build, names, write = argv[1], argv[2:], None
    if names[:1] == ["--write"]:
        write, names = names[1], names[2:]
    rows = []
    for source in sorted(glob.glob("tests/fuzz/fuzz_*.c")):
        if not names or os.path.basename(source)[5:-2] in names:
            rows.append(cover(build, source))
            print(rows[-1], flush=True)
    if write:
        with open(write) as f:
            text = f.read()
        a = text.index(BEGIN) + len(BEGIN)
        b = text.index(END)
        head = "\n| fuzzer | files | lines | reached |\n|---|---|---|---|\n"
        with open(write, "w") as f:
            f.write(text[:a] + head + "\n".join(rows) + "\n" + text[b:])


main(sys.argv)
