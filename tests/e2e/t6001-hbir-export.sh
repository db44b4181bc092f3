#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# host-tools/hbir_export.py against a STAND-IN of the vendor's package (see
# tests/support/hbdk4_standin): every option, every form of inputs.
# timeout: 600
. "$(dirname "$0")/lib.sh"

python=$(BUILD=$BUILD "$ROOT/tests/oracle/venv.sh" 2>"$work/venv.log")
rc=$?
[ $rc = 77 ] && skip_all "no numpy: $(tail -n 1 "$work/venv.log")"
[ $rc = 0 ] || { not_ok "venv.sh: $(tail -n 1 "$work/venv.log")"; finish; }
standin=$ROOT/tests/support/hbdk4_standin
export PYTHONDONTWRITEBYTECODE=1
m=$work/m
"$python" "$standin/make_bc.py" "$m" || { not_ok "make_bc.py"; finish; }

# export_case [NAME=VALUE...] -- ARGUMENT...: with the stand-in.
export_case() {
    local set=()
    while [ "$1" != -- ]; do set+=("$1") && shift; done
    shift
    run env PYTHONPATH="$standin" ${set[@]+"${set[@]}"} "$python" \
        "$ROOT/host-tools/hbir_export.py" "$@"
}
json() { # json FILE EXPRESSION: of the object j
    "$python" -c 'import json, sys
j = json.load(open(sys.argv[1])); sys.exit(not eval("(%s)" % sys.argv[2]))' "$@"
}
npz() { # npz FILE EXPRESSION: of the archive z
    "$python" -c 'import sys, numpy as np
z = np.load(sys.argv[1]); sys.exit(not eval("(%s)" % sys.argv[2]))' "$@"
}

# Everything that an export can have.
export_case -- "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/case" \
    --self-check --stage "$m/qat.bc" --hbm "$m/net.hbm" --option consistency=1
expect_rc 0 "an export"
expect_out "^$work/case\$" "it prints where the case is"
expect_err '^hbdk4.compiler 0.0.standin, march nash-e$' "versions and march"
expect_err '^sample 2/2: 9 tensors, 4 of the float stage, 2 of the compiled' \
    "progress"
expect_err "^hbm: inputs and outputs are those of 'quantized.bc'\$" \
    "which .bc the hbm came from"
expect "no temporary folder stays" test ! -e "$work/case.partial"
for f in model.mlir constants.npz case.json inputs/0001.npz golden/0001.npz \
    sim/0001.npz stage/float/0001.npz; do
    expect "the case has $f" test -s "$work/case/$f"
done
expect "march" json "$work/case/case.json" "j['march'] == 'nash-e'"
expect "target" json "$work/case/case.json" "j['target'] == 'B30G'"
expect "versions" json "$work/case/case.json" \
    "j['tools']['hbdk4'] == '0.0.standin'"
expect "how" json "$work/case/case.json" \
    "j['how']['tensors'] == 'register_callback'"
expect "options" json "$work/case/case.json" \
    "j['options']['consistency'] == '1'"
for f in bc:quantized.bc hbm:net.hbm; do
    expect "SHA-256 of ${f#*:}" json "$work/case/case.json" "j['${f%:*}'][
'sha256'] == '$(sha256sum <"$m/${f#*:}" | cut -d' ' -f1)'"
done
expect "SHA-256 of the text" json "$work/case/case.json" "j['model_sha256'] ==
'$(sha256sum <"$work/case/model.mlir" | cut -d' ' -f1)'"
expect "goldens are bound to model and input" npz "$work/case/golden/0000.npz" \
    "all(k in str(z['__meta__']) for k in ('model_sha256', 'input_sha256',
    'hbdk4', '0.0.standin'))"

# Names and values: by the rule of docs/quantized-bc.md, written down here.
expect "names of tensors, in order" npz "$work/case/golden/0000.npz" \
    "z.files == ['img_quant', 'stem', 'pool', 'block', 'block#2', 'feat',
    'flat', 'head', 'pred', '__meta__']"
expect "types" npz "$work/case/golden/0001.npz" \
    "[z[k].dtype.name for k in ('img_quant', 'head', 'pred')] == ['int8',
    'int32', 'float32']"
expect "memory that is used again was copied" "$python" - "$work/case" <<'PY'
import sys
import numpy as np
a, b = (np.load(sys.argv[1] + "/golden/000%d.npz" % k) for k in (0, 1))
for k in a.files[:-1]:
    assert a[k].any(), k
    assert not np.array_equal(a[k], b[k]), k
assert np.array_equal(a["flat"].reshape(-1), a["feat"].reshape(-1))
assert np.array_equal(a["pred"], a["head"].astype("f4") * np.float32(2**-13))
PY
# Constants: out of the text, with the same bytes.
expect "a long constant is not in the text" \
    bash -c '! grep -q "dense<\"0x.\{1500\}" "$1"' _ "$work/case/model.mlir"
expect "it is a resource there" \
    grep -q 'dense_resource<assay_constant_0> : tensor<128x10xsi8>' \
    "$work/case/model.mlir"
expect "and in constants.npz" "$python" - "$m/quantized.bc" "$work/case" <<'PY'
import json, sys
import numpy as np
z = np.load(sys.argv[2] + "/constants.npz")
want = [np.array(o["data"]) for o in json.load(open(sys.argv[1]))["ops"]
        if o["run"] == "constant" and "128x10" in o["types"][0]]
assert z.files == ["assay_constant_0"], z.files
assert z[z.files[0]].dtype == np.int8 and z[z.files[0]].shape == (128, 10)
assert np.array_equal(z[z.files[0]].reshape(-1), want[0])
PY
export_case -- "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/all" --large 0
expect_rc 0 "--large 0"
expect "all constants are out, lists as well" npz "$work/all/constants.npz" \
    "len(z.files) == 10 and z['assay_constant_1'].dtype == np.int64 and
    z['assay_constant_1'].shape == (8, 6)"
export_case -- "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/none" \
    --large 1000000
expect_rc 0 "--large 1000000"
expect "none is out" test ! -e "$work/none/constants.npz"

# Every form of inputs gives the same samples.
"$python" - "$m" <<'PY'
import os, sys
import numpy as np
m = sys.argv[1]
x = np.load(m + "/inputs.npz")["img"]
np.save(m + "/all.npy", x)
x.tofile(m + "/all.bin")
np.save(m + "/stack.npy", x[:, None])
np.savez(m + "/alias.npz", in0=x)
for k in (0, 1):
    x[k:k + 1].tofile(m + "/one%d.bin" % k)
    os.makedirs(m + "/folders/%d" % k)
    np.save(m + "/folders/%d/img.npy" % k, x[k:k + 1])
os.makedirs(m + "/flat")
os.makedirs(m + "/empty")
x.tofile(m + "/flat/img.bin")
np.savez(m + "/shape.npz", img=x[:, 1:])
np.savez(m + "/type.npz", img=x.astype("f8"))
np.savez(m + "/name.npz", image=x)
open(m + "/short.bin", "wb").write(b"x" * 100)
open(m + "/junk.npz", "wb").write(b"x" * 100)
PY
k=0
while read -r inputs; do
    k=$((k + 1))
    # shellcheck disable=SC2086
    export_case -- "$m/quantized.bc" $inputs -o "$work/in$k"
    expect_rc 0 "inputs: ${inputs//"$m/"/}"
    expect "the same samples" "$python" - "$work/case" "$work/in$k" <<'PY'
import glob, sys
import numpy as np
a, b = sys.argv[1:]
assert len(glob.glob(b + "/inputs/*.npz")) == 2
for k in (0, 1):
    for folder, name in (("inputs", "img"), ("golden", "pred")):
        x, y = (np.load("%s/%s/000%d.npz" % (c, folder, k))[name]
                for c in (a, b))
        assert x.dtype == y.dtype and np.array_equal(x, y)
PY
done <<EOT
-i $m/samples
-i $m/samples/0000.npz -i $m/samples/0001.npz
-i $m/all.npy
-i $m/all.bin
-i $m/stack.npy
-i $m/alias.npz
-i img=$m/all.npy
-i in0=$m/one0.bin -i img=$m/one1.bin
-i $m/folders
-i $m/flat
EOT
while IFS='|' read -r inputs regex text; do
    # shellcheck disable=SC2086
    export_case -- "$m/quantized.bc" $inputs -o "$work/bad"
    expect_refused 2 "$regex" "$text"
done <<EOT
-i $m/shape.npz|input 'img' has shape 2x7x8x3, the model takes 1x8x8x3|a wrong shape
-i $m/type.npz|is float64, the model takes float32|a wrong type
-i $m/name.npz|lacks input 'img' .or in0.; it has image|a wrong name
-i $m/short.bin|has 100 bytes, one sample of float32 1x8x8x3 is 768|raw bytes of a wrong length
-i $m/junk.npz|is no npz|no npz
-i $m/nothing.npz|are not there|no file
-i x=$m/all.npy|the model has no input 'x', only img|NAME=FILE of no input
-i $m/empty|has no .npz, and no NAME.npy|a folder without samples
EOT
expect "after all that: no case" test ! -e "$work/bad"

# A layer range: its inputs are what the whole model computed.
export_case -- "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/staged" \
    --from pool --to block --stage "$m/qat.bc"
expect_rc 0 "a range, and a float stage"
expect_err "^layers 2..3 of 9: 'pool' to 'block'\$" "the range"
expect_err '^bc_editor: \{"remove_fake_quant": \[\[1, 1\]\]\}' \
    "the range for bc_editor"
export_case -- "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/bad" \
    --from pool --to 'block#2'
expect_refused 2 "extract_function of 'pool' to 'block#2' failed: KeyError" \
    "a layer that the vendor cannot name"
export_case -- "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/cut" \
    --from pool --to 'block'
expect_rc 0 "--from and --to"
expect_err 'give it with --stage' "without a float stage: how to have it"
expect "the cut's inputs and tensors are the whole model's" "$python" - \
    "$work/case" "$work/cut" <<'PY'
import sys
import numpy as np
whole, cut = (np.load(c + "/golden/0001.npz") for c in sys.argv[1:])
given = np.load(sys.argv[2] + "/inputs/0001.npz")
assert given.files == ["stem"], given.files
assert np.array_equal(given["stem"], whole["stem"])
assert cut.files == ["pool", "block", "__meta__"], cut.files
for k in cut.files[:-1]:
    assert np.array_equal(cut[k], whole[k]), k
PY
export_case -- "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/bad" --from nose
expect_refused 2 "no layer 'nose' in .*; it has img_quant" "no such layer"
export_case -- "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/bad" --from head \
    --to stem
expect_refused 2 "'head' .--from. stands behind 'stem'" "a range backwards"

# Float stages.
export_case -- "$m/qat.bc" -i "$m/inputs.npz" -o "$work/bad"
expect_refused 2 'is of a float stage .qnt.const_fake_quant.' \
    "a float stage as the model"
export_case -- --stage "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/bad"
expect_refused 2 'has no qnt.const_fake_quant: it is no float stage' \
    "a fixed-point model as the stage"
export_case -- --stage "$m/qat.bc" -i "$m/inputs.npz" -o "$work/float"
expect_rc 0 "--stage alone"
expect "tensors only" npz "$work/float/stage/float/0001.npz" \
    "z.files == ['stem', 'stem#2', 'block', 'feat']"
expect "no model to run" test ! -e "$work/float/model.mlir"
expect "the stage is told" json "$work/float/case.json" "j['stage'] == 'float'"

# The compiled model: of which .bc, and on a board.
export_case -- "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/removed" --hbm \
    "$m/removed.hbm"
expect_rc 0 "an hbm without Quantize and Dequantize"
expect_err "^hbm: .* are those of 'net_quantized_removed_model.bc'\$" \
    "it came from the removed model"
expect_err "input 'img' is int8 in the compiled model: its Quantize was" \
    "the input is told"
expect "its outputs are named as the model's integers" npz \
    "$work/removed/sim/0000.npz" "z.files == ['head', 'feat', '__meta__']"
expect "and equal" "$python" - "$work/removed" <<'PY'
import sys
import numpy as np
a, b = (np.load("%s/%s/0001.npz" % (sys.argv[1], f)) for f in ("golden", "sim"))
assert np.array_equal(a["head"], b["head"]) and b["head"].dtype == np.int32
PY
mkdir "$m/alone"
cp "$m/quantized.bc" "$m/alone"
export_case -- "$m/alone/quantized.bc" -i "$m/inputs.npz" -o "$work/alone" \
    --hbm "$m/removed.hbm"
expect_rc 0 "the removed model is not there"
expect_err "^hbm: made from a model without .* of 'img', 'pred'" "it is told"
export_case -- "$m/net_quantized_removed_model.bc" -i img="$work/q.npy" \
    -o "$work/bad"
expect_refused 2 "q.npy' is not there" "no such file"
"$python" -c 'import sys, numpy as np
np.save(sys.argv[2], np.load(sys.argv[1])["img_quant"])' \
    "$work/case/golden/0000.npz" "$work/q.npy"
export_case -- "$m/net_quantized_removed_model.bc" -i img="$work/q.npy" \
    -o "$work/ints" --hbm "$m/removed.hbm" --self-check
expect_rc 0 "the removed model as the model"
expect_err "^hbm: .* are those of 'net_quantized_removed_model.bc'\$" \
    "and its hbm"
export_case -- "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/board" --hbm \
    "$m/net.hbm" --remote-ip 192.0.2.7
expect_rc 0 "--remote-ip"
expect "it is the column of the board" test -s "$work/board/bpu/0001.npz"
expect "and not of the simulation" test ! -e "$work/board/sim"
export_case -- "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/bad" --hbm \
    "$m/locked.hbm" --remote-ip 192.0.2.7
expect_refused 2 "compiled model: .*PermissionError: board refuses user None" \
    "a board that wants a password"
export_case HBIR_EXPORT_USER=root HBIR_EXPORT_PASSWORD=secret -- \
    "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/locked" --hbm \
    "$m/locked.hbm" --remote-ip 192.0.2.7
expect_rc 0 "has it from the environment"
expect "and it is written nowhere" bash -c '! grep -rq secret "$1"' _ \
    "$work/locked"
export_case -- "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/renamed" --hbm \
    "$m/renamed.hbm"
expect_rc 0 "an hbm with other names"
expect_err "^hbm: .* those of 'quantized.bc' under other names" "is told"
expect_err "output 'out0' of the compiled model has no such name" "each of them"

# By extraction instead of callbacks.
export_case -- "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/extract" \
    --by-extract
expect_rc 0 "--by-extract"
expect_err "note: 1 tensors could not be captured: block#2" \
    "a name that stands twice has one tensor only"
expect "the others are the same" "$python" - "$work/case" "$work/extract" <<'PY'
import sys
import numpy as np
a, b = (np.load(c + "/golden/0001.npz") for c in sys.argv[1:])
assert set(a.files) - set(b.files) == {"block#2"}, b.files
for k in set(b.files) - {"__meta__", "block"}:
    assert np.array_equal(a[k], b[k]), k
PY

# Manners.
export_case -- "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/case"
expect_refused 2 "is there already: give --force" "a case of that name"
export_case -- "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/case" --force
expect_rc 0 "--force"
expect "the old one is gone" test ! -e "$work/case/sim" -a ! -e "$work/case.old"
export_case -- -i "$m/inputs.npz" -o "$work/bad"
expect_refused 2 'a quantized.bc is expected' "no model"
export_case -- "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/bad" --remote-ip a
expect_refused 2 '--remote-ip without --hbm' "a board without a model"
export_case -- "$m/none.bc" -i "$m/inputs.npz" -o "$work/bad"
expect_refused 2 "none.bc' is not there" "no such model"
export_case -- "$m/inputs.npz" -i "$m/inputs.npz" -o "$work/bad"
expect_refused 2 "cannot be loaded by hbdk4.compiler 0.0.standin" "no model"
expect "it is Python 3.8" "$python" -c \
    'import ast, sys; ast.parse(open(sys.argv[1]).read(),
    feature_version=(3, 8))' "$ROOT/host-tools/hbir_export.py"
expect "numpy and the vendor's package are all that it needs" "$python" - \
    "$ROOT/host-tools/hbir_export.py" <<'PY'
import ast, sys
names = set()
for n in ast.walk(ast.parse(open(sys.argv[1]).read())):
    if isinstance(n, ast.Import):
        names |= {a.name.split(".")[0] for a in n.names}
    elif isinstance(n, ast.ImportFrom):
        names.add(n.module.split(".")[0])
assert not names - set(sys.stdlib_module_names) - {"numpy"}, names
PY
finish
