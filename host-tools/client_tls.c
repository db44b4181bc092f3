/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/client_tls.h"

#include <stdio.h>
#include <string.h>

#include "host-tools/boards.h"

static int make_context(struct assay_client_tls *t,
                        struct assay_tls_config *config, const char *board,
                        struct assay_err *err)
{
    assay_identity_name(&config->identity.cert, t->own_name);
    snprintf(t->own_fingerprint, sizeof(t->own_fingerprint), "%s",
             config->identity.fingerprint);
    if (!config->accept_any) {
        assay_session_cache_init(&t->cache, board, t->own_fingerprint);
        config->session_get = assay_session_cache_get;
        config->session_put = assay_session_cache_put;
        config->self = &t->cache;
    }
    return assay_tls_context_new(&t->ctx, config, ASSAY_TLS_CLIENT, NULL, err);
}

int assay_client_tls_open(struct assay_client_tls **out,
                          const struct assay_target *target,
                          const struct assay_tls_files *files, bool accept_any,
                          struct assay_err *err)
{
    struct assay_client_tls *t = assay_calloc(1, sizeof(*t));
    struct assay_tls_config config = {.accept_any = accept_any};
    char board[ASSAY_PIN_NAME_MAX + 1];
    int rc;

    if (t == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for TLS");
    rc = assay_board_name(board, target, err);
    if (rc == 0)
        rc = assay_tls_files_load(&config, files, err);
    if (rc == 0 && !accept_any)
        rc = assay_tls_files_trust(&config, board, err);
    if (rc == 0)
        rc = make_context(t, &config, board, err);
    assay_tls_config_close(&config);
    if (rc < 0)
        assay_client_tls_close(t);
    else
        *out = t;
    return rc;
}

void assay_client_tls_close(struct assay_client_tls *t)
{
    if (t == NULL)
        return;
    assay_tls_context_free(t->ctx);
    assay_free(t);
}
