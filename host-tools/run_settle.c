/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_settle.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "host-tools/messages.h"
#include "host-tools/model/npz.h"
#include "host-tools/run_ask.h"
#include "host-tools/run_cause_keep.h"
#include "kernels/cpu.h"

#define MAX_INPUTS 8 /* that are asked */

/* ---- files ------------------------------------------------------------------- */

static int save_input(struct assay_run *r, struct assay_run_suspect *k,
                      const char *path, struct assay_err *err)
{
    struct assay_npz_writer *w = NULL;
    int rc = assay_npz_create(&w, path, err);

    for (uint32_t t = 0; rc == 0 && t < k->apart.n_inputs; t++)
        if (k->apart.inputs[t])
            rc = assay_npz_add_tensor(w, &k->one->tensors[t],
                                      k->apart.inputs[t], err);
    if (rc < 0) {
        assay_npz_abort(w);
        return rc;
    }
    k->apart_path = assay_arena_str(r->arena, path, strlen(path));
    return assay_npz_finish(w, err);
}

/* With -o: DIR/separating/003.npz, and of further ones 003.1.npz. */
static int save(struct assay_run *r, struct assay_run_suspect *k,
                struct assay_err *err)
{
    char path[4400], number[16] = "";

    if (r->o->output_dir == NULL)
        return 0;
    if (k->settled.inputs > 0)
        snprintf(number, sizeof(number), ".%u", k->settled.inputs);
    mkdir(r->o->output_dir, 0777); /* a failure shows itself below */
    snprintf(path, sizeof(path), "%.4000s/separating", r->o->output_dir);
    mkdir(path, 0777);
    snprintf(path, sizeof(path), "%.4000s/separating/%03u%s.npz",
             r->o->output_dir, k->layer, number);
    return save_input(r, k, path, err);
}

/* ---- asking ------------------------------------------------------------------ */

/* Strikes out what gives something else than the answer. */
static void judge(const struct assay_run *r, struct assay_run_suspect *k,
                  const void *answer, size_t elements)
{
    const struct assay_suspect s = assay_run_cause_suspect(r, k);
    const struct assay_separation *a = &k->apart;

    for (size_t i = 0; i < k->found->n_proved; i++) {
        struct assay_hypothesis *h = &k->found->v[i];
        uint64_t differing, both, matched;

        if (h->class_number > a->n_classes)
            continue;
        matched = assay_cause_count(&s, a->base, answer,
                                    a->outputs[h->class_number - 1], &differing,
                                    &both);
        if (matched == elements)
            continue;
        h->proved = false;
        h->struck = true;
        h->all += elements;
        h->all_matched += matched;
        h->differing += differing;
        h->differing_matched += both;
        h->broken += elements - matched - (differing - both);
    }
    assay_search_sort(k->found);
}

static int ask(struct assay_run *r, struct assay_run_suspect *k,
               struct assay_err *err)
{
    const struct assay_tensor *t = &k->one->tensors[k->one->layers[0].output];
    size_t elements, bytes;
    void *answer;
    int rc = assay_tensor_count(t, &elements, &bytes, err);

    if (rc)
        return rc;
    answer = assay_alloc(bytes + 1);
    if (answer == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    k->settled.failed =
        assay_run_ask(r, k->layer, k->column,
                      (const void *const *)k->apart.inputs, answer) < 0;
    if (!k->settled.failed) {
        k->settled.inputs++;
        k->settled.elements += elements;
        judge(r, k, answer, elements);
    }
    assay_free(answer);
    return 0;
}

int assay_run_settle(struct assay_run *r, struct assay_run_suspect *k,
                     struct assay_err *err)
{
    const struct assay_suspect s = assay_run_cause_suspect(r, k);
    bool can = !k->of_reference && assay_run_can_ask(r, k->column);
    int rc = 0;

    if (k->has_layout || k->found == NULL || k->found->n_classes < 2)
        return 0;
    k->settled.before = k->found->n_classes;
    while (rc == 0 && k->found->n_classes > 1) {
        assay_separation_close(&k->apart);
        rc = assay_cause_separate(&k->apart, &s, k->found, assay_cpu_probe(),
                                  err);
        if (rc == 0 && k->apart.n_groups > 1)
            rc = save(r, k, err);
        if (rc || k->apart.n_groups < 2 || !can ||
            k->settled.inputs == MAX_INPUTS)
            break;
        rc = ask(r, k, err);
        can = !k->settled.failed;
    }
    return rc;
}
