#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the stand-in cases of the Nash family: text as nobody outside has, and
goldens of every intermediate by exact integers.

    make_nash.py OUT --net digits|mobile --numerics FILE [--form module|generic]
        [--constants list|hex|resource|npz] [--floats digits_float.onnx]
        [--inputs digits_inputs.npz]

The same arguments give the same bytes.
"""
import argparse
import hashlib
import json
import os
import zipfile

import numpy as np

import nets
from hbir import Writer
from rule import Numerics


def savez(path, arrays):
    """An npz whose bytes are those of its arrays only."""
    with zipfile.ZipFile(path, "w") as out:
        for name, v in arrays.items():
            info = zipfile.ZipInfo(name + ".npy", (1980, 1, 1, 0, 0, 0))
            with out.open(info, "w") as f:
                np.lib.format.write_array(f, np.ascontiguousarray(v))


def digits_source(args):
    import onnx
    from onnx import numpy_helper
    graph = onnx.load(args.floats).graph
    floats = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    with np.load(args.inputs) as f:
        images = np.moveaxis(f["input"][:args.samples], 1, 3)
        labels = f["labels"][:args.samples]
    return floats, images, labels


def write(net, out, writer):
    for folder in ("inputs", "golden"):
        os.makedirs(os.path.join(out, folder), exist_ok=True)
    text = writer.text()
    with open(os.path.join(out, "model.mlir"), "w", encoding="ascii") as f:
        f.write(text)
    if writer.npz:
        savez(os.path.join(out, "constants.npz"), writer.npz)
    for k, (have, sample) in enumerate(zip(net.have, net.samples)):
        name = "%04d.npz" % k
        savez(os.path.join(out, "inputs", name), sample)
        savez(os.path.join(out, "golden", name), {
            op.outputs[0].name: have[op.outputs[0]] for op in net.g.ops})
    return hashlib.sha256(text.encode()).hexdigest()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--net", choices=("digits", "mobile", "small"),
                        required=True)
    parser.add_argument("--numerics", required=True)
    parser.add_argument("--form", choices=("module", "generic"),
                        default="module")
    parser.add_argument("--constants", default="hex",
                        choices=("list", "hex", "resource", "npz"))
    parser.add_argument("--floats")
    parser.add_argument("--inputs")
    parser.add_argument("--samples", type=int, default=6)
    args = parser.parse_args()
    numerics = Numerics(args.numerics)
    told = ""
    if args.net == "digits":
        floats, images, labels = digits_source(args)
        net = nets.digits(numerics, floats, images)
        best = [have[net.g.results[0]].argmax() for have in net.have]
        told = ", %d of %d digits right" % (sum(best == labels), len(best))
    else:
        net = getattr(nets, args.net)(numerics)
    sha = write(net, args.out, Writer(net.g, args.form == "generic",
                                      args.constants))
    case = {
        "march": "nash-m", "model_sha256": sha, "stage": "quantized.bc",
        "made_by": "tests/oracle/nash/make_nash.py: a stand-in, not the "
                   "vendor's tools",
        "numerics": numerics.name,
        "skipped": [op.outputs[0].name for op in net.g.ops
                    if op.name == "b30.polar_shift"],
    }
    with open(os.path.join(args.out, "case.json"), "w",
              encoding="ascii") as f:
        json.dump(case, f, indent=1)
        f.write("\n")
    print("%s: %d operations, %d samples%s" % (
        args.out, len(net.g.ops), len(net.have), told))


if __name__ == "__main__":
    main()
