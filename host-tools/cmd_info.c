/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/backend.h"
#include "host-tools/cmd.h"
#include "host-tools/interrupt.h"
#include "host-tools/messages.h"
#include "host-tools/report/json_text.h"
#include "proto/codec.h"

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

/* What follows the kernels: how the self-test ended. */
static const char *health_of(const struct assay_msg_info *a, char *out,
                             size_t cap)
{
    out[0] = '\0';
    if (a->health == ASSAY_HEALTH_GOOD)
        assay_message(out, cap, ASSAY_MSG_INFO_HEALTH_GOOD, "checks",
                      assay_num_u(a->self_test_checks).text, "seconds",
                      assay_num_f(2, (double)a->self_test_us / 1e6).text, NULL);
    else if (a->health == ASSAY_HEALTH_TESTING)
        assay_message(out, cap, ASSAY_MSG_INFO_HEALTH_TESTING, NULL);
    else if (a->health == ASSAY_HEALTH_UNTESTED)
        assay_message(out, cap, ASSAY_MSG_INFO_HEALTH_UNTESTED, NULL);
    else if (a->health == ASSAY_HEALTH_BAD)
        assay_message(out, cap, ASSAY_MSG_INFO_HEALTH_BAD, "what",
                      a->health_text, NULL);
    return out;
}

static void print_sensors(const struct assay_msg_info *a)
{
    char text[128], degrees[64], mhz[64];

    if (a->temperature_mc == 0 && a->frequency_khz == 0)
        return;
    assay_message(degrees, sizeof(degrees),
                  a->temperature_mc != 0 ? ASSAY_MSG_INFO_TEMPERATURE
                                         : ASSAY_MSG_INFO_NO_TEMPERATURE,
                  "degrees", assay_num_f(1, a->temperature_mc / 1000.0).text,
                  NULL);
    assay_message(mhz, sizeof(mhz),
                  a->frequency_khz != 0 ? ASSAY_MSG_INFO_FREQUENCY
                                        : ASSAY_MSG_INFO_NO_FREQUENCY,
                  "mhz", assay_num_u(a->frequency_khz / 1000).text, NULL);
    printf("%s\n",
           assay_message(text, sizeof(text), ASSAY_MSG_INFO_SENSORS,
                         "temperature", degrees, "frequency", mhz, NULL));
}

/* What only an agent knows of itself. */
static void print_agent(const struct assay_msg_info *a)
{
    char text[512];

    printf("%s\n",
           assay_message(text, sizeof(text), ASSAY_MSG_INFO_MEMORY, "blobs",
                         assay_num_bytes(a->blob_bytes).text, "high",
                         assay_num_bytes(a->memory_high).text, "rss",
                         assay_num_bytes(a->rss_bytes).text, NULL));
    printf("%s\n", assay_message(text, sizeof(text), ASSAY_MSG_INFO_COUNTS,
                                 "sessions", assay_num_u(a->sessions).text,
                                 "refused", assay_num_u(a->refused).text,
                                 "runs", assay_num_u(a->runs).text, "layers",
                                 assay_num_u(a->layers).text, "crashes",
                                 assay_num_u(a->crashes).text, "timeouts",
                                 assay_num_u(a->timeouts).text, "in",
                                 assay_num_bytes(a->bytes_in).text, "out",
                                 assay_num_bytes(a->bytes_out).text, NULL));
    if (a->tls_full + a->tls_resumed > 0)
        printf("%s\n",
               assay_message(text, sizeof(text), ASSAY_MSG_INFO_TLS, "full",
                             assay_num_u(a->tls_full).text, "resumed",
                             assay_num_u(a->tls_resumed).text, NULL));
}

static void print_lease(const struct assay_msg_info *i)
{
    char text[768], lease[320];

    if (i->lease_owner[0] == '\0')
        assay_message(lease, sizeof(lease), ASSAY_MSG_INFO_LEASE_FREE, NULL);
    else
        assay_message(lease, sizeof(lease), ASSAY_MSG_INFO_LEASE_HELD, "owner",
                      i->lease_owner, "held",
                      assay_num_u(i->lease_held_ms / 1000).text, "seconds",
                      assay_num_u((i->lease_expires_ms + 999) / 1000).text,
                      NULL);
    printf("%s\n",
           assay_message(text, sizeof(text), ASSAY_MSG_INFO_LEASE, "lease",
                         lease, "used", assay_num_bytes(i->memory_used).text,
                         "limit", assay_num_bytes(i->memory_limit).text,
                         "constants", assay_num_u(i->blobs).text, NULL));
}

static void print_info(const struct assay_backend_info *i)
{
    const struct assay_msg_info *agent = &i->agent;
    char text[768], features[256] = "", also[96], up[32], health[400];

    if (agent->features[0] != '\0')
        snprintf(features, sizeof(features), "%s%.200s",
                 agent->soc[0] != '\0' ? ", " : "", agent->features);
    if (i->is_local)
        assay_message(text, sizeof(text), ASSAY_MSG_INFO_LOCAL, "board",
                      agent->board_id, "features", features, "agent",
                      agent->build_id, NULL);
    else
        assay_message(text, sizeof(text), ASSAY_MSG_INFO_BOARD, "board",
                      agent->board_id, "soc", agent->soc, "features", features,
                      "cores", assay_num_u(agent->cores).text, "agent",
                      agent->build_id, "protocol",
                      assay_num_u(i->protocol).text, "uptime",
                      uptime_of(agent->uptime_s, up, sizeof(up)), NULL);
    printf("%s\n", text);
    printf("%s\n",
           assay_message(text, sizeof(text), ASSAY_MSG_INFO_KERNELS, "kernels",
                         agent->kernels, "also",
                         also_of(agent->kernels, also, sizeof(also)), "health",
                         health_of(agent, health, sizeof(health)), NULL));
    if (agent->runtime[0] != '\0')
        printf("%s\n", assay_message(text, sizeof(text), ASSAY_MSG_INFO_RUNTIME,
                                     "files", agent->runtime, NULL));
    if (i->is_local)
        return; /* nobody leases this process */
    print_sensors(agent);
    print_lease(agent);
    if (agent->health != ASSAY_HEALTH_UNKNOWN)
        print_agent(agent);
}

/* The names are those of Info on the wire, texts and numbers. */
static json_t *to_json(const struct assay_backend_info *i)
{
    json_t *root = json_object();
    bool good = root != NULL;

#define ASSAY_INFO_TEXT(field) \
    good = good && json_object_set_new(root, #field, \
                                       assay_json_text(i->agent.field)) == 0;
#define ASSAY_INFO_NUMBER(type, field) \
    good = good && \
           json_object_set_new(root, #field, \
                               json_integer((json_int_t)i->agent.field)) == 0;
    good = good && json_object_set_new(root, "schema",
                                       json_string("assay-info/1")) == 0;
    good = good && json_object_set_new(root, "protocol",
                                       json_integer(i->protocol)) == 0;
#include "proto/info.def"
#undef ASSAY_INFO_TEXT
#undef ASSAY_INFO_NUMBER
    if (!good) {
        json_decref(root);
        return NULL;
    }
    return root;
}

static int report(const struct assay_backend_info *i,
                  const struct assay_options *o, struct assay_err *err)
{
    if (!o->json_stdout)
        print_info(i);
    if (!o->json_stdout && o->json == NULL)
        return 0;
    return assay_cmd_write_json(o, to_json(i), err);
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
    if (rc == 0)
        rc = report(&info, o, &err);
    if (rc < 0)
        code = assay_cmd_failed(&err);
    if (b != NULL)
        b->vt->close(b);
    return code;
}
