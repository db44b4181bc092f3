#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make tests/data/horizon: a small case with an ARTIFICIAL sim column.

    artificial.py FOLDER            write it
    artificial.py FOLDER --check    is what stands there what would be written?

No vendor tool is involved. The sim column is this project's own executor with
one rule altered: padding of an int16 convolution beyond the symmetric part
counts as 128 instead of 0 ("conv.excess" in rules.py).
"""
import argparse
import json
import os
import sys
import tempfile

import numpy as np

import executor
import scaling
from graph import Graph, write_json
from rules import DEFAULT, altered

SEED = 5
SAMPLES = 2
# Tensors that the sim column shows under the model's own names, and the ends
# of the integer part, which it shows transposed.
INNER = ["same_s2_relu.y_quantized", "pw.y_quantized", "k2_bottom.y_quantized",
         "control_relu.y_quantized"]
ENDS = {"tail_nhwc2nchw_transposed_output0": "tail.y",
        "fc_nhwc2nchw_transposed_output0": "fc.y"}


def conv(g, name, x, cout, kernel, dtype, pads=(0, 0, 0, 0), stride=1,
         relu=False, over=0.7, fill=0.8):
    """A convolution with a bias; shifts from its own accumulators."""
    cin = g.shape(x)[3]
    w = g.r.integers(-90, 91, (cout, kernel, kernel, cin)).astype(np.int8)
    top = int(np.abs(w.astype(int)).sum() / cout) * 300
    b = g.r.integers(-top, top, cout).astype(np.int32)
    attrs = {"dilations": [1, 1], "group": 1, "kernel_shape": [kernel] * 2,
             "pads": list(pads), "strides": [stride] * 2, "use_bias": 1}
    if relu:
        attrs["activation"] = "relu"
    inputs = [x, g.constant(name + "_w_quantized", w),
              g.constant(name + "_b_quantized", b),
              g.constant(name + "_b_b_scale", np.full(cout, 2, np.int8))]
    bits = np.dtype(dtype).itemsize * 8
    attrs.update(weight_thresholds=[1.0] * cout, output_bit=bits,
                 data_format="NHWC", high_precision_output=int(bits == 32))
    if bits != 32:
        raw = g.raw("HzSQuantizedConv", inputs, attrs)
        first, scale, last = scaling.pick(g.r, scaling.largest(raw), bits,
                                          over, fill)
        attrs.update(right_shift=scaling.listed(first),
                     scale=scaling.listed(scale),
                     out_shift=scaling.listed(last))
    end = ("_relu" if relu else "") + ".y_quantized"
    return g.node("HzSQuantizedConv", name, inputs, dtype, [name + end],
                  **attrs)


def sigmoid(g, name, x):
    """Segments 1..6 cover -12288..12288, and are lines of a sigmoid."""
    bound = [-12288, -8192, -4096, 0, 4096, 8192, 12288, 32767]
    at = np.concatenate([np.linspace(bound[s], bound[s + 1], 64)
                         for s in range(6)])
    table = np.round(32767 / (1 + np.exp(-at / 3000.0)))
    # 64 * 256 steps over 4096 values: (v - lower bound) * 4.
    scale = [0] + [16384] * 6 + [0]
    bias = [500] + [-bound[s] for s in range(6)] + [32000]
    left = [0] + [14] * 6 + [0]
    right = [0] + [12] * 6 + [0]
    return g.node(
        "HzLut2Layer", name, [x], np.int16, lut_type="sigmoid",
        output_bit=16, rounding_method="ROUND", symmetry_mode="NONE",
        table_param=scaling.listed(table), scale=scale, bias=bias,
        left_shift=left, right_shift=right, bound=bound, data_format="NHWC")


def tail(g, name, x):
    """Transposed and dequantized: an output of the model."""
    t = g.node("Transpose", name + "_nhwc2nchw_LayoutConvert_Output0", [x],
               g.dtype(x), [name + "_nhwc2nchw_transposed_output0"],
               perm=[0, 3, 1, 2])
    scale = g.r.uniform(1e-7, 1e-6, g.shape(x)[3]).astype(np.float32)
    s = g.constant(name + "_x_scale", scale)
    g.scales[x] = g.scales[t] = [float(v) for v in scale]
    return g.node("HzDequantize", name + "_HzDequantize", [t, s], np.float32,
                  [name + ".y"])


def network():
    g = Graph("horizon", np.random.default_rng(SEED), SAMPLES)
    x = g.input("x", [g.r.normal(0, 0.4 * (s + 1), (1, 3, 12, 12)).astype(
        np.float32) for s in range(SAMPLES)])
    scale = np.float32(1.6 / 32767)
    s = g.constant("x_HzCalibration_y_scale", np.array([scale]))
    q = g.node("HzQuantize", "x_HzCalibration_HzQuantize", [x, s], np.int16,
               ["x_calibrated_quantized"], bits=16)
    t = g.node("Transpose", "same_s2_NCHW2NHWC_LayoutConvert_Input0", [q],
               np.int16, ["same_s2_nchw2nhwc_transposed_input0"],
               perm=[0, 2, 3, 1])
    g.scales[q] = g.scales[t] = [float(scale)]
    a = conv(g, "same_s2", t, 8, 3, np.int16, (0, 0, 1, 1), 2, relu=True)
    b = conv(g, "pw", a, 6, 1, np.int16)
    c = sigmoid(g, "sigmoid", b)
    d = conv(g, "k2_bottom", c, 5, 2, np.int16, (0, 1, 1, 0))
    e = conv(g, "tail", d, 3, 1, np.int32)
    f = conv(g, "control", t, 6, 3, np.int8, (1, 1, 1, 1), 2, relu=True,
             over=1.5, fill=1.5)
    h = conv(g, "fc", f, 4, 6, np.int32)
    for name, v in ((n, float(g.r.uniform(1e-5, 1e-3))) for n in (a, b, c, d)):
        g.scales[name] = [v]
    g.scales[f] = [0.01]
    tail(g, "tail", e)
    tail(g, "fc", h)
    return g


def simulated(folder):
    """Every tensor of each sample under the altered rule."""
    model, rules = executor.load(folder), altered(conv__excess=128)
    for sample, golden in executor.samples(folder):
        have = {k: golden[k] for k in model.inputs}
        for k, (proto, _) in enumerate(model.nodes):
            have.update(zip(proto.output, model.run(k, have, rules)))
        yield sample, golden, have


def write_text(path, v):
    """The simulator's text form: last dimension in a row."""
    with open(path, "w", encoding="ascii") as f:
        f.write("#operator: CONV\n#shift = %s\n#valid_dim=%s\n#dynamic_n=1\n"
                % ("0 " * v.shape[-1], "x".join(str(d) for d in v.shape)))
        for row in v.reshape(-1, v.shape[-1]):
            f.write("".join("%d " % i for i in row) + "\n")


def alone(model, have):
    """Elements of each shown layer that differ on the column's own inputs."""
    out = {}
    for k, (proto, _) in enumerate(model.nodes):
        t = proto.output[0]
        if t in INNER + list(ENDS):
            got = model.run(k, have, DEFAULT)[0]
            out[proto.name] = executor.differing(got, have[t])
    return out


def write(folder):
    made = ("own network with random weights (tests/oracle/horizon/"
            "artificial.py); goldens by this project's own executor; sim is "
            "ARTIFICIAL: the same executor with excess padding of int16 "
            "convolutions as 128; no vendor tool was used")
    g = network()
    g.write(folder, made)
    os.makedirs(os.path.join(folder, "sim"))
    model = executor.load(folder)
    different, isolated, elements = {}, [], 0
    for sample, golden, have in simulated(folder):
        shown = {t: have[t] for t in INNER + list(ENDS.values())}
        for end in ENDS:  # the model's name for them is the untransposed one
            name = end.split("_")[0] + ".y_quantized"
            shown[name] = have[name]
        np.savez_compressed(os.path.join(folder, "sim", sample + ".npz"),
                            **shown)
        isolated.append(alone(model, have))
        for t, v in shown.items():
            elements += v.size
            bad = executor.differing(v, golden[t])
            if bad:
                different.setdefault(t, []).append(
                    [int(sample), bad, v.size])
        text = os.path.join(folder, "sim-text", sample)
        os.makedirs(text)
        for i, t in enumerate(INNER + list(ENDS)):
            write_text(os.path.join(
                text, "hbdk_output%d_feature_%s_elem_int.txt" % (i, t)),
                have[t])
    case = os.path.join(folder, "case.json")
    with open(case, encoding="utf-8") as f:
        told = json.load(f)
    told["golden_vs_sim"] = {
        "elements": elements, "tensors_inner": len(INNER) + len(ENDS),
        "different": different}
    told["artificial_sim"] = {
        "rule": "conv.excess = 128", "isolated_by_sample": isolated}
    write_json(case, told)


def check(folder):
    """Same files; archives have the same arrays (packing may differ)."""
    with tempfile.TemporaryDirectory() as new:
        write(new)
        names = sorted(os.path.relpath(os.path.join(d, f), new)
                       for d, _, fs in os.walk(new) for f in fs)
        for name in names:
            a, b = os.path.join(new, name), os.path.join(folder, name)
            if not os.path.exists(b):
                return "'%s' is missing" % name
            if name.endswith(".npz"):
                with np.load(a) as p, np.load(b) as q:
                    same = p.files == q.files and all(
                        p[k].dtype == q[k].dtype and
                        np.array_equal(p[k], q[k]) for k in p.files)
            else:
                with open(a, "rb") as p, open(b, "rb") as q:
                    same = p.read() == q.read()
            if not same:
                return "'%s' is not what the script writes" % name
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if not args.check:
        write(args.folder)
        return
    fault = check(args.folder)
    if fault:
        sys.exit(fault)
    print("as the script writes it")


if __name__ == "__main__":
    main()
