#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cross/install-deps.sh against stand-ins of dpkg, apt-get and sudo: what it
# would do on a fresh machine, as root, with sudo, and without either.
. "$(dirname "$0")/lib.sh"

# The run of the tests may itself have been told to leave the system alone.
unset DEPS
script=$ROOT/cross/install-deps.sh
run env DEPS=skip "$script"
expect_rc 0 "DEPS=skip"
expect_err 'left alone' "DEPS=skip says so"
run "$script" nonsense
expect_refused 2 "nonsense" "an unknown purpose is named"
run "$script" --list demo
expect_out '^libuv1-dev:arm64$' "--list names the arm64 packages"

mkdir "$work/bin"
stub() { # stub NAME SCRIPT
    printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}
# A machine whose packages are the lines of $work/db.
stub dpkg-query "for p; do :; done
    grep -qx \"\$p\" '$work/db' 2>/dev/null && echo 'ii '"
stub dpkg "case \$1 in
    --print-architecture) echo amd64 ;;
    --print-foreign-architectures) ;;
    *) echo \"dpkg \$*\" >>'$work/calls' ;;
    esac"
stub apt-get "echo \"apt-get \$*\" >>'$work/calls'
    case \"\$*\" in *install*)
        for p; do echo \"\$p\"; done | tr ' ' '\n' >>'$work/db' ;;
    esac"
stub timeout 'shift; exec "$@"'
stub npm 'exit 0'
for tool in env tr grep wc echo cat sh sed; do
    ln -s "$(command -v $tool)" "$work/bin/$tool"
done
: >"$work/db"

stub id 'echo 0'
run env PATH="$work/bin" /bin/sh "$script"
expect_rc 0 "a fresh machine, root, no sudo"
expect_err 'will install: gcc' "it says what it installs before"
expect "the architecture comes first, then the lists, then the packages" \
    bash -c '[ "$(cut -d" " -f1,2 "$1" | tr "\n" ";")" = \
        "dpkg --add-architecture;apt-get -q;apt-get -q;" ] &&
        sed -n 2p "$1" | grep -q update && sed -n 3p "$1" | grep -q install' \
    _ "$work/calls"
rm "$work/calls"
run env PATH="$work/bin" /bin/sh "$script"
expect_rc 0 "once more"
expect_err 'nothing to do' "it says that nothing is to be done"
expect "and does nothing" test ! -e "$work/calls"

: >"$work/db"
stub id 'echo 1000'
run env PATH="$work/bin" /bin/sh "$script"
expect_refused 2 "no sudo.*gcc" "neither root nor sudo: the list is given"
expect "and nothing is done" test ! -e "$work/calls"
stub sudo "echo sudo >>'$work/sudo'
    [ \"\$1\" = -n ] && shift
    exec \"\$@\""
run env PATH="$work/bin" /bin/sh "$script" demo
expect_rc 0 "a user with sudo"
expect "sudo was asked three times" \
    test "$(wc -l <"$work/sudo")" = 3
rm "$work/sudo"
run env PATH="$work/bin" /bin/sh "$script" demo
expect "nothing missing, no sudo" test ! -e "$work/sudo"
finish
