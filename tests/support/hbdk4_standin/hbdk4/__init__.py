# SPDX-License-Identifier: Apache-2.0
"""A STAND-IN, not the vendor's package: see compiler/__init__.py."""
