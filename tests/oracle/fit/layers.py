# SPDX-License-Identifier: Apache-2.0
"""A node of a fixed-point model as fit-arith's judge needs it.

`Layer(model, k)` has a form and fields: `sums()` are what a rule begins with
(horizon/ops.py), `whole()` evaluates forms that are not made of sums, all with
the eight roundings. trial.py evaluates many rules. Nothing is shared with the
C.
"""
import numpy as np

import paths  # noqa: F401
import ops
from integers import shr
from rule import Rule, step
from rules import DEFAULT, I64, ints, limits, width


def shift(v, n, how):
    """All eight roundings; of a list, the next one."""
    return shr(v, n, how.pop(0) if isinstance(how, list) else how)


ops.shift = shift
OPS = {
    "HzSQuantizedConv": "conv", "HzSQuantizedPreprocess": "conv",
    "HzSQuantizedConvTranspose": "conv_transpose", "HzSElementwiseAdd": "add",
    "HzSElementwiseSub": "sub", "HzSElementwiseMul": "mul",
    "HzRequantize": "rescale", "HzSQuantizedMatmul": "matmul",
    "HzSQuantizedReduceMean": "reduce", "HzSQuantizedReduceSum": "reduce",
    "HzSQuantizedGlobalAveragePool": "global_avg_pool",
    "HzQuantizedAveragePool": "avg_pool", "HzSPRelu": "prelu",
    "HzLut": "lut", "HzLut2Layer": "lut_segments",
    "HzQuantizedBitShift": "rescale", "HzQuantizedRoiResize": "resize",
    "HzQuantizedGridSample": "grid_sample", "HzQuantize": "quantize",
}
WHOLE = {"lut", "lut_segments", "resize", "resize_twice", "grid_sample",
         "quantize"}
SCALING = {
    "add": ("accu_right_shift", "output_scale", "output_right_shift"),
    "mul": ("accu_right_shift", "output_scale", "output_right_shift"),
    "sub": ("accu_right_shift", "output_scale", "output_right_shift"),
    "global_avg_pool": ("accu_right_shift", "output_scale",
                        "output_right_shift"),
    "reduce": ("accu_right_shift", "scale", "out_shift"),
    "matmul": ("right_shift", "scale", "out_shift"),
    "conv": ("right_shift", "scale", "out_shift"),
    "conv_transpose": ("accu_right_shift", "y_quant_scale", "y_right_shift"),
    "rescale": (None, "output_scale", "output_right_shift"),
}


def form_of(node, bits):
    form, attrs = OPS.get(node.op), node.attrs
    if form == "conv" and attrs.get("high_precision_output"):
        return "conv_tail"
    if form == "resize" and attrs.get("is_interpolate_twice"):
        return "resize_twice"
    if form == "grid_sample" and (attrs["mode"] == "nearest" or
                                  not attrs["output_round"]):
        return None
    if node.op == "HzQuantizedBitShift" and attrs["direction"] != "RIGHT":
        return None
    return None if bits == 32 and form != "conv" else form


class Layer:
    def __init__(self, model, k):
        self.proto, self.node = model.nodes[k]
        self.const, attrs = model.const, self.node.attrs
        self.bits = width(model.typed[self.proto.output[0]][0])
        self.name, self.output = self.proto.name, self.proto.output[0]
        self.form = form_of(self.node, self.bits)
        if self.form is None:
            return
        self.fields = {}
        if self.form == "avg_pool":
            h, w = attrs["kernel_shape"]
            self.fields = {"real": 1.0 / (h * w),
                           "post_shift": np.array([attrs["scale"]])}
        if self.node.op == "HzQuantizedBitShift":
            self.fields = {"pre_shift": ints(attrs, "shift")}
            return
        names = ("pre_shift", "scale", "post_shift")
        for name, key in zip(names, SCALING.get(self.form, ())):
            if key:
                v = ints(attrs, key)
                self.fields[name] = v[:1] if self.form == "reduce" else v
        self.more(attrs)

    def more(self, attrs):
        fields, inputs = self.fields, list(self.proto.input)
        if self.node.op == "HzSQuantizedConvTranspose":
            fields["bias"] = (self.const[inputs[2]].astype(I64) <<
                              ints(attrs, "b_left_shift"))
        elif self.form in ("conv", "conv_tail"):
            if len(inputs) > 2 and inputs[2]:
                fields["bias"] = (self.const[inputs[2]].astype(I64) <<
                                  self.const[inputs[3]].astype(I64))
            if attrs.get("use_sumin"):
                by = ints(attrs, "e_shift")
                fields["second_scale"] = (ints(attrs, "e_scale") <<
                                          np.maximum(by, 0))
                fields["second_shift"] = np.maximum(-by, 0)
        elif self.form in ("add", "sub"):
            fields.update(x_shift=ints(attrs, "x_shift"),
                          e_shift=ints(attrs, "e_shift", [0]),
                          e_scale=ints(attrs, "e_scale"))
        elif self.form == "prelu":
            fields.update(
                slope=self.const[inputs[1]].astype(I64).reshape(-1),
                pos_scale=ints(attrs, "positive_scale"),
                pos_shift=ints(attrs, "positive_right_shift"),
                slope_shift=ints(attrs, "accu_right_shift"),
                neg_scale=ints(attrs, "negative_scale"),
                neg_shift=ints(attrs, "negative_right_shift"))
        if attrs.get("activation") == "relu":
            fields["relu"] = True

    def inputs(self, have):
        return [None if not n else self.const[n] if n in self.const
                else have[n] for n in self.proto.input]

    def sums(self, have):
        """Exact sums, and the second input's integers or None."""
        attrs, v = self.node.attrs, self.inputs(have)
        if self.form in ("conv", "conv_tail"):
            e = v[4].astype(I64) if attrs.get("use_sumin") else None
            return ops.window_sums(v[0], v[1], attrs), e
        if self.form == "conv_transpose":
            rules = dict(DEFAULT, **{"deconv.s16": False})
            plain = dict(attrs, accu_right_shift=[0], y_quant_scale=[1],
                         y_right_shift=[0], b_left_shift=[0], activation="")
            return ops.deconv(plain, [v[0], v[1], v[2] * 0], [np.int64],
                              rules)[0], None
        if self.form in ("add", "sub"):
            return v[0].astype(I64), v[1].astype(I64)
        if self.form == "mul":
            return v[0].astype(I64) * v[1].astype(I64), None
        if self.form == "matmul":
            return (v[0].astype(np.float64) @ v[1].astype(np.float64)
                    ).astype(I64), None
        if self.form == "reduce":
            return v[0].astype(I64).sum(attrs["axis"], keepdims=True), None
        if self.form == "global_avg_pool":
            return v[0].astype(I64).sum((1, 2), keepdims=True), None
        if self.form == "avg_pool":
            return ops.pool_taps(v[0], attrs, 0).sum((2, 4)), None
        return v[0].astype(I64), None

    def whole(self, text, inputs):
        """Output of a form that is not made of sums, under a rule."""
        rule, attrs = Rule(text), self.node.attrs
        if self.form == "lut":
            at = inputs[0].astype(I64)
            at = at + 128 if rule.word("index") == "ascending" else at & 255
            return inputs[1].reshape(-1)[at].astype(I64)
        if self.form == "quantize":
            return quantized(attrs, inputs, rule.words("fround")[0][1])
        if self.form == "lut_segments":
            how = {"lut16.index": rule.word("line"),
                   "lut16.mix": rule.word("mix"), "lut16.int8": "left"}
        elif self.form == "grid_sample":
            how = {"grid.rounded": rule.words("shr")[0][2]}
        else:
            last = rule.words("shr")[0][2]  # between, it is always floor
            how = {"resize.once": last, "resize.twice": ["floor", last]}
            attrs = dict(attrs, is_interpolate_twice=rule.word("between"))
        v = ops.OPS[self.node.op](attrs, inputs, [np.int64],
                                  dict(DEFAULT, **how))[0]
        return step(rule.words("sat")[0][0] if rule.words("sat") else "wrap",
                    ["out"], v, self.fields, self.bits, None)


def quantized(attrs, inputs, how):
    with np.errstate(over="ignore"):
        q = inputs[0].astype(np.float32) / inputs[1].astype(np.float32)
    q = np.clip(q, *limits(attrs["bits"])).astype(np.float64)
    return {
        "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
        "half_even": np.rint, "half_up": lambda v: np.floor(v + 0.5),
        "half_down": lambda v: np.ceil(v - 0.5),
        "half_away": lambda v: np.copysign(np.floor(np.abs(v) + 0.5), v),
        "half_zero": lambda v: np.copysign(np.ceil(np.abs(v) - 0.5), v),
    }[how](q).astype(I64)


def of(model):
    for k in range(len(model.nodes)):
        layer = Layer(model, k)
        if layer.form is not None:
            yield layer
