# SPDX-License-Identifier: Apache-2.0
# What `assay deploy` has a board's shell do; in the command as it is
# (deploy_board.c). A section is joined to one line behind "begin", without its
# comments, so that it is one word for any login shell: a command ends with a
# semicolon, and there is no single quote, exclamation mark or backslash. An
# answer is a line "assay: KEY WORDS"; the last one is "assay: done".

#= begin
# $1 is a path, $d its folder. Nothing is globbed but where it is asked for.
set -f;
say() { echo "assay: $*"; };
d=${1%/*};
[ -n "$d" ] || d=/;
# Of a program, one line, whatever it is.
version() { "$1" --version </dev/null 2>&1 | head -n 1; };
sum() { sha256sum <"$1" | cut -c 1-64; };
# Takes stdin to $t, which goes away with the shell unless it is whole.
# noclobber: never through a link.
gone() { rm -f "$t"; };
guard() { trap gone EXIT; trap "exit 1" HUP INT TERM PIPE; };
fail() { say fail "$@"; exit 0; };
take() { guard; set -C; umask 077; cat >"$t" || fail write; };
whole() { [ "$(wc -c <"$t")" -eq "$1" ] || fail take all bytes; };
end() { trap - EXIT; say done; };

#= ask PATH: machine, folder, what is there
say machine $(uname -m);
say system $(uname -s);
[ -d "$d" ] && say folder yes;
[ -w "$d" ] && say writable yes;
[ -d "$1" ] && say is-folder yes;
[ -h "$1" ] && say link yes;
[ -f "$1" ] && say file yes && say old $(version "$1");
command -v sha256sum >/dev/null && say sha256sum yes;
say free $(df -P -k "$d" 2>/dev/null | tail -n 1);
say daemons $(sed -n "s/.*@assayd[.]//p" /proc/net/unix 2>/dev/null |
    sed "s/@.*//" | sort -u | head -n 4);
say on-path $(command -v assayd);
[ -f /etc/assayd/deployed ] && say listed yes;
say done

#= put PATH TEMPORARY BYTES: stdin to the temporary file
# None of an earlier attempt is left.
t=$2;
set +f;
rm -f "$d"/.assayd-deploy.*;
set -f;
take;
whole "$3";
chmod 755 "$t" || fail chmod;
command -v sha256sum >/dev/null && say sum $(sum "$t");
end

#= try PROGRAM: its version
say version $(version "$1");
say done

#= place PATH TEMPORARY: the rename
sync;
mv -f "$2" "$1" || fail rename;
sync;
say version $(version "$1");
say on-path $(command -v assayd);
say done

#= remove FILE...: gone, and synced
rm -f "$@" || fail remove;
sync;
say done

#= service PATH: who could start it, what is there
l=/etc/assayd/deployed;
[ "$(id -u)" = 0 ] && say root yes;
command -v sha256sum >/dev/null && say sha256sum yes;
kind() {
    if [ -e "$1" ]; then
        if grep -qxF "$(sum "$1") $1" $l 2>/dev/null; then say $2 ours;
        else say $2 other;
        fi;
    else say $2 none;
    fi;
};
kind /etc/default/assayd config;
# With systemd, or with a folder of start scripts: S90... where those that
# there are have numbers.
if [ -d /run/systemd/system ]; then
    say starter systemd;
    kind /etc/systemd/system/assayd.service unit;
elif [ -d /etc/init.d ]; then
    s=/etc/init.d/assayd;
    set +f;
    for f in /etc/init.d/S[0-9][0-9]*; do
        [ -e "$f" ] && s=/etc/init.d/S90assayd;
    done;
    set -f;
    say starter $s;
    kind $s unit;
fi;
say done

#= file FILE BYTES MODE: stdin to the file, as a whole
mkdir -p "$d" || fail make the folder;
t=$d/.assayd-deploy.$$;
take;
whole "$2";
chmod "$3" "$t" || fail chmod;
mv -f "$t" "$1" || fail rename;
end

#= list FILE: stdin, lines SUM PATH and "end", joined to the file
mkdir -p "$d" || fail make the folder;
t=$d/.assayd-deploy.$$;
take;
grep -qx end "$t" || fail take all bytes;
if [ -f "$1" ]; then
    while read -r s p; do
        [ "$s" = end ] || grep -qx "[0-9a-f]* $p" "$t" || echo "$s $p";
    done <"$1" >>"$t";
fi;
mv -f "$t" "$1" || fail rename;
end

#= start systemd|SCRIPT: now, and at each boot
if [ "$1" = systemd ]; then
    u=assayd.service;
    { systemctl daemon-reload && systemctl enable $u &&
        systemctl restart $u; } >&2 || fail start it;
    sleep 1;
    systemctl is-active $u >/dev/null && say running yes;
    say boot yes;
else
    n=${1##*/};
    "$1" stop >&2;
    "$1" start >&2 </dev/null || fail start it;
    "$1" status >&2 && say running yes;
    case $n in
    S[0-9]*) say boot yes ;;
    *)
        if command -v update-rc.d >/dev/null; then
            update-rc.d $n defaults >&2 && say boot yes;
        elif command -v rc-update >/dev/null; then
            rc-update add $n default >&2 && say boot yes;
        fi ;;
    esac;
fi;
say done

#= stop systemd|SCRIPT
if [ "$1" = systemd ]; then
    systemctl disable --now assayd.service >&2;
elif [ -x "$1" ]; then
    n=${1##*/};
    "$1" stop >&2;
    command -v update-rc.d >/dev/null && update-rc.d -f $n remove >&2;
    command -v rc-update >/dev/null && rc-update del $n default >&2;
fi;
say done

#= take-away FILE: what it lists, where that is unchanged
while read -r s p; do
    [ -f "$p" ] || continue;
    if [ "$(sum "$p")" = "$s" ]; then rm -f "$p" && say removed $p;
    else say kept $p;
    fi;
done <"$1";
rm -f "$1";
rmdir "$d" /etc/systemd/system/assayd.service.d 2>/dev/null;
[ -d /run/systemd/system ] && systemctl daemon-reload >&2;
sync;
say done
