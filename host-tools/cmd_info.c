/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "host-tools/backend.h"
#include "host-tools/cmd.h"
#include "host-tools/interrupt.h"
#include "host-tools/messages.h"

/* The rungs below the highest one: "  (also neon, scalar)". */
static const char *also_of(const char *kernels, char *out, size_t cap)
{
    static const char *const rungs[] = {"i8mm", "dotprod", "neon", "scalar"};
    bool below = false;

    out[0] = '\0';
    for (size_t i = 0; i < sizeof(rungs) / sizeof(rungs[0]); i++) {
        if (below) {
            strncat(out, out[0] == '\0' ? "  (also " : ", ",
                    cap - strlen(out) - 1);
            strncat(out, rungs[i], cap - strlen(out) - 1);
        }
        if (strcmp(rungs[i], kernels) == 0)
            below = true;
    }
    if (out[0] != '\0')
        strncat(out, ")", cap - strlen(out) - 1);
    return out;
}

static const char *uptime_of(uint64_t s, char *out, size_t cap)
{
    if (s >= 2 * 86400)
        snprintf(out, cap, "%llu d", (unsigned long long)(s / 86400));
    else if (s >= 2 * 3600)
        snprintf(out, cap, "%llu h", (unsigned long long)(s / 3600));
    else if (s >= 120)
        snprintf(out, cap, "%llu min", (unsigned long long)(s / 60));
    else
        snprintf(out, cap, "%llu s", (unsigned long long)s);
    return out;
}

static void print_info(const struct assay_backend_info *i)
{
    char text[768], features[256] = "", also[96], up[32], lease[256];

    if (i->features[0] != '\0')
        snprintf(features, sizeof(features), "%s%.200s",
                 i->soc[0] != '\0' ? ", " : "", i->features);
    printf("%s\n", assay_message(
                       text, sizeof(text), ASSAY_MSG_INFO_BOARD, "board",
                       i->board_id, "soc", i->soc, "features", features,
                       "memory", assay_num_bytes(i->memory_limit).text, "agent",
                       i->build_id, "protocol", assay_num_u(i->protocol).text,
                       "uptime", uptime_of(i->uptime_s, up, sizeof(up)), NULL));
    printf("%s\n",
           assay_message(text, sizeof(text), ASSAY_MSG_INFO_KERNELS, "kernels",
                         i->kernels, "also",
                         also_of(i->kernels, also, sizeof(also)), NULL));
    if (i->runtime[0] != '\0')
        printf("%s\n", assay_message(text, sizeof(text), ASSAY_MSG_INFO_RUNTIME,
                                     "files", i->runtime, NULL));
    if (i->lease_owner[0] == '\0')
        assay_message(lease, sizeof(lease), ASSAY_MSG_INFO_LEASE_FREE, NULL);
    else
        assay_message(lease, sizeof(lease), ASSAY_MSG_INFO_LEASE_HELD, "owner",
                      i->lease_owner, "seconds",
                      assay_num_u(i->lease_expires_s).text, NULL);
    printf("%s\n",
           assay_message(text, sizeof(text), ASSAY_MSG_INFO_LEASE, "lease",
                         lease, "used", assay_num_bytes(i->memory_used).text,
                         "limit", assay_num_bytes(i->memory_limit).text,
                         "constants", assay_num_u(i->constants).text, NULL));
}

int assay_cmd_info(const struct assay_options *o, int argc, char **argv)
{
    struct assay_backend *b = NULL;
    struct assay_backend_info info = {0};
    struct assay_err err = {0};
    int rc, code = 0;

    (void)argc;
    (void)argv;
    assay_interrupt_install();
    rc = assay_cmd_open_board(&b, o, &err);
    if (rc == 0)
        rc = b->vt->info(b, &info, &err);
    if (rc < 0)
        code = assay_cmd_failed(&err);
    else
        print_info(&info);
    if (b != NULL)
        b->vt->close(b);
    return code;
}
