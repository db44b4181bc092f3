# SPDX-License-Identifier: Apache-2.0
"""Hostile folders of dumps; needs only Python's own library.

bad_dumps.py OUT N      writes folder number N of the list below and prints
                        what is wrong with it; exit 3: there are no more
"""

import os
import random
import sys

BPU = "layer-0-bpu-net_subgraph_0-output-0-pw.y_quantized"
INFO = "output[0]:\nname: pw.y_quantized\nvalid shape: (1,6,6,6)\n" \
       "tensor type: HB_DNN_TENSOR_TYPE_S16\nquanti type: NONE\n"
HEAD = "input[0]:\nname: x\nvalid shape: (1)\ntensor type: S8\n"


def info(rest):
    return {BPU + ".bin": bytes(432), "model_info.txt": INFO + rest}


CASES = [
    ("an empty name", {"layer-0-bpu-n-output-0-.bin": bytes(432)}),
    ("numbers beyond all bounds",
     {"layer-99999999999-bpu-n-output-4294967296-x.bin": b"1",
      "model_infer_output_99999999999999999999_x.bin": b"2"}),
    ("names of format directives", {"layer-0-%s%n-output-0-%n%s.bin": b"12"}),
    ("names of control bytes",
     {"layer-0-bpu-\x1b[31m-output-0-\x07\n\x7f.bin": b"12"}),
    ("names that are no text",
     {b"layer-0-bpu-n-output-0-\xff\xfe\x80.bin".decode(
         "utf-8", "surrogateescape"): b"12"}),
    ("the longest name", {"a" * 251 + ".bin": b"12"}),
    ("dots only", {"layer-0-bpu-n-output-0-....bin": bytes(432)}),
    ("dots in front", {"layer-0-bpu-n-output-0-...y.bin": bytes(432)}),
    ("an empty .bin", {BPU + ".bin": b""}),
    ("one byte", {BPU + ".bin": b"x"}),
    ("an odd number of bytes for int16", {BPU + ".bin": bytes(433)}),
    ("a text of nothing", {BPU + ".bin": bytes(432), BPU + ".txt": b""}),
    ("a text of NULs", {BPU + ".bin": bytes(432), BPU + ".txt": bytes(99)}),
    ("a text of one long word",
     {BPU + ".bin": bytes(432), BPU + ".txt": b"9" * 100000}),
    ("a text of infinities",
     {BPU + ".bin": bytes(432), BPU + ".txt": b"inf nan " * 108}),
    ("a text alone, beyond int64", {BPU + ".txt": b"1e300 " * 216}),
    ("a text alone, short", {BPU + ".txt": b"1 2 3"}),
    ("a text of remarks", {BPU + ".txt": b"# 1\n" * 1000}),
    ("all bytes alike", {BPU + ".bin": b"\x80" * 576}),
    ("an npy that is none", {"pw.y_quantized.npy": b"\x93NUMPY\x01"}),
    ("an npy of a number", {"0.npy": b"not numpy"}),
    ("a folder named like a file", {BPU + ".bin": None}),
    ("planes of no image",
     {"layer-0-bpu-n-input-0-x_y.bin": bytes(7),
      "layer-0-bpu-n-input-0-x_uv.bin": bytes(5)}),
    ("planes of nothing",
     {"layer-0-bpu-n-input-0-x_y.bin": b"",
      "layer-0-bpu-n-input-0-x_uv.bin": b""}),
    ("strides of 0", info("stride: (0,0,0,0)\n")),
    ("strides below 0", info("stride: (-1,-1,-1,-1)\n")),
    ("strides that leave the file", info("stride: (432,9999999,12,2)\n")),
    ("strides beyond size_t",
     info("stride: (1099511627776,1099511627776,1099511627776,2)\n")),
    ("another number of strides", info("stride: (2,2)\n")),
    ("eleven dimensions", info("stride: (" + "1," * 11 + ")\n")),
    ("a dimension of 2^62",
     {BPU + ".bin": bytes(432),
      "model_info.txt": INFO.replace("(1,6,6,6)", "(1,6,6,%d)" % 2 ** 62)}),
    ("another type of the same name",
     {BPU + ".bin": bytes(432), "model_info.txt": INFO.replace("S16", "F64")}),
    ("a type of no name",
     {BPU + ".bin": bytes(432), "model_info.txt": INFO.replace("S16", "")}),
    ("a scale that is none", info("scale data: (,,,)\n")),
    ("a very long line", info("scale data: " + "1," * 100000 + "\n")),
    ("5000 inputs", {"model_info.txt": HEAD * 5000}),
    ("model_info alone", {"model_info.txt": INFO}),
    ("3000 files", {"layer-%d-bpu-n-output-0-x%d.bin" % (i, i): b"1"
                    for i in range(3000)}),
]
RANDOM = 12


def content(n):
    if n < len(CASES):
        return CASES[n]
    r = random.Random(n)
    names = [BPU, "model_infer_output_0", "tail.y", "0", "x_y", "x_uv"]
    return ("random bytes %d" % n,
            {r.choice(names) + r.choice([".bin", ".txt", ".npy"]):
             r.randbytes(r.choice([0, 1, 432, 576, 864, 4096]))
             for _ in range(6)})


def main(out, number):
    n = int(number)
    if n >= len(CASES) + RANDOM:
        return 3
    what, files = content(n)
    os.makedirs(out)
    for name, data in files.items():
        path = os.path.join(os.fsencode(out),
                            name.encode("utf-8", "surrogateescape"))
        if data is None:
            os.mkdir(path)
            continue
        with open(path, "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
    print(what)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
