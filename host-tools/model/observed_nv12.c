/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An image input that the runtime has as two planes: luma, and chroma of half
 * the size. The model's tensor has both at full size, less 128. How the
 * accelerator enlarges chroma is not public: replication is tried, and where
 * luma is the case's and chroma alone is another, nothing is said.
 */
#include <stdio.h>
#include <string.h>

#include "host-tools/model/file.h"
#include "host-tools/model/observed_private.h"
#include "host-tools/model/sample.h"

struct plane {
    uint8_t *data;
    size_t n, stride;
};
struct image {
    uint32_t tensor;
    size_t h, w;
    bool channels_first; /* in the source's order */
};

/* 'y' or 'u' for "..._y", "...uv0.data"; 0: neither. *base: length of what is
 * in front. */
static char plane_of(const char *name, size_t *base)
{
    size_t n = strlen(name);

    if (n > 5 && strcmp(name + n - 5, ".data") == 0)
        n -= 5;
    while (n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9')
        n--;
    *base = n > 2 ? n - 2 : 0;
    if (n > 2 && name[n - 2] == 'u' && name[n - 1] == 'v' &&
        strchr("_.-", name[n - 3]) != NULL)
        return 'u';
    *base = n > 1 ? n - 1 : 0;
    return n > 1 && name[n - 1] == 'y' && strchr("_.-", name[n - 2]) != NULL
               ? 'y'
               : 0;
}

/* The other plane's files; n: there are none. */
static size_t other_plane(const struct assay_dump_files *all, size_t n,
                          size_t at)
{
    size_t base, other_base;
    char plane = plane_of(all[at].name.tensor, &base);

    for (size_t i = 0; plane != 0 && i < n; i++) {
        char other = plane_of(all[i].name.tensor, &other_base);

        if (other != 0 && other != plane && other_base == base &&
            memcmp(all[i].name.tensor, all[at].name.tensor, base) == 0 &&
            all[i].name.is_input && all[i].name.kind == all[at].name.kind &&
            all[i].name.layer == all[at].name.layer &&
            all[i].file[ASSAY_DUMP_BIN] != NULL && !all[i].taken)
            return i;
    }
    return n;
}

/* The model's only input that is an image of three channels and even sizes. */
static bool find_image(const struct assay_observing *l, struct image *out)
{
    unsigned found = 0;

    for (uint32_t i = 0; i < l->slice->n_tensors; i++) {
        const struct assay_tensor *t = &l->slice->tensors[i];
        int64_t d[ASSAY_MAX_RANK];
        bool first;

        if (t->role != ASSAY_ROLE_INPUT || t->rank != 4 ||
            assay_dtype_bytes(t->dtype) != 1)
            continue;
        assay_tensor_source_dims(t, d);
        first = d[1] == 3 && d[3] != 3;
        if (d[0] != 1 || (!first && d[3] != 3))
            continue;
        out->tensor = i;
        out->channels_first = first;
        out->h = (size_t)d[first ? 2 : 1];
        out->w = (size_t)d[first ? 3 : 2];
        found++;
    }
    return found == 1 && out->h % 2 == 0 && out->w % 2 == 0;
}

/* Rows of `w` bytes, padded to 16, 32, ... 256. */
static bool stride_of(struct plane *p, size_t h, size_t w)
{
    p->stride = p->n / h;
    if (p->stride * h != p->n || p->stride < w)
        return false;
    for (size_t to = 1; to <= 256; to *= 2)
        if (p->stride == (w + to - 1) / to * to)
            return true;
    return false;
}

static void compose(const struct image *g, const struct plane *y,
                    const struct plane *uv, uint8_t centre, uint8_t *dst)
{
    size_t size = g->h * g->w;

    for (size_t i = 0; i < size; i++) {
        size_t row = i / g->w, column = i % g->w;
        const uint8_t *c = uv->data + row / 2 * uv->stride + column / 2 * 2;
        const uint8_t v[3] = {y->data[row * y->stride + column], c[0], c[1]};

        for (size_t k = 0; k < 3; k++)
            dst[g->channels_first ? k * size + i : 3 * i + k] = v[k] ^ centre;
    }
}

/* Differs from the reference, and in chroma only? Both in stored order. */
static bool chroma_only(const struct image *g, const struct assay_tensor *t,
                        const uint8_t *a, const uint8_t *b)
{
    size_t size = g->h * g->w;
    bool planar = g->channels_first && t->perm[1] == 1, any = false;

    for (size_t i = 0; i < 3 * size; i++) {
        bool luma = planar ? i < size : i % 3 == 0;

        if (a[i] == b[i])
            continue;
        if (luma)
            return false;
        any = true;
    }
    return any;
}

static int take(struct assay_observing *l, const struct image *g,
                const char *path, const char *name, uint8_t *dense)
{
    const struct assay_tensor *t = &l->slice->tensors[g->tensor];
    const uint8_t *reference = assay_observed_reference(l, g->tensor);
    size_t n = 3 * g->h * g->w;
    struct assay_observed_match m = {.n = 1};
    struct assay_array a = {.name = (char *)(uintptr_t)name,
                            .dtype = t->dtype,
                            .rank = 4,
                            .bytes = n,
                            .data = dense};
    struct assay_observed_data d = {
        .file = path, .name = name, .rank = 4, .dims = a.dims, .array = &a};
    uint8_t *stored = assay_alloc(n);
    bool unclear;

    if (stored == NULL)
        return assay_observed_no_memory(l, path);
    assay_tensor_source_dims(t, a.dims);
    assay_sample_permute(t, t->perm, 1, dense, stored, n);
    unclear = reference != NULL && chroma_only(g, t, stored, reference);
    assay_free(stored);
    if (unclear) {
        assay_observed_tell(
            l, path, name,
            "luma is the case's input, chroma is not its replication: how the "
            "accelerator enlarges chroma is not known: left out");
        return 0;
    }
    m.v[0].tensor = g->tensor;
    assay_observed_detail(l, path,
                          "tensor '%.100s', by its planes of luma and chroma; "
                          "chroma replicated%s",
                          t->name,
                          t->dtype == ASSAY_S8 ? ", 128 taken away" : "");
    return assay_observed_take(l, &m, &d);
}

static int planes(struct assay_observing *l, const struct image *g,
                  const char *path, const char *name, struct plane *y,
                  struct plane *uv)
{
    const struct assay_tensor *t = &l->slice->tensors[g->tensor];
    uint8_t *dense;
    int rc;

    if (!stride_of(y, g->h, g->w) || !stride_of(uv, g->h / 2, g->w)) {
        assay_observed_tell(l, path, name,
                            "its two planes are not those of an image of the "
                            "size of the model's input: left out");
        return 0;
    }
    dense = assay_alloc(3 * g->h * g->w);
    if (dense == NULL)
        return assay_observed_no_memory(l, path);
    compose(g, y, uv, t->dtype == ASSAY_S8 ? 0x80 : 0, dense);
    rc = take(l, g, path, name, dense);
    assay_free(dense);
    return rc;
}

int assay_observed_nv12(struct assay_observing *l, const char *folder,
                        struct assay_dump_files *all, size_t n, size_t at)
{
    struct assay_dump_files *f = &all[at];
    struct plane p[2] = {{0}};
    char *paths[2] = {NULL};
    struct image g = {0};
    size_t base, two;
    int rc = 0;

    if (!f->name.is_input || f->file[ASSAY_DUMP_BIN] == NULL ||
        (two = other_plane(all, n, at)) == n || !find_image(l, &g) ||
        l->s->values[g.tensor] != NULL)
        return 0;
    if (plane_of(f->name.tensor, &base) != 'y') {
        size_t swap = two;

        two = at;
        at = swap;
    }
    for (size_t i = 0; rc == 0 && i < 2; i++) {
        paths[i] = assay_file_join(folder,
                                   all[i == 0 ? at : two].file[ASSAY_DUMP_BIN]);
        rc = paths[i] == NULL ? assay_observed_no_memory(l, folder)
                              : assay_file_read(&p[i].data, &p[i].n, paths[i],
                                                (size_t)1 << 28, l->err);
    }
    if (rc == 0)
        rc = planes(l, &g, paths[0], all[at].name.tensor, &p[0], &p[1]);
    all[at].taken = all[two].taken = true;
    for (size_t i = 0; i < 2; i++) {
        assay_free(p[i].data);
        assay_free(paths[i]);
    }
    return rc;
}
