/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/fit_case.h"

#include <string.h>

#include "host-tools/interrupt.h"
#include "host-tools/messages.h"
#include "host-tools/progress.h"
#include "lib/core/form.h"

static int no_memory(struct assay_err *err)
{
    return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
}

int assay_fit_session_add(struct assay_fit_session *f,
                          const struct assay_slice *s, const char *source,
                          const bool *wanted, struct assay_err *err)
{
    size_t cap = f->n_waiting + s->n_layers + 1;
    struct assay_fit_layer **more =
        assay_realloc(f->waiting, cap * sizeof(struct assay_fit_layer *));
    const char **from;

    if (more == NULL)
        return no_memory(err);
    f->waiting = more;
    from = assay_realloc((void *)f->sources, cap * sizeof(*from));
    if (from == NULL)
        return no_memory(err);
    f->sources = from;
    for (uint32_t i = 0; i < s->n_layers; i++) {
        struct assay_fit_layer *l = NULL;
        int rc = 0;

        if (wanted == NULL || wanted[i])
            rc = assay_fit_layer_open(&l, s, i, err);
        if (rc < 0)
            return rc;
        if (l == NULL)
            continue;
        f->waiting[f->n_waiting] = l;
        f->sources[f->n_waiting++] = source;
    }
    return 0;
}

static int add_sample(struct assay_fit_session *f, const struct assay_slice *s,
                      const struct assay_sample *inputs,
                      const struct assay_sample *golden, struct assay_err *err)
{
    const void **values =
        assay_calloc((size_t)s->n_tensors + 1, sizeof(*values));
    int rc = 0;

    if (values == NULL)
        return no_memory(err);
    for (uint32_t t = 0; t < s->n_tensors; t++) {
        values[t] = golden->values[t];
        if (inputs->values[t] != NULL)
            values[t] = inputs->values[t];
    }
    for (size_t i = 0; i < f->n_waiting && rc == 0; i++) {
        if (f->waiting[i] != NULL && f->waiting[i]->slice == s)
            rc = assay_fit_layer_add(f->waiting[i], values, err);
    }
    assay_free(values);
    return rc;
}

int assay_fit_session_read(struct assay_fit_session *f,
                           const struct assay_case *c,
                           const struct assay_slice *s,
                           const struct assay_model_note *note,
                           struct assay_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < c->n_samples && rc == 0; i++) {
        struct assay_sample inputs = {0}, golden = {0};

        if (f->max_samples != 0 && i == f->max_samples)
            break;
        if (c->goldens == NULL || c->goldens[i] == NULL)
            continue;
        rc = assay_case_inputs(&inputs, c, i, s, note, err);
        if (rc == 0)
            rc = assay_case_golden(&golden, c, i, s, note, err);
        if (rc == 0)
            rc = add_sample(f, s, &inputs, &golden, err);
        assay_sample_close(&inputs);
        assay_sample_close(&golden);
    }
    return rc;
}

static bool out_of_time(struct assay_fit_session *f)
{
    if (f->stop_ms != 0 && assay_monotonic_ms() > f->stop_ms)
        f->stopped = true;
    return f->stopped;
}

static int interrupted(struct assay_err *err)
{
    return assay_interrupted() == 0
               ? 0
               : assay_fail(err, ASSAY_ECANCELLED, "interrupted");
}

static const char *base_of(const struct assay_fit_session *f, const char *form)
{
    for (size_t i = 0; i < f->n_found; i++) {
        const struct assay_layer *l = assay_fit_layer_of(f->found[i]->l);

        if (strcmp(l->form, form) == 0 && l->rule != NULL)
            return l->rule;
    }
    return NULL;
}

static bool has_pool(const struct assay_fit_session *f, const char *form)
{
    for (size_t i = 0; i < f->n_pools; i++) {
        if (strcmp(f->pools[i]->form, form) == 0)
            return true;
    }
    return false;
}

static int make_pools(struct assay_fit_session *f, struct assay_err *err)
{
    f->pools = assay_calloc(f->n_found + 1, sizeof(*f->pools));
    if (f->pools == NULL)
        return no_memory(err);
    for (size_t i = 0; i < f->n_found; i++) {
        const char *form = f->found[i]->l->form;
        int rc;

        if (has_pool(f, form))
            continue;
        rc = assay_fit_pool_new(&f->pools[f->n_pools], form, f->found,
                                f->n_found, base_of(f, form), err);
        if (rc < 0)
            return rc;
        f->n_pools++;
    }
    return 0;
}

int assay_fit_session_search(struct assay_fit_session *f, struct assay_err *err)
{
    f->found = assay_calloc(f->n_waiting + 1, sizeof(*f->found));
    if (f->found == NULL)
        return no_memory(err);
    for (size_t i = 0; i < f->n_waiting; i++) {
        struct assay_fit_layer *l = f->waiting[i];
        int rc;

        if (l->n == 0) {
            f->no_golden++;
            continue;
        }
        rc = interrupted(err);
        if (rc < 0)
            return rc;
        if (out_of_time(f)) {
            f->n_cut++;
            continue;
        }
        f->waiting[i] = NULL; /* the search takes it */
        rc = assay_fit_found_new(&f->found[f->n_found], l, f->sources[i], err);
        if (rc < 0)
            return rc;
        f->n_found++;
    }
    return make_pools(f, err);
}

int assay_fit_session_separate(struct assay_fit_session *f,
                               struct assay_err *err)
{
    for (size_t i = 0; i < f->n_found; i++) {
        int rc = interrupted(err);

        if (rc < 0)
            return rc;
        if (out_of_time(f))
            break;
        if (f->found[i]->classes > 1)
            rc = assay_fit_separate(f->found[i], 24, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

void assay_fit_session_close(struct assay_fit_session *f)
{
    for (size_t i = 0; i < f->n_pools; i++)
        assay_fit_pool_free(f->pools[i]);
    for (size_t i = 0; i < f->n_found; i++)
        assay_fit_found_free(f->found[i]);
    for (size_t i = 0; i < f->n_waiting; i++)
        assay_fit_layer_close(f->waiting[i]);
    for (size_t i = 0; i < f->n_cases; i++)
        assay_prepare_close(&f->cases[i]);
    assay_free(f->pools);
    assay_free(f->found);
    assay_free(f->waiting);
    assay_free((void *)f->sources);
    assay_free(f->cases);
    memset(f, 0, sizeof(*f));
}
