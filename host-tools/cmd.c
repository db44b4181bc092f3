/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/cmd.h"

#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "host-tools/backend.h"
#include "host-tools/interrupt.h"
#include "host-tools/messages.h"

int assay_cmd_failed(const struct assay_err *err)
{
    char line[640];

    fprintf(stderr, "%s\n",
            assay_message(line, sizeof(line), ASSAY_MSG_ERROR_LINE, "text",
                          err->text, NULL));
    if (assay_interrupted() != 0)
        return 128 + assay_interrupted();
    return (int)assay_status_class(err->code);
}

static void tell_taken(const char *owner)
{
    char line[320];

    fprintf(stderr, "%s\n",
            assay_message(line, sizeof(line), ASSAY_MSG_LEASE_TAKEN, "owner",
                          owner, NULL));
}

int assay_cmd_open_board(struct assay_backend **out,
                         const struct assay_options *o, struct assay_err *err)
{
    char owner[160], host[64] = "";
    const struct passwd *pw;
    struct assay_client_options client = {
        .target = o->target,
        .timeout_ms = o->timeout_ms,
        .owner = owner,
        .force = o->force,
        .taken = tell_taken,
        .tls = {.cert = o->tls_cert, .key = o->tls_key, .ca = o->tls_ca},
        .interrupted = assay_interrupt_abandon(),
    };

    if (o->local)
        return assay_local_open(out, o->cpumask, err);
    if (o->target == NULL)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_NO_TARGET, NULL);
    pw = getpwuid(getuid());
    if (gethostname(host, sizeof(host) - 1) != 0)
        host[0] = '\0';
    snprintf(owner, sizeof(owner), "%.60s@%.60s %ld",
             pw != NULL ? pw->pw_name : "?", host, (long)getpid());
    return assay_client_open(out, &client, err);
}
