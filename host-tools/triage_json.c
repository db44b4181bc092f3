/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "host-tools/messages.h"
#include "host-tools/report/json_text.h"
#include "host-tools/triage_report.h"

#define MAX_SAMPLES 32u /* of a step, worst first */
#define MAX_ROWS 200u   /* of a vendor's table */

static json_t *real(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static bool add(json_t *array, json_t *value)
{
    return json_array_append_new(array, value) == 0;
}

static const char *stage_name(enum assay_stage s)
{
    return assay_stage_info(s)->name;
}

static json_t *stages(const struct assay_triage *t)
{
    json_t *out = json_array();

    for (int i = 0; i < ASSAY_STAGE_COUNT; i++) {
        const struct assay_stage_set *s = &t->sets[i];

        add(out,
            json_pack("{s:s, s:b, s:i, s:o}", "name",
                      stage_name((enum assay_stage)i), "given", s->path != NULL,
                      "samples", (int)s->n, "path", assay_json_text(s->path)));
    }
    return out;
}

static json_t *tensor(const struct assay_transition *s,
                      const struct assay_tensor_step *x)
{
    const struct assay_pair_stats *w = &x->worst;
    char why[300] = "";

    if (x->samples == 0)
        assay_triage_why(why, sizeof(why), s, x);
    return json_pack(
        "{s:o, s:b, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b}",
        "name", assay_json_text(x->name), "compared", x->samples > 0, "reason",
        assay_json_text(why), "count", (json_int_t)w->n, "mismatch",
        (json_int_t)w->differing, "Cosine", real(assay_pair_cosine(w)), "L1",
        real(assay_pair_l1(w)), "Atol", real(w->max_abs), "max_qscale_diff",
        real(assay_pair_lsb(w)), "error", real(assay_pair_error(w)), "sample",
        assay_json_text(x->samples > 0 ? s->samples[x->worst_sample].name : ""),
        "breaks", x->reason != ASSAY_REASON_NONE, "permuted", x->permuted);
}

static json_t *tensors(const struct assay_transition *s)
{
    json_t *out = json_array();

    for (uint32_t i = 0; i < s->n; i++)
        add(out, tensor(s, &s->tensors[i]));
    return out;
}

static json_t *samples(const struct assay_transition *s)
{
    uint32_t worst[MAX_SAMPLES],
        n = assay_triage_worst_samples(s, worst, MAX_SAMPLES);
    json_t *out = json_array();

    for (uint32_t i = 0; i < n && s->compared > 0; i++) {
        const struct assay_sample_step *p = &s->samples[worst[i]];

        add(out, json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "name",
                           assay_json_text(p->name), "tensor",
                           assay_json_text(s->tensors[p->tensor].name),
                           "Cosine", real(p->cosine), "Atol", real(p->max_abs),
                           "error", real(p->error), "breaks", p->breaks));
    }
    return out;
}

static json_t *symptoms(const struct assay_transition *s)
{
    json_t *out = json_array();

    for (int i = 0; i < ASSAY_SYMPTOM_COUNT; i++) {
        const struct assay_symptom_info *info =
            assay_symptom_info((enum assay_symptom)i);

        if ((s->symptoms & 1u << i) != 0)
            add(out, json_pack("{s:s, s:s, s:s}", "id", info->id, "seen",
                               info->seen, "look", info->look));
    }
    return out;
}

static json_t *look(const struct assay_transition *s)
{
    json_t *out = json_array();

    for (int i = (int)s->from + 1; i <= (int)s->to; i++)
        add(out, json_string(assay_stage_info((enum assay_stage)i)->look));
    return out;
}

static json_t *split(const struct assay_transition *s)
{
    json_t *out = json_array();

    for (int i = (int)s->from + 1; i < (int)s->to; i++)
        add(out, json_string(stage_name((enum assay_stage)i)));
    return out;
}

static json_t *step(const struct assay_transition *s)
{
    bool breaks = s->verdict == ASSAY_STEP_BREAKS;
    char sides[80], reason[300] = "";

    if (breaks)
        assay_triage_reason(reason, sizeof(reason), s);
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:b, s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:o, "
        "s:o, s:o, s:o, s:o}",
        "from", stage_name(s->from), "to", stage_name(s->to), "verdict",
        s->verdict == ASSAY_STEP_BREAKS ? "breaks" : assay_triage_verdict(s),
        "side", assay_triage_sides(sides, sizeof(sides), s->from, s->to),
        "exact", s->exact, "cosine_min", real(s->cosine_min), "error_max",
        real(s->error_max), "compared", (int)s->compared, "samples",
        (int)s->n_samples, "first",
        assay_json_text(breaks ? s->tensors[s->first].name : ""), "worst",
        assay_json_text(s->compared > 0 ? s->tensors[s->worst].name : ""),
        "reason", assay_json_text(reason), "symptoms", symptoms(s), "look",
        breaks ? look(s) : json_array(), "missing_between", split(s),
        "bad_samples", samples(s), "tensors", tensors(s));
}

static json_t *layers(const struct assay_triage_evidence *e)
{
    json_t *out = json_array();
    uint32_t worst[MAX_ROWS], n = assay_evidence_worst(e, worst, MAX_ROWS);

    for (uint32_t i = 0; i < n; i++) {
        const struct assay_layer_row *r = &e->layers[worst[i]];

        add(out, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}",
                           "mod_name", assay_json_text(r->name), "base_op_type",
                           assay_json_text(r->base_op), "analy_op_type",
                           assay_json_text(r->analy_op), "quant_dtype",
                           assay_json_text(r->dtype), "qscale", real(r->qscale),
                           "Cosine", real(r->cosine), "Atol", real(r->atol),
                           "max_qscale_diff", real(r->max_qscale_diff), "error",
                           assay_layer_row_error(r)));
    }
    return out;
}

static json_t *sensitive(const struct assay_triage_evidence *e)
{
    json_t *out = json_array();

    for (uint32_t i = 0; i < e->n_sensitive && i < MAX_ROWS; i++) {
        const struct assay_sensitive_op *s = &e->sensitive[i];

        add(out,
            json_pack("{s:o, s:o, s:o, s:o, s:o}", "op_name",
                      assay_json_text(s->name), "op_type",
                      assay_json_text(s->op), "quant_dtype",
                      assay_json_text(s->dtype), "metric",
                      assay_json_text(s->metric), "value", real(s->value)));
    }
    return out;
}

static json_t *badcases(const struct assay_triage_evidence *e)
{
    json_t *out = json_array();

    for (uint32_t i = 0; i < e->n_badcases && i < MAX_ROWS; i++) {
        const struct assay_badcase *b = &e->badcases[i];

        add(out, json_pack("{s:o, s:o, s:I, s:o}", "output",
                           assay_json_text(b->output), "metric",
                           assay_json_text(b->metric), "sample",
                           (json_int_t)b->sample, "value", real(b->value)));
    }
    return out;
}

static json_t *dtypes(const struct assay_triage_evidence *e)
{
    json_t *out = json_array();

    for (uint32_t i = 0; i < e->n_verdicts && i < MAX_ROWS; i++) {
        const struct assay_dtype_verdict *v = &e->verdicts[i];

        add(out,
            json_pack("{s:o, s:s, s:s, s:s, s:o, s:o, s:o, s:I}", "module",
                      assay_json_text(v->module), "asked", v->asked, "got",
                      v->got, "why", assay_triage_dtype_why(v->why), "by",
                      assay_json_text(v->by), "text", assay_json_text(v->text),
                      "near", assay_json_text(v->near), "line",
                      (json_int_t)v->line));
    }
    return out;
}

static json_t *logs(const struct assay_log *log)
{
    json_t *out = json_array();

    for (uint32_t i = 0; i < log->n_hits; i++) {
        const struct assay_log_hit *h = &log->hits[i];
        const struct assay_log_message *m = h->message;

        add(out, json_pack("{s:o, s:I, s:I, s:b, s:s, s:s, s:s, s:o}", "file",
                           assay_json_text(h->file), "line",
                           (json_int_t)h->line, "count", (json_int_t)h->count,
                           "known", m != NULL, "id", m != NULL ? m->id : "",
                           "meaning", m != NULL ? m->meaning : "", "remedy",
                           m != NULL ? m->remedy : "", "text",
                           assay_json_text(h->text)));
    }
    return out;
}

static json_t *files(const struct assay_triage_evidence *e)
{
    json_t *out = json_array();

    for (uint32_t i = 0; i < e->n_files; i++)
        add(out,
            json_pack("{s:o, s:s}", "path", assay_json_text(e->files[i].path),
                      "kind", assay_evidence_kind_name(e->files[i].kind)));
    return out;
}

/* "quantized.bc->hbm", or "". */
static json_t *name_of(const struct assay_triage *t, int at)
{
    char name[64] = "";

    if (at >= 0)
        snprintf(name, sizeof(name), "%s->%s", stage_name(t->steps[at].from),
                 stage_name(t->steps[at].to));
    return json_string(name);
}

json_t *assay_triage_json(const struct assay_triage *t)
{
    const struct assay_triage_evidence *e = t->evidence;
    json_t *steps = json_array();

    for (uint32_t i = 0; i < t->n_steps; i++)
        add(steps, step(&t->steps[i]));
    return json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:i, s:o, "
        "s:i, s:o, s:i}",
        "schema", "assay-triage/1", "tool", "assay " ASSAY_VERSION, "stages",
        stages(t), "transitions", steps, "first_break", name_of(t, t->first),
        "first_break_behind_training", name_of(t, t->first_deploy),
        "training_side", t->first >= 0 && t->first != t->first_deploy, "layers",
        layers(e), "sensitive", sensitive(e), "badcases", badcases(e), "dtypes",
        dtypes(e), "dtypes_as_asked", (int)e->n_as_asked, "logs", logs(&t->log),
        "log_unknown", (int)t->log.n_unknown, "files", files(e), "exit_code",
        t->exit_code);
}
