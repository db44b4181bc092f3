/* SPDX-License-Identifier: Apache-2.0 */
/* The arrays of an npz, by their names. */
#include <string.h>

#include "host-tools/model/case_meta.h"
#include "host-tools/model/differ.h"
#include "host-tools/model/observed_private.h"

static bool no_hash(void *self, const char *name, char hex[65])
{
    (void)self;
    (void)name;
    (void)hex;
    return false;
}

int assay_observed_check_binding(struct assay_observing *l, const char *meta,
                                 const char *file)
{
    char have[2 * ASSAY_SHA256_LEN + 1];

    if (meta)
        return assay_case_check_meta(meta, file, l->slice->model_sha256,
                                     no_hash, NULL, l->err);
    assay_hex(l->slice->model_sha256, ASSAY_SHA256_LEN, have);
    if (l->c->model_sha256[0] && strcmp(l->c->model_sha256, have))
        return assay_fail(l->err, ASSAY_EMISMATCH,
                          "%s: belongs to another model: model_sha256 %s, but "
                          "the model has %s",
                          file, l->c->model_sha256, have);
    return 0;
}

/* An output under another name, by its content: m has it. True: it may be
 * one, and that is told; nothing is guessed. */
static bool find_renamed(struct assay_observing *l, const struct assay_npz *z,
                         const struct assay_array *a, const char *path,
                         struct assay_observed_match *m)
{
    char list[200];
    uint32_t index;

    if (assay_feature_map_find(l->map, a->name) != NULL)
        return false;
    if (l->slice->n_tensors > 0)
        (void)assay_observed_reference(l, 0);
    if (l->reference.values == NULL)
        return false;
    switch (
        assay_differ_renamed(&index, list, sizeof(list),
                             assay_case_renamed_before(l->c, l->slice, a->name),
                             l->slice, &l->reference, z, a)) {
    case ASSAY_RENAMED_NO: return false;
    case ASSAY_RENAMED_YES:
        m->n = 1;
        m->v[0].tensor = index;
        m->v[0].nchw = false;
        assay_case_differ(l->c, "renamed", a->name, path,
                          l->slice->tensors[index].name, a->name,
                          "'%.100s' is no name of the model: type, shape and "
                          "content are those of '%.100s' alone, taken as it",
                          a->name, l->slice->tensors[index].name);
        return false;
    default:
        assay_case_differ(l->c, "ambiguous", a->name, path, list, a->name,
                          "'%.60s' is no name of the model; type and shape "
                          "fit %s, the content not exactly one, or all its "
                          "elements are alike: not compared, give it its name",
                          a->name, list);
        return true;
    }
}

/* numpy's arr_0, or a number of an application's on the board: it says nothing
 * but that it is an output. Simulators and libraries give names. */
static bool find_numbered(struct assay_observing *l, const char *path,
                          const struct assay_array *a,
                          struct assay_observed_match *m)
{
    uint32_t index;
    bool is_input;

    return l->side == ASSAY_CASE_BPU &&
           assay_dump_index(&index, &is_input, a->name) &&
           assay_observed_unnamed(l, path, a, !is_input, m);
}

static int load_array(struct assay_observing *l, const struct assay_npz *z,
                      const struct assay_array *a, const char *path)
{
    struct assay_observed_data x = {.file = path,
                                    .name = a->name,
                                    .rank = a->rank,
                                    .dims = a->dims,
                                    .array = a};
    struct assay_observed_match m;

    assay_observed_find(&m, l->slice, l->map, a->name);
    if (m.n > 0)
        return assay_observed_named(l, path, a->name, &m)
                   ? assay_observed_take(l, &m, &x)
                   : 0;
    if (find_numbered(l, path, a, &m) && m.n == 0)
        return 0; /* told */
    if (m.n == 0 && find_renamed(l, z, a, path, &m))
        return 0; /* told */
    if (m.n > 0 || assay_observed_named(l, path, a->name, &m))
        return assay_observed_take(l, &m, &x);
    return 0;
}

int assay_observed_npz(struct assay_observing *l, const char *path)
{
    struct assay_npz z = {0};
    int rc = assay_npz_read(&z, path, l->note, l->err);

    if (!rc)
        rc = assay_observed_check_binding(l, z.meta, path);
    if (!rc)
        assay_case_maker(&l->c->columns[l->side], z.meta, path);
    for (size_t i = 0; !rc && i < z.n; i++)
        rc = load_array(l, &z, &z.arrays[i], path);
    assay_npz_close(&z);
    return rc;
}
