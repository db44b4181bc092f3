#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write tests/data/natural: goldens of the small models, of both CPUs.

    data.py CASES FOLDER

CASES as natural.sh makes them. Of the tensors, integers and outputs are kept;
of other columns not what only quantizes an input, which is the golden's.
"""
import os
import shutil
import sys

import numpy as np
import onnx

# Folder: the case, and what other columns got.
KEPT = {"depthwise": ("depthwise-x86", {"got": "depthwise-arm"}),
        "add": ("add-x86", {"got": "add-arm"}),
        "pairs": ("pairs-arm", {"got": "pairs-x86-default"}),
        "pool": ("pool-x86", {"got": "pool-x86-none"}),
        "float": ("float-exact", {"got": "float-x86",
                                  "got-aarch64": "float-arm"})}


def strip(source, target, model, column):
    """All npz of a folder, without inputs and floats that are no outputs."""
    os.makedirs(target)
    inputs = {i.name for i in model.graph.input}
    if column:
        inputs |= {n.output[0] for n in model.graph.node
                   if n.input[0] in inputs and n.op_type == "QuantizeLinear"}
    outputs = {o.name for o in model.graph.output}
    for name in sorted(os.listdir(source)):
        z = np.load(os.path.join(source, name))
        np.savez_compressed(os.path.join(target, name), **{
            k: z[k] for k in z.files if k not in inputs and
            (k in outputs or z[k].dtype != np.float32)})


def main():
    cases, folder = sys.argv[1:3]
    for name, (base, columns) in KEPT.items():
        source, target = os.path.join(cases, base), os.path.join(folder, name)
        shutil.rmtree(target, ignore_errors=True)
        os.makedirs(target)
        for f in ("model.onnx", "case.json"):
            shutil.copyfile(os.path.join(source, f), os.path.join(target, f))
        shutil.copytree(os.path.join(source, "inputs"),
                        os.path.join(target, "inputs"))
        model = onnx.load(os.path.join(source, "model.onnx"))
        strip(os.path.join(source, "golden"), os.path.join(target, "golden"),
              model, False)
        for column, case in columns.items():
            strip(os.path.join(cases, case, "golden"),
                  os.path.join(target, column), model, True)


if __name__ == "__main__":
    main()
