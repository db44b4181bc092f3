# SPDX-License-Identifier: Apache-2.0
"""The space of fit-arith, written a second time, from its words.

`rules(form, fields)` gives the text of every candidate of a layer with these
fields; what a layer lacks is no dimension there.
"""
import itertools

ROUNDS = ("floor", "ceil", "trunc", "half_up", "half_even", "half_away",
          "half_down", "half_zero")
WIDTHS = ("", "wrap 32", "sat 32")
MIDDLES = ("", "sat 16", "wrap 16", "sat 32", "wrap 32")
OUTS = ("sat out", "wrap out")
DERIVED = ("floor", "half_up", "ceil")
PLACES = (0, 1, 2)  # accumulator, behind the first shift, behind the product
STAGED = {"conv", "conv_transpose", "linear", "conv_tail", "matmul", "add",
          "sub", "mul", "rescale", "reduce", "global_avg_pool", "avg_pool"}


def given(fields, name, choices):
    """A dimension only where the layer has the field."""
    return choices if name in fields else choices[:1]


def seconds():
    return (["add_input second_shift %s second_scale" % r for r in ROUNDS] +
            ["add_scaled second_scale second_shift %s" % r for r in ROUNDS])


def joined(*steps):
    return "; ".join(s for s in steps if s)


def tail(fields):
    terms = seconds() if "second_scale" in fields else [""]
    for term, width, out in itertools.product(terms, WIDTHS, OUTS):
        yield joined("add bias", term, width, out, "relu")


def scaled(form, fields):
    two = form in ("add", "sub")
    fused = "second_scale" in fields and not two
    terms = seconds() if fused else [""]
    has_bias = "bias" in fields and form in ("conv", "conv_transpose",
                                             "matmul", "linear")
    derive = [""]
    if "real" in fields and "scale" not in fields and "conv" not in form:
        derive = ["derive " + d for d in DERIVED]
    lasts = ROUNDS if "post_shift" in fields or "real" in fields \
        else ROUNDS[:1]
    for b, e, term, width, first, middle, d, last, out in itertools.product(
            PLACES if has_bias else PLACES[:1],
            PLACES if fused or two else PLACES[:1], terms, WIDTHS,
            given(fields, "pre_shift", ROUNDS), MIDDLES, derive, lasts, OUTS):
        at = [["add bias" if b == k and has_bias else "",
               term if e == k else ""] for k in PLACES]
        parts = [[*at[0], width, "shr pre_shift " + first],
                 [*at[1], middle, "mul scale"],
                 [*at[2], "shr post_shift " + last, out, "relu"]]
        if not two:
            yield joined(d, *parts[0], *parts[1], *parts[2])
            continue
        # x's own steps go as far as the second tensor joins.
        if e == 0:
            mine, rest = [], parts[0] + parts[1] + parts[2]
        elif e == 1:
            mine, rest = parts[0], parts[1] + parts[2]
        else:
            mine, rest = parts[0] + parts[1], parts[2]
        yield "x: %s | e: shl e_shift; mul e_scale | %s" % (
            joined("shl x_shift", *mine), joined(d, *rest))


def prelu():
    for p, first, last, out in itertools.product(ROUNDS, ROUNDS, ROUNDS, OUTS):
        yield ("pos: mul pos_scale; shr pos_shift %s; %s | neg: mul slope; "
               "shr slope_shift %s; mul neg_scale; shr neg_shift %s; %s" % (
                   p, out, first, last, out))


def segments():
    for line, mix, out in itertools.product(ROUNDS, ROUNDS, OUTS):
        yield "line %s; mix %s; %s" % (line, mix, out)


def images(form):
    between = ("", "between 8") if "resize" in form else ("",)
    for b, last, out in itertools.product(between, ROUNDS, OUTS):
        yield joined(b, "shr frac " + last, out)


def quantized():
    for last in ROUNDS:
        yield "fdiv scale_f32; fclamp out; fround " + last


def rules(form, fields):
    if form.endswith("_tail"):
        return tail(fields)
    if form in STAGED:
        return scaled(form, fields)
    return {"prelu": prelu, "lut_segments": segments, "quantize": quantized,
            "lut": lambda: iter(("index ascending", "index unsigned")),
            }.get(form, lambda: images(form))()
