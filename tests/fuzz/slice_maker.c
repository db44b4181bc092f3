/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors and layers; each layer finds its input among the tensors or adds
 * one. Sizes are small: a slice runs in about a millisecond. */
#include "tests/fuzz/slice_maker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void choices_init(struct choices *c, const uint8_t *data, size_t size)
{
    *c = (struct choices){.at = data, .left = size, .state = 0x9e3779b9};
    for (size_t i = 0; i < size; i++)
        c->state = (c->state ^ data[i]) * 0x100000001b3u;
}

/* Bytes first, each stretched to 64 bits; then splitmix64 from their hash. */
uint64_t choose_bits(struct choices *c)
{
    uint64_t z = c->state += 0x9e3779b97f4a7c15u;

    if (c->left > 0) {
        z = (z >> 60) + *c->at++ * 0x0101010101010101u;
        c->left--;
    }
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t choose(struct choices *c, int64_t lo, int64_t hi)
{
    return lo + (int64_t)(choose_bits(c) % ((uint64_t)(hi - lo) + 1));
}

bool chance(struct choices *c, unsigned percent)
{
    return choose_bits(c) % 100 < percent;
}

static void put_element(enum assay_dtype dtype, void *to, size_t i, int64_t v)
{
    size_t size = assay_dtype_bytes(dtype);

    memcpy((char *)to + i * size, &v, size); /* little-endian, as a slice is */
}

void choose_values(struct choices *c, enum assay_dtype dtype, void *to,
                   size_t n)
{
    static const float floats[] = {0.0f,      -0.0f,  1e-45f,  3.4e38f,
                                   -3.4e38f,  1.5f,   -2.5f,   INFINITY,
                                   -INFINITY, 127.5f, -128.5f, 16777217.0f};
    unsigned pattern = (unsigned)choose(c, 0, 4);
    int64_t lo, hi;

    assay_dtype_range(dtype, &lo, &hi);
    for (size_t i = 0; i < n; i++) {
        uint64_t r = choose_bits(c);

        if (dtype == ASSAY_F32) {
            float f = (float)((int64_t)(r % 20001) - 10000) / 37.0f;

            if (pattern == 0)
                f = floats[r % (sizeof(floats) / sizeof(floats[0]))];
            if (pattern == 1 && r % 7 == 0)
                f = NAN;
            memcpy((char *)to + i * sizeof(f), &f, sizeof(f));
        } else if (pattern < 3) { /* all low, all high, in turn */
            put_element(dtype, to, i,
                        pattern == 0 || (pattern == 2 && i % 2) ? lo : hi);
        } else {
            put_element(dtype, to, i, (int64_t)r);
        }
    }
}

enum assay_dtype any_dtype(struct choices *c)
{
    return (enum assay_dtype)choose(c, ASSAY_S8, ASSAY_S64);
}

enum assay_dtype fused_dtype(struct choices *c)
{
    static const uint8_t most[] = {ASSAY_S8, ASSAY_U8, ASSAY_S8, ASSAY_S16,
                                   ASSAY_S32};

    if (chance(c, 20))
        return any_dtype(c);
    return (enum assay_dtype)most[choose(c, 0, 4)];
}

struct assay_tensor *made_tensor(struct work *w, uint32_t i)
{
    return &w->s->tensors[i];
}

static void shuffle_perm(struct choices *c, struct assay_tensor *t)
{
    for (uint32_t i = t->rank; i > 1; i--) {
        uint32_t j = (uint32_t)choose(c, 0, i - 1);
        uint8_t k = t->perm[i - 1];

        t->perm[i - 1] = t->perm[j];
        t->perm[j] = k;
    }
}

/* n scales and zero points on `axis`. */
void quantize_tensor(struct work *w, struct assay_tensor *t, uint32_t n,
                     int32_t axis)
{
    float *scale = assay_arena_array(w->s->arena, n, sizeof(*scale));
    int32_t *zero = assay_arena_array(w->s->arena, n, sizeof(*zero));
    int64_t lo, hi;

    if (!scale || !zero)
        return;
    assay_dtype_range(t->dtype, &lo, &hi);
    for (uint32_t i = 0; i < n; i++) {
        scale[i] = ldexpf(1.0f, (int)choose(w->c, -20, 4));
        zero[i] = 0;
        if (t->dtype == ASSAY_S8 || t->dtype == ASSAY_U8 ||
            t->dtype == ASSAY_S16)
            zero[i] = (int32_t)choose(w->c, lo, hi);
    }
    t->quant = (struct assay_quant){n, n > 1 ? axis : -1, scale, zero};
}

/* ~0u when there is no memory; indices, since the array moves. */
uint32_t add_tensor(struct work *w, enum assay_tensor_role role,
                    enum assay_dtype dtype, uint32_t rank, const int64_t *dims)
{
    struct assay_err err;
    char name[32];
    uint32_t i;

    if (assay_slice_add_tensor(w->s, &i, &err) < 0)
        return UINT32_MAX;
    struct assay_tensor *t = made_tensor(w, i);

    t->name = assay_arena_str(w->s->arena, name,
                              (size_t)snprintf(name, sizeof(name), "t%u", i));
    t->role = role;
    t->dtype = dtype;
    t->rank = rank;
    for (uint32_t k = 0; k < rank; k++)
        t->dims[k] = dims[k];
    if (chance(w->c, 40))
        shuffle_perm(w->c, t);
    if (role != ASSAY_ROLE_CONSTANT && chance(w->c, 70))
        quantize_tensor(w, t, 1, -1);
    return t->name ? i : UINT32_MAX;
}

uint32_t add_constant(struct work *w, enum assay_dtype dtype, uint32_t rank,
                      const int64_t *dims)
{
    return add_constant_of(w, dtype, rank, dims, NULL);
}

uint32_t add_constant_of(struct work *w, enum assay_dtype dtype, uint32_t rank,
                         const int64_t *dims, const void *from)
{
    uint32_t i = add_tensor(w, ASSAY_ROLE_CONSTANT, dtype, rank, dims);
    struct assay_err err;
    size_t elements, bytes;
    void *data;

    if (i == UINT32_MAX ||
        assay_tensor_count(made_tensor(w, i), &elements, &bytes, &err) < 0)
        return UINT32_MAX;
    data = assay_arena_alloc(w->s->arena, bytes);
    if (!data)
        return UINT32_MAX;
    if (from)
        memcpy(data, from, bytes);
    else
        choose_values(w->c, dtype, data, elements);
    made_tensor(w, i)->data = data;
    made_tensor(w, i)->size = bytes;
    assay_sha256(data, bytes, made_tensor(w, i)->sha256);
    return i;
}

static void random_dims(struct choices *c, uint32_t rank, int64_t *dims)
{
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = choose(c, 1, rank == 4 ? 8 : rank > 5 ? 2 : 6);
    if (rank > 0 && chance(c, 30)) /* the vector tails */
        dims[rank - 1] = choose(c, 1, MAX_CHANNELS);
}

/* A tensor that is there, of that rank (~0u: any) and one of the dtypes'
 * bits (1u << dtype), or a new input. */
uint32_t find_input(struct work *w, uint32_t rank, unsigned dtypes)
{
    int64_t dims[ASSAY_MAX_RANK];
    enum assay_dtype dtype;

    for (int tries = 0; tries < 4 && w->s->n_tensors > 0; tries++) {
        uint32_t i = (uint32_t)choose(w->c, 0, w->s->n_tensors - 1);
        const struct assay_tensor *t = made_tensor(w, i);

        if ((t->rank == rank || rank == UINT32_MAX) &&
            (dtypes >> t->dtype & 1) && t->quant.n <= 1)
            return i;
    }
    do
        dtype = any_dtype(w->c);
    while (!(dtypes >> dtype & 1));
    if (rank == UINT32_MAX)
        rank = (uint32_t)choose(w->c, 0, chance(w->c, 20) ? 10 : 4);
    random_dims(w->c, rank, dims);
    return add_tensor(w, ASSAY_ROLE_INPUT, dtype, rank, dims);
}

/* The layer, or NULL; its parameters are the caller's to fill. */
struct assay_layer *add_layer(struct work *w, enum assay_op op, uint32_t n,
                              const uint32_t *inputs, uint32_t output)
{
    struct assay_err err;
    char name[32];
    uint32_t i;

    for (uint32_t k = 0; k < n; k++)
        if (inputs[k] == UINT32_MAX)
            return NULL;
    if (output == UINT32_MAX || assay_slice_add_layer(w->s, n, &i, &err) < 0)
        return NULL;
    struct assay_layer *l = &w->s->layers[i];

    l->op = op;
    memcpy(l->inputs, inputs, n * sizeof(*inputs));
    l->output = output;
    l->name = assay_arena_str(w->s->arena, name,
                              (size_t)snprintf(name, sizeof(name), "l%u", i));
    l->source_op = "Made";
    return l->name ? l : NULL;
}

/* ---- damage ------------------------------------------------------------- */

/* Numbers that sit at the ends of something. */
static int64_t odd_number(struct choices *c)
{
    static const int64_t odd[] = {
        0,         -1,        1,         2,         127,       128,
        255,       256,       65535,     65536,     INT32_MAX, INT32_MIN,
        INT64_MAX, INT64_MIN, 1ll << 31, 1ll << 40, 1ll << 62, 3};

    return odd[choose(c, 0, sizeof(odd) / sizeof(odd[0]) - 1)];
}

static void damage_tensor(struct choices *c, struct assay_tensor *t)
{
    switch (choose(c, 0, 5)) {
    case 0: t->dims[choose(c, 0, ASSAY_MAX_RANK - 1)] = odd_number(c); break;
    case 1:
        t->rank = (uint32_t)choose(c, 0, ASSAY_MAX_RANK);
        for (uint32_t i = 0; i < t->rank; i++)
            t->dims[i] = t->dims[i] ? t->dims[i] : 1;
        break;
    case 2: t->dtype = any_dtype(c); break;
    case 3: t->perm[choose(c, 0, 9)] = (uint8_t)choose(c, 0, 10); break;
    case 4: t->quant.n = t->quant.n ? 1 : 0; break;
    default:
        if (t->quant.n)
            *(int32_t *)(uintptr_t)t->quant.zero_point = (int32_t)odd_number(c);
        break;
    }
}

static void damage_step(struct choices *c, struct assay_step *s)
{
    switch (choose(c, 0, 5)) {
    case 0: s->kind = (uint8_t)choose(c, 0, 21); break;
    case 1: s->round = (uint8_t)choose(c, 0, 10); break;
    case 2: s->bits = (uint8_t)choose(c, 0, 65); break;
    case 3: s->add_mode = (uint8_t)choose(c, 0, 4); break;
    case 4: s->n = s->n > 1 ? 1 : s->n; break;
    default: {
        const int64_t *of = chance(c, 60) ? s->a : s->b;

        if (of && s->n)
            ((int64_t *)(uintptr_t)of)[choose(c, 0, s->n - 1)] = odd_number(c);
        break;
    }
    }
}

static void damage_program(struct choices *c, struct assay_program *p)
{
    if (p->n_steps == 0)
        return;
    if (chance(c, 20))
        p->n_steps = (uint32_t)choose(c, 0, p->n_steps - 1);
    else
        damage_step(c, &p->steps[choose(c, 0, p->n_steps - 1)]);
}

/* An element of a constant: an index, a bound, a shift of a table. */
static void damage_constant(struct choices *c, struct assay_slice *s,
                            const struct assay_layer *l)
{
    for (uint32_t i = 1; i < l->n_inputs; i++) {
        struct assay_tensor *t;

        if (l->inputs[i] >= s->n_tensors)
            return;
        t = &s->tensors[l->inputs[i]];
        if (t->data && t->size && chance(c, 50)) {
            size_t bytes = assay_dtype_bytes(t->dtype);
            size_t n = bytes ? t->size / bytes : 0;

            if (n)
                put_element(t->dtype, (void *)(uintptr_t)t->data,
                            (size_t)choose(c, 0, (int64_t)n - 1),
                            odd_number(c));
            assay_sha256(t->data, t->size, t->sha256);
        }
    }
}

static void damage_view(struct choices *c, struct assay_view_params *p)
{
    switch (choose(c, 0, 3)) {
    case 0: p->dims[choose(c, 0, 9)] = odd_number(c); break;
    case 1: p->strides[choose(c, 0, 9)] = odd_number(c); break;
    case 2: p->offset += chance(c, 50) ? 1 : odd_number(c) % 100; break;
    default: p->rank = (uint32_t)choose(c, 0, ASSAY_MAX_RANK); break;
    }
}

static void damage_pool(struct choices *c, struct assay_pool_params *p)
{
    int32_t *first = &p->kh;
    int64_t which = choose(c, 0, 13);

    if (which < 10)
        first[which] = (int32_t)odd_number(c);
    else
        (&p->kind)[which - 10] = (uint8_t)choose(c, 0, 9);
}

static void damage_resize(struct choices *c, struct assay_resize_params *p)
{
    int32_t *first = &p->step_h;
    int64_t which = choose(c, 0, 6);

    if (which < 4)
        first[which] = (int32_t)odd_number(c);
    else
        (&p->decimal_bits)[which - 4] = (uint8_t)choose(c, 0, 26);
}

static void damage_params(struct choices *c, struct assay_layer *l)
{
    int32_t odd = (int32_t)odd_number(c);

    switch (l->op) {
    case ASSAY_OP_CONV2D: /* nine numbers, then the flags */
    case ASSAY_OP_CONV_TRANSPOSE2D:
        (&l->p.conv2d.stride_h)[choose(c, 0, 8)] = odd;
        break;
    case ASSAY_OP_POOL: damage_pool(c, &l->p.pool); break;
    case ASSAY_OP_BINARY:
        l->p.binary.combine = (enum assay_combine)choose(c, 0, 13);
        break;
    case ASSAY_OP_CONCAT: l->p.concat.axis = odd; break;
    case ASSAY_OP_SOFTMAX:
        l->p.softmax.kind =
            l->p.softmax.table ? (uint8_t)choose(c, 0, 3) : ASSAY_SOFTMAX_F32;
        break;
    case ASSAY_OP_VIEW: damage_view(c, &l->p.view); break;
    case ASSAY_OP_GATHER: l->p.gather.axis = odd; break;
    case ASSAY_OP_REDUCE:
        l->p.reduce.axes ^= (uint16_t)(1u << choose(c, 0, 10));
        l->p.reduce.kind = (uint8_t)choose(c, 0, 6);
        break;
    case ASSAY_OP_SEGMENT_TABLE:
        (&l->p.segment.symmetry)[choose(c, 0, 2)] = (uint8_t)choose(c, 0, 9);
        break;
    case ASSAY_OP_RESIZE: damage_resize(c, &l->p.resize); break;
    case ASSAY_OP_GRID_SAMPLE:
        l->p.grid_sample.padding = (uint8_t)choose(c, 0, 3);
        l->p.grid_sample.coord_shift = (uint8_t)choose(c, 0, 15);
        break;
    case ASSAY_OP_FUNCTION: l->p.function.kind = (uint8_t)odd; break;
    case ASSAY_OP_NORMALIZE:
        if (chance(c, 30))
            l->p.normalize.kind = (uint8_t)odd;
        else if (chance(c, 50))
            l->p.normalize.axis = odd;
        else
            memcpy(&l->p.normalize.epsilon, &odd, sizeof(odd));
        break;
    default: break;
    }
}

void damage_slice(struct choices *c, struct assay_slice *s)
{
    for (int64_t n = choose(c, 1, 4); n > 0; n--) {
        struct assay_layer *l = &s->layers[choose(c, 0, s->n_layers - 1)];

        switch (choose(c, 0, 7)) {
        case 0: damage_params(c, l); break;
        case 6: damage_constant(c, s, l); break;
        case 1:
            damage_tensor(c, &s->tensors[choose(c, 0, s->n_tensors - 1)]);
            break;
        case 2: damage_program(c, &l->out_program); break;
        case 3:
            if (l->n_in_programs)
                damage_program(
                    c, &l->in_programs[choose(c, 0, l->n_in_programs - 1)]);
            break;
        case 4:
            if (l->n_inputs)
                l->inputs[choose(c, 0, l->n_inputs - 1)] =
                    (uint32_t)choose(c, 0, s->n_tensors);
            break;
        case 5: l->output = (uint32_t)choose(c, 0, s->n_tensors); break;
        default: l->n_in_programs = l->n_in_programs > 1 ? 1 : 0; break;
        }
    }
}

const void *find_constant(void *slice, const uint8_t sha256[ASSAY_SHA256_LEN],
                          size_t *size)
{
    const struct assay_slice *s = slice;

    for (uint32_t i = 0; i < s->n_tensors; i++) {
        const struct assay_tensor *t = &s->tensors[i];

        if (t->data == NULL || memcmp(t->sha256, sha256, ASSAY_SHA256_LEN) != 0)
            continue;
        *size = t->size;
        return t->data;
    }
    return NULL;
}
