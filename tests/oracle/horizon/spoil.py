#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copy a case with one golden element altered by one: spoil.py CASE NEW

A judge that cannot see it would see nothing. Prints the node's name.
"""
import os
import shutil
import sys

import numpy as np

import executor


def main():
    case, new = sys.argv[1:]
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(case, new)
    model = executor.load(case)
    name, tensor = [(p.name, p.output[0]) for p, n in model.nodes
                    if n.op == "HzSQuantizedConv"][-1]
    path = os.path.join(new, "golden", "0001.npz")
    with np.load(path) as f:
        have = dict(f)
    v = have[tensor].reshape(-1)
    v[v.size // 2] += 1 if v[v.size // 2] < 100 else -1
    np.savez_compressed(path, **have)
    print(name)


if __name__ == "__main__":
    main()
