/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/cause/catalogue.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct assay_cause CAUSES[ASSAY_CAUSE_COUNT] = {
#define ASSAY_CAUSE(id, structural, solved, edit, variants, name, advice) \
    [ASSAY_CAUSE_##id] = {#id,        name,   variants,         advice, \
                          structural, solved, assay_edit_##edit},
#include "host-tools/cause/catalogue.def"
#undef ASSAY_CAUSE
};

const struct assay_cause *assay_cause_of(enum assay_cause_id id)
{
    return &CAUSES[id];
}

enum assay_cause_id assay_cause_find(const char *id)
{
    for (unsigned i = 0; i < ASSAY_CAUSE_COUNT; i++)
        if (strcmp(CAUSES[i].id, id) == 0)
            return (enum assay_cause_id)i;
    return ASSAY_CAUSE_COUNT;
}

bool assay_cause_is_slice(const struct assay_cause *c)
{
    return c->edit != assay_edit_none;
}

/* Start and length of word i of the variants; false: there is none. */
static bool word(const char *words, uint32_t i, const char **at, size_t *n)
{
    for (;; i--) {
        *n = strcspn(words, " ");
        *at = words;
        if (i == 0)
            return *n > 0;
        if (words[*n] == '\0')
            return false;
        words += *n + 1;
    }
}

uint32_t assay_cause_variants(const struct assay_cause *c)
{
    const char *at;
    size_t n;
    uint32_t count = 0;

    while (word(c->variants, count, &at, &n))
        count++;
    return count > 0 ? count : 1;
}

const char *assay_cause_variant(const struct assay_cause *c, uint32_t i,
                                char *out, size_t cap)
{
    const char *at = "";
    size_t n = 0;

    if (!word(c->variants, i, &at, &n))
        n = 0;
    snprintf(out, cap, "%.*s", (int)n, at);
    return out;
}

static int bad(struct assay_err *err, const char *text, const char *expected,
               const char *words)
{
    return assay_fail(err, ASSAY_EUSAGE, "'%.100s': expected %s%s", text,
                      expected, words);
}

static int parse_value(struct assay_edit *out, const char *text,
                       const char *value, struct assay_err *err)
{
    char *end;

    errno = 0;
    out->value = strtoll(value, &end, 10);
    if (value[0] == '\0' || *end != '\0' || errno != 0)
        return bad(err, text, "a whole number behind ':'", "");
    return 0;
}

int assay_edit_parse(struct assay_edit *out, const char *text,
                     struct assay_err *err)
{
    char id[8], name[32];
    size_t n = strcspn(text, "=");
    const struct assay_cause *c;
    const char *rest = text[n] == '=' ? text + n + 1 : "";
    size_t length = strcspn(rest, ":");
    uint32_t variants;

    snprintf(id, sizeof(id), "%.*s", n < sizeof(id) ? (int)n : 0, text);
    *out = (struct assay_edit){.id = assay_cause_find(id)};
    if (out->id == ASSAY_CAUSE_COUNT)
        return bad(err, text,
                   "ID, ID=VARIANT or ID=VARIANT:VALUE of the "
                   "catalogue (docs/hypotheses.md), such as R1",
                   "");
    c = assay_cause_of(out->id);
    variants = assay_cause_variants(c);
    while (length > 0 && out->variant < variants) {
        assay_cause_variant(c, out->variant, name, sizeof(name));
        if (strlen(name) == length && memcmp(name, rest, length) == 0)
            break;
        out->variant++;
    }
    if (out->variant == variants ||
        (length == 0 && (text[n] == '=' || variants > 1)))
        return variants > 1 ? bad(err, text, "behind '=' one of: ", c->variants)
                            : bad(err, text, c->id, ", which has no variants");
    if (c->solved != (rest[length] == ':'))
        return bad(err, text, c->solved ? "a number behind ':'" : "no number",
                   "");
    return c->solved ? parse_value(out, text, rest + length + 1, err) : 0;
}

const char *assay_edit_text(const struct assay_edit *e, char *out, size_t cap)
{
    const struct assay_cause *c = assay_cause_of(e->id);
    char name[32], value[32] = "";

    assay_cause_variant(c, e->variant, name, sizeof(name));
    if (c->solved)
        snprintf(value, sizeof(value), ":%" PRId64, e->value);
    snprintf(out, cap, "%s%s%s%s", c->id, name[0] != '\0' ? "=" : "", name,
             value);
    return out;
}

int assay_edit_apply(struct assay_slice *s, uint32_t *layer,
                     const struct assay_edit *e, struct assay_err *err)
{
    return CAUSES[e->id].edit(s, layer, e, err);
}

int assay_edit_none(struct assay_slice *s, uint32_t *layer,
                    const struct assay_edit *e, struct assay_err *err)
{
    (void)s;
    (void)layer;
    (void)e;
    (void)err;
    return ASSAY_EDIT_NOT_HERE;
}
