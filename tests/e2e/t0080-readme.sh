#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The README's examples, executed.
# timeout: 300
. "$(dirname "$0")/lib.sh"

RUN_TIMEOUT=240 run python3 "$ROOT/tests/support/examples.py" "$ROOT/README.md" "$BUILD"
expect_rc 0 "the README's examples say the truth"
expect_out '^[1-9][0-9]* commands' "there are examples"
finish
