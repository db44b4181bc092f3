/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `assay deploy` has a board's shell do (deploy_board.sh), and what that
 * answers: lines "assay: KEY WORDS"; everything else (a banner, an echo of a
 * profile) is passed over. Pure; answers are hostile.
 */
#ifndef ASSAY_HOST_DEPLOY_BOARD_H
#define ASSAY_HOST_DEPLOY_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/core/buf.h"
#include "lib/core/err.h"

/* What they take and do stands there. */
enum assay_board_script {
    ASSAY_SCRIPT_ASK,
    ASSAY_SCRIPT_PUT,
    ASSAY_SCRIPT_TRY,
    ASSAY_SCRIPT_PLACE,
    ASSAY_SCRIPT_REMOVE,
    ASSAY_SCRIPT_SERVICE,
    ASSAY_SCRIPT_FILE,
    ASSAY_SCRIPT_LIST,
    ASSAY_SCRIPT_START,
    ASSAY_SCRIPT_STOP,
    ASSAY_SCRIPT_TAKE_AWAY,
};

/* "sh -c 'SCRIPT' assay WORD...", with a NUL behind it. */
int assay_board_command(struct assay_buf *out, enum assay_board_script script,
                        const char *const *words, size_t n,
                        struct assay_err *err) ASSAY_MUST_CHECK;

/* The value of a key (the first one), printable, cut to cap - 1; false: no
 * such line. */
bool assay_board_answer(const struct assay_buf *output, const char *key,
                        char *out, size_t cap);
/* The n-th one of several. */
bool assay_board_answer_at(const struct assay_buf *output, const char *key,
                           unsigned n, char *out, size_t cap);

struct assay_board_facts {
    char machine[64], system[64];
    char old[96];      /* what the file there says with --version */
    char on_path[256]; /* the assayd that a bare name starts, or "" */
    char daemons[256]; /* names of boards that have one running, or "" */
    bool folder, writable, is_folder, is_link, is_file, has_sha256sum;
    bool is_listed; /* a service was deployed */
    bool knows_free;
    uint64_t free_bytes;
};

/* False: the answer has no end, it was cut. */
bool assay_board_facts_read(struct assay_board_facts *out,
                            const struct assay_buf *output);

/* "assayd 1.2.3" -> "1.2.3"; NULL: it is not what an assayd says. */
const char *assay_board_version(const char *said);

#endif
