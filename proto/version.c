/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/version.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_MAX 65535u
#define ID_MAX 128u /* longer ones are no build ids */

struct assay_build assay_build_here(void)
{
    return (struct assay_build){ASSAY_VERSION, ASSAY_PROTOCOL_MIN,
                                ASSAY_PROTOCOL_MAX};
}

static bool take_number(const char **p, uint32_t *out)
{
    uint32_t v = 0;
    const char *s = *p;

    if (!isdigit((unsigned char)*s) ||
        (*s == '0' && isdigit((unsigned char)s[1])))
        return false;
    for (; isdigit((unsigned char)*s); s++) {
        v = v * 10 + (uint32_t)(*s - '0');
        if (v > NUMBER_MAX)
            return false;
    }
    *p = s;
    *out = v;
    return true;
}

/* "-rc1", "+abc.2": what is allowed behind the numbers. */
static bool is_suffix(const char *s)
{
    if (*s == '\0')
        return true;
    if ((*s != '-' && *s != '+') || s[1] == '\0')
        return false;
    for (; *s != '\0'; s++) {
        if (!isalnum((unsigned char)*s) && strchr("-+._~", *s) == NULL)
            return false;
    }
    return true;
}

int assay_build_parse(struct assay_build_version *out, const char *text)
{
    struct assay_build_version v;
    const char *p = text;

    if (strnlen(text, ID_MAX + 1) > ID_MAX || !take_number(&p, &v.major) ||
        *p++ != '.' || !take_number(&p, &v.minor) || *p++ != '.' ||
        !take_number(&p, &v.patch) || !is_suffix(p))
        return ASSAY_EFORMAT;
    *out = v;
    return 0;
}

int assay_build_compare(const struct assay_build_version *a,
                        const struct assay_build_version *b)
{
    if (a->major != b->major)
        return a->major < b->major ? -1 : 1;
    if (a->minor != b->minor)
        return a->minor < b->minor ? -1 : 1;
    return a->patch < b->patch ? -1 : a->patch > b->patch;
}

bool assay_build_near(const struct assay_build_version *a,
                      const struct assay_build_version *b)
{
    uint32_t apart =
        a->minor > b->minor ? a->minor - b->minor : b->minor - a->minor;

    return a->major == b->major && apart <= ASSAY_VERSION_MINORS;
}

/* ---- the rule ------------------------------------------------------------- */

struct pair {
    const struct assay_build *host, *agent;
    char host_id[64], agent_id[64]; /* fit for a terminal and a log */
};

static void printable(char out[64], const char *id)
{
    snprintf(out, 64, "%.60s", id);
    for (char *p = out; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
            *p = '?';
    }
}

/* "update assayd on the board: assay deploy ssh:..." */
static const char *update(bool agent)
{
    if (agent)
        return "update assayd on the board: assay deploy " ASSAY_DEPLOY_TO;
    return "update assay on the host: its package, or build it anew";
}

static int refuse_range(struct pair *p, bool agent_old, struct assay_err *err)
{
    return assay_fail(err, ASSAY_EVERSION,
                      "assay %s on the host speaks protocol %u to %u, assayd "
                      "%s on the board %u to %u: %s",
                      p->host_id, p->host->protocol_min, p->host->protocol_max,
                      p->agent_id, p->agent->protocol_min,
                      p->agent->protocol_max, update(agent_old));
}

static int refuse_id(struct pair *p, bool agent, struct assay_err *err)
{
    return assay_fail(err, ASSAY_EVERSION,
                      "build id '%s' of %s is no version: expected "
                      "MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-WORD: %s",
                      agent ? p->agent_id : p->host_id,
                      agent ? "assayd on the board" : "assay on the host",
                      update(agent));
}

int assay_builds_agree(const struct assay_build *host,
                       const struct assay_build *agent, struct assay_err *err)
{
    struct pair p = {.host = host, .agent = agent};
    struct assay_build_version h, a;

    printable(p.host_id, host->id);
    printable(p.agent_id, agent->id);
    /* A range that holds nothing is its sender's fault. */
    if (host->protocol_min > host->protocol_max)
        return refuse_range(&p, false, err);
    if (agent->protocol_min > agent->protocol_max ||
        host->protocol_min > agent->protocol_max)
        return refuse_range(&p, true, err);
    if (host->protocol_max < agent->protocol_min)
        return refuse_range(&p, false, err);
    if (assay_build_parse(&h, host->id) < 0)
        return refuse_id(&p, false, err);
    if (assay_build_parse(&a, agent->id) < 0)
        return refuse_id(&p, true, err);
    if (assay_build_near(&h, &a))
        return 0;
    return assay_fail(err, ASSAY_EVERSION,
                      "assay %s on the host and assayd %s on the board do not "
                      "work together (expected: one major version, minor "
                      "versions at most %u apart): %s",
                      p.host_id, p.agent_id, ASSAY_VERSION_MINORS,
                      update(assay_build_compare(&a, &h) < 0));
}
