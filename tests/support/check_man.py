# SPDX-License-Identifier: Apache-2.0
"""Compares the man page with the texts of --help.

check_man.py MAN-PAGE FOLDER     FOLDER has help and help.COMMAND
"""

import re, sys
man = open(sys.argv[1], encoding="utf-8").read().replace("\\-", "-")
sections = dict(re.findall(r'(?ms)^\.SH "?([A-Z -]+)"?\n(.*?)(?=^\.SH|\Z)', man))
n = 0


def options_of(command):
    text = open("%s/help.%s" % (sys.argv[2], command), encoding="utf-8").read()
    text = text.split("Options:\n")[1].split("\nExit status")[0]
    return re.findall(r"(?m)^  (?:-\w, |    )--([\w-]+)", text)


def told_of(command):
    return re.findall(r"(?m)^\.B (?:-\w, )?--([\w-]+)",
                      sections["ASSAY " + command.upper()])


for command in ("run", "import", "show", "info", "mutate", "replay",
                "impact", "lint", "fit-arith", "image", "output", "triage",
                "keygen", "pair", "self-test"):
    want, have = options_of(command), told_of(command)
    if want != have:
        sys.exit("%s: help has %s, the man page %s" % (command, want, have))
    n += len(want)
# What these have beside the options of run.
for command in ("pinpoint", "explain"):
    want = set(options_of(command)) - set(options_of("run"))
    have = set(told_of(command))
    if want != have:
        sys.exit("%s: help has %s beside run's, the man page %s" %
                 (command, sorted(want), sorted(have)))
    n += len(want)
codes = re.findall(r"(?m)^  (\d[\d, ]*?)  ",
                   open(sys.argv[2] + "/help").read().split("Exit status:")[1])
have = re.findall(r"(?m)^\.B (\d[\d, ]*)$", sections["EXIT STATUS"])
if codes != have or len(codes) < 8:
    sys.exit("exit statuses: help has %s, the man page %s" % (codes, have))
print(n, "options")
