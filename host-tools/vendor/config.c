/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of a build, whichever file tells them: hb_mapper's YAML has
 * quoted texts with several values separated by blanks and several inputs by
 * ';', the log has the same texts separated by commas.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "host-tools/vendor/parse.h"

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "%s",
                      assay_status_sentence(ASSAY_EMEMORY));
}

void assay_vendor_config_init(struct assay_vendor_config *c, const char *file)
{
    memset(c, 0, sizeof(*c));
    c->present = true;
    c->file = file;
    c->march = c->prefix = c->onnx_model = c->calibration_type = "";
    c->layer_out_dump = "";
}

enum assay_vendor_on assay_vendor_on_of(const char *text)
{
    if (strcasecmp(text, "BPU") == 0)
        return ASSAY_ON_BPU;
    return strcasecmp(text, "CPU") == 0 ? ASSAY_ON_CPU : ASSAY_ON_UNKNOWN;
}

int assay_vendor_split(struct assay_vendor *v, struct assay_vendor_texts *out,
                       const char *text, const char *separators,
                       bool keep_empty, const char *file, struct assay_err *err)
{
    uint32_t cap = 0;

    memset(out, 0, sizeof(*out));
    while (*text != '\0') {
        size_t n = strcspn(text, separators), lead = 0, len = n;
        const char **slot;

        while (lead < n && isspace((unsigned char)text[lead]))
            lead++;
        while (len > lead && isspace((unsigned char)text[len - 1]))
            len--;
        if (len > lead || keep_empty) {
            slot = assay_vendor_grow(v, &out->v, &out->n, &cap, sizeof(*slot),
                                     ASSAY_VENDOR_MAX_LIST);
            if (slot == NULL)
                return assay_vendor_too_many(file, "values", err);
            *slot = assay_arena_str(v->arena, text + lead, len - lead);
            if (*slot == NULL)
                return no_memory(err);
        }
        text += n + (text[n] != '\0');
    }
    return 0;
}

static int numbers(struct assay_vendor *v, struct assay_vendor_numbers *out,
                   const char *text, const char *key, const char *file,
                   struct assay_err *err)
{
    struct assay_vendor_texts t;
    int rc = assay_vendor_split(v, &t, text, ", \t\r\n[]", false, file, err);

    if (rc < 0)
        return rc;
    out->n = 0;
    out->v = assay_arena_array(v->arena, (size_t)t.n + 1, sizeof(*out->v));
    if (out->v == NULL)
        return no_memory(err);
    for (uint32_t i = 0; i < t.n; i++) {
        char *end;
        double x = strtod(t.v[i], &end);

        if (*end != '\0' || !isfinite(x))
            return assay_fail(err, ASSAY_EFORMAT,
                              "%s: '%s': expected numbers, found '%.60s'", file,
                              key, t.v[i]);
        out->v[out->n++] = x;
    }
    return 0;
}

static int shape(struct assay_vendor_input *in, const char *text,
                 const char *file, struct assay_err *err)
{
    const char *p = text;

    in->rank = 0;
    while (*p != '\0') {
        char *end;
        long long d;

        errno = 0;
        d = isdigit((unsigned char)*p) ? strtoll(p, &end, 10) : -1;
        if (d < 0 || errno != 0 || in->rank == ASSAY_MAX_RANK ||
            (*end != '\0' && *end != 'x') || (*end == 'x' && end[1] == '\0'))
            return assay_fail(err, ASSAY_EFORMAT,
                              "%s: 'input_shape': expected a shape like "
                              "1x3x224x224, found '%.60s'",
                              file, text);
        in->dims[in->rank++] = d;
        p = *end == 'x' ? end + 1 : end;
    }
    in->has_shape = in->rank > 0;
    return 0;
}

enum field {
    F_NAME,
    F_TYPE_RT,
    F_TYPE_TRAIN,
    F_SPACE,
    F_LAYOUT_RT,
    F_LAYOUT_TRAIN,
    F_NORM,
    F_SHAPE,
    F_MEAN,
    F_SCALE,
    F_STD,
};

static const struct {
    const char *key;
    enum field field;
} input_keys[] = {
    {"input_name", F_NAME},
    {"input_names", F_NAME},
    {"input_type_rt", F_TYPE_RT},
    {"input_type_train", F_TYPE_TRAIN},
    {"input_space_and_range", F_SPACE},
    {"input_layout_rt", F_LAYOUT_RT},
    {"input_layout_train", F_LAYOUT_TRAIN},
    {"norm_type", F_NORM},
    {"input_shape", F_SHAPE},
    {"mean_value", F_MEAN},
    {"scale_value", F_SCALE},
    {"std_value", F_STD},
};

static int one_input(struct assay_vendor *v, struct assay_vendor_input *in,
                     enum field f, const char *key, const char *value,
                     const char *file, struct assay_err *err)
{
    int rc = 0;

    switch (f) {
    case F_NAME: in->name = value; break;
    case F_TYPE_RT: in->type_rt = value; break;
    case F_TYPE_TRAIN: in->type_train = value; break;
    case F_SPACE: in->space = value; break;
    case F_LAYOUT_RT: in->layout_rt = value; break;
    case F_LAYOUT_TRAIN: in->layout_train = value; break;
    case F_NORM: in->norm_type = value; break;
    case F_SHAPE: return shape(in, value, file, err);
    case F_MEAN: return numbers(v, &in->mean, value, key, file, err);
    case F_SCALE: return numbers(v, &in->scale, value, key, file, err);
    case F_STD:
        rc = numbers(v, &in->scale, value, key, file, err);
        for (uint32_t i = 0; i < in->scale.n && rc == 0; i++) {
            if (in->scale.v[i] == 0.0)
                return assay_fail(err, ASSAY_EFORMAT,
                                  "%s: 'std_value': a deviation of 0", file);
            in->scale.v[i] = 1.0 / in->scale.v[i];
        }
        break;
    }
    return rc;
}

static int per_input(struct assay_vendor *v, struct assay_vendor_config *c,
                     enum field f, const char *key, const char *value,
                     struct assay_err *err)
{
    struct assay_vendor_texts t;
    int rc = assay_vendor_split(v, &t, value, ";", true, c->file, err);

    if (rc < 0)
        return rc;
    if (t.n > ASSAY_VENDOR_MAX_INPUTS)
        return assay_vendor_too_many(c->file, "inputs", err);
    if (c->inputs == NULL) {
        c->inputs = assay_arena_array(v->arena, ASSAY_VENDOR_MAX_INPUTS,
                                      sizeof(*c->inputs));
        if (c->inputs == NULL)
            return no_memory(err);
        for (uint32_t i = 0; i < ASSAY_VENDOR_MAX_INPUTS; i++) {
            struct assay_vendor_input *in = &c->inputs[i];

            in->name = in->type_rt = in->type_train = in->space = "";
            in->layout_rt = in->layout_train = in->norm_type = "";
        }
    }
    if (t.n > c->n_inputs)
        c->n_inputs = t.n;
    for (uint32_t i = 0; i < t.n && rc == 0; i++)
        rc = one_input(v, &c->inputs[i], f, key, t.v[i], c->file, err);
    return rc;
}

int assay_vendor_override(struct assay_vendor *v, const char *file,
                          const char *node, const char *key, const char *value,
                          struct assay_err *err)
{
    struct assay_vendor_override *o = NULL;

    for (uint32_t i = 0; i < v->n_overrides && o == NULL; i++) {
        if (strcmp(v->overrides[i].node, node) == 0)
            o = &v->overrides[i];
    }
    if (o == NULL) {
        o = assay_vendor_grow(v, &v->overrides, &v->n_overrides,
                              &v->cap_overrides, sizeof(*o),
                              ASSAY_VENDOR_MAX_LIST);
        if (o == NULL)
            return assay_vendor_too_many(file, "node settings", err);
        *o = (struct assay_vendor_override){node, file, ASSAY_ON_UNKNOWN, "",
                                            ""};
    }
    o->file = file;
    if (strcasecmp(key, "ON") == 0) {
        o->on = assay_vendor_on_of(value);
        if (o->on == ASSAY_ON_UNKNOWN)
            return assay_fail(err, ASSAY_EFORMAT,
                              "%s: node '%.100s': 'ON': expected CPU or BPU, "
                              "found '%.60s'",
                              file, node, value);
    } else if (strcmp(key, "InputType") == 0 || strcmp(key, "InputType0") == 0)
        o->input_dtype = value;
    else if (strcmp(key, "OutputType") == 0 || strcmp(key, "OutputType0") == 0)
        o->output_dtype = value;
    return 0;
}

static int run_on(struct assay_vendor *v, const struct assay_vendor_config *c,
                  const char *on, const char *value, struct assay_err *err)
{
    struct assay_vendor_texts t;
    int rc = assay_vendor_split(v, &t, value, ";", false, c->file, err);

    for (uint32_t i = 0; i < t.n && rc == 0; i++)
        rc = assay_vendor_override(v, c->file, t.v[i], "ON", on, err);
    return rc;
}

int assay_vendor_setting(struct assay_vendor *v, struct assay_vendor_config *c,
                         const char *key, const char *value,
                         struct assay_err *err)
{
    for (size_t i = 0; i < sizeof(input_keys) / sizeof(input_keys[0]); i++) {
        if (strcmp(key, input_keys[i].key) == 0)
            return per_input(v, c, input_keys[i].field, key, value, err);
    }
    if (strcmp(key, "march") == 0)
        c->march = value;
    else if (strcmp(key, "output_model_file_prefix") == 0 ||
             strcmp(key, "model_prefix") == 0)
        c->prefix = value;
    else if (strcmp(key, "onnx_model") == 0)
        c->onnx_model = value;
    else if (strcmp(key, "calibration_type") == 0)
        c->calibration_type = value;
    else if (strcmp(key, "layer_out_dump") == 0)
        c->layer_out_dump = strcasecmp(value, "true") == 0 ? "true" : "false";
    else if (strcmp(key, "remove_node_type") == 0)
        return assay_vendor_split(v, &c->remove_node_type, value, ";, ", false,
                                  c->file, err);
    else if (strcmp(key, "optimization") == 0)
        return assay_vendor_split(v, &c->optimization, value, ";, ", false,
                                  c->file, err);
    else if (strcmp(key, "run_on_cpu") == 0)
        return run_on(v, c, "CPU", value, err);
    else if (strcmp(key, "run_on_bpu") == 0)
        return run_on(v, c, "BPU", value, err);
    return 0;
}
