# SPDX-License-Identifier: Apache-2.0
"""Spoils MLIR text a little, seeded: most of what comes out is refused, and
where is what the judge and the parser have to agree on."""
import random

import lexer

BRACKETS = "()[]{}<>"
EXTRA = [",", ":", "=", "->", "(", ")", "[", "]", "{", "}", "<", ">", "?", "-",
         "loc", "%0", "^bb0", "@x", "#a", "!t", "i32", "1", "-1", "0x1F", "1.5",
         '"s"', "dense", "tensor<1xi8>", "()", "{}", "[]", "::", "true", "unit",
         "{-#", "#-}", "loc(unknown)", "<{", "}>", "*", "+", "'", ";", "`", "~",
         "/", "\\", "\x01", "affine_map<() -> ()>", "array<i8: 1>", "none"]
TYPES = ["i1", "i8", "si8", "i32", "i64", "f32", "f64", "index", "none", "bf16",
         "tensor<2xi8>", "tensor<*xf32>", "vector<4xf32>", "tuple<>", "!x.y"]


class Mutant:
    def __init__(self, text, rng):
        self.rng, self.text = rng, text
        self.toks = lexer.tokens(text)
        self.solid = [i for i, t in enumerate(self.toks) if t[0] != "blank"]

    def join(self):
        return "".join(t[1] for t in self.toks)

    def some(self, test=lambda t: True):
        """The place of a token of that kind, or None."""
        places = [i for i in self.solid if test(self.toks[i])]
        return self.rng.choice(places) if places else None

    def put(self, i, text):
        self.toks[i] = (self.toks[i][0], text, self.toks[i][2])
        return self.join()

    # Each returns the new text, or None where there is nothing to spoil.

    def delete(self):
        return self.put(self.some(), " ")

    def double(self):
        i = self.some()
        return self.put(i, self.toks[i][1] + " " + self.toks[i][1])

    def swap(self):
        if len(self.solid) < 2:
            return None
        k = self.rng.randrange(len(self.solid) - 1)
        i, j = self.solid[k], self.solid[k + 1]
        a, b = self.toks[i][1], self.toks[j][1]
        self.put(i, b)
        return self.put(j, a)

    def cut_token(self):
        return self.text[:self.toks[self.some()][2]]

    def cut_byte(self):
        return self.text[:self.rng.randrange(len(self.text))]

    def head_gone(self):
        return self.text[self.toks[self.some()][2]:]

    def bracket(self):
        i = self.some(lambda t: t[1] in BRACKETS)
        return i and self.put(i, self.rng.choice(BRACKETS))

    def comma_gone(self):
        i = self.some(lambda t: t[1] in (",", ":", "=", "->"))
        return i and self.put(i, " ")

    def other_type(self):
        i = self.some(lambda t: t[0] == "shape" or (
            t[0] == "word" and t[1].lstrip("siufb").isdigit()))
        return i and self.put(i, self.rng.choice(TYPES))

    def number(self):
        i = self.some(lambda t: t[0] == "number")
        if i is None:
            return None
        old = self.toks[i][1]
        return self.put(i, self.rng.choice([
            "-" + old, old + "0", "0", "256", "-129", "1.5", "0x" + old,
            "99999999999999999999", "0xFFFFFFFFF", old + "x", "1e5", "1.e",
            "4294967296", "-0", "00", "0x", "1.0e400", "true"]))

    def name(self):
        kind = self.rng.choice(["value", "block", "symbol", "alias"])
        i = self.some(lambda t: t[0] == kind)
        j = self.some(lambda t: t[0] == kind)
        return i and self.put(i, self.toks[j][1])

    def new_name(self):
        i = self.some(lambda t: t[0] in ("value", "block", "alias"))
        return i and self.put(i, self.toks[i][1][0] + self.rng.choice(
            ["new", "9999", "", "#1", "a#0", "-", "a b", "1a", "é"]))

    def count(self):
        """A use of another result, or another number of results."""
        i = self.some(lambda t: t[0] == "value")
        if i is None:
            return None
        base = self.toks[i][1].split("#")[0]
        return self.put(i, base + self.rng.choice(
            ["#0", "#1", "#2", "#-1", "#", "#99999999999", ":2", ":0", ":1"]))

    def insert(self):
        i = self.some()
        return self.put(i, self.toks[i][1] + " " + self.rng.choice(EXTRA) + " ")

    def replace(self):
        return self.put(self.some(), self.rng.choice(EXTRA))

    def like(self):
        """A token for another of the same kind in the file."""
        i = self.some()
        j = self.some(lambda t: t[0] == self.toks[i][0])
        return self.put(i, self.toks[j][1])

    def line_gone(self):
        lines = self.text.split("\n")
        del lines[self.rng.randrange(len(lines))]
        return "\n".join(lines)

    def line_twice(self):
        lines = self.text.split("\n")
        k = self.rng.randrange(len(lines))
        return "\n".join(lines[:k + 1] + lines[k:])

    def byte(self):
        at = self.rng.randrange(len(self.text))
        c = chr(self.rng.randrange(33, 127))
        return self.text[:at] + c + self.text[at + self.rng.randrange(2):]

    def in_string(self):
        i = self.some(lambda t: t[0] == "string")
        if i is None:
            return None
        s = self.toks[i][1]
        at = self.rng.randrange(1, len(s))
        return self.put(i, s[:at] + self.rng.choice(
            ["\\", "\n", "\\q", "\\0", '"', "\\GG", "\\e9", "\t", "\\x41"]) +
            s[at:])

    def in_dialect(self):
        i = self.some(lambda t: t[0] == "dialect" and len(t[1]) > 3 and
                      not lexer.known(t[1]))
        if i is None:
            return None
        s = self.toks[i][1]
        at = self.rng.randrange(1, len(s))
        return self.put(i, s[:at] + self.rng.choice(
            list(BRACKETS) + ['"', "", "->", "\n", "//", "-"]) + s[at + 1:])

    def in_shape(self):
        i = self.some(lambda t: t[0] == "shape")
        if i is None:
            return None
        s = self.toks[i][1]
        at = self.rng.randrange(1, len(s))
        return self.put(i, s[:at] + self.rng.choice(
            ["x", "?", "*", "-", "0", "0x", "[4]x", "", " ", "<", "1", "X",
             "9999999999999999999x", ">"]) + s[at + self.rng.randrange(2):])

    def other_string(self):
        i = self.some(lambda t: t[0] == "string" and t[1] != '""')
        return i and self.put(i, self.toks[i][1][:-1] + '#"')


KINDS = [k for k in vars(Mutant)
         if k[0] != "_" and k not in ("join", "some", "put", "other_string")]
# Kinds that need a luckier file, oftener.
WEIGHTS = [2 if k in ("delete", "number", "name", "count", "other_type") else 1
           for k in KINDS]


def mutant(text, seed):
    """(kind, spoiled text), or (kind, None)."""
    rng = random.Random(seed)
    kind = rng.choices(KINDS, WEIGHTS)[0]
    out = getattr(Mutant(text, rng), kind)()
    return kind, None if not out or out == text else out


def shaken(text, seed):
    """The same file with other blanks and comments between the tokens."""
    rng = random.Random(seed)
    out, last = [], ""
    for kind, t, _ in lexer.tokens(text):
        if kind == "blank":
            continue
        tight = last in ("", "(", "[", "{", ",") or t in ("(", ")", ",", "]")
        gap = "" if tight and rng.random() < .5 else rng.choice(
            [" ", " ", " ", "  ", "\n", "\t", " // x \" { \n", "\r\n"])
        out += [gap, t]
        last = t
    return "".join(out) + "\n"
