/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_other.h"

#include <string.h>

#include "host-tools/interrupt.h"
#include "host-tools/messages.h"
#include "host-tools/model/model.h"
#include "host-tools/model/sample.h"

bool assay_run_other_is(const char *got)
{
    size_t n = got != NULL ? strlen(got) : 0;

    return n > 6 && strcmp(got + n - 6, ".slice") == 0;
}

void assay_run_other_close(struct assay_run *r)
{
    if (r->other == NULL)
        return;
    assay_slice_free(r->other->s);
    assay_free(r->other->tensor);
    assay_free(r->other->producer);
    assay_free(r->other);
    r->other = NULL;
}

/* ---- opening ----------------------------------------------------------------- */

static bool same_kind(const struct assay_tensor *a,
                      const struct assay_tensor *b)
{
    return a->role != ASSAY_ROLE_CONSTANT && b->role != ASSAY_ROLE_CONSTANT &&
           a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dims, b->dims, a->rank * sizeof(a->dims[0])) == 0 &&
           memcmp(a->perm, b->perm, a->rank * sizeof(a->perm[0])) == 0;
}

/* How many tensors of its layers have the name of one of ours. */
static uint32_t map_tensors(const struct assay_run *r,
                            struct assay_run_other *o)
{
    uint32_t n = 0;

    for (uint32_t t = 0; t < o->s->n_tensors; t++)
        o->producer[t] = -1;
    for (uint32_t i = 0; i < o->s->n_layers; i++)
        o->producer[o->s->layers[i].output] = (int64_t)i;
    for (uint32_t t = 0; t < r->s->n_tensors; t++) {
        int64_t k = assay_slice_find_tensor(o->s, r->s->tensors[t].name);

        o->tensor[t] = ASSAY_OTHER_NONE;
        if (k < 0 || !same_kind(&r->s->tensors[t], &o->s->tensors[k]))
            continue;
        o->tensor[t] = (uint32_t)k;
        n += o->producer[k] >= 0;
    }
    return n;
}

/* Every input of it must be one of ours. */
static int check_inputs(const struct assay_run *r,
                        const struct assay_run_other *o, struct assay_err *err)
{
    for (uint32_t t = 0; t < o->s->n_tensors; t++) {
        int64_t k = assay_slice_find_tensor(r->s, o->s->tensors[t].name);

        if (o->s->tensors[t].role != ASSAY_ROLE_INPUT ||
            (k >= 0 && o->tensor[k] == t))
            continue;
        return assay_fail_message(err, ASSAY_EMISMATCH, ASSAY_MSG_OTHER_INPUT,
                                  "path", o->path, "input",
                                  o->s->tensors[t].name, NULL);
    }
    return 0;
}

/* As a column that has all samples. */
static int add_column(struct assay_run *r, struct assay_err *err)
{
    struct assay_case_column *k = &r->p.c.columns[ASSAY_CASE_GOT];

    assay_free(k->from);
    k->from = assay_alloc(strlen(r->other->path) + 1);
    if (k->from != NULL)
        strcpy(k->from, r->other->path);
    if (k->paths == NULL)
        k->paths = assay_calloc((size_t)r->n_samples + 1, sizeof(*k->paths));
    k->n_have = r->n_samples;
    return k->from == NULL || k->paths == NULL
               ? assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL)
               : 0;
}

int assay_run_other_open(struct assay_run *r, struct assay_err *err)
{
    struct assay_run_other *o = assay_calloc(1, sizeof(*o));
    int rc;

    r->other = o;
    if (o == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    o->path = r->o->got;
    rc = assay_model_open(&o->s, o->path, &r->p.note, err);
    if (rc < 0)
        return rc;
    o->tensor = assay_calloc((size_t)r->s->n_tensors + 1, sizeof(*o->tensor));
    o->producer =
        assay_calloc((size_t)o->s->n_tensors + 1, sizeof(*o->producer));
    if (o->tensor == NULL || o->producer == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    if (memcmp(o->s->model_sha256, r->s->model_sha256, ASSAY_SHA256_LEN) != 0)
        return assay_fail_message(err, ASSAY_EMISMATCH, ASSAY_MSG_OTHER_MODEL,
                                  "path", o->path, "other", o->s->model_name,
                                  "model", r->s->model_name, NULL);
    if (map_tensors(r, o) == 0)
        return assay_fail_message(err, ASSAY_EMISMATCH, ASSAY_MSG_OTHER_NOTHING,
                                  "path", o->path, NULL);
    rc = check_inputs(r, o, err);
    return rc < 0 ? rc : add_column(r, err);
}

/* ---- running ----------------------------------------------------------------- */

struct reader {
    const struct assay_run *r;
    struct assay_sample *out;
    bool no_memory;
};

static int on_layer(void *self, uint32_t layer, const void *data, size_t bytes,
                    const char *kernel, uint64_t time_us)
{
    struct reader *x = self;
    const struct assay_run_other *o = x->r->other;
    uint32_t y =
        layer < o->s->n_layers ? o->s->layers[layer].output : ASSAY_OTHER_NONE;

    (void)kernel;
    (void)time_us;
    for (uint32_t t = 0; t < x->r->s->n_tensors; t++) {
        size_t elements, want;

        if (o->tensor[t] != y || y == ASSAY_OTHER_NONE ||
            assay_tensor_count(&x->r->s->tensors[t], &elements, &want, NULL) <
                0 ||
            bytes != want || x->out->values[t] != NULL)
            continue;
        x->out->values[t] = assay_alloc(bytes + 1);
        x->no_memory = x->no_memory || x->out->values[t] == NULL;
        if (x->out->values[t] != NULL)
            memcpy(x->out->values[t], data, bytes);
        x->out->n_found++;
    }
    if (assay_interrupted() != 0)
        return ASSAY_ECANCELLED;
    return x->no_memory ? ASSAY_EMEMORY : 0;
}

static int on_missing(void *self, uint32_t layer, uint32_t tensor)
{
    (void)self;
    (void)layer;
    (void)tensor;
    return 0;
}

static int run_all(struct assay_run *r, struct reader *x, struct assay_err *err)
{
    const struct assay_results results = {
        .self = x, .layer = on_layer, .missing = on_missing};
    struct assay_run_tensor *given =
        assay_calloc((size_t)r->s->n_tensors + 1, sizeof(*given));
    struct assay_backend_run run = {.cpumask = r->o->cpumask,
                                    .sample = r->sample,
                                    .given = given,
                                    .layer_timeout_ms = r->o->layer_timeout_ms};
    int rc = given == NULL ? assay_fail_message(err, ASSAY_EMEMORY,
                                                ASSAY_MSG_MEMORY, NULL)
                           : 0;

    for (uint32_t t = 0; t < r->s->n_tensors && rc == 0; t++) {
        uint32_t k = r->other->tensor[t];
        size_t elements;

        if (k == ASSAY_OTHER_NONE || r->values[t] == NULL ||
            r->other->s->tensors[k].role != ASSAY_ROLE_INPUT)
            continue;
        given[run.n_given].tensor = k;
        given[run.n_given].data = r->values[t];
        rc = assay_tensor_count(&r->s->tensors[t], &elements,
                                &given[run.n_given++].bytes, err);
    }
    if (rc == 0)
        rc = assay_run_load(r, r->other->s, err);
    assay_interrupt_request(true);
    if (rc == 0)
        rc = r->board->vt->run(r->board, &run, &results, err);
    assay_interrupt_request(false);
    assay_free(given);
    return rc;
}

int assay_run_other_read(struct assay_run *r, struct assay_err *err)
{
    struct assay_run_side *k = &r->sides[ASSAY_CASE_GOT];
    struct reader x = {.r = r, .out = &k->observed};
    int rc = assay_sample_new(&k->observed, r->s, err);

    if (rc == 0)
        rc = run_all(r, &x, err);
    r->interrupted = assay_interrupted();
    if (x.no_memory)
        rc = assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    k->here = rc == 0;
    return r->interrupted != 0 ? 0 : rc;
}

bool assay_run_other_segment(const struct assay_run_other *o, uint32_t output,
                             const struct assay_run_tensor *given, size_t n,
                             bool *mask)
{
    uint32_t y = o->tensor[output];

    if (y == ASSAY_OTHER_NONE || o->producer[y] < 0)
        return false;
    mask[o->producer[y]] = true;
    for (uint32_t i = (uint32_t)o->producer[y] + 1; i-- > 0;) {
        const struct assay_layer *l = &o->s->layers[i];

        for (uint32_t j = 0; j < l->n_inputs && mask[i]; j++) {
            uint32_t t = l->inputs[j];
            bool is_given = o->s->tensors[t].role == ASSAY_ROLE_CONSTANT;

            for (size_t g = 0; g < n; g++)
                is_given = is_given || given[g].tensor == t;
            if (is_given)
                continue;
            if (o->producer[t] < 0 || o->producer[t] >= (int64_t)i)
                return false;
            mask[o->producer[t]] = true;
        }
    }
    return true;
}
