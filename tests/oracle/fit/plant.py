#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goldens of a case in another arithmetic.

    plant.py OUT NUMERICS.json CASE...

OUT/NAME/ gets each CASE's model and inputs, and goldens of every tensor,
computed node by node: what has a form by its rule, all else as always.
"""
import argparse
import collections
import json
import os
import shutil

import numpy as np

import layers
import trial
import executor
from rules import DEFAULT


def goldens(model, made, rules, have, counts):
    """Every tensor, from the inputs on."""
    for k, (proto, _) in enumerate(model.nodes):
        layer = made.get(k)
        if layer is None or layer.form is None:
            have.update(zip(proto.output, model.run(k, have, DEFAULT)))
            continue
        dtype, shape = model.typed[layer.output]
        t = trial.of(layer, [have], False)
        number = t.output(rules[layer.form])
        if number == trial.OUTSIDE:
            raise SystemExit("%s: '%s' leaves 64 bits" % (
                layer.name, rules[layer.form]))
        have[layer.output] = t.array(number).reshape(shape).astype(dtype)
        if (have[layer.output] != t.array(number).reshape(shape)).any():
            raise SystemExit("%s: not of %s" % (layer.name, dtype))
        counts[layer.form] += have[layer.output].size


def plant(case, out, rules, counts):
    model = executor.load(case)
    made = {k: layers.Layer(model, k) for k in range(len(model.nodes))}
    shutil.copytree(case, out, ignore=shutil.ignore_patterns("sim*"))
    folder = os.path.join(out, "golden")
    for sample, before in executor.samples(case):
        have = {name: before[name] for name in model.inputs}
        goldens(model, made, rules, have, counts)
        path = os.path.join(folder, sample + ".npz")
        with np.load(path) as old:
            names = list(old)
        os.chmod(path, 0o644)
        np.savez_compressed(path, **{n: have[n] for n in names})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("numerics")
    parser.add_argument("case", nargs="+")
    args = parser.parse_args()
    with open(args.numerics, encoding="utf-8") as f:
        rules = {k: v["rule"] for k, v in json.load(f)["rules"].items()}
    counts = collections.Counter()
    shutil.rmtree(args.out, ignore_errors=True)
    for case in args.case:
        name = os.path.basename(os.path.normpath(case))
        plant(case, os.path.join(args.out, name), rules, counts)
    print("%d forms, %d elements" % (len(counts), sum(counts.values())))


if __name__ == "__main__":
    main()
