#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The four captures on the digits, equal and with one flipped golden: `full` and
# `differing` tell the same, `digest` and `stats` what they can.
. "$(dirname "$0")/lib.sh"

flip=$ROOT/tests/support/flip_golden.py
schema=$ROOT/docs/assay-report-1.schema.json
cp -r "$digits" "$work/flipped"
chmod -R u+w "$work/flipped"
run python3 "$flip" "$work/flipped" conv2
expect_rc 0 "one bit of conv2's golden is flipped"

captured() { # captured CASE CAPTURE [OPTION...]: report in $work/NAME.json
    local case=$1 capture=$2
    shift 2
    json=$work/$(basename "$case")-$capture.json
    run "$assay" run "$case" -q --target "exec:$assayd --stdio" \
        --capture "$capture" --json "$json" "$@"
}

report() { # report TEXT PYTHON
    if python3 -c "import json
r = json.load(open('$json'))
by = {l['name']: l for l in r['layers']}
$2" 2>"$work/err"; then ok "$1"; else not_ok "$1"; fi
}

same() { # same NAME TEXT: full and differing, in everything but bytes
    if python3 - "$work/$1-full.json" "$work/$1-differing.json" \
        2>"$work/err" <<'END'
import json
import sys

both = [json.load(open(p)) for p in sys.argv[1:]]
for r in both:
    for key in ("received_bytes", "artifacts"):
        del r[key]
    for key in ("started", "duration_ms", "argv", "capture"):
        del r["run"][key]
    for l in r["layers"]:
        del l["time_us"]
assert both[0] == both[1]
END
    then ok "$2"; else not_ok "$2"; fi
}

for capture in full differing digest stats; do
    captured "$digits" $capture
    expect_rc 0 "$capture: equal"
    run python3 "$ROOT/tests/support/check_schema.py" "$schema" "$json"
    expect_rc 0 "$capture: the report is as its schema says"
    report "$capture: what is equal is known in full" '
assert r["verdict"] == "match" and r["run"]["capture"] == "'$capture'"
assert all(l["status"] == "exact" and l["mismatch"] == 0 and l["count"] > 0
           and l["digest_got"] == l["digest_expected"] for l in r["layers"])'
    captured "$work/flipped" $capture
    expect_rc 1 "$capture: flipped"
    run python3 "$ROOT/tests/support/check_schema.py" "$schema" "$json"
    expect_rc 0 "$capture: and so is this one"
    report "$capture: the culprit is found" '
assert r["verdict"] == "unexplained", r["verdict"]
assert [c["name"] for c in r["culprits"]] == ["conv2"]
assert by["conv2"]["status"] == "diverged"
assert sum(l["status"] == "exact" for l in r["layers"]) == 20
assert by["conv2"]["columns"]["host"]["mismatch"] == 1'
done
same digits "equal: full and differing tell the same"
same flipped "flipped: full and differing tell the same"
sizes=$(python3 -c "import json
for c in ('full', 'differing', 'digest', 'stats'):
    print(json.load(open('$work/digits-%s.json' % c))['received_bytes'])")
read -r -d '' full differing digest _ <<<"$sizes"
expect "differing: fewer bytes than full" test "$differing" -lt "$full"
expect "digest: as well" test "$digest" -lt "$full"

captured "$work/flipped" digest
expect_out 'DIVERGED' "digest: the row is there"
expect_out ' conv2 +1x4x4x16 +- +- +- - ' "digest: and has no counts"
expect_out '1 of 4 tiles of 64 KiB, the first is tile 0' "digest: tiles"
expect_out 'not searched for: --capture digest sends no data' \
    "digest: no cause is searched, and it says so"
expect_out '--capture differing searches' "digest: and with which command"
report "digest: what is not known is null" '
c = by["conv2"]
assert c["mismatch"] is None and c["max_lsb"] is None and c["first"] == []
assert c["cosine"] is None and c["lsb_hist"] is None
assert c["tiles"] == 1 and c["tiles_differing"] == 1 and c["first_tile"] == 0
assert c["count"] == 1024 and "digest_got" not in c
assert c["columns"]["cpu"]["mismatch"] is None
assert not r["hypotheses"]'
captured "$work/flipped" stats
expect_out 'statistics of conv2 differ' "stats: both sides are told"
expect_out '^ +board +min -67, max 102, mean 14.4756' "stats: the board's"
expect_out '^ +reference min -67, max 102, mean 14.4746' "stats: the reference's"
report "stats: the means are those of one LSB in one of 1024 elements" '
s = by["conv2"]["statistics"]
b, e = s["board"], s["reference"]
assert b["count"] == 1024 == sum(b["bins"]) == sum(e["bins"])
assert abs(b["mean"] - e["mean"] - 1 / 1024) < 1e-12
assert all(l["statistics"]["board"] == l["statistics"]["reference"]
           for l in r["layers"] if l["name"] != "conv2")
assert by["conv2"]["accumulator"]["min"] < 0'
captured "$digits" differing
report "without stats there are none" 'assert "statistics" not in by["conv2"]'

# A tolerance is judged on data: such layers come as with differing.
captured "$work/flipped" digest --max-lsb conv2:1
expect_rc 0 "digest: within a tolerance"
report "digest: a layer with a tolerance has its counts" '
assert by["conv2"]["status"] == "within" and by["conv2"]["mismatch"] == 1'
floats=$(python3 -c "import json
r = json.load(open('$json'))
print(sum(l['dtype'] == 'float32' for l in r['layers']))")
expect "there are float layers, too" test "$floats" -gt 0

# Scalar kernels, this process, another order of passes: the same verdicts.
for more in --local "--cpumask 0" "--mode isolated" "--mode cumulative"; do
    where=(--target "exec:$assayd --stdio")
    [ "$more" = --local ] && where=()
    # shellcheck disable=SC2086
    run "$assay" run "$work/flipped" -q ${where[@]+"${where[@]}"} $more \
        --capture digest --json "$work/more.json"
    json=$work/more.json
    expect_rc 1 "digest, $more"
    report "digest, $more: the culprit" '
assert [c["name"] for c in r["culprits"]] == ["conv2"], r["culprits"]
assert by["conv2"]["mismatch"] is None'
done
run "$assay" run "$work/flipped" -q --target "exec:$assayd --stdio" \
    --capture digest --require cpu-scalar --json "$work/more.json"
expect_rc 1 "digest: columns that are asked for"
report "digest: every layer's scalar column is there" '
assert all("cpu-scalar" in l["columns"] for l in r["layers"])'

# What needs data is refused, before anything is run.
for with in --save-outputs "--save-failing $work/failing"; do
    for capture in digest stats; do
        # shellcheck disable=SC2086
        captured "$digits" $capture $with
        expect_rc 2 "$capture ${with%% *}"
        expect_err "^error: ${with%% *} needs the outputs, and --capture $capture does not send them" \
            "$capture ${with%% *}: one sentence"
    done
done
captured "$digits" all
expect_rc 2 "a capture that there is not"
captured "$digits" full --save-outputs -o "$work/a"
captured "$digits" differing --save-outputs -o "$work/b"
expect "saved outputs are the same" diff -r "$work/a/outputs" "$work/b/outputs"

# replay: against a board, with each of them.
captured "$work/flipped" differing --save-failing "$work/failing"
bundle=$(echo "$work"/failing/*.assay)
for capture in full differing digest; do
    run "$assay" replay "$bundle" -q --target "exec:$assayd --stdio" \
        --capture $capture
    expect_rc 1 "replay with $capture"
    expect_out 'first culprit: 000 conv2' "replay with $capture: its layer"
done
run "$assay" replay "$bundle" -q --capture digest --hypothesis R1
expect_rc 2 "a hypothesis needs data"
finish
