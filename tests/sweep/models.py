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
             ["input_QuantizeLinear", "conv1", "conv2", "relu2", "dw3", "pw4",
              "conv5", "add5", "maxpool", "avgpool", "concat", "gap", "fc",
              "logits_DequantizeLinear"],
             quick=("conv2", "dw3", "add5", "fc")),
        case("horizon", data + "/horizon",
             ["x_HzCalibration_HzQuantize", "same_s2", "pw", "sigmoid",
              "k2_bottom", "tail", "fc"],
             quick=("same_s2", "sigmoid")),
    ]
    if quick:
        for s in own:
            s.layers = s.quick
        return own
    x5 = shared + "/cases-x5/"
    return own + [
        onnx("digits_qop_u8", shared + "/models", "digits_inputs.npz",
             "input", None),
        onnx("digits_qdq_u8s8", shared + "/models", "digits_inputs.npz",
             "input", None),
        onnx("digits_qdq_s16", shared + "/models", "digits_inputs.npz",
             "input", None),
        onnx("ppocr_cls_qop_u8", shared + "/models", "ppocr_cls_inputs.npz",
             "x", None),
        onnx("ppocr_cls_qdq_s8", shared + "/models", "ppocr_cls_inputs.npz",
             "x", None),
    ] + [case("x5/" + n, x5 + n, l) for n, l in (
        ("ops_conv", None), ("ops_elt", None), ("ops_i16c", None),
        ("ops_lut", None), ("ops_pool", None), ("pad16", None),
        ("ppocr_cls", None), ("stress", None), ("ops_batch2", None))]
