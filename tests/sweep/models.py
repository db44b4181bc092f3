# SPDX-License-Identifier: Apache-2.0
"""The models of the sweep, and which of their layers are edited."""
import os


class Spec:
    def __init__(self, name, model, inputs, golden=None, scales=None,
                 layers=(), samples=2, numerics=None, input_names=None,
                 quick=()):
        self.name, self.model, self.inputs = name, model, inputs
        self.golden, self.scales, self.layers = golden, scales, layers
        self.samples, self.numerics = samples, numerics
        self.input_names, self.quick = input_names, quick


def case(name, folder, layers, **more):
    scales = os.path.join(folder, "scales.json")
    return Spec(name, os.path.join(folder, "model.onnx"),
                os.path.join(folder, "inputs"),
                os.path.join(folder, "golden"),
                scales if os.path.exists(scales) else None, layers, **more)


def onnx(name, folder, inputs, input_name, layers):
    """No goldens: the clean outputs of the target are the reference."""
    return Spec(name, os.path.join(folder, name + ".onnx"),
                os.path.join(folder, inputs), None, None, layers,
                numerics="onnxruntime-x86", input_names={input_name})


def specs(root, quick):
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
        return own
    x5 = shared + "/cases-x5/"
    shared += "/models"
    return own + [
        onnx("digits_qop_u8", shared, "digits_inputs.npz", "input",
             ["conv2_quant", "dw3_quant", "add5_quant", "avgpool_quant",
              "concat_quant", "fc_quant"]),
        onnx("digits_qdq_s16", shared, "digits_inputs.npz", "input",
             ["conv2", "pw6"]),
        onnx("ppocr_cls_qop_u8", shared, "ppocr_cls_inputs.npz", "x",
             ["p2o.Conv.13_quant", "p2o.MatMul.0/MatMulAddFusion_quant",
              "p2o.Add.8_quant"]),
    ] + [case("x5/" + n, x5 + n, layers, samples=1) for n, layers in (
        ("pad16", ["same_s2", "same_k5_s2"]),
        ("ops_conv", ["dw_mult2", "group4", "up3"]),
        ("ops_elt", ["sigmoid5", "add", "mul", "gather", "d2s", "concat"]),
        ("ops_lut", ["sigmoid3", "elu15"]),
        ("ops_pool", ["mp3s2", "mpceil", "ap3s2", "resize37", "resize49", "argmax"]),
        ("ops_i16c", ["sigmoid7", "ap", "resize26", "add48", "mp",
                      "group_s2"]),
        ("stress", ["over_i16_int8", "over_bias_int16", "over_i16_int32",
                    "argmax", "matmul_int8_2", "conv_sumin1",
                    "deconv_g3_int8"]))]
