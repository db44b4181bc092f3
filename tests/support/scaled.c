/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/scaled.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/arith.h"
#include "lib/core/slice_part.h"
#include "lib/engine/once.h"

static void need(bool ok, const char *what, const struct assay_err *err)
{
    if (ok)
        return;
    fprintf(stderr, "test support: %s: %s\n", what, err ? err->text : "");
    abort();
}

int32_t scaled_random(int32_t lo, int32_t hi)
{
    static uint64_t seed = 20240229;

    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int32_t)(lo + (int64_t)(seed % (uint64_t)((int64_t)hi - lo + 1)));
}

void scaled_fill(enum assay_dtype dtype, void *to, size_t n)
{
    uint8_t *bytes = to;

    for (size_t i = 0; i < n * assay_dtype_bytes(dtype); i++)
        bytes[i] = (uint8_t)scaled_random(0, 255);
}

void scaled_quant(struct assay_slice *s, uint32_t tensor, int32_t axis,
                  uint32_t n, const float *scale, int32_t zero)
{
    struct assay_quant *q = &s->tensors[tensor].quant;
    int32_t *zeros = assay_arena_array(s->arena, n, sizeof(*zeros));

    q->scale = assay_arena_copy(s->arena, scale, n * sizeof(*scale));
    need(zeros && q->scale, "quant", NULL);
    for (uint32_t i = 0; i < n; i++)
        zeros[i] = zero;
    q->zero_point = zeros;
    q->n = n;
    q->axis = n > 1 ? axis : -1;
}

void scaled_arith(struct assay_slice *s, enum assay_real_op op,
                  const char *arith)
{
    struct assay_err err = {0};

    s->layers[0].real_op = op;
    need(assay_arith_apply(s, 0, arith, &err) == 0, arith, &err);
}

size_t scaled_run(const struct assay_slice *s, const void *const *values,
                  uint32_t n_values, void *out)
{
    struct assay_err err = {0};
    size_t n = 0, bytes = 0;

    for (uint32_t t = 0; t < s->n_tensors; t++)
        if (s->tensors[t].is_output)
            need(assay_tensor_count(&s->tensors[t], &n, &bytes, &err) == 0,
                 "size", &err);
    need(bytes > 0 && bytes <= SCALED_MAX, "no output", NULL);
    need(assay_once(s, 0, values, n_values, out, bytes, &err) == 0, "run",
         &err);
    return bytes;
}

int scaled_try(const struct assay_slice *s, const char *edit,
               const void *const *values, uint32_t n_values, void *out)
{
    struct assay_err err = {0};
    struct assay_slice *copy = NULL;
    struct assay_edit e;
    uint32_t layer = 0;
    int rc;

    need(assay_edit_parse(&e, edit, &err) == 0, edit, &err);
    need(assay_slice_copy(&copy, s, &err) == 0, "copy", &err);
    rc = assay_edit_apply(copy, &layer, &e, &err);
    need(rc >= 0, edit, &err);
    if (rc == 0)
        scaled_run(copy, values, n_values, out);
    assay_slice_free(copy);
    return rc;
}

int64_t scaled_clamp(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

int64_t scaled_shift(int64_t x, int n, char how)
{
    int64_t low = (int64_t)floor(ldexp((double)x, -n)); /* |x| < 2^52 */
    int64_t twice = 2 * (x - low * ((int64_t)1 << n));
    int64_t one = (int64_t)1 << n;
    bool over = twice > one, tie = twice == one;

    if (n <= 0)
        return x * ((int64_t)1 << -n);
    switch (how) {
    case 'f': return low;
    case 'c': return low + (twice > 0);
    case 't': return low + (x < 0 && twice > 0);
    case 'u': return low + (over || tie);
    case 'd': return low + over;
    case 'e': return low + (over || (tie && low % 2 != 0));
    case 'a': return low + (over || (tie && x > 0));
    default: return low + (over || (tie && x < 0)); /* 'z' */
    }
}
