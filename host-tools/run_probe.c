/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_probe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/step_text.h"
#include "kernels/cpu.h"
#include "lib/core/slice_part.h"

#define WORK ((uint64_t)1 << 28) /* multiplications, of all samples */
#define TEXT 512

struct assay_run_probes {
    struct assay_probe *v; /* one a layer */
    uint64_t work;
    uint32_t left_out; /* layers of samples that were too much */
};

void assay_run_probe_close(struct assay_run *r)
{
    if (r->probes != NULL)
        assay_free(r->probes->v);
    assay_free(r->probes);
    r->probes = NULL;
}

static bool open_probes(struct assay_run *r)
{
    if (r->probes != NULL)
        return r->probes->v != NULL;
    r->probes = assay_calloc(1, sizeof(*r->probes));
    if (r->probes == NULL)
        return false;
    r->probes->v =
        assay_calloc((size_t)r->s->n_layers + 1, sizeof(*r->probes->v));
    return r->probes->v != NULL;
}

/* Multiplications of a layer, about. */
static uint64_t work_of(const struct assay_slice *s,
                        const struct assay_layer *l)
{
    const struct assay_tensor *y = &s->tensors[l->output];
    size_t n, weights, bytes;

    if (assay_tensor_count(y, &n, &bytes, NULL) < 0)
        return WORK;
    if (l->n_inputs < 2 || y->rank == 0 || y->dims[y->rank - 1] <= 0 ||
        s->tensors[l->inputs[1]].role != ASSAY_ROLE_CONSTANT ||
        assay_tensor_count(&s->tensors[l->inputs[1]], &weights, &bytes, NULL) <
            0)
        return n;
    return n / (uint64_t)y->dims[y->rank - 1] * weights;
}

/* The reference's inputs by the numbers of assay_slice_single(). */
static bool inputs_of(const struct assay_run *r, uint32_t layer,
                      const struct assay_slice *one, const void **out)
{
    const struct assay_layer *l = &r->s->layers[layer];

    for (uint32_t i = 0; i < l->n_inputs; i++) {
        uint32_t mine = one->layers[0].inputs[i];

        if (r->s->tensors[l->inputs[i]].role == ASSAY_ROLE_CONSTANT)
            continue;
        out[mine] = r->values[l->inputs[i]];
        if (out[mine] == NULL)
            return false;
    }
    return true;
}

static void take_layer(struct assay_run *r, uint32_t layer)
{
    const void *inputs[ASSAY_MAX_LAYER_INPUTS] = {0};
    struct assay_slice *one = NULL;

    /* What fails here is not looked at: the run is judged without it. */
    if (assay_slice_single(&one, r->s, layer, NULL) == 0 &&
        inputs_of(r, layer, one, inputs) &&
        assay_probe_layer(&r->probes->v[layer], one, inputs, assay_cpu_probe(),
                          NULL) < 0)
        r->probes->left_out++;
    assay_slice_free(one);
}

void assay_run_probe_take(struct assay_run *r)
{
    if (r->o->command != ASSAY_CMD_RUN || !open_probes(r))
        return;
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        uint64_t work = work_of(r->s, &r->s->layers[i]);

        if (!r->layers[i].selected || !r->layers[i].run ||
            r->s->layers[i].op == ASSAY_OP_SKIPPED)
            continue;
        if (r->o->verbose == 0 && r->probes->work + work > WORK) {
            r->probes->left_out++;
            continue;
        }
        r->probes->work += work;
        take_layer(r, i);
    }
}

/* ---- what was never reached ---------------------------------------------------- */

static const struct assay_probe *probe_of(const struct assay_run *r,
                                          uint32_t layer)
{
    if (r->probes == NULL || r->probes->v == NULL ||
        r->probes->v[layer].values == 0)
        return NULL;
    return &r->probes->v[layer];
}

static void add(const struct assay_run *r, struct assay_row_probe *out,
                const char **never, const struct assay_layer *l,
                const struct assay_probe_step *s, enum assay_message_id what)
{
    const struct assay_program *p =
        s->operand == 0 ? &l->out_program : &l->in_programs[s->operand - 1];
    char step[128], text[256];

    assay_step_text(p, s->step, ASSAY_ALL_CHANNELS, step, sizeof(step));
    assay_message(text, sizeof(text), what, "step", step, NULL);
    never[out->n_never++] = assay_arena_str(r->arena, text, strlen(text));
}

void assay_run_probe_row(const struct assay_run *r, uint32_t layer,
                         struct assay_row_probe *out)
{
    const struct assay_probe *p = probe_of(r, layer);
    const char **never;

    *out = (struct assay_row_probe){.looked = p != NULL};
    if (p == NULL)
        return;
    out->has_sums = p->has_sums;
    out->min = p->min;
    out->max = p->max;
    out->headroom = assay_probe_headroom(p, 32);
    out->headroom_16 = assay_probe_headroom(p, 16);
    never =
        assay_arena_array(r->arena, 3 * (size_t)p->n_steps + 1, sizeof(*never));
    for (uint32_t i = 0; never != NULL && i < p->n_steps; i++) {
        const struct assay_probe_step *s = &p->steps[i];
        const struct assay_layer *l = &r->s->layers[layer];

        if (s->rounds && s->ties == 0)
            add(r, out, never, l, s, ASSAY_MSG_PROBE_NO_TIE);
        if (s->from && s->low == 0)
            add(r, out, never, l, s, ASSAY_MSG_PROBE_NO_LOW);
        if (s->to && s->high == 0)
            add(r, out, never, l, s, ASSAY_MSG_PROBE_NO_HIGH);
    }
    out->never = never;
}

/* Layers that have such a step, and those that never reached it in any. */
struct tally {
    uint32_t layers, ties, no_tie, from, no_low, to, no_high;
};

static void count(const struct assay_probe *p, struct tally *t)
{
    bool rounds = false, from = false, to = false;
    bool tie = false, low = false, high = false;

    for (uint32_t i = 0; i < p->n_steps; i++) {
        const struct assay_probe_step *s = &p->steps[i];

        rounds = rounds || s->rounds;
        from = from || s->from;
        to = to || s->to;
        tie = tie || s->ties > 0;
        low = low || s->low > 0;
        high = high || s->high > 0;
    }
    t->layers++;
    t->ties += rounds;
    t->no_tie += rounds && !tie;
    t->from += from;
    t->no_low += from && !low;
    t->to += to;
    t->no_high += to && !high;
}

void assay_run_probe_lines(const struct assay_run *r,
                           const struct assay_run_summary *sum,
                           struct assay_lines *l)
{
    struct tally t = {0};
    char text[TEXT];

    for (uint32_t i = 0; i < r->s->n_layers; i++)
        if (probe_of(r, i) != NULL)
            count(probe_of(r, i), &t);
    if (sum->exit_code != 0 || t.layers == 0)
        return;
    assay_message(text, sizeof(text), ASSAY_MSG_PROBE_SUMMARY, "no_tie",
                  assay_num_u(t.no_tie).text, "ties", assay_num_u(t.ties).text,
                  "no_low", assay_num_u(t.no_low).text, "no_high",
                  assay_num_u(t.no_high).text, "from", assay_num_u(t.from).text,
                  "to", assay_num_u(t.to).text, NULL);
    if (r->probes->left_out > 0) {
        size_t n = strlen(text);

        assay_message(text + n, sizeof(text) - n, ASSAY_MSG_PROBE_LEFT, NULL);
    }
    assay_line_add(l, " ", text);
}

void assay_run_probe_tell(const struct assay_run *r)
{
    if (r->o->verbose == 0 || r->o->quiet)
        return;
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        struct assay_row_probe p;

        assay_run_probe_row(r, i, &p);
        if (!p.looked)
            continue;
        fprintf(stderr, "%03u %s:", i, r->s->layers[i].name);
        if (p.has_sums)
            fprintf(stderr,
                    " sums %" PRId64 "..%" PRId64 ", %d bits of 32 free%s;",
                    p.min, p.max, p.headroom,
                    p.headroom_16 < 0 ? ", more than 16 bits" : "");
        for (size_t k = 0; k < p.n_never; k++)
            fprintf(stderr, "%s %s", k > 0 ? "," : "", p.never[k]);
        fprintf(stderr, "%s\n",
                p.n_never == 0 ? assay_message_text(ASSAY_MSG_PROBE_ALL_REACHED)
                               : "");
    }
}
