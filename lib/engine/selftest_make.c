/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/engine/selftest_make.h"

#include <string.h>

#include "lib/core/buf.h"

void assay_selftest_draw_begin(struct assay_selftest_draw *d, const char *name,
                               unsigned number)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (; *name != '\0'; name++)
        h = (h ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
    d->state = h ^ number * UINT64_C(0x9e3779b97f4a7c15);
}

int64_t assay_selftest_draw_next(struct assay_selftest_draw *d, int64_t lo,
                                 int64_t hi)
{
    d->state = d->state * UINT64_C(6364136223846793005) +
               UINT64_C(1442695040888963407);
    return lo + (int64_t)((d->state >> 33) % (uint64_t)(hi - lo + 1));
}

void *assay_make_memory(struct assay_make *m, size_t count, size_t size)
{
    void *p = assay_arena_array(m->s->arena, count + 1, size);

    if (p == NULL)
        m->rc = ASSAY_EMEMORY;
    return p;
}

/* Numbers lo..hi, one a channel (or 1 for all), as operands of a step. */
const int64_t *assay_make_ints(struct assay_make *m, size_t n, int64_t lo,
                               int64_t hi)
{
    int64_t *v = assay_make_memory(m, n, sizeof(*v));
    struct assay_selftest_draw d;

    assay_selftest_draw_begin(&d, m->name, m->draws++);
    for (size_t i = 0; v != NULL && i < n; i++)
        v[i] = assay_selftest_draw_next(&d, lo, hi);
    return v;
}

int64_t assay_make_bits_of(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof(u));
    return u;
}

/* The same times 2^-down, as bits of a binary32. */
const int64_t *assay_make_floats(struct assay_make *m, size_t n, int64_t lo,
                                 int64_t hi, unsigned down)
{
    int64_t *v = (int64_t *)(uintptr_t)assay_make_ints(m, n, lo, hi);

    for (size_t i = 0; v != NULL && i < n; i++)
        v[i] = assay_make_bits_of((float)v[i] / (float)(UINT64_C(1) << down));
    return v;
}

const int64_t *assay_make_one(struct assay_make *m, int64_t value)
{
    int64_t *v = assay_make_memory(m, 1, sizeof(*v));

    if (v != NULL)
        *v = value;
    return v;
}

/* Elements lo..hi; of a binary32: lo/64..hi/64. */
static void *elements(struct assay_make *m, enum assay_dtype dtype, size_t n,
                      int64_t lo, int64_t hi)
{
    size_t size = assay_dtype_bytes(dtype);
    char *data = assay_make_memory(m, n, size);
    struct assay_selftest_draw d;

    assay_selftest_draw_begin(&d, m->name, m->draws++);
    for (size_t i = 0; data != NULL && i < n; i++) {
        int64_t v = assay_selftest_draw_next(&d, lo, hi);
        float f = (float)v / 64.0f;

        if (dtype == ASSAY_F32)
            memcpy(data + i * size, &f, size);
        else
            memcpy(data + i * size, &v, size); /* little-endian */
    }
    return data;
}

static struct assay_tensor *tensor(struct assay_make *m,
                                   const struct assay_make_tensor *t,
                                   uint32_t *index)
{
    struct assay_tensor *r;

    if (assay_slice_add_tensor(m->s, index, NULL) < 0 ||
        *index >= ASSAY_SELFTEST_TENSORS) {
        m->rc = ASSAY_EMEMORY;
        return NULL;
    }
    r = &m->s->tensors[*index];
    r->name = m->name;
    r->dtype = t->dtype;
    for (; r->rank < 6 && t->dims[r->rank] != 0; r->rank++)
        r->dims[r->rank] = t->dims[r->rank];
    return r;
}

void assay_make_set_zero(struct assay_make *m, uint32_t index, float scale,
                         int32_t zero)
{
    struct assay_quant *q = &m->s->tensors[index].quant;
    float *s = assay_make_memory(m, 1, sizeof(*s));
    int32_t *z = assay_make_memory(m, 1, sizeof(*z));

    if (s == NULL || z == NULL)
        return;
    *s = scale;
    *z = zero;
    *q = (struct assay_quant){.n = 1, .axis = -1, .scale = s, .zero_point = z};
}

uint32_t assay_make_input(struct assay_make *m, struct assay_make_tensor t)
{
    uint32_t index = 0;
    struct assay_tensor *r = tensor(m, &t, &index);
    size_t n, bytes;

    if (r == NULL || assay_tensor_count(r, &n, &bytes, NULL) < 0)
        return 0;
    r->role = ASSAY_ROLE_INPUT;
    m->out->data[index] = elements(m, t.dtype, n, t.lo, t.hi);
    return index;
}

uint32_t assay_make_constant(struct assay_make *m, struct assay_make_tensor t)
{
    uint32_t index = assay_make_input(m, t);
    struct assay_tensor *r;
    size_t n, bytes;

    if (m->rc < 0)
        return 0;
    r = &m->s->tensors[index];
    if (assay_tensor_count(r, &n, &bytes, NULL) < 0)
        return 0;
    r->role = ASSAY_ROLE_CONSTANT;
    r->data = m->out->data[index];
    r->size = bytes;
    return index;
}

/* A layer of n inputs with the output y; the program: m->layer's. */
uint32_t assay_make_layer(struct assay_make *m, enum assay_op op, uint32_t n,
                          const uint32_t *inputs, struct assay_make_tensor y)
{
    uint32_t index = 0, out = 0;
    struct assay_tensor *t = tensor(m, &y, &out);

    if (t == NULL || assay_slice_add_layer(m->s, n, &index, NULL) < 0) {
        static struct assay_layer none; /* nobody runs it */

        m->rc = ASSAY_EMEMORY;
        memset(&none, 0, sizeof(none));
        m->layer = &none;
        return 0;
    }
    t->is_output = true;
    m->layer = &m->s->layers[index];
    m->layer->name = m->name;
    m->layer->source_op = "";
    m->layer->op = op;
    memcpy(m->layer->inputs, inputs, n * sizeof(*inputs));
    m->layer->output = out;
    return out;
}

void assay_make_step(struct assay_program *p, enum assay_step_kind kind,
                     size_t n, const int64_t *a, const int64_t *b)
{
    p->steps[p->n_steps++] = (struct assay_step){
        .kind = (uint8_t)kind, .n = (uint32_t)n, .a = a, .b = b};
}

void assay_make_rounded(struct assay_program *p, enum assay_step_kind kind,
                        const int64_t *a, enum assay_round round)
{
    assay_make_step(p, kind, a != NULL, a, NULL);
    p->steps[p->n_steps - 1].round = (uint8_t)round;
}

void assay_make_sat(struct assay_program *p, unsigned bits)
{
    assay_make_step(p, ASSAY_STEP_SAT, 0, NULL, NULL);
    p->steps[p->n_steps - 1].bits = (uint8_t)bits;
}

/* To lo..hi by binary32: as onnxruntime requantizes. */
void assay_make_by_float(struct assay_make *m, struct assay_program *p,
                         size_t channels, unsigned down, int64_t lo, int64_t hi)
{
    assay_make_step(p, ASSAY_STEP_TO_F32, 0, NULL, NULL);
    assay_make_step(p, ASSAY_STEP_FMUL, channels,
                    assay_make_floats(m, channels, 1, 9, down), NULL);
    assay_make_step(p, ASSAY_STEP_FCLAMP, 1,
                    assay_make_one(m, assay_make_bits_of((float)lo)),
                    assay_make_one(m, assay_make_bits_of((float)hi)));
    assay_make_rounded(p, ASSAY_STEP_FROUND, NULL, ASSAY_ROUND_HALF_EVEN);
}

/* To lo..hi by a multiplier of 31 bits and a shift. */
void assay_make_by_fixed(struct assay_make *m, struct assay_program *p,
                         size_t channels, int64_t shift, enum assay_round round,
                         int64_t zero, int64_t lo, int64_t hi)
{
    assay_make_step(p, ASSAY_STEP_SRDHM, channels,
                    assay_make_ints(m, channels, 1 << 30, INT32_MAX), NULL);
    assay_make_rounded(p, ASSAY_STEP_SHR, assay_make_one(m, shift), round);
    assay_make_step(p, ASSAY_STEP_ADD_ZP, 1, assay_make_one(m, zero), NULL);
    assay_make_step(p, ASSAY_STEP_CLAMP, 1, assay_make_one(m, lo),
                    assay_make_one(m, hi));
}

/* To 8 or 16 bits by a multiplier and one shift: as the vendor requantizes. */
void assay_make_by_shift(struct assay_make *m, struct assay_program *p,
                         size_t channels, int64_t shift, enum assay_round round,
                         unsigned bits)
{
    assay_make_step(p, ASSAY_STEP_MUL, channels,
                    assay_make_ints(m, channels, 1, 127), NULL);
    assay_make_rounded(p, ASSAY_STEP_SHR, assay_make_one(m, shift), round);
    assay_make_sat(p, bits);
}
