/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which layers run, and which are compared. --start-layer and --end-layer
 * bound the run, --skip-layers takes layers out of it (the reference stands
 * in); --layers and --op-type choose what is compared, and what feeds it
 * runs too.
 */
#include <fnmatch.h>
#include <string.h>

#include "host-tools/messages.h"
#include "host-tools/run.h"

static int check_globs(const struct assay_run *r,
                       const struct assay_strings *globs, bool op,
                       const char *option, struct assay_err *err)
{
    for (size_t g = 0; g < globs->n; g++) {
        bool hit = false;

        for (uint32_t i = 0; i < r->s->n_layers && !hit; i++) {
            const struct assay_layer *l = &r->s->layers[i];

            hit = fnmatch(globs->v[g], op ? l->source_op : l->name, 0) == 0;
        }
        if (!hit)
            return assay_fail_message(err, ASSAY_EUSAGE,
                                      ASSAY_MSG_NO_LAYER_MATCHES, "pattern",
                                      globs->v[g], "option", option, NULL);
    }
    return 0;
}

static int find_bounds(const struct assay_run *r, uint32_t *start,
                       uint32_t *end, struct assay_err *err)
{
    int rc = 0;

    *start = 0;
    *end = r->s->n_layers > 0 ? r->s->n_layers - 1 : 0;
    if (r->o->start_layer != NULL)
        rc = assay_find_layer(start, r->s, r->o->start_layer, err);
    if (rc == 0 && r->o->end_layer != NULL)
        rc = assay_find_layer(end, r->s, r->o->end_layer, err);
    if (rc == 0 && *start > *end)
        rc = assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_START_BEHIND_END,
                                "start", r->o->start_layer, "end",
                                r->o->end_layer != NULL ? r->o->end_layer : "",
                                NULL);
    return rc;
}

/* Layers that no compared layer needs do not run: from the last backwards. */
static int drop_unneeded(struct assay_run *r, struct assay_err *err)
{
    bool *needed = assay_calloc((size_t)r->s->n_tensors + 1, sizeof(*needed));

    if (needed == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    for (uint32_t i = r->s->n_layers; i-- > 0;) {
        const struct assay_layer *l = &r->s->layers[i];
        struct assay_run_layer *k = &r->layers[i];

        k->run = k->run && (k->selected || needed[l->output]);
        for (uint32_t j = 0; j < l->n_inputs && k->run; j++)
            needed[l->inputs[j]] = true;
    }
    assay_free(needed);
    return 0;
}

int assay_run_select(struct assay_run *r, struct assay_err *err)
{
    const struct assay_options *o = r->o;
    uint32_t start, end;
    int rc = find_bounds(r, &start, &end, err);

    if (rc == 0)
        rc = check_globs(r, &o->layers, false, "--layers", err);
    if (rc == 0)
        rc = check_globs(r, &o->skip_layers, false, "--skip-layers", err);
    if (rc == 0)
        rc = check_globs(r, &o->op_types, true, "--op-type", err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        const struct assay_layer *l = &r->s->layers[i];
        struct assay_run_layer *k = &r->layers[i];
        bool inside = i >= start && i <= end &&
                      !assay_strings_match(&o->skip_layers, l->name);

        k->run = inside && l->op != ASSAY_OP_SKIPPED;
        k->selected =
            inside &&
            (o->layers.n == 0 || assay_strings_match(&o->layers, l->name)) &&
            (o->op_types.n == 0 ||
             assay_strings_match(&o->op_types, l->source_op));
        k->tol.rtol = assay_threshold_of(
            &o->rtol, l->name, l->half ? ASSAY_RTOL_HALF : ASSAY_RTOL);
        k->tol.atol = assay_threshold_of(
            &o->atol, l->name, l->half ? ASSAY_ATOL_HALF : ASSAY_ATOL);
        k->tol.max_lsb = (int64_t)assay_threshold_of(&o->max_lsb, l->name, 0.0);
        k->float_reference = assay_reference_is_float(r->s, i, r->p.c.opt);
        if (k->float_reference && k->tol.max_lsb < 1)
            k->tol.max_lsb = 1;
    }
    return drop_unneeded(r, err);
}
