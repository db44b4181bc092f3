/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/tls_files.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host-tools/boards.h"
#include "host-tools/messages.h"
#include "host-tools/user_dir.h"
#include "lib/net/conn_tls.h"

static const char *given(const char *option, const char *variable)
{
    const char *value = getenv(variable);

    if (option != NULL)
        return option;
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static int load_identity(struct assay_tls_config *out, const char *cert,
                         const char *key, struct assay_err *err)
{
    char cert_path[PATH_MAX], key_path[PATH_MAX];
    int rc;

    if ((cert == NULL) != (key == NULL))
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_TLS_HALF,
                                  "given", cert != NULL ? cert : key, NULL);
    if (cert == NULL) {
        rc = assay_user_config(cert_path, "cert.pem", err);
        if (rc == 0)
            rc = assay_user_config(key_path, "key.pem", err);
        if (rc < 0)
            return rc;
        if (access(key_path, F_OK) != 0 && access(cert_path, F_OK) != 0)
            return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_TLS_NO_KEY,
                                      "path", key_path, NULL);
        cert = cert_path;
        key = key_path;
    }
    rc = assay_identity_load(&out->identity, cert, key, err);
    out->has_identity = rc == 0;
    return rc;
}

int assay_tls_files_load(struct assay_tls_config *out,
                         const struct assay_tls_files *files,
                         struct assay_err *err)
{
    const char *ca = given(files->ca, "ASSAY_TLS_CA");
    int rc = load_identity(out, given(files->cert, "ASSAY_TLS_CERT"),
                           given(files->key, "ASSAY_TLS_KEY"), err);

    if (rc == 0 && ca != NULL) {
        rc = assay_identity_load_ca(&out->ca, ca, err);
        out->has_ca = rc == 0;
    }
    return rc;
}

int assay_tls_files_trust(struct assay_tls_config *config, const char *board,
                          struct assay_err *err)
{
    struct assay_boards boards;
    const char *pin;
    int rc = assay_boards_load(&boards, err);

    if (rc < 0)
        return rc;
    pin = assay_pins_find_name(&boards.pins, board);
    if (pin != NULL) {
        snprintf(config->wanted, sizeof(config->wanted), "%s", pin);
        snprintf(config->wanted_name, sizeof(config->wanted_name), "%s", board);
    } else if (!config->has_ca) {
        rc = assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_TLS_NOT_PAIRED,
                                "board", board, "path", boards.path, NULL);
    }
    assay_boards_close(&boards);
    return rc;
}
