/* SPDX-License-Identifier: Apache-2.0 */
/* Text and JSON of assay image --got. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/image/received_element.h"
#include "host-tools/cmd.h"
#include "host-tools/image/received_knobs.h"
#include "host-tools/image_received.h"
#include "host-tools/messages.h"
#include "host-tools/report/json_text.h"
#include "host-tools/run_lines.h"

#define TEXT 1000
#define SHOWN 6      /* of readings that fit as well */
#define ROUNDING 3.0 /* levels that another rounding makes */
#define ALIKE 0.9    /* correlation: below that nothing is near */

static const char *fed_text(const char *text, enum assay_knob knob,
                            const struct assay_reading *got,
                            const struct assay_reading *wanted, char *out,
                            size_t cap)
{
    char g[200], w[200];

    return assay_message_fill(
        out, cap, text, "got", assay_knob_value(knob, got, g, sizeof(g)),
        "wanted", assay_knob_value(knob, wanted, w, sizeof(w)), NULL);
}

static const struct assay_fed_text *fed_of(const struct assay_image_pair *p,
                                           uint32_t door,
                                           const struct assay_received_hit *h,
                                           uint32_t i)
{
    return assay_fed_text(assay_fed_of(h->knobs[i], &h->reading,
                                       &p->found[door]->wanted,
                                       &p->doors.v[door].wanted));
}

void assay_image_causes(const struct assay_image_pair *p, uint32_t door,
                        const struct assay_received_hit *h, char *ids,
                        size_t ids_cap, char *names, size_t names_cap)
{
    char one[400];

    ids[0] = names[0] = '\0';
    for (uint32_t i = 0; i < h->n_knobs; i++) {
        const struct assay_fed_text *t = fed_of(p, door, h, i);

        snprintf(ids + strlen(ids), ids_cap - strlen(ids), "%s%s",
                 i > 0 ? " and " : "", t->id);
        snprintf(names + strlen(names), names_cap - strlen(names), "%s%s",
                 i > 0 ? "; " : "",
                 fed_text(t->name, h->knobs[i], &h->reading,
                          &p->found[door]->wanted, one, sizeof(one)));
    }
}

const char *assay_image_fix(const struct assay_image_pair *p, uint32_t door,
                            const struct assay_received_hit *h, char *out,
                            size_t cap)
{
    char one[700];

    out[0] = '\0';
    for (uint32_t i = 0; i < h->n_knobs; i++)
        snprintf(out + strlen(out), cap - strlen(out), "%s%s",
                 i > 0 ? "; " : "",
                 fed_text(fed_of(p, door, h, i)->fix, h->knobs[i], &h->reading,
                          &p->found[door]->wanted, one, sizeof(one)));
    return out;
}

/* ---- text ----------------------------------------------------------------- */

static void head_line(const struct assay_image_pair *p, struct assay_lines *l)
{
    char text[TEXT], form[160], size[48];

    snprintf(size, sizeof(size), "%ux%u", p->picture.width, p->picture.height);
    assay_message(text, sizeof(text), ASSAY_MSG_FED_HEAD, "picture",
                  p->picture_path, "format", p->picture.format, "size", size,
                  "fed", p->fed_path, "form",
                  assay_received_form(&p->fed.got, form, sizeof(form)), NULL);
    assay_line_add(l, "# ", text);
}

static const char *wanted_text(const struct assay_image_pair *p, uint32_t door,
                               const struct assay_received_hit *h, char *out,
                               size_t cap)
{
    const struct assay_received *r = p->found[door];

    return assay_reading_text(&r->wanted, h != NULL ? h->knobs : NULL,
                              h != NULL ? h->n_knobs : 0, out, cap);
}

const char *assay_image_sentence(const struct assay_image_pair *p, char *out,
                                 size_t cap)
{
    const struct assay_received *r = p->found[p->best];
    const struct assay_received_hit *h = r->n > 0 ? &r->hits[0] : NULL;
    char got[400], wanted[400];

    switch (assay_image_pair_verdict(p)) {
    case ASSAY_IMAGE_MATCH:
        return assay_message(
            out, cap, ASSAY_MSG_FED_MATCH, "fed", p->fed_path, "door",
            p->doors.v[p->best].name, "picture", p->picture_path, "wanted",
            wanted_text(p, p->best, NULL, wanted, sizeof(wanted)), "all",
            assay_num_u(h->all).text, NULL);
    case ASSAY_IMAGE_INPUT:
        if (h == NULL)
            break;
        return assay_message(out, cap, ASSAY_MSG_FED_SENTENCE, "got",
                             assay_reading_text(&h->reading, h->knobs,
                                                h->n_knobs, got, sizeof(got)),
                             "door", p->doors.v[p->best].name, "wanted",
                             wanted_text(p, p->best, h, wanted, sizeof(wanted)),
                             NULL);
    case ASSAY_IMAGE_UNEXPLAINED: break;
    }
    wanted_text(p, p->best, NULL, wanted, sizeof(wanted));
    assay_received_form(&p->fed.got, got, sizeof(got));
    if (p->other < 0 && r->tried == 0 && r->elements != r->expected)
        return assay_message(out, cap, ASSAY_MSG_FED_COUNT, "fed", p->fed_path,
                             "form", got, "n", assay_num_u(r->elements).text,
                             "expected", assay_num_u(r->expected).text, "door",
                             p->doors.v[p->best].name, "wanted", wanted, NULL);
    if (p->other < 0 && (r->flat || r->not_finite > 0))
        return assay_message(out, cap, ASSAY_MSG_FED_LIFELESS, "fed",
                             p->fed_path, "form", got, "door",
                             p->doors.v[p->best].name, "wanted", wanted, NULL);
    return assay_message(
        out, cap, p->other >= 0 ? ASSAY_MSG_FED_OTHER : ASSAY_MSG_FED_NONE,
        "fed", p->fed_path, "picture", p->picture_path, "tried",
        assay_num_u(r->tried).text, "door", p->doors.v[p->best].name, "wanted",
        wanted, "form", got, NULL);
}

static void order_lines(const struct assay_image_pair *v,
                        const struct assay_image_pair *p, struct assay_lines *l)
{
    const struct assay_fed_text *t = assay_fed_text(ASSAY_FED_ORDER);
    const struct assay_image_pair *o = &v[p->other];
    char text[TEXT], name[400];

    assay_message_fill(
        name, sizeof(name), t->name, "got", o->picture_path, "wanted",
        o->doors.input[0] != '\0' ? o->doors.input : "another", NULL);
    assay_message(text, sizeof(text), ASSAY_MSG_CAUSE_PROVED, "what", t->id,
                  "name", name, "matched",
                  assay_num_u(p->found[0]->elements).text, "differing",
                  assay_num_u(p->found[0]->elements).text, "all",
                  assay_num_u(p->found[0]->elements).text, NULL);
    assay_line_add(l, "  cause   ", text);
    assay_line_add(l, "  fix     ", t->fix);
}

/* How floats that are not equal to the bit were compared. */
static const char *inexact_text(const struct assay_image_pair *p)
{
    return assay_message_text(
        p->found[p->best]->half ? ASSAY_MSG_FED_HALF : ASSAY_MSG_FED_TOLERANCE);
}

static void cause_line(const struct assay_image_pair *p, uint32_t door,
                       const struct assay_received_hit *h, bool first,
                       struct assay_lines *l)
{
    char text[TEXT], ids[120], names[700], whom[900];

    assay_image_causes(p, door, h, ids, sizeof(ids), names, sizeof(names));
    if (first)
        assay_message(text, sizeof(text), ASSAY_MSG_CAUSE_PROVED, "what", ids,
                      "name", names, "matched",
                      assay_num_u(h->differing_matched).text, "differing",
                      assay_num_u(h->differing).text, "all",
                      assay_num_u(h->all).text, NULL);
    else {
        snprintf(whom, sizeof(whom), "%s%s%s", names,
                 door != p->best ? ", for what is wanted by " : "",
                 door != p->best ? p->doors.v[door].name : "");
        assay_message(text, sizeof(text), ASSAY_MSG_CAUSE_OR, "what", ids,
                      "name", whom, NULL);
    }
    assay_line_add(l, first ? "  cause   " : "          ", text);
}

static void fix_lines(const struct assay_image_pair *p,
                      const struct assay_received_hit *h, struct assay_lines *l)
{
    char text[TEXT], one[700];

    for (uint32_t i = 0; i < h->n_knobs; i++) {
        const struct assay_fed_text *t = fed_of(p, p->best, h, i);

        fed_text(t->fix, h->knobs[i], &h->reading, &p->found[p->best]->wanted,
                 one, sizeof(one));
        snprintf(text, sizeof(text), "%s%s%s", h->n_knobs > 1 ? t->id : "",
                 h->n_knobs > 1 ? ": " : "", one);
        assay_line_add(l, i == 0 ? "  fix     " : "          ", text);
    }
}

/* All that fit with as few changes. */
static void hit_lines(const struct assay_image_pair *p, struct assay_lines *l)
{
    const struct assay_received *r = p->found[p->best];
    const struct assay_received_hit *h = &r->hits[0];
    uint32_t shown = 0, more = r->n_more;
    char text[TEXT];

    cause_line(p, p->best, h, true, l);
    for (uint32_t d = 0; d < p->doors.n; d++) {
        const struct assay_received *o = p->found[d];

        if (o == NULL || o->n == 0 || o->changes != r->changes)
            continue;
        for (uint32_t i = d == p->best; i < o->n; i++) {
            /* What is solved for says less than what has a name. */
            if (o->hits[i].reading.solved && !h->reading.solved)
                continue;
            if (shown++ < SHOWN)
                cause_line(p, d, &o->hits[i], false, l);
            else
                more++;
        }
    }
    if (more > 0)
        assay_line_add(l, "          ",
                       assay_message(text, sizeof(text),
                                     ASSAY_MSG_CAUSE_OR_MORE, "more",
                                     assay_num_u(more).text, NULL));
    if (!h->exact)
        assay_line_add(l, "          ", inexact_text(p));
    if (h->unseen > 0)
        assay_line_add(l, "          ",
                       assay_message(text, sizeof(text), ASSAY_MSG_FED_UNSEEN,
                                     "n", assay_num_u(h->unseen).text, NULL));
    fix_lines(p, h, l);
}

/* What the same picture would give, too: it does not tell them apart. */
static void blind_line(const struct assay_image_pair *p, struct assay_lines *l)
{
    const struct assay_received *r = p->found[p->best];
    char text[TEXT], list[800] = "", ids[120], names[700];

    for (uint32_t i = 0; i < r->n_blind && i < SHOWN; i++) {
        assay_image_causes(p, p->best, &r->blind[i], ids, sizeof(ids), names,
                           sizeof(names));
        snprintf(list + strlen(list), sizeof(list) - strlen(list),
                 "%s%s (%.200s)", i > 0 ? ", " : "", ids, names);
    }
    if (list[0] != '\0')
        assay_line_add(l, "  note    ",
                       assay_message(text, sizeof(text), ASSAY_MSG_FED_BLIND,
                                     "list", list, NULL));
}

static const char *channel_name(const struct assay_received_near *n, int c)
{
    switch (n->hit.reading.spec.type) {
    case ASSAY_IMAGE_RGB: return &"R\0G\0B"[2 * c];
    case ASSAY_IMAGE_BGR: return &"B\0G\0R"[2 * c];
    case ASSAY_IMAGE_GRAY: return "gray";
    default: return &"Y\0U\0V"[2 * c];
    }
}

static bool about(double x, double want, double by)
{
    return fabs(x - want) <= by;
}

/* What one level of a byte is in the reading. */
static double level_of(const struct assay_image_spec *s)
{
    double level = 0.0;

    for (int c = 0; c < 3; c++)
        level = fmax(level, fabs((double)s->scale[c]));
    level = pow(level, s->normalise) / pow(255.0, s->divide);
    return level;
}

/* As near as another rounding of the same steps would be. */
static bool is_rounding(const struct assay_received_near *n)
{
    for (uint32_t c = 0; c < n->channels; c++) {
        if (!about(n->gain[c], 1.0, 0.02))
            return false;
    }
    return n->max_difference <= ROUNDING * level_of(&n->hit.reading.spec);
}

/* What a gain and an offset remind of; NULL: nothing. */
static const char *looks_like(const struct assay_received_near *n)
{
    double g = n->gain[0], o = n->offset[0];

    if (n->correlation[0] < ALIKE)
        return assay_message_text(ASSAY_MSG_LOOKS_OTHER_PICTURE);
    if (is_rounding(n))
        return assay_message_text(ASSAY_MSG_LOOKS_ROUNDING);
    if (about(g, 219.0 / 255.0, 0.02) && about(o, 16.0, 3.0))
        return assay_message_text(ASSAY_MSG_LOOKS_STUDIO);
    if (about(g, 255.0 / 219.0, 0.02) && about(o, -18.6, 3.0))
        return assay_message_text(ASSAY_MSG_LOOKS_FULL);
    if (about(g, 1.0 / 255.0, 1e-4))
        return assay_message_text(ASSAY_MSG_LOOKS_DIVIDED);
    if (about(g, 1.0, 0.02) && about(fabs(o), 128.0, 3.0))
        return assay_message_text(ASSAY_MSG_LOOKS_CENTRE);
    return NULL;
}

/* What no reading has to be looked at for; false: nothing of the kind. */
static bool lifeless_line(const struct assay_image_pair *p,
                          struct assay_lines *l)
{
    const struct assay_received *r = p->found[p->best];
    const struct assay_received_got *g = &p->fed.got;
    char text[TEXT];

    if (r->not_finite > 0)
        assay_message(text, sizeof(text), ASSAY_MSG_LOOKS_NOT_FINITE, "n",
                      assay_num_u(r->not_finite).text, "all",
                      assay_num_u(r->elements).text, NULL);
    else if (r->flat)
        assay_message(
            text, sizeof(text), ASSAY_MSG_LOOKS_FLAT, "value",
            assay_num_g(6, assay_element_value(g->dtype, g->data)).text, NULL);
    else
        return false;
    assay_line_add(l, "  looks   ", text);
    return true;
}

static void near_lines(const struct assay_image_pair *p, struct assay_lines *l)
{
    const struct assay_received_near *n = &p->found[p->best]->near;
    char text[TEXT], list[400] = "", what[400];
    const char *looks;

    if (lifeless_line(p, l))
        return;
    if (p->found[p->best]->cut)
        assay_line_add(l, "          ", assay_message_text(ASSAY_MSG_FED_CUT));
    looks = n->found ? looks_like(n) : NULL;
    if (looks != NULL)
        assay_line_add(l, "  looks   ", looks);
    if (!n->found || n->correlation[0] < ALIKE)
        return;
    assay_message(
        text, sizeof(text),
        is_rounding(n) ? ASSAY_MSG_FED_ROUNDING : ASSAY_MSG_FED_NEAREST, "what",
        assay_reading_text(&n->hit.reading, n->hit.knobs, n->hit.n_knobs, what,
                           sizeof(what)),
        "differing", assay_num_u(n->hit.all - n->hit.all_matched).text, "all",
        assay_num_u(n->hit.all).text, "worst",
        assay_num_g(4, n->max_difference).text, NULL);
    assay_line_add(l, "  nearest ", text);
    for (uint32_t c = 0; c < n->channels; c++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list),
                 "%s%s: correlation %.4f, gain %.4g, offset %.4g",
                 c > 0 ? "; " : "", channel_name(n, (int)c), n->correlation[c],
                 n->gain[c], n->offset[c]);
    assay_line_add(l, "  channel ", list);
}

static void pair_lines(const struct assay_image_pair *v,
                       const struct assay_image_pair *p, struct assay_lines *l)
{
    enum assay_image_verdict verdict = assay_image_pair_verdict(p);
    char text[TEXT], line[TEXT + 32];

    head_line(p, l);
    snprintf(line, sizeof(line), "%s: %s", assay_image_verdict_name(verdict),
             assay_image_sentence(p, text, sizeof(text)));
    assay_line_add(l, "", line);
    if (verdict == ASSAY_IMAGE_MATCH) {
        if (!p->found[p->best]->hits[0].exact)
            assay_line_add(l, "  note    ", inexact_text(p));
        blind_line(p, l);
    }
    if (p->other >= 0)
        order_lines(v, p, l);
    else if (verdict == ASSAY_IMAGE_INPUT)
        hit_lines(p, l);
    else if (verdict == ASSAY_IMAGE_UNEXPLAINED)
        near_lines(p, l);
}

/* ---- JSON ----------------------------------------------------------------- */

static json_t *json_numbers(const double *v, uint32_t n)
{
    json_t *a = json_array();

    for (uint32_t i = 0; i < n && a != NULL; i++) {
        if (json_array_append_new(a, json_real(v[i])) != 0) {
            json_decref(a);
            return NULL;
        }
    }
    return a;
}

static json_t *json_hit(const struct assay_image_pair *p, uint32_t door,
                        const struct assay_received_hit *h)
{
    json_t *a = json_array();
    char ids[120], names[700], reading[400], fix[700];

    assay_image_causes(p, door, h, ids, sizeof(ids), names, sizeof(names));
    for (uint32_t i = 0; i < h->n_knobs && a != NULL; i++) {
        const struct assay_fed_text *t = fed_of(p, door, h, i);

        fed_text(t->fix, h->knobs[i], &h->reading, &p->found[door]->wanted, fix,
                 sizeof(fix));
        if (json_array_append_new(a, json_pack("{s:s, s:o}", "id", t->id, "fix",
                                               assay_json_text(fix))) != 0) {
            json_decref(a);
            return NULL;
        }
    }
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:o}", "id",
        ids, "name", names, "reading",
        assay_reading_text(&h->reading, h->knobs, h->n_knobs, reading,
                           sizeof(reading)),
        "door", p->doors.v[door].name, "differing_matched",
        (json_int_t)h->differing_matched, "differing", (json_int_t)h->differing,
        "all_matched", (json_int_t)h->all_matched, "all", (json_int_t)h->all,
        "unseen", (json_int_t)h->unseen, "exact", h->exact, "proved",
        h->all > 0 && h->all_matched == h->all, "changes", a);
}

static json_t *json_hits(const struct assay_image_pair *p)
{
    json_t *a = json_array();
    uint32_t changes = p->found[p->best]->changes;

    for (uint32_t d = 0; d < p->doors.n; d++) {
        const struct assay_received *r = p->found[d];

        if (r == NULL || r->n == 0 || r->changes != changes || changes == 0)
            continue;
        for (uint32_t i = 0; i < r->n && a != NULL; i++) {
            if (json_array_append_new(a, json_hit(p, d, &r->hits[i])) != 0) {
                json_decref(a);
                a = NULL;
            }
        }
    }
    return a;
}

static json_t *json_blind(const struct assay_image_pair *p)
{
    const struct assay_received *r = p->found[p->best];
    json_t *a = json_array();

    for (uint32_t i = 0; i < r->n_blind && a != NULL; i++) {
        if (json_array_append_new(a, json_hit(p, p->best, &r->blind[i])) != 0) {
            json_decref(a);
            a = NULL;
        }
    }
    return a;
}

static json_t *json_near(const struct assay_received_near *n)
{
    char text[400];

    if (!n->found)
        return json_null();
    return json_pack("{s:s, s:I, s:I, s:f, s:o, s:o, s:o}", "reading",
                     assay_reading_text(&n->hit.reading, n->hit.knobs,
                                        n->hit.n_knobs, text, sizeof(text)),
                     "differing", (json_int_t)(n->hit.all - n->hit.all_matched),
                     "all", (json_int_t)n->hit.all, "max_difference",
                     n->max_difference, "correlation",
                     json_numbers(n->correlation, n->channels), "gain",
                     json_numbers(n->gain, n->channels), "offset",
                     json_numbers(n->offset, n->channels));
}

static json_t *json_pair(const struct assay_image_pair *p)
{
    char text[TEXT], form[160], wanted[400], hash[2 * ASSAY_SHA256_LEN + 1];
    const struct assay_received *r = p->found[p->best];

    assay_hex(p->picture.sha256, ASSAY_SHA256_LEN, hash);
    return json_pack(
        "{s:{s:o, s:s, s:s, s:i, s:i}, s:{s:o, s:s}, s:s, s:s, s:o, s:o, s:o, "
        "s:o, s:I, s:b, s:i}",
        "picture", "file", assay_json_text(p->picture_path), "format",
        p->picture.format, "sha256", hash, "width", (int)p->picture.width,
        "height", (int)p->picture.height, "got", "file",
        assay_json_text(p->fed_path), "form",
        assay_received_form(&p->fed.got, form, sizeof(form)), "wanted",
        wanted_text(p, p->best, NULL, wanted, sizeof(wanted)), "verdict",
        assay_image_verdict_name(assay_image_pair_verdict(p)), "sentence",
        assay_json_text(assay_image_sentence(p, text, sizeof(text))),
        "hypotheses", json_hits(p), "not_told_apart", json_blind(p), "nearest",
        json_near(&r->near), "tried", (json_int_t)r->tried, "cut", r->cut,
        "other_input", p->other);
}

static json_t *to_json(const struct assay_image_pair *v, uint32_t n, int code)
{
    json_t *a = json_array();
    enum assay_image_verdict worst = ASSAY_IMAGE_MATCH;

    for (uint32_t i = 0; i < n && a != NULL; i++) {
        if (assay_image_pair_verdict(&v[i]) > worst)
            worst = assay_image_pair_verdict(&v[i]);
        if (json_array_append_new(a, json_pair(&v[i])) != 0) {
            json_decref(a);
            a = NULL;
        }
    }
    return json_pack("{s:s, s:s, s:o, s:i}", "schema", "assay-image/1",
                     "verdict", assay_image_verdict_name(worst), "inputs", a,
                     "exit_code", code);
}

static int write_json(const struct assay_options *o,
                      const struct assay_image_pair *v, uint32_t n, int code,
                      struct assay_err *err)
{
    if (!o->json_stdout && o->json == NULL)
        return 0;
    return assay_cmd_write_json(o, to_json(v, n, code), err);
}

int assay_image_received_report(const struct assay_options *o,
                                const struct assay_image_pair *v, uint32_t n,
                                int exit_code, struct assay_err *err)
{
    struct assay_lines l = {.arena = assay_arena_new()};

    if (l.arena == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "out of memory");
    for (uint32_t i = 0; i < n; i++)
        pair_lines(v, &v[i], &l);
    for (size_t i = 0; i < l.n && !o->json_stdout; i++) {
        /* Control bytes of names do not steer a terminal. */
        for (const char *c = l.v[i]; *c != '\0'; c++)
            putchar((unsigned char)*c < 32 || *c == 127 ? '?' : *c);
        putchar('\n');
    }
    assay_arena_free(l.arena);
    return write_json(o, v, n, exit_code, err);
}
