# SPDX-License-Identifier: Apache-2.0
# Sourced behind lib.sh by tests of TLS: keys of a board, of anna (whose line
# the board has) and of a stranger.

# A text as a regular expression of itself: base64 has a '+'.
literal() {
    sed 's/[+]/[+]/g' <<<"$1"
}

# Sets $board_print, $anna_print, $stranger_print and $board_key.
make_keys() {
    export XDG_CONFIG_HOME=$work/boards XDG_CACHE_HOME=$work/cache
    unset ASSAY_TLS_CERT ASSAY_TLS_KEY ASSAY_TLS_CA
    "$assay" keygen -q --name board -o "$work/board" >"$work/board.line" &&
        "$assay" keygen -q --name anna-cn -o "$work/boards/assay" \
            >"$work/anna.line" &&
        "$assay" keygen -q --name stranger -o "$work/stranger/assay" \
            >"$work/stranger.line" || {
        not_ok "keys cannot be made"
        finish
    }
    board_print=$(sed 's/.* //' "$work/board.line")
    anna_print=$(sed 's/.* //' "$work/anna.line")
    stranger_print=$(sed 's/.* //' "$work/stranger.line")
    board_key=(--tls-cert "$work/board/cert.pem" --tls-key "$work/board/key.pem")
    (umask 077 && echo "anna $anna_print" >"$work/authorized")
}

# start_tls_agent [OPTION...]: a daemon that lets anna in.
start_tls_agent() {
    start_agent "$assayd" --listen 127.0.0.1:0 "${board_key[@]}" \
        --authorized "$work/authorized" --log-level info "$@"
}

# Pins the board at $address for anna and for the stranger.
trust_board() {
    local who
    for who in boards stranger; do
        (umask 077 && echo "${address#tls:} $board_print" \
            >"$work/$who/assay/boards")
    done
}
