# SPDX-License-Identifier: Apache-2.0
"""Makes an agent whose vector kernels are wrong; Python's own library.

break_dotprod.py AGENT OUT    every SDOT of a little-endian aarch64 program is
                              a NOP; prints how many there were
"""

import struct
import sys

NOP = 0xd503201f
# SDOT (vector) and SDOT (by element): mask, value
SDOT = ((0xbfe0fc00, 0x0e809400), (0xbfc0f400, 0x0f80e000))


def main():
    data = bytearray(open(sys.argv[1], "rb").read())
    if data[:6] != b"\x7fELF\x02\x01" or data[18:20] != b"\xb7\x00":
        sys.exit("no aarch64 program: " + sys.argv[1])
    table, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    changed = 0
    for i in range(count):
        kind, flags, start, _, _, length = struct.unpack_from(
            "<IIQQQQ", data, table + i * size)
        if kind != 1 or not flags & 1:
            continue  # not loaded, or no code
        for at in range(start, start + length - 3, 4):
            word, = struct.unpack_from("<I", data, at)
            if any(word & mask == value for mask, value in SDOT):
                struct.pack_into("<I", data, at, NOP)
                changed += 1
    with open(sys.argv[2], "wb") as f:
        f.write(data)
    print(changed)


main()
