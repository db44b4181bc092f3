# SPDX-License-Identifier: Apache-2.0
"""Sends streams that are no protocol to an agent on a Unix socket. Each must
be ended by the agent within 10 s. Prints one line a stream.

bad_frames.py SOCKET CORPUS       needs only Python's own library
"""

import os
import random
import socket
import struct
import sys

SOCKET, CORPUS = sys.argv[1:3]


# Whole frames, hashes and all: HELLO as frame 0, the others as frame 1.
HELLO = bytes.fromhex(
    "4153593100000000000000000b0000000000000000000000945b11c37b01"
    "9d550a09080110011a03626164")
LAYER_PROBE = bytes.fromhex(
    "4153593100000000010000000b0000000000000000000000c82919fb7164"
    "4c56ba030818015a0418012001")
RUN_START = bytes.fromhex(  # that asks for probes
    "41535931000000000100000012000000000000000000000075b29fc93578"
    "8a13ca020f0801100268ffffffffffffffffff01")


def prefix(magic=b"ASY1", flags=0, sequence=0, header=4, payload=0, zero=0,
           digest=0):
    return struct.pack("<4sIIIIIQ", magic, flags, sequence, header, payload,
                       zero, digest)


def streams():
    rng = random.Random(4)
    yield "text", b"GET / HTTP/1.1\r\n\r\n" + b" " * 64
    yield "zeros", bytes(4096)
    yield "ones", b"\xff" * 4096
    yield "wrong magic", prefix(magic=b"ASY9") + b"abcd"
    yield "agent's direction", prefix(flags=1) + b"abcd"
    yield "unknown flags", prefix(flags=0xfffffff0) + b"abcd"
    yield "wrong sequence", prefix(sequence=7) + b"abcd"
    yield "no header", prefix(header=0)
    yield "header over the cap", prefix(header=(1 << 20) + 1)
    yield "header 4 GiB", prefix(header=0xffffffff)
    yield "payload over the cap", prefix(payload=(1 << 20) + 1)
    yield "payload 4 GiB", prefix(payload=0xffffffff)
    yield "reserved not 0", prefix(zero=1) + b"abcd"
    yield "wrong hash", prefix(digest=1) + b"abcd"
    yield "cut prefix", prefix()[:17]
    yield "cut header", prefix(header=100) + b"abc"
    yield "a probe from a client", HELLO + LAYER_PROBE
    yield "probes without a lease", HELLO + RUN_START
    for k in range(8):
        yield "random %d" % k, rng.randbytes(1 + 700 * k)
    for k in range(4):
        yield "random behind a magic %d" % k, b"ASY1" + rng.randbytes(600)
    folder = os.path.join(CORPUS, "frame")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            # The corpus has no good hashes: the first frame is refused.
            yield "corpus " + name, f.read()[1:]


def main():
    bad = 0
    for name, data in streams():
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(10)
        s.connect(SOCKET)
        got = 0
        try:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            while True:
                piece = s.recv(65536)
                if not piece:
                    break
                got += len(piece)
            print("ended   %s (%d bytes came back)" % (name, got))
        except (ConnectionResetError, BrokenPipeError):
            print("ended   %s (reset)" % name)
        except socket.timeout:
            print("PENDING %s: not ended after 10 s" % name)
            bad += 1
        s.close()
    sys.exit(1 if bad else 0)


main()
