#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make a case folder from a model and its inputs: goldens by onnxruntime.

    make_cases.py MODEL.onnx INPUTS.npz CASE [--opt auto|none|all]
                  [--default] [--samples N | --pick K,K,...]

INPUTS.npz  one array a graph input, first axis = samples.
CASE        gets model.onnx, inputs/NNNN.npz, golden/NNNN.npz, case.json.

--opt auto  (default) the mode in which onnxruntime computes in integers:
            QOperator models without optimizations; QDQ models with all of
            them, plus --int8-qdq where activations are int8 or int16, and
            --x64-precise where they are uint8 (see ort_layers.py).
--opt none  literal: float operators between DequantizeLinear and
            QuantizeLinear. --opt all as auto, for QDQ models.
--default  without --x64-precise: on an x86 CPU with AVX2 and no VNNI sums of
           uint8 by int8 saturate.
"""
import argparse
import hashlib
import json
import os
import shutil

import numpy as np
import onnx
from onnx import TensorProto

import ort_layers


def is_qdq(model):
    return not any(n.op_type.startswith(("QLinear", "QGemm"))
                   for n in model.graph.node)


def unsigned(model):
    """Are the activations (zero points of QuantizeLinear) uint8?"""
    types = {i.name: i.data_type for i in model.graph.initializer}
    zero = [types.get(n.input[2]) for n in model.graph.node
            if n.op_type == "QuantizeLinear" and len(n.input) > 2]
    return TensorProto.UINT8 in zero


def options_of(model, opt):
    if opt == "auto":
        opt = "all" if is_qdq(model) else "none"
    fused = opt == "all"
    return {"opt": opt, "expose": "int" if fused else "all",
            "x64_precise": fused and unsigned(model),
            "int8_qdq": fused and not unsigned(model)}


def write_case(folder, model_path, model, feeds, goldens, about):
    """feeds, goldens: one dict a sample; about: __meta__ without the hash of
    the inputs, which each sample gets."""
    shutil.rmtree(folder, ignore_errors=True)
    for sub in ("inputs", "golden"):
        os.makedirs(os.path.join(folder, sub))
    shutil.copyfile(model_path, os.path.join(folder, "model.onnx"))
    layers = json.dumps(ort_layers.layers(model))
    for k, (feed, golden) in enumerate(zip(feeds, goldens)):
        name = "%04d.npz" % k
        meta = dict(about, input_sha256={
            n: hashlib.sha256(np.ascontiguousarray(v).tobytes()).hexdigest()
            for n, v in feed.items()})
        np.savez_compressed(os.path.join(folder, "inputs", name), **feed)
        np.savez_compressed(os.path.join(folder, "golden", name),
                            __layers__=np.array(layers),
                            __meta__=np.array(json.dumps(meta)), **golden)
    with open(os.path.join(folder, "case.json"), "w") as f:
        json.dump(about, f, indent=1)
        f.write("\n")


def feeds_of(model, npz, samples, pick=None):
    n = len(next(iter(npz.values())))
    return [ort_layers.make_inputs(model, npz, k)
            for k in (pick or range(min(samples or n, n)))]


def make_case(model_path, inputs_path, folder, samples=None, opt="auto",
              pick=None, default=False):
    model = onnx.load(model_path)
    options = options_of(model, opt)
    options["x64_precise"] = options["x64_precise"] and not default
    feeds = feeds_of(model, dict(np.load(inputs_path)), samples, pick)
    session = ort_layers.open_ort(model, options["opt"], options["expose"],
                                  options["x64_precise"],
                                  int8_qdq=options["int8_qdq"])
    goldens = [ort_layers.run_session(session, model, f) for f in feeds]
    about = ort_layers.meta(model_path, {}, "ort", options)
    about.pop("input_sha256")
    write_case(folder, model_path, model, feeds, goldens, about)
    print("%s: %d samples, %d tensors each (opt %s)" % (
        folder, len(feeds), len(goldens[0]), options["opt"]))


def main():
    ap = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model")
    ap.add_argument("inputs")
    ap.add_argument("case")
    ap.add_argument("--samples", type=int)
    ap.add_argument("--pick", type=lambda t: [int(v) for v in t.split(",")],
                    help="these samples only")
    ap.add_argument("--opt", choices=["auto", "none", "all"], default="auto")
    ap.add_argument("--default", action="store_true")
    a = ap.parse_args()
    make_case(a.model, a.inputs, a.case, a.samples, a.opt, a.pick, a.default)


if __name__ == "__main__":
    main()
