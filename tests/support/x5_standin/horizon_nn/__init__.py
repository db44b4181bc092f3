# SPDX-License-Identifier: Apache-2.0
"""A STAND-IN, not the vendor's package: the names that host-tools/
x5_export.py uses, so that it can be tested without the vendor's container.
Models are run by this project's own exact integers (tests/oracle/horizon).
What it proves: the exporter's files, checks and sentences. What it does not:
anything about the vendor's tools."""
import os
import sys

__version__ = "0.0.standin"
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "oracle", "horizon"))
