# SPDX-License-Identifier: Apache-2.0
"""Stands between assay and an agent, and lets one side fall silent.

stall.py LISTEN TARGET agent|client MESSAGE [half|trickle]

Unix sockets. Frames go both ways until that side sends MESSAGE (a name of
proto/messages.def): it is kept, or half of it is handed on, or a byte of it
now and then, and nothing of that side comes behind it. Prints "ready" and
"stalled"; ends when a side hangs up. Python's own library.
"""

import os
import re
import select
import socket
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def number_of(name):
    with open(os.path.join(HERE, "../../proto/messages.def")) as f:
        return int(re.search(r"\(%s, (\d+)," % name, f.read()).group(1))


def message(frame):
    """The number of the message: the first key of its header."""
    key = shift = 0
    for byte in frame[32:]:
        key |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return key >> 3


class Side:
    def __init__(self, name, source, sink):
        self.name, self.source, self.sink = name, source, sink
        self.data, self.slow = b"", None

    def frames(self):
        while len(self.data) >= 32:
            header, payload = struct.unpack_from("<II", self.data, 12)
            size = 32 + header + payload
            if len(self.data) < size:
                return
            yield self.data[:size]
            self.data = self.data[size:]

    def take(self, number, how):
        """False: this side has hung up."""
        piece = self.source.recv(1 << 16)
        if not piece:
            return False
        if self.slow is not None:
            return True
        self.data += piece
        for frame in self.frames():
            if number is not None and message(frame) == number:
                print("stalled", flush=True)
                self.slow = frame if how == "trickle" else b""
                if how == "half":
                    self.sink.sendall(frame[:len(frame) // 2])
                return True
            self.sink.sendall(frame)
        return True


def main():
    listen, target, who, name = sys.argv[1:5]
    how = (sys.argv[5:] or ["none"])[0]
    server = socket.socket(socket.AF_UNIX)
    server.bind(listen)
    server.listen(1)
    print("ready", flush=True)
    client, _ = server.accept()
    agent = socket.socket(socket.AF_UNIX)
    agent.connect(target)
    sides = [Side("client", client, agent), Side("agent", agent, client)]
    while True:
        ready, _, _ = select.select([s.source for s in sides], [], [], 0.2)
        for s in sides:
            if s.slow and not ready:
                s.sink.sendall(s.slow[:1])
                s.slow = s.slow[1:]
            if s.source in ready and not s.take(
                    number_of(name) if s.name == who else None, how):
                return


try:
    main()
except (BrokenPipeError, ConnectionResetError):
    pass
