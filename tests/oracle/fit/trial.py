# SPDX-License-Identifier: Apache-2.0
"""Many rules on the same elements.

A Trial holds what the rules of a layer begin with. Every array that a step
gives has a number, equal arrays have the same one, and each step is done once
on each: hundreds of thousands of rules take seconds, and two outputs are equal
exactly if their numbers are. Steps are done by nash/rule.py.
"""
import numpy as np

import paths  # noqa: F401
from layers import WHOLE
from rule import FIELDS, Rule, step

OUTSIDE = -1  # a value that leaves 64 bits


def rows_of(v, like):
    """As rows of channels, broadcast to the output's shape."""
    return np.broadcast_to(v, like).reshape(-1, like[-1] if like else 1)


def joined(layer, parts):
    """Sums and second inputs of several samples as one array each."""
    out = [[], []]
    for x, e in parts:
        like = np.broadcast_shapes(x.shape, *[] if e is None else [e.shape])
        out[0].append(rows_of(x, like))
        if e is not None:
            out[1].append(rows_of(e, like))
    return np.concatenate(out[0]), np.concatenate(out[1]) if out[1] else None


class Trial:
    def __init__(self, layer, x, e, want=None):
        self.layer, self.x, self.e = layer, x, e
        self.arrays, self.numbers, self.done = [], {}, {}
        self.fields, self.e_number = {}, None
        self.want = None if want is None else self.number(want)
        if layer.form not in WHOLE:
            self.x_number = self.number(x)
            self.e_number = None if e is None else self.number(e)

    def number(self, v):
        v = np.ascontiguousarray(v, np.int64)
        key = (v.shape, v.tobytes())
        n = self.numbers.get(key)
        if n is None:
            n = self.numbers[key] = len(self.arrays)
            self.arrays.append(v)
        return n

    def array(self, n):
        return self.arrays[n]

    def do(self, n, text, derived):
        """The number behind one step."""
        key = (n, text, derived)
        out = self.done.get(key)
        if out is None:
            out = self.done[key] = self.compute(n, text, derived)
        return out

    def compute(self, n, text, derived):
        word, *args = text.split()
        fields = self.fields_of(derived)
        if n == OUTSIDE or any(a in FIELDS and a not in fields for a in args):
            return n
        try:
            return self.number(step(
                word, args, self.array(n), fields, self.layer.bits,
                None if self.e is None else self.array(self.e_number)))
        except OverflowError:
            return OUTSIDE

    def fields_of(self, derived):
        if derived not in self.fields:
            self.fields[derived] = Rule(derived).derive(self.layer.fields)
        return self.fields[derived]

    def chain(self, n, steps, derived=""):
        for text in steps:
            n = self.do(n, text, derived)
        return n

    def output(self, text):
        """The number of a rule's output."""
        form = self.layer.form
        if form in WHOLE:
            return self.whole(text)
        *front, last = text.split(" | ")
        if form == "prelu":
            return self.prelu(front[0], last)
        steps = last.split("; ")
        derived = steps.pop(0) if steps[0].startswith("derive") else ""
        n = self.x_number
        if form in ("add", "sub"):
            n = self.two(front, derived, form == "add")
        return self.chain(n, steps, derived)

    def two(self, front, derived, plus):
        key = (tuple(front), derived)
        if key not in self.done:
            x, e = [self.chain(n, part.split(": ")[1].split("; "), derived)
                    for n, part in zip((self.x_number, self.e_number), front)]
            self.done[key] = OUTSIDE if OUTSIDE in (x, e) else self.number(
                self.array(x) + (self.array(e) if plus else -self.array(e)))
        return self.done[key]

    def prelu(self, pos, neg):
        p, q = [self.chain(self.x_number, part.split(": ")[1].split("; "))
                for part in (pos, neg)]
        key = ("prelu", p, q)
        if key not in self.done:
            self.done[key] = OUTSIDE if OUTSIDE in (p, q) else self.number(
                np.where(self.x < 0, self.array(q), self.array(p)))
        return self.done[key]

    def whole(self, text):
        if text not in self.done:
            self.done[text] = self.number(np.concatenate(
                [self.layer.whole(text, v).reshape(-1) for v in self.x]))
        return self.done[text]

    def gives(self, text):
        return self.output(text) == self.want


def of(layer, haves, golden=True):
    """The trial of all samples, and one of few elements to begin with."""
    want = None
    if layer.form in WHOLE:
        x, e = [layer.inputs(h) for h in haves], None
        if golden:
            want = np.concatenate([h[layer.output].reshape(-1)
                                   for h in haves])
        return Trial(layer, x, e, want)
    x, e = joined(layer, [layer.sums(h) for h in haves])
    if golden:
        want = np.concatenate([rows_of(h[layer.output], h[layer.output].shape)
                               for h in haves])
    return Trial(layer, x, e, want)


def few(trial):
    """The same on a few rows; None where that makes no sense."""
    layer, x = trial.layer, trial.x
    if layer.form in WHOLE or x.size < 64:
        return None
    n = max(1, 32 // x.shape[1])
    at = np.unique(np.linspace(0, x.shape[0] - 1, n).astype(int))
    return Trial(layer, x[at], None if trial.e is None else trial.e[at],
                 trial.array(trial.want)[at])
