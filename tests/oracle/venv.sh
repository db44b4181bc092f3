#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The oracle's Python: a virtual environment with the pinned packages of
# requirements.txt. Done once; a stamp tells. Prints the interpreter's path.
# Exit 77 with a reason when it cannot be made here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
BUILD=${BUILD:-build}
venv=${ASSAY_VENV:-$BUILD/venv}
stamp=$venv/.assay-requirements
# Two targets may ask at the same time: the second one waits.
mkdir -p "$(dirname "$venv")"
exec 9>"$venv.lock"
flock 9

if cmp -s "$here/requirements.txt" "$stamp" && [ -x "$venv/bin/python" ]; then
    echo "$venv/bin/python"
    exit 0
fi
# A name on the path need not run (version managers leave such shims).
python=
for p in python3.13 python3.12 python3.11 python3; do
    if "$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
        2>/dev/null; then
        python=$p
        break
    fi
done
if [ -z "$python" ]; then
    echo "no Python 3.11 or later here" >&2
    exit 77
fi
if ! "$python" -m venv --clear "$venv" >&2; then
    echo "$python cannot make a virtual environment (python3-venv?)" >&2
    exit 77
fi
if ! timeout 600 "$venv/bin/python" -m pip install --quiet \
        --disable-pip-version-check -r "$here/requirements.txt" >&2; then
    echo "the packages of requirements.txt cannot be installed" >&2
    exit 77
fi
cp "$here/requirements.txt" "$stamp"
echo "$venv/bin/python"
