# SPDX-License-Identifier: Apache-2.0
"""The stand-in networks: digits, and one like a MobileNet with everything."""
import numpy as np

import executor as ex
import integers as z
from hbir import Raw
from net import Net, multiplier, segment_sizes

QUANTIZE = ("quant::quantize(Tensor, double[], int64_t[], bool, int64_t, "
            "bool) -> (Tensor)")
DEQUANTIZE = ("quant::dequantize(Tensor, double[], int64_t[], bool, int64_t, "
              "bool) -> (Tensor)")


def call(net, name, signature, x, parameters, dtype, shape, scale=None):
    return net.op("hbtl.call", name, [x], dtype, shape,
                  {"signature": signature, "parameters": parameters,
                   "diffRank": False, "isCustom": False}, scale)


def per_channel(scales):
    return [float(s) for s in scales]


# ---- digits -----------------------------------------------------------------

def image_inputs(rng, n, shape, scale):
    """Floats of which many stand on a tie of the quantization."""
    out = []
    for k in range(n):
        x = rng.normal(0, 42 * scale * (1.4 if k == n - 1 else 1), shape)
        ties = (np.rint(x / scale) + 0.5) * scale
        out.append(np.where(rng.random(shape) < 0.3, ties, x).astype(
            np.float32))
    return out


def digits(numerics, floats, images, seed=61):
    """floats: {layer.w, layer.b} as trained (OIHW); images [n, 8, 8, 1]."""
    scale = 1 / 16
    net = Net("digits", numerics, seed, [{"image": x[None]} for x in images])
    image = net.input("image", "f32")
    x = call(net, "input quantize", QUANTIZE, image,
             [[scale], [0], False, 0, False], "si8", image.shape, scale)

    def conv(name, x, stride=1, pad=(1, 1, 1, 1), dw=False, e=None,
             relu=True):
        w = np.moveaxis(floats[name + ".w"], 1, 3)
        s_w = np.abs(w).reshape(len(w), -1).max(1) / 127
        q = np.rint(w / s_w[:, None, None, None]).astype(np.int8)
        b = np.rint(floats[name + ".b"] / (x.scale * s_w)).astype(np.int64)
        return trained(net, "backbone." + name, x, q, b, s_w, stride, pad, dw,
                       e, relu)

    x = conv("conv1", x)
    x = conv("conv2", x, 2, (0, 0, 1, 1))
    x = conv("dw3", x, dw=True)
    r = conv("pw4", x, pad=(0, 0, 0, 0))
    x = conv("conv5", r, e=r)
    m = net.max_pool("maxpool", x)
    a = net.avg_pool("avgpool", x, how="scales")
    a = rescaled(net, "avgpool_to_concat", a, m.scale)
    x = net.op("hbir.concat", "concat", [m, a], "si8",
               m.shape[:3] + (m.shape[3] * 2,), {"dim": 3}, m.scale)
    x = conv("pw6", x, pad=(0, 0, 0, 0))
    x, s = mean(net, "gap", x)
    w = floats["fc.w"].T
    s_w = np.abs(w).max(0) / 127
    y = net.linear("head.fc", x, 10, "si32",
                   weights=np.rint(w / s_w).astype(np.int8),
                   bias=np.rint(floats["fc.b"] / (s * s_w)).astype(np.int64))
    y = net.op("b30.dequantize", "head.dequantize", [y], "f32", y.shape,
               {"scales": per_channel(s * s_w), "zeros": [0] * 10, "axis": 3})
    y = net.op("hbir.reshape", "flatten", [y], "f32", (1, 10),
               {"shape": [1, 10]})
    net.g.result(y, "logits")
    return net


def trained(net, name, x, w, b, s_w, stride, pad, dw, e, relu):
    """A convolution whose real multiplier is known: the row is made of it."""
    rule = net.ex.rules["conv"]
    attrs = {"kernel": list(w.shape[1:3]), "stride": [stride, stride],
             "pad": list(pad), "dilation": [1, 1],
             "groupNum": x.shape[3] if dw else 1}
    sums = [ex.window_sums(v, w, attrs) for v in net.values(x, True)]
    more = [0] * len(sums)
    if e is not None:
        more = [v * (e.scale / (x.scale * s_w)) for v in net.values(e, True)]
    unit = x.scale * s_w
    top = max(np.max((s + b + m) * unit) for s, m in zip(sums, more))
    s_y = float(top) / 127
    most = np.max([np.abs(s).reshape(-1, len(w)).max(0) for s in sums], 0)
    rows = []
    late = rule.before("scale", "second_scale") and e is not None
    for c in range(len(w)):
        pre = max(0, int(np.ceil(np.log2(max(int(most[c]), 1)))) -
                  (11 if late else 14 - c % 2))
        scale, post = multiplier(unit[c] / s_y * 2.0 ** pre, 8 if late else 15)
        first = int(b[c])
        if not rule.before("bias", "pre_shift"):
            first >>= pre
        row = [first, 1, 0, pre, scale, post]
        if e is not None:
            k = e.scale / unit[c]  # one of e in sums
            if not rule.before("second_scale", "pre_shift"):
                k /= 2.0 ** pre
            if late:
                k *= scale
            shift = 0 if k > 30000 else int(np.clip(
                np.floor(np.log2(30000 / k)), 0,
                1 if rule.shifts_second_first() else 12))
            row[1:3] = [min(round(k * 2 ** shift), 65535), shift]
        rows.append(row)
    attrs.update(padValue=0, relu=relu,
                 operandSegmentSizes=segment_sizes(e is not None))
    y = net.op("b30.conv2d", name,
               [x, net.const(w, "si8"), net.const(rows, "si64")] +
               ([e] if e is not None else []), "si8", sums[0].shape, attrs,
               s_y)
    return y


def rescaled(net, name, x, scale):
    y = net.op("b30.rescale", name, [x], x.dtype, x.shape,
               {"inScale": float(x.scale), "outScale": float(scale)}, scale)
    return y


def mean(net, name, x):
    """A mean whose multiplier is of scales; returns it and its scale."""
    sums = [v.astype(np.int64).sum((1, 2), keepdims=True)
            for v in net.values(x, True)]
    cells = x.shape[1] * x.shape[2]
    s = x.scale * max(z.largest(v) for v in sums) / cells / 127
    scale, post = multiplier(x.scale / cells / s)
    info = net.const([[0, 1, 0, 0, scale, post]], "si64")
    y = net.op("b30.reduce", name, [x, info], "si8", sums[0].shape,
               {"dims": [1, 2], "mode": "mean", "keepDim": True}, s)
    return y, s


# ---- like a MobileNet -------------------------------------------------------

BLOCKS = (  # wider, channels, stride, second input, int16
    (1, 8, 1, None, False), (2, 12, 2, None, False),
    (2, 12, 1, "sumin", False), (3, 16, 2, None, False),
    (2, 16, 1, "sumin", False), (2, 16, 1, "add", False),
    (2, 20, 1, None, True), (2, 20, 1, "sumin", True),
    (2, 20, 1, "add", True), (2, 20, 1, "sumin", True),
    (2, 24, 2, None, False), (2, 24, 1, "sumin", False),
    (2, 24, 1, "sub", False), (2, 24, 1, "sumin", False))


def block(net, name, x, wider, cout, stride, second, int16):
    y = x
    inner = "si16" if int16 else "si8"
    if wider > 1:
        y = net.conv(name + ".expand", y, x.shape[3] * wider, 1, relu=True,
                     dtype=inner)
    y = net.conv(name + ".dw", y, stride=stride, dw=True, relu=True,
                 dtype=inner, pad=(0, 0, 1, 1) if stride == 2 else None)
    y = net.conv(name + ".project", y, cout, 1, dtype=inner,
                 e=x if second == "sumin" else None)
    if second in ("add", "sub"):
        y = net.binary("%s.%s" % (name, second), y, x, second, inner)
    return y


def squeeze(net, name, x):
    s = net.reduce(name + ".mean", x, (1, 2))
    s = net.linear(name + ".fc1", s, 8, relu=True)
    s = net.linear(name + ".fc2", s, x.shape[3])
    s = net.lut8(name + ".gate", s)
    return net.binary(name + ".scale", x, s, "mul")


def rails(numerics, bits):
    """Bias at and beyond the ends of 32 bits: wrap, saturation, or neither."""
    behind = not numerics.rule("conv").before("bias", "pre_shift")

    def alter(rows):
        for i, row in enumerate(rows):
            sign = 1 if i % 2 else -1
            if i % 4 == 0:
                row[0] = sign * ((1 << 31) - 900 * (i + 1))
                row[3:] = 17, 24577, 31 - bits
                if behind:
                    row[0] >>= 17
            elif i % 4 == 3:
                row[0] = sign * ((1 << 33) - 77777 * (i + 1))
                row[3:] = 2, 1, 31 - 2 - (bits - 2) + 2 * behind
    return alter


def mobile(numerics, seed=67, n=3):
    rng = np.random.default_rng(seed)
    images = image_inputs(rng, n, (1, 32, 32, 3), 0.0625)
    samples = [{
        "img \"front\"": x,
        "grid": rng.integers(-300, 8 * 256 + 300, (1, 6, 7, 2)).astype(
            np.int16),
        "index": rng.integers(-1, 9, (1, 5, 6, 2)).astype(np.int16),
        **{"probe%d" % k: extremes(rng, k // 2 % 2 * 8 + 8, (1, 9, 8, 6))
           for k in range(4)},
    } for x in images]
    net = Net("mobile", numerics, seed, samples)
    img = net.input("img \"front\"", "f32")
    grid = net.input("grid", "si16")
    index = net.input("index", "si16")
    x = call(net, "quant_stub.0", QUANTIZE, img,
             [[0.0625], [0], False, 3, False], "si8", img.shape, 0.0625)
    x = net.conv("stem\\conv", x, 12, stride=2, relu=True, pad=(0, 0, 1, 1))
    early = []
    for k, shape in enumerate(BLOCKS):
        x = block(net, "features.%d" % (k + 1), x, *shape)
        early.append(x)
    side(net, early[0], grid, index)
    wide_part(net, early[8])
    attention(net, early[5])
    x = squeeze(net, "se", x)
    x = net.conv("head.conv", x, 24, 1, relu=True,
                 alter=rails(numerics, 8))
    skipped = net.op("b30.polar_shift", "head.unknown", [x], "si8", x.shape,
                     {"angle": 3, "center": [1, 1]})
    x = net.conv("head.after_unknown", skipped, 16, 1)
    tail = net.conv("head.tail", x, 10, 1, dtype="si32")
    y = net.op("b30.dequantize", "head.dequantize", [tail], "f32",
               tail.shape, {"scales": per_channel(
                   net.rng.uniform(1e-5, 1e-4, 10)), "zeros": [0] * 10,
                   "axis": 3})
    net.g.result(y, "scores")
    floats(net, x)
    probe(net, numerics)
    return net


def extremes(rng, bits, shape):
    """Any value, and both ends often."""
    lo, hi = z.limits(bits)
    v = rng.integers(lo, hi + 1, shape)
    pick = rng.random(shape)
    v = np.where(pick < 0.04, lo, np.where(pick > 0.96, hi, v))
    return v.astype(np.int8 if bits == 8 else np.int16)


def probe(net, numerics):
    """One-operation branches whose integers tell rules apart."""
    a, b, c, d = [net.input("probe%d" % k, ("si8", "si16")[k // 2])
                  for k in range(4)]
    outs = []

    def each(name, n, make):
        for k in range(n):
            outs.append(make("probe.%s%d" % (name, k), k))

    kinds = ((a, b, "si8"), (c, d, "si16"), (a, b, "si16"), (c, d, "si8"),
             (c, d, "si16"), (a, b, "si16"))
    for mode in ("add", "sub", "mul"):
        each(mode, 18, lambda name, k: net.binary(
            name, *kinds[k % 6][:2], mode, kinds[k % 6][2], probe=True))
    each("pool", 6, lambda name, k: net.avg_pool(
        name, (a, c)[k % 2], 3, 2, (1, 1, 1, 1),
        dtype=("si8", "si16")[k // 2 % 2], probe=True))
    far = [-5, (1 << 31) - 9, 1 - (1 << 31), 77, 0, 1 << 30]
    each("reduce", 12, lambda name, k: net.reduce(
        name, (c, a)[k % 2], (1,), ("mean", "sum")[k % 2],
        dtype=("si16", "si8")[k // 2 % 2], probe=True))
    tail = net.conv("probe.tail_sumin", c, 6, 3, dtype="si32", e=d,
                    bias=far)
    each("rescale", 6, lambda name, k: net.rescale(
        name, (c, tail, a)[k % 3], ("si16", "si8")[k // 3], probe=True))
    each("derived", 9, lambda name, k: net.rescale(
        name, (c, c, tail)[k % 3], "si16", "scales"))
    c.scale, a.scale = 0.0117, 0.043
    each("pool_derived", 7, lambda name, k: net.avg_pool(
        name, (c, a, c)[k % 3], 2 + k % 4, 2, how="scales", dtype="si16"))
    flat = [net.move("b30.reshape", "probe.flat%d" % k, v, (1, 72, 6),
                     shape=[1, 72, 6]) for k, v in enumerate((a, b, c, d))]
    turned = net.move("hbir.transpose", "probe.turned", flat[1], (1, 6, 72),
                      dims=[0, 2, 1])
    each("matmul", 6, lambda name, k: net.matmul(
        name, flat[k % 2 * 2], turned, ("si16", "si8")[k // 2 % 2],
        probe=True))
    firsts, seconds = (a, c, b, d), (b, d, a, c)
    each("linear", 16, lambda name, k: net.linear(
        name, firsts[k % 4], 6, ("si8", "si16")[k // 2 % 2],
        e=seconds[k % 4], probe=True,
        alter=rails(numerics, (8, 16)[k // 2 % 2]) if k % 4 == 1 else None))
    each("rows", 2, lambda name, k: net.linear(
        name, flat[k * 2], 6, "si16", e=flat[k * 2 + 1], probe=True))
    net.linear("probe.linear_tail", c, 6, "si32", e=d, bias=far)
    each("conv", 4, lambda name, k: net.conv(
        name, (c, a)[k % 2], 6, 3, dtype=("si16", "si8")[k // 2],
        e=(d, b)[k % 2], probe=True,
        alter=rails(numerics, (16, 8)[k // 2]) if k % 2 == 0 else None))
    for y in outs[::9]:
        net.g.result(y, y.name + ".out")


def side(net, x, grid, index):
    """Resize, warp, gather, pools, and what only moves, of int8 tensors."""
    up = net.op("b30.resize2d", "neck.up", [x], "si8",
                (1, 23, 19, x.shape[3]),
                {"size": [23, 19], "step": [45590, 55188],
                 "initialOffset": [-9973, -5174], "mode": "bilinear",
                 "expansionMode": "border", "padValue": 0})
    up = net.op("b30.resize2d", "neck.down", [up], "si8",
                (1, 12, 12, x.shape[3]),
                {"size": [12, 12], "ratio": [0.52, 0.63],
                 "mode": Raw("#hbdk<InterpolationMode bilinear>"),
                 "expansionMode": "border"})
    up = net.op("b30.resize2d", "neck.near", [up], "si8",
                (1, 8, 8, x.shape[3]),
                {"size": [8, 8], "mode": "nearest",
                 "expansionMode": "border"})
    a = net.op("b30.warp", "neck.warp", [up, grid], "si8",
               (1, 6, 7, x.shape[3]),
               {"isAbsoluteMv": True, "isMoveYx": True, "moveFracBitNum": 8,
                "padBorder": False, "padValue": 0, "mode": "bilinear"})
    move = net.const(net.rng.integers(-130, 130, (1, 8, 8, 2)), "si16")
    b = net.op("b30.grid_sample", "neck.flow", [up, move], "si8", up.shape,
               {"isAbsoluteMv": False, "isMoveYx": False, "moveFracBitNum": 5,
                "padBorder": True, "mode": "bilinear"})
    c = net.op("b30.gather2d", "neck.gather", [up, index], "si8",
               (1, 5, 6, x.shape[3]),
               {"isMoveYx": True, "padBorder": False, "padValue": 0})
    a = net.move("hbir.slice", "neck.cut", a, (1, 5, 6, x.shape[3]),
                 begin=[0, 1, 0, 0], end=[1, 6, 6, x.shape[3]],
                 step=[1, 1, 1, 1])
    x = net.op("hbir.concat", "neck.concat", [a, c], "si8",
               (1, 5, 6, 2 * x.shape[3]), {"dim": 3})
    x = net.conv("neck.mix", x, 12, 3, dilation=2)
    x = net.lut8("neck.wide", x, "si16")
    x = net.rescale("neck.narrow", x, "si8", "scales")
    x = net.move("b30.reshape", "neck.reshape", x, (1, 30, 12),
                 shape=[1, 30, 12])
    x = net.move("b30.trans_layout", "neck.turn", x, (1, 12, 30),
                 perm=[0, 2, 1])
    net.g.result(x, "neck.out")
    p = net.avg_pool("pool.row", b, 3, 2, (1, 1, 1, 1))
    q = net.avg_pool("pool.attrs", b, 3, 2, (1, 1, 1, 1), how="attrs")
    p = net.binary("pool.least", p, q, "min")
    p = net.binary("pool.most", p, net.max_pool("pool.max", b, 3, 2,
                                                (1, 1, 1, 1)), "max")
    p = net.op("b30.unary_eltwise", "pool.abs", [p], "si8", p.shape,
               {"mode": "abs"})
    net.g.result(p, "pool.out")


def wide_part(net, x):
    """int16: tables by segments, products, grouped convolutions."""
    a = net.lut16("wide.none", x)
    b = net.lut16("wide.center", a, "center")
    c = net.lut16("wide.y", x, "y")
    c = net.binary("wide.mul", b, c, "mul")
    c = net.binary("wide.add", c, a, "add")
    c = net.conv(None, c, x.shape[3], 3, group=4, dtype="si16")
    p = net.avg_pool("wide.pool", c, 2, 1)
    s = net.reduce("wide.sum", c, (3,), "sum", dtype="si16")
    c = net.binary("wide.sub", c, s, "sub")
    c = net.rescale("wide.narrow", c, "si8")
    c = net.lut16("wide.last", net.lut8("wide.back", c, "si16"), "none",
                  "si8")
    c = net.op("b30.unary_eltwise", "wide.neg", [c], "si8", c.shape,
               {"mode": "neg"})
    k = net.reduce("wide.largest", c, (1, 2), "max", False)
    net.g.result(k, "wide.max")
    cond = net.const(net.rng.integers(0, 2, c.shape), "si8")
    c = net.op("b30.ternary_eltwise", "wide.select",
               [cond, c, net.op("b30.unary_eltwise", "wide.relu", [c], "si8",
                                c.shape, {"mode": "relu"})], "si8", c.shape,
               {"mode": "select"})
    net.g.result(c, "wide.out")
    net.g.result(p, "wide.pooled")


def attention(net, x):
    """Products of two activations, and the float unit in between."""
    n, h, w, c = x.shape
    q = net.conv("attn.q", x, 8, 1)
    k = net.conv("attn.k", x, 8, 1)
    q = net.move("b30.reshape", "attn.q2", q, (n, h * w, 8),
                 shape=[n, h * w, 8])
    k = net.move("hbir.reshape", "attn.k2", k, (n, h * w, 8),
                 shape=[n, h * w, 8])
    k = net.move("hbir.transpose", "attn.kt", k, (n, 8, h * w),
                 dims=[0, 2, 1])
    s = net.matmul("attn.score", q, k)
    f = net.op("b30vpu.dequantize", "attn.float", [s], "f32", s.shape,
               {"scales": [0.03], "zeros": [0]})
    f = net.op("b30vpu.softmax", "attn.softmax", [f], "f32", f.shape,
               {"dim": 2})
    net.g.result(f, "attn.out")
    wide = net.conv("attn.v", x, 12, 1, dtype="si16")
    wide = net.move("hbir.reshape", "attn.v2", wide, (n, h * w, 12),
                    shape=[n, h * w, 12])
    b = net.const(net.weights(1, 12, 6), "si8")
    y = net.matmul("attn.mix", wide, b, "si16")
    net.g.result(y, "attn.mixed")


def floats(net, x):
    """Float layers: compared with a tolerance, in binary32 and binary16."""
    f = net.conv("head.float", x, 12, 1, dtype="f32")
    gamma = net.const(net.rng.uniform(0.5, 1.5, 12), "f32")
    beta = net.const(net.rng.uniform(-1, 1, 12), "f32")
    f = net.op("b30vpu.layer_norm", "head.norm", [f, gamma, beta], "f32",
               f.shape, {"dims": [3], "eps": 1e-5})
    net.g.result(f, "head.normed")
    h = net.op("b30vpu.dequantize", "head.half", [x], "f16", x.shape,
               {"scales": [0.03125], "zeros": [0]})
    h = net.op("b30vpu.softmax", "head.half_softmax", [h], "f16", x.shape,
               {"dim": 3})
    net.g.result(h, "head.probability")
    best = call(net, "head.best", "native::Argmax(Tensor, int64_t[], bool) "
                "-> (Tensor)", x, [[3], True], "si64",
                x.shape[:3] + (1,))
    net.g.result(best, "best")


# ---- small: the case of tests/data -------------------------------------------

def small(numerics, seed=71, n=2):
    rng = np.random.default_rng(seed)
    images = image_inputs(rng, n, (1, 12, 10, 3), 0.0625)
    net = Net("small", numerics, seed, [{"img": x} for x in images])
    img = net.input("img", "f32")
    x = call(net, "quant", QUANTIZE, img, [[0.0625], [0], False, 3, False],
             "si8", img.shape, 0.0625)
    x = net.conv("stem", x, 8, stride=2, relu=True)
    y = net.conv("block.dw", x, dw=True, relu=True)
    x = net.conv("block.project", y, 8, 1, e=x)
    x = net.lut8("block.act", x)
    y = net.conv("wide.conv", x, 8, 1, dtype="si16")
    y = net.lut16("wide.act", y, "center")
    y = net.rescale("wide.narrow", y, "si8")
    x = net.binary("join", x, y, "add")
    x = net.avg_pool("pool", x)
    x = net.op("b30.resize2d", "up", [x], "si8", (1, 5, 4, 8),
               {"size": [5, 4], "mode": "bilinear",
                "expansionMode": "border"})
    x = net.reduce("mean", x, (1, 2))
    tail = net.linear("head", x, 6, "si32")
    y = net.op("b30.dequantize", "dequant", [tail], "f32", tail.shape,
               {"scales": per_channel(net.rng.uniform(1e-5, 1e-4, 6)),
                "zeros": [0] * 6, "axis": 3})
    y = net.op("b30vpu.softmax", "probability", [y], "f32", y.shape,
               {"dim": 3})
    net.g.result(y, "scores")
    return net
