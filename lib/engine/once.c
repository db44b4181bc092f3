/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/engine/once.h"

#include <string.h>

#include "kernels/kernels.h"
#include "lib/engine/run.h"

struct once {
    const struct assay_slice *slice;
    const void *const *values;
    uint32_t n_values;
    void *out;
    size_t bytes, found;
    struct assay_err *err;
};

static const void *fetch(void *self, uint32_t tensor)
{
    const struct once *o = self;

    return tensor < o->n_values ? o->values[tensor] : NULL;
}

static int ignore(void *self, const struct assay_layer_info *info)
{
    (void)self;
    (void)info;
    return 0;
}

static int keep(void *self, const struct assay_layer_info *info,
                const void *data)
{
    struct once *o = self;

    if (!o->slice->tensors[info->tensor].is_output)
        return 0;
    if (info->bytes != o->bytes)
        return assay_fail(o->err, ASSAY_ERANGE,
                          "layer '%.200s': the output has %zu bytes, expected "
                          "%zu",
                          o->slice->layers[info->layer].name, info->bytes,
                          o->bytes);
    o->found = info->bytes;
    memcpy(o->out, data, info->bytes);
    return 0;
}

int assay_once(const struct assay_slice *s, uint32_t cpu_flags,
               const void *const *values, uint32_t n_values, void *out,
               size_t bytes, struct assay_err *err)
{
    return assay_once_within(s, cpu_flags, values, n_values, out, bytes, NULL,
                             err);
}

int assay_once_within(const struct assay_slice *s, uint32_t cpu_flags,
                      const void *const *values, uint32_t n_values, void *out,
                      size_t bytes, const struct assay_plan_limits *limits,
                      struct assay_err *err)
{
    struct once o = {.slice = s,
                     .values = values,
                     .n_values = n_values,
                     .out = out,
                     .bytes = bytes,
                     .err = err};
    const struct assay_run_request request = {
        .mode = ASSAY_RUN_CUMULATIVE, .fetch = fetch, .self = &o};
    const struct assay_sink sink = {
        .self = &o, .begin = ignore, .tensor = keep, .end = ignore};
    struct assay_kernel_table table;
    struct assay_plan *plan = NULL;
    uint8_t *block;
    int rc;

    assay_kernel_table_init(&table, cpu_flags);
    rc = assay_plan_new(&plan, s, &table, limits, err);
    if (rc)
        return rc;
    block = assay_alloc(assay_plan_arena_bytes(plan) + 64);
    if (!block)
        rc = assay_fail(err, ASSAY_EMEMORY, "no memory to run one layer");
    else
        rc = assay_run(plan, (void *)(((uintptr_t)block + 63) & ~(uintptr_t)63),
                       &request, &sink, err);
    if (!rc && o.found == 0)
        rc = assay_fail(err, ASSAY_EFORMAT,
                        "layer '%.200s' was not computed: an input is missing",
                        s->layers[s->n_layers - 1].name);
    assay_free(block);
    assay_plan_free(plan);
    return rc;
}
