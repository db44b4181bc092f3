#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiler lines of `make -n` on stdin to compile_commands.json on stdout."""

import json
import os
import re
import sys


def main():
    entries = []
    text = sys.stdin.read().replace("\\\n", " ")
    for line in text.split("\n"):
        m = re.search(r"\s-c (\S+\.c) -o (\S+\.o)\s*$", line)
        if m:
            entries.append({"directory": os.getcwd(), "file": m.group(1),
                            "output": m.group(2),
                            "command": " ".join(line.split())})
    if not entries:
        sys.exit("compile-commands: no compiler line on stdin")
    json.dump(entries, sys.stdout, indent=1)
    print()


main()
