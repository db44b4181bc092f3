#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write a hybrid model and a calibrated model of the vendor's form for a
quantized model of tests/oracle/horizon. The compiled part is a STAND-IN: the
quantized model itself, as an attribute, which only tests/support/x5_standin
understands.

    x5_hybrid.py CASE HYBRID.onnx CALIBRATED.onnx
"""
import json
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def scales_of(case):
    with open(os.path.join(case, "scales.json"), encoding="utf-8") as f:
        return {k: np.atleast_1d(np.asarray(v, np.float32))
                for k, v in json.load(f).items()}


def inner(model, scales):
    """(tensor, node, shape): what a build with layer_out_dump shows."""
    typed = {v.name: v.type.tensor_type for v in model.graph.value_info}
    for node in model.graph.node:
        for name in node.output:
            t = typed.get(name)
            if (t is None or node.op_type != "HzSQuantizedConv" or
                    not name.endswith("_quantized") or name not in scales or
                    t.elem_type not in (TensorProto.INT8, TensorProto.INT16)):
                continue
            yield name, node.name, [d.dim_value for d in t.shape.dim]


def hybrid(model, scales):
    features, nodes, constants, outputs, attrs = [], [], [], [], {}
    for tensor, node, shape in inner(model, scales):
        base = tensor[:-len("_quantized")]
        feature = node + "_nhwc2nchw_transposed_output0"
        scale = base + "_HzCalibration_y_scale"
        n, h, w, c = shape
        features.append(feature)
        attrs["tensor:" + feature] = tensor
        constants.append(numpy_helper.from_array(scales[tensor], scale))
        nodes.append(helper.make_node(
            "HzDequantize", [feature, scale], [base + "_calibrated"],
            name=base + "_HzDequantize", domain="horizon"))
        outputs.append(helper.make_tensor_value_info(base + "_calibrated",
                                                     FLOAT, [n, c, h, w]))
    finals = list(model.graph.output)
    # As the real one: the compiled bytes are a string, and no text.
    packed = onnx.TensorProto(name="PACKED_HBM_MODEL",
                              data_type=onnx.TensorProto.STRING,
                              string_data=[bytes(range(256))])
    constants.append(packed)
    body = helper.make_node("HzBpuHBM",
                            [i.name for i in model.graph.input] + [packed.name],
                            features + [o.name for o in finals], name="hbm",
                            domain="horizon",
                            standin=model.SerializeToString(), **attrs)
    graph = helper.make_graph([body] + nodes, "hybrid",
                              list(model.graph.input), finals + outputs,
                              constants)
    return helper.make_model(graph, opset_imports=[
        helper.make_opsetid("", 11), helper.make_opsetid("horizon", 1)])


def calibrated(scales):
    nodes, ins, outs = [], [], []
    for tensor, scale in sorted(scales.items()):
        if not tensor.endswith("_quantized") or scale.size != 1:
            continue
        base = tensor[:-len("_quantized")]
        nodes.append(helper.make_node(
            "HzCalibration", [base], [base + "_calibrated"],
            name=base + "_HzCalibration", domain="horizon", qtype="int8",
            scales=[float(scale[0])], thresholds=[float(scale[0] * 127)],
            switch="ON", constant=1, quant_attrs=0x11111))
        ins.append(helper.make_tensor_value_info(base, FLOAT, [1]))
        outs.append(helper.make_tensor_value_info(base + "_calibrated", FLOAT,
                                                  [1]))
    return helper.make_model(
        helper.make_graph(nodes, "calibrated", ins, outs),
        opset_imports=[helper.make_opsetid("", 11),
                       helper.make_opsetid("horizon", 1)])


def main():
    case, to_hybrid, to_calibrated = sys.argv[1:4]
    model = onnx.load(os.path.join(case, "model.onnx"))
    scales = scales_of(case)
    onnx.save(hybrid(model, scales), to_hybrid)
    onnx.save(calibrated(scales), to_calibrated)


main()
