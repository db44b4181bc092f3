/* SPDX-License-Identifier: Apache-2.0 */
/* A description to a slice. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/core/buf.h"
#include "lib/core/form.h"
#include "proto/assay.pb-c.h"
#include "proto/codec.h"
#include "proto/codec_alloc.h"
#include "proto/codec_params.h"

struct get {
    struct assay_slice *slice;
    const struct assay_blob_source *blobs;
    struct assay_codec_alloc alloc;
    struct assay_err *err;
};

/* Arena memory comes out of the same budget as the protobuf tree. */
static int charge(struct get *g, size_t n)
{
    if (n > g->alloc.left)
        return assay_fail(g->err, ASSAY_EMEMORY,
                          "the slice needs more memory than it may");
    g->alloc.left -= n;
    return 0;
}

static int get_copy(struct get *g, const void *data, size_t n, const void **out)
{
    void *p;

    if (charge(g, n) < 0)
        return ASSAY_EMEMORY;
    p = assay_arena_copy(g->slice->arena, data, n);
    if (p == NULL)
        return assay_fail(g->err, ASSAY_EMEMORY, "no memory for a slice");
    *out = p;
    return 0;
}

static int get_str(struct get *g, const char *s, const char **out)
{
    size_t n = strlen(s);
    char *p;

    if (charge(g, n + 1) < 0)
        return ASSAY_EMEMORY;
    p = assay_arena_str(g->slice->arena, s, n);
    if (p == NULL)
        return assay_fail(g->err, ASSAY_EMEMORY, "no memory for a slice");
    *out = p;
    return 0;
}

static int bad(struct get *g, const char *field, uint64_t found,
               const char *expected)
{
    return assay_fail(g->err, ASSAY_EPROTOCOL,
                      "field '%s' is %" PRIu64 ", expected %s", field, found,
                      expected);
}

/* ---- tensors -------------------------------------------------------------- */

static int get_quant(struct get *g, const Assay__Pb__Tensor *in,
                     struct assay_tensor *t)
{
    size_t n = in->scale.len / sizeof(float);
    const void *p;

    if (in->scale.len % sizeof(float) != 0 ||
        in->zero_point.len != n * sizeof(int32_t))
        return assay_fail(g->err, ASSAY_EPROTOCOL,
                          "%zu bytes of scales and %zu bytes of zero points "
                          "do not fit each other",
                          in->scale.len, in->zero_point.len);
    if (n == 0)
        return 0;
    if (n > 1 && (in->quant_axis < 0 || (uint32_t)in->quant_axis >= t->rank ||
                  t->dims[in->quant_axis] != (int64_t)n))
        return assay_fail(g->err, ASSAY_EPROTOCOL,
                          "%zu scales do not fit quantization axis %d", n,
                          (int)in->quant_axis);
    if (get_copy(g, in->scale.data, in->scale.len, &p) < 0)
        return ASSAY_EMEMORY;
    t->quant.scale = p;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(t->quant.scale[i]) || t->quant.scale[i] <= 0.0f)
            return assay_fail(g->err, ASSAY_EPROTOCOL,
                              "scale %zu is %g, expected a finite value "
                              "above 0",
                              i, (double)t->quant.scale[i]);
    }
    if (get_copy(g, in->zero_point.data, in->zero_point.len, &p) < 0)
        return ASSAY_EMEMORY;
    t->quant.zero_point = p;
    t->quant.n = (uint32_t)n;
    t->quant.axis = n > 1 ? in->quant_axis : -1;
    return 0;
}

static int get_constant(struct get *g, const Assay__Pb__Tensor *in,
                        struct assay_tensor *t)
{
    size_t size = 0, elements, bytes;
    char hex[2 * 8 + 1];
    int rc;

    if (t->role != ASSAY_ROLE_CONSTANT) {
        if (in->sha256.len != 0 || in->size != 0)
            return assay_fail(g->err, ASSAY_EPROTOCOL,
                              "only a constant has a digest and a size");
        return 0;
    }
    if (in->sha256.len != ASSAY_SHA256_LEN)
        return bad(g, "sha256 length", in->sha256.len, "32");
    memcpy(t->sha256, in->sha256.data, ASSAY_SHA256_LEN);
    t->data = g->blobs->find(g->blobs->self, t->sha256, &size);
    assay_hex(t->sha256, 8, hex);
    if (t->data == NULL)
        return assay_fail(g->err, ASSAY_EPROTOCOL,
                          "constant sha256:%s… is not here: it was not sent, "
                          "or it was dropped for want of memory",
                          hex);
    if (size != in->size)
        return assay_fail(g->err, ASSAY_EPROTOCOL,
                          "constant sha256:%s… has %zu bytes, the slice says "
                          "%" PRIu64,
                          hex, size, in->size);
    t->size = size;
    rc = assay_tensor_count(t, &elements, &bytes, g->err);
    if (rc < 0)
        return rc;
    if (bytes != size)
        return assay_fail(g->err, ASSAY_EPROTOCOL,
                          "constant of %zu bytes, its shape and type need %zu",
                          size, bytes);
    return 0;
}

static int get_shape(struct get *g, const Assay__Pb__Tensor *in,
                     struct assay_tensor *t)
{
    uint32_t seen = 0;
    size_t axes = strlen(in->axes);

    if (in->n_dims > ASSAY_MAX_RANK)
        return bad(g, "rank", in->n_dims, "at most 10");
    t->rank = (uint32_t)in->n_dims;
    if (in->perm.len != t->rank)
        return bad(g, "perm length", in->perm.len, "the rank");
    if (axes != 0 && axes != t->rank)
        return bad(g, "axes length", axes, "0 or the rank");
    memcpy(t->axes, in->axes, axes);
    for (uint32_t i = 0; i < t->rank; i++) {
        if (in->dims[i] < 1)
            return assay_fail(g->err, ASSAY_EPROTOCOL,
                              "dimension %u is %" PRId64
                              ", expected at least 1",
                              i, in->dims[i]);
        t->dims[i] = in->dims[i];
        t->perm[i] = in->perm.data[i];
        if (t->perm[i] >= t->rank || (seen & 1u << t->perm[i]))
            return bad(g, "perm", t->perm[i], "a permutation of the axes");
        seen |= 1u << t->perm[i];
    }
    return 0;
}

static int get_tensor(struct get *g, const Assay__Pb__Tensor *in)
{
    struct assay_tensor *t;
    uint32_t index;
    size_t elements, bytes;
    int rc;

    if (charge(g, 3 * sizeof(*t)) < 0)
        return ASSAY_EMEMORY;
    rc = assay_slice_add_tensor(g->slice, &index, g->err);
    if (rc < 0)
        return rc;
    t = &g->slice->tensors[index];
    if (in->role > ASSAY_ROLE_CONSTANT)
        return bad(g, "role", in->role, "0..2");
    if (in->dtype < ASSAY_S8 || in->dtype > ASSAY_S64)
        return bad(g, "dtype", in->dtype, "1..7");
    t->role = (enum assay_tensor_role)in->role;
    t->dtype = (enum assay_dtype)in->dtype;
    t->is_output = in->is_output;
    rc = get_str(g, in->name, &t->name);
    if (rc == 0)
        rc = get_shape(g, in, t);
    if (rc == 0)
        rc = assay_tensor_count(t, &elements, &bytes, g->err);
    if (rc == 0)
        rc = get_quant(g, in, t);
    if (rc == 0)
        rc = get_constant(g, in, t);
    return rc;
}

/* ---- programs ------------------------------------------------------------- */

static int get_operand(struct get *g, const ProtobufCBinaryData *in, uint32_t n,
                       const char *name, const int64_t **out)
{
    const void *p;

    if (in->len == 0)
        return 0;
    if (in->len != (size_t)n * sizeof(int64_t))
        return assay_fail(g->err, ASSAY_EPROTOCOL,
                          "operand '%s' has %zu bytes, expected 8 for each "
                          "of %u",
                          name, in->len, n);
    if (get_copy(g, in->data, in->len, &p) < 0)
        return ASSAY_EMEMORY;
    *out = p;
    return 0;
}

static int get_step(struct get *g, const Assay__Pb__Step *in,
                    struct assay_step *s)
{
    int rc;

    rc = assay_codec_list(g->err, "step kind", in->kind, ASSAY_STEP_ADD,
                          ASSAY_STEP_ADD_SCALED);
    if (rc < 0)
        return rc;
    if (in->round > ASSAY_ROUND_ADD_HALF)
        return bad(g, "round", in->round, "0..8");
    if (in->add_mode > ASSAY_ADD_SAT32)
        return bad(g, "add_mode", in->add_mode, "0..2");
    if (in->bits > 63)
        return bad(g, "bits", in->bits, "0..63");
    s->kind = (uint8_t)in->kind;
    s->round = (uint8_t)in->round;
    s->add_mode = (uint8_t)in->add_mode;
    s->bits = (uint8_t)in->bits;
    s->n = in->n;
    rc = get_operand(g, &in->a, in->n, "a", &s->a);
    if (rc == 0)
        rc = get_operand(g, &in->b, in->n, "b", &s->b);
    return rc;
}

static int get_program(struct get *g, const Assay__Pb__Program *in,
                       struct assay_program *p)
{
    int rc;

    if (in == NULL)
        return 0;
    if (in->n_steps > ASSAY_MAX_STEPS)
        return bad(g, "steps", in->n_steps, "at most 12");
    for (size_t i = 0; i < in->n_steps; i++) {
        rc = get_step(g, in->steps[i], &p->steps[i]);
        if (rc < 0)
            return assay_err_prefix(g->err, "step %zu", i);
    }
    p->n_steps = (uint32_t)in->n_steps;
    return 0;
}

/* ---- layers --------------------------------------------------------------- */

/* The parameters of the op; those that need memory are copied here. */
static int get_params(struct get *g, const Assay__Pb__Layer *in,
                      struct assay_layer *l)
{
    const void *table = NULL;
    int rc = assay_codec_get_params(in, l, g->err);

    if (rc < 0 || l->op != ASSAY_OP_SOFTMAX || in->softmax->table.len == 0)
        return rc;
    rc = get_copy(g, in->softmax->table.data, in->softmax->table.len, &table);
    l->p.softmax.table = table;
    return rc;
}

static int get_programs(struct get *g, const Assay__Pb__Layer *in,
                        struct assay_layer *l)
{
    int rc;

    if (in->n_in_programs > ASSAY_MAX_LAYER_INPUTS)
        return bad(g, "input programs", in->n_in_programs, "at most 64");
    if (in->n_in_programs > 0) {
        if (charge(g, in->n_in_programs * sizeof(*l->in_programs)) < 0)
            return ASSAY_EMEMORY;
        l->in_programs = assay_arena_array(g->slice->arena, in->n_in_programs,
                                           sizeof(*l->in_programs));
        if (l->in_programs == NULL)
            return assay_fail(g->err, ASSAY_EMEMORY, "no memory for a slice");
        l->n_in_programs = (uint32_t)in->n_in_programs;
    }
    for (size_t i = 0; i < in->n_in_programs; i++) {
        rc = get_program(g, in->in_programs[i], &l->in_programs[i]);
        if (rc < 0)
            return assay_err_prefix(g->err, "input program %zu", i);
    }
    rc = get_program(g, in->out_program, &l->out_program);
    if (rc < 0)
        return assay_err_prefix(g->err, "output program");
    rc = get_program(g, in->real_steps, &l->real_steps);
    if (rc < 0)
        return assay_err_prefix(g->err, "real steps");
    return 0;
}

static int get_names(struct get *g, const Assay__Pb__Layer *in,
                     struct assay_layer *l)
{
    if (get_str(g, in->name, &l->name) < 0 ||
        get_str(g, in->source_op, &l->source_op) < 0 ||
        get_str(g, in->arith, &l->arith) < 0)
        return ASSAY_EMEMORY;
    if (in->skip_reason[0] != '\0')
        return get_str(g, in->skip_reason, &l->skip_reason);
    return 0;
}

#define MAX_FIELDS 64

static int get_field(struct get *g, const Assay__Pb__Field *in,
                     struct assay_field *f)
{
    const void *v = NULL;
    int rc;

    if (in->v.len == 0 || in->v.len % sizeof(*f->v) != 0)
        return assay_fail(g->err, ASSAY_EPROTOCOL,
                          "%zu bytes, expected 8 for each value", in->v.len);
    rc = get_str(g, in->name, &f->name);
    if (rc == 0)
        rc = get_copy(g, in->v.data, in->v.len, &v);
    if (rc < 0)
        return rc;
    f->v = v;
    f->n = (uint32_t)(in->v.len / sizeof(*f->v));
    if (assay_field_is_tensor(f->name) &&
        (f->n != 1 || f->v[0] < 0 || f->v[0] >= (int64_t)g->slice->n_tensors))
        return assay_fail(g->err, ASSAY_EPROTOCOL,
                          "'%.40s' is expected to be an index of a tensor",
                          f->name);
    return 0;
}

/* Its form, and the fields that its rule reads. */
static int get_form(struct get *g, const Assay__Pb__Layer *in,
                    struct assay_layer *l)
{
    int rc = 0;

    if (in->n_fields > MAX_FIELDS)
        return bad(g, "fields", in->n_fields, "at most 64");
    l->half = in->half;
    if (in->form[0] != '\0')
        rc = get_str(g, in->form, &l->form);
    if (rc == 0 && in->rule[0] != '\0')
        rc = get_str(g, in->rule, &l->rule);
    if (rc < 0 || in->n_fields == 0)
        return rc;
    if (charge(g, in->n_fields * sizeof(*l->fields)) < 0)
        return ASSAY_EMEMORY;
    l->fields =
        assay_arena_array(g->slice->arena, in->n_fields, sizeof(*l->fields));
    if (l->fields == NULL)
        return assay_fail(g->err, ASSAY_EMEMORY, "no memory for a slice");
    for (size_t i = 0; i < in->n_fields; i++) {
        rc = get_field(g, in->fields[i], &l->fields[i]);
        if (rc < 0)
            return assay_err_prefix(g->err, "field %zu", i);
    }
    l->n_fields = (uint32_t)in->n_fields;
    return 0;
}

static int get_layer(struct get *g, const Assay__Pb__Layer *in)
{
    struct assay_layer *l;
    uint32_t index;
    int rc;

    if (in->n_inputs > ASSAY_MAX_LAYER_INPUTS)
        return bad(g, "inputs", in->n_inputs, "at most 64");
    rc = assay_codec_list(g->err, "op", in->op, ASSAY_OP_CONV2D,
                          ASSAY_OP_SELECT);
    if (rc < 0)
        return rc;
    if (in->real_op > ASSAY_REAL_UNARY)
        return bad(g, "real_op", in->real_op, "0..8");
    if (in->output >= g->slice->n_tensors)
        return bad(g, "output", in->output, "an index of a tensor");
    if (charge(g, 3 * sizeof(*l) + in->n_inputs * sizeof(uint32_t)) < 0)
        return ASSAY_EMEMORY;
    rc =
        assay_slice_add_layer(g->slice, (uint32_t)in->n_inputs, &index, g->err);
    if (rc < 0)
        return rc;
    l = &g->slice->layers[index];
    for (size_t i = 0; i < in->n_inputs; i++) {
        if (in->inputs[i] >= g->slice->n_tensors)
            return bad(g, "input", in->inputs[i], "an index of a tensor");
        l->inputs[i] = in->inputs[i];
    }
    l->op = (enum assay_op)in->op;
    l->real_op = (enum assay_real_op)in->real_op;
    l->source_index = in->source_index;
    l->output = in->output;
    l->arith_overridden = in->arith_overridden;
    rc = get_names(g, in, l);
    if (rc == 0)
        rc = get_params(g, in, l);
    if (rc == 0)
        rc = get_programs(g, in, l);
    if (rc == 0)
        rc = get_form(g, in, l);
    return rc;
}

static int get_slice(struct get *g, const Assay__Pb__Slice *in)
{
    int rc;

    if (in->n_tensors > ASSAY_MAX_TENSORS)
        return bad(g, "tensors", in->n_tensors, "at most 262144");
    if (in->n_layers > ASSAY_MAX_LAYERS)
        return bad(g, "layers", in->n_layers, "at most 65536");
    if (in->model_sha256.len != ASSAY_SHA256_LEN)
        return bad(g, "model_sha256 length", in->model_sha256.len, "32");
    memcpy(g->slice->model_sha256, in->model_sha256.data, ASSAY_SHA256_LEN);
    if (get_str(g, in->model_name, &g->slice->model_name) < 0 ||
        get_str(g, in->model_format, &g->slice->model_format) < 0 ||
        get_str(g, in->numerics, &g->slice->numerics) < 0)
        return ASSAY_EMEMORY;
    for (size_t i = 0; i < in->n_tensors; i++) {
        rc = get_tensor(g, in->tensors[i]);
        if (rc < 0)
            return assay_err_prefix(g->err, "slice: tensor %zu '%s'", i,
                                    in->tensors[i]->name);
    }
    for (size_t i = 0; i < in->n_layers; i++) {
        rc = get_layer(g, in->layers[i]);
        if (rc < 0)
            return assay_err_prefix(g->err, "slice: layer %zu '%s'", i,
                                    in->layers[i]->name);
    }
    return 0;
}

int assay_slice_decode(struct assay_slice **out, const void *data, size_t n,
                       const struct assay_blob_source *blobs,
                       size_t memory_bytes, struct assay_err *err)
{
    struct assay_err local = {0};
    struct get g = {.blobs = blobs, .err = err != NULL ? err : &local};
    Assay__Pb__Slice *in = NULL;
    int rc;

    if (n > ASSAY_SLICE_BYTES_MAX)
        return assay_fail(err, ASSAY_ERANGE,
                          "the slice's description has %zu bytes, the cap is "
                          "%u",
                          n, ASSAY_SLICE_BYTES_MAX);
    assay_codec_alloc_init(&g.alloc, memory_bytes != 0 ? memory_bytes
                                                       : (1u << 20) + 64 * n);
    in = assay__pb__slice__unpack(&g.alloc.pb, n, data);
    if (in == NULL && g.alloc.starved)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a slice");
    if (in == NULL)
        return assay_fail(
            err, g.alloc.refused ? ASSAY_EMEMORY : ASSAY_EPROTOCOL,
            g.alloc.refused ? "the slice's description of %zu bytes needs "
                              "more memory than it may"
                            : "the slice's description of %zu bytes is not "
                              "a protobuf message",
            n);
    g.slice = assay_slice_new();
    if (g.slice == NULL)
        rc = assay_fail(err, ASSAY_EMEMORY, "no memory for a slice");
    else
        rc = get_slice(&g, in);
    assay__pb__slice__free_unpacked(in, &g.alloc.pb);
    if (rc < 0) {
        assay_slice_free(g.slice);
        return rc;
    }
    *out = g.slice;
    return 0;
}
