# SPDX-License-Identifier: Apache-2.0
"""Prints index and name of an exact integer layer in the middle of a report.

pick_layer.py REPORT.json GOLDEN_FOLDER
"""

import json
import sys

report = json.load(open(sys.argv[1], encoding="utf-8"))
layers = [l for l in report["layers"]
          if l["status"] == "exact" and "int" in l["dtype"]
          and "Conv" in l["op"]]
if layers:
    chosen = layers[len(layers) // 2]
    print(chosen["index"], chosen["name"])
