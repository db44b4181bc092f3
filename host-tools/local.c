/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend that is this process: `--local`, and the host's own scalar
 * engine as the column `host`.
 *
 * Computing happens on the caller's thread, so a layer cannot be stopped:
 * layer_timeout_ms has no effect here (a board's worker is killed instead).
 */
#include "host-tools/backend.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host-tools/local_self_test.h"

#include "kernels/cpu.h"
#include "lib/engine/run.h"

struct local {
    struct assay_backend base;       /* first: a backend is cast to its local */
    uint32_t cpumask;                /* of open */
    const struct assay_slice *slice; /* borrowed; NULL: nothing loaded */
    struct assay_plan *plan;         /* for plan_flags */
    uint32_t plan_flags;
    void *block; /* owned; the arena is its first aligned byte */
    void *arena;
    const struct assay_run_tensor **given; /* by tensor, of one run */
    char features[64];
    uint64_t received;
    uint64_t opened_s;
};

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static void drop_plan(struct local *l)
{
    assay_plan_free(l->plan);
    assay_free(l->block);
    l->plan = NULL;
    l->block = l->arena = NULL;
}

/* The plan for these rungs; kept while they stay the same. */
static int make_plan(struct local *l, uint32_t flags, struct assay_err *err)
{
    struct assay_kernel_table table;
    struct assay_plan *plan;
    if (l->plan && l->plan_flags == flags)
        return 0;
    assay_kernel_table_init(&table, flags);
    int rc = assay_plan_new(&plan, l->slice, &table, NULL, err);
    if (rc)
        return rc;
    drop_plan(l);
    l->plan = plan;
    l->plan_flags = flags;
    return 0;
}

static int make_arena(struct local *l, struct assay_err *err)
{
    size_t bytes;
    if (l->block)
        return 0;
    if (!assay_add_size(assay_plan_arena_bytes(l->plan), 64, &bytes) ||
        !(l->block = assay_alloc(bytes)))
        return assay_fail(err, ASSAY_EMEMORY,
                          "no memory for an arena of %zu bytes",
                          assay_plan_arena_bytes(l->plan));
    l->arena = (void *)(((uintptr_t)l->block + 63) & ~(uintptr_t)63);
    return 0;
}

static int local_info(struct assay_backend *b, struct assay_backend_info *out,
                      struct assay_err *err)
{
    struct local *l = (struct local *)b;
    uint32_t flags = assay_cpu_probe() & l->cpumask;
    (void)err;
    *out = (struct assay_backend_info){
        .is_local = true,
        .agent =
            {
#define ASSAY_INFO_TEXT(field) .field = "",
#define ASSAY_INFO_NUMBER(type, field)
#include "proto/info.def"
#undef ASSAY_INFO_TEXT
#undef ASSAY_INFO_NUMBER
            },
    };
    out->agent.board_id = "local";
    out->agent.build_id = ASSAY_VERSION;
    out->agent.kernels = assay_cpu_rung(flags & ASSAY_CPU_KERNELS);
    out->agent.features =
        assay_cpu_names(flags, l->features, sizeof(l->features));
    out->agent.cpu_flags = flags;
    out->agent.uptime_s = now_us() / 1000000u - l->opened_s;
    if (l->plan)
        out->agent.memory_used =
            assay_plan_arena_bytes(l->plan) + assay_plan_packed_bytes(l->plan);
    return 0;
}

static int local_self_test(struct assay_backend *b, uint64_t memory_bytes,
                           void (*found)(void *self,
                                         const struct assay_msg_self_test *),
                           void *self, struct assay_err *err)
{
    (void)err;
    return assay_local_self_test(((struct local *)b)->cpumask, memory_bytes,
                                 found, self);
}

static int local_load(struct assay_backend *b, const struct assay_slice *slice,
                      struct assay_err *err)
{
    struct local *l = (struct local *)b;
    drop_plan(l);
    l->slice = slice;
    int rc = make_plan(l, assay_cpu_probe() & l->cpumask, err);
    if (rc)
        l->slice = NULL;
    return rc;
}

/* ---- one run ------------------------------------------------------------------ */

struct session {
    struct local *local;
    const struct assay_results *results;
    uint64_t start_us, spent_us;
    int rc; /* what `missing` gave: the engine cannot be stopped there */
};

static const void *fetch(void *self, uint32_t tensor)
{
    const struct session *s = self;
    const struct assay_run_tensor *t = s->local->given[tensor];
    return t ? t->data : NULL;
}

static void missing(void *self, uint32_t layer, uint32_t tensor)
{
    struct session *s = self;
    if (s->rc >= 0 && s->results->missing)
        s->rc = s->results->missing(s->results->self, layer, tensor);
}

static int layer_begin(void *self, const struct assay_layer_info *info)
{
    struct session *s = self;
    if (s->rc < 0)
        return s->rc;
    if (s->results->begin)
        s->results->begin(s->results->self, info->layer, info->kernel);
    s->start_us = now_us();
    return 0;
}

static int layer_tensor(void *self, const struct assay_layer_info *info,
                        const void *data)
{
    struct session *s = self;
    s->spent_us = now_us() - s->start_us;
    s->local->received += info->bytes;
    return s->results->layer(s->results->self, info->layer, data, info->bytes,
                             info->kernel, s->spent_us);
}

static int layer_end(void *self, const struct assay_layer_info *info)
{
    (void)self;
    (void)info;
    return 0;
}

/* The given tensors by index; sizes are checked, since the engine does not. */
static int index_given(struct local *l, const struct assay_backend_run *run,
                       struct assay_err *err)
{
    for (size_t i = 0; i < run->n_given; i++) {
        const struct assay_run_tensor *t = &run->given[i];
        size_t elements, bytes;
        if (t->tensor >= l->slice->n_tensors)
            return assay_fail(err, ASSAY_ERANGE,
                              "given tensor %zu: tensor index: expected 0 to "
                              "%" PRIu32 ", found %" PRIu32,
                              i, l->slice->n_tensors - 1, t->tensor);
        const struct assay_tensor *want = &l->slice->tensors[t->tensor];
        int rc = assay_tensor_count(want, &elements, &bytes, err);
        if (rc)
            return rc;
        if (t->bytes != bytes || !t->data)
            return assay_fail(err, ASSAY_ERANGE,
                              "tensor '%.200s': expected %zu bytes, was given "
                              "%zu",
                              want->name, bytes, t->data ? t->bytes : 0);
        l->given[t->tensor] = t;
    }
    return 0;
}

static int run_plan(struct local *l, const struct assay_backend_run *run,
                    const struct assay_results *results, struct assay_err *err)
{
    struct session s = {.local = l, .results = results};
    const struct assay_run_request request = {
        .mode = run->isolated ? ASSAY_RUN_ISOLATED : ASSAY_RUN_CUMULATIVE,
        .layers = run->layers,
        .fetch = fetch,
        .missing = missing,
        .self = &s,
    };
    const struct assay_sink sink = {.self = &s,
                                    .begin = layer_begin,
                                    .tensor = layer_tensor,
                                    .end = layer_end};
    int rc = assay_run(l->plan, l->arena, &request, &sink, err);
    return rc < 0 ? rc : s.rc < 0 ? s.rc : 0;
}

static int local_run(struct assay_backend *b,
                     const struct assay_backend_run *run,
                     const struct assay_results *results, struct assay_err *err)
{
    struct local *l = (struct local *)b;
    if (!l->slice)
        return assay_fail(err, ASSAY_EUSAGE, "run: no slice is loaded");
    int rc = make_plan(l, assay_cpu_probe() & l->cpumask & run->cpumask, err);
    if (!rc)
        rc = make_arena(l, err);
    if (rc)
        return rc;
    l->given = assay_calloc(l->slice->n_tensors, sizeof(*l->given));
    if (!l->given)
        return assay_fail(err, ASSAY_EMEMORY,
                          "no memory for %" PRIu32 " tensors",
                          l->slice->n_tensors);
    rc = index_given(l, run, err);
    if (!rc)
        rc = run_plan(l, run, results, err);
    assay_free(l->given);
    l->given = NULL;
    return rc;
}

static uint64_t local_received(struct assay_backend *b)
{
    return ((struct local *)b)->received;
}

static void local_close(struct assay_backend *b)
{
    if (!b)
        return;
    drop_plan((struct local *)b);
    assay_free(b);
}

static const struct assay_backend_vtable LOCAL = {
    .info = local_info,
    .load = local_load,
    .run = local_run,
    .self_test = local_self_test,
    .received = local_received,
    .close = local_close,
};

int assay_local_open(struct assay_backend **out, uint32_t cpumask,
                     struct assay_err *err)
{
    struct local *l = assay_calloc(1, sizeof(*l));
    if (!l)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a local engine");
    l->base.vt = &LOCAL;
    l->cpumask = cpumask;
    l->opened_s = now_us() / 1000000u;
    *out = &l->base;
    return 0;
}
