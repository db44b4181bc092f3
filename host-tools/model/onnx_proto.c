/* SPDX-License-Identifier: Apache-2.0 */
/* From protobuf's types to onnx_graph.h: the only file that sees them. */
#include "host-tools/model/onnx_graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/model/onnx.pb-c.h"

/* protobuf-c allocates far more than the file's bytes for a file of many
 * empty messages; this bounds it. All goes into one arena, freed at once. */
struct budget {
    struct assay_arena *arena;
    size_t used, limit;
};

static void *budget_alloc(void *self, size_t n)
{
    struct budget *b = self;

    if (n > b->limit - b->used)
        return NULL;
    b->used += n;
    return assay_arena_alloc(b->arena, n ? n : 1);
}

static void budget_free(void *self, void *p)
{
    (void)self;
    (void)p;
}

#define MAX_ATTRS 256 /* of a node: the most known has 20 */

struct reader {
    struct assay_onnx_graph *g;
    const struct assay_model_note *note;
    struct assay_err *err;
};

static int no_memory(struct reader *r)
{
    return assay_fail(r->err, ASSAY_EMEMORY, "%s: out of memory", r->g->file);
}

static const char *str_or_empty(const char *s)
{
    return s ? s : "";
}

/* Of constants: float64 is read as float32. */
static enum assay_dtype dtype_of(int32_t onnx_type)
{
    return onnx_type == 11 ? ASSAY_F32 : assay_onnx_dtype(onnx_type);
}

static int shape_of(struct reader *r, const AssayOnnx__Tensor *t,
                    const char *what, struct assay_onnx_const *k)
{
    size_t count = 1;

    if (t->n_dims > ASSAY_MAX_RANK)
        return assay_fail(r->err, ASSAY_ERANGE,
                          "%s: %s: %zu dimensions, more than the limit of %d",
                          r->g->file, what, t->n_dims, ASSAY_MAX_RANK);
    k->rank = (uint32_t)t->n_dims;
    for (size_t i = 0; i < t->n_dims; i++) {
        if (t->dims[i] < 0)
            return assay_fail(r->err, ASSAY_EFORMAT,
                              "%s: %s: dimension %zu is %lld", r->g->file, what,
                              i, (long long)t->dims[i]);
        k->dims[i] = t->dims[i];
        if (!assay_mul_size(count, (size_t)t->dims[i], &count) ||
            count > SIZE_MAX / 16)
            return assay_fail(r->err, ASSAY_ERANGE,
                              "%s: %s: more elements than memory can hold",
                              r->g->file, what);
    }
    k->count = count;
    return 0;
}

static int count_differs(struct reader *r, const char *what, size_t want,
                         size_t found, const char *unit)
{
    return assay_fail(r->err, ASSAY_EFORMAT,
                      "%s: %s: expected %zu %s, found %zu", r->g->file, what,
                      want, unit, found);
}

static int from_int32(struct reader *r, const AssayOnnx__Tensor *t,
                      const char *what, struct assay_onnx_const *k, void *out)
{
    int64_t lo, hi;

    if (t->n_int32_data != k->count)
        return count_differs(r, what, k->count, t->n_int32_data, "elements");
    assay_dtype_range(k->dtype, &lo, &hi);
    for (size_t i = 0; i < k->count; i++) {
        int32_t v = t->int32_data[i];

        if (v < lo || v > hi)
            return assay_fail(
                r->err, ASSAY_EFORMAT, "%s: %s: element %zu is %d, outside %s",
                r->g->file, what, i, v, assay_dtype_name(k->dtype));
        switch (assay_dtype_bytes(k->dtype)) {
        case 1: ((uint8_t *)out)[i] = (uint8_t)v; break;
        case 2: ((uint16_t *)out)[i] = (uint16_t)v; break;
        default: ((int32_t *)out)[i] = v; break;
        }
    }
    return 0;
}

static int fill_const(struct reader *r, const AssayOnnx__Tensor *t,
                      const char *what, struct assay_onnx_const *k, void *out)
{
    size_t unit = t->data_type == 11 ? 8 : assay_dtype_bytes(k->dtype);

    if (t->has_raw_data) {
        if (t->raw_data.len != k->count * unit)
            return count_differs(r, what, k->count * unit, t->raw_data.len,
                                 "bytes of data");
        if (t->data_type != 11) {
            if (k->count)
                memcpy(out, t->raw_data.data, k->count * unit);
            return 0;
        }
        for (size_t i = 0; i < k->count; i++) {
            double d;

            memcpy(&d, t->raw_data.data + 8 * i, 8);
            ((float *)out)[i] = (float)d;
        }
        return 0;
    }
    if (t->data_type == 11) {
        if (t->n_double_data != k->count)
            return count_differs(r, what, k->count, t->n_double_data,
                                 "elements");
        for (size_t i = 0; i < k->count; i++)
            ((float *)out)[i] = (float)t->double_data[i];
        return 0;
    }
    if (k->dtype == ASSAY_F32) {
        if (t->n_float_data != k->count)
            return count_differs(r, what, k->count, t->n_float_data,
                                 "elements");
        if (k->count)
            memcpy(out, t->float_data, k->count * 4);
        return 0;
    }
    if (k->dtype == ASSAY_S64) {
        if (t->n_int64_data != k->count)
            return count_differs(r, what, k->count, t->n_int64_data,
                                 "elements");
        if (k->count)
            memcpy(out, t->int64_data, k->count * 8);
        return 0;
    }
    return from_int32(r, t, what, k, out);
}

static int read_tensor(struct reader *r, const AssayOnnx__Tensor *t,
                       const char *what, const struct assay_onnx_const **out)
{
    struct assay_onnx_const *k = assay_arena_alloc(r->g->arena, sizeof(*k));
    size_t held;
    void *data;
    int rc;

    if (!k)
        return no_memory(r);
    if (t->data_location == 1 || t->n_external_data)
        return assay_fail(r->err, ASSAY_EUNSUPPORTED,
                          "%s: %s: its data is in another file, expected a "
                          "model in one file",
                          r->g->file, what);
    rc = shape_of(r, t, what, k);
    if (rc)
        return rc;
    k->onnx_type = t->data_type;
    k->dtype = dtype_of(t->data_type);
    *out = k;
    if (!k->dtype) /* told when a node needs it */
        return 0;
    /* What the file holds bounds what is allocated. */
    held = t->raw_data.len + t->n_float_data + t->n_int32_data +
           t->n_int64_data + t->n_double_data;
    if (k->count > held)
        return count_differs(r, what, k->count, held, "elements");
    data = assay_arena_array(r->g->arena, k->count ? k->count : 1,
                             assay_dtype_bytes(k->dtype));
    if (!data)
        return no_memory(r);
    rc = fill_const(r, t, what, k, data);
    k->data = data;
    return rc;
}

static int read_attr(struct reader *r, const AssayOnnx__Attribute *a,
                     const struct assay_onnx_node *n,
                     struct assay_onnx_attr *out)
{
    struct assay_arena *arena = r->g->arena;
    char what[200], text[160];

    out->name = assay_arena_str(arena, str_or_empty(a->name),
                                strlen(str_or_empty(a->name)));
    out->type = a->type;
    out->i = a->i;
    out->f = a->f;
    out->s = assay_arena_str(arena, (const char *)a->s.data, a->s.len);
    if (!out->name || !out->s)
        return no_memory(r);
    if (a->type == ASSAY_ONNX_INTS) {
        out->n = a->n_ints;
        out->ints =
            assay_arena_copy(arena, a->ints, a->n_ints * sizeof(*a->ints));
    } else if (a->type == ASSAY_ONNX_FLOATS) {
        out->n = a->n_floats;
        out->floats = assay_arena_copy(arena, a->floats,
                                       a->n_floats * sizeof(*a->floats));
    } else if (a->type == ASSAY_ONNX_TENSOR && a->t) {
        snprintf(what, sizeof(what), "%s: attribute '%.40s'",
                 assay_onnx_node_text(n, text, sizeof(text)), out->name);
        return read_tensor(r, a->t, what, &out->t);
    }
    if ((a->type == ASSAY_ONNX_INTS && !out->ints && a->n_ints) ||
        (a->type == ASSAY_ONNX_FLOATS && !out->floats && a->n_floats))
        return no_memory(r);
    return 0;
}

/* Of two of one name the wrong one could be taken. */
static int check_twice(struct reader *r, const struct assay_onnx_node *n)
{
    char text[160];

    if (n->n_attrs > MAX_ATTRS)
        return assay_fail(
            r->err, ASSAY_ERANGE,
            "%s: %s: %u attributes, more than the limit of %d", r->g->file,
            assay_onnx_node_text(n, text, sizeof(text)), n->n_attrs, MAX_ATTRS);
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (assay_onnx_attr(n, n->attrs[i].name) != &n->attrs[i])
            return assay_fail(
                r->err, ASSAY_EFORMAT,
                "%s: %s: attribute '%.80s' is there twice", r->g->file,
                assay_onnx_node_text(n, text, sizeof(text)), n->attrs[i].name);
    return 0;
}

static int read_names(struct reader *r, char **names, size_t n, uint32_t **out)
{
    *out = assay_arena_array(r->g->arena, n ? n : 1, sizeof(**out));
    if (!*out)
        return no_memory(r);
    for (size_t i = 0; i < n; i++) {
        (*out)[i] = ASSAY_ONNX_NONE;
        if (!names[i][0])
            continue;
        (*out)[i] = assay_onnx_intern(r->g, names[i]);
        if ((*out)[i] == ASSAY_ONNX_NONE)
            return no_memory(r);
    }
    return 0;
}

static int read_node(struct reader *r, const AssayOnnx__Node *n,
                     struct assay_onnx_node *out)
{
    const char *domain = str_or_empty(n->domain);
    int rc;

    if (!strcmp(domain, "ai.onnx"))
        domain = "";
    out->op = assay_arena_str(r->g->arena, str_or_empty(n->op_type),
                              strlen(str_or_empty(n->op_type)));
    out->name = assay_arena_str(r->g->arena, str_or_empty(n->name),
                                strlen(str_or_empty(n->name)));
    out->domain = assay_arena_str(r->g->arena, domain, strlen(domain));
    if (!out->op || !out->name || !out->domain)
        return no_memory(r);
    if (!out->op[0])
        return assay_fail(r->err, ASSAY_EFORMAT,
                          "%s: node %u ('%s') has no operator", r->g->file,
                          out->index, out->name);
    out->n_in = (uint32_t)n->n_input;
    out->n_out = (uint32_t)n->n_output;
    out->n_attrs = (uint32_t)n->n_attribute;
    rc = read_names(r, n->input, n->n_input, &out->in);
    if (!rc)
        rc = read_names(r, n->output, n->n_output, &out->out);
    if (rc)
        return rc;
    out->attrs =
        assay_arena_array(r->g->arena, out->n_attrs + 1, sizeof(*out->attrs));
    if (!out->attrs)
        return no_memory(r);
    for (size_t i = 0; !rc && i < n->n_attribute; i++)
        rc = read_attr(r, n->attribute[i], out, &out->attrs[i]);
    return rc ? rc : check_twice(r, out);
}

static int read_info(struct reader *r, const AssayOnnx__ValueInfo *v,
                     uint32_t *index)
{
    const AssayOnnx__TensorType *t = v->type ? v->type->tensor_type : NULL;
    struct assay_onnx_value *out;

    *index = assay_onnx_intern(r->g, str_or_empty(v->name));
    if (*index == ASSAY_ONNX_NONE)
        return no_memory(r);
    out = &r->g->values[*index];
    if (!t || !t->shape || out->has_info)
        return 0;
    if (t->shape->n_dim > ASSAY_MAX_RANK)
        return assay_fail(r->err, ASSAY_ERANGE,
                          "%s: tensor '%s': %zu dimensions, more than the "
                          "limit of %d",
                          r->g->file, out->name, t->shape->n_dim,
                          ASSAY_MAX_RANK);
    out->has_info = true;
    out->info_type = t->elem_type;
    out->info_rank = (uint32_t)t->shape->n_dim;
    for (size_t i = 0; i < t->shape->n_dim; i++) {
        int64_t d = t->shape->dim[i]->dim_value;

        out->info_dims[i] = d > 0 ? d : 0;
    }
    return 0;
}

static int read_infos(struct reader *r, const AssayOnnx__Graph *g)
{
    struct assay_onnx_graph *o = r->g;
    uint32_t at;
    int rc = 0;

    o->inputs = assay_arena_array(o->arena, g->n_input + 1, sizeof(*o->inputs));
    o->outputs =
        assay_arena_array(o->arena, g->n_output + 1, sizeof(*o->outputs));
    if (!o->inputs || !o->outputs)
        return no_memory(r);
    for (size_t i = 0; !rc && i < g->n_input; i++) {
        rc = read_info(r, g->input[i], &at);
        /* Old files list their initializers among the inputs. */
        if (rc || o->values[at].k)
            continue;
        if (o->values[at].is_input)
            return assay_fail(r->err, ASSAY_EFORMAT,
                              "%s: graph input '%s' is listed twice", o->file,
                              o->values[at].name);
        o->values[at].is_input = true;
        o->inputs[o->n_inputs++] = at;
    }
    for (size_t i = 0; !rc && i < g->n_output; i++) {
        rc = read_info(r, g->output[i], &at);
        if (rc || o->values[at].is_output)
            continue;
        o->values[at].is_output = true;
        o->outputs[o->n_outputs++] = at;
    }
    for (size_t i = 0; !rc && i < g->n_value_info; i++)
        rc = read_info(r, g->value_info[i], &at);
    return rc;
}

static int read_initializers(struct reader *r, const AssayOnnx__Graph *g)
{
    char what[200];

    for (size_t i = 0; i < g->n_initializer; i++) {
        const AssayOnnx__Tensor *t = g->initializer[i];
        uint32_t at = assay_onnx_intern(r->g, str_or_empty(t->name));
        struct assay_onnx_value *v;
        int rc;

        if (at == ASSAY_ONNX_NONE)
            return no_memory(r);
        v = &r->g->values[at];
        snprintf(what, sizeof(what), "initializer '%.120s'", v->name);
        if (v->k)
            return assay_fail(r->err, ASSAY_EFORMAT, "%s: %s is there twice",
                              r->g->file, what);
        rc = read_tensor(r, t, what, &v->k);
        if (rc)
            return rc;
    }
    return 0;
}

static int read_graph(struct reader *r, const AssayOnnx__Graph *g)
{
    int rc = read_initializers(r, g);

    if (!rc)
        rc = read_infos(r, g);
    if (rc)
        return rc;
    r->g->nodes =
        assay_arena_array(r->g->arena, g->n_node + 1, sizeof(*r->g->nodes));
    if (!r->g->nodes)
        return no_memory(r);
    r->g->n_nodes = (uint32_t)g->n_node;
    for (size_t i = 0; !rc && i < g->n_node; i++) {
        r->g->nodes[i].index = (uint32_t)i;
        rc = read_node(r, g->node[i], &r->g->nodes[i]);
    }
    return rc;
}

static int read_opsets(struct reader *r, const AssayOnnx__Model *m)
{
    char text[300];

    r->g->opset = 0;
    for (size_t i = 0; i < m->n_opset_import; i++) {
        const char *d = str_or_empty(m->opset_import[i]->domain);

        if (!d[0] || !strcmp(d, "ai.onnx"))
            r->g->opset = m->opset_import[i]->version;
    }
    if (r->g->opset < 1)
        return assay_fail(r->err, ASSAY_EFORMAT,
                          "%s: opset_import: no version of ai.onnx",
                          r->g->file);
    if (r->g->opset > 30 && r->note && r->note->note) {
        snprintf(text, sizeof(text),
                 "%s: opset %lld is newer than this reader (30)", r->g->file,
                 (long long)r->g->opset);
        r->note->note(r->note->self, text);
    }
    return 0;
}

static int count_values(const AssayOnnx__Graph *g, const char *file,
                        uint32_t *out, struct assay_err *err)
{
    size_t n = g->n_initializer + g->n_input + g->n_output + g->n_value_info;

    if (g->n_node > ASSAY_ONNX_MAX_NODES)
        return assay_fail(err, ASSAY_ERANGE,
                          "%s: %zu nodes, more than the limit of %u", file,
                          g->n_node, ASSAY_ONNX_MAX_NODES);
    for (size_t i = 0; i < g->n_node; i++)
        n += g->node[i]->n_input + g->node[i]->n_output;
    if (n > 1u << 24)
        return assay_fail(err, ASSAY_ERANGE,
                          "%s: %zu tensor names, more than the limit of %u",
                          file, n, 1u << 24);
    *out = (uint32_t)n;
    return 0;
}

static int parse_model(struct assay_onnx_graph *g, const AssayOnnx__Model *m,
                       const char *file, const struct assay_model_note *note,
                       struct assay_err *err)
{
    struct reader r = {g, note, err};
    uint32_t max_values = 0;
    int rc;

    if (!m->graph)
        return assay_fail(err, ASSAY_EFORMAT, "%s: no graph in the model",
                          file);
    rc = count_values(m->graph, file, &max_values, err);
    if (!rc)
        rc = assay_onnx_graph_init(g, max_values, file, err);
    if (!rc)
        rc = read_opsets(&r, m);
    if (!rc)
        rc = read_graph(&r, m->graph);
    if (!rc)
        rc = assay_onnx_link(g, err);
    return rc;
}

int assay_onnx_parse(struct assay_onnx_graph *out, const uint8_t *data,
                     size_t n, const char *file,
                     const struct assay_model_note *note, struct assay_err *err)
{
    struct budget budget = {assay_arena_new(), 0, ((size_t)64 << 20) + 4 * n};
    ProtobufCAllocator allocator = {budget_alloc, budget_free, &budget};
    struct assay_onnx_graph g = {0};
    const AssayOnnx__Model *m;
    int rc;

    if (!budget.arena)
        return assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", file);
    m = assay_onnx__model__unpack(&allocator, n, data);
    if (!m)
        rc = assay_fail(err, ASSAY_EFORMAT,
                        "%s: not an ONNX model: %zu bytes that do not parse "
                        "as protobuf",
                        file, n);
    else
        rc = parse_model(&g, m, file, note, err);
    assay_arena_free(budget.arena);
    if (rc)
        assay_onnx_graph_close(&g);
    else
        *out = g;
    return rc;
}
