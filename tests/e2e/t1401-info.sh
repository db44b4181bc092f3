#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What assay info says of a board, as text and JSON: what was counted, what is
# held, who has the lease, and what its sensors read.
. "$(dirname "$0")/lib.sh"

peer=$BUILD/x86_64/tests/support/peer
sys=$work/sys
mkdir -p "$sys/class/thermal/thermal_zone0" "$sys/class/thermal/thermal_zone1" \
    "$sys/devices/system/cpu/cpu0/cpufreq" "$sys/devices/system/cpu/cpu1/cpufreq"
echo 41500 >"$sys/class/thermal/thermal_zone0/temp"
echo cpu-thermal >"$sys/class/thermal/thermal_zone0/type"
echo 57250 >"$sys/class/thermal/thermal_zone1/temp"
echo bpu-thermal >"$sys/class/thermal/thermal_zone1/type"
for k in 0 1; do
    echo $((600000 + k * 600000)) \
        >"$sys/devices/system/cpu/cpu$k/cpufreq/scaling_cur_freq"
    echo 1800000 >"$sys/devices/system/cpu/cpu$k/cpufreq/cpuinfo_max_freq"
done
ASSAYD_SYSFS=$sys start_agent "$assayd" --listen "unix:$work/a.sock" \
    --memory 64M --log-level info

field() { # field NAME: of the last JSON
    python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$work/i.json" "$1"
}
look() {
    run "$assay" info --target "$address" --json "$work/i.json"
    expect_rc 0 "info $*"
}
run "$assay" self-test --target "$address"
expect_out '^temperature +ok +bpu-thermal 57\.2 C$' "the hottest zone"
expect_out '^frequency +ok +1200 of 1800 MHz$' "the fastest core"
look "of a fresh agent"
expect_out '^sensors 57\.2 C, 1200 MHz$' "sensors"
expect_out '^lease +free +memory 0 B of 64\.0 MiB, 0 constants$' "nothing held"
expect_out '^memory +constants of 0 B, at most 0 B in use, agent resident ' \
    "the self-test is not in the high-water mark"
expect_out ' 0 runs · 0 layers · 0 crashes · 0 time-outs · ' "nothing ran"
expect "the schema" test "$(field schema)" = assay-info/1
expect "millidegrees" test "$(field temperature_mc)" = 57250
expect "kHz" test "$(field frequency_khz)" = 1200000
expect "health" test "$(field health)" = 2
expect "two sessions" test "$(field sessions)" = 2
expect "the agent's memory is some MiB" test "$(field rss_bytes)" -gt 1000000 \
    -a "$(field rss_bytes)" -lt 16000000
before=$(field bytes_in)

run "$assay" run "$digits" --target "$address" -q
expect_rc 0 "a run"
look "behind a run"
layers=$(field layers) runs=$(field runs) blobs=$(field blobs)
expect "runs" test "$runs" -ge 1
expect "layers are a multiple of runs and samples" test \
    "$layers" -ge "$runs" -a "$((layers % runs))" = 0
expect "constants" test "$blobs" -ge 3 -a "$(field blob_bytes)" -gt 1000
expect "their bytes" test "$(field memory_high)" -ge "$(field blob_bytes)"
expect "bytes in" test "$(field bytes_in)" -gt \
    $((before + $(field blob_bytes)))
expect "bytes out" test "$(field bytes_out)" -gt 1000
expect "text and JSON agree" grep -q " $runs runs · $layers layers · " "$work/out"
expect_out "^lease +free +memory .* of 64\.0 MiB, $blobs constants$" "the lease"
run "$assay" run "$digits" --target "$address" -q
look "behind a second one"
expect "the same constants" test "$(field blobs)" = "$blobs"
expect "as many layers again" test "$(field layers)" = $((2 * layers))

refused=$(field refused)
run "$peer" "$work/a.sock" hello reply acquire reply load reply
look "behind a refusal"
expect "it is counted" test "$(field refused)" = $((refused + 1))
mkfifo "$work/held"
exec {held}<>"$work/held"
"$peer" "$work/a.sock" hello reply 'owner=you@host 8' acquire reply hold \
    >"$work/held" 2>/dev/null &
agents+=("$!")
holder=$!
while read -r -t 20 line <&"$held"; do
    [ "$line" = holding ] && break
done
sleep 1.1
look "of a board that is leased"
expect_out '^lease +held by you@host 8 since [1-9][0-9]* s, expires in 5[0-9] s ' \
    "who, since when, how long"
expect "the same in JSON" test "$(field lease_owner)" = 'you@host 8' -a \
    "$(field lease_held_ms)" -ge 1000
run "$assay" run "$digits" --target "$address" -q
expect_refused 3 "leased to 'you@host 8' since [1-9][0-9]* s, for 5[0-9] s more" \
    "busy says the same"
run "$assay" run "$digits" --target "$address" -q --force
expect_rc 0 "taken over"
expect_err "the board's lease was taken from you@host 8" "the taker is told"
expect "and the agent's log" grep -Eq \
    '^assayd: warn: lease-stolen session=[0-9]+ by=".*@' "$work/agent.err"
wait "$holder"

# A board that ssh reaches, without an agent; and one that it does not reach.
run env ASSAY_SSH="sh -c 'exit 127'" "$assay" info --target ssh:root@board
expect_refused 3 "'assay deploy ssh:root@board' puts it there" "no agent there"
run env ASSAY_SSH="sh -c 'exit 255'" "$assay" info --target ssh:root@board
expect_refused 3 "ssh to 'ssh:root@board' ended with status 255" "no board there"
run "$assay" info --local
expect_rc 0 "this process"
expect_not_out "lease" "which nobody leases"

"$assay" info --local --json "$work/l.json" >/dev/null
run python3 -c '
import json, sys
a, b = (json.load(open(p)) for p in sys.argv[1:])
assert a.keys() == b.keys() and b["board_id"] == "local"
' "$work/i.json" "$work/l.json"
expect_rc 0 "of this process too"
stop_agent TERM
expect "the agent ends with 0" test "$rc" = 0

# A folder without anything, and one with nonsense.
mkdir "$work/none"
echo hot >"$sys/class/thermal/thermal_zone1/temp"
echo -99999999999999999999 >"$sys/class/thermal/thermal_zone0/temp"
echo >"$sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"
for folder in none sys; do
    ASSAYD_SYSFS=$work/$folder run "$assay" info \
        --target "exec:$assayd --stdio"
    expect_rc 0 "$folder: info"
    expect_not_out '^sensors' "$folder: no sensors"
done
finish
