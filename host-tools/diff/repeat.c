/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/diff/repeat.h"

#include <string.h>

struct all {
    const struct assay_slice *s;
    const struct assay_repeat_kind *kinds;
    const uint8_t *kind;
    uint32_t n_runs;
    const struct assay_repeat_digest *digest;
};

const char *assay_repeat_state_name(enum assay_repeat_state s)
{
    static const char *const names[] = {"same", "behind", "rungs", "flaky"};

    return (unsigned)s <= ASSAY_REPEAT_FLAKY ? names[s] : "?";
}

static bool is_equal(const struct all *a, uint32_t layer, uint32_t p,
                     uint32_t q)
{
    size_t n = a->s->n_layers;

    return memcmp(&a->digest[p * n + layer], &a->digest[q * n + layer],
                  sizeof(*a->digest)) == 0;
}

static uint32_t rung_of(const struct all *a, uint32_t run)
{
    return a->kinds[a->kind[run]].rung;
}

/* Of two runs; an input that no layer computes is the same in all. */
static bool inputs_equal(const struct all *a, uint32_t layer, uint32_t p,
                         uint32_t q)
{
    const struct assay_layer *l = &a->s->layers[layer];

    for (uint32_t i = 0; i < layer; i++) {
        for (uint32_t j = 0; j < l->n_inputs; j++) {
            if (a->s->layers[i].output == l->inputs[j] && !is_equal(a, i, p, q))
                return false;
        }
    }
    return true;
}

/* The first run whose result most runs of the rung have; n_runs: none ran. */
static uint32_t usual(const struct all *a, uint32_t layer, uint32_t rung)
{
    uint32_t best = a->n_runs, most = 0;

    for (uint32_t p = 0; p < a->n_runs; p++) {
        uint32_t n = 0;

        for (uint32_t q = p; q < a->n_runs && rung_of(a, p) == rung; q++)
            n += rung_of(a, q) == rung && is_equal(a, layer, p, q);
        if (n > most) {
            most = n;
            best = p;
        }
    }
    return best;
}

static void count(struct assay_repeat_layer *out, const struct all *a,
                  uint32_t run)
{
    out->odd++;
    out->odd_of[a->kind[run]]++;
}

static void worsen(struct assay_repeat_layer *out, enum assay_repeat_state s)
{
    if (s > out->state)
        out->state = s;
}

static void judge_layer(struct assay_repeat_layer *out, const struct all *a,
                        uint32_t layer)
{
    uint32_t of_rung[ASSAY_REPEAT_KINDS];

    for (uint32_t g = 0; g < ASSAY_REPEAT_KINDS; g++)
        of_rung[g] = usual(a, layer, g);
    for (uint32_t p = 0; p < a->n_runs; p++) {
        uint32_t q = of_rung[rung_of(a, p)];

        if (is_equal(a, layer, p, q))
            continue;
        count(out, a, p);
        worsen(out, inputs_equal(a, layer, p, q) ? ASSAY_REPEAT_FLAKY
                                                 : ASSAY_REPEAT_BEHIND);
    }
    if (out->odd > 0 || of_rung[0] == a->n_runs)
        return;
    for (uint32_t p = 0; p < a->n_runs; p++) {
        if (is_equal(a, layer, p, of_rung[0]))
            continue;
        count(out, a, p);
        worsen(out, inputs_equal(a, layer, p, of_rung[0])
                        ? ASSAY_REPEAT_RUNGS
                        : ASSAY_REPEAT_BEHIND);
    }
}

void assay_repeat_judge(struct assay_repeat_layer *out,
                        const struct assay_slice *s,
                        const struct assay_repeat_kind *kinds,
                        const uint8_t *kind, uint32_t n_runs,
                        const struct assay_repeat_digest *digest)
{
    const struct all a = {s, kinds, kind, n_runs, digest};

    memset(out, 0, s->n_layers * sizeof(*out));
    for (uint32_t i = 0; i < s->n_layers; i++) {
        bool same = true;

        for (uint32_t p = 1; p < n_runs && same; p++)
            same = is_equal(&a, i, 0, p);
        if (!same)
            judge_layer(&out[i], &a, i);
    }
}
