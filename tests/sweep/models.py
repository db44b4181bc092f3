# SPDX-License-Identifier: Apache-2.0
"""The models of the sweep, and which of their layers are edited."""
import os

import small


class Spec:
    """A model and its layers. arith: what these layers compute instead of
    their own arithmetic, with nothing edited. only: ids; empty: all."""

    def __init__(self, name, model, inputs, golden=None, scales=None,
                 layers=(), samples=2, numerics=None, input_names=None,
                 quick=(), arith=None, only=()):
        self.name, self.model, self.inputs = name, model, inputs
        self.golden, self.scales, self.layers = golden, scales, layers
        self.samples, self.numerics = samples, numerics
        self.input_names, self.quick = input_names, quick
        self.arith, self.only = arith, frozenset(only)


def case(name, folder, layers, **more):
    scales = os.path.join(folder, "scales.json")
    return Spec(name, os.path.join(folder, "model.onnx"),
                os.path.join(folder, "inputs"),
                os.path.join(folder, "golden"),
                scales if os.path.exists(scales) else None, layers, **more)


def onnx(name, folder, inputs, input_name, layers, **more):
    """No goldens: the clean outputs of the target are the reference."""
    return Spec(name, os.path.join(folder, name + ".onnx"),
                os.path.join(folder, inputs), None, None, layers,
                numerics="onnxruntime-x86", input_names={input_name}, **more)


def made(root, work):
    """What small.py makes."""
    return [Spec("small/" + m.name + (" " + arith if arith else ""), model,
                 inputs, layers=m.layers, arith=arith, only=only,
                 numerics="onnxruntime-x86" if m.is_quantized else None)
            for m, model, inputs, arith, only in small.made(root, work)] + [
        Spec("small/far_shifts", small.far_shifts(root, work),
             os.path.join(root, "tests", "data", "nash", "inputs"),
             layers=["stem", "block.dw", "wide.conv", "block.project"],
             only=("R11",))]


# Layers on which an id can be seeded that cannot on most.
RARE = (
    ("ppocr_cls_qop_u8", ("p2o.Add.0_quant", "p2o.Add.10_quant",
                          "p2o.Add.36_quant", "p2o.Add.46_quant"),
     ("O4", "R3", "R6")),
    ("ppocr_cls_qop_u8", ("p2o.Conv.0_quant", "p2o.Conv.18_quant",
                          "p2o.Conv.26_quant"), ("P3", "R6", "R7", "R20")),
    ("ppocr_cls_qop_u8", ("p2o.Mul.7_DequantizeLinear",
                          "p2o.Mul.13_DequantizeLinear"), ("Q7",)),
    ("ppocr_cls_qdq_s8", ("p2o.Conv.12", "p2o.Add.0", "p2o.Add.8",
                          "x_QuantizeLinear"),
     ("O4", "R3", "R12", "R22", "R23")),
)
X5 = (
    ("pad16", ("same_s2", "same_k5_s2"), ()),
    ("ops_conv", ("dw_mult2", "group4", "up3"), ()),
    ("ops_elt", ("sigmoid5", "add", "mul", "gather", "d2s", "concat"), ()),
    ("ops_lut", ("sigmoid3", "elu15"), ()),
    ("ops_pool", ("mp3s2", "mpceil", "ap3s2", "resize37", "resize49",
                  "argmax"), ()),
    ("ops_i16c", ("sigmoid7", "ap", "resize26", "add48", "mp", "group_s2"),
     ()),
    ("ops_i16c", ("tanh10", "mul43", "reciprocal49"), ("O3", "O8", "O9")),
    ("ops_i16n", ("e0.y_HzDequantize", "e1.y_HzDequantize"), ("Q7",)),
    ("ops_mat", ("matmul4", "matmul19", "matmul22"), ("A4", "Q4")),
    ("ops_batch2", ("b",), ("O7", "L5")),
    ("digits", ("conv5",), ("O7",)),
    ("stress", ("over_i16_int8", "over_bias_int16", "over_i16_int32",
                "argmax", "matmul_int8_2", "conv_sumin1", "deconv_g3_int8"),
     ()),
)


def specs(root, quick, work):
    """Models that are made are put into the folder work."""
    shared = os.environ.get("ASSAY_SHARED", os.path.join(root, "..", "shared"))
    data = os.path.join(root, "tests", "data")
    own = [
        case("digits", data + "/digits",
             ["input_QuantizeLinear", "conv2", "dw3", "pw4", "add5",
              "maxpool", "avgpool", "concat", "gap", "fc",
              "logits_DequantizeLinear"],
             quick=("conv2", "dw3", "add5", "fc")),
        case("horizon", data + "/horizon",
             ["x_HzCalibration_HzQuantize", "same_s2", "sigmoid",
              "k2_bottom", "fc"],
             quick=("same_s2", "sigmoid")),
    ]
    if quick:
        for s in own:
            s.layers = s.quick
        return own + made(root, work)
    folder = shared + "/models"
    return own + made(root, work) + [
        onnx("digits_qop_u8", folder, "digits_inputs.npz", "input",
             ["conv2_quant", "dw3_quant", "add5_quant", "avgpool_quant",
              "concat_quant", "fc_quant"]),
        onnx("digits_qdq_s16", folder, "digits_inputs.npz", "input",
             ["conv2", "pw6"]),
        onnx("ppocr_cls_qop_u8", folder, "ppocr_cls_inputs.npz", "x",
             ["p2o.Conv.13_quant", "p2o.MatMul.0/MatMulAddFusion_quant",
              "p2o.Add.8_quant"]),
    ] + [onnx(name, folder, "ppocr_cls_inputs.npz", "x", layers, only=only)
         for name, layers, only in RARE
    ] + [case("x5/" + n, shared + "/cases-x5/" + n, layers, samples=1,
              only=only) for n, layers, only in X5]
