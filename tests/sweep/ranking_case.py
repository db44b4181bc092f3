# SPDX-License-Identifier: Apache-2.0
"""Models of the ranking: cases with goldens, copied so that a fault can be put
into the copy; and the arrays that a board or an application is said to have."""
import os
import shutil
import subprocess
import tempfile

import npz
import wire

COLUMNS = ("sim", "sim-text", "bpu")


class Case:
    def __init__(self, name, source):
        self.name, self.source = name, source
        self.scales = "scales.json"
        self.file = next((f for f in ("model.onnx", "model.mlir")
                          if os.path.exists(os.path.join(source, f))), "")

    def is_there(self):
        return bool(self.file)

    def copy(self, work, samples=0):
        """Its files without the columns; a folder."""
        to = os.path.join(work, "case")
        shutil.copytree(self.source, to, copy_function=shutil.copy,
                        ignore=lambda d, names: COLUMNS)
        subprocess.run(["chmod", "-R", "u+w", to], check=True)
        for kind in ("inputs", "golden") if samples else ():
            for f in sorted(os.listdir(to + "/" + kind))[samples:]:
                os.unlink("%s/%s/%s" % (to, kind, f))
        return to

    def samples(self, kind="golden"):
        """[{tensor: array}], of each sample."""
        folder = os.path.join(self.source, kind)
        return [npz.read(os.path.join(folder, f))
                for f in sorted(os.listdir(folder))]

    def nodes(self):
        return wire.nodes(os.path.join(self.source, self.file))

    def constants(self):
        return wire.constants(os.path.join(self.source, self.file))


def write(work, name, samples):
    """A folder of NNNN.npz."""
    folder = os.path.join(work, name)
    os.makedirs(folder)
    for i, arrays in enumerate(samples):
        npz.write("%s/%04d.npz" % (folder, i), arrays)
    return folder


def cases(root, shared):
    data = os.path.join(root, "tests", "data")
    own = [Case(n, os.path.join(data, n)) for n in ("digits", "horizon",
                                                    "nash")]
    return {c.name: c for c in own + [
        Case("x5/" + n, os.path.join(shared, "cases-x5", n))
        for n in ("digits", "ppocr_cls", "ops_lut", "ops_i16c", "ops_conv",
                  "ops_elt", "ops_pre", "pad16")]}


# ---- arrays -----------------------------------------------------------------

def permuted(a, order):
    """Elements in another order of axes, read with the shape as it was."""
    w, steps = a.width, [1] * len(a.shape)
    for i in range(len(a.shape) - 2, -1, -1):
        steps[i] = steps[i + 1] * a.shape[i + 1]
    at = [0]
    for axis in order:
        at = [p + k * steps[axis] for p in at for k in range(a.shape[axis])]
    return npz.Array(a.descr, a.shape, b"".join(a.data[p * w:p * w + w]
                                                for p in at))


def sheared(a, row, align):
    """Rows of `row` bytes lie `align` apart and are read as if dense."""
    step = -(-row // align) * align
    padded = b"".join(a.data[i:i + row] + bytes(step - row)
                      for i in range(0, len(a.data), row))
    return npz.Array(a.descr, a.shape, padded[:len(a.data)])


def stale(a, old, first, count):
    """Cache lines of 64 bytes that still hold what was there before."""
    lo, hi = 64 * first, 64 * (first + count)
    return npz.Array(a.descr, a.shape, a.data[:lo] + old.data[lo:hi] +
                     a.data[hi:])


def temporary(work):
    return tempfile.mkdtemp(dir=work)
