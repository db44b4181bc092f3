/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/triage/scale.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 65536u

int assay_scale_add(struct assay_triage_scales *s,
                    struct assay_scale_rows *rows, const char *name,
                    double scale, int32_t zero, struct assay_err *err)
{
    struct assay_scale_row *grown;

    if (!(scale > 0) || !isfinite(scale))
        return assay_fail(err, ASSAY_ERANGE,
                          "scale of '%.200s' is %g, expected a number above 0",
                          name, scale);
    if (rows->n == rows->cap) {
        uint32_t cap = rows->cap == 0 ? 64 : rows->cap * 2;

        grown = cap > MAX_ROWS
                    ? NULL
                    : assay_arena_array(s->arena, cap, sizeof(*grown));
        if (grown == NULL)
            return assay_fail(err, ASSAY_EMEMORY, "no memory for %u scales",
                              cap);
        if (rows->n > 0)
            memcpy(grown, rows->v, rows->n * sizeof(*grown));
        rows->v = grown;
        rows->cap = cap;
    }
    name = assay_arena_str(s->arena, name, strlen(name));
    if (name == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a name");
    rows->v[rows->n++] =
        (struct assay_scale_row){name, {.scale = scale, .zero = zero}};
    return 0;
}

int assay_scale_parse(struct assay_triage_scales *s, const char *text,
                      struct assay_err *err)
{
    const char *eq = strrchr(text, '=');
    char name[512], *end;
    double scale;
    long zero = 0;

    if (eq == NULL || eq == text || (size_t)(eq - text) >= sizeof(name))
        return assay_fail(err, ASSAY_EUSAGE,
                          "--scale '%.200s': expected TENSOR=SCALE", text);
    memcpy(name, text, (size_t)(eq - text));
    name[eq - text] = '\0';
    scale = strtod(eq + 1, &end);
    if (*end == ',' && end > eq + 1)
        zero = strtol(end + 1, &end, 10);
    if (*end != '\0' || end == eq + 1 || zero < -65536 || zero > 65536)
        return assay_fail(err, ASSAY_EUSAGE,
                          "--scale '%.200s': '%.100s' is no scale", text,
                          eq + 1);
    return assay_scale_add(s, &s->user, name, scale, (int32_t)zero, err);
}

/* One number: of the whole tensor. */
static bool number_of(const json_t *v, double *scale, int32_t *zero)
{
    const json_t *z = json_object_get(v, "zero_point");

    if (json_is_object(v)) {
        if (json_is_integer(z) && llabs(json_integer_value(z)) <= 65536)
            *zero = (int32_t)json_integer_value(z);
        v = json_object_get(v, "scale");
    }
    if (json_is_array(v) && json_array_size(v) == 1)
        v = json_array_get(v, 0);
    if (!json_is_number(v))
        return false;
    *scale = json_number_value(v);
    return true;
}

int assay_scale_meta(struct assay_triage_scales *s, enum assay_stage stage,
                     const char *meta, const char *file, struct assay_err *err)
{
    json_t *root = meta != NULL ? json_loads(meta, 0, NULL) : NULL, *v;
    const char *name;
    int rc = 0;

    json_object_foreach(json_object_get(root, "scales"), name, v)
    {
        double scale = 0;
        int32_t zero = 0;

        if (rc < 0 || !number_of(v, &scale, &zero))
            continue;
        rc = assay_scale_add(s, &s->stage[stage], name, scale, zero, err);
        if (rc < 0)
            assay_err_prefix(err, "%.200s: __meta__", file);
    }
    json_decref(root);
    return rc;
}

static char same_letter(char c)
{
    return c == '/' ? '.' : c;
}

bool assay_tensor_same_name(const char *a, const char *b)
{
    a += *a == '/';
    b += *b == '/';
    while (*a != '\0' && same_letter(*a) == same_letter(*b)) {
        a++;
        b++;
    }
    if (strcmp(a, "#0") == 0)
        a += 2;
    if (strcmp(b, "#0") == 0)
        b += 2;
    return *a == '\0' && *b == '\0';
}

static const struct assay_pair_scale *find(const struct assay_scale_rows *rows,
                                           const char *name)
{
    for (uint32_t i = 0; i < rows->n; i++)
        if (assay_tensor_same_name(rows->v[i].name, name))
            return &rows->v[i].q;
    return NULL;
}

struct assay_pair_scale assay_scale_of(const struct assay_triage_scales *s,
                                       enum assay_stage stage, const char *name)
{
    const struct assay_pair_scale *q = find(&s->user, name);

    if (q == NULL)
        q = find(&s->stage[stage], name);
    if (q == NULL)
        q = find(&s->vendor, name);
    return q != NULL ? *q : (struct assay_pair_scale){0};
}
