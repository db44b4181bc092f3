/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/model_info.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/model/file.h"

struct reader {
    struct assay_model_info *m;
    struct assay_model_info_tensor *now; /* the entry under way, or NULL */
    const char *model, *file;
    unsigned line;
    enum { NO_GRAPH, IN_INPUTS, IN_OUTPUTS, IN_INNER } graph;
    uint32_t n_side[3];
    struct assay_err *err;
};

static int fail(struct reader *r, const char *fmt, ...) ASSAY_PRINTF(2, 3);
static int fail(struct reader *r, const char *fmt, ...)
{
    char text[300];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return assay_fail(r->err, ASSAY_EFORMAT, "%s: line %u: %s", r->file,
                      r->line, text);
}

static int no_memory(struct reader *r)
{
    return assay_fail(r->err, ASSAY_EMEMORY, "%s: out of memory", r->file);
}

static bool has(const char *data, size_t n, const char *word)
{
    return memmem(data, n, word, strlen(word)) != NULL;
}

bool assay_model_info_probe(const char *data, size_t n)
{
    if (memchr(data, '\0', n) != NULL)
        return false;
    if (has(data, n, "valid shape:") && has(data, n, "tensor type:"))
        return true;
    return has(data, n, "hb_model_info version") ||
           has(data, n, "# model deps info #");
}

bool assay_model_info_is_file(const char *path)
{
    char head[8192];
    size_t n;
    FILE *f;

    if (!assay_file_is_regular(path) || (f = fopen(path, "rb")) == NULL)
        return false;
    n = fread(head, 1, sizeof(head), f);
    fclose(f);
    return n > 0 && assay_model_info_probe(head, n);
}

/* ---- values ------------------------------------------------------------- */

/* "(1,3,640,640,)", with or without brackets. */
static int dims_of(struct reader *r, const char *text, int64_t *out,
                   uint32_t *rank)
{
    const char *p = text;
    uint32_t n = 0;

    while (*p == ' ' || *p == '(' || *p == '[')
        p++;
    while (*p != '\0' && *p != ')' && *p != ']') {
        char *end;
        long long v = strtoll(p, &end, 10);

        if (end == p || v < -1 || v > INT64_C(1) << 40)
            return fail(r, "expected numbers, found '%.60s'", text);
        if (n == ASSAY_MAX_RANK)
            return fail(r, "more than %d dimensions", ASSAY_MAX_RANK);
        out[n++] = v;
        p = end;
        while (*p == ' ' || *p == ',')
            p++;
    }
    *rank = n;
    return 0;
}

static int shape_of(struct reader *r, const char *text, int64_t *out,
                    uint32_t *rank)
{
    int rc = dims_of(r, text, out, rank);

    for (uint32_t i = 0; rc == 0 && i < *rank; i++)
        if (out[i] == 0)
            rc = fail(r, "a dimension of 0");
    return rc;
}

static size_t count_numbers(const char *text)
{
    size_t n = 1;

    for (const char *p = text; *p != '\0'; p++)
        n += *p == ',';
    return n;
}

/* "0.1,0.2," or "(0.1)". */
static int numbers_of(struct reader *r, const char *text, double **out,
                      uint32_t *n)
{
    double *v = assay_arena_array(r->m->arena, count_numbers(text), sizeof(*v));
    const char *p = text;

    if (v == NULL)
        return no_memory(r);
    *n = 0;
    while (*p == ' ' || *p == '(' || *p == '[')
        p++;
    while (*p != '\0' && *p != ')' && *p != ']') {
        char *end;

        v[*n] = strtod(p, &end);
        if (end == p)
            return fail(r, "expected numbers, found '%.60s'", text);
        (*n)++;
        p = end;
        while (*p == ' ' || *p == ',')
            p++;
    }
    *out = v;
    return 0;
}

/* "HB_DNN_TENSOR_TYPE_S8", "HB_DNN_IMG_TYPE_NV12", "INT8", "FLOAT". */
static int type_of(struct reader *r, const char *text)
{
    static const struct {
        const char *name;
        enum assay_dtype dtype;
    } all[] = {
        {"S8", ASSAY_S8},     {"U8", ASSAY_U8},      {"S16", ASSAY_S16},
        {"U16", ASSAY_U16},   {"S32", ASSAY_S32},    {"F32", ASSAY_F32},
        {"S64", ASSAY_S64},   {"INT8", ASSAY_S8},    {"UINT8", ASSAY_U8},
        {"INT16", ASSAY_S16}, {"UINT16", ASSAY_U16}, {"INT32", ASSAY_S32},
        {"FLOAT", ASSAY_F32}, {"INT64", ASSAY_S64}};
    struct assay_model_info_tensor *t = r->now;
    const char *word = strstr(text, "TYPE_");

    word = word != NULL ? word + 5 : text;
    t->is_image = strstr(text, "_IMG_TYPE_") != NULL;
    t->type = assay_arena_str(r->m->arena, word, strlen(word));
    if (t->type == NULL)
        return no_memory(r);
    for (size_t i = 0; !t->is_image && i < sizeof(all) / sizeof(all[0]); i++) {
        if (strcmp(all[i].name, word) != 0)
            continue;
        t->has_dtype = true;
        t->dtype = all[i].dtype;
    }
    return 0;
}

/* ---- entries ------------------------------------------------------------ */

static int begin(struct reader *r, enum assay_model_info_side side,
                 uint32_t index, const char *name)
{
    struct assay_model_info *m = r->m;
    struct assay_model_info_tensor *t;

    if (m->n == ASSAY_MODEL_INFO_MAX_TENSORS)
        return fail(r, "more than %u tensors", ASSAY_MODEL_INFO_MAX_TENSORS);
    if (m->n == m->cap) {
        uint32_t cap = m->cap == 0 ? 16 : m->cap * 2;

        t = assay_arena_array(m->arena, cap, sizeof(*t));
        if (t == NULL)
            return no_memory(r);
        if (m->n > 0)
            memcpy(t, m->v, m->n * sizeof(*t));
        m->v = t;
        m->cap = cap;
    }
    t = &m->v[m->n++];
    *t = (struct assay_model_info_tensor){
        .side = side,
        .index = index,
        .name = assay_arena_str(m->arena, name, strlen(name)),
        .model = r->model,
        .type = "",
        .layout = "",
        .axis = -1,
    };
    r->now = t;
    return t->name != NULL ? 0 : no_memory(r);
}

/* What each entry of model_info must have said when it ends. */
static int end(struct reader *r)
{
    const struct assay_model_info_tensor *t = r->now;

    r->now = NULL;
    if (t == NULL || r->graph != NO_GRAPH)
        return 0;
    if (t->name[0] == '\0')
        return fail(r, "an input or output without a name");
    if (t->rank == 0)
        return fail(r, "'%.100s' has no valid shape", t->name);
    if (t->stride_rank != 0 && t->stride_rank != t->rank)
        return fail(r, "'%.100s' has %u dimensions and %u strides", t->name,
                    t->rank, t->stride_rank);
    return 0;
}

static int zero_points(struct reader *r, const char *value)
{
    uint32_t n = 0;
    double *v = NULL;
    int rc = numbers_of(r, value, &v, &n);

    for (uint32_t i = 0; rc == 0 && i < n; i++)
        r->now->has_zero_point = r->now->has_zero_point || v[i] != 0;
    return rc;
}

static int setting(struct reader *r, const char *key, const char *value)
{
    struct assay_model_info_tensor *t = r->now;

    if (strcmp(key, "name") == 0) {
        t->name = assay_arena_str(r->m->arena, value, strlen(value));
        return t->name != NULL ? 0 : no_memory(r);
    }
    if (strcmp(key, "valid shape") == 0)
        return shape_of(r, value, t->valid, &t->rank);
    if (strcmp(key, "aligned shape") == 0)
        return shape_of(r, value, t->aligned, &t->aligned_rank);
    if (strcmp(key, "stride") == 0)
        return dims_of(r, value, t->stride, &t->stride_rank);
    if (strcmp(key, "tensor type") == 0)
        return type_of(r, value);
    if (strcmp(key, "scale data") == 0)
        return numbers_of(r, value, &t->scales, &t->n_scales);
    if (strcmp(key, "zero_point data") == 0)
        return zero_points(r, value);
    if (strcmp(key, "quantizeAxis") == 0)
        t->axis = atoi(value);
    if (strcmp(key, "aligned byte size") == 0)
        t->aligned_bytes = atoll(value);
    if (strcmp(key, "tensor layout") == 0)
        t->layout = strstr(value, "NHWC") != NULL   ? "NHWC"
                    : strstr(value, "NCHW") != NULL ? "NCHW"
                                                    : "";
    return 0;
}

/* "input[0]:" */
static bool port(const char *line, bool *is_input, uint32_t *index)
{
    const char *p = line;
    unsigned long v;
    char *stop;

    *is_input = strncmp(p, "input[", 6) == 0;
    if (!*is_input && strncmp(p, "output[", 7) != 0)
        return false;
    p = strchr(p, '[') + 1;
    v = strtoul(p, &stop, 10);
    *index = v > ASSAY_MODEL_INFO_MAX_TENSORS ? ASSAY_MODEL_INFO_MAX_TENSORS
                                              : (uint32_t)v;
    return stop > p && strcmp(stop, "]:") == 0;
}

/* ---- hb_model_info ------------------------------------------------------ */

/* The message behind "2026-12-02 02:15:53,066 file: a func: b line No: 7 ",
 * or the console's time and coloured level. */
static char *message_of(char *line)
{
    char *p = strstr(line, " line No: ");

    if (p != NULL) {
        p += strlen(" line No: ");
        while (isdigit((unsigned char)*p))
            p++;
        return *p == ' ' ? p + 1 : p;
    }
    p = strstr(line, "\033[0m ");
    return p != NULL ? p + 5 : line;
}

static int text_setting(struct reader *r, const char *key, const char *value)
{
    struct assay_model_info *m = r->m;
    const char **slots[] = {&m->march, &m->hbdk_version, &m->horizon_nn_version,
                            &m->mapper_version};
    static const char *const keys[] = {
        "BPU march", "hbdk version", "horizon_nn version", "hb_mapper version"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (strcmp(key, keys[i]) != 0)
            continue;
        *slots[i] = assay_arena_str(m->arena, value, strlen(value));
        if (*slots[i] == NULL)
            return no_memory(r);
    }
    return 0;
}

/* A line of dashes: what begins behind it. */
static void section(struct reader *r, const char *line)
{
    r->graph = NO_GRAPH;
    if (strcmp(line, "--------input----------") == 0)
        r->graph = IN_INPUTS;
    else if (strcmp(line, "--------output----------") == 0)
        r->graph = IN_OUTPUTS;
    else if (strcmp(line, "--------value_info----------") == 0)
        r->graph = IN_INNER;
}

/* A line of the text form of a graph's value. */
static int graph_line(struct reader *r, const char *key, char *value)
{
    enum assay_model_info_side side = r->graph == IN_INPUTS ? ASSAY_INFO_INPUT
                                      : r->graph == IN_OUTPUTS
                                          ? ASSAY_INFO_OUTPUT
                                          : ASSAY_INFO_INNER;
    size_t n = strlen(value);

    if (strcmp(key, "name") == 0) {
        if (n >= 2 && value[0] == '"' && value[n - 1] == '"') {
            value[n - 1] = '\0';
            value++;
        }
        return begin(r, side, r->n_side[side]++, value);
    }
    if (r->now == NULL)
        return 0;
    if (strcmp(key, "elem_type") == 0)
        return type_of(r, value);
    if (strcmp(key, "dim") != 0)
        return 0;
    if (r->now->rank == ASSAY_MAX_RANK)
        return fail(r, "more than %d dimensions", ASSAY_MAX_RANK);
    r->now->valid[r->now->rank++] = atoll(value);
    return r->now->valid[r->now->rank - 1] > 0
               ? 0
               : fail(r, "expected a dimension, found '%.40s'", value);
}

/* ---- the whole ---------------------------------------------------------- */

static char *trim(char *p)
{
    size_t n;

    while (isspace((unsigned char)*p))
        p++;
    n = strlen(p);
    while (n > 0 && isspace((unsigned char)p[n - 1]))
        p[--n] = '\0';
    return p;
}

static int one_line(struct reader *r, char *line)
{
    bool is_input;
    uint32_t index;
    char *colon, *value;
    int rc;

    line = trim(message_of(line));
    if (strncmp(line, "--------", 8) == 0) {
        rc = end(r);
        section(r, line);
        return rc;
    }
    if (port(line, &is_input, &index)) {
        rc = end(r);
        r->graph = NO_GRAPH;
        return rc == 0
                   ? begin(r, is_input ? ASSAY_INFO_INPUT : ASSAY_INFO_OUTPUT,
                           index, "")
                   : rc;
    }
    if (line[0] == '[' && strncmp(line, "[model name]:", 13) == 0) {
        value = trim(line + 13);
        rc = end(r);
        r->model = assay_arena_str(r->m->arena, value, strlen(value));
        return rc == 0 && r->model == NULL ? no_memory(r) : rc;
    }
    colon = strchr(line, ':');
    if (colon == NULL)
        return 0;
    *colon = '\0';
    line = trim(line);
    value = trim(colon + 1);
    if (r->graph != NO_GRAPH)
        return graph_line(r, line, value);
    if (r->now != NULL)
        return setting(r, line, value);
    return text_setting(r, line, value);
}

int assay_model_info_parse(struct assay_model_info *out, const char *data,
                           size_t n, const char *file, struct assay_err *err)
{
    struct assay_model_info m = {.arena = assay_arena_new(),
                                 .march = "",
                                 .hbdk_version = "",
                                 .horizon_nn_version = "",
                                 .mapper_version = ""};
    struct reader r = {.m = &m, .model = "", .file = file, .err = err};
    char *copy = m.arena != NULL ? assay_arena_str(m.arena, data, n) : NULL;
    int rc = 0;

    m.file = copy != NULL ? assay_arena_str(m.arena, file, strlen(file)) : NULL;
    if (m.file == NULL)
        rc = no_memory(&r);
    for (char *p = copy; rc == 0 && p != NULL;) {
        char *stop = strchr(p, '\n');

        if (stop != NULL)
            *stop = '\0';
        r.line++;
        rc = one_line(&r, p);
        p = stop != NULL ? stop + 1 : NULL;
    }
    if (rc == 0)
        rc = end(&r);
    if (rc == 0 && m.n == 0 && m.march[0] == '\0')
        rc = assay_fail(err, ASSAY_EFORMAT,
                        "%s: no inputs and outputs, expected the text of "
                        "model_info",
                        file);
    if (rc < 0)
        assay_arena_free(m.arena);
    else
        *out = m;
    return rc;
}

void assay_model_info_close(struct assay_model_info *m)
{
    if (m == NULL)
        return;
    assay_arena_free(m->arena);
    memset(m, 0, sizeof(*m));
}

static bool agree(const struct assay_model_info_tensor *a,
                  const struct assay_model_info_tensor *b)
{
    return a->rank == b->rank && a->stride_rank == b->stride_rank &&
           memcmp(a->valid, b->valid, sizeof(a->valid)) == 0 &&
           memcmp(a->stride, b->stride, sizeof(a->stride)) == 0 &&
           strcmp(a->type, b->type) == 0;
}

const struct assay_model_info_tensor *assay_model_info_find(
    const struct assay_model_info *m, const char *name)
{
    const struct assay_model_info_tensor *found = NULL;

    for (uint32_t i = 0; m != NULL && i < m->n; i++) {
        if (strcmp(m->v[i].name, name) != 0)
            continue;
        if (found != NULL && !agree(found, &m->v[i]))
            return NULL;
        found = found != NULL ? found : &m->v[i];
    }
    return found;
}

const struct assay_model_info_tensor *assay_model_info_nth(
    const struct assay_model_info *m, enum assay_model_info_side side,
    uint32_t index)
{
    const struct assay_model_info_tensor *found = NULL;

    for (uint32_t i = 0; m != NULL && i < m->n; i++) {
        if (m->v[i].side != side || m->v[i].index != index)
            continue;
        if (found != NULL)
            return NULL;
        found = &m->v[i];
    }
    return found;
}
