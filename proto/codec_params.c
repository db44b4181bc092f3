/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of ops to messages and back, by the lists of params.def. */
#include "proto/codec_params.h"

#include <inttypes.h>
#include <string.h>

#include "proto/params.def"

int assay_codec_list(struct assay_err *err, const char *field, uint32_t found,
                     uint32_t first, uint32_t last)
{
    if (found >= first && found <= last)
        return 0;
    return assay_fail(
        err, ASSAY_EPROTOCOL,
        "field '%s' is %" PRIu32 ", expected %" PRIu32 "..%" PRIu32 "%s", field,
        found, first, last,
        found > last ? ": the sender is newer than this build" : "");
}

static int check_int(struct assay_err *err, const char *field, int64_t found,
                     int64_t lowest, int64_t highest)
{
    if (found >= lowest && found <= highest)
        return 0;
    return assay_fail(err, ASSAY_EPROTOCOL,
                      "field '%s' is %" PRId64 ", expected %" PRId64
                      "..%" PRId64,
                      field, found, lowest, highest);
}

/* ---- plain fields ---------------------------------------------------------- */

#define PUT_INT(field, lowest, highest) o->field = p->field;
#define PUT_LIST(field, first, last) o->field = (uint32_t)p->field;
#define PUT_FLAG(field) o->field = p->field;

/* Gives the message, new and filled, or NULL. */
#define PUT(message, Type) \
    static Assay__Pb__##Type *put_##message( \
        struct assay_arena *a, const struct assay_##message##_params *p) \
    { \
        Assay__Pb__##Type *o = assay_arena_alloc(a, sizeof(*o)); \
\
        if (o == NULL) \
            return NULL; \
        protobuf_c_message_init(&assay__pb__##message##__descriptor, o); \
        ASSAY_PARAMS_##message(PUT_INT, PUT_LIST, PUT_FLAG); \
        return o; \
    }

#define GET_INT(field, lowest, highest) \
    if (rc == 0) \
        rc = check_int(err, #field, in->field, lowest, highest); \
    p->field = in->field;
#define GET_LIST(field, first, last) \
    if (rc == 0) \
        rc = assay_codec_list(err, #field, in->field, first, last); \
    p->field = in->field;
#define GET_FLAG(field) p->field = in->field;

/* *p is to be used when 0 comes back. */
#define GET(message, Type) \
    static int get_##message(const Assay__Pb__##Type *in, \
                             struct assay_##message##_params *p, \
                             struct assay_err *err) \
    { \
        int rc = 0; \
\
        ASSAY_PARAMS_##message(GET_INT, GET_LIST, GET_FLAG); \
        return rc; \
    }

ASSAY_PARAMS(PUT)
ASSAY_PARAMS(GET)

/* ---- what is no plain number ------------------------------------------------ */

static int put_special(Assay__Pb__Layer *o, const struct assay_layer *l)
{
    const struct assay_view_params *v = &l->p.view;

    switch (l->op) {
    case ASSAY_OP_BINARY:
        memcpy(&o->binary->k, &l->p.binary.k, sizeof(o->binary->k));
        return 0;
    case ASSAY_OP_NORMALIZE:
        memcpy(&o->normalize->epsilon, &l->p.normalize.epsilon,
               sizeof(o->normalize->epsilon));
        return 0;
    case ASSAY_OP_SOFTMAX:
        o->softmax->table.data = (uint8_t *)(uintptr_t)l->p.softmax.table;
        if (l->p.softmax.table != NULL)
            o->softmax->table.len = 256 * sizeof(uint32_t);
        return 0;
    case ASSAY_OP_VIEW:
        if (v->rank > ASSAY_MAX_RANK)
            return ASSAY_ERANGE;
        o->view->n_dims = v->rank;
        o->view->dims = (int64_t *)(uintptr_t)v->dims;
        o->view->n_strides = v->rank;
        o->view->strides = (int64_t *)(uintptr_t)v->strides;
        return 0;
    default: return 0;
    }
}

static int get_view_axes(const Assay__Pb__View *in, struct assay_view_params *p,
                         struct assay_err *err)
{
    if (in->n_dims < 1 || in->n_dims > ASSAY_MAX_RANK)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "field 'rank' is %zu, expected 1..%d", in->n_dims,
                          ASSAY_MAX_RANK);
    if (in->n_strides != in->n_dims)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "%zu dimensions and %zu strides do not fit each "
                          "other",
                          in->n_dims, in->n_strides);
    p->rank = (uint32_t)in->n_dims;
    for (uint32_t i = 0; i < p->rank; i++) {
        if (in->dims[i] < 1)
            return assay_fail(err, ASSAY_EPROTOCOL,
                              "dimension %u is %" PRId64
                              ", expected at least 1",
                              i, in->dims[i]);
        p->dims[i] = in->dims[i];
        p->strides[i] = in->strides[i];
    }
    return 0;
}

static int get_special(const Assay__Pb__Layer *in, struct assay_layer *l,
                       struct assay_err *err)
{
    switch (l->op) {
    case ASSAY_OP_BINARY:
        memcpy(&l->p.binary.k, &in->binary->k, sizeof(l->p.binary.k));
        return 0;
    case ASSAY_OP_NORMALIZE:
        memcpy(&l->p.normalize.epsilon, &in->normalize->epsilon,
               sizeof(l->p.normalize.epsilon));
        return 0;
    case ASSAY_OP_SOFTMAX:
        if (in->softmax->table.len == 0 ||
            in->softmax->table.len == 256 * sizeof(uint32_t))
            return 0;
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "field 'table length' is %zu, expected 0 or 1024",
                          in->softmax->table.len);
    case ASSAY_OP_VIEW: return get_view_axes(in->view, &l->p.view, err);
    case ASSAY_OP_RESIZE:
        if (l->p.resize.weight_bits <= l->p.resize.decimal_bits)
            return 0;
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "field 'weight_bits' is %u, expected at most the "
                          "%u of decimal_bits",
                          l->p.resize.weight_bits, l->p.resize.decimal_bits);
    default: return 0;
    }
}

/* ---- one op's ---------------------------------------------------------------- */

enum message {
    MESSAGE_none,
#define ENUM(message, Type) MESSAGE_##message,
    ASSAY_PARAMS(ENUM)
};

static enum message message_of(enum assay_op op)
{
    switch (op) {
    case ASSAY_OP_CONV2D:
    case ASSAY_OP_GEMM:
    case ASSAY_OP_CONV_TRANSPOSE2D: return MESSAGE_conv2d;
    case ASSAY_OP_BINARY: return MESSAGE_binary;
    case ASSAY_OP_POOL: return MESSAGE_pool;
    case ASSAY_OP_CONCAT: return MESSAGE_concat;
    case ASSAY_OP_SOFTMAX: return MESSAGE_softmax;
    case ASSAY_OP_VIEW: return MESSAGE_view;
    case ASSAY_OP_GATHER: return MESSAGE_gather;
    case ASSAY_OP_REDUCE: return MESSAGE_reduce;
    case ASSAY_OP_SEGMENT_TABLE: return MESSAGE_segment;
    case ASSAY_OP_RESIZE: return MESSAGE_resize;
    case ASSAY_OP_GRID_SAMPLE: return MESSAGE_grid_sample;
    case ASSAY_OP_FUNCTION: return MESSAGE_function;
    case ASSAY_OP_NORMALIZE: return MESSAGE_normalize;
    case ASSAY_OP_UNARY:
    case ASSAY_OP_RESHAPE:
    case ASSAY_OP_SKIPPED:
    case ASSAY_OP_MATMUL:
    case ASSAY_OP_PRELU:
    case ASSAY_OP_TABLE:
    case ASSAY_OP_SELECT: break;
    }
    return MESSAGE_none;
}

int assay_codec_put_params(struct assay_arena *a, Assay__Pb__Layer *o,
                           const struct assay_layer *l)
{
    switch (message_of(l->op)) {
#define PUT_CASE(message, Type) \
    case MESSAGE_##message: \
        o->message = put_##message(a, &l->p.message); \
        return o->message != NULL ? put_special(o, l) : ASSAY_EMEMORY;
        ASSAY_PARAMS(PUT_CASE)
    case MESSAGE_none: break;
    }
    return assay_op_name(l->op)[0] != '?' ? 0 : ASSAY_ERANGE;
}

int assay_codec_get_params(const Assay__Pb__Layer *in, struct assay_layer *l,
                           struct assay_err *err)
{
    int rc;

    switch (message_of(l->op)) {
#define GET_CASE(message, Type) \
    case MESSAGE_##message: \
        if (in->message == NULL) \
            break; \
        rc = get_##message(in->message, &l->p.message, err); \
        if (rc == 0) \
            rc = get_special(in, l, err); \
        return rc == 0 ? 0 : assay_err_prefix(err, #message);
        ASSAY_PARAMS(GET_CASE)
    case MESSAGE_none: return 0;
    }
    return assay_fail(err, ASSAY_EPROTOCOL,
                      "op %s has no parameters, expected some",
                      assay_op_name(l->op));
}
