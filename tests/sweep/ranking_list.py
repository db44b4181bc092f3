# SPDX-License-Identifier: Apache-2.0
"""Which fault is seeded into which model: ranking_seeds.py makes them."""
import ranking_arith as arith
import ranking_case as rc
import ranking_seeds as s

# Pictures of the sizes that the models take: name -> width, height.
SIZES = (("nash", 10, 12), ("x5/ppocr_cls", 192, 48), ("x5/ops_pre", 24, 20))

EDGE = "tanh10"


def pictures():
    """a, b, c: (letter, variant, what the model wants, what is fed)"""
    for letter, variant, wanted, feed in (
            ("a", "NV21 for NV12", "nv12", "nv21"),
            ("a", "studio range for full range", "nv12", "nv12-studio"),
            ("a", "BGR for RGB", "rgb", "bgr"),
            ("a", "128 not subtracted", "yuv444_128", "yuv"),
            ("a", "RGB for NV12", "nv12", "rgb"),
            ("b", "picture: rows 64 bytes apart read as dense", "rgb",
             "rgb/64"),
            ("c", "picture: divided by 255 for bytes", "rgb", "rgb-divided")):
        for name, w, h in SIZES:
            if feed == "rgb/64" and w * 3 % 64 == 0:
                w -= 2
            yield s.Seed(letter, variant, name, s.pictured, wanted, feed, w, h)


def photographs():
    """a, c: a picture run through the model, other pixels on the board"""
    for name, tensor, shape in (("nash", "img", (1, 12, 10, 3)),
                                ("horizon", "x", (1, 3, 12, 12)),
                                ("x5/ppocr_cls", "x", (1, 3, 48, 192))):
        yield s.Seed("a", "run of a picture: BGR for RGB", name,
                     s.photographed, tensor, "rgb", "bgr", shape)
        yield s.Seed("c", "run of a picture: divided by 255", name,
                     s.photographed, tensor, "rgb", "divided", shape)
    for name in ("digits", "x5/digits"):
        yield s.Seed("c", "run of a picture: not divided by 255", name,
                     s.photographed, "input", "gray", "not divided",
                     (1, 1, 8, 8))


def inputs():
    """a, c, d, h: the input as the board had it."""
    for name, axis, order in (("horizon", 1, (0, 2, 3, 1)),
                              ("nash", 3, (0, 3, 1, 2)),
                              ("x5/ppocr_cls", 1, (0, 2, 3, 1))):
        yield s.Seed("a", "input: channels reversed on the board", name,
                     s.received, s.channels_reversed(axis))
        yield s.Seed("d", "input: NHWC for NCHW, or back", name, s.received,
                     s.axes(order))
    yield s.Seed("a", "input: top bit of int8 flipped (128 once more)",
                 "x5/ops_pre", s.received, s.top_bit)
    yield s.Seed("d", "input: two inputs in each other's place", "x5/ops_elt",
                 s.received, s.exchanged)
    for name in ("digits", "horizon", "nash", "x5/ppocr_cls"):
        yield s.Seed("c", "input: scaled twice", name, s.received, s.times(2))
        yield s.Seed("c", "input: multiplied by 255", name, s.received,
                     s.times(255))
        yield s.Seed("h", "input: buffer of the sample before", name,
                     s.received, s.the_one_before)


def tensors():
    """b, d: a layer's tensor that lies otherwise."""
    def q(name):
        return name + ".y_QuantizeLinear_Output"
    for name, reads, tensor, row in (
            ("digits", ["input_QuantizeLinear_Output"], q("conv1"), 8),
            ("horizon", ["same_s2_relu.y_quantized"], "pw.y_quantized", 72),
            ("nash", ["quant"], "stem", 40),
            ("x5/digits", ["relu1.y_quantized"], "relu2.y_quantized", 0),
            ("x5/ops_conv", ["relu15.y_quantized"],
             "k1x7_nobias.y_quantized", 220)):
        for align in (32, 64):
            if row:
                yield s.Seed("b", "tensor: rows %d bytes apart read as dense"
                             % align, name, s.arranged, reads, tensor,
                             lambda a, r=row, n=align: rc.sheared(a, r, n))
        if name == "digits": # blocks of 16 channels are NHWC of 16
            reads, tensor, order = [q("relu3")], q("pw4"), (0, 2, 3, 1)
        else:
            order = (0, 3, 1, 2)
        yield s.Seed("d", "tensor: NHWC for NCHW, or back", name, s.arranged,
                     reads, tensor, lambda a, o=order: rc.permuted(a, o))
    for name in ("digits", "horizon", "nash", "x5/ops_lut"):
        yield s.Seed("h", "dump: all tensors are of the sample before", name,
                     s.left_over)
    yield s.Seed("b", "padding: the compiled model's excess of 128", "horizon",
                 s.simulated)
    yield s.Seed("b", "padding: the compiled model's excess of 128",
                 "x5/pad16", s.simulated)


def outputs():
    """b, c, d, h: an output as the application read it."""
    tail = ("horizon", "tail.y", "tail_nhwc2nchw_transposed_output0")
    conv = ("x5/ops_pre", "head.y", "head_nhwc2nchw_transposed_output0")
    head = ("x5/ops_lut", "e_tanh.y", "e_tanh_nhwc2nchw_transposed_output0")
    wide = ("x5/ops_conv", "k5x1_s2x1_co33_relu.y",
            "k5x1_s2x1_co33_nhwc2nchw_transposed_output0")
    for name, y, ints in (tail, conv, head, wide):
        yield s.Seed("b", "output: rows 64 bytes apart read as dense", name,
                     s.read, y, s.strided_output(y, 64))
        yield s.Seed("c", "output: Dequantize left out", name, s.read, y,
                     s.other(ints))
        if y != head[1]: # one block of 4 channels is NHWC of 4
            yield s.Seed("d", "output: NHWC for NCHW", name, s.read, y,
                         s.permuted_output(y, (0, 2, 3, 1)))
        yield s.Seed("h", "output: the sample before", name, s.read, y,
                     s.before(y))
        yield s.Seed("h", "output: three cache lines of the sample before",
                     name, s.read, y, s.stale_lines(y, 1, 3))
    yield s.Seed("d", "output: another output", "x5/ops_lut", s.read,
                 "e_tanh.y", s.other("e_exp.y"))
    for name, y, ints in (
            ("digits", "logits", "logits_QuantizeLinear_Output"),):
        yield s.Seed("c", "output: Dequantize left out", name, s.read, y,
                     s.other(ints))
        yield s.Seed("c", "output: the scale applied twice", name, s.read, y,
                     s.squared(y, ints))
        yield s.Seed("h", "output: the sample before", name, s.read, y,
                     s.before(y))


def versions():
    """e"""
    for name in ("horizon", "x5/digits", "x5/ppocr_cls"):
        yield s.Seed("e", "the board's log names another SoC", name, s.logged,
                     "x5", "3.15.55.0", "s100", "3.15.55.0")
        yield s.Seed("e", "the board's runtime is of another generation", name,
                     s.logged, "x5", "3.15.55.0", "x5", "4.7.5.0")
        yield s.Seed("e", "the configuration names another march", name,
                     s.configured, "bayes-e", "nash-m")
    yield s.Seed("e", "the board's log names another SoC", "nash", s.logged,
                 "s100p", "4.7.5.0", "x5", "4.7.5.0")
    yield s.Seed("e", "the board's runtime is of another generation", "nash",
                 s.logged, "s100p", "4.7.5.0", "s100p", "3.15.55.0")


def arithmetic():
    """f, g: a layer that computes otherwise."""
    for fault in ("first shift rounds", "last shift rounds",
                  "last shift one short", "last shift one long"):
        for name, layer in (("horizon", "pw"), ("x5/digits", "pw4")):
            yield s.Seed("f", fault, name, s.computed, arith.conv, layer,
                         fault)
    yield s.Seed("f", "shifts merged", "horizon", s.computed, arith.conv,
                 "pw", "shifts merged")
    for fault in ("last shift rounds", "last shift one short"):
        yield s.Seed("f", fault, "x5/ppocr_cls", s.computed, arith.conv,
                     "p2o.Conv.4", fault)
    for fault in ("floor", "truncated", "ceil"):
        yield s.Seed("f", "QuantizeLinear: " + fault, "digits", s.computed,
                     arith.pointwise, "pw4", fault)
    for edit, what in (("R14", "ceil at the last shift"),
                       ("R15=half_up", "first shift rounds"),
                       ("Q4=up", "last shift one short"),
                       ("Q4=down", "last shift one long")):
        yield s.Seed("f", what, "nash", s.mutated, "stem", edit)
    for fault in ("table of the next segment", "edge in the next segment",
                  "no rounding between entries"):
        for name, layer in (("horizon", "sigmoid"), ("x5/ops_i16c", "tanh10"),
                            ("x5/ops_i16c", "sigmoid7")):
            if fault.startswith("edge") and layer != EDGE:
                continue # no input of theirs lies on an edge
            yield s.Seed("g", "int16 table: " + fault, name, s.computed,
                         arith.segments, layer, fault)
    for fault in ("index unsigned", "read from the end"):
        for name, layer in (("x5/ops_lut", "sigmoid3"),
                            ("x5/ops_lut", "elu15"),
                            ("x5/ppocr_cls", "p2o.Mul.0")):
            yield s.Seed("g", "int8 table: " + fault, name, s.computed,
                         arith.table, layer, fault)
    for layer, edit, what in (
            ("block.act", "O3=sign", "int8 table: index unsigned"),
            ("block.act", "O3=reversed", "int8 table: read from the end"),
            ("wide.act", "O8=next", "int16 table: table of the next segment"),
            ("wide.act", "O9=floor",
             "int16 table: no rounding between entries")):
        yield s.Seed("g", what, "nash", s.mutated, layer, edit)


def builds():
    """i"""
    for name, numerics in (("digits", "onnxruntime-x86"), ("nash", "nash"),
                           ("horizon", "bayes-e"), ("x5/digits", "bayes-e")):
        for how in ("not compiled anew", "not installed"):
            yield s.Seed("i", "the model was changed, " + how, name, s.rebuilt,
                         how, numerics)


SETS = (pictures, photographs, inputs, tensors, outputs, versions, arithmetic,
        builds)


def seeds():
    return [seed for part in SETS for seed in part()]
