/* SPDX-License-Identifier: Apache-2.0 */
/* A slice to its description. The generated tree is built in an arena that
 * lives as long as the call. */
#include <string.h>

#include "lib/core/buf.h"
#include "proto/assay.pb-c.h"
#include "proto/codec.h"
#include "proto/codec_params.h"

static char *str(const char *s)
{
    return (char *)(uintptr_t)(s != NULL ? s : "");
}

static ProtobufCBinaryData bin(const void *p, size_t n)
{
    ProtobufCBinaryData b = {.len = n, .data = (uint8_t *)(uintptr_t)p};

    if (p == NULL)
        b.len = 0;
    return b;
}

/* Operand arrays are memory images: every machine that this is built for is
 * little-endian, and the build fails elsewhere. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "operand arrays are stored as they lie in memory");

static int put_program(struct assay_arena *a, Assay__Pb__Program *out,
                       const struct assay_program *p)
{
    assay__pb__program__init(out);
    if (p->n_steps == 0)
        return 0;
    if (p->n_steps > ASSAY_MAX_STEPS)
        return ASSAY_ERANGE;
    out->n_steps = p->n_steps;
    out->steps = assay_arena_array(a, p->n_steps, sizeof(*out->steps));
    if (out->steps == NULL)
        return ASSAY_EMEMORY;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const struct assay_step *s = &p->steps[i];
        Assay__Pb__Step *o = assay_arena_alloc(a, sizeof(*o));

        if (o == NULL)
            return ASSAY_EMEMORY;
        assay__pb__step__init(o);
        o->kind = s->kind;
        o->round = s->round;
        o->add_mode = s->add_mode;
        o->bits = s->bits;
        o->n = s->n;
        o->a = bin(s->a, (size_t)s->n * sizeof(*s->a));
        o->b = bin(s->b, (size_t)s->n * sizeof(*s->b));
        out->steps[i] = o;
    }
    return 0;
}

static int put_tensor(struct assay_arena *a, Assay__Pb__Tensor **out,
                      const struct assay_tensor *t)
{
    Assay__Pb__Tensor *o = assay_arena_alloc(a, sizeof(*o));

    if (o == NULL)
        return ASSAY_EMEMORY;
    if (t->rank > ASSAY_MAX_RANK)
        return ASSAY_ERANGE;
    assay__pb__tensor__init(o);
    o->name = str(t->name);
    o->role = (uint32_t)t->role;
    o->is_output = t->is_output;
    o->dtype = (uint32_t)t->dtype;
    o->n_dims = t->rank;
    o->dims = (int64_t *)(uintptr_t)t->dims;
    o->perm = bin(t->perm, t->rank);
    o->axes = str(t->axes);
    if (t->quant.n > 0) {
        o->scale = bin(t->quant.scale, (size_t)t->quant.n * sizeof(float));
        o->zero_point =
            bin(t->quant.zero_point, (size_t)t->quant.n * sizeof(int32_t));
        o->quant_axis = t->quant.n > 1 ? t->quant.axis : -1;
    }
    if (t->role == ASSAY_ROLE_CONSTANT) {
        o->sha256 = bin(t->sha256, ASSAY_SHA256_LEN);
        o->size = t->size;
    }
    *out = o;
    return 0;
}

static int put_programs(struct assay_arena *a, Assay__Pb__Layer *o,
                        const struct assay_layer *l)
{
    int rc;

    o->n_in_programs = l->n_in_programs;
    if (l->n_in_programs > 0) {
        o->in_programs =
            assay_arena_array(a, l->n_in_programs, sizeof(*o->in_programs));
        if (o->in_programs == NULL)
            return ASSAY_EMEMORY;
    }
    for (uint32_t i = 0; i < l->n_in_programs; i++) {
        o->in_programs[i] = assay_arena_alloc(a, sizeof(**o->in_programs));
        if (o->in_programs[i] == NULL)
            return ASSAY_EMEMORY;
        rc = put_program(a, o->in_programs[i], &l->in_programs[i]);
        if (rc < 0)
            return rc;
    }
    if (l->out_program.n_steps > 0) {
        o->out_program = assay_arena_alloc(a, sizeof(*o->out_program));
        if (o->out_program == NULL)
            return ASSAY_EMEMORY;
        rc = put_program(a, o->out_program, &l->out_program);
        if (rc < 0)
            return rc;
    }
    if (l->real_steps.n_steps > 0) {
        o->real_steps = assay_arena_alloc(a, sizeof(*o->real_steps));
        if (o->real_steps == NULL)
            return ASSAY_EMEMORY;
        return put_program(a, o->real_steps, &l->real_steps);
    }
    return 0;
}

static int put_fields(struct assay_arena *a, Assay__Pb__Layer *o,
                      const struct assay_layer *l)
{
    o->n_fields = l->n_fields;
    if (l->n_fields == 0)
        return 0;
    o->fields = assay_arena_array(a, l->n_fields, sizeof(*o->fields));
    if (o->fields == NULL)
        return ASSAY_EMEMORY;
    for (uint32_t i = 0; i < l->n_fields; i++) {
        const struct assay_field *f = &l->fields[i];

        o->fields[i] = assay_arena_alloc(a, sizeof(**o->fields));
        if (o->fields[i] == NULL)
            return ASSAY_EMEMORY;
        assay__pb__field__init(o->fields[i]);
        o->fields[i]->name = str(f->name);
        o->fields[i]->v = bin(f->v, (size_t)f->n * sizeof(*f->v));
    }
    return 0;
}

static int put_layer(struct assay_arena *a, Assay__Pb__Layer **out,
                     const struct assay_layer *l)
{
    Assay__Pb__Layer *o = assay_arena_alloc(a, sizeof(*o));
    int rc;

    if (o == NULL)
        return ASSAY_EMEMORY;
    assay__pb__layer__init(o);
    o->name = str(l->name);
    o->source_op = str(l->source_op);
    o->source_index = l->source_index;
    o->op = (uint32_t)l->op;
    o->n_inputs = l->n_inputs;
    o->inputs = l->inputs;
    o->output = l->output;
    o->real_op = (uint32_t)l->real_op;
    o->arith = str(l->arith);
    o->arith_overridden = l->arith_overridden;
    o->skip_reason = str(l->skip_reason);
    o->form = str(l->form);
    o->rule = str(l->rule);
    o->half = l->half;
    rc = assay_codec_put_params(a, o, l);
    if (rc < 0)
        return rc;
    rc = put_programs(a, o, l);
    if (rc == 0)
        rc = put_fields(a, o, l);
    if (rc < 0)
        return rc;
    *out = o;
    return 0;
}

static int put_slice(struct assay_arena *a, Assay__Pb__Slice *o,
                     const struct assay_slice *s, struct assay_err *err)
{
    int rc;

    assay__pb__slice__init(o);
    o->model_name = str(s->model_name);
    o->model_format = str(s->model_format);
    o->model_sha256 = bin(s->model_sha256, ASSAY_SHA256_LEN);
    o->numerics = str(s->numerics);
    o->n_tensors = s->n_tensors;
    o->n_layers = s->n_layers;
    o->tensors = assay_arena_array(a, s->n_tensors + 1u, sizeof(*o->tensors));
    o->layers = assay_arena_array(a, s->n_layers + 1u, sizeof(*o->layers));
    if (o->tensors == NULL || o->layers == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a slice");
    for (uint32_t i = 0; i < s->n_tensors; i++) {
        rc = put_tensor(a, &o->tensors[i], &s->tensors[i]);
        if (rc < 0)
            return assay_fail(err, rc, "tensor %u '%s' cannot be encoded: %s",
                              i, str(s->tensors[i].name),
                              assay_status_sentence(rc));
    }
    for (uint32_t i = 0; i < s->n_layers; i++) {
        rc = put_layer(a, &o->layers[i], &s->layers[i]);
        if (rc < 0)
            return assay_fail(err, rc, "layer %u '%s' cannot be encoded: %s", i,
                              str(s->layers[i].name),
                              assay_status_sentence(rc));
    }
    return 0;
}

int assay_slice_encode(const struct assay_slice *s, struct assay_buf *out,
                       struct assay_err *err)
{
    struct assay_arena *a = assay_arena_new();
    Assay__Pb__Slice o;
    size_t n;
    int rc;

    if (a == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a slice");
    rc = put_slice(a, &o, s, err);
    if (rc < 0)
        goto out;
    n = assay__pb__slice__get_packed_size(&o);
    if (n > ASSAY_SLICE_BYTES_MAX) {
        rc = assay_fail(err, ASSAY_ERANGE,
                        "the slice's description has %zu bytes, the cap is %u",
                        n, ASSAY_SLICE_BYTES_MAX);
        goto out;
    }
    rc = assay_buf_reserve(out, n);
    if (rc < 0) {
        rc = assay_fail(err, ASSAY_EMEMORY, "no memory for a slice");
        goto out;
    }
    out->len += assay__pb__slice__pack(&o, out->data + out->len);
    rc = 0;
out:
    assay_arena_free(a);
    return rc;
}
