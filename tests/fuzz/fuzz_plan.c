/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The third door alone, and fast: slices that are well formed but mean harm.
 * Bytes choose a slice (slice_maker.h) and up to twelve fields of it that are
 * broken. What the codec lets through is planned within a budget, on the
 * scalar rung and on those that there are; both must say the same, and what is
 * let through must fit the budget.
 *
 * links: tests/fuzz/slice_maker.c tests/fuzz/layer_maker.c
 * links: tests/fuzz/move_maker.c tests/fuzz/fixed_maker.c
 * links: tests/fuzz/float_maker.c tests/fuzz/program_maker.c
 * links: proto/frame.c proto/codec*.c gen/proto/assay.pb-c.c
 * links: lib/core/ lib/engine/ lib/engine/ops/
 * links: kernels/ kernels/ref/
 * covers: lib/engine/ lib/engine/ops/ !lib/engine/run.c
 * covers: !lib/engine/probe*.c
 * libs: -lprotobuf-c -lxxhash -lmbedcrypto
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu.h"
#include "lib/engine/plan.h"
#include "proto/codec.h"
#include "tests/fuzz/slice_maker.h"

#define MEMORY ((size_t)4 << 20)

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

static int plan(const struct assay_slice *s, uint32_t flags)
{
    const struct assay_plan_limits limits = {.memory_bytes = MEMORY};
    struct assay_kernel_table table;
    struct assay_plan *p = NULL;
    struct assay_err err = {0};
    int rc;

    assay_kernel_table_init(&table, flags);
    rc = assay_plan_new(&p, s, &table, &limits, &err);
    if (rc < 0 && (err.code != rc || err.text[0] == '\0'))
        fail("a slice was refused without a sentence");
    if (rc == 0 &&
        assay_plan_arena_bytes(p) + assay_plan_packed_bytes(p) > MEMORY)
        fail("a plan is beyond its budget");
    assay_plan_free(p);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_blob_source blobs = {.find = find_constant};
    struct assay_slice *made, *slice = NULL;
    struct assay_buf text;
    struct assay_err err = {0};
    struct choices c;
    int rc;

    choices_init(&c, data, size);
    made = make_slice(&c);
    if (made == NULL)
        return 0;
    for (int64_t n = choose(&c, 1, 3); n > 0; n--)
        damage_slice(&c, made);
    blobs.self = made;
    assay_buf_init(&text);
    if (assay_slice_encode(made, &text, &err) == 0 &&
        assay_slice_decode(&slice, text.data, text.len, &blobs, 0, &err) == 0) {
        rc = plan(slice, 0);
        /* Packed constants differ by rung, so memory may be short on one. */
        if (plan(slice, assay_cpu_probe()) != rc && rc != ASSAY_EMEMORY)
            fail("rungs disagree about a slice");
        assay_slice_free(slice);
    }
    assay_buf_close(&text);
    assay_slice_free(made);
    return 0;
}
