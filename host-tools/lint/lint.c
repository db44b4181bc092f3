/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/lint/lint.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/lint/lint_private.h"

#define MAX_FINDINGS 1024u

static const struct assay_lint_check checks[] = {
#define ASSAY_LINT(key, id, worst, text) {id, ASSAY_##worst, text},
#include "host-tools/lint/checks.def"
#undef ASSAY_LINT
};

const struct assay_lint_check *assay_lint_check(unsigned i)
{
    return i < ASSAY_LINT_N ? &checks[i] : NULL;
}

static const char *copy(struct assay_linter *c, const char *text)
{
    const char *s = assay_arena_str(c->out->arena, text, strlen(text));

    if (s == NULL)
        c->no_memory = true;
    return s != NULL ? s : "";
}

static bool grow(struct assay_linter *c)
{
    struct assay_findings *f = c->out;
    uint32_t cap = f->cap == 0 ? 16 : f->cap * 2;
    struct assay_finding *v = assay_arena_array(f->arena, cap, sizeof(*v));

    if (v == NULL) {
        c->no_memory = true;
        return false;
    }
    if (f->n > 0)
        memcpy(v, f->v, f->n * sizeof(*v));
    f->v = v;
    f->cap = cap;
    return true;
}

void assay_lint_add(struct assay_linter *c, enum assay_lint_key key,
                    enum assay_severity severity, const char *subject,
                    const char *expected, const char *found, const char *fmt,
                    ...)
{
    struct assay_findings *f = c->out;
    char text[640];
    va_list ap;

    f->count[severity]++;
    if (f->n == MAX_FINDINGS || (f->n == f->cap && !grow(c)))
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    f->v[f->n++] = (struct assay_finding){
        .severity = severity,
        .id = checks[key].id,
        .file = key == ASSAY_LINT_DTYPE && c->o->dtypes_file != NULL
                    ? copy(c, c->o->dtypes_file)
                    : "",
        .subject = copy(c, subject != NULL ? subject : ""),
        .sentence = copy(c, text),
        .expected = copy(c, expected),
        .found = copy(c, found),
    };
}

const char *assay_lint_owner(const struct assay_linter *c, uint32_t tensor)
{
    uint32_t layer = c->producer[tensor];
    const char *name = layer != UINT32_MAX ? c->s->layers[layer].name
                                           : c->s->tensors[tensor].name;

    return name != NULL ? name : "";
}

bool assay_lint_has_weights(const struct assay_linter *c,
                            const struct assay_layer *l)
{
    const struct assay_tensor *w;
    size_t n, bytes;

    if ((l->op != ASSAY_OP_CONV2D && l->op != ASSAY_OP_GEMM &&
         l->op != ASSAY_OP_CONV_TRANSPOSE2D) ||
        l->n_inputs < 2)
        return false;
    w = assay_lint_in(c, l, 1);
    return w->role == ASSAY_ROLE_CONSTANT && w->data != NULL && w->rank > 0 &&
           assay_dtype_is_int(w->dtype) &&
           assay_tensor_count(w, &n, &bytes, NULL) == 0 && bytes <= w->size;
}

int64_t assay_lint_load(const struct assay_tensor *t, size_t i)
{
    const uint8_t *p =
        (const uint8_t *)t->data + i * assay_dtype_bytes(t->dtype);
    int16_t s16;
    uint16_t u16;
    int32_t s32;
    int64_t s64;

    switch (t->dtype) {
    case ASSAY_S8: return (int8_t)*p;
    case ASSAY_U8: return *p;
    case ASSAY_S16: memcpy(&s16, p, sizeof(s16)); return s16;
    case ASSAY_U16: memcpy(&u16, p, sizeof(u16)); return u16;
    case ASSAY_S32: memcpy(&s32, p, sizeof(s32)); return s32;
    case ASSAY_S64: memcpy(&s64, p, sizeof(s64)); return s64;
    default: return 0;
    }
}

bool assay_lint_scaled(const struct assay_linter *c, uint32_t tensor)
{
    const struct assay_quant *q = &c->s->tensors[tensor].quant;

    if (c->o->scale_given != NULL && !c->o->scale_given[tensor])
        return false;
    for (uint32_t i = 0; i < q->n; i++)
        if (!isfinite(q->scale[i]) || q->scale[i] <= 0.0f)
            return false;
    return q->n > 0;
}

double assay_lint_scale(const struct assay_tensor *t, uint32_t i)
{
    return (double)t->quant.scale[t->quant.n > 1 ? i : 0];
}

int32_t assay_lint_zero(const struct assay_tensor *t, uint32_t i)
{
    if (t->quant.n == 0 || t->quant.zero_point == NULL)
        return 0;
    return t->quant.zero_point[t->quant.n > 1 && i < t->quant.n ? i : 0];
}

bool assay_lint_names(const char *name, const char *word)
{
    size_t n = strlen(word);

    for (; name != NULL && *name != '\0'; name++) {
        size_t i = 0;

        while (i < n && tolower((unsigned char)name[i]) == word[i])
            i++;
        if (i == n)
            return true;
    }
    return false;
}

/* Stable: findings were made in the order of the model, check by check. */
static void sort(struct assay_findings *f, struct assay_finding *spare)
{
    uint32_t n = 0;

    for (int level = ASSAY_CONTRADICTION; level >= ASSAY_HINT; level--)
        for (uint32_t i = 0; i < f->n; i++)
            if ((int)f->v[i].severity == level)
                spare[n++] = f->v[i];
    if (n > 0)
        f->v = spare;
}

static int begin(struct assay_linter *c, struct assay_err *err)
{
    const struct assay_slice *s = c->s;

    c->out->arena = assay_arena_new();
    if (c->out->arena != NULL)
        c->producer = assay_arena_array(c->out->arena, (size_t)s->n_tensors + 1,
                                        sizeof(*c->producer));
    if (c->producer == NULL)
        return assay_fail(err, ASSAY_EMEMORY,
                          "out of memory while a model was looked at");
    for (uint32_t i = 0; i < s->n_tensors; i++)
        c->producer[i] = UINT32_MAX;
    for (uint32_t i = 0; i < s->n_layers; i++)
        c->producer[s->layers[i].output] = i;
    return 0;
}

int assay_lint(struct assay_findings *out, const struct assay_slice *s,
               const struct assay_lint_options *o, struct assay_err *err)
{
    struct assay_linter c = {.out = out, .s = s, .o = o};
    struct assay_finding *spare;
    int rc;

    memset(out, 0, sizeof(*out));
    rc = begin(&c, err);
    if (rc < 0)
        return rc;
    assay_lint_scales(&c);
    assay_lint_weights(&c);
    assay_lint_sums(&c);
    assay_lint_factors(&c);
    assay_lint_joins(&c);
    assay_lint_graph(&c);
    if (o->dtypes != NULL)
        rc = assay_lint_dtypes(&c, err);
    if (rc < 0)
        return rc;
    spare = assay_arena_array(out->arena, (size_t)out->n + 1, sizeof(*spare));
    if (spare == NULL || c.no_memory)
        return assay_fail(err, ASSAY_EMEMORY,
                          "out of memory while a model was looked at");
    sort(out, spare);
    return 0;
}
