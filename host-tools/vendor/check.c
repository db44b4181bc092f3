/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/vendor/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FINDINGS 1024u

const char *assay_severity_name(enum assay_severity s)
{
    static const char *const names[] = {"hint", "warning", "contradiction"};

    return s <= ASSAY_CONTRADICTION ? names[s] : "?";
}

static const char *copy(struct assay_checker *c, const char *text)
{
    const char *s = assay_arena_str(c->out->arena, text, strlen(text));

    if (s == NULL)
        c->no_memory = true;
    return s != NULL ? s : "";
}

void assay_vcheck_add(struct assay_checker *c, enum assay_severity severity,
                      const char *id, const char *file, const char *subject,
                      const char *expected, const char *found, const char *fmt,
                      ...)
{
    struct assay_findings *f = c->out;
    struct assay_finding *slot;
    char text[640];
    va_list ap;

    f->count[severity]++;
    if (f->n == MAX_FINDINGS)
        return;
    if (f->n == f->cap) {
        uint32_t cap = f->cap == 0 ? 16 : f->cap * 2;
        struct assay_finding *grown =
            assay_arena_array(f->arena, cap, sizeof(*grown));

        if (grown == NULL) {
            c->no_memory = true;
            return;
        }
        if (f->n > 0)
            memcpy(grown, f->v, f->n * sizeof(*grown));
        f->v = grown;
        f->cap = cap;
    }
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    slot = &f->v[f->n++];
    *slot = (struct assay_finding){
        .severity = severity,
        .id = id,
        .file = copy(c, file != NULL ? file : ""),
        .subject = copy(c, subject),
        .sentence = copy(c, text),
        .expected = copy(c, expected),
        .found = copy(c, found),
    };
}

static int by_name(const void *a, const void *b)
{
    const struct assay_name *x = a, *y = b;
    int d = strcmp(x->name, y->name);

    if (d != 0)
        return d;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* The first of a name, or -1. */
static int64_t find_name(const struct assay_name *v, uint32_t n,
                         const char *name)
{
    uint32_t lo = 0, hi = n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (strcmp(v[mid].name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && strcmp(v[lo].name, name) == 0 ? (int64_t)v[lo].index : -1;
}

const struct assay_layer *assay_vcheck_layer(const struct assay_checker *c,
                                             const char *name)
{
    int64_t i = find_name(c->layers, c->s->n_layers, name);

    return i < 0 ? NULL : &c->s->layers[i];
}

const struct assay_tensor *assay_vcheck_tensor(const struct assay_checker *c,
                                               const char *name,
                                               uint32_t *index)
{
    int64_t i = find_name(c->tensors, c->s->n_tensors, name);

    if (i < 0)
        return NULL;
    if (index != NULL)
        *index = (uint32_t)i;
    return &c->s->tensors[i];
}

const char *assay_vcheck_dims(const int64_t *dims, uint32_t rank, char *out,
                              size_t cap)
{
    size_t n = 0;

    snprintf(out, cap, "scalar");
    for (uint32_t i = 0; i < rank && n + 24 < cap; i++)
        n += (size_t)snprintf(out + n, cap - n, "%s%lld", i > 0 ? "x" : "",
                              (long long)dims[i]);
    return out;
}

bool assay_vcheck_threshold(const struct assay_checker *c, double threshold,
                            double digits, const struct assay_tensor *t)
{
    int64_t lo, hi;
    double have;

    if (t->quant.n != 1 || !assay_dtype_is_int(t->dtype) ||
        (c->facts->scale_given != NULL &&
         !c->facts->scale_given[t - c->s->tensors]))
        return true; /* nothing to compare with */
    assay_dtype_range(t->dtype, &lo, &hi);
    have = (double)t->quant.scale[0] * (double)hi;
    return fabs(have - threshold) <= digits * fabs(threshold) + 2e-6;
}

bool assay_vcheck_is_nash(const struct assay_checker *c)
{
    const char *march = c->facts->march != NULL ? c->facts->march : "";

    if (march[0] == '\0' && c->config != NULL)
        march = c->config->march;
    return strncmp(march, "nash", 4) == 0;
}

/* ---- the whole ---------------------------------------------------------- */

static void march_is(struct assay_checker *c, const char *expected,
                     const char *found, const char *file, const char *what)
{
    if (expected[0] != '\0' && found[0] != '\0' && strcmp(expected, found) != 0)
        assay_vcheck_add(c, ASSAY_CONTRADICTION, "march", file, "", expected,
                         found, "%s was made for march '%.40s', not '%.40s'",
                         what, found, expected);
}

static void check_march(struct assay_checker *c)
{
    const struct assay_vendor *v = c->v;
    const char *march = c->facts->march != NULL ? c->facts->march : "";

    if (march[0] == '\0' && v->yaml.present)
        march = v->yaml.march;
    else if (v->yaml.present)
        march_is(c, march, v->yaml.march, v->yaml.file, "the configuration");
    if (march[0] == '\0' && v->deps.present)
        march = v->deps.march;
    else if (v->deps.present)
        march_is(c, march, v->deps.march, v->deps.file, "the logged build");
    for (uint32_t i = 0; i < v->n_features; i++) {
        const struct assay_vendor_feature *f = &v->features[i];

        if (i > 0 && strcmp(f->march, f[-1].march) == 0 &&
            f->file == f[-1].file)
            continue; /* once a model */
        march_is(c, march, f->march, f->file, "the compiled model");
    }
    for (uint32_t i = 0; i < v->n_infos; i++)
        march_is(c, march, v->infos[i].march, v->infos[i].file,
                 "the compiled model");
}

static void check_versions(struct assay_checker *c)
{
    const struct assay_vendor *v = c->v;
    const char *nn = c->facts->horizon_nn_version;
    const char *cc = c->facts->hbdk_version;

    if (nn != NULL && nn[0] != '\0' && v->horizon_nn_version[0] != '\0' &&
        strcmp(nn, v->horizon_nn_version) != 0)
        assay_vcheck_add(c, ASSAY_WARNING, "version", v->log_file, "", nn,
                         v->horizon_nn_version,
                         "the case was exported with horizon_nn %.40s, the log "
                         "is of horizon_nn %.40s",
                         nn, v->horizon_nn_version);
    for (uint32_t i = 0; nn != NULL && nn[0] != '\0' && i < v->n_infos; i++) {
        const char *made = v->infos[i].horizon_nn_version;

        if (made[0] != '\0' && strcmp(nn, made) != 0)
            assay_vcheck_add(c, ASSAY_WARNING, "version", v->infos[i].file, "",
                             nn, made,
                             "the case was exported with horizon_nn %.40s, the "
                             "compiled model was made by horizon_nn %.40s",
                             nn, made);
    }
    if (cc == NULL || cc[0] == '\0')
        cc = v->hbdk_version;
    if (cc[0] != '\0' && v->disas_version[0] != '\0' &&
        strcmp(cc, v->disas_version) != 0)
        assay_vcheck_add(c, ASSAY_WARNING, "version", "", "", cc,
                         v->disas_version,
                         "the compiled model was made by hbdk-cc %.40s, "
                         "expected %.40s",
                         v->disas_version, cc);
}

static void other_build(struct assay_checker *c, const char *key,
                        const char *subject, const char *yaml, const char *deps)
{
    if (yaml[0] == '\0' || strcmp(yaml, deps) == 0)
        return;
    assay_vcheck_add(c, ASSAY_WARNING, "other-build", c->v->deps.file, subject,
                     yaml, deps,
                     "the log belongs to another build: '%s' is '%.80s' in the "
                     "configuration and '%.80s' in the log",
                     key, yaml, deps);
}

static const char *numbers_text(const struct assay_vendor_numbers *n, char *out,
                                size_t cap)
{
    size_t at = 0;

    out[0] = '\0';
    for (uint32_t i = 0; i < n->n && at + 32 < cap; i++)
        at += (size_t)snprintf(out + at, cap - at, "%s%.9g", i > 0 ? " " : "",
                               n->v[i]);
    return out;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static void other_input(struct assay_checker *c,
                        const struct assay_vendor_input *y,
                        const struct assay_vendor_input *d)
{
    char a[200], b[200];

    other_build(c, "input_name", y->name, y->name, d->name);
    other_build(c, "input_type_rt", y->name, y->type_rt, d->type_rt);
    other_build(c, "input_type_train", y->name, y->type_train, d->type_train);
    other_build(c, "input_layout_rt", y->name, y->layout_rt, d->layout_rt);
    other_build(c, "input_layout_train", y->name, y->layout_train,
                d->layout_train);
    other_build(c, "norm_type", y->name, y->norm_type, d->norm_type);
    other_build(c, "mean_value", y->name, numbers_text(&y->mean, a, sizeof(a)),
                numbers_text(&d->mean, b, sizeof(b)));
    other_build(c, "scale_value", y->name,
                numbers_text(&y->scale, a, sizeof(a)),
                numbers_text(&d->scale, b, sizeof(b)));
    if (y->has_shape && d->has_shape)
        other_build(c, "input_shape", y->name,
                    assay_vcheck_dims(y->dims, y->rank, a, sizeof(a)),
                    assay_vcheck_dims(d->dims, d->rank, b, sizeof(b)));
}

static void check_build(struct assay_checker *c)
{
    const struct assay_vendor_config *y = &c->v->yaml, *d = &c->v->deps;

    if (!y->present || !d->present)
        return;
    if (strcmp(y->march, d->march) != 0 && c->facts->march != NULL &&
        c->facts->march[0] != '\0')
        other_build(c, "march", "", y->march, d->march);
    other_build(c, "output_model_file_prefix", "", y->prefix, d->prefix);
    other_build(c, "onnx_model", "", file_name(y->onnx_model),
                file_name(d->onnx_model));
    other_build(c, "layer_out_dump", "", y->layer_out_dump, d->layer_out_dump);
    other_build(c, "calibration_type", "", y->calibration_type,
                d->calibration_type);
    for (uint32_t i = 0; i < y->optimization.n; i++) {
        const char *o = y->optimization.v[i];

        other_build(c, "optimization", "", o,
                    i < d->optimization.n ? d->optimization.v[i] : "");
    }
    for (uint32_t i = 0; i < y->n_inputs && i < d->n_inputs; i++)
        other_input(c, &y->inputs[i], &d->inputs[i]);
}

static void check_rest(struct assay_checker *c)
{
    const struct assay_vendor *v = c->v;

    if (v->consistency < 0)
        assay_vcheck_add(c, ASSAY_WARNING, "consistency", v->log_file, "",
                         "passed", "failed",
                         "the vendor's own check of the quantized against the "
                         "compiled model failed, which stopped this build: "
                         "compare it with the simulator's texts");
    if (v->differing_log != NULL)
        assay_vcheck_add(c, ASSAY_WARNING, "two-logs", v->differing_log,
                         v->differing_node, "", "",
                         "this log's table differs from that of '%.200s': they "
                         "are of two builds",
                         v->log_file);
    if (v->log_file != NULL && v->n_nodes == 0 && v->consistency >= 0)
        assay_vcheck_add(c, ASSAY_WARNING, "no-table", v->log_file, "", "", "",
                         "the log has no table of quantized nodes: the build "
                         "did not come that far, or the log was cut");
    if (v->n_advice > 0)
        assay_vcheck_add(c, ASSAY_HINT, "advice", v->advice_file, "", "", "",
                         "the compiler's advice has %u entries: read them "
                         "before you look for what is slow or on the CPU",
                         v->n_advice);
    if (v->vec_diff_file != NULL)
        assay_vcheck_add(c, ASSAY_HINT, "vec-diff", v->vec_diff_file, "", "",
                         "",
                         "a table of vec_diff is not read: what it calls MAE "
                         "is the largest error, not the mean");
    if (c->config != NULL && strcmp(c->config->layer_out_dump, "false") == 0)
        assay_vcheck_add(c, ASSAY_HINT, "layer-out-dump", c->config->file, "",
                         "true", "false",
                         "built without layer_out_dump: the compiled model "
                         "shows its final outputs only");
}

/* Worst first; equal ones stay in order. */
static void sort(struct assay_checker *c)
{
    struct assay_findings *f = c->out;
    struct assay_finding *v =
        assay_arena_array(f->arena, (size_t)f->n + 1, sizeof(*v));
    uint32_t n = 0;

    if (v == NULL) {
        c->no_memory = true;
        return;
    }
    for (int s = ASSAY_CONTRADICTION; s >= ASSAY_HINT; s--) {
        for (uint32_t i = 0; i < f->n; i++) {
            if ((int)f->v[i].severity == s)
                v[n++] = f->v[i];
        }
    }
    f->v = v;
    f->cap = f->n;
}

static void index_names(struct assay_checker *c)
{
    const struct assay_slice *s = c->s;
    struct assay_arena *a = c->out->arena;

    c->layers =
        assay_arena_array(a, (size_t)s->n_layers + 1, sizeof(*c->layers));
    c->tensors =
        assay_arena_array(a, (size_t)s->n_tensors + 1, sizeof(*c->tensors));
    c->seen_tensor =
        assay_arena_array(a, (size_t)s->n_tensors + 1, sizeof(*c->seen_tensor));
    if (c->layers == NULL || c->tensors == NULL || c->seen_tensor == NULL) {
        c->no_memory = true;
        return;
    }
    for (uint32_t i = 0; i < s->n_layers; i++)
        c->layers[i] = (struct assay_name){s->layers[i].name, i};
    for (uint32_t i = 0; i < s->n_tensors; i++)
        c->tensors[i] = (struct assay_name){s->tensors[i].name, i};
    qsort(c->layers, s->n_layers, sizeof(*c->layers), by_name);
    qsort(c->tensors, s->n_tensors, sizeof(*c->tensors), by_name);
}

int assay_vendor_check(struct assay_findings *out, const struct assay_vendor *v,
                       const struct assay_slice *s,
                       const struct assay_vendor_facts *facts,
                       struct assay_err *err)
{
    struct assay_findings f = {.arena = assay_arena_new()};
    struct assay_checker c = {.out = &f, .v = v, .s = s, .facts = facts};

    if (v->yaml.present)
        c.config = &v->yaml;
    else if (v->deps.present)
        c.config = &v->deps;
    if (f.arena == NULL)
        c.no_memory = true;
    else
        index_names(&c);
    if (!c.no_memory) {
        check_march(&c);
        check_versions(&c);
        check_build(&c);
        /* On Nash what stands in front of the model is inserted later. */
        if (c.config != NULL && !assay_vcheck_is_nash(&c))
            assay_vcheck_inputs(&c);
        assay_vcheck_settings(&c);
        assay_vcheck_nodes(&c);
        assay_vcheck_features(&c);
        assay_vcheck_board(&c);
        check_rest(&c);
        sort(&c);
    }
    if (c.no_memory) {
        assay_findings_free(&f);
        return assay_fail(err, ASSAY_EMEMORY, "%s",
                          assay_status_sentence(ASSAY_EMEMORY));
    }
    *out = f;
    return 0;
}

void assay_findings_free(struct assay_findings *f)
{
    if (f == NULL)
        return;
    assay_arena_free(f->arena);
    memset(f, 0, sizeof(*f));
}
