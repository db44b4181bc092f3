#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is handed out: a static agent, a tarball that runs, an install.
# timeout: 300
. "$(dirname "$0")/lib.sh"

unset MAKEFLAGS MFLAGS
run make -s --no-print-directory -C "$ROOT" BUILD="$BUILD" dist
expect_rc 0 "make dist"
agent=$(grep "/assayd-.*-aarch64$" "$work/out")
tarball=$(grep "/assay-.*\.tar\.gz$" "$work/out")
run "$QEMU" -cpu cortex-a53 "$agent" --version
expect_rc 0 "the agent runs without any library"
expect "the agent has no interpreter" bash -c \
    '! aarch64-linux-gnu-readelf -lW "$1" | grep -q INTERP' _ "$agent"
run tar -tzf "$tarball"
expect_out '/assay$' "the tarball has the command"
expect_out '/LICENSE$' "the tarball has the licence"
expect_out '/man/assay\.1$' "the tarball has the man page"
expect_out '/init/assayd\.service$' "the tarball has the agent's unit"
expect_out '/x5_export\.py$' "the tarball has the exporter"
tar -xzf "$tarball" -C "$work"
run "$work"/assay-*/assay --version
expect_rc 0 "the command of the tarball runs"
run "$work"/assay-*/assay deploy ssh:board --dry-run
expect_out '^\[1/5\] agent .*/aarch64/assayd: [0-9.]+, aarch64, static, [12]\.' \
    "it finds the agent of the tarball, which is stripped"

sum=$(sha256sum <"$tarball")
run make -s --no-print-directory -C "$ROOT" BUILD="$BUILD" dist
expect "a second tarball has the same bytes" \
    test "$sum" = "$(sha256sum <"$tarball")"

run make -s --no-print-directory -C "$ROOT" BUILD="$BUILD" install \
    DESTDIR="$work/root" PREFIX=/usr
expect_rc 0 "make install"
run "$work/root/usr/bin/assay" --version
expect_rc 0 "the installed command runs"
run "$work/root/usr/bin/assay" deploy ssh:board --dry-run
expect_out 'libexec/assay/aarch64/assayd: [0-9.]+, aarch64, static, [12]\.' \
    "it finds the agent that was installed beside it"
expect "the start script is installed" \
    test -x "$work/root/usr/share/assay/init/assayd.init"
expect "the man page is installed" \
    test -f "$work/root/usr/share/man/man1/assay.1"
run env MANWIDTH=80 man --warnings -l "$work/root/usr/share/man/man1/assay.1"
expect_rc 0 "man shows it"
expect "without warnings" test ! -s "$work/err"
finish
