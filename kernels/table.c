/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel table: filled from kernels.def, scalar first, rungs above it.
 * Any thread; the table belongs to the caller.
 */
#include "kernels/kernels.h"

#include <string.h>

/* The words of kernels.def as rungs. */
enum {
    RUNG_ref = ASSAY_ISA_REF,
    RUNG_neon = ASSAY_ISA_NEON,
    RUNG_dotprod = ASSAY_ISA_DOTPROD,
    RUNG_i8mm = ASSAY_ISA_I8MM,
};

const char *assay_isa_name(enum assay_isa isa)
{
    switch (isa) {
    case ASSAY_ISA_REF: return "scalar";
    case ASSAY_ISA_NEON: return "neon";
    case ASSAY_ISA_DOTPROD: return "dotprod";
    case ASSAY_ISA_I8MM: return "i8mm";
    case ASSAY_ISA_COUNT: break;
    }
    return "?";
}

static bool rung_may_run(int rung, uint32_t flags)
{
    static const uint32_t needs[ASSAY_ISA_COUNT] = {
        [ASSAY_ISA_NEON] = ASSAY_CPU_NEON,
        [ASSAY_ISA_DOTPROD] = ASSAY_CPU_NEON | ASSAY_CPU_DOTPROD,
        [ASSAY_ISA_I8MM] = ASSAY_CPU_NEON | ASSAY_CPU_DOTPROD | ASSAY_CPU_I8MM,
    };
    return (flags & needs[rung]) == needs[rung];
}

void assay_kernel_table_init(struct assay_kernel_table *t, uint32_t flags)
{
    memset(t, 0, sizeof(*t));
    t->flags = flags;
#define ASSAY_KERNEL(slot, kind, isa) \
    if (rung_may_run(RUNG_##isa, flags)) \
        t->slot[RUNG_##isa] = &assay_##slot##__##isa;
#include "kernels/kernels.def"
#undef ASSAY_KERNEL
}

/* The highest rung whose supports() holds; the scalar one at worst. */
#define PICK(column, params) \
    do { \
        for (int i = ASSAY_ISA_COUNT - 1; i > ASSAY_ISA_REF; i--) \
            if ((column)[i] && (column)[i]->supports(params)) \
                return (column)[i]; \
        return (column)[ASSAY_ISA_REF]; \
    } while (0)

const struct assay_conv2d_kernel *assay_pick_conv2d(
    const struct assay_kernel_table *t, const struct assay_conv2d *p)
{
    if (p->x_dtype == ASSAY_S16)
        PICK(t->conv2d_x16w8, p);
    if (p->groups == p->c && p->groups > 1)
        PICK(t->dwconv2d_x8w8, p);
    PICK(t->conv2d_x8w8, p);
}

const struct assay_unary_kernel *assay_pick_unary(
    const struct assay_kernel_table *t, const struct assay_unary *p)
{
    PICK(t->unary, p);
}

const struct assay_binary_kernel *assay_pick_binary(
    const struct assay_kernel_table *t, const struct assay_binary *p)
{
    PICK(t->binary, p);
}

const struct assay_pool_kernel *assay_pick_pool(
    const struct assay_kernel_table *t, const struct assay_pool *p)
{
    PICK(t->pool, p);
}

const struct assay_softmax_kernel *assay_pick_softmax(
    const struct assay_kernel_table *t, const struct assay_softmax *p)
{
    PICK(t->softmax, p);
}

const struct assay_copy_kernel *assay_pick_copy(
    const struct assay_kernel_table *t, const struct assay_copy *p)
{
    PICK(t->copy, p);
}

const struct assay_table_kernel *assay_pick_table(
    const struct assay_kernel_table *t, const struct assay_table *p)
{
    PICK(t->table, p);
}

const struct assay_segment_table_kernel *assay_pick_segment_table(
    const struct assay_kernel_table *t, const struct assay_segment_table *p)
{
    PICK(t->segment_table, p);
}

const struct assay_reduce_kernel *assay_pick_reduce(
    const struct assay_kernel_table *t, const struct assay_reduce *p)
{
    PICK(t->reduce, p);
}

const struct assay_resize_kernel *assay_pick_resize(
    const struct assay_kernel_table *t, const struct assay_resize *p)
{
    PICK(t->resize, p);
}

const struct assay_grid_sample_kernel *assay_pick_grid_sample(
    const struct assay_kernel_table *t, const struct assay_grid_sample *p)
{
    PICK(t->grid_sample, p);
}

const struct assay_function_kernel *assay_pick_function(
    const struct assay_kernel_table *t, const struct assay_float_function *p)
{
    PICK(t->function, p);
}

const struct assay_normalize_kernel *assay_pick_normalize(
    const struct assay_kernel_table *t, const struct assay_normalization *p)
{
    PICK(t->normalize, p);
}

const struct assay_select_kernel *assay_pick_select(
    const struct assay_kernel_table *t, const struct assay_select *p)
{
    PICK(t->select, p);
}

void assay_kernel_list(assay_kernel_visit_fn *fn, void *arg)
{
#define ASSAY_KERNEL(slot, kind, isa) \
    fn(arg, #slot, assay_##slot##__##isa.name, (enum assay_isa)RUNG_##isa);
#include "kernels/kernels.def"
#undef ASSAY_KERNEL
}
