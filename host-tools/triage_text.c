/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "host-tools/messages.h"
#include "host-tools/triage_report.h"

#define WORST 5u  /* samples, layers */
#define LINES 10u /* of dtypes and bad cases */
#define TENSOR 15 /* columns of a name in the table */

static void say(FILE *f, const char *line)
{
    fprintf(f, "%s\n", line);
}

static const char *stage_name(enum assay_stage s)
{
    return assay_stage_info(s)->name;
}

/* "-" where there is no number. */
static struct assay_num number(double v)
{
    struct assay_num none = {"-"};

    return isnan(v) || v < 0 ? none : assay_num_g(4, v);
}

/* Control bytes of names do not steer a terminal. */
static void put_name(FILE *f, const char *name, int width)
{
    char text[128];
    size_t n = 0;

    for (; name[n] != '\0' && n + 1 < sizeof(text); n++)
        text[n] = (unsigned char)name[n] < 32 || name[n] == 127 ? '?' : name[n];
    text[n] = '\0';
    if (n > (size_t)width) /* the end tells more than the beginning */
        fprintf(f, " ..%s", text + n - (size_t)width + 2);
    else
        fprintf(f, " %-*s", width, text);
}

static void put_row(FILE *f, const struct assay_transition *s)
{
    char step[64];
    const struct assay_tensor_step *x = &s->tensors[s->worst];

    snprintf(step, sizeof(step), "%s -> %s", stage_name(s->from),
             stage_name(s->to));
    fprintf(f, " %-27s %7" PRIu32 " %7" PRIu32, step, s->compared,
            s->n_samples);
    if (s->verdict == ASSAY_STEP_INCOMPARABLE) {
        put_name(f, "-", TENSOR);
        fprintf(f, " %8s %9s %9s %15s %s\n", "-", "-", "-", "-",
                assay_triage_verdict(s));
        return;
    }
    put_name(f, x->name, TENSOR);
    fprintf(f, " %8.6f %9s %9s %15s %s\n", assay_pair_cosine(&x->worst),
            number(assay_pair_l1(&x->worst)).text,
            number(x->worst.max_abs).text,
            number(assay_pair_lsb(&x->worst)).text, assay_triage_verdict(s));
}

static void put_table(FILE *f, const struct assay_triage *t)
{
    uint32_t samples = 0, step = 0;
    char line[256];

    for (int i = 0; i < ASSAY_STAGE_COUNT; i++)
        if (t->sets[i].n > samples)
            samples = t->sets[i].n;
    say(f, assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_HEAD, "stages",
                         assay_num_u(t->n_stages).text, "all",
                         assay_num_u(ASSAY_STAGE_COUNT).text, "samples",
                         assay_num_u(samples).text, NULL));
    fprintf(f, " %-27s %7s %7s %-15s %8s %9s %9s %15s %s\n", "step", "tensors",
            "samples", "worst tensor", "Cosine", "L1", "Atol",
            "max_qscale_diff", "verdict");
    for (int i = 0; i < ASSAY_STAGE_COUNT; i++) {
        if (t->sets[i].path == NULL)
            fprintf(f, " %-27s %7s %7s %-15s %8s %9s %9s %15s %s\n",
                    stage_name((enum assay_stage)i), "-", "-", "-", "-", "-",
                    "-", "-", "missing");
        while (step < t->n_steps && t->steps[step].to == (enum assay_stage)i)
            put_row(f, &t->steps[step++]);
    }
}

/* Notes on what was compared, and what could not be. */
static void put_notes(FILE *f, const struct assay_transition *s)
{
    char line[1024], why[400];
    const char *from = stage_name(s->from), *to = stage_name(s->to);
    const struct assay_tensor_step *first = NULL;
    uint32_t lone = 0;

    for (uint32_t i = 0; i < s->n; i++) {
        if (s->tensors[i].samples > 0)
            continue;
        if (lone++ == 0)
            first = &s->tensors[i];
    }
    assay_triage_why(why, sizeof(why), s, first);
    if (s->by_order && s->n_samples > 1)
        say(f, assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_SAMPLES_ORDER,
                             "from", from, "to", to, NULL));
    if (s->lone_a + s->lone_b > 0)
        say(f, assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_SAMPLES_LONE,
                             "from", from, "to", to, "a",
                             assay_num_u(s->lone_a).text, "b",
                             assay_num_u(s->lone_b).text, NULL));
    if (s->verdict == ASSAY_STEP_INCOMPARABLE)
        say(f, assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_NOT_COMPARED,
                             "from", from, "to", to, "why", why, NULL));
    else if (lone > 0)
        say(f, assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_TENSORS_LONE,
                             "from", from, "to", to, "count",
                             assay_num_u(lone).text, "name", first->name, "why",
                             why, NULL));
}

static void put_samples(FILE *f, const struct assay_transition *s)
{
    uint32_t worst[WORST], n = assay_triage_worst_samples(s, worst, WORST);
    char line[1024];

    for (uint32_t i = 0; i < n; i++) {
        const struct assay_sample_step *p = &s->samples[worst[i]];

        if (!p->breaks)
            break;
        say(f, assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_BAD, "sample",
                             p->name, "tensor", s->tensors[p->tensor].name,
                             "cosine", assay_num_g(6, p->cosine).text, "atol",
                             number(p->max_abs).text, "lsb",
                             number(p->lsb).text, NULL));
    }
}

static void put_break(FILE *f, const struct assay_transition *s)
{
    const struct assay_tensor_step *x = &s->tensors[s->first];
    char line[1024], reason[300], stages[160], permuted[100] = "";

    if (x->permuted)
        assay_message(permuted, sizeof(permuted), ASSAY_MSG_TRIAGE_PERMUTED,
                      NULL);
    say(f, assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_STARTS, "tensor",
                         x->name, "reason",
                         assay_triage_reason(reason, sizeof(reason), s),
                         "shape", permuted, NULL));
    for (int i = 0; i < ASSAY_SYMPTOM_COUNT; i++) {
        const struct assay_symptom_info *info =
            assay_symptom_info((enum assay_symptom)i);

        if ((s->symptoms & 1u << i) != 0)
            say(f, assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_LOOKS,
                                 "id", info->id, "seen", info->seen, "look",
                                 info->look, NULL));
    }
    put_samples(f, s);
    for (int i = (int)s->from + 1; i <= (int)s->to; i++)
        say(f,
            assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_LOOK, "look",
                          assay_stage_info((enum assay_stage)i)->look, NULL));
    assay_triage_between(stages, sizeof(stages), s->from, s->to);
    if (stages[0] != '\0')
        say(f, assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_SPLIT, "from",
                             stage_name(s->from), "to", stage_name(s->to),
                             "stages", stages, NULL));
}

static void put_first(FILE *f, const struct assay_triage *t, int at,
                      enum assay_message_id id)
{
    const struct assay_transition *s = &t->steps[at];
    char line[256], sides[80];

    say(f, assay_message(
               line, sizeof(line), id, "from", stage_name(s->from), "to",
               stage_name(s->to), "side",
               assay_triage_sides(sides, sizeof(sides), s->from, s->to), NULL));
    if (at != t->first_deploy)
        say(f,
            assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_TRAINING, NULL));
    put_break(f, s);
}

static void put_match(FILE *f, const struct assay_triage *t)
{
    char line[400], stages[200] = "";

    for (int i = 0; i < ASSAY_STAGE_COUNT; i++) {
        if (t->sets[i].path == NULL)
            continue;
        if (stages[0] != '\0')
            strncat(stages, ", ", sizeof(stages) - strlen(stages) - 1);
        strncat(stages, stage_name((enum assay_stage)i),
                sizeof(stages) - strlen(stages) - 1);
    }
    say(f, assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_NONE, "stages",
                         stages, NULL));
}

/* A step with a tolerance that goes on behind quantized.bc. */
static void put_unseen(FILE *f, const struct assay_triage *t)
{
    char line[256];

    for (uint32_t i = 0; i < t->n_steps; i++) {
        const struct assay_transition *s = &t->steps[i];

        if (s->verdict == ASSAY_STEP_OK && !s->exact &&
            s->to > ASSAY_STAGE_QUANTIZED_BC)
            say(f, assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_UNSEEN,
                                 "from", stage_name(s->from), "to",
                                 stage_name(s->to), NULL));
    }
}

/* What would tell more about a break. */
static void put_wanted(FILE *f, const struct assay_triage *t)
{
    const struct assay_transition *s;
    char line[400], what[300];
    bool before, behind;

    put_unseen(f, t);
    if (t->first < 0)
        return;
    s = &t->steps[t->first_deploy >= 0 ? t->first_deploy : t->first];
    before = s->from < ASSAY_STAGE_QUANTIZED_BC;
    behind = s->to > ASSAY_STAGE_QUANTIZED_BC;
    if (before && t->evidence->n_layers + t->evidence->n_got == 0)
        say(f,
            assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_WANTED, "what",
                          assay_message(what, sizeof(what),
                                        ASSAY_MSG_TRIAGE_WANT_LAYERS, NULL),
                          NULL));
    if (behind && t->log.n_files == 0)
        say(f,
            assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_WANTED, "what",
                          assay_message(what, sizeof(what),
                                        ASSAY_MSG_TRIAGE_WANT_LOGS, NULL),
                          NULL));
}

/* ---- what the vendor's files say ----------------------------------------- */

/* "horizon_plugin_pytorch.nn.qat.conv2d.Conv2d" is Conv2d. */
static const char *last_word(const char *op)
{
    const char *dot = strrchr(op, '.');

    return dot != NULL && dot[1] != '\0' ? dot + 1 : op;
}

static const char *range(char *out, size_t cap, double lo, double hi)
{
    snprintf(out, cap, "[%.5g, %.5g]", lo, hi);
    return out;
}

static void put_layer(FILE *f, const struct assay_layer_row *r)
{
    char line[1024], error[200] = "", base[60], analy[60];
    const char *kind = assay_layer_row_error(r);

    range(base, sizeof(base), r->base_min, r->base_max);
    range(analy, sizeof(analy), r->analy_min, r->analy_max);
    if (strcmp(kind, "clipped") == 0)
        assay_message(error, sizeof(error), ASSAY_MSG_TRIAGE_CLIPPED, "base",
                      base, "analy", analy, NULL);
    else if (strcmp(kind, "rounding") == 0)
        assay_message(error, sizeof(error), ASSAY_MSG_TRIAGE_ROUNDED, "base",
                      base, NULL);
    say(f, assay_message(
               line, sizeof(line), ASSAY_MSG_TRIAGE_LAYER, "name", r->name,
               "op", last_word(r->analy_op), "dtype", r->dtype, "cosine",
               isnan(r->cosine) ? "-" : assay_num_g(6, r->cosine).text, "atol",
               number(r->atol).text, "lsb", number(r->max_qscale_diff).text,
               "error", error, NULL));
}

/* Nodes of quant_info.json with the lowest cosine. */
static void put_quant_nodes(FILE *f, const struct assay_vendor *v)
{
    double floor_cosine = -2;
    char line[400];

    for (uint32_t k = 0; v != NULL && k < WORST; k++) {
        const struct assay_vendor_quant_node *worst = NULL;

        for (uint32_t i = 0; i < v->n_quant_nodes; i++) {
            const struct assay_vendor_quant_node *n = &v->quant_nodes[i];

            if (n->has_cosine && n->cosine > floor_cosine && n->cosine < 1 &&
                (worst == NULL || n->cosine < worst->cosine))
                worst = n;
        }
        if (worst == NULL)
            return;
        floor_cosine = worst->cosine;
        say(f, assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_QUANT_NODE,
                             "name", worst->name, "type", worst->type, "cosine",
                             assay_num_g(6, worst->cosine).text, NULL));
    }
}

static void put_layers(FILE *f, const struct assay_triage_evidence *e)
{
    uint32_t worst[WORST], n = assay_evidence_worst(e, worst, WORST);
    bool nodes = e->vendor != NULL && e->vendor->n_quant_nodes > 0;
    char line[1024];

    if (n + e->n_sensitive == 0 && !nodes)
        return;
    say(f, assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_LAYERS, NULL));
    for (uint32_t i = 0; i < n; i++)
        put_layer(f, &e->layers[worst[i]]);
    for (uint32_t i = 0; i < e->n_sensitive && i < WORST; i++) {
        const struct assay_sensitive_op *s = &e->sensitive[i];

        say(f, assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_SENSITIVE,
                             "name", s->name, "op", last_word(s->op), "dtype",
                             s->dtype, "metric", s->metric, "value",
                             number(fabs(s->value)).text, NULL));
    }
    if (nodes)
        put_quant_nodes(f, e->vendor);
}

static void put_badcases(FILE *f, const struct assay_triage_evidence *e)
{
    char line[600], output[200], value[60];

    if (e->n_badcases == 0)
        return;
    say(f, assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_BADCASES, NULL));
    for (uint32_t i = 0; i < e->n_badcases && i < LINES; i++) {
        const struct assay_badcase *b = &e->badcases[i];

        snprintf(output, sizeof(output), "%s%.180s",
                 b->output[0] != '\0' ? " of output " : " of all outputs",
                 b->output);
        snprintf(value, sizeof(value), isnan(b->value) ? "" : ": %.6g",
                 b->value);
        say(f, assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_BADCASE,
                             "sample", assay_num_u((uint64_t)b->sample).text,
                             "metric", b->metric, "output", output, "value",
                             value, NULL));
    }
}

static void put_dtype(FILE *f, const struct assay_dtype_verdict *v)
{
    static const enum assay_message_id ids[] = {
        [ASSAY_DTYPE_NOT_HIT] = ASSAY_MSG_TRIAGE_DTYPE_HIT,
        [ASSAY_DTYPE_OVERRIDDEN] = ASSAY_MSG_TRIAGE_DTYPE_OVER,
        [ASSAY_DTYPE_FELL_BACK] = ASSAY_MSG_TRIAGE_DTYPE_FELL,
        [ASSAY_DTYPE_UNSAID] = ASSAY_MSG_TRIAGE_DTYPE_UNSAID,
    };
    char line[1024], near[300] = "";

    if (v->near[0] != '\0')
        assay_message(near, sizeof(near), ASSAY_MSG_TRIAGE_DTYPE_NEAR, "near",
                      v->near, NULL);
    say(f, assay_message(line, sizeof(line), ids[v->why], "module", v->module,
                         "asked", v->asked[0] != '\0' ? v->asked : "a dtype",
                         "got", v->got, "by", v->by, "text", v->text, "line",
                         assay_num_u(v->line).text, "near", near, NULL));
}

static void put_dtypes(FILE *f, const struct assay_triage_evidence *e)
{
    char line[256];

    if (e->n_verdicts + e->n_as_asked == 0)
        return;
    say(f, assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_DTYPES, "asked",
                         assay_num_u(e->n_as_asked).text, "got",
                         assay_num_u(e->n_verdicts).text, NULL));
    for (uint32_t i = 0; i < e->n_verdicts && i < LINES; i++)
        put_dtype(f, &e->verdicts[i]);
}

static void put_logs(FILE *f, const struct assay_log *log)
{
    char line[1024], more[40];
    uint32_t known = 0;

    if (log->n_files == 0)
        return;
    for (uint32_t i = 0; i < log->n_hits; i++)
        known += log->hits[i].message != NULL;
    say(f, assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_LOGS, "known",
                         assay_num_u(known).text, "unknown",
                         assay_num_u(log->n_unknown).text, NULL));
    for (uint32_t i = 0; i < log->n_hits; i++) {
        const struct assay_log_hit *h = &log->hits[i];
        struct assay_num at = assay_num_u(h->line);

        more[0] = '\0';
        if (h->count > 1)
            assay_message(more, sizeof(more), ASSAY_MSG_TRIAGE_LOG_MORE,
                          "count", assay_num_u(h->count).text, NULL);
        if (h->message != NULL)
            assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_LOG_KNOWN,
                          "file", h->file, "line", at.text, "id",
                          h->message->id, "meaning", h->message->meaning,
                          "more", more, "remedy", h->message->remedy, NULL);
        else
            assay_message(line, sizeof(line), ASSAY_MSG_TRIAGE_LOG_UNKNOWN,
                          "file", h->file, "line", at.text, "text", h->text,
                          NULL);
        say(f, line);
    }
}

void assay_triage_text(FILE *f, const struct assay_triage *t)
{
    if (t->n_steps > 0)
        put_table(f, t);
    for (uint32_t i = 0; i < t->n_steps; i++)
        put_notes(f, &t->steps[i]);
    if (t->first >= 0)
        put_first(f, t, t->first, ASSAY_MSG_TRIAGE_FIRST);
    if (t->first_deploy > t->first)
        put_first(f, t, t->first_deploy, ASSAY_MSG_TRIAGE_DEPLOY);
    if (t->n_steps > 0 && t->first < 0 && !t->incomparable)
        put_match(f, t);
    put_wanted(f, t);
    put_layers(f, t->evidence);
    put_badcases(f, t->evidence);
    put_dtypes(f, t->evidence);
    put_logs(f, &t->log);
}
