#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Dates, with certificates of another tool: an expired one is refused by CA and
# let in by pin; both sides judge alike.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tls.sh"

command -v openssl >/dev/null || skip_all "openssl is not there"

# issue NAME FROM UNTIL: $work/ca signs NAME's key, with these dates.
issue() {
    mkdir -p "$work/$1"
    (umask 077 && openssl ecparam -name prime256v1 -genkey -noout \
        -out "$work/$1/key.pem")
    openssl req -new -key "$work/$1/key.pem" -subj "/CN=$1" \
        -out "$work/$1/csr.pem"
    openssl ca -batch -notext -config "$work/ca.cnf" -startdate "$2" \
        -enddate "$3" -in "$work/$1/csr.pem" -out "$work/$1/cert.pem"
}

cat >"$work/ca.cnf" <<CNF
[ca]
default_ca = it
[it]
database = $work/index.txt
new_certs_dir = $work
rand_serial = yes
certificate = $work/ca.pem
private_key = $work/ca.key
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[req]
distinguished_name = dn
[dn]
CNF
: >"$work/index.txt"
{
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -keyout "$work/ca.key" -out "$work/ca.pem" -days 3650 -subj /CN=ca
    issue board 20000101000000Z 20991231235959Z
    mv "$work/board" "$work/valid-board"
    issue 127.0.0.1 20000101000000Z 20991231235959Z
    issue old 20000101000000Z 20100101000000Z
    issue valid 20000101000000Z 20991231235959Z
} >"$work/openssl.log" 2>&1 || sed 's/^/    /' "$work/openssl.log"
print_of() {
    openssl x509 -in "$work/$1/cert.pem" -noout -pubkey |
        openssl pkey -pubin -outform DER | openssl dgst -sha256 -binary |
        base64 | tr -d '=\n' | sed 's/^/SHA256:/'
}

as() { # as NAME COMMAND...: with that pair
    local name=$1
    shift
    run env XDG_CONFIG_HOME="$work/none" XDG_CACHE_HOME="$work/cache" \
        ASSAY_TLS_CERT="$work/$name/cert.pem" \
        ASSAY_TLS_KEY="$work/$name/key.pem" ASSAY_TLS_CA="$work/ca.pem" "$@"
}

(umask 077 && echo "# nobody" >"$work/authorized")
start_agent "$assayd" --listen 127.0.0.1:0 --log-level info \
    --tls-cert "$work/127.0.0.1/cert.pem" --tls-key "$work/127.0.0.1/key.pem" \
    --tls-ca "$work/ca.pem" --authorized "$work/authorized"
as valid "$assay" info --target "$address"
expect_rc 0 "by CA: a valid certificate comes in"
expect "by the name of its certificate" grep -q \
    'tls-client name="valid" by=certificate' "$work/agent.err"
as old "$assay" info --target "$address"
expect_refused 3 "not authorised.*has expired" "an expired one does not"
echo "veteran $(print_of old)" >"$work/authorized"
kill -HUP "$agent_pid"
for ((i = 0; i < 200; i++)); do
    grep -q "reload done" "$work/agent.err" && break
    sleep 0.05
done
as old "$assay" info --target "$address"
expect_rc 0 "pinned, its dates do not matter"
expect "openssl and the daemon compute one fingerprint" grep -q \
    "tls-client name=\"veteran\" by=key key=$(print_of old)" "$work/agent.err"
stop_agent TERM

# A board whose certificate is expired, or names another host.
for pair in old valid; do
    start_agent "$assayd" --listen 127.0.0.1:0 --log-level info \
        --tls-cert "$work/$pair/cert.pem" --tls-key "$work/$pair/key.pem" \
        --tls-ca "$work/ca.pem"
    as valid "$assay" info --target "$address"
    if [ "$pair" = old ]; then
        expect_refused 3 "has expired" "the host refuses an expired board"
    else
        expect_refused 3 "names another host" "and one of another name"
    fi
    mkdir -p "$work/none/assay"
    (umask 077 && echo "${address#tls:} $(print_of "$pair")" \
        >"$work/none/assay/boards")
    as valid "$assay" info --target "$address"
    expect_rc 0 "pinned, the board '$pair' is let in"
    rm "$work/none/assay/boards"
    stop_agent TERM
done
finish
