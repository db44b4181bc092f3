#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Alter each rule of a numerics in one place and count what notices.

    alter.py NUMERICS [--net mobile]

For every form of the network: every other rounding of each step, every other
width, every other place for bias and second input. The elements of all its
layers together, on the goldens' own inputs. Prints what changes nothing; that
is fit-arith's to prove equal, or the network's lack.
"""
import argparse
import collections

import nets
from differ import form
from executor import Executor
from rule import Numerics, Rule

ROUNDS = ("floor", "ceil", "trunc", "half_up", "half_even", "half_away",
          "half_down", "half_zero")
WIDTHS = ([], ["wrap", "32"], ["sat", "32"], ["sat", "16"], ["wrap", "16"])


def text(sections):
    return " | ".join((name + ": " if name else "") + "; ".join(
        " ".join(s) for s in steps) for name, steps in sections.items())


def alternatives(rule):
    """(what is altered, text of the rule)"""
    steps = rule.sections[""]

    def made(what, new):
        return what, text({**rule.sections, "": new})

    for name, part in rule.sections.items():
        for i, s in enumerate(part):
            for k, word in enumerate(s):
                for r in ROUNDS if word in ROUNDS else ():
                    if r != word and not (s[0] in ("derive", "fround") and
                                          r not in ("floor", "half_up",
                                                    "ceil")):
                        new = part[:i] + [s[:k] + [r] + s[k + 1:]] + \
                            part[i + 1:]
                        yield ("%s to %s" % (" ".join(s), r),
                               text({**rule.sections, name: new}))
    for i, s in enumerate(steps):
        if s[1:] == ["out"] and s[0] in ("sat", "wrap"):
            other = "wrap" if s[0] == "sat" else "sat"
            yield made("%s out to %s" % (s[0], other),
                       steps[:i] + [[other, "out"]] + steps[i + 1:])
        if s[0] == "index":
            other = "unsigned" if s[1] == "ascending" else "ascending"
            yield made("index", [["index", other]])
    yield from widths(steps, made)
    yield from joins(steps, made)


def at(steps, word, field):
    for i, s in enumerate(steps):
        if s[0] == word and field in s:
            return i
    return None


def widths(steps, made):
    pre, mul = at(steps, "shr", "pre_shift"), at(steps, "mul", "scale")
    if pre is None or mul is None:
        return
    for place, lo, hi, some in (("accumulator", 0, pre, WIDTHS[:3]),
                                ("between", pre + 1, mul, WIDTHS)):
        now = [i for i in range(lo, hi) if steps[i][0] in ("sat", "wrap")]
        have = steps[now[0]] if now else []
        for w in some:
            if w != have:
                rest = [s for i, s in enumerate(steps) if i not in now]
                end = hi - len(now)
                yield made("%s %s to %s" % (place, " ".join(have) or "wide",
                                            " ".join(w) or "wide"),
                           rest[:end] + ([w] if w else []) + rest[end:])


def joins(steps, made):
    for what, field in (("bias", "bias"), ("second", "second_scale")):
        i = next((i for i, s in enumerate(steps) if field in s), None)
        if i is None:
            continue
        rest = steps[:i] + steps[i + 1:]
        pre, mul = at(rest, "shr", "pre_shift"), at(rest, "mul", "scale")
        post = at(rest, "shr", "post_shift")
        if None in (pre, mul, post):
            continue
        now = "acc" if i <= pre else "pre" if i <= mul else "product"
        head = 1 if rest[0][0] == "derive" else 0
        for place, k in (("acc", head), ("pre", pre + 1), ("product", post)):
            if place != now:
                yield made("%s at %s to %s" % (what, now, place),
                           rest[:k] + [steps[i]] + rest[k:])
    i = next((i for i, s in enumerate(steps)
              if s[0] in ("add_input", "add_scaled")), None)
    if i is not None:
        s = steps[i]
        new = ["add_scaled", s[3], s[1], s[2]] if s[0] == "add_input" else \
            ["add_input", s[2], s[3], s[1]]
        yield made("second: other order", steps[:i] + [new] + steps[i + 1:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("numerics")
    parser.add_argument("--net", default="mobile")
    args = parser.parse_args()
    numerics = Numerics(args.numerics)
    net = getattr(nets, args.net)(numerics)
    ops = collections.defaultdict(list)
    for op in net.g.ops:
        if form(op):
            ops[form(op)].append(op)
    total, blind = 0, 0
    for name, layers in sorted(ops.items()):
        unseen = []
        for what, rule in alternatives(numerics.rule(name)):
            ex = Executor(numerics)
            ex.rules[name] = Rule(rule)
            total += 1
            if not any(changes(ex, op, net) for op in layers):
                unseen.append(what)
        blind += len(unseen)
        if unseen:
            print("%s, %d layers: nothing notices: %s" % (
                name, len(layers), "; ".join(unseen)))
    print("%s: %d of %d alterations change an element" % (
        numerics.name, total - blind, total))


def changes(ex, op, net):
    for have in net.have:
        try:
            if (ex.run(op, have) != have[op.outputs[0]]).any():
                return True
        except OverflowError:
            return True
    return False


if __name__ == "__main__":
    main()
