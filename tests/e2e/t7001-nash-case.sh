#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The small stand-in of a Nash model: what a user sees of one.
# timeout: 300
. "$(dirname "$0")/lib.sh"

small=$ROOT/tests/data/nash
other=$ROOT/tests/oracle/nash/numerics/standin-a.json

run "$assay" run "$small" --local
expect_rc 0 "run --local"
expect_out '^match' "in its own numerics it is a match"
expect_out 'nash' "the numerics is named"
run "$assay" run "$small" --local --all
expect_out 'block\.project .* exact' "layers have the names of the locations"
run "$assay" run "$small" --local --cpumask 0 -q
expect_rc 0 "scalar kernels only"
run "$assay" run "$small" -q --target "$(arm_target max)"
expect_rc 0 "an agent"
run "$assay" show "$small"
expect_rc 0 "show"
expect_out 'b30\.conv2d' "show names the operations"

# In another arithmetic nothing is said about the model.
run "$assay" run "$small" --local --numerics "$other"
expect_rc 5 "another numerics"
expect_out '^unproven' "the verdict is unproven"
expect_out 'fit-arith' "and says what to do"

# Half a text is no model.
cp -r "$small" "$work/spoiled"
head -c 2000 "$small/model.mlir" >"$work/spoiled/model.mlir"
run "$assay" run "$work/spoiled" --local
expect_rc 2 "half a text"
expect_err 'model\.mlir:[0-9]+:[0-9]+' "the sentence says where it ends"
finish
