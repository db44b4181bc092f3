# SPDX-License-Identifier: Apache-2.0
# The models of the judgements, and cases of them; sourced behind lib.sh.
# `make_models` makes in $models what is missing, or skips it; `ocr` is then not
# empty where the OCR classifier is there.

fresh() { # fresh STAMP FILES...: is the stamp newer than these files?
    local stamp=$1 f
    shift
    [ -e "$stamp" ] || return 1
    for f in "$@"; do [ "$stamp" -nt "$f" ] || return 1; done
}

made=${BUILD:-build}/oracle
models=$made/models

make_models() {
    mkdir -p "$models"
    if ! fresh "$models/.digits" "$here/train_digits.py"; then
        "$python" "$here/train_digits.py" "$models" >"$made/digits.log" 2>&1 &&
            touch "$models/.digits" ||
            { tail -n 5 "$made/digits.log"; fail "train_digits.py"; finish; }
    fi
    "$here/fetch_ocr.sh" "$models" 2>"$made/ocr.log"
    local rc=$?
    ocr=1
    if [ $rc = 77 ]; then
        skip "the OCR classifier: $(tail -n 1 "$made/ocr.log")"
        ocr=
    elif [ $rc != 0 ]; then
        fail "fetch_ocr.sh: $(tail -n 1 "$made/ocr.log")"
        ocr=
    elif ! fresh "$models/.ocr" "$here/make_onnx.py"; then
        "$python" "$here/make_onnx.py" \
            "$models/ch_ppocr_mobile_v2.0_cls_infer.onnx" "$models" \
            >"$made/ocr.log" 2>&1 && touch "$models/.ocr" ||
            { tail -n 5 "$made/ocr.log"; fail "make_onnx.py"; ocr=; }
    fi
}

make_case() { # make_case SCRIPT MODEL INPUTS CASE ARGS...
    local script=$1
    shift
    fresh "$3/case.json" "$1" "$2" "$here/$script" "$here/ort_layers.py" &&
        return 0
    "$python" "$here/$script" "$@" >"$work/case.log" 2>&1 && return 0
    tail -n 5 "$work/case.log"
    fail "$script $1"
    return 1
}
