/* SPDX-License-Identifier: Apache-2.0 */
/* What the vendor's tools left, held against the model before it runs. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "host-tools/messages.h"
#include "host-tools/model/onnx_preprocess.h"
#include "host-tools/prepare.h"

struct gather {
    const struct assay_prepared *p;
    struct assay_arena *arena;
    struct assay_vendor_facts facts;
};

static int no_memory(struct assay_err *err)
{
    return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
}

static int gather_preprocess(struct gather *g, const char *model,
                             struct assay_err *err)
{
    struct assay_onnx_preprocess *v = NULL;
    struct assay_vendor_preprocess *out;
    uint32_t n;
    int rc = assay_onnx_preprocess(&v, &n, g->arena, model, err);

    if (rc < 0)
        return rc;
    out = assay_arena_array(g->arena, (size_t)n + 1, sizeof(*out));
    if (out == NULL)
        return no_memory(err);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (struct assay_vendor_preprocess){
            .node = v[i].node,
            .input = v[i].input,
            .input_type = v[i].input_type,
            .derived = v[i].derived,
            .channels = v[i].channels,
        };
        memcpy(out[i].weights, v[i].weights, sizeof(out[i].weights));
        memcpy(out[i].bias, v[i].bias, sizeof(out[i].bias));
    }
    g->facts.preprocess = out;
    g->facts.n_preprocess = n;
    return 0;
}

static void extent(const struct assay_tensor *t, const void *data,
                   struct assay_vendor_sample *out)
{
    size_t n = 0, bytes;

    (void)assay_tensor_count(t, &n, &bytes, NULL);
    for (size_t i = 0; i < n; i++) {
        double v = t->dtype == ASSAY_S8 ? (double)((const int8_t *)data)[i]
                                        : (double)((const float *)data)[i];

        if (i == 0 || v < out->lo)
            out->lo = v;
        if (i == 0 || v > out->hi)
            out->hi = v;
    }
}

/* The first sample's inputs. What is wrong with them is told when they are
 * run. */
static int gather_samples(struct gather *g, struct assay_err *err)
{
    const struct assay_model_note silent = {.note = NULL};
    const struct assay_slice *s = g->p->slice;
    struct assay_sample inputs = {0};
    struct assay_vendor_sample *v;
    struct assay_err ignored = {0};

    v = assay_arena_array(g->arena, (size_t)s->n_tensors + 1, sizeof(*v));
    if (v == NULL)
        return no_memory(err);
    g->facts.samples = v;
    if (g->p->c.n_samples == 0 ||
        assay_case_inputs(&inputs, &g->p->c, 0, s, &silent, &ignored) < 0)
        return 0;
    for (uint32_t t = 0; t < s->n_tensors; t++) {
        const struct assay_tensor *x = &s->tensors[t];

        if (x->role != ASSAY_ROLE_INPUT || inputs.values[t] == NULL ||
            (x->dtype != ASSAY_S8 && x->dtype != ASSAY_F32))
            continue;
        v[g->facts.n_samples].input = x->name;
        extent(x, inputs.values[t], &v[g->facts.n_samples++]);
    }
    assay_sample_close(&inputs);
    return 0;
}

static int gather_scales(struct gather *g, struct assay_err *err)
{
    const struct assay_prepared *p = g->p;
    bool *given = assay_arena_array(g->arena, (size_t)p->slice->n_tensors + 1,
                                    sizeof(*given));

    if (given == NULL)
        return no_memory(err);
    for (uint32_t t = 0; t < p->slice->n_tensors; t++)
        given[t] = p->scales.origin == NULL ||
                   (p->scales.origin[t] != ASSAY_SCALE_UNKNOWN &&
                    p->scales.origin[t] != ASSAY_SCALE_DERIVED);
    g->facts.scale_given = given;
    return 0;
}

static int check(struct assay_prepared *p, const char *model,
                 struct assay_err *err)
{
    struct gather g = {.p = p, .arena = assay_arena_new()};
    int rc = g.arena != NULL ? 0 : no_memory(err);

    g.facts.march = p->c.march;
    g.facts.horizon_nn_version = p->c.horizon_nn;
    g.facts.hbdk_version = p->c.hbdk;
    if (rc == 0)
        rc = gather_preprocess(&g, model, err);
    if (rc == 0)
        rc = gather_samples(&g, err);
    if (rc == 0)
        rc = gather_scales(&g, err);
    if (rc == 0)
        rc = assay_vendor_check(&p->findings, p->vendor, p->slice, &g.facts,
                                err);
    assay_arena_free(g.arena);
    return rc;
}

int assay_prepare_vendor(struct assay_prepared *p,
                         const struct assay_options *o, const char *model,
                         struct assay_err *err)
{
    const char *own[1], *const *paths = o->vendor.v;
    size_t n = o->vendor.n;
    char path[4096];
    struct stat st;
    int rc;

    if (n == 0 && p->c.folder != NULL) {
        int len = snprintf(path, sizeof(path), "%s/vendor", p->c.folder);

        if (len > 0 && (size_t)len < sizeof(path) && stat(path, &st) == 0) {
            own[n++] = path;
            paths = own;
        }
    }
    if (n == 0)
        return 0;
    rc = assay_vendor_load(&p->vendor, paths, n, err);
    p->c.model_info = assay_vendor_model_info(p->vendor);
    return rc == 0 ? check(p, model, err) : rc;
}

void assay_prepare_finding(const struct assay_finding *f, char *out, size_t cap)
{
    const char *slash = strrchr(f->file, '/');

    assay_message(
        out, cap,
        f->file[0] != '\0' ? ASSAY_MSG_FINDING_FILE : ASSAY_MSG_FINDING,
        "severity", assay_severity_name(f->severity), "sentence", f->sentence,
        "file", slash != NULL ? slash + 1 : f->file, NULL);
}
