#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# triage --bundle: what is in it, that nothing private is, and that nothing is
# left where it cannot be written.
MACHINE=x86_64-san
. "$(dirname "$0")/lib.sh"

sets=$ROOT/tests/support/stage_sets.py
set=$work/set
python3 "$sets" "$set" overflow
python3 "$sets" --vendor "$set"
mkdir "$set/inputs"
cp "$set/float/"*.npz "$set/inputs"
printf 'no text \0 at all' >"$set/model.hbm"
# What must not get out, each beside something that must stay.
cat >"$work/board.log" <<'LOG'
hbdk version 3.49.15.0, layer /backbone/conv1/Conv, 12:34:56.789
sshpass -p hunter2secret ssh root@rdk-board-7.lab.example 10.20.30.40
export API_TOKEN=tok-1234567890 password: "open sesame" passwd=xyzzy99
Authorization: Bearer abcdefghijklmnop
curl https://bob:pa55word@registry.internal.example/v2/x?token=qwerty123
/home/alice/project/model.hbm and /data/customer-x/clip.bin loaded
C:\Users\alice\models\a.onnx on fe80::1ff:fe23:4567:890a and 00:1b:44:11:3a:b7
ghp_abcdefghijklmnopqrstuvwxyz0123456789
-----BEGIN RSA PRIVATE KEY-----
MIIEowIBAAKCAQEAsecretsecretsecret
-----END RSA PRIVATE KEY-----
cosine 0.9981 shape 1x3x224x224 HB_DNN_TIMEOUT
LOG
run env HOME=/home/alice "$assay" triage "$set" --log "$work/board.log" \
    --bundle "$work/b.zip" --json "$work/t.json"
expect_rc 1 "a bundle of a set that breaks"
expect_err '^bundle: .*b.zip, [0-9]+ files; taken out of its texts: ' \
    "it is said"
expect "nothing is left over" test -z "$(find "$work" -name '*.part*')"
mkdir "$work/x"
(cd "$work/x" && python3 -m zipfile -e ../b.zip .)
for f in triage.txt triage.json manifest.json badcase/inputs/0000-input.npy \
    badcase/board/0001-conv.npy badcase/float/0003-out.npy; do
    expect "it has $f" test -s "$work/x/$f"
done
for f in compare_per_layer_out.csv badcase.txt qconfig_changelogs.txt; do
    expect "it has $f" test -s "$(echo "$work/x/vendor/"*"-$f")"
done
log=$(echo "$work/x/logs/"*-board.log)
expect "it has the log" test -s "$log"
expect "no model is in it" test -z "$(find "$work/x" -name '*.hbm')"
expect "the bad case is the worst sample" python3 -c '
import sys, zipfile
want = zipfile.ZipFile(sys.argv[2]).read("conv.npy")[-128:]
assert open(sys.argv[1], "rb").read()[-128:] == want
' "$work/x/badcase/board/0001-conv.npy" "$set/board/0002.npz"
expect "every file has its hash" python3 - "$work/x" "$set" <<'PY'
import hashlib, json, os, sys
bundle, folder = sys.argv[1:]
m = json.load(open(bundle + "/manifest.json"))
assert m["schema"] == "assay-triage-bundle/1" and m["versions"]["assay"]
have = {f["name"]: f for f in m["files"]}
for root, _, files in os.walk(folder):
    for name in files:
        path = os.path.join(root, name)
        raw = open(path, "rb").read()
        f = have[os.path.relpath(path, folder)]
        assert f["sha256"] == hashlib.sha256(raw).hexdigest(), path
        assert f["bytes"] == len(raw), path
assert "board.log" in have
gone = {f["file"]: f for f in m["filtered"]}
log = [f for n, f in gone.items() if n.endswith("board.log")][0]
assert log["secret"] >= 8 and log["host"] >= 3 and log["path"] >= 3, log
PY

gone() { # gone WORD...: in no text of the bundle
    local word
    for word in "$@"; do
        expect "no '$word'" bash -c '! grep -raqF -- "$1" "$2"' _ "$word" \
            "$work/x"
    done
}
gone hunter2secret root@ rdk-board-7 lab.example 10.20.30.40 tok-1234567890 \
    'open sesame' xyzzy99 abcdefghijklmnop pa55word bob registry.internal \
    qwerty123 alice customer-x fe80:: 00:1b:44 ghp_abc MIIEow "$work" "$HOME/"
kept() {
    local word
    for word in "$@"; do
        expect "'$word' stays" grep -qF -- "$word" "$log"
    done
}
kept 'version 3.49.15.0' /backbone/conv1/Conv 12:34:56.789 'model.hbm' \
    'cosine 0.9981' 1x3x224x224 HB_DNN_TIMEOUT '<secret>' '<user>@<host>' \
    '<path>'
run env HOME=/home/alice "$assay" triage "$set" --log "$work/board.log" \
    --bundle "$work/again.zip"
expect "the same evidence gives the same bundle" \
    cmp -s "$work/b.zip" "$work/again.zip"
expect "the report in it is the report" python3 -c '
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
assert a["first_break"] == b["first_break"] == "qat.bc->quantized.bc"
assert a["exit_code"] == 1 and a["tool"] == b["tool"]
' "$work/x/triage.json" "$work/t.json"

python3 "$sets" "$work/clean" clean hbm board
run "$assay" triage "$work/clean" --bundle "$work/clean.zip"
expect_rc 0 "a bundle where nothing breaks"
expect "holds the first sample" bash -c 'python3 -m zipfile -l "$1" |
    grep badcase/board/0001-conv.npy >/dev/null' _ "$work/clean.zip"
run "$assay" triage "$work/clean" --bundle "$work/nowhere/b.zip"
expect_refused 2 'nowhere/b.zip' "a folder that is not there"
mkdir "$work/taken.zip"
run "$assay" triage "$work/clean" --bundle "$work/taken.zip"
expect_refused 2 'taken.zip' "a name that is taken by a folder"
# A name that is taken is no reason to forget that a step breaks.
mkfifo "$work/pipe.zip"
ln -s target.zip "$work/link.zip"
for taken in pipe.zip link.zip taken.zip; do
    run "$assay" triage "$set" --bundle "$work/$taken"
    expect_rc 1 "a set that breaks, onto $taken"
    expect_err "$taken: is there and no regular file" "and it is told"
done
expect "the pipe is a pipe" test -p "$work/pipe.zip"
expect "the link is a link" test -L "$work/link.zip"
# A short name is the beginning of others, which have their hashes.
run "$assay" triage "$set" --bundle "$work/set/q" -q
expect_rc 1 "a bundle with -q"
expect "says nothing" test ! -s "$work/err"
expect "all files have their hashes" python3 - "$set" <<'PY'
import json, os, sys, zipfile
bundle = zipfile.ZipFile(sys.argv[1] + "/q")
have = {f["name"] for f in json.loads(bundle.read("manifest.json"))["files"]}
for root, _, files in os.walk(sys.argv[1]):
    for name in files:
        path = os.path.relpath(os.path.join(root, name), sys.argv[1])
        assert (path in have) == (path != "q"), path
PY
rm "$set/q"
run "$assay" triage --log "$work/board.log" --bundle "$work/log.zip"
expect_rc 2 "a log alone"
expect "its bundle is there all the same" test -s "$work/log.zip"
finish
