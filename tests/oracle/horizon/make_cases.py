#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write random fixed-point models with goldens, as case folders.

    make_cases.py FOLDER [--models N] [--seed S] [--only K] [--layers L]

FOLDER/NN_KIND/ gets model K of the seed; it depends on the seed and its own
number only. Most models are many layers side by side on a few inputs, so that
thousands of layers need few files; every fourth is a set of deep networks.
"""
import argparse
import collections
import os
import shutil

import numpy as np

import layers as l
import layers_forms as forms
import layers_more as more
import nets
from graph import Graph
from layers import I8, I16, Maker

SAMPLES = 2
SHAPES = [(1, 1, 1, 1), (1, 1, 1, 33), (1, 8, 8, 24), (1, 5, 7, 3),
          (2, 4, 6, 5), (1, 9, 8, 33), (3, 3, 5, 8), (1, 2, 11, 16),
          (2, 7, 7, 1), (1, 10, 6, 12), (1, 6, 6, 9), (1, 4, 5, 96),
          (1, 7, 6, 48)]
FLAT = [(2, 7, 5), (1, 12, 8), (3, 10)]  # as between Reshapes
BOTH, ONE = (I8, I16), (I8,)
# Layers that take tensors of any rank.
ANY_RANK = {l.add_or_sub, l.multiply, l.table8, l.table16, more.reduce_scaled,
            more.reduce_max, more.dequantize, more.softmax,
            forms.comparison, forms.standard_pad}
# function, types of the input, weight in a model of its family and in others
LAYERS = {
    "conv": [(l.convolution, BOTH, 10), (l.deconvolution, ONE, 4),
             (l.preprocess, ONE, 1)],
    "elementwise": [(l.add_or_sub, BOTH, 9), (l.multiply, BOTH, 5),
                    (l.requantize, BOTH, 4), (l.prelu, BOTH, 3),
                    (l.table8, ONE, 1), (l.table16, (I16,), 5),
                    (l.maximum, BOTH, 1), (forms.bit_shift, BOTH, 3),
                    (forms.comparison, BOTH, 3)],
    "pool": [(more.max_pool, BOTH, 2), (more.average_pool, ONE, 2),
             (more.global_max, BOTH, 1), (more.global_average, ONE, 4),
             (more.reduce_scaled, BOTH, 4), (more.reduce_max, BOTH, 1),
             (more.arg_max, BOTH, 2), (more.matmul, ONE, 4),
             (more.resize, ONE, 3), (more.upsample, BOTH, 1),
             (more.grid_sample, ONE, 3)],
    "move": [(more.transpose, BOTH, 1), (more.reshape, BOTH, 1),
             (more.concat, BOTH, 1), (more.split, BOTH, 1),
             (more.slice_of, BOTH, 2), (more.gather, BOTH, 1),
             (more.tile, BOTH, 1), (more.depth_to_space, BOTH, 1),
             (more.space_to_depth, BOTH, 1), (forms.pad, BOTH, 2),
             (forms.standard_pad, BOTH, 2), (forms.shuffle, BOTH, 1),
             (forms.nearest, BOTH, 2)],
    "float": [(lambda m, x: more.quantize(m), BOTH, 2),
              (more.dequantize, BOTH, 1), (more.softmax, BOTH, 1),
              (forms.several, BOTH, 1)],
}
KINDS = ["conv", "elementwise", "pool", "net"]


def choices(kind):
    out = []
    for family, rows in LAYERS.items():
        total = sum(r[2] for r in rows)
        share = 6 if family == kind else 0.5 if family == "float" else 1
        out += [(fn, types, share * weight / total)
                for fn, types, weight in rows]
    return out


def usable(g, t):
    return (t not in g.const and len(g.shape(t)) == 4 and
            g.dtype(t) in (I8, I16) and g.values[t][0].size <= 2500 and
            g.shape(t)[3] <= 40)


def side_by_side(m, kind, count):
    picks = choices(kind)
    p = np.array([w for _, _, w in picks])
    at = m.r.permutation(len(SHAPES))[:4]
    pool = [m.input("x", SHAPES[i], t) for i in at for t in BOTH]
    flat = [m.input("x", m.one_of(*FLAT), t) for t in BOTH]
    image = m.input("image", (1, 6, 7, 3), I8)
    while len(m.g.nodes) < count:
        fn, types, _ = picks[m.r.choice(len(picks), p=p / p.sum())]
        among = flat if fn in ANY_RANK and m.odds(0.15) else pool
        x = m.one_of(*[t for t in among if m.g.dtype(t) in types])
        y = fn(m, image if fn is l.preprocess else x)
        # Some layers read what others made.
        if isinstance(y, str) and m.odds(0.2) and usable(m.g, y):
            pool.append(y)


def make(folder, number, seed, count):
    kind = KINDS[number % len(KINDS)]
    rng = np.random.default_rng([seed, number])
    g = Graph("%02d_%s" % (number, kind), rng, SAMPLES)
    m = Maker(g)
    if kind == "net":
        while len(g.nodes) < count:
            nets.network(m, int(rng.integers(4, 14)))
    else:
        side_by_side(m, kind, count)
    for t in g.order:
        if t not in g.scales and g.dtype(t).kind == "i" and m.odds(0.5):
            g.scales[t] = [float(more.some_scale(m, -15, -3, 1)[0])]
    g.write(os.path.join(folder, g.name),
            "random layers of the project's own generator, seed %d, model %d; "
            "goldens by its own executor in exact integers" % (seed, number))
    return g


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--models", type=int, default=16)
    parser.add_argument("--layers", type=int, default=160)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    args = parser.parse_args()
    if args.only is None:
        shutil.rmtree(args.folder, ignore_errors=True)
    count = collections.Counter()
    for number in range(args.models):
        if args.only in (None, number):
            g = make(args.folder, number, args.seed, args.layers)
            print("%s: %d nodes, %d tensors" % (g.name, len(g.nodes),
                                                len(g.order)))
            count.update(n.op_type for n in g.nodes)
    for op, n in sorted(count.items()):
        print("%-32s %5d" % (op, n))
    print("%d nodes of %d kinds, seed %d" % (sum(count.values()), len(count),
                                             args.seed))


if __name__ == "__main__":
    main()
