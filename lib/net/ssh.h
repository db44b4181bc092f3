/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's own ssh: what stands behind `ssh:`, and the words to start it
 * with. Nothing of a target can become an option of ssh or a word of the
 * remote shell that it was not. Pure but for the environment: ASSAY_SSH is
 * the command instead of the caller's, split into words (no shell is asked).
 */
#ifndef ASSAY_NET_SSH_H
#define ASSAY_NET_SSH_H

#include "lib/core/buf.h"
#include "lib/core/err.h"

struct assay_ssh {
    const char *host; /* [USER@]HOST as ssh takes it: IPv6 without brackets */
    const char *path; /* on the board; NULL: none was given */
};

/* Reads [USER@]HOST[:PATH]; `text` is the whole target, for sentences. The
 * strings belong to the arena. */
int assay_ssh_parse(struct assay_ssh *out, struct assay_arena *arena,
                    const char *rest, const char *text, struct assay_err *err)
    ASSAY_MUST_CHECK;

/* Appends one word for a POSIX shell, quoted where it has to be. A leading
 * "~/" or "~USER/" is left for that shell to expand. ASSAY_EUSAGE: a control
 * byte or a backslash, which shells do not agree about. */
int assay_shell_word(struct assay_buf *out, const char *word,
                     struct assay_err *err) ASSAY_MUST_CHECK;

/* COMMAND -T HOST REMOTE, ended by NULL. `command` is for where ASSAY_SSH
 * says nothing. */
int assay_ssh_argv(char ***argv, struct assay_arena *arena, const char *command,
                   const char *host, const char *remote, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
