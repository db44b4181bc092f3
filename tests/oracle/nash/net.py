# SPDX-License-Identifier: Apache-2.0
"""Layers of a stand-in network, with the integers that a compiler would give
them: multipliers are chosen so that what they are for is used: ties, both
rails, values beyond 16 bits between the shifts.

Rows mean what the numerics says (where bias and second input join), so every
numerics has a model of its own.
"""
import math

import numpy as np

import executor as ex
import integers as z
from hbir import DTYPES, Graph, Raw, Typed

ROUND_SCALES = (16384, 16384, 24576, 20480)


class Net:
    """inputs of sample k: {name: array}; they are evaluated as layers come."""

    def __init__(self, name, numerics, seed, samples, march="B30G"):
        self.g = Graph(name, march, seed)
        self.rng = self.g.rng
        self.ex = ex.Executor(numerics)
        self.numerics = numerics
        self.samples = samples
        self.have = [{} for _ in samples]
        self.locs = 0
        self.probes = 0

    # -- what runs ------------------------------------------------------------

    def input(self, name, dtype, scale=None):
        v = self.g.input(name, dtype, self.samples[0][name].shape, scale)
        for have, sample in zip(self.have, self.samples):
            have[v] = sample[name]
        return v

    def op(self, op, name, inputs, dtype, shape, attrs, scale=None):
        kinds = ("name", "fused", "nested", "inline", "name", "callsite")
        self.locs += 1
        y = self.g.op(op, name, inputs, dtype, shape, attrs, scale,
                      kinds[self.locs % len(kinds)])
        for have in self.have:
            have[y] = self.ex.run(self.g.ops[-1], have)
        return y

    def const(self, data, dtype):
        return self.g.constant(data, dtype)

    def values(self, v, all_samples=False):
        """Of calibration: not those of the last sample, which is larger."""
        rows = self.have if all_samples or len(self.have) == 1 \
            else self.have[:-1]
        return [v.data if v.data is not None else have[v] for have in rows]

    # -- rows of quantInfo ----------------------------------------------------

    def row(self, form, sums, dtype, e=None, plain=False, bias=None,
            probe=False):
        """sums: exact sums of the samples, channels last. plain: one row
        without bias. probe: of a layer that only tells rules apart."""
        r, rule = self.rng, self.ex.rules[form]
        most = np.max([np.abs(s).reshape(-1, s.shape[-1]).max(0)
                       for s in sums], 0)
        if plain:
            most = most.max(keepdims=True)
        bits = np.dtype(DTYPES[dtype]).itemsize * 8
        top = (1 << (bits - 1)) - 1
        second_at = None
        if e is not None:
            second_at = "acc" if rule.before("second_scale", "pre_shift") \
                else "pre" if rule.before("second_scale", "scale") \
                else "product"
            largest_e = max(z.largest(v) for v in self.values(e))
        rows = []
        self.probes += probe
        for c, m in enumerate(most):
            m = max(int(m), 1)
            small = second_at == "product"
            pre = max(0, math.ceil(math.log2(m)) - (12 if small else 15))
            pre += int(r.choice((-1, 0, 0, 1, 1, 2)))
            pre = min(max(pre, 0), 31) if rule.uses("pre_shift") else 0
            t = m / 2.0 ** pre
            want = top * r.uniform(0.7, 1.35) / t
            if e is not None:
                want /= 1.6
            scale, post = multiplier(want, 10 if small else 15)
            if r.random() < 0.4:
                scale = int(r.choice(ROUND_SCALES)) >> (5 if small else 0)
            if probe:
                pre, scale, post = self.probe_row(m, bits, c + self.probes)
                t = m / 2.0 ** pre
            b = 0 if plain else int(m * r.uniform(-0.2, 0.2))
            if bias is not None:
                b = int(bias[c])
            if not rule.before("bias", "pre_shift"):
                b >>= pre
            second = (1, 0)
            if e is not None:
                unit = {"acc": m, "pre": t, "product": t * scale}[second_at]
                second = self.second(0.7 * unit / max(largest_e, 1))
            rows.append([b, *second, pre, scale, post])
        return self.const(rows, "si64")

    def probe_row(self, m, bits, k):
        """preRShift, scale, postRShift for a sum of up to m: in turn one that
        puts ties before the multiplication, one behind it, and one whose
        values between the shifts are wide."""
        r, length, out = self.rng, math.ceil(math.log2(m)), bits - 1
        top = (1 << out) - 1
        if k % 3 == 0:
            pre = max(1, length - out + int(r.integers(0, 2)))
            return (pre, *multiplier(top * r.uniform(0.7, 1.5) * 2.0 ** pre /
                                     m))
        if k % 3 == 1:
            cut = int(r.integers(1, 4))
            pre, j = max(0, length - out - cut), int(r.integers(8, 14))
            return pre, int(r.choice((1, 1, 3))) << j, j + cut
        pre = int(r.integers(0, 3))
        return (pre, *multiplier(top * r.uniform(0.7, 1.7) * 2.0 ** pre / m,
                                 int(r.choice((1, 3, 8)))))

    def second(self, ratio):
        """suminScale and suminRShift that are about this factor."""
        shift = int(self.rng.integers(1, 4))
        while round(ratio * 2 ** shift) > 65535 and shift:
            shift -= 1
        while round(ratio * 2 ** shift) < 3 and shift < 31:
            shift += 1
        return min(max(round(ratio * 2 ** shift), 1), 65535), shift

    # -- layers ---------------------------------------------------------------

    def weights(self, *shape):
        w = np.clip(np.rint(self.rng.normal(0, 38, shape)), -128, 127)
        w.reshape(-1)[self.rng.integers(w.size)] = -128
        return w.astype(np.int8)

    def conv(self, name, x, cout=None, k=3, stride=1, dw=False, relu=False,
             dtype="si8", e=None, pad=None, dilation=1, weights=None,
             bias=None, group=1, alter=None, scale=None, probe=False):
        cin = x.shape[3]
        cout = cin if cout is None else cout
        kh, kw = k if isinstance(k, tuple) else (k, k)
        groups = cin if dw else group
        if pad is None:
            pad = [dilation * (kh - 1) // 2, dilation * (kw - 1) // 2] * 2
        if weights is None:
            weights = self.weights(cout, kh, kw, cin // groups)
        attrs = {"kernel": [kh, kw], "stride": [stride, stride],
                 "pad": list(pad), "dilation": [dilation, dilation],
                 "groupNum": groups}
        sums = [ex.window_sums(v, weights, attrs) for v in self.values(x)]
        n, oh, ow, _ = sums[0].shape
        attrs.update(padValue=0, relu=relu,
                     operandSegmentSizes=segment_sizes(e is not None))
        if dtype == "si32":
            tail = np.zeros((cout, 6), np.int64)
            tail[:, 0] = bias if bias is not None else \
                self.rng.integers(-20000, 20000, cout)
            tail[:, [1, 4]] = 1
            if e is not None:
                tail[:, 1] = self.rng.integers(3, 999, cout)
                tail[:, 2] = self.rng.integers(1, 5, cout)
            info = self.const(tail, "si64")
        elif dtype[0] == "f":
            rows = np.zeros((cout, 3), np.float32)
            rows[:, 0] = self.rng.integers(-9999, 9999, cout)
            rows[:, 1] = 1
            rows[:, 2] = self.rng.uniform(1e-5, 1e-4, cout)
            info = self.const(rows, "f32")
        else:
            info = self.row("conv", sums, dtype, e, bias=bias, probe=probe)
            if alter:
                alter(info.data)
        inputs = [x, self.const(weights, "si8"), info]
        return self.op("b30.conv2d", name, inputs + ([e] if e else []), dtype,
                       (n, oh, ow, cout), attrs, scale)

    def linear(self, name, x, cout, dtype="si8", relu=False, weights=None,
               bias=None, e=None, probe=False, alter=None):
        w = self.weights(x.shape[-1], cout) if weights is None else weights
        attrs = {"relu": relu, "operandSegmentSizes": segment_sizes(e is not None)}
        sums = [v.astype(np.int64) @ w.astype(np.int64)
                for v in self.values(x)]
        if dtype == "si32":
            rows = np.zeros((cout, 6), np.int64)
            rows[:, 0] = bias if bias is not None else \
                self.rng.integers(-5000, 5000, cout)
            rows[:, [1, 4]] = 1
            if e is not None:
                rows[:, 1] = self.rng.integers(3, 999, cout)
                rows[:, 2] = self.rng.integers(1, 5, cout)
            info = self.const(rows, "si64")
        else:
            info = self.row("linear", sums, dtype, e, bias=bias, probe=probe)
            if alter:
                alter(info.data)
        inputs = [x, self.const(w, "si8"), info] + ([e] if e else [])
        return self.op("b30.linear", name, inputs, dtype,
                       x.shape[:-1] + (cout,), attrs)

    def matmul(self, name, a, b, dtype="si8", probe=False):
        sums = [x.astype(np.int64) @ y.astype(np.int64)
                for x, y in zip(self.values(a), self.values(b))]
        info = self.row("matmul", sums, dtype, plain=True, probe=probe)
        return self.op("b30.matmul", name, [a, b, info], dtype,
                       sums[0].shape, {})

    def max_pool(self, name, x, k=2, stride=2, pad=(0, 0, 0, 0)):
        attrs = {"kernel": [k, k], "stride": [stride, stride],
                 "pad": list(pad), "mode": "max"}
        shape = ex.taps(self.values(x)[0], attrs, (k, k), 0).max((2, 4)).shape
        return self.op("b30.pool2d", name, [x], x.dtype, shape, attrs,
                       x.scale)

    def avg_pool(self, name, x, k=2, stride=2, pad=(0, 0, 0, 0), how="row",
                 dtype=None, probe=False):
        """how: row, attrs or scales."""
        dtype = dtype or x.dtype
        attrs = {"kernel": [k, k], "stride": [stride, stride],
                 "pad": list(pad), "mode": Raw("#hbdk<PoolMode avg>")}
        sums = [ex.taps(v.astype(np.int64), attrs, (k, k), 0).sum((2, 4))
                for v in self.values(x)]
        inputs = [x]
        scale = x.scale
        if how != "scales":
            info = self.row("avg_pool", sums, dtype, plain=True, probe=probe)
            if how == "row":
                inputs.append(info)
            else:
                row = info.data[0]
                attrs.update(preRShift=int(row[3]), scale=int(row[4]),
                             postRShift=int(row[5]))
        else:
            scale = x.scale * self.rng.uniform(0.6, 0.9)
            x.typed_scale = x not in self.g.inputs  # those have it beside
        out = self.op("b30.pool2d", name, inputs, dtype, sums[0].shape, attrs,
                      scale)
        out.typed_scale = how == "scales"
        return out

    def reduce(self, name, x, dims, mode="mean", keep=True, dtype=None,
               probe=False):
        attrs = {"dims": list(dims), "mode": mode, "keepDim": keep}
        dtype = dtype or x.dtype
        inputs = [x]
        if mode in ("mean", "sum"):
            sums = [v.astype(np.int64).sum(tuple(dims), keepdims=True)
                    for v in self.values(x)]
            inputs.append(self.row("reduce", sums, dtype, plain=True,
                                   probe=probe))
        shape = self.values(x)[0].sum(
            tuple(d for d in dims), keepdims=keep).shape
        return self.op("b30.reduce", name, inputs, dtype, shape, attrs,
                       x.scale)

    def lut8(self, name, x, dtype="si8"):
        q = np.arange(-128, 128)
        top = 127 if dtype == "si8" else 32767
        f = self.rng.uniform(12, 30)
        t = np.clip(np.rint(top * 1.1 * np.sin(q / f) * (0.4 + q / 256.0)),
                    -top - 1, top)
        return self.op("b30.lut", name, [x, self.const(t, dtype)], dtype,
                       x.shape, {})

    def lut16(self, name, x, mode="none", dtype="si16"):
        entries, ranges = self.segments(mode, 32767 if dtype == "si16"
                                        else 127)
        return self.op("b30.lut", name,
                       [x, self.const(entries, "si16"),
                        self.const(ranges, "si32")], dtype, x.shape,
                       {"symMode": mode})

    def segments(self, mode, top):
        r = self.rng
        lo, hi = (-21000, 23000) if mode == "none" else (900, 29000)
        bounds = np.sort(r.choice(np.arange(lo, hi, 37), 7, replace=False))
        rows = []
        for s in range(8):
            bound = int(bounds[min(s, 6)])
            if s in (0, 7):  # lines
                right = int(r.integers(3, 9))
                alpha = int(r.integers(20, 300)) * top >> (15 + 8 - right)
                rows.append([bound, alpha | 1, int(r.integers(-99, 99)), 3,
                             right])
                continue
            width = max(int(bounds[s] - bounds[s - 1]), 1)
            right = int(r.integers(5, 11))
            left = int(r.integers(0, 4))
            alpha = (16384 << right) // width
            beta = -(int(bounds[s - 1]) * alpha) >> left
            rows.append([bound, alpha, beta, left, right])
        at = np.arange(384)
        wave = np.sin(at / r.uniform(20, 60)) * top * r.uniform(0.8, 1.1)
        entries = np.clip(np.rint(wave + r.normal(0, top / 400 + 1, 384)),
                          -top - 1, top)
        return entries.reshape(6, 64), rows

    def binary(self, name, a, b, mode, dtype=None, probe=False):
        dtype = dtype or a.dtype
        shape = np.broadcast_shapes(a.shape, b.shape)
        attrs = {"mode": mode}
        if mode not in ("max", "min"):
            attrs.update(self.binary_fields(a, b, mode, dtype, probe))
        return self.op("b30.binary_eltwise", name, [a, b], dtype, shape,
                       attrs, a.scale)

    def binary_fields(self, a, b, mode, dtype, probe):
        r = self.rng
        pairs = [(x.astype(np.int64), y.astype(np.int64))
                 for x, y in zip(self.values(a), self.values(b))]
        if mode == "mul":
            row = self.row("mul", [x * y for x, y in pairs], dtype,
                           plain=True, probe=probe).data[0]
            return dict(zip(("preRShift", "scale", "postRShift"),
                            map(int, row[3:])))
        left = int(r.integers(6, 12)) if a.dtype == "si8" else 0
        if probe and self.probes % 2:  # sums beyond 32 bits
            left = 27 if a.dtype == "si8" else 19
        x_most = max(z.largest(x) for x, _ in pairs) << left
        e_most = max(z.largest(y) for _, y in pairs)
        e_shift = int(r.integers(0, 2))
        e_scale = max(1, min(65535, round(
            r.uniform(0.5, 1.2) * x_most / max(e_most << e_shift, 1))))
        sign = 1 if mode == "add" else -1
        sums = [(x << left) + sign * (y << e_shift) * e_scale
                for x, y in pairs]
        row = self.row(mode, sums, dtype, plain=True, probe=probe).data[0]
        return dict(zip(("preRShift", "scale", "postRShift"),
                        map(int, row[3:])), lhsShift=left, rhsShift=e_shift,
                    rhsScale=e_scale)

    def rescale(self, name, x, dtype, how="row", probe=False):
        attrs, inputs = {}, [x]
        v = [v.astype(np.int64) for v in self.values(x)]
        if how == "row":
            info = self.row("rescale", v, dtype, plain=True, probe=probe)
            if not probe:
                info.data[0, 4] = 16384  # ties of either sign
            inputs.append(info)
        else:
            top = 115 if dtype == "si8" else 31000
            attrs = {"inScale": 0.0371, "outScale": 0.0371 * max(
                z.largest(s) for s in v) / top * self.rng.uniform(0.8, 1.4)}
        return self.op("b30.rescale", name, inputs, dtype, x.shape, attrs)

    def move(self, op, name, x, dims, /, **attrs):
        return self.op(op, name, [x], x.dtype, dims, attrs, x.scale)


def segment_sizes(second):
    """operandSegmentSizes of conv2d and linear."""
    return Typed((1, 1, 1, 1 if second else 0, 0))


def multiplier(x, bits=15):
    """x as scale / 2^post, scale of `bits` bits."""
    e = math.frexp(x)[1]
    post = bits - e
    scale = round(x * 2.0 ** post)
    if scale == 1 << bits:
        scale, post = scale >> 1, post - 1
    if post < 0:
        scale, post = min(scale << -post, 32767), 0
    return scale, min(post, 62)
