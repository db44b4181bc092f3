#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# host-tools/hbir_export.py against a STAND-IN of the vendor's package that
# misbehaves: one sentence, never half a case; what is interrupted goes on.
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
export_py=$ROOT/host-tools/hbir_export.py

# standin MODE CASE [ARGUMENT...]
standin() {
    local mode=$1 case=$2
    shift 2
    run env PYTHONPATH="$standin" HBDK4_STANDIN="$mode" "$python" \
        "$export_py" "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/$case" "$@"
}
standin "" good
expect_rc 0 "a stand-in that behaves"
# same CASE: its goldens are those of the good one.
same() {
    "$python" - "$work/good" "$work/$1" "${2:-}" <<'PY'
import sys
import numpy as np
for k in (0, 1):
    a, b = (np.load("%s/golden/000%d.npz" % (c, k)) for c in sys.argv[1:3])
    lost = set(filter(None, sys.argv[3].split(",")))
    assert set(a.files) - lost == set(b.files), set(a.files) ^ set(b.files)
    for n in set(b.files) - {"__meta__"}:
        assert a[n].dtype == b[n].dtype and np.array_equal(a[n], b[n]), n
PY
}
refuses() { # refuses CODE MODE REGEX TEXT [ARGUMENT...]
    local code=$1 mode=$2 regex=$3 text=$4
    shift 4
    rm -rf "$work/bad" "$work/bad.partial"
    standin "$mode" bad "$@"
    expect_refused "$code" "$regex" "$text"
    expect "$text: no traceback" bash -c '! grep -q Traceback "$1"' _ \
        "$work/err"
    expect "$text: no case" test ! -e "$work/bad"
}

# Names that are missing: which, and in which version.
v='this version of hbdk4.compiler \(0.0.standin\) has no such name'
refuses 2 no-load "'hbdk4.compiler.load' is missing: $v" "no load"
refuses 2 no-module "'Module.module' is missing: $v" "no module"
refuses 2 no-inputs "'Function.flatten_inputs' is missing: $v" "no inputs"
refuses 2 no-feed "'Function.feed' is missing: $v" "no feed"
refuses 2 no-type "'Value.type' is missing: $v" "no type"
refuses 2 no-hbm "'hbdk4.compiler.Hbm' is missing: $v" "no Hbm" \
    --hbm "$m/net.hbm"
refuses 2 no-extract "'Function.extract_function' is missing: $v" \
    "no extract_function for a range" --from pool
refuses 2 no-callback,no-extract \
    "'Function.register_callback' and '.extract_function' are both missing" \
    "nothing to see tensors with"
refuses 2 no-version,no-load "it does not say which" "no version either"
refuses 2 no-asm "'Module.module' gives no text" "no text"
run env -u PYTHONPATH "$python" "$export_py" "$m/quantized.bc" -i \
    "$m/inputs.npz" -o "$work/bad"
expect_refused 2 "package 'hbdk4' is missing" "no vendor package"

# What it gives.
refuses 2 load-none "hbdk4.compiler.load gave nothing" "load gives nothing"
refuses 2 elide 'leaves constants out' "constants that are elided"
refuses 2 none "sample 0000: a result of 'stem' is None" "a result of None"
refuses 2 shape "tensor 'stem' is int8 512, the model says int8 1x8x8x8" \
    "a wrong shape"
refuses 2 dtype "tensor 'stem' is int64 1x8x8x8, the model says int8" \
    "a wrong type"
refuses 2 object "a result of 'stem' is .* dtype object" "objects"
refuses 2 feed-none "the vendor's feed gave nothing, expected a dict" \
    "feed gives nothing"
refuses 2 feed-shape "output 'pred' is float32 10, the model says" \
    "feed gives a wrong shape"
refuses 2 feed-object "output 'pred' is .* dtype object" "feed gives objects"
refuses 2 lost "the vendor's feed gave no 'pred', only feat" "a lost output"
refuses 2 hbm-raises "compiled model: the vendor's feed failed: Connection" \
    "no board" --hbm "$m/net.hbm" --remote-ip 192.0.2.7
refuses 2 exit "the vendor's package ended the program" "it ends the process"
refuses 1 unstable "--self-check: outputs differ from a plain feed: 'pred' \(" \
    "--self-check finds a difference" --self-check
expect_err "10 of 10 elements in sample 0000" "with counts"
refuses 2 no-callback,extract-fails "extract_function gave no tensor .*cannot" \
    "extraction that fails"

# What it does otherwise is no fault.
standin no-callback layers
expect_rc 0 "no callback: by extraction"
expect_err "'Function.register_callback' is missing in hbdk4.compiler 0.0" \
    "and that is said"
expect "how is in case.json" grep -q '"tensors": "extract_function"' \
    "$work/layers/case.json"
standin backwards backwards
expect_rc 0 "callbacks in another order"
expect_err 'another order than .* left out: block, block#2' \
    "equal names cannot be told apart then"
expect "what can is the same" same backwards 'block,block#2'
for mode in false-goes-on no-keywords no-version; do
    standin $mode $mode
    expect_rc 0 "$mode"
    expect "$mode: the same tensors" same $mode
done
standin nameless nameless
expect_rc 0 "operations without names in the callback: by order and type"
expect "the same tensors" same nameless
standin strange strange
expect_rc 0 "an operation that the text does not have"
expect_err 'operators that the text does not have: hbtl.move' "is told"
standin early early
expect_rc 0 "callbacks that end early"
expect_err 'note: 4 tensors could not be captured: block, block#2, flat, head' \
    "what is missing is told"
expect "the others are there" same early 'block,block#2,flat,head'
expect "case.json names them" grep -q '"head": "b30.linear"' \
    "$work/early/case.json"
run env PYTHONPATH="$standin" HBDK4_STANDIN=slow HBIR_EXPORT_HEARTBEAT=0.5 \
    "$python" "$export_py" "$m/quantized.bc" -i "$m/samples/0000.npz" \
    -o "$work/slow"
expect_rc 0 "a slow one"
expect_err '^sample 1/1: [0-9]+ of 9 operations, [0-9]+ s$' "shows that it lives"

# It breaks in the second sample, and goes on there.
for mode in raise:'RuntimeError: out of cheese' kill:'died of signal 11'; do
    name=${mode%%:*}
    standin "$name" "later-$name"
    expect_refused 2 "${mode#*:}" "$name in the second sample"
    expect "$name: no case" test ! -e "$work/later-$name"
    expect "$name: the first sample is kept" \
        test -s "$work/later-$name.partial/golden/0000.npz"
    echo cut >"$work/later-$name.partial/golden/0001.npz.new"
    standin "" "later-$name" --resume
    expect_rc 0 "$name: --resume"
    expect_err '^sample 1/2: is there' "$name: it is not made again"
    expect "$name: the same tensors" same "later-$name"
done
standin raise other
mv "$work/other.partial" "$work/x.partial"
run env PYTHONPATH="$standin" "$python" "$export_py" "$m/quantized.bc" -i \
    "$m/samples/0001.npz" -o "$work/x" --resume
expect_refused 2 'made from another model, other inputs or options' \
    "another's rest"
rm -rf "$work/x.partial"

# Interrupted: at once, with the code of the signal, and to be resumed.
for signal in INT:130 TERM:143; do
    name=${signal%%:*}
    (
        trap - INT # a job of a script has it ignored
        exec env PYTHONPATH="$standin" HBDK4_STANDIN=slow \
            "$python" - "$export_py" "$m/quantized.bc" -i "$m/inputs.npz" \
            -o "$work/cut$name" 2>"$work/cut.err" >/dev/null <<'PY'
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
PY
    ) &
    pid=$!
    "$python" - "$work/cut$name.partial/golden/0000.npz" <<'PY'
import os, sys, time
end = time.time() + 30
while not os.path.exists(sys.argv[1]) and time.time() < end:
    time.sleep(0.02)
PY
    kill -"$name" "$pid"
    wait_for "$pid" 10
    expect "$name: exit ${signal#*:}" test "$rc" = "${signal#*:}"
    expect "$name: no case" test ! -e "$work/cut$name"
    expect "$name: what is done is kept" grep -q 'go on with --resume' \
        "$work/cut.err"
    standin "" "cut$name" --resume
    expect_rc 0 "$name: --resume"
    expect "$name: the same tensors" same "cut$name"
done
# Killed so that nothing can be tidied up; goes on, whole.
for after in inputs/0000.npz golden/0000.npz; do
    name=dead-${after%%/*}
    env PYTHONPATH="$standin" HBDK4_STANDIN=slow "$python" "$export_py" \
        "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/$name" \
        >"$work/dead.log" 2>&1 &
    pid=$!
    child=$("$python" - "$work/$name.partial/$after" "$pid" <<'PY'
import os, sys, time
end = time.time() + 30
while not os.path.exists(sys.argv[1]) and time.time() < end:
    time.sleep(0.01)
print(open("/proc/%s/task/%s/children" % (sys.argv[2], sys.argv[2])).read())
PY
    )
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    standin "" "$name" --resume
    expect_refused 2 'is being written by another export' \
        "only the parent was killed: its child goes on"
    # shellcheck disable=SC2086 # a list
    kill -KILL $child
    expect "no case" test ! -e "$work/$name"
    printf 'PK cut' >"$work/$name.partial/golden/0001.npz"
    cp "$work/$name.partial/inputs/0000.npz" \
        "$work/$name.partial/inputs/0001.npz"
    for _ in 1 2 3 4 5 6 7 8 9 10; do # until its lock has ended
        standin "" "$name" --resume
        grep -q 'being written' "$work/err" || break
        sleep 0.1
    done
    expect_rc 0 "killed behind $after: --resume"
    expect "the same tensors" same "$name"
done

# What differs in the self-check is found again after a kill.
standin unstable,raise checked --self-check
expect "a sample that differs is not kept" \
    test ! -e "$work/checked.partial/golden/0000.npz"

# What is not this program's is not touched.
mkdir "$work/mine" "$work/good.old"
touch "$work/mine/x" "$work/good.old/x"
standin "" mine --force
expect_refused 2 'is no case .*--force does not replace it' "a folder, no case"
standin "" good --force
expect_rc 0 "--force replaces a case"
expect "and touches nothing beside it" test -e "$work/good.old/x" -a \
    -e "$work/mine/x" -a ! -e "$work/good.partial.old"
standin raise rest
standin "" rest --resume --large 8
expect_refused 2 'made from another model, other inputs or options' \
    "--resume with another --large"
expect "the rest is kept" test -e "$work/rest.partial/golden/0000.npz"
cp "$m/quantized.bc" "$m/kept.bc"
echo >>"$m/quantized.bc"
standin "" rest --resume
expect_refused 2 'made from another model' "--resume with another file"
mv "$m/kept.bc" "$m/quantized.bc"
run bash -c "ulimit -f 3; exec env PYTHONPATH='$standin' '$python' \
    '$export_py' '$m/quantized.bc' -i '$m/inputs.npz' -o '$work/full'"
expect_refused 2 "cannot read or write '.*full.partial" "no room for a file"
expect "no case" test ! -e "$work/full"

# Names that numpy's own writer does not take; many layers.
run "$python" - "$export_py" "$work" <<'PY'
import importlib.util, sys, time
import numpy as np
spec = importlib.util.spec_from_file_location("hbir_export", sys.argv[1])
x = importlib.util.module_from_spec(spec)
spec.loader.exec_module(x)
names = ["file", "allow_pickle", "self", "arr_0", "a/b", "\u5377\u79ef", "n.npy"]
x.write_npz(sys.argv[2] + "/n.npz", {n: np.arange(3) for n in names})
with np.load(sys.argv[2] + "/n.npz") as z:
    assert sorted(z.files) == sorted(names), z.files
body = "".join('    %%%d = "b30.reshape"(%%%s) : (tensor<4xsi8>) -> '
               'tensor<4xsi8> loc("l%d")\n' % (k, k - 1 if k else "arg0", k)
               for k in range(3000))
text = x.Text("module {\n  func.func @main(%%arg0: tensor<4xsi8>) -> "
              "tensor<4xsi8> {\n%s    return %%2999 : tensor<4xsi8>\n  }\n}\n"
              % body, "many")
class Function:
    flatten_inputs = flatten_outputs = []
    def register_callback(self, cb):
        self.cb = cb
    def feed(self, feed):
        for k in range(3000):
            self.cb(type("Op", (), {"type": "b30.reshape", "name": "l%d" % k}),
                    [np.full(4, k % 128, np.int8)], [])
        return {}
class Vendor(x.Vendor):
    def __init__(self):
        self.version = ""
    def function(self, module, path):
        return Function()
begun = time.time()
got = x.Capture(Vendor(), None, "many", text).run({}, "0000")
assert len(got) == 3000 and got["l2999"][0] == 2999 % 128, len(got)
took = time.time() - begun
assert took < 10, took
PY
expect_rc 0 "odd names, 3,000 layers"
finish
