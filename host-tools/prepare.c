/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/prepare.h"

#include <stdio.h>
#include <string.h>

#include "host-tools/messages.h"
#include "host-tools/model/file.h"
#include "host-tools/model/record.h"
#include "host-tools/prepare_picture.h"
#include "kernels/kernels.h"
#include "lib/engine/plan.h"

/* What a report keeps; the first ones of very many. */
#define MAX_TOLD 1000u

/* Once: samples are read again for a cause. False: it has been told. */
static bool keep_told(struct assay_prepared *p, const char *text)
{
    char *copy;

    for (size_t i = 0; i < p->n_told; i++)
        if (strcmp(p->told[i], text) == 0)
            return false;
    if (p->told == NULL)
        p->told = assay_calloc(MAX_TOLD, sizeof(*p->told));
    copy = p->told != NULL && p->n_told < MAX_TOLD ? assay_file_join("", text)
                                                   : NULL;
    if (copy != NULL)
        p->told[p->n_told++] = copy;
    return true;
}

static void print(const char *text)
{
    char line[1024];

    fprintf(stderr, "%s\n",
            assay_message(line, sizeof(line), ASSAY_MSG_NOTE_LINE, "text", text,
                          NULL));
}

static void print_note(void *self, const char *text)
{
    struct assay_prepared *p = self;

    (void)keep_told(p, text);
    if (!p->quiet)
        print(text);
}

static void print_detail(void *self, const char *text)
{
    struct assay_prepared *p = self;

    if (keep_told(p, text) && p->verbose && !p->quiet)
        print(text);
}

/* The first golden, read when a model asks for the first time. What is wrong
 * with it is said when it is compared. */
static bool reference_shape(void *self, const char *tensor, uint32_t *rank,
                            int64_t dims[ASSAY_MAX_RANK],
                            enum assay_dtype *dtype)
{
    struct assay_prepared *p = self;
    const struct assay_model_note silent = {.note = NULL};
    const struct assay_array *a;
    struct assay_err ignored = {0};

    if (!p->reference_read) {
        p->reference_read = true;
        if (!p->c.has_goldens || p->c.n_samples == 0 ||
            p->c.goldens[0] == NULL ||
            assay_npz_read(&p->reference, p->c.goldens[0], &silent, &ignored) <
                0)
            memset(&p->reference, 0, sizeof(p->reference));
    }
    a = assay_npz_find(&p->reference, tensor);
    if (a == NULL || a->rank > ASSAY_MAX_RANK)
        return false;
    *rank = a->rank;
    memcpy(dims, a->dims, a->rank * sizeof(*dims));
    *dtype = a->dtype;
    return true;
}

const char *assay_prepare_path(const struct assay_options *o)
{
    return o->operand != NULL ? o->operand : o->model;
}

const char *assay_nearest_layer(const struct assay_slice *s, const char *name)
{
    const char *near = "";
    unsigned best = ~0u;

    for (uint32_t i = 0; i < s->n_layers; i++) {
        const char *other = s->layers[i].name;
        unsigned d = assay_edit_distance(name, other);

        if (name[0] != '\0' && strstr(other, name) != NULL)
            d = 0; /* a part of a long name is what people write */
        if (d < best) {
            best = d;
            near = s->layers[i].name;
        }
    }
    return near;
}

int assay_find_layer(uint32_t *out, const struct assay_slice *s,
                     const char *name, struct assay_err *err)
{
    int64_t i = assay_slice_find_layer(s, name);

    if (i < 0)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_NO_LAYER, "name",
                                  name, "near", assay_nearest_layer(s, name),
                                  NULL);
    *out = (uint32_t)i;
    return 0;
}

static int open_case(struct assay_prepared *p, const struct assay_options *o,
                     const char **model, struct assay_err *err)
{
    const char *path = assay_prepare_path(o);

    *model = path;
    if (o->command == ASSAY_CMD_REPLAY)
        return assay_case_from_record(&p->c, path, err);
    if (o->operand != NULL && assay_file_is_folder(path)) {
        int rc = assay_case_open(&p->c, path, &p->note, err);

        *model = p->c.model_path;
        return rc;
    }
    if ((o->command &
         (ASSAY_CMD_RUN | ASSAY_CMD_FIT | ASSAY_CMD_PINPOINT |
          ASSAY_CMD_EXPLAIN | ASSAY_CMD_IMPACT | ASSAY_CMD_OUTPUT)) == 0)
        return 0; /* only the model is wanted */
    if (o->inputs.n == 0)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_NO_INPUTS,
                                  "model", path, NULL);
    if (assay_pictures_are(o)) {
        int rc = assay_pictures_new(&p->pictures, err);

        if (rc < 0)
            return rc;
    }
    return assay_case_from_files(
        &p->c, path, o->inputs.v, o->inputs.n, o->reference,
        p->pictures != NULL ? &p->pictures->maker : NULL, &p->note, err);
}

static int read_scales(struct assay_prepared *p, const char *const *paths,
                       size_t n, bool json, struct assay_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++) {
        bool is = false;

        rc = assay_scales_is_json(paths[i], &is, err);
        if (rc == 0 && is == json)
            rc = assay_scales_read(&p->scales, paths[i], &p->note, err);
    }
    return rc;
}

/* What the case folder holds of these two, where no option names others. */
static size_t scales_of_case(const struct assay_prepared *p, char path[2][4096])
{
    static const char *const names[2] = {"scales.json", "calibrated.onnx"};
    size_t n = 0;

    for (size_t i = 0; i < 2 && p->c.folder != NULL; i++) {
        int len = snprintf(path[n], 4096, "%s/%s", p->c.folder, names[i]);

        if (len > 0 && len < 4096 && assay_file_is_regular(path[n]))
            n++;
    }
    return n;
}

static int find_scales(struct assay_prepared *p, const struct assay_options *o,
                       struct assay_err *err)
{
    char path[2][4096];
    const char *found[2] = {path[0], path[1]};
    const char *const *v = o->scales.v;
    size_t n = o->scales.n;
    int rc;

    if (!p->own_numerics)
        return n == 0 ? 0
                      : assay_fail_message(err, ASSAY_EUSAGE,
                                           ASSAY_MSG_SCALES_NOT_OWN, "model",
                                           p->slice->model_name, NULL);
    if (n == 0) {
        n = scales_of_case(p, path);
        v = found;
    }
    rc = assay_scales_open(&p->scales, p->slice, err);
    if (rc == 0)
        rc = read_scales(p, v, n, true, err);
    if (rc == 0)
        rc = read_scales(p, v, n, false, err);
    return rc == 0 ? assay_scales_derive(&p->scales, err) : rc;
}

int assay_prepare(struct assay_prepared *p, const struct assay_options *o,
                  struct assay_err *err)
{
    const char *model = NULL;
    int rc;

    memset(p, 0, sizeof(*p));
    p->quiet = o->quiet;
    p->verbose = o->verbose > 0;
    p->note.self = p;
    p->note.note = print_note;
    p->note.detail = print_detail;
    p->note.shape = reference_shape;
    rc = assay_prepare_names(o, err);
    if (rc == 0)
        rc = assay_pictures_check(o, err);
    if (rc == 0)
        rc = open_case(p, o, &model, err);
    if (rc == 0)
        rc = assay_model_open(&p->slice, model, &p->note, err);
    assay_npz_close(&p->reference);
    if (rc == 0)
        rc = assay_prepare_numerics(p, o, err);
    if (rc == 0)
        rc = find_scales(p, o, err);
    if (rc == 0)
        rc = assay_prepare_arith(p, o, err);
    if (rc == 0)
        assay_prepare_differences(p, model);
    if (rc == 0)
        rc = assay_prepare_vendor(p, o, model, err);
    if (rc == 0 && p->pictures != NULL)
        rc = assay_pictures_open(p->pictures, p, o, err);
    if (rc < 0)
        assay_prepare_close(p);
    return rc;
}

int assay_prepare_check(const struct assay_prepared *p, struct assay_err *err)
{
    struct assay_kernel_table table;
    struct assay_plan_limits limits = {0};
    struct assay_plan *plan = NULL;
    int rc;

    assay_kernel_table_init(&table, assay_cpu_probe());
    rc = assay_plan_new(&plan, p->slice, &table, &limits, err);
    assay_plan_free(plan);
    return rc;
}

void assay_prepare_close(struct assay_prepared *p)
{
    for (size_t i = 0; i < p->n_told; i++)
        assay_free(p->told[i]);
    assay_free(p->told);
    p->told = NULL;
    p->n_told = 0;
    assay_findings_free(&p->findings);
    assay_vendor_free(p->vendor);
    p->vendor = NULL;
    assay_pictures_free(p->pictures);
    p->pictures = NULL;
    assay_scales_close(&p->scales);
    assay_slice_free(p->slice);
    p->slice = NULL;
    assay_numerics_close(&p->rules);
    assay_case_close(&p->c);
}
