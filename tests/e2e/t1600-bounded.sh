#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A model whose activations are 13 times the agent's budget: layers come one by
# one, all are right, and the agent keeps to its memory.
. "$(dirname "$0")/lib.sh"

figures=$BUILD/x86_64/tests/perf/agent_figures
expect "the program is built" test -x "$figures"
run "$figures" --stream "$assayd"
expect_rc 0 "100 layers of 2 MiB within --memory 16M"
expect_out '^ok activations that came, each right: 209.72 MB' \
    "all activations came"
expect_out '^ok resident at most, agent, --memory 16M' \
    "the agent stays within 8 MiB and its budget"
expect_out '^ok agent and worker together' "so do both together"
finish
