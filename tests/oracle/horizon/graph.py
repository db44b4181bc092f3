# SPDX-License-Identifier: Apache-2.0
"""A fixed-point model in the making, in the form that the vendor's has.

Nodes are evaluated while they are added, on every sample: the graph knows the
golden tensors, and whoever adds a node can look at the accumulators before
it picks multipliers and shifts.
"""
import hashlib
import json
import os
import shutil

import numpy as np
import onnx
from onnx import helper, numpy_helper

import ops
from rules import DEFAULT

STANDARD = {"Transpose", "Concat", "Split", "Slice", "Gather", "Tile", "Max",
            "Reshape", "Cast", "Softmax", "Pad", "Resize", "Sum", "Mean"}
# Shifts and multiplier of the output, for what has them.
OUTPUT_KEYS = {
    "HzSQuantizedConv": ("right_shift", "scale", "out_shift"),
    "HzSQuantizedPreprocess": ("right_shift", "scale", "out_shift"),
    "HzSQuantizedConvTranspose": ("accu_right_shift", "y_quant_scale",
                                  "y_right_shift"),
    "HzSElementwiseAdd": ("accu_right_shift", "output_scale",
                          "output_right_shift"),
    "HzSQuantizedMatmul": ("right_shift", "scale", "out_shift"),
    "HzSQuantizedReduceMean": ("accu_right_shift", "scale", "out_shift"),
}
for _op in ("HzSElementwiseSub", "HzSElementwiseMul",
            "HzSQuantizedGlobalAveragePool"):
    OUTPUT_KEYS[_op] = OUTPUT_KEYS["HzSElementwiseAdd"]
OUTPUT_KEYS["HzSQuantizedReduceSum"] = OUTPUT_KEYS["HzSQuantizedReduceMean"]
RAW = dict(DEFAULT, **{k: False for k in DEFAULT if k.endswith(".s16")})


class Graph:
    def __init__(self, name, rng, samples):
        self.name, self.r, self.n_samples = name, rng, samples
        self.nodes, self.inits, self.inputs = [], [], []
        self.values = {}  # tensor: one array a sample
        self.const = {}
        self.order = []   # tensors that nodes made
        self.used = set()
        self.outputs = []  # kept although something reads them
        self.scales = {}

    def shape(self, t):
        return self.array(t, 0).shape

    def dtype(self, t):
        return self.array(t, 0).dtype

    def array(self, t, sample):
        return self.const[t] if t in self.const else self.values[t][sample]

    def input(self, name, arrays):
        assert len(arrays) == self.n_samples
        self.inputs.append(name)
        self.values[name] = [np.ascontiguousarray(a) for a in arrays]
        return name

    def constant(self, stem, array):
        name = stem
        while name in self.const:
            name += "_"
        self.const[name] = np.ascontiguousarray(array)
        self.inits.append(numpy_helper.from_array(self.const[name], name))
        return name

    def arrays(self, inputs, sample):
        return [None if not t else self.array(t, sample) for t in inputs]

    def raw(self, op, inputs, attrs):
        """The accumulators of each sample, before the output's shifts."""
        first, scale, last = OUTPUT_KEYS[op]
        attrs = dict(attrs, **{first: [0], scale: [1], last: [0]})
        attrs.pop("activation", None)
        return [ops.run(ops.Node(op, attrs), self.arrays(inputs, s),
                        [np.int64], RAW)[0] for s in range(self.n_samples)]

    def node(self, op, name, inputs, dtypes, outputs=None, **attrs):
        """The output's name, or a list of them."""
        attrs = {k: v for k, v in attrs.items() if v is not None}
        one = not isinstance(dtypes, list)
        dtypes = [dtypes] if one else dtypes
        if outputs is None:
            end = ".y_quantized" if np.dtype(dtypes[0]).kind == "i" else ".y"
            outputs = [name + end] if one else [
                "%s.y%d%s" % (name, i, end[2:]) for i in range(len(dtypes))]
        node = ops.Node(op, attrs)
        made = [ops.run(node, self.arrays(inputs, s), dtypes, DEFAULT)
                for s in range(self.n_samples)]
        for i, t in enumerate(outputs):
            assert t not in self.values, t
            self.values[t] = [m[i] for m in made]
            self.order.append(t)
        self.used.update(inputs)
        self.nodes.append(helper.make_node(
            op, inputs, outputs, name=name,
            domain="" if op in STANDARD else "horizon", **attrs))
        return outputs[0] if one else outputs

    def leaves(self):
        return [t for t in self.order
                if t not in self.used or t in self.outputs]

    def model(self):
        def typed(t):
            return helper.make_tensor_value_info(
                t, helper.np_dtype_to_tensor_dtype(self.dtype(t)),
                self.shape(t))
        leaves = self.leaves()
        graph = helper.make_graph(
            self.nodes, self.name, [typed(t) for t in self.inputs],
            [typed(t) for t in leaves], self.inits,
            value_info=[typed(t) for t in self.order if t not in leaves])
        model = helper.make_model(
            graph, producer_name="assay-tests", producer_version="1",
            opset_imports=[helper.make_opsetid("", 11),
                           helper.make_opsetid("horizon", 1)])
        model.ir_version = 7
        return model

    def write(self, folder, made, more=None):
        """A case folder, anew."""
        shutil.rmtree(folder, ignore_errors=True)
        for part in ("inputs", "golden"):
            os.makedirs(os.path.join(folder, part))
        data = self.model().SerializeToString(deterministic=True)
        with open(os.path.join(folder, "model.onnx"), "wb") as f:
            f.write(data)
        for s in range(self.n_samples):
            for part, names in (("inputs", self.inputs),
                                ("golden", self.order)):
                np.savez_compressed(
                    os.path.join(folder, part, "%04d.npz" % s),
                    **{t: self.values[t][s] for t in names})
        case = {
            "name": self.name, "march": "bayes-e", "made": made,
            "model": "model.onnx",
            "model_sha256": hashlib.sha256(data).hexdigest(),
            "samples": self.n_samples,
            "inputs": {t: {"dtype": str(self.dtype(t)),
                           "shape": list(self.shape(t))}
                       for t in self.inputs},
            "outputs": self.leaves()}
        case.update(more or {})
        write_json(os.path.join(folder, "case.json"), case)
        write_json(os.path.join(folder, "scales.json"), self.scales)



def write_json(path, what):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(what, f, indent=1)
        f.write("\n")


