#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Random elements of real layers, explained by `assay explain`, whose text is
# added up again by tests/support/re_add.py: 440 a case, of our own cases and of
# those of $ASSAY_SHARED, where these are there: 10,120 in all.
#
#   BUILD   build folder            PYTHON  python3
#   N       elements a case, 440    SEED    77
set -u
cd "$(dirname "$0")/.." || exit 1
shared=${ASSAY_SHARED:-../shared}
cases=(tests/data/digits tests/data/horizon tests/data/nash)
for model in "$shared"/cases-x5/*/model.onnx; do
    [ -e "$model" ] && cases+=("$(dirname "$model")")
done
for model in "$shared"/models/{digits,ppocr_cls}_q*.onnx; do
    inputs=$shared/models/$(basename "$model" | sed 's/_q.*//')_inputs.npz
    [ -e "$model" ] && [ -e "$inputs" ] && cases+=("$model:$inputs")
done
[ ${#cases[@]} -gt 3 ] || echo "SKIP others than our own: $shared is not there"
"${PYTHON:-python3}" tests/support/re_add.py "${BUILD:-build}/x86_64/assay" \
    "${N:-440}" "${SEED:-77}" "${cases[@]}"
