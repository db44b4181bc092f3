/* SPDX-License-Identifier: Apache-2.0 */
/* What is printed of a culprit's cause, and what JSON says of it. */
#include <stdio.h>
#include <string.h>

#include "host-tools/run_bad.h"
#include "host-tools/run_cause_looks.h"
#include "host-tools/run_input.h"
#include "host-tools/run_other.h"

#define TEXT 1024
#define SHOWN 4 /* hypotheses of one kind */
#define FEW 8   /* differing elements: chance may do the same */

static const struct assay_tensor *output_of(const struct assay_run_suspect *k)
{
    return &k->one->tensors[k->one->layers[0].output];
}

/* A text of the catalogue with the edit's own variant and number. */
static const char *filled(const char *text, const struct assay_edit *e,
                          char *out, size_t cap)
{
    char variant[64], value[32];

    assay_cause_variant(assay_cause_of(e->id), e->variant, variant,
                        sizeof(variant));
    snprintf(value, sizeof(value), "%lld", (long long)e->value);
    return assay_message_fill(out, cap, text, "variant", variant, "value",
                              value, NULL);
}

static const char *name_of(const struct assay_hypothesis *h, char *out,
                           size_t cap)
{
    char one[2][200] = {"", ""};

    for (uint32_t i = 0; i < h->n_edits; i++)
        filled(assay_cause_of(h->edits[i].id)->name, &h->edits[i], one[i],
               sizeof(one[i]));
    snprintf(out, cap, "%s%s%s", one[0], h->n_edits > 1 ? "; " : "", one[1]);
    return out;
}

/* `importer`: both ends of what differs were read by it. */
static void advice_line(const struct assay_edit *e, bool importer,
                        struct assay_lines *l)
{
    const struct assay_cause *c = assay_cause_of(e->id);
    char text[TEXT];

    assay_line_add(l, "  try     ", filled(c->advice, e, text, sizeof(text)));
    if (c->structural && importer)
        assay_line_add(l, "          ",
                       assay_message_text(ASSAY_MSG_CAUSE_IMPORTER));
}

/* Several causes are left: is there an input that would tell? */
static void apart_lines(const struct assay_run_suspect *k,
                        struct assay_lines *l)
{
    const struct assay_separation *a = &k->apart;
    char text[TEXT];

    if (k->found->n_classes < 2)
        return;
    assay_message(text, sizeof(text),
                  a->n_groups < 2         ? ASSAY_MSG_APART_NONE
                  : k->apart_path != NULL ? ASSAY_MSG_APART_FILE
                                          : ASSAY_MSG_APART,
                  "groups", assay_num_u(a->n_groups).text, "classes",
                  assay_num_u(a->n_classes).text, "count",
                  assay_num_u(a->differing).text, "tried",
                  assay_num_u(a->tried).text, "path",
                  k->apart_path != NULL ? k->apart_path : "", NULL);
    assay_line_add(l, "          ", text);
    if (a->n_groups < 2)
        return;
    assay_message(text, sizeof(text),
                  k->settled.failed ? ASSAY_MSG_APART_NO_ANSWER
                  : k->of_reference ? ASSAY_MSG_APART_REFERENCE
                                    : ASSAY_MSG_APART_FILES,
                  "column", assay_column_name(k->column), NULL);
    assay_line_add(l, "          ", text);
}

/* Somebody was asked: what is left? */
static void settled_line(const struct assay_run *r,
                         const struct assay_run_suspect *k,
                         struct assay_lines *l)
{
    const struct assay_run_settled *s = &k->settled;
    char text[TEXT], inputs[64], what[160] = "", who[400], path[256];
    size_t left = k->found->n_classes;

    if (s->inputs == 0)
        return;
    assay_message(inputs, sizeof(inputs),
                  s->inputs == 1 ? ASSAY_MSG_SETTLED_INPUT
                                 : ASSAY_MSG_SETTLED_INPUTS,
                  "n", assay_num_u(s->inputs).text, NULL);
    snprintf(path, sizeof(path), "%.250s",
             r->other != NULL ? r->other->path : "");
    assay_message(who, sizeof(who),
                  k->column == ASSAY_COL_CPU ? ASSAY_MSG_SETTLED_ON_CPU
                                             : ASSAY_MSG_SETTLED_ON_OTHER,
                  "path", path, "board",
                  r->o->local ? assay_message_text(ASSAY_MSG_SETTLED_HERE)
                              : r->info.agent.board_id,
                  NULL);
    if (left > 0)
        assay_hypothesis_text(k->found->v, output_of(k), what, sizeof(what));
    assay_message(text, sizeof(text),
                  left == 0   ? ASSAY_MSG_SETTLED_NONE
                  : left == 1 ? ASSAY_MSG_SETTLED
                              : ASSAY_MSG_SETTLED_MANY,
                  "inputs", inputs, "classes", assay_num_u(s->before).text,
                  "who", who, "what", what, "left", assay_num_u(left).text,
                  "elements", assay_num_u(s->elements).text, NULL);
    assay_line_add(l, "          ", text);
}

/* What fitted the samples and not the answer. */
static void struck_line(const struct assay_run_suspect *k,
                        struct assay_lines *l)
{
    char text[TEXT], list[600] = "", what[160], more[64];
    size_t n = 0;

    for (size_t i = 0; i < k->found->n; i++) {
        if (!k->found->v[i].struck || ++n > SHOWN)
            continue;
        assay_hypothesis_text(&k->found->v[i], output_of(k), what,
                              sizeof(what));
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%.140s",
                 n > 1 ? ", " : "", what);
    }
    if (n == 0)
        return;
    if (n > SHOWN)
        strcat(list, assay_message(more, sizeof(more), ASSAY_MSG_AND_MORE,
                                   "more", assay_num_u(n - SHOWN).text, NULL));
    assay_message(text, sizeof(text), ASSAY_MSG_CAUSE_STRUCK, "list", list,
                  NULL);
    assay_line_add(l, "          ", text);
}

/* What is proved, in the layer or else in one in front of it; NULL: nothing. */
static const struct assay_search *proved_in(const struct assay_run_suspect *k)
{
    return k->found != NULL && k->found->n_proved > 0 ? k->found
                                                      : k->found_before;
}

/* Samples that were not looked at are told. */
static void looked_line(const struct assay_run_suspect *k,
                        struct assay_lines *l)
{
    bool proved = proved_in(k) != NULL;
    char text[TEXT];

    if (proved ? k->n_looked >= k->n_there : k->n_samples >= k->n_differing)
        return;
    assay_message(text, sizeof(text),
                  proved ? ASSAY_MSG_CAUSE_LOOKED : ASSAY_MSG_CAUSE_SEARCHED,
                  "looked", assay_num_u(k->n_looked).text, "there",
                  assay_num_u(k->n_there).text, "searched",
                  assay_num_u(k->n_samples).text, "differing",
                  assay_num_u(k->n_differing).text, NULL);
    assay_line_add(l, "          ", text);
}

/* "P5=right:128", "P5=right:128 in l3" of a layer that was not observed. */
static const char *what_of(const struct assay_run *r,
                           const struct assay_run_suspect *k,
                           const struct assay_hypothesis *h, char *out,
                           size_t cap)
{
    char what[160];

    assay_hypothesis_text(h, output_of(k), what, sizeof(what));
    if (proved_in(k) == k->found)
        snprintf(out, cap, "%s", what);
    else
        assay_message(
            out, cap,
            k->everywhere ? ASSAY_MSG_CAUSE_EVERYWHERE : ASSAY_MSG_CAUSE_IN,
            "what", what, "layer", r->s->layers[k->before].name, NULL);
    return out;
}

/* What was found is also what its maker is known to compute. */
static void known_line(const struct assay_run *r,
                       const struct assay_run_suspect *k,
                       const struct assay_hypothesis *h, struct assay_lines *l)
{
    char text[TEXT];

    switch (h->expected) {
    case ASSAY_EXPECTED_NOT: break;
    case ASSAY_EXPECTED_LITERAL:
        assay_line_add(l, "          ",
                       assay_message_text(ASSAY_MSG_CAUSE_LITERAL));
        break;
    case ASSAY_EXPECTED_OF_NUMERICS:
        assay_line_add(
            l, "          ",
            assay_message(text, sizeof(text), ASSAY_MSG_CAUSE_KNOWN, "who",
                          r->p.c.columns[k->column - ASSAY_COL_SIM].numerics,
                          NULL));
        break;
    }
}

static void proved_lines(const struct assay_run *r,
                         const struct assay_run_suspect *k,
                         struct assay_lines *l)
{
    const struct assay_search *found = proved_in(k);
    const struct assay_hypothesis *h = found->v;
    char text[TEXT], what[400], name[420];
    size_t more = 0;

    assay_message(text, sizeof(text), ASSAY_MSG_CAUSE_PROVED, "what",
                  what_of(r, k, h, what, sizeof(what)), "name",
                  name_of(h, name, sizeof(name)), "matched",
                  assay_num_u(h->differing_matched).text, "differing",
                  assay_num_u(h->differing).text, "all",
                  assay_num_u(h->all).text, NULL);
    assay_line_add(l, "  cause   ", text);
    known_line(r, k, h, l);
    for (size_t i = 1; i < found->n_proved; i++) {
        const struct assay_hypothesis *o = &found->v[i];
        bool same = o->class_number == h->class_number;

        if (i > SHOWN) {
            more++;
            continue;
        }
        what_of(r, k, o, what, sizeof(what));
        assay_message(text, sizeof(text),
                      same ? ASSAY_MSG_CAUSE_OR_SAME : ASSAY_MSG_CAUSE_OR,
                      "what", what, "name", name_of(o, name, sizeof(name)),
                      NULL);
        assay_line_add(l, "          ", text);
    }
    if (more > 0) {
        assay_message(text, sizeof(text), ASSAY_MSG_CAUSE_OR_MORE, "more",
                      assay_num_u(more).text, NULL);
        assay_line_add(l, "          ", text);
    }
    if (h->differing < FEW && k->settled.inputs == 0)
        assay_line_add(l, "          ",
                       assay_message_text(ASSAY_MSG_CAUSE_FEW));
}

/* The one that explains most without breaking anything, and those that look
 * right and are not. */
static void partial_lines(const struct assay_run_suspect *k,
                          struct assay_lines *l)
{
    char text[TEXT], what[160], name[420];
    size_t shown = 0;
    bool nearest = false;

    for (size_t i = k->found->n_proved; i < k->found->n && shown < 2; i++) {
        const struct assay_hypothesis *h = &k->found->v[i];
        bool breaks = h->broken > 0;

        if (h->struck || (breaks && h->differing_matched < h->differing) ||
            (!breaks && (nearest || k->found->n_proved > 0)))
            continue;
        assay_message(
            text, sizeof(text),
            breaks ? ASSAY_MSG_CAUSE_BREAKS : ASSAY_MSG_CAUSE_NEAREST, "what",
            assay_hypothesis_text(h, output_of(k), what, sizeof(what)), "name",
            name_of(h, name, sizeof(name)), "matched",
            assay_num_u(h->differing_matched).text, "differing",
            assay_num_u(h->differing).text, "broken",
            assay_num_u(h->broken).text, NULL);
        assay_line_add(l, "          ", text);
        nearest = nearest || !breaks;
        shown++;
    }
}

static void fingerprint_lines(const struct assay_run *r,
                              const struct assay_run_suspect *k,
                              struct assay_lines *l)
{
    char text[TEXT] = "", one[200], name[240];

    for (size_t i = 0; i < k->n_fingerprints && i < SHOWN; i++) {
        assay_fingerprint_text(&k->fingerprints[i], output_of(k), one,
                               sizeof(one));
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
                 i > 0 ? "; " : "", one);
    }
    if (text[0] == '\0')
        return;
    if (k->of_reference)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s",
                 assay_message_text(ASSAY_MSG_LOOKS_REFERENCE));
    if (k->n_differing > 1) {
        assay_run_bad_name(r, k->from[0], name, sizeof(name));
        assay_message(text + strlen(text), sizeof(text) - strlen(text),
                      ASSAY_MSG_LOOKS_SAMPLE, "name", name, NULL);
    }
    assay_line_add(l, "  looks   ", text);
}

#define LISTED 16

static void channel_lines(const struct assay_run_suspect *k,
                          struct assay_lines *l)
{
    char text[TEXT], bars[3 * ASSAY_PLOT_BARS + 1], list[300];

    if (k->n_channels == 0)
        return;
    assay_message(
        text, sizeof(text),
        k->channel_ratio ? ASSAY_MSG_CHANNEL_RATIOS
                         : ASSAY_MSG_CHANNEL_DIFFERENCES,
        "bars", assay_plot_bars(k->channels, k->n_channels, bars, sizeof(bars)),
        "list",
        assay_plot_list(k->channels, k->n_channels, k->channel_step, LISTED,
                        list, sizeof(list)),
        NULL);
    assay_line_add(l, "  channel ", text);
}

static void layout_line(const struct assay_run_suspect *k,
                        struct assay_lines *l)
{
    char text[TEXT], what[200];

    assay_message(text, sizeof(text), ASSAY_MSG_CAUSE_LAYOUT, "what",
                  assay_run_cause_layout(k, what, sizeof(what)), "id",
                  k->layout.id, "compared",
                  assay_num_u(k->layout.compared).text, "all",
                  assay_num_u(k->layout.all).text, NULL);
    assay_line_add(l, "  layout  ", text);
    for (unsigned i = 0; i < ASSAY_LAYOUT_ALSO && k->layout.also[i]; i++) {
        assay_message(text, sizeof(text), ASSAY_MSG_CAUSE_OR_SAME, "what",
                      k->layout.also[i], NULL);
        assay_line_add(l, "          ", text);
    }
}

void assay_run_cause_lines(const struct assay_run *r, uint32_t layer,
                           enum assay_column column, struct assay_lines *l)
{
    const struct assay_run_suspect *k = assay_run_cause_of(r, layer, column);
    char text[TEXT];

    if (k != NULL && k->n_samples == 0)
        assay_line_add(l, "  cause   ",
                       assay_message_text(ASSAY_MSG_CAUSE_NO_ROOM));
    if (k == NULL || !k->searched)
        return;
    if (k->has_layout) {
        layout_line(k, l);
        return;
    }
    fingerprint_lines(r, k, l);
    channel_lines(k, l);
    if (proved_in(k) != NULL) {
        proved_lines(r, k, l);
    } else if (k->stale != ASSAY_STALE_NO) {
        assay_line_add(l, "  cause   ",
                       assay_message_text(k->stale == ASSAY_STALE_PREVIOUS
                                              ? ASSAY_MSG_CAUSE_STALE_PREVIOUS
                                              : ASSAY_MSG_CAUSE_STALE_FIRST));
        assay_line_add(l, "  try     ",
                       assay_message_text(ASSAY_MSG_CAUSE_STALE_TRY));
    } else {
        assay_message(text, sizeof(text), ASSAY_MSG_CAUSE_NONE, "tried",
                      assay_num_u(k->found->tried).text, NULL);
        assay_line_add(l, "  cause   ", text);
    }
    settled_line(r, k, l);
    struck_line(k, l);
    apart_lines(k, l);
    looked_line(k, l);
    partial_lines(k, l);
    if (proved_in(k) != NULL)
        advice_line(&proved_in(k)->v[0].edits[0],
                    k->of_reference || column == ASSAY_COL_GOT, l);
}

const char *assay_run_cause_text(const struct assay_run *r, uint32_t layer,
                                 enum assay_column column, char *out,
                                 size_t cap)
{
    const struct assay_run_suspect *k = assay_run_cause_of(r, layer, column);

    out[0] = '\0';
    if (column >= ASSAY_COL_SIM &&
        r->layers[layer].side[column - ASSAY_COL_SIM].input_differs)
        snprintf(out, cap, "%s", assay_run_input_id(r, column));
    else if (k != NULL && k->has_layout)
        assay_run_cause_layout(k, out, cap);
    else if (k != NULL && proved_in(k) != NULL)
        what_of(r, k, &proved_in(k)->v[0], out, cap);
    else if (k != NULL && k->stale != ASSAY_STALE_NO)
        snprintf(out, cap, "D2");
    return out;
}

const char *assay_run_cause_id(const struct assay_run *r, uint32_t layer)
{
    for (unsigned c = ASSAY_COL_CPU; c < ASSAY_COL_COUNT; c++) {
        const struct assay_run_suspect *k =
            assay_run_cause_of(r, layer, (enum assay_column)c);

        if (c >= ASSAY_COL_SIM &&
            r->layers[layer].side[c - ASSAY_COL_SIM].input_differs)
            return assay_run_input_id(r, (enum assay_column)c);
        if (k != NULL && k->has_layout)
            return k->layout.id;
        if (k != NULL && proved_in(k) != NULL)
            return assay_cause_of(proved_in(k)->v[0].edits[0].id)->id;
        if (k != NULL && k->stale != ASSAY_STALE_NO)
            return "D2";
    }
    return "";
}

/* An arrangement and what else it may be called. */
static size_t add_layout(const struct assay_run *r,
                         const struct assay_run_suspect *k,
                         struct assay_report_hypothesis *v)
{
    uint64_t differing = 0;
    size_t n = 0;

    for (size_t i = 0; i < k->n_samples; i++)
        differing += k->mismatch[i];
    for (const char *id = k->layout.id; id != NULL; n++) {
        v[n] = (struct assay_report_hypothesis){
            .layer = k->layer,
            .name = r->s->layers[k->layer].name,
            .column = k->column,
            .id = id,
            .scope = "",
            .differing_matched = differing,
            .differing = differing,
            .all_matched = k->layout.compared,
            .all = k->layout.all,
            .class_number = 1,
            .proved = true};
        id = n < ASSAY_LAYOUT_ALSO ? k->layout.also[n] : NULL;
    }
    return n;
}

/* Tensors of another sample: proved where no differing one was left out. */
static struct assay_report_hypothesis stale_hypothesis(
    const struct assay_run *r, const struct assay_run_suspect *k)
{
    struct assay_report_hypothesis h = {.layer = k->layer,
                                        .name = r->s->layers[k->layer].name,
                                        .column = k->column,
                                        .id = "D2",
                                        .scope = "",
                                        .class_number = 1};
    const struct assay_tensor *t = output_of(k);
    uint32_t kept = 0;
    size_t n, bytes;

    if (assay_tensor_count(t, &n, &bytes, NULL) < 0)
        n = 0;
    for (size_t i = 0; i < k->n_samples; i++) {
        h.differing += k->mismatch[i];
        h.all += n;
        kept += k->mismatch[i] > 0;
    }
    h.differing_matched = h.differing;
    h.all_matched = h.all;
    h.proved = kept >= k->n_differing;
    return h;
}

/* All that fits, proved or in part, of that layer; found: or NULL. */
static size_t add_found(const struct assay_run *r,
                        const struct assay_run_suspect *k,
                        const struct assay_search *found, uint32_t layer,
                        struct assay_report_hypothesis *v)
{
    size_t n = 0;

    for (; found && n < found->n; n++) {
        const struct assay_hypothesis *h = &found->v[n];
        char text[160], scope[96];

        assay_hypothesis_text(h, output_of(k), text, sizeof(text));
        assay_scope_text(&h->scope, output_of(k), scope, sizeof(scope));
        v[n] = (struct assay_report_hypothesis){
            .layer = layer,
            .name = r->s->layers[layer].name,
            .column = k->column,
            .id = assay_arena_str(r->arena, text, strlen(text)),
            .scope = assay_arena_str(r->arena, scope, strlen(scope)),
            .differing_matched = h->differing_matched,
            .differing = h->differing,
            .all_matched = h->all_matched,
            .all = h->all,
            .class_number = h->class_number,
            .proved = h->proved,
            .expected = h->expected != ASSAY_EXPECTED_NOT,
            .struck = h->struck};
    }
    return n;
}

size_t assay_run_hypotheses(const struct assay_run *r,
                            const struct assay_report_hypothesis **out)
{
    struct assay_report_hypothesis *v;
    size_t n = 0, cap = 0;

    *out = NULL;
    for (size_t i = 0; r->causes && i < r->causes->n; i++)
        cap += 4 + ASSAY_LAYOUT_ALSO +
               (r->causes->v[i].found ? r->causes->v[i].found->n : 0) +
               (r->causes->v[i].found_before ? r->causes->v[i].found_before->n
                                             : 0);
    v = assay_arena_array(r->arena, cap + 1, sizeof(*v));
    for (size_t i = 0; v && r->causes && i < r->causes->n; i++) {
        const struct assay_run_suspect *k = &r->causes->v[i];

        if (k->has_layout)
            n += add_layout(r, k, v + n);
        if (k->stale != ASSAY_STALE_NO)
            v[n++] = stale_hypothesis(r, k);
        n += add_found(r, k, k->found, k->layer, v + n);
        n += add_found(r, k, k->found_before, k->before, v + n);
    }
    *out = v;
    return n;
}

void assay_run_fingerprints(const struct assay_run *r, struct assay_row *row)
{
    const struct assay_run_suspect *k = NULL;
    const char **v;
    char one[200];

    for (unsigned c = ASSAY_COL_CPU; c < ASSAY_COL_COUNT && k == NULL; c++)
        k = assay_run_cause_of(r, row->index, (enum assay_column)c);
    if (k == NULL || k->n_fingerprints == 0)
        return;
    v = assay_arena_array(r->arena, k->n_fingerprints, sizeof(*v));
    for (size_t i = 0; v != NULL && i < k->n_fingerprints; i++) {
        assay_fingerprint_text(&k->fingerprints[i], output_of(k), one,
                               sizeof(one));
        v[i] = assay_arena_str(r->arena, one, strlen(one));
    }
    row->fingerprints = v;
    row->n_fingerprints = v != NULL ? k->n_fingerprints : 0;
    row->fingerprint_sample = k->from[0];
}

void assay_run_cause_report(const struct assay_run *r,
                            struct assay_report_culprit *out)
{
    const struct assay_run_suspect *k =
        assay_run_cause_of(r, out->index, out->column);

    if (k == NULL || !k->searched)
        return;
    out->differing = k->n_differing;
    out->searched = (uint32_t)k->n_samples;
    out->looked_at = k->n_looked;
    out->samples = k->n_there;
    out->asked = k->settled.inputs;
    out->answered = k->settled.elements;
    out->classes_before = k->settled.before;
    out->classes_left = k->found != NULL ? k->found->n_classes : 0;
}
