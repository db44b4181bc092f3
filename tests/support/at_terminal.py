# SPDX-License-Identifier: Apache-2.0
"""Runs a command at a terminal of its own and answers its question.

at_terminal.py PROMPT ANSWER COMMAND...

When PROMPT has been printed ANSWER is typed and Return (ANSWER "^C": Ctrl-C,
"^D": end of input). What the terminal showed goes to stdout; the exit code is
the command's, or 124 after 20 s.
"""

import os
import pty
import select
import signal
import sys
import time


def main():
    prompt, answer, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    keys = {"^C": b"\x03", "^D": b"\x04"}.get(answer, answer.encode() + b"\n")
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    shown, typed, end = b"", False, time.monotonic() + 20
    while True:
        left = end - time.monotonic()
        if left <= 0:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            sys.exit(124)
        if not select.select([fd], [], [], left)[0]:
            continue
        try:
            data = os.read(fd, 65536)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        shown += data
        if not typed and prompt.encode() in shown:
            os.write(fd, keys)
            typed = True
    sys.stdout.write(shown.decode().replace("\r\n", "\n"))
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        sys.exit(128 + os.WTERMSIG(status))
    sys.exit(os.WEXITSTATUS(status))


main()
