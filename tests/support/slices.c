/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/slices.h"

#include <stdlib.h>
#include <string.h>

static void need(int ok)
{
    if (!ok)
        abort();
}

struct assay_slice *slices_new(void)
{
    struct assay_slice *s = assay_slice_new();
    need(s != NULL);
    s->model_name = "test.onnx";
    s->model_format = "onnx";
    return s;
}

uint32_t slices_tensor(struct assay_slice *s, const char *name,
                       enum assay_tensor_role role, enum assay_dtype dtype,
                       uint32_t rank, const int64_t *dims)
{
    uint32_t index = 0;
    need(assay_slice_add_tensor(s, &index, NULL) == 0);
    struct assay_tensor *t = &s->tensors[index];
    t->name = name;
    t->role = role;
    t->dtype = dtype;
    t->rank = rank;
    for (uint32_t i = 0; i < rank; i++)
        t->dims[i] = dims[i];
    return index;
}

void slices_data(struct assay_slice *s, uint32_t tensor, const void *data)
{
    struct assay_tensor *t = &s->tensors[tensor];
    size_t n, bytes;
    need(assay_tensor_count(t, &n, &bytes, NULL) == 0);
    t->role = ASSAY_ROLE_CONSTANT;
    t->data = assay_arena_copy(s->arena, data, bytes);
    t->size = bytes;
    need(t->data != NULL);
}

void slices_quant(struct assay_slice *s, uint32_t tensor, float scale,
                  int32_t zero)
{
    struct assay_quant *q = &s->tensors[tensor].quant;
    q->n = 1;
    q->axis = -1;
    q->scale = assay_arena_copy(s->arena, &scale, sizeof(scale));
    q->zero_point = assay_arena_copy(s->arena, &zero, sizeof(zero));
    need(q->scale && q->zero_point);
}

uint32_t slices_layer(struct assay_slice *s, const char *name, enum assay_op op,
                      uint32_t n, const uint32_t *inputs, uint32_t output)
{
    uint32_t index = 0;
    need(assay_slice_add_layer(s, n, &index, NULL) == 0);
    struct assay_layer *l = &s->layers[index];
    l->name = name;
    l->source_op = "Test";
    l->op = op;
    for (uint32_t i = 0; i < n; i++)
        l->inputs[i] = inputs[i];
    l->output = output;
    return index;
}

struct assay_slice *slices_one(enum assay_op op, uint32_t n,
                               const struct slices_operand *in,
                               struct slices_operand out)
{
    static const char *const names[] = {"x", "b", "c"};
    static const uint32_t inputs[] = {0, 1, 2};
    struct assay_slice *s = slices_new();
    need(n <= 3);
    for (uint32_t i = 0; i < n; i++) {
        slices_tensor(s, names[i], ASSAY_ROLE_INPUT, in[i].dtype, in[i].rank,
                      in[i].dims);
        if (in[i].data)
            slices_data(s, i, in[i].data);
    }
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, out.dtype, out.rank, out.dims);
    s->tensors[n].is_output = true;
    slices_layer(s, "op", op, n, inputs, n);
    return s;
}

void slices_in_programs(struct assay_slice *s, uint32_t layer, uint32_t n)
{
    struct assay_layer *l = &s->layers[layer];
    l->n_in_programs = n;
    l->in_programs = assay_arena_array(s->arena, n, sizeof(*l->in_programs));
    need(l->in_programs != NULL);
}

void slices_step(struct assay_program *p, enum assay_step_kind kind, uint32_t n,
                 const int64_t *a, const int64_t *b)
{
    need(p->n_steps < ASSAY_MAX_STEPS);
    p->steps[p->n_steps++] =
        (struct assay_step){.kind = (uint8_t)kind, .n = n, .a = a, .b = b};
}

void slices_shr(struct assay_program *p, enum assay_round round,
                const int64_t *n)
{
    slices_step(p, ASSAY_STEP_SHR, 1, n, NULL);
    p->steps[p->n_steps - 1].round = (uint8_t)round;
}

void slices_bits(struct assay_program *p, enum assay_step_kind kind,
                 unsigned bits)
{
    slices_step(p, kind, 0, NULL, NULL);
    p->steps[p->n_steps - 1].bits = (uint8_t)bits;
}

int64_t slices_f32(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

void slices_requant(struct assay_program *p, const int64_t *scale)
{
    static const int64_t lo = 0xc3000000, hi = 0x42fe0000; /* -128, 127 */
    p->n_steps = 0;
    slices_step(p, ASSAY_STEP_TO_F32, 0, NULL, NULL);
    slices_step(p, ASSAY_STEP_FMUL, 1, scale, NULL);
    slices_step(p, ASSAY_STEP_FCLAMP, 1, &lo, &hi);
    slices_step(p, ASSAY_STEP_FROUND, 0, NULL, NULL);
    p->steps[3].round = ASSAY_ROUND_HALF_EVEN;
}
