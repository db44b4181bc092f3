/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/triage/triage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/model/file.h"

#define MAX_LOG ((size_t)256 << 20)

/* Folders of a case that are no evidence of the vendor's. */
static const char *const own_folders[] = {
#define ASSAY_STAGE(id, name, side, cosine, error, step, look) name,
#include "host-tools/triage/stages.def"
#undef ASSAY_STAGE
    "inputs", NULL};

static int open_stages(struct assay_triage *t,
                       const struct assay_triage_request *r,
                       struct assay_err *err)
{
    int rc = 0;

    for (int i = 0; i < ASSAY_STAGE_COUNT && rc == 0; i++) {
        const char *path = r->stage[i];

        if (path == NULL && r->folder != NULL) {
            path = assay_names_join(t->arena, r->folder, own_folders[i]);
            if (path == NULL)
                return assay_fail(err, ASSAY_EMEMORY, "out of memory");
            if (!assay_file_is_folder(path))
                continue;
        }
        if (path == NULL)
            continue;
        rc = assay_stage_open(&t->sets[i], t->arena, (enum assay_stage)i, path,
                              err);
        t->n_stages += rc == 0;
    }
    return rc;
}

static int read_evidence(struct assay_triage *t,
                         const struct assay_triage_request *r,
                         struct assay_err *err)
{
    int rc = assay_evidence_new(&t->evidence, err);

    if (rc == 0 && r->folder != NULL)
        rc =
            assay_evidence_add(t->evidence, r->folder, false, own_folders, err);
    for (size_t i = 0; i < r->n_vendor && rc == 0; i++)
        rc = assay_evidence_add(t->evidence, r->vendor[i], true, NULL, err);
    return rc == 0 ? assay_evidence_finish(t->evidence, err) : rc;
}

static int read_logs(struct assay_triage *t,
                     const struct assay_triage_request *r,
                     struct assay_err *err)
{
    int rc = 0;

    t->log.arena = t->arena;
    for (size_t i = 0; i < r->n_logs && rc == 0; i++) {
        uint8_t *text = NULL;
        size_t n = 0;

        rc = assay_file_read(&text, &n, r->logs[i], MAX_LOG, err);
        if (rc == 0)
            rc =
                assay_log_scan(&t->log, r->logs[i], (const char *)text, n, err);
        assay_free(text);
    }
    return rc;
}

static int collect_scales(struct assay_triage *t,
                          const struct assay_triage_request *r,
                          struct assay_err *err)
{
    int rc = 0;

    t->scales.arena = t->arena;
    for (size_t i = 0; i < r->n_scales && rc == 0; i++)
        rc = assay_scale_parse(&t->scales, r->scales[i], err);
    for (uint32_t i = 0; i < t->evidence->n_layers && rc == 0; i++) {
        const struct assay_layer_row *row = &t->evidence->layers[i];

        if (row->qscale > 0 && isfinite(row->qscale))
            rc = assay_scale_add(&t->scales, &t->scales.vendor, row->name,
                                 row->qscale, 0, err);
    }
    return rc;
}

static int compare_two(struct assay_triage *t, const struct assay_stage_set *a,
                       const struct assay_stage_set *b,
                       const struct assay_model_note *note, bool *compared,
                       struct assay_err *err)
{
    struct assay_transition *s = &t->steps[t->n_steps];
    int rc = assay_transition_run(s, t->arena, a, b, &t->scales, note, err);

    t->n_steps += rc == 0;
    *compared = rc == 0 && s->verdict != ASSAY_STEP_INCOMPARABLE;
    return rc;
}

static int compare_stages(struct assay_triage *t,
                          const struct assay_model_note *note,
                          struct assay_err *err)
{
    /* over: the last stage that could be compared, where `before` could not. */
    const struct assay_stage_set *before = NULL, *over = NULL;
    int rc = 0;

    for (int i = 0; i < ASSAY_STAGE_COUNT && rc == 0; i++) {
        const struct assay_stage_set *set = &t->sets[i];
        bool compared = true;

        if (set->path == NULL)
            continue;
        if (before != NULL)
            rc = compare_two(t, before, set, note, &compared, err);
        if (rc == 0 && !compared && over == NULL)
            over = before;
        else if (rc == 0 && !compared)
            rc = compare_two(t, over, set, note, &compared, err);
        if (compared)
            over = NULL;
        before = set;
    }
    return rc;
}

static bool was_seen(const struct assay_triage *t, const char *name)
{
    for (uint32_t i = 0; i < t->n_steps; i++)
        for (uint32_t k = 0; k < t->steps[i].n; k++)
            if (assay_tensor_same_name(t->steps[i].tensors[k].name, name))
                return true;
    return false;
}

/* A name of --scale that hits nothing is misspelt. */
static int check_scales(const struct assay_triage *t, struct assay_err *err)
{
    for (uint32_t i = 0; i < t->scales.user.n; i++)
        if (!was_seen(t, t->scales.user.v[i].name))
            return assay_fail(err, ASSAY_EUSAGE,
                              "--scale '%.200s': no stage that is compared has "
                              "a tensor of that name",
                              t->scales.user.v[i].name);
    return 0;
}

static void conclude(struct assay_triage *t)
{
    assay_policy_drift(t->steps, t->n_steps);
    for (uint32_t i = 0; i < t->n_steps; i++) {
        const struct assay_transition *s = &t->steps[i];
        uint32_t sides = assay_policy_sides(s->from, s->to);

        t->incomparable =
            t->incomparable || s->verdict == ASSAY_STEP_INCOMPARABLE;
        if (s->verdict != ASSAY_STEP_BREAKS)
            continue;
        if (t->first < 0)
            t->first = (int)i;
        if (t->first_deploy < 0 && sides != 1u << ASSAY_SIDE_TRAINING)
            t->first_deploy = (int)i;
    }
    t->exit_code = t->first >= 0 ? 1 : t->incomparable ? 5 : 0;
}

static int too_few(struct assay_triage *t, const struct assay_triage_request *r,
                   struct assay_err *err)
{
    const char *only = "none";

    for (int i = 0; i < ASSAY_STAGE_COUNT; i++)
        if (t->sets[i].path != NULL)
            only = own_folders[i];
    t->few = true;
    t->exit_code = 2;
    return assay_fail(
        err, ASSAY_EUSAGE,
        "two stages are needed to compare them, found: %s%s%.300s%s", only,
        r->folder != NULL ? " ('" : "", r->folder != NULL ? r->folder : "",
        r->folder != NULL ? "' has no other folder of a stage)" : "");
}

int assay_triage_run(struct assay_triage *out,
                     const struct assay_triage_request *r,
                     const struct assay_model_note *note, struct assay_err *err)
{
    struct assay_triage *t = out;
    int rc = 0;

    memset(t, 0, sizeof(*t));
    t->first = t->first_deploy = -1;
    t->arena = assay_arena_new();
    if (t->arena == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "out of memory");
    if (r->folder != NULL && !assay_file_is_folder(r->folder))
        rc = assay_fail(err, ASSAY_EIO, "%s: not a folder", r->folder);
    if (rc == 0)
        rc = open_stages(t, r, err);
    if (rc == 0)
        rc = read_evidence(t, r, err);
    if (rc == 0)
        rc = read_logs(t, r, err);
    if (rc == 0)
        rc = collect_scales(t, r, err);
    if (rc == 0 && t->n_stages < 2)
        return too_few(t, r, err);
    if (rc == 0)
        rc = compare_stages(t, note, err);
    if (rc == 0)
        rc = check_scales(t, err);
    if (rc == 0)
        conclude(t);
    return rc;
}

void assay_triage_close(struct assay_triage *t)
{
    assay_evidence_free(t->evidence);
    assay_arena_free(t->arena);
    memset(t, 0, sizeof(*t));
}

static bool worse(const struct assay_sample_step *a,
                  const struct assay_sample_step *b)
{
    if (a->breaks != b->breaks)
        return a->breaks;
    return a->error > b->error;
}

uint32_t assay_triage_worst_samples(const struct assay_transition *t,
                                    uint32_t *out, uint32_t n)
{
    uint32_t have = 0;

    for (uint32_t i = 0; i < t->n_samples; i++) {
        uint32_t at = have < n ? have++ : n;

        while (at > 0 && worse(&t->samples[i], &t->samples[out[at - 1]])) {
            if (at < n)
                out[at] = out[at - 1];
            at--;
        }
        if (at < n)
            out[at] = i;
    }
    return have;
}

bool assay_triage_bad_sample(const struct assay_triage *t,
                             enum assay_stage stage, uint32_t *sample)
{
    const struct assay_stage_set *set = &t->sets[stage];
    uint32_t worst;

    if (t->first < 0 || set->path == NULL ||
        assay_triage_worst_samples(&t->steps[t->first], &worst, 1) == 0)
        return false;
    for (uint32_t i = 0; i < set->n; i++)
        if (strcmp(set->samples[i].name,
                   t->steps[t->first].samples[worst].name) == 0) {
            *sample = i;
            return true;
        }
    *sample = worst; /* samples that go by their order */
    return worst < set->n;
}
