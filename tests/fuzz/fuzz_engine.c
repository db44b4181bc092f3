/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that a load and a run go through: a slice that bytes choose, to its
 * description and back (codec), to a plan, to two runs in dirty arenas, which
 * must agree. Where the CPU has vector rungs, a third run must agree too.
 *
 * While a layer runs, the rest of the arena is poisoned; every program that
 * runs is judged step by step: nothing may leave 64 bits behind the plan, and
 * every result is that of a definition which shares no code with the kernels.
 * So are the elements of the layers that judge_layer.c knows. A slice that is
 * not damaged must be let through. What a layer's inputs exercise is probed on
 * both rungs.
 *
 * links: tests/fuzz/slice_maker.c tests/fuzz/layer_maker.c
 * links: tests/fuzz/move_maker.c tests/fuzz/fixed_maker.c
 * links: tests/fuzz/float_maker.c tests/fuzz/program_maker.c tests/fuzz/judge.c
 * links: tests/fuzz/judge_layer.c tests/kernels/naive.c
 * links: proto/frame.c proto/codec*.c gen/proto/assay.pb-c.c
 * links: lib/core/ lib/engine/ lib/engine/ops/
 * links: kernels/ kernels/ref/
 * covers: lib/engine/ lib/engine/ops/
 * libs: -lprotobuf-c -lxxhash -lmbedcrypto
 * libs: -Wl,--wrap=assay_program_run -Wl,--wrap=assay_store_values
 */
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu.h"
#include "lib/core/slice_part.h"
#include "lib/engine/plan_private.h"
#include "lib/engine/probe.h"
#include "lib/engine/run.h"
#include "proto/codec.h"
#include "tests/fuzz/judge_layer.h"
#include "tests/fuzz/slice_maker.h"

#define MEMORY ((size_t)1 << 20)
#define PROBE_WORK 2000000u /* of one layer */
#define WORK 20000000u      /* cells and products of one run, about */

struct trial {
    const struct assay_slice *made, *slice; /* before and behind the codec */
    struct assay_plan *plan;
    void **inputs; /* one a tensor: what fetch() gives; owned */
    char *arena;
    size_t poisoned; /* bytes of the arena that may be poisoned now */
    struct assay_buf out;
};

static void fail(const char *what, const struct assay_err *err)
{
    fprintf(stderr, "%s%s%s\n", what, err ? ": " : "", err ? err->text : "");
    abort();
}

static const void *fetch(void *self, uint32_t tensor)
{
    const struct trial *t = self;

    return t->inputs[tensor];
}

/* Only what this layer may touch is open: inputs, output, scratch. */
static int begin(void *self, const struct assay_layer_info *info)
{
    struct trial *t = self;
    const struct assay_plan *p = t->plan;
    const struct assay_plan_layer *l = &p->layers[info->layer];
    const struct assay_layer *layer = &p->slice->layers[info->layer];
    const void *const *values = (const void *const *)(void *)t->arena;

    ASAN_POISON_MEMORY_REGION(t->arena + t->poisoned,
                              p->arena_bytes - t->poisoned);
    for (uint32_t i = 0; i < layer->n_inputs; i++) {
        uint32_t in = layer->inputs[i];

        if (values[in])
            ASAN_UNPOISON_MEMORY_REGION((void *)(uintptr_t)values[in],
                                        p->tensors[in].bytes);
    }
    ASAN_UNPOISON_MEMORY_REGION(t->arena + l->out_at, l->out_bytes);
    ASAN_UNPOISON_MEMORY_REGION(t->arena + l->scratch_at, l->op.scratch_bytes);
    return 0;
}

static int tensor(void *self, const struct assay_layer_info *info,
                  const void *data)
{
    struct trial *t = self;
    const struct assay_tensor *y = &t->slice->tensors[info->tensor];
    uint8_t *at;

    judge_layer(t->slice, info->layer, (const void *const *)(void *)t->arena,
                data);
    if (assay_buf_append(&t->out, data, info->bytes) < 0)
        return ASSAY_EMEMORY;
    at = t->out.data + t->out.len - info->bytes;
    for (size_t k = 0; y->dtype == ASSAY_F32 && k + 4 <= info->bytes; k += 4) {
        float f;

        memcpy(&f, at + k, 4);
        if (isnan(f)) /* its bits are nobody's promise */
            memset(at + k, 0xff, 4);
    }
    return 0;
}

static void put(struct assay_buf *out, const struct assay_probe *p)
{
    struct assay_msg m = {.type = ASSAY_MSG_LAYER_PROBE};
    const char *bad = assay_probe_bad_field(p);

    if (bad != NULL) {
        fprintf(stderr, "%s\n", bad);
        fail("a probe is not as it has to be", NULL);
    }
    m.u.layer_probe.probe = *p;
    assay_buf_init(out);
    (void)!assay_msg_frame(out, &m, true, 0, NULL);
}

/* What the layer's inputs exercise: well formed, and the same for scalar and
 * for vector kernels. */
static void probe(const struct trial *t, const struct assay_layer_info *info)
{
    const struct assay_probe_limits limits = {PROBE_WORK, MEMORY};
    const void *inputs[ASSAY_MAX_LAYER_INPUTS] = {0};
    struct assay_probe p, q;
    struct assay_slice *one;

    if (assay_slice_single(&one, t->slice, info->layer, NULL) < 0)
        return;
    for (uint32_t i = 0; i < one->layers[0].n_inputs; i++) {
        uint32_t in = one->layers[0].inputs[i];

        if (one->tensors[in].role != ASSAY_ROLE_CONSTANT)
            inputs[in] = info->inputs[i];
    }
    if (assay_probe_layer(&p, one, inputs, 0, &limits, NULL) == 0 &&
        assay_probe_layer(&q, one, inputs, assay_cpu_probe(), &limits, NULL) ==
            0) {
        struct assay_buf a, b;

        put(&a, &p);
        put(&b, &q);
        if (p.work > PROBE_WORK)
            fail("a probe did more than it may", NULL);
        if (a.len != b.len || (a.len > 0 && memcmp(a.data, b.data, a.len) != 0))
            fail("probes of scalar and vector kernels differ", NULL);
        assay_buf_close(&a);
        assay_buf_close(&b);
    }
    assay_slice_free(one);
}

static int end(void *self, const struct assay_layer_info *info)
{
    struct trial *t = self;

    ASAN_UNPOISON_MEMORY_REGION(t->arena, t->plan->arena_bytes);
    if (judge_is_on)
        probe(t, info);
    return 0;
}

/* Cells that a run visits; the plan bounds memory, deadlines bound time. */
static bool is_small(const struct assay_plan *plan)
{
    double work = 0;

    for (uint32_t i = 0; i < plan->slice->n_layers; i++) {
        const struct assay_layer *l = &plan->slice->layers[i];
        double out = (double)plan->layers[i].out_bytes, each = 1;

        if (l->op == ASSAY_OP_POOL) {
            const struct assay_tensor *x = &plan->slice->tensors[l->inputs[0]];

            each = fmin(l->p.pool.kh, (double)x->dims[1]) *
                   fmin(l->p.pool.kw, (double)x->dims[2]);
        }
        if (l->op == ASSAY_OP_CONV_TRANSPOSE2D) { /* the dense convolution */
            const struct assay_tensor *wt = &plan->slice->tensors[l->inputs[1]];

            for (uint32_t k = 1; k < wt->rank; k++)
                each *= (double)wt->dims[k];
        }
        work += out * each + (double)plan->layers[i].op.macs;
    }
    return work <= WORK;
}

static void run_once(struct trial *t, const struct assay_run_request *request,
                     uint8_t dirt)
{
    const struct assay_sink sink = {t, begin, tensor, end};
    struct assay_err err = {0};
    size_t bytes = t->plan->arena_bytes;

    t->arena = aligned_alloc(ASSAY_ALIGNMENT, bytes);
    if (!t->arena)
        return;
    memset(t->arena, dirt, bytes);
    t->poisoned = t->slice->n_tensors * sizeof(void *);
    if (assay_run(t->plan, t->arena, request, &sink, &err) < 0)
        fail("run", &err);
    ASAN_UNPOISON_MEMORY_REGION(t->arena, bytes);
    free(t->arena);
    t->arena = NULL;
}

/* Runs twice with different dirt, and on the vector rungs; all agree. */
static void run_all(struct choices *c, struct trial *t,
                    const struct assay_kernel_table *vector)
{
    bool layers[64];
    struct assay_run_request request = {
        .mode = chance(c, 70) ? ASSAY_RUN_CUMULATIVE : ASSAY_RUN_ISOLATED,
        .fetch = fetch,
        .self = t,
    };
    struct assay_buf first;
    struct assay_err err = {0};

    for (size_t i = 0; i < 64; i++)
        layers[i] = chance(c, 70);
    if (chance(c, 20) && t->slice->n_layers <= 64)
        request.layers = layers;
    judge_is_on = true; /* the first; the others agree or are told */
    run_once(t, &request, 0x00);
    judge_is_on = false;
    first = t->out;
    assay_buf_init(&t->out);
    run_once(t, &request, 0xa5);
    if (vector->flags) {
        struct assay_plan *scalar = t->plan;
        struct assay_buf second = t->out;

        if (second.len != first.len ||
            (first.len && memcmp(second.data, first.data, first.len)))
            fail("two runs differ", NULL);
        if (assay_plan_new(&t->plan, t->slice, vector, NULL, &err) < 0)
            fail("vector plan", &err);
        assay_buf_init(&t->out);
        run_once(t, &request, 0x5a);
        assay_plan_free(t->plan);
        t->plan = scalar;
        assay_buf_close(&second);
    }
    if (t->out.len != first.len ||
        (first.len && memcmp(t->out.data, first.data, first.len)))
        fail(vector->flags ? "vector and scalar differ" : "two runs differ",
             NULL);
    assay_buf_close(&first);
    assay_buf_close(&t->out);
}

static bool make_inputs(struct choices *c, struct trial *t)
{
    t->inputs = calloc(t->slice->n_tensors, sizeof(*t->inputs));
    for (uint32_t i = 0; t->inputs && i < t->slice->n_tensors; i++) {
        const struct assay_tensor *x = &t->slice->tensors[i];
        size_t bytes = t->plan->tensors[i].bytes;

        if (x->role == ASSAY_ROLE_CONSTANT || bytes > MEMORY)
            continue;
        t->inputs[i] = malloc(bytes);
        if (t->inputs[i])
            choose_values(c, x->dtype, t->inputs[i],
                          bytes / assay_dtype_bytes(x->dtype));
    }
    return t->inputs != NULL;
}

static void try_slice(struct choices *c, struct trial *t, bool intact,
                      const struct assay_buf *description)
{
    const struct assay_plan_limits limits = {.memory_bytes = MEMORY};
    const struct assay_blob_source blobs = {(void *)(uintptr_t)t->made,
                                            find_constant};
    struct assay_kernel_table scalar, vector;
    struct assay_slice *slice = NULL;
    struct assay_err err = {0};

    if (assay_slice_decode(&slice, description->data, description->len, &blobs,
                           (size_t)64 << 20, &err) < 0) {
        if (intact)
            fail("codec refuses what it wrote", &err);
        return;
    }
    t->slice = slice;
    assay_kernel_table_init(&scalar, 0);
    assay_kernel_table_init(&vector, assay_cpu_probe());
    if (assay_plan_new(&t->plan, slice, &scalar, &limits, &err) == 0) {
        if (is_small(t->plan) && make_inputs(c, t))
            run_all(c, t, &vector);
        for (uint32_t i = 0; t->inputs && i < slice->n_tensors; i++)
            free(t->inputs[i]);
        free(t->inputs);
        assay_plan_free(t->plan);
    } else if (err.text[0] == '\0') {
        fail("a refusal without a sentence", NULL);
    } else if (intact && err.code != ASSAY_EMEMORY) {
        fail("plan refuses a slice that can be run", &err);
    }
    assay_slice_free(slice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct choices c;
    struct trial t = {0};
    struct assay_buf description;
    struct assay_err err = {0};
    struct assay_slice *made;
    bool intact, bytes;

    choices_init(&c, data, size);
    intact = chance(&c, 50);
    bytes = !intact && chance(&c, 30);
    made = make_slice(&c);
    if (!made)
        return 0;
    if (!intact && !bytes)
        damage_slice(&c, made);
    t.made = made;
    assay_buf_init(&description);
    if (assay_slice_encode(made, &description, &err) == 0) {
        for (int64_t n = choose(&c, 1, 6); bytes && n > 0; n--)
            description.data[choose(&c, 0, (int64_t)description.len - 1)] ^=
                (uint8_t)(1u << choose(&c, 0, 7));
        try_slice(&c, &t, intact, &description);
    } else if (intact) {
        fail("encode", &err);
    }
    assay_buf_close(&description);
    assay_slice_free(made);
    return 0;
}
