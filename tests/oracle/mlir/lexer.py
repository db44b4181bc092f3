# SPDX-License-Identifier: Apache-2.0
"""Cuts MLIR text into tokens, for mutations and for other blanks; a dialect's
own text between brackets stays one token, since blanks count there."""
import re

TOKEN = re.compile(r"""
    (?P<blank>[\ \t\r\n]+|//[^\n]*)
  | (?P<string>"(?:[^"\\\n]|\\.)*")
  | (?P<value>%(?:\d+|[A-Za-z$._-][\w$.-]*)(?:\#\d+)?)
  | (?P<block>\^(?:\d+|[A-Za-z$._-][\w$.-]*))
  | (?P<symbol>@(?:[A-Za-z_][\w$.]*|"(?:[^"\\\n]|\\.)*"))
  | (?P<meta>\{-\#|\#-\})
  | (?P<dialect>[\#!][A-Za-z_][\w$.]*<)
  | (?P<alias>[\#!](?:\d+|[A-Za-z$._-][\w$.]*))
  | (?P<number>-?(?:0x[0-9A-Fa-f]+|\d+\.\d*(?:[eE][-+]?\d+)?|\d+))
  | (?P<word>[A-Za-z_][\w$.]*)
  | (?P<sign>->|::|.)
""", re.X | re.S)
# Dialects that mlir-opt itself knows: it reads their text.
KNOWN = set("""acc affine amdgpu amx arith arm_neon arm_sme arm_sve async
bufferization builtin cf complex dlti emitc func gpu index irdl linalg llvm math
memref mesh ml_program mpi nvgpu nvvm omp pdl pdl_interp polynomial ptr quant
rocdl scf shape sparse_tensor spirv tensor test tosa transform ub vector
x86vector xegpu""".split())
OPEN = {"<": ">", "(": ")", "[": "]", "{": "}"}


def _body(text, at):
    """The end of a dialect's own text whose `<` is before `at`; or -1."""
    stack = [">"]
    while at < len(text):
        c = text[at]
        if c == '"':
            m = re.compile(r'"(?:[^"\\\n]|\\.)*"').match(text, at)
            if not m:
                return -1
            at = m.end()
            continue
        if text.startswith("->", at):
            at += 2
            continue
        if c in OPEN:
            stack.append(OPEN[c])
        elif c in OPEN.values():
            if stack.pop() != c:
                return -1
            if not stack:
                return at + 1
        at += 1
    return -1


def _shape(text, at):
    """tensor<1x2xf32> up to the element; blanks count in it."""
    m = re.compile(r"(?:tensor|vector|memref)<"
                   r"(?:(?:\d+|\?|\*|\[\d+\])x)*(?:[a-z]\w*)?").match(text, at)
    return m


def tokens(text):
    """(kind, text, place) of all tokens, blanks among them."""
    out, at = [], 0
    while at < len(text):
        m = _shape(text, at)
        if m and (at == 0 or not (text[at - 1].isalnum() or
                                  text[at - 1] in '_."$')):
            out.append(("shape", m.group(), at))
            at = m.end()
            continue
        m = TOKEN.match(text, at)
        kind, end = m.lastgroup, m.end()
        if kind == "dialect":
            end = _body(text, end)
            if end < 0:  # no end: only the name
                kind, end = "alias", m.end() - 1
        out.append((kind, text[at:end], at))
        at = end
    return out


def dialect_spans(text):
    """Where a dialect's own text stands: [from, to)."""
    return [(at, at + len(t)) for kind, t, at in tokens(text)
            if kind in ("dialect", "alias")]


def known(token):
    """Whether mlir-opt knows whose text that is."""
    m = re.match(r"[#!](\w+)", token)
    return bool(m) and m[1] in KNOWN
