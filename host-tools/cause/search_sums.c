/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accumulators, computed once: an edit of the program or the bias is then only
 * that program over them.
 */
#include <stdlib.h>
#include <string.h>

#include "host-tools/cause/search_private.h"
#include "kernels/requant.h"
#include "lib/engine/sums.h"

#define BLOCK 1024 /* values at a time */

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for accumulators");
}

static int sums_of(struct assay_search_ctx *x, size_t sample, int64_t *out,
                   struct assay_err *err)
{
    return assay_sums_compute(
        out, x->n, x->s->one, x->s->samples[sample].inputs,
        assay_suspect_inputs(x->s), x->cpu_flags, NULL, err);
}

static int second_of(struct assay_search_ctx *x, size_t sample,
                     struct assay_err *err)
{
    int32_t *to = assay_arena_array(x->memory, x->n, sizeof(*to));

    if (!to)
        return no_memory(err);
    assay_sums_second(to, x->n, x->s->one, x->s->samples[sample].inputs);
    x->sums[sample].second = to;
    return 0;
}

int assay_sums_open(struct assay_search_ctx *x, struct assay_err *err)
{
    size_t samples = x->s->n_samples;
    int rc = 0;

    if (!assay_sums_has(x->s->one))
        return 0;
    x->sums = assay_arena_array(x->memory, samples, sizeof(*x->sums));
    if (!x->sums)
        return no_memory(err);
    x->wraps =
        assay_dtype_bytes(x->s->one->tensors[x->layer->inputs[0]].dtype) == 1;
    for (size_t i = 0; i < samples && !rc; i++) {
        x->sums[i].sum =
            assay_arena_array(x->memory, x->n, sizeof(*x->sums[i].sum));
        rc = x->sums[i].sum ? sums_of(x, i, x->sums[i].sum, err)
                            : no_memory(err);
        if (!rc && x->layer->p.conv2d.has_second)
            rc = second_of(x, i, err);
    }
    return rc;
}

int assay_cause_sums(int64_t **out, const struct assay_suspect *s,
                     size_t sample, uint32_t cpu_flags, struct assay_err *err)
{
    struct assay_search_ctx x = {
        .s = s, .layer = assay_suspect_layer(s), .cpu_flags = cpu_flags};
    const struct assay_tensor *y = assay_suspect_output(s);
    const int32_t *bias = NULL;
    int64_t *sums;
    size_t bytes, channels;
    int rc = assay_tensor_count(y, &x.n, &bytes, err);

    *out = NULL;
    if (rc || !assay_sums_has(s->one))
        return rc;
    sums = assay_calloc(x.n, sizeof(*sums));
    if (!sums)
        return no_memory(err);
    rc = sums_of(&x, sample, sums, err);
    if (rc) {
        assay_free(sums);
        return rc;
    }
    if (assay_layer_has_bias(x.layer))
        bias = s->one->tensors[x.layer->inputs[2]].data;
    channels = (size_t)y->dims[y->rank - 1];
    for (size_t e = 0; bias && e < x.n; e++)
        sums[e] += bias[e % channels];
    *out = sums;
    return 0;
}

static bool same_tensor(const struct assay_tensor *a,
                        const struct assay_tensor *b)
{
    return a->dtype == b->dtype && a->data == b->data && a->rank == b->rank &&
           memcmp(a->dims, b->dims, sizeof(a->dims)) == 0 &&
           a->quant.n == b->quant.n &&
           a->quant.zero_point == b->quant.zero_point;
}

bool assay_sums_serve(const struct assay_search_ctx *x,
                      const struct assay_candidate *c)
{
    const struct assay_slice *one = x->s->one;
    const struct assay_layer *a = x->layer, *b = &c->slice->layers[0];
    struct assay_conv2d_params p = a->p.conv2d, q = b->p.conv2d;

    if (!x->sums || c->slice->n_layers != 1 || a->op != b->op ||
        p.has_second != q.has_second)
        return false;
    p.has_bias = q.has_bias = false;
    for (uint32_t i = 0; i < 2; i++)
        if (a->inputs[i] != b->inputs[i] ||
            !same_tensor(&one->tensors[a->inputs[i]],
                         &c->slice->tensors[b->inputs[i]]))
            return false;
    return memcmp(&p, &q, sizeof(p)) == 0 &&
           one->tensors[a->output].dtype == c->slice->tensors[b->output].dtype;
}

static void run_float(const struct assay_search_ctx *x,
                      const struct assay_candidate *c, const void *in,
                      size_t at, size_t n, uint8_t *out)
{
    union assay_value v[BLOCK];
    int64_t given[BLOCK];

    for (size_t done = 0; done < n;) {
        size_t k = n - done < BLOCK ? n - done : BLOCK;

        assay_float_sums(x->s->one, 0, &c->form, in, at + done, k, given);
        for (size_t i = 0; i < k; i++)
            v[i].i = given[i];
        assay_store_values(x->output->dtype, out + done * x->width, v, k);
        done += k;
    }
}

void assay_sums_run(const struct assay_search_ctx *x,
                    const struct assay_candidate *c, size_t sample, size_t at,
                    size_t n, uint8_t *out)
{
    const struct assay_layer *l = &c->slice->layers[0];
    const struct assay_sums *sums = &x->sums[sample];
    const int32_t *bias =
        assay_layer_has_bias(l) ? c->slice->tensors[l->inputs[2]].data : NULL;
    const void *in = x->s->samples[sample].inputs[x->layer->inputs[0]];
    union assay_value v[BLOCK];
    int64_t errors[BLOCK];

    if (c->has_float) {
        run_float(x, c, in, at, n, out);
        return;
    }
    for (size_t done = 0; done < n;) {
        size_t k = n - done < BLOCK ? n - done : BLOCK, from = at + done;
        struct assay_block block = {.v = v,
                                    .n = k,
                                    .channel = from % x->channels,
                                    .channels = x->channels,
                                    .second = sums->second ? sums->second + from
                                                           : NULL};

        if (c->has_partial)
            assay_partial_errors(x->s->one, 0, &c->partial, in, from, k,
                                 errors);
        for (size_t i = 0; i < k; i++) {
            v[i].i = sums->sum[from + i] + (c->has_partial ? errors[i] : 0) +
                     (bias ? bias[(from + i) % x->channels] : 0);
            if (x->wraps)
                v[i].i = (int32_t)(uint32_t)v[i].i;
        }
        assay_program_run(&l->out_program, &block);
        assay_store_values(x->output->dtype, out + done * x->width, v, k);
        done += k;
    }
}
