#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The self-test: a good board passes, one whose kernel computes wrong, or dies,
# is named, refuses runs, and goes on to answer.
# timeout: 180
. "$(dirname "$0")/lib.sh"

support=$ROOT/tests/support
peer=$BUILD/x86_64/tests/support/peer
run python3 "$support/selftest_goldens.py" --check "$ROOT/lib/engine/selftest.def"
expect_rc 0 "another program gives the digests of selftest.def"
sed 's/"\(.\)/"x\1/' "$ROOT/lib/engine/selftest.def" >"$work/other.def"
run python3 "$support/selftest_goldens.py" --check "$work/other.def"
expect_rc 1 "and would tell others apart"

# ---- a good board ------------------------------------------------------------
kernels=$(grep -c '^ASSAY_KERNEL(.*, ref)' "$ROOT/kernels/kernels.def")
start_agent "$assayd" --listen "unix:$work/a.sock" --log-level info
run "$assay" self-test --target "$address"
expect_rc 0 "a good board"
expect "every scalar kernel is in the table" test \
    "$(grep -Ec '^[a-z0-9_]+ +ok$' "$work/out")" = "$kernels"
expect_out '^memory +ok +[0-9]+ KiB, 3 patterns$' "memory"
expect_out '^clock +ok +monotonic$' "the clock goes on"
expect_out '^clock +(ok +wall 20[0-9-]+T[0-9:]+Z|- +wall no clock)$' "the date"
expect_out '^self-test passed: [0-9]+ checks in [0-9.]+ s$' "the verdict"
expect_not_out 'BAD' "nothing is bad"
run "$assay" self-test --target "$address" --json "$work/r.json"
expect_rc 0 "JSON"
run python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
assert r["schema"] == "assay-self-test/1" and r["passed"] is True, r
assert r["exit_code"] == 0 and r["checks"] > 20 and r["time_us"] > 0, r
kinds = {i["kind"] for i in r["items"]}
assert kinds == {"kernel", "memory", "clock", "temperature", "frequency"}
assert all(i["verdict"] in ("good", "none") for i in r["items"]), r
' "$work/r.json"
expect_rc 0 "its fields"
run "$assay" info --target "$address"
expect_out '^kernels .*self-test passed [0-9]+ checks, [0-9.]+ s$' "info tells"
expect "the log has it" grep -Eq \
    '^assayd: info: self-test passed checks=[0-9]+ ms=[0-9]+$' \
    "$work/agent.err"
# Asked for with a lease, twice at once, and by whoever hangs up meanwhile.
run "$peer" "$work/a.sock" hello reply acquire reply self-test reply ping
expect_out '^SELF_TEST_REPLY$' "it is answered under a lease"
run "$peer" "$work/a.sock" hello reply self-test
expect_rc 0 "a client that does not wait for it"
"$assay" self-test --target "$address" >"$work/one" 2>&1 &
one=$!
run "$assay" self-test --target "$address"
expect_rc 0 "one of two at once"
wait "$one"
expect "the other" test "$?" = 0
run "$assay" run "$digits" --target "$address" -q
expect_rc 0 "the board runs models behind all that"
stop_agent TERM
expect "the agent ends with 0" test "$rc" = 0
run "$assayd" --self-test
expect_rc 0 "assayd --self-test"
expect_out '^all +ok$' "its verdict"
run "$assay" self-test --local
expect_rc 0 "--local"
expect_out '^self-test passed' "its verdict"

# ---- a kernel whose result is not what it has to be ----------------------------
python3 - "$ROOT/lib/engine/selftest.def" "$assayd" "$work/bad" <<'END'
import re, sys
goldens = open(sys.argv[1]).read()
data = open(sys.argv[2], "rb").read()
golden = re.search(r'SLICE\(pool_max, \w+,\s+"(\w+)"', goldens).group(1)
assert data.count(golden.encode()) == 1
wrong = ("1" if golden[0] == "0" else "0") + golden[1:]
open(sys.argv[3], "wb").write(data.replace(golden.encode(), wrong.encode()))
END
chmod +x "$work/bad"
sentence="kernel assay_pool__ref computed 'pool_max' wrong: digest [0-9a-f]{32}, expected [0-9a-f]{32}"
run "$work/bad" --self-test
expect_rc 4 "--self-test of a bad board"
expect_out '^kernel +BAD assay_pool__ref' "it names the kernel"
rm -f "$work/a.sock"
: >"$work/agent.err"
start_agent "$work/bad" --listen "unix:$work/a.sock"
run "$assay" run "$digits" --target "$address" --json "$work/report.json"
expect_refused 4 "board bad: $sentence" "runs are refused"
run "$assay" info --target "$address"
expect_rc 0 "info works"
expect_out "self-test FAILED: $sentence" "and says why"
expect_out '^lease +free' "nobody has the lease"
run "$assay" self-test --target "$address"
expect_rc 4 "self-test of a bad board"
expect_out '^pool +BAD$' "the kernel is bad"
expect "all others are good" test \
    "$(grep -Ec '^[a-z0-9_]+ +ok$' "$work/out")" = $((kernels - 1))
expect_out "^BAD: $sentence" "the sentence"
expect_out '^self-test FAILED: 1 of [0-9]+ checks bad, in [0-9.]+ s$' \
    "the verdict"
run "$assay" self-test --target "$address" --json "$work/r.json"
expect_rc 4 "JSON of a bad board"
run python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
assert r["passed"] is False and r["exit_code"] == 4, r
bad = [i["name"] for i in r["items"] if i["verdict"] == "bad"]
assert bad == ["assay_pool__ref"], bad
' "$work/r.json"
expect_rc 0 "it names the kernel"
expect "the log has it" grep -Eq \
    "^assayd: error: self-test bad name=assay_pool__ref why=\"$sentence\"$" \
    "$work/agent.err"
run "$peer" "$work/a.sock" hello reply acquire reply
expect_out '^ERROR BOARD_BAD board bad: kernel' "a lease is refused"
stop_agent TERM
expect "a bad board's agent ends with 0" test "$rc" = 0

# ---- vector kernels, and a CPU that does not know an instruction ---------------
if [ -x "$arm_assayd" ] && command -v "$QEMU" >/dev/null; then
    run "$assay" self-test --target "$(arm_target max)"
    expect_rc 0 "vector kernels"
    rows=$(sed -n 's/^ASSAY_KERNEL(\(.*\), .*, neon)$/\1/p' \
        "$ROOT/kernels/kernels.def")
    for slot in $rows; do
        expect_out "^$slot +ok +ok" "$slot of neon"
    done
    expect_out '^conv2d_x8w8 +ok +ok +ok$' "conv2d of dotprod"
    broken() { # broken KIND: an agent of broken kernels, in self-test
        python3 "$support/break_kernels.py" "$1" "$arm_assayd" \
            "$work/broken" >"$work/count" && chmod +x "$work/broken"
        expect "$1: there are such instructions" test "$(cat "$work/count")" -gt 0
        run "$assay" self-test --target "exec:$QEMU -cpu max $work/broken --stdio"
        expect_rc 4 "$1: the board is bad"
    }
    broken sdot
    expect_out '^conv2d_x8w8 +ok +ok +BAD$' "sdot: the dotprod kernel alone"
    expect_out 'BAD: kernel assay_conv2d_x8w8__dotprod computed' "sdot: named"
    run "$assay" run "$digits" -q --target \
        "exec:$QEMU -cpu max $work/broken --stdio"
    expect_refused 4 'board bad: kernel assay_conv2d_x8w8__dotprod .*--cpumask 0' \
        "sdot: a run is refused"
    run "$assay" run "$digits" -q --cpumask 0 --target \
        "exec:$QEMU -cpu max $work/broken --stdio"
    expect_rc 0 "sdot: the plain kernels judge the model"
    run "$assay" run "$digits" -q --target \
        "exec:$QEMU -cpu max $work/broken --stdio --no-self-test"
    expect_rc 4 "sdot: without a self-test the run itself finds it"
    expect_out 'assay_conv2d_x8w8__dotprod is wrong on this CPU' "sdot: so"
    broken illegal
    expect_out 'BAD: self-test died of signal 4 .* in assay_conv2d_x8w8__dotprod' \
        "illegal: the daemon lives and names it"
    run "$assay" run "$digits" -q --cpumask 0 --target \
        "exec:$QEMU -cpu max $work/broken --stdio"
    expect_rc 0 "illegal: the plain kernels judge the model"
    for kind in floor trunc; do
        broken $kind
        expect_out '^conv2d_x8w8 +ok +BAD +BAD$' "$kind: conv2d"
        expect_out '^dwconv2d_x8w8 +ok +BAD' "$kind: depthwise"
        expect_out '^binary +ok +BAD' "$kind: binary"
        expect_out '^table +ok +ok' "$kind: what rounds nothing is good"
    done
    run "$QEMU" -cpu max "$arm_assayd" --self-test --deadline self-test=0.1
    expect_rc 4 "a test that does not end"
    expect_out 'BAD .*self-test did not finish within 100 ms in ' "is told so"
else
    skip "no aarch64 agent was built"
fi
finish
