# SPDX-License-Identifier: Apache-2.0
"""Stands between assay and an agent and notes every run; Python's own library.

wiretap.py [--runs N] LOG COMMAND...     e.g. wiretap.py log assayd --stdio

The wire breaks before run N + 1. LOG gets one line of JSON a run that the client starts: isolated, layers (its
filter; null: all), cpumask, sample, and the tensors that were sent for it as
[index, bytes] pairs.
"""
import json
import struct
import subprocess
import sys
import threading

RUN_TENSOR, RUN_START = 40, 41  # field numbers of Envelope
ISOLATED = 2


def fields(data):
    """Yields (number, value) of a protobuf message: ints and bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 2:
            size = varint()
            yield key >> 3, data[at:at + size]
            at += size
        else:
            size = 8 if key & 7 == 1 else 4
            yield key >> 3, data[at:at + size]
            at += size


class Runs:
    def __init__(self, path, most):
        self.log = open(path, "a")
        self.sent = {}
        self.left = most

    def frame(self, header, payload):
        for number, body in fields(header):
            if number == RUN_TENSOR:
                m = dict(fields(body))
                tensor = m.get(1, 0)
                self.sent[tensor] = self.sent.get(tensor, 0) + payload
            elif number == RUN_START and self.left == 0:
                return False
            elif number == RUN_START:
                self.left -= 1
                m = dict(fields(body))
                bits = m.get(3, b"")
                layers = [8 * k + b for k, byte in enumerate(bits)
                          for b in range(8) if byte >> b & 1]
                json.dump({"isolated": m.get(2, 0) == ISOLATED,
                           "layers": layers if bits else None,
                           "cpumask": m.get(4, 0), "sample": m.get(5, 0),
                           "tensors": sorted(self.sent.items())}, self.log)
                self.log.write("\n")
                self.log.flush()
                self.sent = {}
        return True


def pump(source, sink):
    while True:
        data = source.read1(1 << 16)
        if not data:
            break
        sink.write(data)
        sink.flush()
    sink.close()


def main():
    args = sys.argv[1:]
    most = -1
    if args[0] == "--runs":
        most = int(args[1])
        del args[:2]
    runs = Runs(args[0], most)
    agent = subprocess.Popen(args[1:], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
    back = threading.Thread(target=pump, daemon=True,
                            args=(agent.stdout, sys.stdout.buffer))
    back.start()
    source = sys.stdin.buffer
    while True:
        head = source.read(32)
        if len(head) < 32:
            break
        header, payload = struct.unpack_from("<II", head, 12)
        rest = source.read(header + payload)
        if not runs.frame(rest[:header], payload):
            agent.kill()
            break
        agent.stdin.write(head + rest)
        agent.stdin.flush()
    agent.stdin.close()
    sys.exit(agent.wait())


main()
