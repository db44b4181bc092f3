#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Wrong command lines to the sanitized command: exit 2, one sentence that
# names what is wrong, nothing on stdout.
MACHINE=x86_64-san
. "$(dirname "$0")/lib.sh"

bad() { # bad REGEX ARGUMENT...
    local regex=$1
    shift
    run "$assay" "$@"
    if [ -s "$work/out" ]; then
        not_ok "stdout is not empty: assay $*"
    else
        expect_refused 2 "$regex" "assay $*"
    fi
}

bad 'command' 
bad 'frobnicate' frobnicate
bad 'no-such' run "$digits" --local --no-such
bad "model|argument" run --model
bad 'local' run "$digits" --local=yes
bad 'exclude|together|both' run "$digits" --local --target 127.0.0.1:1
bad 'address expected' run "$digits" --target rk3588
bad 'cpumask' run "$digits" --local --cpumask avx2
bad 'max-lsb' run "$digits" --local --max-lsb many
bad 'max-lsb' run "$digits" --local --max-lsb -1
bad 'atol' run "$digits" --local --atol nan
bad 'atol' run "$digits" --local --atol 1e-3x
bad 'mode' run "$digits" --local --mode sideways
bad 'sort-by' run "$digits" --local --sort-by colour
bad 'max-rows' run "$digits" --local --max-rows 99999999999999999999
bad 'require' run "$digits" --local --require gpu
bad 'min-coverage' run "$digits" --local --min-coverage 101
bad 'timeout' run "$digits" --local --timeout 0
bad 'numerics' run "$digits" --local --numerics abacus
bad 'arith' run "$digits" --local --arith conv1
bad 'fp99' run "$digits" --local --arith '*=fp99'
bad 'nearest: q31_floor' show "$digits" --arith conv2=q31_flor
# A fixed-point model brings its arithmetic with it; others do not.
horizon=$ROOT/tests/data/horizon
bad "'same_s2=fp32_rne': the layers of 'model.onnx' carry multipliers" \
    show "$horizon" --arith same_s2=fp32_rne
bad "carry multipliers and shifts; expected 'bayes-e'" \
    run "$horizon" --local --numerics onnxruntime-x86
bad "'bayes-e': rules are for models whose layers carry multipliers" \
    run "$digits" --local --numerics bayes-e
# Rules and files of rules: what is wrong is named, with its place.
bad "no layer 'nosuch'" show "$horizon" --arith 'nosuch=add bias; sat 16'
bad "'frob' is no step" show "$horizon" --arith 'same_s2=frob 3; sat 16'
bad 'a step is missing' show "$horizon" --arith 'same_s2= ; '
bad 'is no field' show "$horizon" --arith 'same_s2=add 99999999999999999999999'
bad "'same_s2='" show "$horizon" --arith same_s2=
bad "'=mul 3'" show "$horizon" --arith '=mul 3'
bad 'no arithmetic to choose here' show "$horizon" \
    --arith 'tail_nhwc2nchw_LayoutConvert_Output0=add bias; sat 16'
bad "names layer 'same_s2' more than once" show "$horizon" \
    --arith 'same_s2=sat out' --arith 'same_s2=sat out'
mkfifo "$work/fifo.json"
truncate -s 1G "$work/huge.json"
bad 'fifo.json: not a file' show "$horizon" --numerics "$work/fifo.json"
bad 'huge.json: 1073741824 bytes, more than the limit' \
    show "$horizon" --numerics "$work/huge.json"
bad 'none.json: No such file' show "$horizon" --numerics "$work/none.json"
bad "'--numerics': bad value ''" show "$horizon" --numerics ''
bad "'model.onnx' holds its own scales" \
    show "$digits" --scales "$horizon/scales.json"
bad 'format' run "$digits" --local --format xml
bad 'not yet known' run "$digits" --local --junit-xml f.xml
bad 'not yet known' compare "$digits"
bad 'nosuchlayer' run "$digits" --local --layers 'nosuchlayer*'
bad 'nosuchlayer' run "$digits" --local --start-layer nosuchlayer
bad '.' run "$digits" second --local
bad '.' run "$digits" -m "$digits/model.onnx" --local
bad '.' run -m "$digits/model.onnx" --local
bad '.' info "$digits" --local --all
bad 'more than' run "$digits" --local $(printf -- '--layers a %.0s' {1..100})
bad 'target|address' run "$digits" --target ''
bad 'target|address|exec' run "$digits" --target 'exec:'
bad 'quote|exec' run "$digits" --target "exec:sh 'unclosed"
bad 'port|99999' run "$digits" --target 127.0.0.1:99999
finish
