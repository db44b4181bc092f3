# SPDX-License-Identifier: Apache-2.0
"""Makes an agent whose vector kernels are wrong; Python's own library.

break_kernels.py sdot|illegal|floor|trunc AGENT OUT
    of a little-endian aarch64 program: every SDOT does nothing, or is an
    instruction that no CPU has; or conversions of vectors of floats round
    down, or towards zero, instead of to the nearest. Prints how many
    instructions there were.
"""

import struct
import sys

NOP = 0xd503201f
# Mask and value of what is replaced, then what of it stays and the rest.
SDOT = [(0xbfe0fc00, 0x0e809400, 0, NOP),  # vector
        (0xbfc0f400, 0x0f80e000, 0, NOP)]  # by element
KINDS = {
    "sdot": SDOT,
    "illegal": [(mask, value, keep, 0) for mask, value, keep, _ in SDOT],
    "floor": [(0xfffffc00, 0x4e21a800, 0x3ff, 0x4e21b800)],  # FCVTNS, FCVTMS
    "trunc": [(0xfffffc00, 0x4e21a800, 0x3ff, 0x4ea1b800)],  # FCVTNS, FCVTZS
}


def main():
    kind, path, out = sys.argv[1:]
    data = bytearray(open(path, "rb").read())
    if data[:6] != b"\x7fELF\x02\x01" or data[18:20] != b"\xb7\x00":
        sys.exit("no aarch64 program: " + path)
    table, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    changed = 0
    for i in range(count):
        loaded, flags, start, _, _, length = struct.unpack_from(
            "<IIQQQQ", data, table + i * size)
        if loaded != 1 or not flags & 1:
            continue  # not loaded, or no code
        for at in range(start, start + length - 3, 4):
            word, = struct.unpack_from("<I", data, at)
            for mask, value, keep, new in KINDS[kind]:
                if word & mask == value:
                    struct.pack_into("<I", data, at, word & keep | new)
                    changed += 1
    with open(out, "wb") as f:
        f.write(data)
    print(changed)


main()
