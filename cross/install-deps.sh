#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that the build and the tests need, for the host
# and for arm64. Does nothing, and says so, when all are there; says what it
# will install before it does; asks for sudo only when it is needed.
#
#   cross/install-deps.sh [demo|check]   what for; check (all) is the default
#   cross/install-deps.sh --list [...]   prints the packages and stops
#   DEPS=skip                            leaves the system alone
set -eu

list=no
if [ "${1:-}" = --list ]; then
    list=yes
    shift
fi
purpose=${1:-check}

say() {
    printf '%s\n' "install-deps: $*" >&2
}

die() {
    say "$*"
    exit 2
}

# What every build needs.
host="gcc make libc6-dev pkg-config gcc-aarch64-linux-gnu
    libc6-dev-arm64-cross qemu-user protobuf-c-compiler protobuf-compiler
    libuv1-dev libprotobuf-c-dev libmbedtls-dev libxxhash-dev libzip-dev
    libjansson-dev libyaml-dev libpng-dev libjpeg-dev zlib1g-dev"
arm64="libc6 libuv1-dev libprotobuf-c-dev libmbedtls-dev libxxhash-dev
    libzip-dev libjansson-dev libyaml-dev libpng-dev libjpeg-dev zlib1g-dev"
# What only the tests need.
host_check="git python3 python3-venv ca-certificates libcmocka-dev
    clang-format-14 strace valgrind file man-db procps"
arm64_check="libcmocka-dev"
# Where a release has them; without them their tests are skipped. mlir-19-tools
# (in Debian 12) is LLVM's: its mlir-opt-19 judges our reader of MLIR text.
optional_check="mlir-19-tools"

case $purpose in
demo) optional= ;;
check)
    optional=$optional_check
    host="$host $host_check"
    arm64="$arm64 $arm64_check"
    # Debian's npm brings hundreds of packages; any npm will do.
    command -v npm >/dev/null 2>&1 || host="$host npm"
    ;;
*) die "purpose '$purpose' is not known, expected demo or check" ;;
esac

wanted=
for p in $host; do wanted="$wanted $p"; done
for p in $arm64; do wanted="$wanted $p:arm64"; done
if [ $list = yes ]; then
    for p in $wanted $optional; do echo "$p"; done
    exit 0
fi

if [ "${DEPS:-}" = skip ]; then
    say "DEPS=skip: the system is left alone"
    exit 0
fi
command -v dpkg-query >/dev/null 2>&1 ||
    die "this is not a Debian system: install the equivalents of:$wanted, then use DEPS=skip"

is_installed() {
    case $(dpkg-query -W -f '${db:Status-Abbrev}\n' "$1" 2>/dev/null) in
    *ii*) return 0 ;;
    *) return 1 ;;
    esac
}

missing=
for p in $wanted; do
    is_installed "$p" || missing="$missing $p"
done
more=
for p in $optional; do
    is_installed "$p" || more="$more $p"
done
# What this system's lists know of; an update may add to that.
offered() {
    for o in $more; do
        if apt-cache show "$o" >/dev/null 2>&1; then
            echo "$o"
        else
            say "this release has no '$o': its tests will be skipped"
        fi
    done
}
if [ -z "$missing" ] && [ -n "$more" ] && { [ -z "$(offered)" ] ||
    { [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; }; }; then
    say "left out:$more"
    more=
fi
if [ -z "$missing$more" ]; then
    say "nothing to do, all $(echo $wanted | wc -w) packages for '$purpose' are there"
    exit 0
fi

[ "$(dpkg --print-architecture)" = amd64 ] ||
    die "the host must be amd64, it is $(dpkg --print-architecture)"

as_root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 ||
        die "not root and no sudo: ask an administrator to install:$missing"
    # Without a terminal nobody can type a password.
    if [ -t 0 ]; then as_root=sudo; else as_root="sudo -n"; fi
fi

say "will install:$missing$more"
[ -z "$as_root" ] || say "needs root, so it uses sudo"

foreign=no
dpkg --print-foreign-architectures | grep -qx arm64 && foreign=yes
if [ $foreign = no ]; then
    say "adds the architecture arm64"
    $as_root dpkg --add-architecture arm64
fi

# The update must come after the new architecture: else the two
# architectures' versions of one library clash.
options="-o DPkg::Lock::Timeout=120 -o Acquire::Retries=3
    -o Acquire::http::Timeout=30 -o APT::Install-Recommends=false"
$as_root env DEBIAN_FRONTEND=noninteractive timeout 300 \
    apt-get -q $options update >&2 </dev/null || {
    [ -n "$missing" ] || { say "no update: left out:$more"; exit 0; }
    die "apt-get update failed or took longer than 300 s"
}
install() {
    [ $# = 0 ] || $as_root env DEBIAN_FRONTEND=noninteractive timeout 1200 \
        apt-get -q -y $options install "$@" >&2 </dev/null
}
install $missing || die "apt-get install failed or took longer than 1200 s"
install $(offered) || say "left out:$more"

for p in $missing; do
    is_installed "$p" || die "package '$p' is still missing"
done
say "done"
