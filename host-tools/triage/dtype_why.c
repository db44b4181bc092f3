/* SPDX-License-Identifier: Apache-2.0 */
/* The dtype that was asked for, the one that was got, and why. */
#include <string.h>

#include "host-tools/triage/cells.h"
#include "host-tools/triage/evidence.h"

static const struct assay_dtype_row *row_of(const struct assay_dtype_row *v,
                                            uint32_t n, const char *module)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(v[i].module, module) == 0)
            return &v[i];
    return NULL;
}

/* The last change of a module, and the dtype that it was first given. */
static const struct assay_dtype_change *last_change(
    const struct assay_triage_evidence *e, const char *module,
    const char **asked)
{
    const struct assay_dtype_change *last = NULL;

    for (uint32_t i = 0; i < e->n_changes; i++) {
        const struct assay_dtype_change *c = &e->changes[i];

        if (strcmp(c->module, module) != 0)
            continue;
        if (*asked == NULL && !c->fallback)
            *asked = c->to;
        last = c;
    }
    return last;
}

/* A module of the same last name, for a name that hit nothing. */
static const char *near(const struct assay_triage_evidence *e,
                        const char *module)
{
    const char *dot = strrchr(module, '.'),
               *own = dot != NULL ? dot + 1 : module;

    for (uint32_t i = 0; i < e->n_got; i++) {
        const char *other = strrchr(e->got[i].module, '.');

        other = other != NULL ? other + 1 : e->got[i].module;
        if (strcmp(other, own) == 0)
            return e->got[i].module;
    }
    return "";
}

static int judge(struct assay_triage_evidence *e, const char *module,
                 const char *asked, struct assay_err *err)
{
    const char *first = NULL;
    const struct assay_dtype_change *c = last_change(e, module, &first);
    const struct assay_dtype_row *got = row_of(e->got, e->n_got, module);
    const struct assay_dtype_row *config =
        row_of(e->config, e->n_config, module);
    struct assay_dtype_verdict v = {.module = module, .by = "", .text = ""},
                               *slot;

    v.near = "";
    v.asked = first != NULL && first[0] != '\0' ? first : asked;
    v.got = got != NULL ? got->dtype : "";
    if (got == NULL && e->n_got == 0 && c != NULL)
        v.got = config != NULL ? config->dtype : c->to;
    if ((c != NULL && c->missed) || (got == NULL && e->n_got > 0)) {
        v.why = ASSAY_DTYPE_NOT_HIT;
        v.near = near(e, module);
    } else if (v.got[0] == '\0') {
        return 0; /* nothing says what it got */
    } else if (strcmp(v.got, v.asked) == 0) {
        e->n_as_asked++;
        return 0;
    } else if (c == NULL || strcmp(c->to, v.got) != 0) {
        v.why = ASSAY_DTYPE_UNSAID;
    } else {
        v.why = c->fallback ? ASSAY_DTYPE_FELL_BACK : ASSAY_DTYPE_OVERRIDDEN;
    }
    if (c != NULL && v.why != ASSAY_DTYPE_UNSAID) {
        v.by = c->by;
        v.text = c->text;
        v.line = c->line;
    }
    slot = assay_evidence_grow(e, &e->verdicts, &e->n_verdicts,
                               &e->cap_verdicts, sizeof(*slot));
    if (slot == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for dtypes");
    *slot = v;
    return 0;
}

/* Was the module judged because of an earlier change? */
static bool seen(const struct assay_triage_evidence *e, uint32_t change)
{
    for (uint32_t i = 0; i < change; i++)
        if (strcmp(e->changes[i].module, e->changes[change].module) == 0)
            return true;
    return false;
}

int assay_evidence_judge_dtypes(struct assay_triage_evidence *e,
                                struct assay_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; i < e->n_changes && rc == 0; i++)
        if (!seen(e, i))
            rc = judge(e, e->changes[i].module, e->changes[i].to, err);
    /* Without its changes, what is configured is what was asked for. */
    for (uint32_t i = 0; i < e->n_config && rc == 0 && e->n_got > 0; i++) {
        const char *first = NULL;

        if (last_change(e, e->config[i].module, &first) == NULL &&
            e->config[i].module[0] != '\0')
            rc = judge(e, e->config[i].module, e->config[i].dtype, err);
    }
    return rc;
}
