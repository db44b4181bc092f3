/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_probe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/step_text.h"
#include "kernels/cpu.h"
#include "lib/core/slice_part.h"
#include "lib/engine/probe.h"

#define WORK ((uint64_t)1 << 29) /* about instructions, of all samples */
#define TEXT 512

struct assay_run_probes {
    struct assay_probe *v; /* one a layer */
    bool *by_board;        /* one a layer */
    bool board_tells;      /* in this run */
    uint64_t work;
    uint32_t left_out; /* layers of samples that were too much */
};

void assay_run_probe_close(struct assay_run *r)
{
    if (r->probes != NULL) {
        assay_free(r->probes->v);
        assay_free(r->probes->by_board);
    }
    assay_free(r->probes);
    r->probes = NULL;
}

static bool open_probes(struct assay_run *r)
{
    size_t n = (size_t)r->s->n_layers + 1;

    if (r->probes == NULL) {
        r->probes = assay_calloc(1, sizeof(*r->probes));
        if (r->probes == NULL)
            return false;
        r->probes->v = assay_calloc(n, sizeof(*r->probes->v));
        r->probes->by_board = assay_calloc(n, sizeof(*r->probes->by_board));
    }
    return r->probes->v != NULL && r->probes->by_board != NULL;
}

/* What is left to spend. */
static uint64_t work_left(const struct assay_run *r)
{
    if (r->o->verbose > 0)
        return UINT64_MAX;
    return r->probes->work < WORK ? WORK - r->probes->work : 0;
}

/* ---- by the board ---------------------------------------------------------- */

uint64_t assay_run_probe_ask(struct assay_run *r, const struct assay_pass *pass)
{
    bool isolated = pass->isolated || pass->judge != NULL;

    if (r->o->command != ASSAY_CMD_RUN || pass->column != ASSAY_COL_CPU ||
        pass->reference || pass->repeat || pass->source != NULL ||
        isolated != (r->o->mode == ASSAY_MODE_ISOLATED) || !open_probes(r))
        return 0;
    r->probes->left_out += work_left(r) == 0; /* all of this pass */
    return work_left(r);
}

void assay_run_probe_told(struct assay_run *r, const struct assay_pass *pass,
                          uint32_t layer, const struct assay_probe *p)
{
    r->probes->board_tells = true;
    r->probes->work += p->work;
    if (!r->layers[layer].selected ||
        (pass->judge != NULL && !pass->judge[layer]))
        return;
    r->probes->left_out += p->values == 0;
    r->probes->by_board[layer] = true;
    assay_probe_merge(&r->probes->v[layer], p);
}

/* ---- by this process ------------------------------------------------------- */

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
    const struct assay_probe_limits limits = {work_left(r), SIZE_MAX};
    const void *inputs[ASSAY_MAX_LAYER_INPUTS] = {0};
    struct assay_slice *one = NULL;
    struct assay_probe p = {0};
    int rc = ASSAY_PROBE_NOTHING;

    /* What fails here is not looked at: the run is judged without it. */
    if (assay_slice_single(&one, r->s, layer, NULL) == 0 &&
        inputs_of(r, layer, one, inputs))
        rc = assay_probe_layer(&p, one, inputs, assay_cpu_probe(), &limits,
                               NULL);
    assay_slice_free(one);
    r->probes->left_out += rc != 0 && rc != ASSAY_PROBE_NOTHING;
    r->probes->work += p.work;
    assay_probe_merge(&r->probes->v[layer], &p);
}

void assay_run_probe_take(struct assay_run *r)
{
    if (r->o->command != ASSAY_CMD_RUN || !open_probes(r) ||
        r->probes->board_tells)
        return;
    for (uint32_t i = 0; i < r->s->n_layers; i++)
        if (r->layers[i].selected && r->layers[i].run &&
            r->s->layers[i].op != ASSAY_OP_SKIPPED)
            take_layer(r, i);
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

/* Texts of one row, in the run's arena. */
struct texts {
    const struct assay_run *r;
    const char **v;
    size_t n;
};

static void add(struct texts *t, const char *text)
{
    t->v[t->n++] = assay_arena_str(t->r->arena, text, strlen(text));
}

static void add_step(struct texts *t, const char *step,
                     enum assay_message_id what)
{
    char text[256];

    assay_message(text, sizeof(text), what, "step", step, NULL);
    add(t, text);
}

static void name_step(struct texts *t, const struct assay_layer *l,
                      const struct assay_probe_step *s)
{
    const struct assay_program *p =
        s->operand == 0 ? &l->out_program : &l->in_programs[s->operand - 1];
    char step[128];

    assay_step_text(p, s->step, ASSAY_ALL_CHANNELS, step, sizeof(step));
    add(t, step);
}

static void never_of_step(struct texts *t, const struct assay_probe_step *s,
                          const char *name)
{
    if ((s->can & ASSAY_PROBE_TIES) != 0 && s->ties == 0)
        add_step(t, name, ASSAY_MSG_PROBE_NO_TIE);
    if ((s->can & ASSAY_PROBE_LOW) != 0 && s->low == 0)
        add_step(t, name, ASSAY_MSG_PROBE_NO_LOW);
    if ((s->can & ASSAY_PROBE_HIGH) != 0 && s->high == 0)
        add_step(t, name, ASSAY_MSG_PROBE_NO_HIGH);
    if ((s->can & ASSAY_PROBE_LEFT) != 0 && s->left == 0)
        add_step(t, name, ASSAY_MSG_PROBE_NO_LEFT);
}

/* In the order of enum assay_probe_fact. */
static const enum assay_message_id no_fact[ASSAY_PROBE_FACTS] = {
    ASSAY_MSG_PROBE_NO_PADDING, ASSAY_MSG_PROBE_NO_PADDING_BELOW,
    ASSAY_MSG_PROBE_NO_TAIL,    ASSAY_MSG_PROBE_NO_DIVISION_TIE,
    ASSAY_MSG_PROBE_NO_UP,      ASSAY_MSG_PROBE_NO_DOWN};

static void never_of_layer(struct texts *t, const struct assay_probe *p)
{
    uint32_t first, last, read = assay_probe_entries(p, &first, &last);
    char text[256];

    for (uint32_t i = 0; i < ASSAY_PROBE_FACTS; i++)
        if ((p->facts >> i & 1) != 0 && p->fact[i] == 0)
            add(t, assay_message_text(no_fact[i]));
    if (read == p->n_entries)
        return;
    assay_message(text, sizeof(text), ASSAY_MSG_PROBE_NO_ENTRY, "left",
                  assay_num_u(p->n_entries - read).text, "of",
                  assay_num_u(p->n_entries).text, NULL);
    add(t, text);
}

void assay_run_probe_row(const struct assay_run *r, uint32_t layer,
                         struct assay_row_probe *out)
{
    const struct assay_probe *p = probe_of(r, layer);
    struct texts steps = {.r = r}, never = {.r = r};

    *out = (struct assay_row_probe){.p = p};
    if (p == NULL)
        return;
    steps.v =
        assay_arena_array(r->arena, (size_t)p->n_steps + 1, sizeof(*steps.v));
    never.v = assay_arena_array(r->arena,
                                4 * (size_t)p->n_steps + ASSAY_PROBE_FACTS + 1,
                                sizeof(*never.v));
    if (steps.v == NULL || never.v == NULL) {
        out->p = NULL;
        return;
    }
    out->by_board = r->probes->by_board[layer];
    for (uint32_t i = 0; i < p->n_steps; i++) {
        name_step(&steps, &r->s->layers[layer], &p->steps[i]);
        never_of_step(&never, &p->steps[i], steps.v[i]);
    }
    never_of_layer(&never, p);
    out->steps = steps.v;
    out->never = never.v;
    out->n_never = never.n;
}

/* Layers that have such a step, and those that never reached it in any. */
struct tally {
    uint32_t layers, by_board, ties, no_tie, from, no_low, to, no_high;
};

static void count(const struct assay_probe *p, struct tally *t)
{
    bool rounds = false, from = false, to = false;
    bool tie = false, low = false, high = false;

    for (uint32_t i = 0; i < p->n_steps; i++) {
        const struct assay_probe_step *s = &p->steps[i];

        rounds = rounds || (s->can & ASSAY_PROBE_TIES) != 0;
        from = from || (s->can & ASSAY_PROBE_LOW) != 0;
        to = to || (s->can & ASSAY_PROBE_HIGH) != 0;
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

static void add_text(char *out, size_t cap, enum assay_message_id id)
{
    size_t n = strlen(out);

    assay_message(out + n, cap - n, id, NULL);
}

void assay_run_probe_lines(const struct assay_run *r,
                           const struct assay_run_summary *sum,
                           struct assay_lines *l)
{
    struct tally t = {0};
    char text[TEXT];

    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        if (probe_of(r, i) == NULL)
            continue;
        count(probe_of(r, i), &t);
        t.by_board += r->probes->by_board[i];
    }
    if (sum->exit_code != 0 || t.layers == 0)
        return;
    assay_message(text, sizeof(text), ASSAY_MSG_PROBE_SUMMARY, "no_tie",
                  assay_num_u(t.no_tie).text, "ties", assay_num_u(t.ties).text,
                  "no_low", assay_num_u(t.no_low).text, "no_high",
                  assay_num_u(t.no_high).text, "from", assay_num_u(t.from).text,
                  "to", assay_num_u(t.to).text, NULL);
    add_text(text, sizeof(text),
             t.by_board > 0 ? ASSAY_MSG_PROBE_BY_BOARD
                            : ASSAY_MSG_PROBE_BY_HOST);
    if (r->probes->left_out > 0)
        add_text(text, sizeof(text), ASSAY_MSG_PROBE_LEFT);
    assay_line_add(l, " ", text);
}

/* ---- with -v ------------------------------------------------------------------ */

static void tell_sums(const struct assay_probe *p)
{
    static const enum assay_message_id texts[ASSAY_PROBE_SUMS] = {
        ASSAY_MSG_PROBE_RUNNING_16, ASSAY_MSG_PROBE_RUNNING_32,
        ASSAY_MSG_PROBE_PAIRS_16};

    fprintf(stderr, " sums %" PRId64 "..%" PRId64 ", %d bits of 32 free%s",
            p->min, p->max, assay_probe_headroom(p, 32),
            assay_probe_headroom(p, 16) < 0 ? ", more than 16 bits" : "");
    for (unsigned i = 0; i < ASSAY_PROBE_SUMS; i++)
        if (p->sums[i] == ASSAY_PROBE_LEAVES)
            fprintf(stderr, "%s", assay_message_text(texts[i]));
    fputc(';', stderr);
}

/* Is there anything that its data could reach? */
static bool has_subject(const struct assay_probe *p)
{
    return p->has_sums || p->n_steps > 0 || p->facts != 0 || p->n_entries > 0;
}

void assay_run_probe_tell(const struct assay_run *r)
{
    if (r->o->verbose == 0 || r->o->quiet)
        return;
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        struct assay_row_probe p;
        uint32_t first, last, read;

        assay_run_probe_row(r, i, &p);
        if (p.p == NULL || !has_subject(p.p))
            continue;
        fprintf(stderr, "%03u %s:", i, r->s->layers[i].name);
        if (p.p->has_sums)
            tell_sums(p.p);
        read = assay_probe_entries(p.p, &first, &last);
        if (read > 0)
            fprintf(stderr, " entries %u..%u;", first, last);
        for (size_t k = 0; k < p.n_never; k++)
            fprintf(stderr, "%s %s", k > 0 ? "," : "", p.never[k]);
        fprintf(stderr, "%s\n",
                p.n_never == 0 ? assay_message_text(ASSAY_MSG_PROBE_ALL_REACHED)
                               : "");
    }
}
