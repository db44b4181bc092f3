# SPDX-License-Identifier: Apache-2.0
"""The other folders' modules: horizon/ (its executor) and nash/ (rules)."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("nash", "horizon"):
    sys.path.insert(1, os.path.join(HERE, "..", folder))
