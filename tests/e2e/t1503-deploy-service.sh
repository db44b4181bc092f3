#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# assay deploy --service and --uninstall: with a start script that really runs,
# and with a stand-in of systemctl. /etc and /run of the board are folders of
# the test, in a mount namespace of each connection.
# timeout: 400
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/board.sh"

mkdir -p "$board/etc/init.d" "$board/run"
cp /etc/passwd /etc/group "$board/etc/"
inside() { # inside COMMAND...: with the board's /etc and /run
    unshare -m sh -c 'mount --bind "$1/etc" /etc && mount --bind "$1/run" /run &&
        shift && exec "$@"' _ "$board" "$@"
}
if [ "$(id -u)" != 0 ] || ! inside true 2>/dev/null; then
    skip_all "no mount namespace can be made here"
fi
# The connection of a board with its own /etc.
cat >"$work/ssh-inside" <<SH
#!/bin/sh
exec unshare -m sh -c 'mount --bind "$board/etc" /etc &&
    mount --bind "$board/run" /run && exec "$fake_ssh" "\$@"' _ "\$@"
SH
chmod +x "$work/ssh-inside"
export ASSAY_SSH=$work/ssh-inside
version=$("$assay" --version | sed 's/assay //')
etc() { # what is in it beside what was
    (cd "$board/etc" && find . -type f ! -name passwd ! -name group | sort |
        tr '\n' ' ')
}
daemon() {
    inside env "LD_PRELOAD=$board/exec.so" "BOARD_QEMU=$qemu_path" \
        "PATH=$board/bin:/usr/bin:/bin" "$@"
}
ended() { # the start script's keeper is stopped, whatever comes
    [ ! -x "$board/etc/init.d/assayd" ] ||
        daemon /etc/init.d/assayd stop >/dev/null 2>&1
}
trap 'ended; t_end' EXIT

# ---- what is not a service --------------------------------------------------

deploy --listen 127.0.0.1:1
expect_refused 2 "'--listen' is about a service" "--listen alone"
deploy --keys "$work"
expect_refused 2 "'--keys' is about a service" "--keys alone"
deploy --service --uninstall
expect_refused 2 "exclude each other" "--service and --uninstall"
for odd in 'a b' 'a"b' 'a$b' "a'b" 'a;b' 'a`b'; do
    deploy --service --listen "$odd"
    expect_refused 2 "without blanks, quotes" "--listen '$odd'"
done
for odd in 192.0.2.1:7410 tls:127.0.0.1:0; do
    deploy --service --listen "$odd"
    expect_refused 2 "'$odd' needs TLS: give --keys DIR" "--listen $odd"
done
deploy --service --listen unix:/x --keys "$work"
expect_refused 2 "no place for TLS" "--keys for a Unix socket"
deploy --service --keys "$work/no-keys"
expect_refused 2 "--keys '.*/no-keys': .*cert.pem" "keys that are not there"
expect "and no connection was made" test "$(connections)" = 0
run "$assay" deploy 'ssh:root@board:~/assayd' --service
expect_refused 2 "expected an absolute path" "a service in the home folder"
deploy --service --dry-run
expect_rc 0 "--service --dry-run"
expect_out '^\[6/6\] start .* as a service' "has a step more"
expect "none of these connected" test "$(connections)" = 0

# ---- a start script -----------------------------------------------------------

deploy --service --listen "unix:$board/run/assayd.sock"
expect_rc 0 "--service with a start script"
expect_out '^service runs \(/etc/init.d/assayd\); nothing known here starts it' \
    "it runs, and it is said that nothing starts it at boot"
expect "what is there" test "$(etc)" = \
    "./assayd/deployed ./default/assayd ./init.d/assayd "
expect "the script has the agent's path" grep -q "^ASSAYD_BIN=$place\$" \
    "$board/etc/init.d/assayd"
expect "the list has what is there" bash -c \
    'cd "$1" && grep -v "^end" etc/assayd/deployed |
        sed "s, /, ," | sed "s,^\([0-9a-f]*\) ,\1  ," | sha256sum -c --quiet' \
    _ "$board"
run "$assay" info --target "unix:$board/run/assayd.sock"
expect_rc 0 "the daemon answers"
expect_out "$version" "and is the new agent"
first=$(cat "$board/run/assayd.pid")

# An update: the file is replaced, the daemon started anew.
deploy --service
expect_rc 0 "--service again"
expect "the configuration was kept" grep -q "unix:$board/run/assayd.sock" \
    "$board/etc/default/assayd"
expect "the daemon is another one" test "$(cat "$board/run/assayd.pid")" != \
    "$first"
expect "the list still has both files" test \
    "$(grep -c / "$board/etc/assayd/deployed")" = 2

# What a person wrote is not replaced, nor taken away.
echo 'ASSAYD_ARGS="--listen unix:'"$board/run/assayd.sock"' --memory 64M"' \
    >"$board/etc/default/assayd"
deploy --service --listen 127.0.0.1:0
expect_refused 2 "'/etc/default/assayd' on the board is not what deploy put" \
    "a configuration of somebody else's"
expect_err "note: the agent at '$place' is the new one" "it says how far it came"
deploy --service
expect_rc 0 "without --listen it is kept"
run "$assay" info --target "unix:$board/run/assayd.sock"
expect_out '64\.0 MiB' "and used"
deploy --uninstall
expect_rc 0 "--uninstall"
expect_out '^removed /etc/init.d/assayd' "the script is removed"
expect_out '^kept    /etc/default/assayd: it was changed' \
    "what was changed is kept, and told"
expect_out "agent $version removed" "the agent is removed"
expect "nothing else is there" test "$(etc)" = "./default/assayd "
expect "no folder is left" test ! -e "$board/etc/assayd"
run "$assay" info --target "unix:$board/run/assayd.sock" --timeout 2
expect_rc 3 "the daemon has ended"
rm -r "$board/etc/default"

# With a pair of keys the daemon speaks TLS.
pair=$work/pair
export XDG_CONFIG_HOME=$work/config
run "$assay" keygen -o "$pair" --name board
expect_rc 0 "keys of the board"
run "$assay" keygen --name me
expect_rc 0 "keys of ours"
grep -Eo '[^ ]+ SHA256:[A-Za-z0-9+/]{43}' "$work/out" | head -n 1 \
    >"$pair/authorized"
deploy --service --keys "$pair" --listen 127.0.0.1:0
expect_rc 0 "--service with keys"
expect "the private key's mode is 600" \
    test "$(stat -c %a "$board/etc/assayd/key.pem")" = 600
deploy --uninstall
expect_rc 0 "--uninstall with keys"
expect "takes all away, the key too" test -z "$(etc)"

# A refused start: told, with what the script said.
deploy --service --listen "unix:$board/nowhere/assayd.sock"
expect "a start that the agent refuses: exit 2 or 3" test "$rc" = 2 -o "$rc" = 3
expect_err "cannot start it|does not stay up" "a start that the agent refuses"
expect_err "note: the agent at '$place' is the new one" "it says how far it came"
deploy --uninstall
expect_rc 0 "--uninstall behind it"
expect "takes all away" test -z "$(etc)"

# busybox's folder of numbered scripts.
: >"$board/etc/init.d/S40network"
deploy --service --listen "unix:$board/run/assayd.sock"
expect_rc 0 "--service with numbered scripts"
expect_out '^service runs \(/etc/init.d/S90assayd\)$' "it starts at boot"
deploy --uninstall
expect_rc 0 "--uninstall with numbered scripts"
expect "takes it away, and nothing else" test "$(etc)" = "./init.d/S40network "
rm "$board/etc/init.d/S40network"

# ---- systemd, a stand-in --------------------------------------------------------

mkdir -p "$board/run/systemd/system" "$board/etc/systemd/system"
cat >"$board/bin/systemctl" <<SH
#!/bin/sh
echo "\$*" >>"$work/systemctl.log"
case "\$1" in
is-active) [ ! -e "$work/inactive" ] ;;
esac
SH
chmod +x "$board/bin/systemctl"
keys=$work/keys
mkdir "$keys"
cp "$pair/key.pem" "$pair/cert.pem" "$keys"
deploy --service --keys "$keys"
expect_refused 2 "authorized" "--keys without a list of who may come in"
cp "$pair/authorized" "$keys"
deploy --service --keys "$keys"
expect_rc 0 "--service with systemd and keys"
expect_out '^service runs \(systemd\)$' "it runs and starts at boot"
expect "what is there" test "$(etc)" = "./assayd/authorized ./assayd/cert.pem \
./assayd/deployed ./assayd/key.pem ./default/assayd \
./systemd/system/assayd.service ./systemd/system/assayd.service.d/keys.conf "
expect "the key's mode is 600" \
    test "$(stat -c %a "$board/etc/assayd/key.pem")" = 600
expect "the list of clients too" \
    test "$(stat -c %a "$board/etc/assayd/authorized")" = 600
expect "the key arrived" cmp -s "$keys/key.pem" "$board/etc/assayd/key.pem"
expect "the unit has the agent's path" grep -q "^ExecStart=$place " \
    "$board/etc/systemd/system/assayd.service"
expect "its options have TLS" grep -q -- '--listen 0.0.0.0:7410 --tls-cert' \
    "$board/etc/default/assayd"
expect "systemd is told" test "$(tr '\n' ';' <"$work/systemctl.log")" = \
    "daemon-reload;enable assayd.service;restart assayd.service;is-active assayd.service;"
expect "no key was an argument" bash -c '! grep -qF "$(sed -n 2p "$2")" "$1"' _ \
    "$work/ssh.log" "$keys/key.pem"
: >"$work/systemctl.log"
touch "$work/inactive"
deploy --service
expect_refused 3 "the service \(systemd\) does not stay up" \
    "a unit that does not stay up"
rm "$work/inactive"
echo '# mine' >>"$board/etc/systemd/system/assayd.service"
deploy --service
expect_refused 2 "'/etc/systemd/system/assayd.service' on the board is not what" \
    "a unit of somebody else's"
deploy --service --force
expect_rc 0 "--force replaces it"
deploy --uninstall
expect_rc 0 "--uninstall with systemd"
expect "takes all away" test -z "$(etc)"
expect "and the folder of the unit" \
    test ! -e "$board/etc/systemd/system/assayd.service.d"
expect "systemd is told" grep -q '^disable --now assayd.service$' \
    "$work/systemctl.log"

# ---- faults: cut at each connection of the service ------------------------------

# 6 asks, 7 the list, 8 the unit, 9 the configuration, 10 start, 11 hello
for n in 6 7 8 9 10 11; do
    for kind in half after; do
        rm -rf "$board/etc/assayd" "$board/etc/default" "$board/opt/assayd"
        rm -f "$board"/etc/systemd/system/*
        FAULT=$n:$kind deploy --service --timeout 5
        expect "connection $n, $kind: exit 3" test "$rc" = 3
        expect_err "note: the agent at '$place' is the new one" \
            "connection $n, $kind: it says how far it came"
        expect "connection $n, $kind: no half file" test -z \
            "$(find "$board/etc" "$board/opt" -name '.assayd-deploy*')"
        deploy --uninstall
        expect_rc 0 "connection $n, $kind: --uninstall"
        expect "connection $n, $kind: takes all away" \
            test -z "$(etc)" -a ! -e "$place"
    done
done
rm -r "$board/run/systemd" "$board/etc/init.d"
deploy --service
expect_refused 2 "neither systemd nor /etc/init.d" "a board without either"
finish
