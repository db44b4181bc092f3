/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sample: reference, cumulative run, isolated run of what differs behind
 * something that differs, further columns for culprits, judgement.
 */
#include <stdio.h>
#include <string.h>

#include "host-tools/messages.h"
#include "host-tools/run_capture.h"
#include "host-tools/run_chain.h"
#include "host-tools/run_bad.h"
#include "host-tools/run_cause.h"
#include "host-tools/run_picture.h"
#include "host-tools/run_probe.h"
#include "kernels/cpu.h"

int64_t assay_run_producer(const struct assay_run *r, uint32_t tensor)
{
    return r->producer[tensor];
}

bool assay_run_inputs_equal(const struct assay_run *r, uint32_t layer)
{
    const struct assay_layer *l = &r->s->layers[layer];

    for (uint32_t j = 0; j < l->n_inputs; j++) {
        int64_t p = r->producer[l->inputs[j]];

        if (p >= 0 && r->layers[p].run && r->now[p].dirty)
            return false;
    }
    return true;
}

void assay_run_sample_close(struct assay_run *r)
{
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        for (unsigned c = 0; c < ASSAY_COL_COUNT; c++)
            assay_free(r->now[i].result[c]);
    }
    memset(r->now, 0, r->s->n_layers * sizeof(*r->now));
    assay_run_sides_forget(r);
    assay_sample_close(&r->inputs);
    assay_sample_close(&r->golden);
    memset(&r->inputs, 0, sizeof(r->inputs));
    memset(&r->golden, 0, sizeof(r->golden));
}

int assay_run_sample_open(struct assay_run *r, uint32_t sample,
                          struct assay_err *err)
{
    const struct assay_case *c = &r->p.c;
    bool golden = c->goldens != NULL && c->goldens[sample] != NULL;
    int rc = assay_case_inputs(&r->inputs, c, sample, r->s, &r->p.note, err);

    r->sample = sample;
    if (rc == 0 && golden)
        rc = assay_case_golden(&r->golden, c, r->sample, r->s, &r->p.note, err);
    if (rc < 0)
        return rc;
    if (!golden) {
        r->host_reference = true;
        r->golden.n_tensors = r->s->n_tensors;
        r->golden.values = assay_calloc((size_t)r->s->n_tensors + 1,
                                        sizeof(*r->golden.values));
        if (r->golden.values == NULL)
            return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY,
                                      NULL);
    }
    for (uint32_t t = 0; t < r->s->n_tensors; t++) {
        bool input = r->s->tensors[t].role == ASSAY_ROLE_INPUT;

        r->values[t] = input ? r->inputs.values[t] : r->golden.values[t];
    }
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        r->now[i].facts.skipped = r->s->layers[i].op == ASSAY_OP_SKIPPED;
        r->now[i].facts.float_reference = r->layers[i].float_reference;
    }
    return assay_run_sides_read(r, sample, err);
}

static bool has_golden(const struct assay_run *r)
{
    return r->p.c.goldens != NULL && r->p.c.goldens[r->sample] != NULL;
}

static int need_host(struct assay_run *r)
{
    int rc;

    if (r->host != NULL)
        return 0;
    rc = assay_local_open(&r->host, 0, &r->error);
    if (rc == 0)
        rc = r->host->vt->load(r->host, r->s, &r->error);
    return rc;
}

static int make_reference(struct assay_run *r, const bool *run)
{
    struct assay_pass pass = {
        .column = ASSAY_COL_HOST,
        .layers = run,
        .reference = true,
    };
    int rc = need_host(r);

    pass.backend = r->host;
    return rc < 0 ? rc : assay_run_pass(r, &pass);
}

/* Judges in execution order: behind_culprit flows with the tensors. */
static void judge_all(struct assay_run *r, struct assay_judgement *out,
                      bool *behind)
{
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        const struct assay_layer *l = &r->s->layers[i];
        struct assay_layer_facts *f = &r->now[i].facts;

        behind[i] = false;
        for (uint32_t j = 0; j < l->n_inputs; j++) {
            int64_t p = r->producer[l->inputs[j]];

            if (p >= 0 && p < (int64_t)i && (behind[p] || out[p].culprit))
                behind[i] = true;
        }
        f->behind_culprit = behind[i];
        out[i] = assay_judge_layer(f);
    }
}

static bool pick(const struct assay_run *r, const struct assay_judgement *j,
                 bool culprits, bool *wanted)
{
    bool any = false;

    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        wanted[i] = r->layers[i].selected && r->layers[i].run &&
                    (culprits ? j[i].culprit : j[i].isolate);
        any = any || wanted[i];
    }
    return any;
}

/* With --require, a column is had for every layer, not for culprits only. */
static bool pick_column(const struct assay_run *r,
                        const struct assay_judgement *j,
                        enum assay_column column, bool *wanted)
{
    bool any = pick(r, j, true, wanted);

    if ((r->o->require & (1u << column)) == 0)
        return any;
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        wanted[i] = r->layers[i].selected && r->layers[i].run &&
                    r->values[r->s->layers[i].output] != NULL;
        any = any || wanted[i];
    }
    return any;
}

static int run_columns(struct assay_run *r, const struct assay_judgement *j,
                       bool *wanted)
{
    int rc = 0;

    if (!r->scalar_only && pick_column(r, j, ASSAY_COL_CPU_SCALAR, wanted))
        rc = assay_run_on_reference(r, r->board, ASSAY_COL_CPU_SCALAR, 0,
                                    wanted);
    /* With --local and scalar kernels, cpu and host are the same thing. */
    if (rc == 0 && !(r->o->local && r->scalar_only) &&
        pick_column(r, j, ASSAY_COL_HOST, wanted)) {
        rc = need_host(r);
        if (rc == 0)
            rc = assay_run_on_reference(r, r->host, ASSAY_COL_HOST, 0, wanted);
    }
    return rc;
}

static void relate(struct assay_run *r, uint32_t layer,
                   enum assay_relation *out, enum assay_column a,
                   enum assay_column b)
{
    const struct assay_sample_layer *n = &r->now[layer];
    const struct assay_tensor *t = &r->s->tensors[r->s->layers[layer].output];
    struct assay_tolerance tol = r->layers[layer].tol;
    struct assay_diff d;

    if (n->has_digest[a] && n->has_digest[b]) {
        if (memcmp(n->digest[a], n->digest[b], 16) != 0)
            *out = ASSAY_REL_DIFFERS;
        else if (*out == ASSAY_REL_UNKNOWN)
            *out = ASSAY_REL_EQUAL;
        return;
    }
    if (n->result[a] == NULL || n->result[b] == NULL)
        return;
    tol.max_lsb = 0; /* two engines: integers are equal or not */
    assay_diff_tensor(t, n->result[a], n->result[b], &tol, &d);
    if (d.outside > 0)
        *out = ASSAY_REL_DIFFERS;
    else if (*out == ASSAY_REL_UNKNOWN)
        *out = ASSAY_REL_EQUAL;
}

static int share_columns(struct assay_run *r, uint32_t layer)
{
    struct assay_sample_layer *n = &r->now[layer];
    struct assay_run_layer *k = &r->layers[layer];
    const struct assay_tensor *t = &r->s->tensors[r->s->layers[layer].output];
    size_t elements, bytes;
    unsigned last = r->o->local ? ASSAY_COL_HOST : ASSAY_COL_CPU_SCALAR;

    if (!r->scalar_only ||
        (n->result[ASSAY_COL_CPU] == NULL && !n->has_digest[ASSAY_COL_CPU]) ||
        assay_tensor_count(t, &elements, &bytes, NULL) < 0)
        return 0;
    /* The whole run was scalar: it stands for these columns too. */
    for (unsigned c = last; c <= ASSAY_COL_CPU_SCALAR; c++) {
        if (n->result[c] != NULL || n->has_digest[c])
            continue;
        n->has_digest[c] = n->has_digest[ASSAY_COL_CPU];
        memcpy(n->digest[c], n->digest[ASSAY_COL_CPU], sizeof(n->digest[c]));
        if (n->result[ASSAY_COL_CPU] != NULL) {
            n->result[c] = assay_alloc(bytes > 0 ? bytes : 1);
            if (n->result[c] == NULL)
                return ASSAY_EMEMORY;
            memcpy(n->result[c], n->result[ASSAY_COL_CPU], bytes);
        }
        k->column_seen[c] = true;
        k->column[c] = k->isolated;
    }
    return 0;
}

static void note_missing(struct assay_run *r, uint32_t layer)
{
    struct assay_run_layer *k = &r->layers[layer];

    if (!r->now[layer].missing || k->detail[0] != '\0')
        return;
    snprintf(k->detail, sizeof(k->detail), "%.200s",
             r->s->tensors[r->now[layer].missing_tensor].name);
}

static void settle(struct assay_run *r, const struct assay_judgement *j)
{
    bool golden = has_golden(r);

    r->n_golden += golden;
    r->n_host += !golden;
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        struct assay_run_layer *k = &r->layers[i];
        struct assay_judgement one = j[i];
        bool ref = r->values[r->s->layers[i].output] != NULL;

        if (one.status == ASSAY_ROW_NOT_OBSERVED) {
            if (!k->selected)
                one.reason = ASSAY_WHY_NOT_SELECTED;
            else if (r->now[i].missing)
                one.reason = ASSAY_WHY_NO_INPUT;
            else if (!ref)
                one.reason = ASSAY_WHY_NO_REFERENCE;
        }
        note_missing(r, i);
        if (ref) {
            assay_run_digest(r, i, ASSAY_DIGEST_EXPECTED,
                             r->values[r->s->layers[i].output]);
            k->has_reference = true;
            k->n_reference++;
            k->n_golden += golden;
        }
        if (one.status != ASSAY_ROW_NOT_OBSERVED &&
            one.status != ASSAY_ROW_SKIPPED && one.status != ASSAY_ROW_ERROR)
            k->n_compared++;
        assay_judgement_merge(&k->judgement, &one);
        if (share_columns(r, i) < 0)
            continue;
        relate(r, i, &k->host_scalar, ASSAY_COL_HOST, ASSAY_COL_CPU_SCALAR);
        relate(r, i, &k->scalar_cpu, ASSAY_COL_CPU_SCALAR, ASSAY_COL_CPU);
        relate(r, i, &k->host_cpu, ASSAY_COL_HOST, ASSAY_COL_CPU);
    }
}

/* The board failed: the layer that ran then has the error. */
static void note_failure(struct assay_run *r)
{
    if (r->error.code == 0 || !r->is_running)
        return;
    if (assay_status_class(r->error.code) == ASSAY_CLASS_AGENT) {
        r->now[r->running].facts.failed = true;
        snprintf(r->layers[r->running].detail,
                 sizeof(r->layers[r->running].detail), "%.250s", r->error.text);
    }
}

/* Layers whose input neither comes nor is computed do not run, and what they
 * feed takes the reference tensor. */
static void mask_runnable(struct assay_run *r, bool *mask)
{
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        const struct assay_layer *l = &r->s->layers[i];

        mask[i] = r->layers[i].run;
        for (uint32_t j = 0; j < l->n_inputs && mask[i]; j++) {
            uint32_t t = l->inputs[j];
            int64_t p = r->producer[t];

            if (r->s->tensors[t].role == ASSAY_ROLE_CONSTANT ||
                r->values[t] != NULL || (p >= 0 && p < (int64_t)i && mask[p]))
                continue;
            mask[i] = false;
            r->now[i].missing = true;
            r->now[i].missing_tensor = t;
        }
    }
}

static int passes(struct assay_run *r, struct assay_judgement *j, bool *mask,
                  bool *behind)
{
    struct assay_pass main_pass = {
        .backend = r->board,
        .column = ASSAY_COL_CPU,
        .cpumask = r->o->cpumask,
        .layers = mask,
    };
    bool stopped;
    int rc = 0;

    mask_runnable(r, mask);
    if (!has_golden(r))
        rc = make_reference(r, mask);
    if (rc == 0 && r->o->mode != ASSAY_MODE_ISOLATED)
        rc = assay_run_pass(r, &main_pass);
    if (rc == 0 && r->o->mode == ASSAY_MODE_ISOLATED) {
        for (uint32_t i = 0; i < r->s->n_layers; i++)
            mask[i] = mask[i] && r->layers[i].selected;
        rc = assay_run_on_reference(r, r->board, ASSAY_COL_CPU, r->o->cpumask,
                                    mask);
    }
    note_failure(r);
    judge_all(r, j, behind);
    if (rc < 0 && !r->stopped)
        return rc;
    if (r->o->mode == ASSAY_MODE_BOTH && !r->stopped &&
        pick(r, j, false, mask)) {
        rc = assay_run_on_reference(r, r->board, ASSAY_COL_CPU, r->o->cpumask,
                                    mask);
        note_failure(r);
        judge_all(r, j, behind);
        if (rc < 0 && !r->stopped)
            return rc;
    }
    stopped = r->stopped; /* it must not end the columns' passes */
    r->stopped = false;
    rc = run_columns(r, j, mask);
    if (rc == 0 && !stopped && r->interrupted == 0)
        rc = assay_run_sides_judge(r);
    if (!assay_run_digests_only(r))
        assay_run_causes_take(r, j);
    assay_run_bad_take(r, j);
    r->stopped = r->stopped || stopped;
    return rc;
}

int assay_run_sample_reopen(struct assay_run *r, uint32_t sample,
                            struct assay_err *err)
{
    bool *mask = assay_calloc((size_t)r->s->n_layers + 1, 1);
    struct assay_err lost = r->error;
    bool stopped = r->stopped; /* by --fail-fast: that is over now */
    int rc = mask == NULL ? assay_fail_message(err, ASSAY_EMEMORY,
                                               ASSAY_MSG_MEMORY, NULL)
                          : assay_run_sample_open(r, sample, err);

    if (rc == 0 && !has_golden(r)) {
        mask_runnable(r, mask);
        r->stopped = false;
        rc = make_reference(r, mask);
        if (rc < 0)
            *err = r->error;
        r->error = lost;
        r->stopped = stopped;
    }
    assay_free(mask);
    return rc;
}

int assay_run_sample(struct assay_run *r, uint32_t sample,
                     struct assay_err *err)
{
    size_t n = (size_t)r->s->n_layers + 1;
    struct assay_judgement *j = assay_calloc(n, sizeof(*j));
    bool *mask = assay_calloc(n, 1), *behind = assay_calloc(n, 1);
    int rc;

    if (j == NULL || mask == NULL || behind == NULL) {
        rc = assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
        goto out;
    }
    rc = assay_run_sample_open(r, sample, err);
    if (rc == 0 && r->o->save_outputs)
        rc = assay_run_save_open(r, err);
    if (rc == 0 && r->saving != NULL)
        rc = assay_run_picture_save(r, err);
    if (rc == 0) {
        rc = passes(r, j, mask, behind);
        if (rc < 0)
            rc = 0; /* told by r->error, r->stopped, r->interrupted */
        settle(r, j);
        assay_run_stats_settle(r);
        if (r->error.code == 0 && r->interrupted == 0)
            assay_run_probe_take(r);
        if (r->saving != NULL)
            rc = assay_run_save_close(r, err);
    }
out:
    assay_run_sample_close(r);
    assay_free(j);
    assay_free(mask);
    assay_free(behind);
    return rc;
}
