# SPDX-License-Identifier: Apache-2.0
"""STAND-IN: see __init__.py."""
import os

if os.environ.get("X5_STANDIN") != "no-load":
    def load_model(model):
        return model
