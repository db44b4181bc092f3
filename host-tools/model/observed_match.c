/* SPDX-License-Identifier: Apache-2.0 */
/* Whose tensor a dumped file is: by its name, by what it holds. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/model/observed_private.h"
#include "host-tools/model/sample.h"

static bool usable(const struct assay_tensor *t)
{
    return t->role != ASSAY_ROLE_CONSTANT && t->axes[0] != '?';
}

static void only(struct assay_observed_match *m, uint32_t tensor, bool nchw)
{
    memset(m, 0, sizeof(*m));
    m->n = 1;
    m->v[0].tensor = tensor;
    m->v[0].nchw = nchw;
}

/* ---- names -------------------------------------------------------------- */

/* Names of tensors as files can have them: '/' and other signs are '_'. */
static bool same_written(const char *tensor, const char *file, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char a = tensor[i], b = file[i];

        if (a == '\0')
            return false;
        if (!isalnum((unsigned char)a) && !isalnum((unsigned char)b))
            continue;
        if (a != b)
            return false;
    }
    return true;
}

/* The only tensor whose name is written so, or begins so. */
static bool written(const struct assay_observing *l, const char *name, size_t n,
                    bool whole, uint32_t *tensor)
{
    unsigned found = 0;

    for (uint32_t i = 0; i < l->slice->n_tensors; i++) {
        const struct assay_tensor *t = &l->slice->tensors[i];

        if (!usable(t) || !same_written(t->name, name, n) ||
            (whole && t->name[n] != '\0'))
            continue;
        *tensor = i;
        found++;
    }
    return found == 1;
}

/* The name with another end. */
static bool with_end(struct assay_observing *l, const char *name, size_t n,
                     const char *end, struct assay_observed_match *m)
{
    char text[ASSAY_DUMP_NAME_CAP + 64];
    uint32_t tensor;

    if ((size_t)snprintf(text, sizeof(text), "%.*s%s", (int)n, name, end) >=
        sizeof(text))
        return false;
    assay_observed_find(m, l->slice, l->map, text);
    if (m->n > 0)
        return true;
    if (!written(l, text, strlen(text), true, &tensor))
        return false;
    only(m, tensor, false);
    return true;
}

/* Ends that the vendor's tools and quantizers put to a tensor's name. */
static bool other_end(struct assay_observing *l, const char *name,
                      struct assay_observed_match *m)
{
    static const char *const ends[] = {"_transposed_output0", "_nhwc2nchw",
                                       "_nchw2nhwc",          "_transposed",
                                       "_calibrated",         "_dequantized"};
    static const char *const added[] = {
        "", "_quantized", "_calibrated_quantized", "_QuantizeLinear_Output"};
    size_t n = strlen(name);

    if (n > 10 && strcmp(name + n - 10, "_nhwc2nchw") == 0 &&
        with_end(l, name, n, "_transposed_output0", m))
        return true;
    for (size_t e = 0; e <= sizeof(ends) / sizeof(ends[0]); e++) {
        size_t cut = 0;

        if (e > 0) {
            cut = strlen(ends[e - 1]);
            if (n <= cut || strcmp(name + n - cut, ends[e - 1]) != 0)
                continue;
        }
        for (size_t a = 0; a < sizeof(added) / sizeof(added[0]); a++)
            if (with_end(l, name, n - cut, added[a], m))
                return true;
    }
    return false;
}

bool assay_observed_by_name(struct assay_observing *l, const char *name,
                            struct assay_observed_match *m, const char **how)
{
    const char *dots = strstr(name, "...");
    uint32_t tensor;

    memset(m, 0, sizeof(*m));
    if (name[0] == '\0')
        return false;
    *how = "by name";
    assay_observed_find(m, l->slice, l->map, name);
    if (m->n > 0)
        return true;
    if (other_end(l, name, m)) {
        *how = "by name, but for its end";
        return true;
    }
    *how = "by the beginning of its name";
    if (dots == NULL || dots == name ||
        !written(l, name, (size_t)(dots - name), false, &tensor))
        return false;
    only(m, tensor, false);
    return true;
}

unsigned assay_observed_orders(const struct assay_tensor *t, bool nchw,
                               bool named)
{
    bool moved = false;

    for (uint32_t i = 0; i < t->rank; i++)
        moved = moved || t->perm[i] != i;
    if (nchw)
        return ASSAY_DUMP_NCHW;
    if (moved)
        return ASSAY_DUMP_SOURCE | ASSAY_DUMP_STORED;
    /* A model with its own order says how its tensors lie. */
    return named || t->rank != 4 ? ASSAY_DUMP_SOURCE
                                 : ASSAY_DUMP_SOURCE | ASSAY_DUMP_NCHW;
}

const struct assay_model_info_tensor *assay_observed_info(
    const struct assay_observing *l, const struct assay_dump_name *name)
{
    const struct assay_model_info *all[2] = {&l->info, l->c->model_info};
    const struct assay_model_info_tensor *t = NULL;

    for (size_t i = 0; i < 2 && t == NULL; i++) {
        if (name->tensor[0] != '\0')
            t = assay_model_info_find(all[i], name->tensor);
        if (t == NULL &&
            (name->kind == ASSAY_DUMP_MODEL || name->kind == ASSAY_DUMP_INDEX))
            t = assay_model_info_nth(
                all[i], name->is_input ? ASSAY_INFO_INPUT : ASSAY_INFO_OUTPUT,
                name->index);
    }
    return t;
}

/* ---- content ------------------------------------------------------------ */

/* Tensors that a file may be, whose names no file had. */
struct search {
    uint32_t fits, tensor; /* type, size and padding */
    uint32_t equal, same;  /* the reference's content */
    char list[200];
};

static bool may_be(const struct assay_observing *l,
                   const struct assay_dump_name *name, uint32_t tensor)
{
    const struct assay_tensor *t = &l->slice->tensors[tensor];

    if (!usable(t) || l->s->values[tensor] != NULL)
        return false;
    if (name->kind != ASSAY_DUMP_MODEL && name->kind != ASSAY_DUMP_INDEX)
        return true;
    return name->is_input ? t->role == ASSAY_ROLE_INPUT : t->is_output;
}

static void list_name(struct search *s, const char *name)
{
    size_t n = strlen(s->list);

    snprintf(s->list + n, sizeof(s->list) - n, "%s'%.60s'", n != 0 ? ", " : "",
             name);
}

static bool all_alike(const struct assay_fitted *x)
{
    size_t n = assay_dump_dense_bytes(&x->layout);

    return n <= x->layout.unit ||
           memcmp(x->dense, x->dense + x->layout.unit, n - x->layout.unit) == 0;
}

static int try_tensor(struct search *s, struct assay_observing *l,
                      const struct assay_dump_files *f, uint32_t tensor)
{
    const struct assay_tensor *t = &l->slice->tensors[tensor];
    struct assay_fitted x = {0};
    size_t count, bytes;
    int rc;

    /* The same type only: many tensors have a quarter of the elements. */
    if (assay_tensor_count(t, &count, &bytes, NULL) < 0 || bytes > f->n)
        return 0;
    rc = assay_observed_fit(&x, l, f, tensor,
                            assay_observed_orders(t, false, false));
    if (rc != 0)
        return rc;
    if ((x.fit == ASSAY_FIT_ONE && x.layout.unit * count == bytes) ||
        x.fit == ASSAY_FIT_SEVERAL) {
        if (s->fits++ == 0)
            s->tensor = tensor;
        list_name(s, t->name);
    }
    if (x.fit == ASSAY_FIT_ONE && x.equal && !all_alike(&x)) {
        s->equal++;
        s->same = tensor;
    }
    assay_fitted_close(&x);
    return 0;
}

int assay_observed_by_content(struct assay_observing *l,
                              const struct assay_dump_files *f,
                              struct assay_observed_match *m, const char **how,
                              bool *told)
{
    struct search s = {0};
    char why[400];
    int rc = 0;

    memset(m, 0, sizeof(*m));
    *told = false;
    for (uint32_t i = 0; rc == 0 && i < l->slice->n_tensors; i++)
        if (may_be(l, &f->name, i))
            rc = try_tensor(&s, l, f, i);
    if (rc != 0 || s.fits == 0)
        return rc;
    /* A runtime's node has tensors that the model lacks: content only. */
    if (s.equal == 1) {
        *how = "by content, that of one tensor alone";
        only(m, s.same, false);
    } else if (s.fits == 1 && s.equal == 0 &&
               (f->name.kind != ASSAY_DUMP_NODE || f->name.is_bpu)) {
        *how = "by shape and type, those of one tensor alone";
        only(m, s.tensor, false);
    } else if (f->name.kind != ASSAY_DUMP_NODE || f->name.is_bpu) {
        snprintf(why, sizeof(why),
                 "its name is none of the model's; type and shape fit %s, the "
                 "content not exactly one: left out, give it its name or put "
                 "the text of model_info beside it",
                 s.list);
        assay_observed_tell(l, f->path, f->name.tensor, why);
        *told = true;
    }
    return 0;
}

/* ---- arrays ------------------------------------------------------------- */

static bool same_array(const struct assay_tensor *t,
                       const struct assay_array *a)
{
    int64_t dims[ASSAY_MAX_RANK] = {0};

    assay_tensor_source_dims(t, dims);
    return t->rank == a->rank &&
           memcmp(dims, a->dims, t->rank * sizeof(*dims)) == 0;
}

/* Does it have the reference's content? Of another type, no. */
static bool same_values(struct assay_observing *l, uint32_t tensor,
                        const struct assay_array *a)
{
    const struct assay_tensor *t = &l->slice->tensors[tensor];
    const void *reference = assay_observed_reference(l, tensor);
    size_t unit = assay_dtype_bytes(t->dtype), count, bytes;
    uint8_t *moved;
    bool same;

    if (reference == NULL || t->dtype != a->dtype ||
        assay_tensor_count(t, &count, &bytes, NULL) < 0 || bytes != a->bytes ||
        bytes <= unit ||
        memcmp(a->data, (const uint8_t *)a->data + unit, bytes - unit) == 0)
        return false;
    moved = assay_alloc(bytes);
    if (moved == NULL)
        return false;
    assay_sample_permute(t, t->perm, unit, a->data, moved, count);
    same = memcmp(moved, reference, bytes) == 0;
    assay_free(moved);
    return same;
}

bool assay_observed_unnamed(struct assay_observing *l, const char *path,
                            const struct assay_array *a, bool outputs,
                            struct assay_observed_match *m)
{
    struct search s = {0};
    char why[400];

    memset(m, 0, sizeof(*m));
    for (uint32_t i = 0; i < l->slice->n_tensors; i++) {
        const struct assay_tensor *t = &l->slice->tensors[i];

        if (!usable(t) || l->s->values[i] != NULL || !same_array(t, a) ||
            (outputs && !t->is_output) ||
            (t->dtype != a->dtype && !(outputs && a->dtype == ASSAY_F32) &&
             !(outputs && t->dtype == ASSAY_F32)))
            continue;
        if (s.fits++ == 0)
            s.tensor = i;
        list_name(&s, t->name);
        if (same_values(l, i, a)) {
            s.equal++;
            s.same = i;
        }
    }
    if (s.equal == 1 || (s.fits == 1 && s.equal == 0)) {
        only(m, s.equal == 1 ? s.same : s.tensor, false);
        assay_observed_detail(
            l, path, "'%.100s' is tensor '%.100s', by %s", a->name,
            l->slice->tensors[m->v[0].tensor].name,
            s.equal == 1 ? "content, that of one tensor alone"
                         : "shape and type, those of one tensor alone");
        return true;
    }
    if (s.fits == 0)
        return false;
    snprintf(why, sizeof(why),
             "a number is no name; type and shape fit %s, the content not "
             "exactly one: left out, give it its name",
             s.list);
    assay_observed_tell(l, path, a->name, why);
    return true;
}
