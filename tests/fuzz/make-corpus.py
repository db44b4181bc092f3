#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of tests/fuzz/corpus/. Needs protoc and Python only.

make-corpus.py       run in the repository's root; the results are committed
"""

import hashlib
import io
import os
import struct
import subprocess
import sys
import zipfile

TOP = "tests/fuzz/corpus"
SHA = "\\001\\002" * 16


def put(fuzzer, name, data):
    folder = os.path.join(TOP, fuzzer)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


def encode(proto, kind, text):
    return subprocess.run(["protoc", "--encode=" + kind, proto],
                          input=text.encode(), check=True,
                          stdout=subprocess.PIPE).stdout


# ---- messages -------------------------------------------------------------

INFO = '''info { build_id: "1" board_id: "b" soc: "s" firmware: "f"
    machine: "aarch64" features: "asimd" kernels: "neon" cpu_flags: 1 cores: 4
    memory_limit: 268435456 memory_used: 5 blobs: 2 uptime_s: 9
    lease_owner: "" lease_expires_ms: 0 header_limit: 1048576
    tile_limit: 65536 chunk_limit: 1048576 backends: "cpu" }'''
CLIENT = {
    "hello": 'version_min: 1 version_max: 1 build_id: "1.0.0"',
    "lease_acquire": 'owner: "me@here 1" ttl_ms: 30000',
    "lease_release": "",
    "blob_query": 'sha256: "%s%s"' % (SHA, SHA),
    "blob_put": 'sha256: "%s" total: 4 offset: 0' % SHA,
    "slice_load": 'sha256: "%s"' % SHA,
    "run_tensor": "tensor: 0 total: 4 offset: 0",
    "run_start": 'run: 1 mode: RUN_MODE_ISOLATED layers: "\\003" '
                 'cpumask: 4294967295 layer_timeout_ms: 30000 '
                 'stall_timeout_ms: 30000 credit: 1048576 capture: 1 '
                 'probe_work: 9',
    "run_expect": 'tensor: 1 tiles: 3 first: 1 digests: "%s"' % SHA,
    "credit": "bytes: 65536",
    "cancel": "run: 1",
    "ping": "nonce: 7",
    "status": "",
    "self_test": "memory_bytes: 9",
}
AGENT = {
    "hello_ack": "version: 1 version_min: 1 version_max: 1 " + INFO,
    "lease_granted": "ttl_ms: 30000",
    "lease_released": "",
    "blob_missing": 'sha256: "%s"' % SHA,
    "blob_stored": 'sha256: "%s"' % SHA,
    "slice_loaded": "layers: 3 arena_bytes: 4096 packed_bytes: 64",
    "layer_begin": 'run: 1 layer: 2 tensor: 3 dtype: 1 dims: 1 dims: 4 '
                   'bytes: 4 kernel: "assay_copy__ref"',
    "chunk": 'run: 1 layer: 2 offset: 0 digest: "%s"' % SHA[:64],
    "layer_end": 'run: 1 layer: 2 bytes: 4 digest: "%s" time_us: 3'
                 % SHA[:64],
    "layer_probe": 'run: 1 layer: 2 values: 4 work: 9 has_sums: true min: -3 '
                   'max: 5 running_16: 2 running_32: 1 pairs_16: 1 '
                   'steps { step: 1 can: 15 ties: 1 low: 2 high: 3 left: 4 } '
                   'steps { operand: 2 can: 1 } facts { fact: 5 n: 1 } '
                   'entries: "%s"' % SHA,
    "layer_stats": "run: 1 layer: 2 count: 4 zeros: 1 at_low: 1 min: -2 "
                   "max: 5 sum_low: 3 bins: [" + "0, 4, " + "0, " * 29 +
                   "0]",
    "layer_tiles": 'run: 1 layer: 2 first: 1 digests: "%s"' % SHA,
    "layer_missing": "run: 1 layer: 2 tensor: 3",
    "run_end": "run: 1 layers_done: 3 bytes: 4 time_us: 9",
    "pong": "nonce: 7",
    "status_reply": INFO,
    "self_test_reply": 'kind: 1 verdict: 2 name: "k" rung: "neon" '
                       'text: "wrong" checks: 3 time_us: 4',
    "error": 'code: -40 status_class: 4 text: "the worker died" '
             'has_layer: true layer: 2 detail: "kernel" fatal: true',
}
PAYLOAD = ("blob_put", "run_tensor", "chunk")


def frame(direction, sequence, header, payload):
    # The hash is 0: the fuzzer mends it when its first byte says so.
    return struct.pack("<4sIIIIIQ", b"ASY1", direction, sequence, len(header),
                       len(payload), 0, 0) + header + payload


def messages():
    for direction, table in ((0, CLIENT), (1, AGENT)):
        stream = b""
        for k, (name, text) in enumerate(table.items()):
            header = encode("proto/assay.proto", "assay.pb.Envelope",
                            "%s { %s }" % (name, text))
            payload = b"\1\2\3\4" if name in PAYLOAD else b""
            put("codec", name, bytes([direction, len(payload)]) + header)
            stream += frame(direction, k, header, payload)
        for piece in (0, 5, 15):
            put("frame", "%s-%d" % ("agent" if direction else "client", piece),
                bytes([0x80 | piece << 1 | direction]) + stream)
        put("frame", "no-hash-%d" % direction, bytes([30 | direction]) +
            stream)


# ---- slices ----------------------------------------------------------------

def tensor(name, dtype, dims, role=0, size=0, more="", sha=SHA):
    text = 'tensors { name: "%s" role: %d dtype: %d ' % (name, role, dtype)
    text += " ".join("dims: %d" % d for d in dims)
    perm = "".join("\\%03o" % k for k in range(len(dims)))
    text += ' perm: "%s" quant_axis: -1 ' % perm
    if role == 2:
        text += 'sha256: "%s" size: %d ' % (sha, size)
    return text + more + " }\n"


def sized(name, dtype, dims, size):
    """A constant whose digest tells fuzz_slice its size."""
    sha = "".join("\\%03o" % b for b in struct.pack("<BH29x", 0xfe, size))
    return tensor(name, dtype, dims, role=2, size=size, sha=sha)


def operands(*values):
    return "".join("\\%03o" % b for b in struct.pack("<%dq" % len(values),
                                                     *values))


CLAMP = 'steps { kind: 19 n: 1 a: "%s" b: "%s" }' % (operands(-128),
                                                     operands(127))
REQUANT = ('steps { kind: 5 n: 1 a: "%s" } steps { kind: 3 round: 3 n: 1 '
           'a: "%s" } steps { kind: 18 n: 1 a: "%s" } ' %
           (operands(1 << 30), operands(6), operands(-3)) + CLAMP)


def layer(name, op, inputs, output, more):
    return ('layers { name: "%s" source_op: "x" op: %d %s output: %d %s }\n'
            % (name, op, " ".join("inputs: %d" % i for i in inputs), output,
               more))


def slices():
    conv = ("conv2d { stride_h: 1 stride_w: 1 dilation_h: 1 dilation_w: 1 "
            "groups: 1 } out_program { %s }" % REQUANT)
    pool = ("pool { kind: 1 kh: 2 kw: 2 stride_h: 2 stride_w: 2 "
            "dilation_h: 1 dilation_w: 1 }")
    text = 'model_name: "m" model_format: "onnx" model_sha256: "%s" ' \
           'numerics: "onnxruntime-x86"\n' % SHA
    text += tensor("x", 1, (1, 4, 4, 2), role=1)
    text += tensor("w", 1, (3, 1, 1, 2), role=2, size=6)
    text += tensor("c", 1, (1, 4, 4, 3))
    text += tensor("r", 1, (1, 4, 4, 3))
    text += tensor("a", 1, (1, 4, 4, 3))
    text += tensor("p", 1, (1, 2, 2, 3))
    text += tensor("k", 1, (1, 2, 2, 6))
    text += tensor("f", 1, (1, 24), more="is_output: true")
    text += layer("conv", 1, (0, 1), 2, conv)
    text += layer("relu", 3, (2,), 3, "out_program { %s }" % CLAMP)
    text += layer("add", 4, (2, 3), 4, "binary { combine: 1 } "
                  "in_programs { } in_programs { } out_program { %s }" % CLAMP)
    text += layer("pool", 5, (4,), 5, pool)
    text += layer("cat", 6, (5, 5), 6, "concat { axis: 3 } "
                  "in_programs { } in_programs { }")
    text += layer("flat", 7, (6,), 7, "")
    data = encode("proto/assay.proto", "assay.pb.Slice", text)
    put("slice", "small", struct.pack("<H", 6) + data)
    skipped = text.replace("op: 3 ", "op: 9 skip_reason: \"why\" ")
    data = encode("proto/assay.proto", "assay.pb.Slice", skipped)
    put("slice", "skipped", struct.pack("<H", 6) + data)
    gemm = 'model_name: "g" model_format: "onnx" model_sha256: "%s"\n' % SHA
    gemm += tensor("x", 1, (2, 3), role=1)
    gemm += tensor("w", 1, (4, 3), role=2, size=12)
    gemm += tensor("y", 1, (2, 4), more="is_output: true")
    gemm += tensor("s", 6, (2, 4))
    gemm += layer("gemm", 2, (0, 1), 2, conv)
    gemm += layer("softmax", 8, (2,), 3, "softmax { kind: 1 }")
    data = encode("proto/assay.proto", "assay.pb.Slice", gemm)
    put("slice", "gemm", struct.pack("<H", 12) + data)


def fixed():
    """The operators of fixed-point models, a layer each."""
    fits = "out_program { %s }" % CLAMP
    scaled = ('out_program { steps { kind: 20 n: 1 a: "%s" b: "%s" } '
              'steps { kind: 9 bits: 32 } steps { kind: 3 n: 1 a: "%s" } '
              'steps { kind: 8 bits: 8 } }'
              % (operands(3), operands(20000), operands(7)))
    conv = "stride_h: 1 stride_w: 1 dilation_h: 1 dilation_w: 1 groups: 1"
    turn = ("dims: 1 dims: 6 dims: 4 dims: 3 strides: 72 strides: 3 "
            "strides: 18 strides: 1")
    back = "dims: 6 dims: 12 strides: -12 strides: 1 offset: 60"
    text = 'model_name: "z" model_format: "onnx" model_sha256: "%s" ' \
           'numerics: "bayes-e"\n' % SHA
    text += tensor("x", 1, (1, 4, 6, 3), role=1)      # 0
    text += tensor("e", 3, (1, 4, 6, 2), role=1)      # 1
    text += sized("w", 1, (2, 1, 1, 3), 6)            # 2
    text += tensor("c", 1, (1, 4, 6, 2))              # 3
    text += sized("v", 1, (3, 2, 2, 2), 24)           # 4
    text += tensor("d", 1, (1, 8, 12, 3))             # 5
    text += tensor("t", 1, (1, 6, 4, 3))              # 6
    text += tensor("b", 1, (72,))                     # 7
    text += sized("i", 5, (2,), 8)                    # 8
    text += tensor("g", 1, (1, 6, 2, 3))              # 9
    text += tensor("r", 1, (1, 1, 1, 3))              # 10
    text += tensor("a", 1, (1, 4, 3))                 # 11
    text += sized("lut", 3, (256,), 512)              # 12
    text += tensor("l", 3, (1, 4, 6, 3))              # 13
    text += sized("table", 3, (6, 64), 768)           # 14
    text += sized("rows", 5, (8, 5), 160)             # 15
    text += tensor("s", 3, (1, 4, 6, 3))              # 16
    text += tensor("p", 3, (1, 4, 6, 3))              # 17
    text += tensor("z", 1, (1, 8, 8, 3))              # 18
    text += tensor("grid", 3, (1, 5, 5, 2), role=1)   # 19
    text += tensor("q", 1, (1, 5, 5, 3))              # 20
    text += tensor("k", 1, (3, 2), role=1)            # 21
    text += tensor("m", 1, (1, 4, 6, 2))              # 22
    text += tensor("n", 1, (1, 4, 6, 2), more="is_output: true")  # 23
    text += tensor("f", 6, (1, 4, 3), role=1)         # 24
    text += tensor("exp", 6, (1, 4, 3))               # 25
    text += tensor("norm", 6, (1, 4, 3))              # 26
    text += tensor("pick", 1, (1, 4, 6, 2))           # 27
    text += layer("conv", 1, (0, 2, 1), 3,
                  "conv2d { %s has_second: true } %s" % (conv, scaled))
    text += layer("deconv", 14, (3, 4), 5, "conv2d { %s } %s" % (
        conv.replace("stride_h: 1 stride_w: 1", "stride_h: 2 stride_w: 2"),
        "out_program { %s }" % REQUANT))
    text += layer("turn", 10, (0,), 6, "view { %s }" % turn)
    text += layer("back", 10, (0,), 7, "view { %s }" % back)
    text += layer("gather", 11, (6, 8), 9, "gather { axis: 2 }")
    text += layer("mean", 12, (0,), 10, "reduce { kind: 1 axes: 6 } " + fits)
    text += layer("place", 12, (0,), 11, "reduce { kind: 4 axes: 4 } " + fits)
    text += layer("lut", 16, (0, 12), 13, "")
    text += layer("lut2", 17, (13, 14, 15), 16,
                  "segment { symmetry: 2 round: 3 mix_round: 3 }")
    text += layer("prelu", 15, (16,), 17,
                  "in_programs { } in_programs { steps { kind: 3 n: 1 "
                  'a: "%s" } }' % operands(3))
    text += layer("resize", 18, (0,), 18, "resize { step_h: 32768 step_w: "
                  "49152 start_h: -16384 decimal_bits: 16 weight_bits: 8 } "
                  + fits)
    text += layer("sample", 19, (0, 19), 20,
                  "grid_sample { padding: 2 coord_shift: 6 absolute: true } "
                  + fits)
    text += layer("product", 13, (0, 21), 22, fits)
    text += layer("most", 4, (22, 3), 23, "binary { combine: 9 } "
                  "in_programs { } in_programs { } " + fits)
    text += layer("exp", 20, (24,), 25, "function { kind: 8 }")
    text += layer("norm", 21, (25,), 26,
                  "normalize { kind: 1 axis: 2 epsilon: 925353388 }")
    text += layer("pick", 22, (22, 23, 22), 27, "")
    data = encode("proto/assay.proto", "assay.pb.Slice", text)
    put("slice", "fixed", struct.pack("<H", 6) + data)


# ---- npy, npz ---------------------------------------------------------------

def npy(descr, shape, data, fortran=False, version=1):
    text = "{'descr': %r, 'fortran_order': %s, 'shape': %r, }" % (
        descr, fortran, shape)
    size = 10 if version == 1 else 12
    text += " " * (63 - (size + len(text)) % 64) + "\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode() + data


def arrays():
    parts = {
        "s8": npy("|i1", (2, 3), bytes(6)),
        "f32": npy("<f4", (2, 2), bytes(16)),
        "f64": npy("<f8", (2,), bytes(16)),
        "fortran": npy("<i2", (2, 3), bytes(12), True),
        "scalar": npy("<i4", (), bytes(4)),
        "bool": npy("|b1", (3,), b"\0\1\1"),
        "version2": npy("<i8", (1,), bytes(8), version=2),
        "text": npy("<U3", (), b"a\0\0\0b\0\0\0c\0\0\0"),
        "empty": npy("|u1", (0, 5), b""),
    }
    for name, data in parts.items():
        put("npz", name + ".npy", data)
    for how, kind in (("stored", zipfile.ZIP_STORED),
                      ("deflated", zipfile.ZIP_DEFLATED)):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", kind) as z:
            for name, data in list(parts.items()) + [
                    ("__meta__", npy("<U2", (), b"{\0\0\0}\0\0\0")),
                    ("__layers__", npy("<U2", (), b"[\0\0\0]\0\0\0"))]:
                z.writestr(zipfile.ZipInfo(name + ".npy"), data,
                           compress_type=kind)
        put("npz", how + ".npz", out.getvalue())


# ---- options, ONNX ----------------------------------------------------------

def options():
    lines = {
        "run": "run case --target 127.0.0.1:7410 --all --json r.json",
        "files": "run -m a.onnx -i x.npz -i y.npy -r g.npz -o out --local",
        "values": "run c --local --max-lsb conv*:1 --atol 1e-3 --rtol x:2 "
                  "--mode isolated --sort-by cosine --max-rows 5 "
                  "--cpumask neon --require sim,bpu --min-coverage 50",
        "arith": "run c --local --arith conv1=q31_double --numerics "
                 "onnxruntime-x86 --layers a* --skip-layers b? --op-type C*",
        "target": "run c --target=ssh:root@b:/opt/assayd -vv --timeout 2.5",
        "show": "show m.onnx --layer conv1",
        "info": "info --target exec:qemu-aarch64",
        "later": "run c --repeat 3 --html f",
        "mutate": "mutate c --layer conv1 --set P5=all:3 --set pad=1 -o a.slice",
        "replay": "replay a.assay --hypothesis R1 --save-failing d",
        "help": "--help",
    }
    for name, text in lines.items():
        put("options", name, "\n".join(text.split()).encode())


def agent_options():
    lines = {"listen": "--listen 127.0.0.1:0 --memory 64M --board-id b-1",
             "stdio": "--stdio --log-level debug --cpumask neon,dotprod",
             "numbers": "--listen unix:/s --memory 18446744073709551615G",
             "help": "--help --version"}
    for name, text in lines.items():
        put("agent_options", name, "\n".join(text.split()).encode())


def onnx():
    head = ('ir_version: 8 opset_import { version: 13 } graph { name: "g" '
            'input { name: "x" type { tensor_type { elem_type: 3 shape { '
            'dim { dim_value: 1 } dim { dim_value: 2 } dim { dim_value: 4 } '
            'dim { dim_value: 4 } } } } } '
            'output { name: "y" } ')
    scalar = ('initializer { name: "%s" data_type: %d %s } ')
    consts = (scalar % ("s", 1, "float_data: 0.5") +
              scalar % ("z", 3, "int32_data: 0") +
              'initializer { name: "w" dims: 3 dims: 2 dims: 1 dims: 1 '
              'data_type: 3 raw_data: "\\001\\002\\003\\004\\005\\006" } '
              'initializer { name: "b" dims: 3 data_type: 6 '
              'int32_data: 1 int32_data: 2 int32_data: 3 } '
              'initializer { name: "shape" dims: 2 data_type: 7 '
              'int64_data: 1 int64_data: -1 } ')
    qconv = ('node { op_type: "QLinearConv" name: "c" input: "x" input: "s" '
             'input: "z" input: "w" input: "s" input: "z" input: "s" '
             'input: "z" input: "b" output: "t" attribute { name: "pads" '
             'type: 7 ints: 0 ints: 0 ints: 0 ints: 0 } } ')
    end = ('node { op_type: "Reshape" name: "r" input: "t" input: "shape" '
           'output: "y" } }')
    put("onnx", "qlinear.onnx",
        encode("host-tools/model/onnx.proto", "assay_onnx.Model",
               head + consts + qconv + end))
    qdq = ('node { op_type: "DequantizeLinear" input: "x" input: "s" '
           'input: "z" output: "xf" } '
           'node { op_type: "DequantizeLinear" input: "w" input: "s" '
           'input: "z" output: "wf" } '
           'node { op_type: "Conv" name: "c" input: "xf" input: "wf" '
           'output: "cf" attribute { name: "kernel_shape" type: 7 ints: 1 '
           'ints: 1 } } '
           'node { op_type: "QuantizeLinear" input: "cf" input: "s" '
           'input: "z" output: "cq" } '
           'node { op_type: "Novel" domain: "other" input: "cq" '
           'output: "y" } }')
    put("onnx", "qdq.onnx",
        encode("host-tools/model/onnx.proto", "assay_onnx.Model",
               head + consts + qdq))


# ---- bundles: the fuzzer makes hashes and the end good -----------------------

def digest(data):
    return "".join("\\%03o" % b for b in hashlib.sha256(data).digest())


def bundle(slice_text, constants, samples):
    blobs = constants + [encode("proto/assay.proto", "assay.pb.Slice",
                                slice_text)]
    frames = [("hello { version_min: 1 version_max: 1 build_id: \"1\" }", b""),
              ('note { key: "column" text: "cpu" }', b"")]
    for blob in blobs:
        frames.append(('blob_put { sha256: "%s" total: %d }'
                       % (digest(blob), len(blob)), blob))
    frames.append(('slice_load { sha256: "%s" }' % digest(blobs[-1]), b""))
    for k in range(samples):
        frames += [
            ("run_tensor { tensor: 0 total: 4 }", b"\1\2\3\4"),
            ("note_tensor { kind: 1 tensor: 2 total: 4 }", b"\1\2\3\4"),
            ("note_tensor { kind: 2 tensor: 2 total: 4 }", b"\1\2\3"),
            ("note_tensor { kind: 2 tensor: 2 total: 4 offset: 3 }", b"\5"),
            ("run_start { run: 1 mode: RUN_MODE_CUMULATIVE sample: %d }" % k,
             b"")]
    return b"".join(frame(0, k, encode("proto/assay.proto",
                                       "assay.pb.Envelope", text), payload)
                    for k, (text, payload) in enumerate(frames))


def bundles():
    weights = b"\1\2\3\4"
    text = 'model_name: "m" model_sha256: "%s" ' % SHA
    text += tensor("x", 1, (1, 4), role=1)
    text += tensor("w", 1, (4,), role=2, size=4, sha=digest(weights))
    text += tensor("y", 1, (1, 4), more="is_output: true")
    text += layer("u", 3, (0,), 2, 'form: "conv" rule: "mul scale" half: true '
                  'fields { name: "scale" v: "%s" } out_program { %s }'
                  % (operands(1, 2), CLAMP))
    for name, samples in (("slice", 0), ("one", 1), ("two", 2)):
        data = bundle(text, [weights], samples)
        put("bundle", name, b"\1" + data)
        put("bundle", name + "-as-it-is", b"\0" + data)


# ---- pictures: a spec's bytes, then a file --------------------------------------

def pictures():
    sys.path.insert(0, "tests/support")
    import picture as maker
    files = {}
    for kind, size in (("photo", (12, 8)), ("gray", (5, 3))):
        path = os.path.join(TOP, "picture.tmp")
        maker.write_png(path, *size, maker.pixels(kind, *size))
        with open(path, "rb") as f:
            files[kind] = f.read()
        os.remove(path)
    for name in ("small", "progressive", "turned"):
        with open("tests/data/pictures/%s.jpg" % name, "rb") as f:
            files[name] = f.read()
    # Type, width, height, orientation, fit and filter, colour, NV12's
    # choices, layout, values, mean, scale, dtype, its scale, memory.
    heads = (bytes([0, 8, 6, 1, 0, 0, 0, 1, 1, 0, 1, 0, 16, 1, 32, 7]),
             bytes([3, 9, 7, 0, 1, 1, 0, 2, 16, 9, 1, 2, 8, 1, 1, 7]),
             bytes([2, 4, 4, 6, 51, 19, 20, 0, 1, 0, 1, 0, 16, 0, 3, 7]))
    for name, data in files.items():
        for i, head in enumerate(heads):
            put("picture", "%s-%d" % (name, i), head + data)
    put("picture", "nv12", bytes([0, 8, 6, 1, 0, 0, 0, 1, 1, 0, 1, 0, 16, 1, 0,
                                  48]) + bytes(range(72)))
    put("picture", "bgr-stride",
        bytes([4, 4, 2, 3, 2, 0, 0, 0, 4, 0, 1, 5, 16, 3, 16, 19]) +
        bytes(range(32)))


# ---- sessions: how far, the cut, habits of workers, then frames -----------------

def sessions():
    def stream(*names):
        out = b""
        for k, (name, text, payload) in enumerate(names):
            out += frame(0, k, encode("proto/assay.proto", "assay.pb.Envelope",
                                      "%s { %s }" % (name, text)), payload)
        return out

    begin = (("hello", CLIENT["hello"], b""),
             ("lease_acquire", CLIENT["lease_acquire"], b""))
    more = (("ping", "nonce: 1", b""), ("status", "", b""),
            ("blob_query", CLIENT["blob_query"], b""),
            ("blob_put", CLIENT["blob_put"], b"\1\2\3\4"),
            ("slice_load", CLIENT["slice_load"], b""))
    run = (("run_tensor", "tensor: 0 total: 64", bytes(64)),
           ("run_start", "run: 1 mode: RUN_MODE_CUMULATIVE credit: 9999", b""),
           ("credit", "bytes: 64", b""), ("cancel", "run: 1", b""))
    release = (("lease_release", "", b""),
               ("lease_acquire", CLIENT["lease_acquire"], b""))
    calm, wild = bytes(16), bytes([0, 3, 9, 9, 9, 9, 0x80, 7] * 2)
    table = {"begin": (0, begin + more), "leased": (2, more + release),
             "loaded": (3, run + release), "again": (3, run + run),
             "given": (4, run[1:]), "running": (5, run[2:] + more[:2]),
             "flood": (1, more[:2] * 60)}
    for name, (stage, frames) in table.items():
        for k, habits in enumerate((calm, wild)):
            put("session", "%s-%d" % (name, k),
                bytes([stage, 12 - 8 * k]) + habits + stream(*frames))
    for k, habit in enumerate((0x80, 0x81, 2, 3, 4, 0xff)):
        put("session", "worker-%d" % k,
            bytes([4, 0x4c, habit, habit, 5, 77, 3]) + bytes(13)
            + stream(*run[1:]))


# ---- pins -------------------------------------------------------------------

def pins():
    a = "SHA256:ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs"
    b = "SHA256:PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0"
    texts = {
        "two": "# who\n\nann@lab %s\nbob %s\n" % (a, b),
        "boards": "b7:7410 %s\n[::1]:7410 %s\n" % (a, a),
        "blanks": " \t ann \t %s \r\n  # x\r\n\r\n" % a,
        "twice": "ann %s\nann %s\n" % (a, b),
        "short": "ann SHA256:abc\n",
        "loose": "ann %s" % (b[:-1] + "1"),
        "words": "ann\nann %s x\n" % a,
        "nul": "ann\0 %s\n" % a,
    }
    for name, text in texts.items():
        put("pins", name, text.encode())


# ---- the engine: any bytes make a slice, so seeds only have to differ -------

def engine():
    for i in range(4):
        put("plan", "seed-%d" % i, b"plan-%d-conv-view-pool" % i)
    for i in range(8):
        put("engine", "seed-%d" % i, b"seed-%d-conv-pool-add" % i)


messages()
slices()
fixed()
engine()
sessions()
arrays()
options()
agent_options()
onnx()
bundles()
pictures()
pins()
