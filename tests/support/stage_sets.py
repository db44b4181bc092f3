#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Synthetic sets of stages for assay triage, with the standard library only.

stage_sets.py OUT CASE [STAGE...]   OUT/<stage>/NNNN.npz of this case, all
                                    stages or these
stage_sets.py --list                the cases: name, step that breaks, symptom
stage_sets.py --vendor OUT          files as the vendor's tools leave them

Three tensors (conv, act, out) of four samples. The float stage holds random
numbers, the next ones are quantized (scale 0.05) and drift a little, the last
three are int8 with their scales in __meta__. A case changes conv and what is
behind it from one stage on.
"""
import json
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "sweep"))
import npz  # noqa: E402

STAGES = ["float", "calibration", "qat", "qat.export", "qat.bc",
          "quantized.bc", "hbm", "board"]
INTEGER = STAGES[5:]
TENSORS = {"input": (1, 4, 4, 3), "conv": (1, 4, 4, 8), "act": (1, 4, 4, 8),
           "out": (1, 10)}
SCALE = 0.05
SAMPLES = 4


def clip(q):
    return max(-128, min(127, q))


def size(shape):
    n = 1
    for d in shape:
        n *= d
    return n


# What a case does to the integers of one tensor: (integers, sample) -> new.
def other(q, sample):
    rng = random.Random(1000 + sample + len(q))
    return [rng.randint(-90, 90) for _ in q]


def zeros(q, sample):
    return [0] * len(q)


def offset(q, sample):
    return [clip(v + 9) for v in q]


def factor(q, sample):
    return [2 * v for v in q]


def saturated(q, sample):
    return [max(-40, min(40, v)) for v in q]


def one_sample(q, sample):
    return saturated(q, sample) if sample == 2 else q


def rounding(q, sample):
    return [clip(v + (i % 5 == 0)) for i, v in enumerate(q)]


def low_end(q, sample):
    return [max(v, -127) for v in q]


def permuted(q, sample):
    return q[::-1]


def wrapped(q, sample):
    return [v - 256 if v > 60 else v + 256 if v < -60 else v for v in q]


# name: (first bad stage or None, what is done, symptom, in floats NaN)
CASES = {
    "clean": (None, None, ""),
    "calibration": ("calibration", other, ""),
    "qat": ("qat", other, ""),
    "export-pre": ("qat.export", other, ""),
    "export": ("qat.bc", other, ""),
    "convert": ("quantized.bc", other, ""),
    "compile": ("hbm", other, ""),
    "deploy": ("board", other, ""),
    "zeros": ("quantized.bc", zeros, "all-zero"),
    "offset": ("qat.bc", offset, "constant-offset"),
    "factor": ("qat.export", factor, "constant-factor"),
    "nan": ("qat.export", None, "nan-inf"),
    "saturated": ("calibration", saturated, "saturated"),
    "overflow": ("quantized.bc", one_sample, "some-inputs"),
    "rounding": ("board", rounding, "rounding"),
    "low-end": ("hbm", low_end, "low-end"),
    "permuted": ("hbm", permuted, "permuted"),
    "wrapped": ("qat.bc", wrapped, "wrapped"),
    "stale": ("board", None, "stale"),
}


def integers(tensor, sample):
    rng = random.Random("%s %d" % (tensor, sample))
    q = [clip(int(rng.gauss(0, 34))) for _ in range(size(TENSORS[tensor]))]
    q[0] = -128  # the lowest value occurs
    return q


def tensor_of(case, stage, tensor, sample):
    """Real values, in units of the scale."""
    first, change, symptom = CASES[case]
    bad = (first is not None and tensor != "input" and
           STAGES.index(stage) >= STAGES.index(first))
    if bad and symptom == "stale":
        sample = 0
    q = integers(tensor, sample)
    at = STAGES.index(stage)
    rng = random.Random("%s %s %d" % (stage, tensor, sample))
    if at == 0:
        q = [v + rng.uniform(-0.5, 0.5) for v in q]
    elif 2 <= at <= 5 and tensor != "input":
        # Every stage of its own: here and there one LSB.
        q = [clip(v + rng.choice((-1, 1))) if rng.random() < 0.01 * at else v
             for v in q]
    if at > 5 and tensor != "input":
        q = [round(v) for v in
             tensor_of("clean", "quantized.bc", tensor, sample)]
    if bad and change is not None:
        q = change(q, sample)
    if bad and symptom == "nan-inf" and stage not in INTEGER:
        q = [float("nan") if i % 7 == 3 else v for i, v in enumerate(q)]
    return q


def array(stage, shape, q):
    if stage in INTEGER:
        return npz.Array("|i1", shape, struct.pack(
            "%db" % len(q), *[clip(round(v)) for v in q]))
    return npz.Array("<f4", shape, struct.pack(
        "<%df" % len(q), *[v * SCALE for v in q]))


def text(s):
    return npz.Array("<U%d" % len(s), (), s.encode("utf-32-le"))


def write_case(out, case, stages):
    for stage in stages:
        folder = os.path.join(out, stage)
        os.makedirs(folder, exist_ok=True)
        for sample in range(SAMPLES):
            arrays = {t: array(stage, shape,
                               tensor_of(case, stage, t, sample))
                      for t, shape in TENSORS.items()}
            if stage in INTEGER:
                arrays["__meta__"] = text(json.dumps(
                    {"scales": {t: SCALE for t in TENSORS}}))
            npz.write(os.path.join(folder, "%04d.npz" % sample), arrays)


# ---- files of the vendor's tools, written by hand ---------------------------

LAYERS = [
    # name, base, analysed, dtype, qscale, cosine, l1, atol, base and analysed
    # minimum, maximum, mean
    ("quant", "quantization.stubs.QuantStub", "nn.qat.stubs.QuantStub",
     "qint8", 0.0078, 0.99999, 0.0019, 0.0039,
     (-0.99, -0.99, 0.99, 0.99, 0.0, 0.0)),
    ("conv", "torch.nn.modules.conv.Conv2d", "nn.qat.conv2d.Conv2d", "qint8",
     0.05, 0.99812, 0.012, 0.11, (-6.1, -6.0, 6.3, 6.3, 0.1, 0.1)),
    ("head.norm", "torch.nn.LayerNorm", "nn.qat.stubs.QuantStub", "qint8",
     0.0522, 0.36010, 0.6762, 12.48,
     (-9.21, -6.52, 10.27, 6.63, -0.017, -0.025)),
    ("head.mul", "torch.mul", "nn.qat.functional_modules.FloatFunctional",
     "qint8", 0.7764, 0.97, 0.32, 3.9, (-99.0, -98.6, 98.1, 97.9, 0.0, 0.0)),
]
HEAD = ["", "mod_name", "base_op_type", "analy_op_type", "shape",
        "quant_dtype", "qscale", "Cosine", "L1", "Atol", "max_qscale_diff",
        "base_model_min", "analy_model_min", "base_model_max",
        "analy_model_max", "base_model_mean", "analy_model_mean"]


def rows():
    for i, (name, base, analy, dtype, scale, cosine, l1, atol, ends) in \
            enumerate(LAYERS):
        yield [str(i), name, base, analy, "torch.Size([1, 4, 4, 8])", dtype,
               "%.7f" % scale, "%.7f" % cosine, "%.7f" % l1, "%.7f" % atol,
               "%.7f" % (atol / scale)] + ["%.7f" % v for v in ends]


def csv_line(cells):
    return ",".join('"%s"' % c if "," in c else c for c in cells)


def pipe_table(head, body):
    body = list(body)
    widths = [max(len(r[i]) for r in [head] + body) for i in range(len(head))]
    rule = "+".join("-" * (w + 2) for w in widths)
    line = lambda r: "|" + "|".join(" %-*s " % (w, c)  # noqa: E731
                                    for w, c in zip(widths, r)) + "|"
    return "\n".join(["+" + rule + "+", line(head), "|" + rule + "|"] +
                     [line(r) for r in body] + ["+" + rule + "+", ""])


def plain_table(head, body):
    body = list(body)
    widths = [max(len(r[i]) for r in [head] + body) for i in range(len(head))]
    line = lambda r: "  ".join("%-*s" % (w, c)  # noqa: E731
                               for w, c in zip(widths, r)).rstrip()
    return "\n".join([line(head), "  ".join("-" * w for w in widths)] +
                     [line(r) for r in body] + [""])


def vendor_files():
    metrics = ["Name/Index", "Cosine", "L1", "ATOL"]
    yield "compare_per_layer_out.csv", "\n".join(
        csv_line(r) for r in [HEAD] + list(rows())) + "\n"
    yield "compare_per_layer_out.txt", pipe_table(HEAD, rows())
    yield "badcase.txt", (
        "The bad case input index of each output:\n" +
        plain_table(metrics, [["boxes", "17", "3", "3"],
                              ["scores", "5", "3", "9"]]) +
        "\n\nThe metric results of each badcase:\n" +
        plain_table(metrics, [["boxes", "0.81", "2.25", "7.5"],
                              ["scores", "0.93", "0.5", "0.75"]]) +
        "\n\nThe bad case input index of the worst output:\n" +
        plain_table(["metric", "dataloader index"],
                    [["Cosine", "17"], ["L1", "3"], ["ATOL", "3"]]))
    yield "output_boxes_ATOL_sensitive_ops.txt", plain_table(
        ["op_name", "sensitive_type", "op_type", "ATOL", "quant_dtype",
         "flops"],
        [["head.norm", "activation", "<class 'nn.qat.stubs.QuantStub'>",
          "0.363303", "qint8", "1024(0.07%)"],
         ["conv", "activation", "<class 'nn.qat.conv2d.Conv2d'>", "0.1086",
          "qint8", "2048(0.41%)"]])
    got = [("quant", "qint8"), ("conv", "qint8"), ("head.norm", "qint16"),
           ("head.mul", "qint8"), ("head.add", "qint8")]
    yield "model_check_result.txt", (
        "input dtype statistics:\n" +
        pipe_table(["module type", "torch.float32", "qint8"],
                   [["<class 'nn.qat.conv2d.Conv2d'>", "0", "1"]]) +
        "\nEach layer out qconfig:\n" +
        pipe_table(["Module Name", "Module Type", "Input dtype", "out dtype",
                    "ch_axis", "observer"],
                   [[name, "<class 'M'>", "['qint8']", "['%s']" % dtype, "-1",
                     "MinMaxObserver(averaging_constant=0.01)"]
                    for name, dtype in got]) +
        "\nWeight qconfig:\n" +
        pipe_table(["Module Name", "Module Type", "weight dtype", "ch_axis"],
                   [["conv", "<class 'M'>", "qint8", "0"]]))
    yield "qconfig_dtypes.pt.py", (
        "# generated\nfrom torch import float16\n{\n"
        "    'conv': {'input': qint8, 'weight': qint8, 'output': 'qint16'},\n"
        "    'head.norm': {'input': [qint8], 'output': qint16},\n"
        "    'head.mul': {'output': qint16},\n"
        "    'head.add': {'output': torch.float16},\n"
        "    'neck.norm': {'output': qint16},\n}\n")
    yield "qconfig_changelogs.txt", (
        "ModuleNameTemplate:\n"
        "  conv: output qint8 -> qint16\n"
        "  head.norm: output qint8 -> qint16\n"
        "  head.mul: output set to qint16\n"
        "  neck.norm: no module matched, wanted qint16\n"
        "ConvDtypeTemplate(input_dtype=qint8):\n"
        "  conv: output qint16 -> qint8\n"
        "Canonicalize:\n"
        "  head.mul: output qint16 -> qint8, fallback: mul does not support "
        "this pair of inputs\n")
    yield "P_quant_info.json", json.dumps({
        "Conv_0": {"type": "Conv", "inputs": ["x"], "outputs": ["y"],
                   "thresholds": [[1.5]], "cosine_similarity": "0.998541"}},
        indent=1) + "\n"


def main(argv):
    if argv == ["--list"]:
        for name, (stage, _, symptom) in CASES.items():
            before = STAGES[STAGES.index(stage) - 1] if stage else "-"
            print(name, before, stage or "-", symptom or "-")
        return 0
    if len(argv) == 2 and argv[0] == "--vendor":
        os.makedirs(argv[1], exist_ok=True)
        for name, body in vendor_files():
            with open(os.path.join(argv[1], name), "w",
                      encoding="utf-8") as f:
                f.write(body)
        return 0
    if len(argv) < 2 or argv[1] not in CASES:
        sys.exit(__doc__)
    write_case(argv[0], argv[1], argv[2:] or STAGES)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
