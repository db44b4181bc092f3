#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run an ONNX model and write every intermediate tensor.

    ort_layers.py MODEL.onnx INPUT.npz OUT.npz [--opt none|basic|all] [--engine ort|onnxref]
                  [--index I] [--int8-qdq] [--x64-precise] [--expose all|int] [--save-optimized PATH]

INPUT.npz   one array per graph input, keyed by input name (or in0, in1, ...).
OUT.npz     tensor name -> array, plus "__layers__" (JSON: node order, op type, inputs, outputs) and "__meta__" (JSON:
            sha256 of the model file and of each input, engine, version, options, CPU architecture and features),
            so that a golden of yesterday's model, or of another kind of CPU, can be told.

--opt none  (default) graph optimizations DISABLED: a QDQ model is computed literally, node by node:
            DequantizeLinear to float32, the FLOAT operator, QuantizeLinear (round half to even, saturate).
            Every node output is written: the integer tensors are the outputs of QuantizeLinear (QDQ) or of
            the QLinear* operators (QOperator); the float tensors between them are written too.
--opt all   optimizations on: ORT fuses DQ -> op -> Q into integer kernels (QLinearConv, QLinearAdd, QGemm ...).
            Only integer tensors are exposed (--expose int is implied), since a float tensor turned into
            a graph output would itself forbid the fusion that is to be observed.
            --save-optimized keeps the fused model so that one can see which operators really ran.
--engine onnxref   the ONNX project's own Python reference evaluator (numpy float32, no fusion,
            no com.microsoft operators): an oracle that shares no code with onnxruntime.
--int8-qdq         session.qdqisint8allowed=1: let QDQ groups with int8 activations fuse too. Off by default on
                   x86-64, where ORT then leaves such a Conv in float (measured); by ORT's source it is on for aarch64.
--x64-precise      session.x64quantprecision=1: avoids the 16-bit saturation of u8*s8 dot products on
            x86 CPUs with AVX2 and no VNNI. On aarch64 there is no such saturation. With ORT 1.32.0 this
                   option fails to load models whose Gemm has int8 activations (QGemm type mismatch).
"""
import argparse
import hashlib
import json
import platform

import numpy as np
import onnx
from onnx import TensorProto, helper

INT = {TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16, TensorProto.INT32}
# operators whose outputs are quantized integers although shape inference does not know them
INT_OPS = {"QuantizeLinear", "QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger", "QLinearAdd",
           "QLinearMul", "QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearConcat", "QLinearSigmoid",
           "QLinearLeakyRelu", "QLinearReduceMean", "QLinearSoftmax", "QGemm", "QLinearWhere", "DynamicQuantizeLinear"}
SAME = {"MaxPool", "Flatten", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Slice", "Identity", "Resize", "Pad",
        "Clip", "Relu", "Concat", "Split", "Gather", "DepthToSpace", "SpaceToDepth", "Expand"}


def layers(model):
    out = []
    for k, n in enumerate(model.graph.node):
        out.append({"index": k, "op": (n.domain + "." if n.domain else "") + n.op_type, "name": n.name,
                    "inputs": list(n.input), "outputs": list(n.output)})
    return out


def int_tensors(model):
    """Names of integer quantized tensors computed by nodes (propagated through data movement)."""
    inits = {i.name for i in model.graph.initializer}
    yes = {i.name for i in model.graph.input if i.type.tensor_type.elem_type in INT and i.name not in inits}
    for n in model.graph.node:
        if n.op_type in INT_OPS or (n.op_type in SAME and n.input and n.input[0] in yes):
            # QGemm without an output scale returns float
            if n.op_type == "QGemm" and len(n.input) < 9:
                continue
            yes.update(o for o in n.output if o)
    return yes


def computed(model):
    return [o for n in model.graph.node for o in n.output if o]


def with_outputs(model, names):
    m = onnx.ModelProto()
    m.CopyFrom(model)
    have = {o.name for o in m.graph.output}
    for n in names:
        if n not in have:
            m.graph.output.append(onnx.ValueInfoProto(name=n))       # ORT infers the type
    return m


def make_inputs(model, npz, index=None):
    inits = {i.name for i in model.graph.initializer}
    feed = {}
    for k, i in enumerate(x for x in model.graph.input if x.name not in inits):
        key = i.name if i.name in npz else "in%d" % k
        if key not in npz:
            raise SystemExit("input %r (or in%d) is missing from the npz, which has %s" % (i.name, k, list(npz)))
        a = np.asarray(npz[key])
        dims = [d.dim_value for d in i.type.tensor_type.shape.dim]
        if index is not None:
            a = a[index]
        if a.ndim == len(dims) - 1:
            a = a[None]
        feed[i.name] = np.ascontiguousarray(a.astype(helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type)))
    return feed


def open_ort(model, opt="none", expose="all", precise=False, saveopt=None, int8_qdq=False):
    """A session that gives every tensor."""
    import onnxruntime as ort
    names = computed(model)
    if opt == "all" or expose == "int":
        yes = int_tensors(model)
        names = [n for n in names if n in yes]
    m = with_outputs(model, names)
    so = ort.SessionOptions()
    so.graph_optimization_level = {"none": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
                                   "basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
                                   "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL}[opt]
    so.intra_op_num_threads = so.inter_op_num_threads = 1
    so.log_severity_level = 3
    if precise:
        so.add_session_config_entry("session.x64quantprecision", "1")
    if int8_qdq:
        so.add_session_config_entry("session.qdqisint8allowed", "1")
    if saveopt:
        so.optimized_model_filepath = saveopt
    return ort.InferenceSession(m.SerializeToString(), so, providers=["CPUExecutionProvider"])


def run_session(s, model, feed):
    outs = [o.name for o in s.get_outputs()]
    return order(model, feed, dict(zip(outs, s.run(outs, feed))))


def run_ort(model, feed, *options, **named):
    return run_session(open_ort(model, *options, **named), model, feed)


def run_onnxref(model, feed, expose="all"):
    from onnx.reference import ReferenceEvaluator
    names = computed(model)
    if expose == "int":
        yes = int_tensors(model)
        names = [n for n in names if n in yes]
    ms = sorted({n.domain for n in model.graph.node} - {"", "ai.onnx"})
    if ms:
        raise SystemExit("onnxref has no operators of domain %s" % ", ".join(ms))
    m = onnx.ModelProto()
    m.CopyFrom(model)
    for o in m.opset_import:                 # the evaluator has Quantize/DequantizeLinear from opset 19 on;
        if o.domain in ("", "ai.onnx"):      # for int8/uint8 the operators used here mean the same there
            o.version = max(o.version, 21)
    ev = ReferenceEvaluator(m)
    # intermediate=True returns every value computed
    r = ev.run(None, feed, intermediate=True)
    return order(model, feed, {k: np.asarray(r[k]) for k in names if k in r})


def order(model, feed, got):
    """Inputs first, then node outputs in graph order."""
    out = {k: np.asarray(v) for k, v in feed.items()}
    for n in computed(model):
        if n in got:
            out[n] = np.asarray(got[n])
    return out


def cpu_features():
    """The CPU features that change results: fused multiply-add and VNNI on x86, dotprod and i8mm on aarch64."""
    want = ("fma", "avx2", "avx512f", "avx_vnni", "avx512_vnni", "asimd", "asimddp", "i8mm")
    try:
        words = next(l for l in open("/proc/cpuinfo") if l.lower().startswith(("flags", "features"))).split()
    except (OSError, StopIteration):
        return []
    return [w for w in want if w in words]


def meta(model_path, feed, engine, options):
    version = __import__("onnxruntime" if engine == "ort" else "onnx").__version__
    digest = lambda b: hashlib.sha256(b).hexdigest()
    return {"model_sha256": digest(open(model_path, "rb").read()),
            "input_sha256": {k: digest(np.ascontiguousarray(v).tobytes()) for k, v in feed.items()},
            "engine": "onnxruntime" if engine == "ort" else "onnx.reference", "version": version, "options": options,
            "machine": platform.machine(), "cpu_features": cpu_features()}


def save(path, arrays, ls, about):
    np.savez_compressed(path, __layers__=np.array(json.dumps(ls)), __meta__=np.array(json.dumps(about)), **arrays)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model"), ap.add_argument("input"), ap.add_argument("out")
    ap.add_argument("--opt", choices=["none", "basic", "all"], default="none")
    ap.add_argument("--engine", choices=["ort", "onnxref"], default="ort")
    ap.add_argument("--expose", choices=["all", "int"], default="all")
    ap.add_argument("--index", type=int)
    ap.add_argument("--x64-precise", action="store_true"), ap.add_argument("--int8-qdq", action="store_true")
    ap.add_argument("--save-optimized")
    a = ap.parse_args()
    model = onnx.load(a.model)
    feed = make_inputs(model, dict(np.load(a.input)), a.index)
    if a.engine == "ort":
        arrays = run_ort(model, feed, a.opt, a.expose, a.x64_precise, a.save_optimized, a.int8_qdq)
    else:
        arrays = run_onnxref(model, feed, a.expose)
    options = {k: getattr(a, k) for k in ("opt", "expose", "x64_precise", "int8_qdq")}
    save(a.out, arrays, layers(model), meta(a.model, feed, a.engine, options))
    print("%s: %d nodes, %d tensors written (%s, opt %s)" % (a.model, len(model.graph.node), len(arrays), a.engine, a.opt))


if __name__ == "__main__":
    main()
