# SPDX-License-Identifier: Apache-2.0
"""STAND-IN, not the vendor's package: see __init__.py. An ".hbm" is JSON with
the model that it was made from and, maybe, the layer that it computes
otherwise."""
import json

import numpy as np

from .overlay import MODE, Module


class Graph:
    def __init__(self, inner, differs, needs):
        self.inner, self.differs, self.needs = inner, differs, needs
        self.flatten_inputs = inner.flatten_inputs
        self.flatten_outputs = inner.flatten_outputs

    def feed(self, inputs, remote_ip=None, username=None, password=None):
        if "hbm-raises" in MODE:
            raise ConnectionError("no route to %s" % remote_ip)
        if remote_ip is not None and self.needs and \
                (username, password) != tuple(self.needs):
            raise PermissionError("board refuses user %r" % username)

        def spoil(op, arrays):
            if op["loc"] == self.differs:
                flat = arrays[0].reshape(-1)
                flat[::7] = np.clip(flat[::7].astype(np.int64) + 1, -128, 127)
        values = self.inner.values(inputs, spoil)
        return {r["name"]: values[r["value"]].copy()
                for r in self.inner.data["results"]}


class Hbm:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            data = json.load(f)
        if data.get("standin") != "hbm":
            raise ValueError("not an hbm")
        self.march = data["model"]["march"]
        self.graphs = [Graph(Module(data["model"])[0], data.get("differs"),
                             data.get("needs"))]

    def __getitem__(self, k):
        return self.graphs[k]
