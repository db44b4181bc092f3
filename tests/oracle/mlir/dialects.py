# SPDX-License-Identifier: Apache-2.0
"""Files of MLIR's own dialects: our templates in the dialects' own syntax
(dialects/*.mlir), filled with seeded values and turned into generic text by
mlir-opt, through several pipelines."""
import glob
import os
import random
import re

import opt

HERE = os.path.dirname(os.path.abspath(__file__))
# A file that a pipeline cannot take is left out; not all can take all.
PIPELINES = [
    [], ["--canonicalize", "--cse"], ["--convert-scf-to-cf"],
    ["--lower-affine", "--convert-scf-to-cf"],
    ["--convert-linalg-to-loops"], ["--linalg-generalize-named-ops"],
    ["--convert-linalg-to-affine-loops", "--lower-affine"],
    ["--one-shot-bufferize=bufferize-function-boundaries "
     "allow-unknown-ops"],
    ["--convert-scf-to-cf", "--convert-arith-to-llvm",
     "--finalize-memref-to-llvm", "--convert-func-to-llvm",
     "--convert-cf-to-llvm"],
    ["--gpu-kernel-outlining"], ["--convert-math-to-llvm",
                                 "--convert-vector-to-llvm"],
    ["--tosa-layerwise-constant-fold", "--inline"], ["--symbol-dce", "--sccp"],
    ["--convert-vector-to-scf", "--expand-strided-metadata"],
    ["--async-to-async-runtime"], ["--convert-arith-to-spirv",
                                   "--convert-func-to-spirv"],
]


def templates():
    out = []
    for path in sorted(glob.glob(os.path.join(HERE, "dialects", "*.mlir"))):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        name = os.path.basename(path)[:-5]
        out += [(f"{name}.{k}", t) for k, t in
                enumerate(text.split(opt.MARK + "\n"))]
    return out


def fill(template, rng):
    values = {"N": rng.randrange(2, 9), "M": rng.randrange(2, 9),
              "K": rng.randrange(0, 4),
              "I": rng.choice(["i8", "i16", "i32", "i64", "i32"]),
              "F": rng.choice(["f16", "f32", "f64", "bf16"])}
    return re.sub(r"\$(\{)?([NMKIF])(?(1)\})",
                  lambda m: str(values[m[2]]), template)


def texts(seed, rounds=1):
    """(name, generic text, whether it has locations), and how many of the
    templates' fillings the judge took at all."""
    rng = random.Random(seed)
    filled = [(f"{name}.{r}", fill(t, rng)) for r in range(rounds)
              for name, t in templates()]
    out, taken = [], set()
    for k, pipeline in enumerate(PIPELINES):
        for located in (False, True):
            args = opt.GENERIC + pipeline + (opt.DEBUG if located else [])
            if located and k % 2 and k > 2:
                continue  # half of the pipelines will do
            answers = opt.run([t for _, t in filled], args)
            for (name, _), a in zip(filled, answers):
                if not a.accepted:
                    continue
                taken.add(name)
                out.append((f"{name}.{k}{'l' if located else ''}",
                            opt.MADE_UP.sub('"f.mlir"', a.out), located))
    # The same text from two pipelines is one file.
    seen, unique = set(), []
    for name, text, located in out:
        if text not in seen:
            seen.add(text)
            unique.append((name, text, located))
    # A pass may make what cannot be read again.
    answers = opt.run([t for _, t, _ in unique], opt.GENERIC)
    return ([u for u, a in zip(unique, answers) if a.accepted], len(taken),
            len(filled))
