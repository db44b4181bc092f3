# SPDX-License-Identifier: Apache-2.0
"""A STAND-IN, not the vendor's package: the names that host-tools/
hbir_export.py uses, so that it can be tested without the vendor's container.
A ".bc" here is JSON that ../../make_bc.py writes; it is run by ops.py.
What it proves: the exporter's files, checks and sentences. What it does not:
anything about the vendor's tools.

HBDK4_STANDIN makes it misbehave, words joined by commas:
  no-load no-feed no-callback no-extract no-module no-hbm no-inputs no-asm
  no-version no-type                       a name is missing
  no-keywords                              get_asm takes none
  elide                                    constants are left out of the text
  none shape dtype object                  a result of the callback
  feed-none feed-shape feed-object lost    what feed gives
  raise                                    feed fails from the second call on
  early                                    no callback behind the third op
  false-goes-on                            True ends the callbacks
  backwards                                callbacks in another order
  nameless                                 the callback's op has no location
  strange                                  one more op than the text has
  unstable                                 feed differs from call to call
  slow                                     0.3 s for each operation
  exit kill                                the package ends the process
  load-none extract-fails hbm-raises
"""
import os

from .overlay import MODE, Function, Module, load_module

if "no-version" not in MODE:
    __version__ = "0.0.standin"
if "exit" in MODE:
    os._exit(0)


if "no-load" not in MODE:
    def load(path):
        if "load-none" in MODE:
            return None
        return load_module(path)


if "no-hbm" not in MODE:
    from .hbm import Hbm  # noqa: F401

__all__ = ["Function", "Module"]
