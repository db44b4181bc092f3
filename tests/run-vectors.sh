#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Golden rows of the arithmetic through the interpreters and kernels: the rows
# of our own generator, which shares no code with the C, and those of
# $ASSAY_SHARED/numerics/vectors where that is.
set -u
: "${BUILD:?}"
QEMU=${QEMU:-qemu-aarch64}
PYTHON=${PYTHON:-python3}
shared=${ASSAY_SHARED:-../shared}/numerics/vectors
own=$BUILD/vectors

"$PYTHON" tests/oracle/gen_vectors.py "$own" >/dev/null || {
    echo "FAIL the vectors could not be made"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
}
set -- \
    "own, x86_64" "$BUILD/x86_64/vcheck $own" \
    "own, cortex-a53" "$QEMU -cpu cortex-a53 $BUILD/aarch64/vcheck $own" \
    "own, max" "$QEMU -cpu max $BUILD/aarch64/vcheck $own"
if [ -d "$shared" ]; then
    set -- "$@" \
        "shared, x86_64" "$BUILD/x86_64/vcheck $shared" \
        "shared, max" "$QEMU -cpu max $BUILD/aarch64/vcheck $shared"
else
    set -- "$@" shared "echo 'SKIP shared vectors: no folder $shared';
        echo '0 passed, 0 failed, 1 skipped'"
fi
exec tests/run-sum.sh "$@"
