# SPDX-License-Identifier: Apache-2.0
"""make_models.py OUT: models of the stand-in, and their inputs."""
import os
import pickle
import struct
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "sweep"))
import npz  # noqa: E402

out = sys.argv[1]
models = {
    "qat.pt": torch.Net(),
    "qat.export.pt": torch.Wrapped(torch.Net(1.0, torch.Quantized)),
    "other.pt": torch.Net(3.0),
    "weights.pt": {"conv.weight": 1},
    "number.pt": 7,
}
for name, model in models.items():
    with open(os.path.join(out, name), "wb") as f:
        pickle.dump(model, f)
os.mkdir(os.path.join(out, "inputs"))
for k in range(3):
    npz.write(os.path.join(out, "inputs", "%04d.npz" % k), {"x": npz.Array(
        "<f4", (2, 4), struct.pack("<8f", *[k + i / 8 for i in range(8)]))})
