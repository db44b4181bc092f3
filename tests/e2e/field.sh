# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/e2e/t90*-field-*.sh, whose tests are named after the rows of
# the field cases: "field N: …" is what people saw in report N.
# shellcheck shell=bash
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2034 # of the scripts
horizon=$ROOT/tests/data/horizon nash=$ROOT/tests/data/nash
support=$ROOT/tests/support
json=$work/r.json

# made NAME MODEL INPUTS LAYER=EDIT... [-- OPTION...]: $work/NAME has the
# outputs of all layers as a board computes them that deviates in these layers
# alone. The options are of the commands that read MODEL.
made() {
    local name=$1 model=$2 inputs=$3 slice=$2 edit
    local edits=() options=()
    shift 3
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        edits+=("$1")
        shift
    done
    [ $# -gt 0 ] && shift
    options=("$@")
    rm -rf "${work:?}/$name" "$work/made"
    for edit in ${edits[@]+"${edits[@]}"}; do
        "$assay" mutate "$slice" --layer "${edit%%=*}" --set "${edit#*=}" \
            -o "$work/made.new" ${options[@]+"${options[@]}"} -q \
            >"$work/out" 2>"$work/err" ||
            not_ok "mutate $slice $edit"
        mv "$work/made.new" "$work/made.slice"
        slice=$work/made.slice options=()
    done
    "$assay" run -m "$slice" -i "$inputs" --local -q --save-outputs \
        -o "$work/made" ${options[@]+"${options[@]}"} >"$work/out" 2>"$work/err"
    mv "$work/made/outputs" "$work/$name"
}

# copy CASE NAME: a case of our own in $work/NAME, without a column.
copy() {
    rm -rf "${work:?}/$2"
    cp -r "$1" "$work/$2"
    chmod -R u+w "$work/$2"
    rm -rf "$work/$2/sim" "$work/$2/sim-text"
}

# pin NAME CASE|-m MODEL… [OPTION...]: why $work/NAME is not the golden. Report
# in $json; sentences that were wrapped are one line again in $work/flat.
pin() {
    local name=$1
    shift
    run "$assay" pinpoint "$@" --got "$work/$name" --local -q --json "$json"
    flatten
}

flatten() { tr -s '\n ' '  ' <"$work/out" >"$work/flat"; }

expect_flat() { # expect_flat REGEX TEXT
    if grep -Eq -- "$1" "$work/flat"; then
        ok "$2"
    else
        not_ok "$2: the report lacks '$1': $ran"
    fi
}

# report TEXT PYTHON: asserts on r, L (layers by name), H (proved ids by layer)
report() {
    python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
L = {l["name"]: l for l in r["layers"]}
H = {}
for h in r.get("hypotheses", []):
    if h["proved"]:
        H.setdefault(h["name"], []).append(h["id"])
C = [c["name"] for c in r.get("culprits", [])]
'"$2" "$json" >"$work/asserted" 2>&1 && ok "$1" || {
        not_ok "$1"
        sed 's/^/    /' "$work/asserted" | tail -n 5
    }
}

# An agent for an emulated CPU, when both are there.
have_arm() { [ -x "$arm_assayd" ] && command -v "$QEMU" >/dev/null; }
