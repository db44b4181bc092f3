/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who says what of versions, march and SoC, with the place where it stands.
 * Values are words of versions and names: nothing else of a hostile file is
 * ever repeated.
 */
#include <ctype.h>
#include <string.h>

#include "host-tools/vendor/parse.h"

#define MAX_CLAIMS 256u
#define MAX_VALUE 63u

static bool is_word(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)s[i]) && memchr("._+-", s[i], 4) == NULL)
            return false;
    }
    return n > 0 && n <= MAX_VALUE;
}

int assay_vendor_claim(struct assay_vendor *v, const struct assay_claim *like,
                       const char *value, size_t n, struct assay_err *err)
{
    struct assay_claim *slot;
    const char *text;

    while (n > 0 && isspace((unsigned char)*value)) {
        value++;
        n--;
    }
    while (n > 0 && isspace((unsigned char)value[n - 1]))
        n--;
    if (!is_word(value, n))
        return 0;
    for (uint32_t i = 0; i < v->n_claims; i++) {
        struct assay_claim *c = &v->claims[i];

        if (c->about == like->about && c->by == like->by &&
            strcmp(c->file, like->file) == 0 && strlen(c->value) == n &&
            memcmp(c->value, value, n) == 0 &&
            strcmp(c->model, like->model) == 0) {
            c->complained = c->complained || like->complained;
            return 0;
        }
    }
    text = assay_arena_str(v->arena, value, n);
    if (text == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "%s",
                          assay_status_sentence(ASSAY_EMEMORY));
    slot = assay_vendor_grow(v, &v->claims, &v->n_claims, &v->cap_claims,
                             sizeof(*slot), MAX_CLAIMS);
    if (slot == NULL)
        return assay_vendor_too_many(like->file, "different versions", err);
    *slot = *like;
    slot->value = text;
    return 0;
}

struct saying {
    enum assay_claim_about about;
    enum assay_claim_by by;
    const char *value, *file;
};

static int say(struct assay_vendor *v, const struct saying *s,
               struct assay_err *err)
{
    struct assay_claim like = {
        .about = s->about,
        .by = s->by,
        .file = s->file != NULL ? s->file : "",
        .model = "",
    };

    return s->value == NULL
               ? 0
               : assay_vendor_claim(v, &like, s->value, strlen(s->value), err);
}

int assay_vendor_claims(struct assay_vendor *v, struct assay_err *err)
{
    const struct saying all[] = {
        {ASSAY_ABOUT_MARCH, ASSAY_BY_CONFIG, v->yaml.march, v->yaml.file},
        {ASSAY_ABOUT_MARCH, ASSAY_BY_BUILD, v->deps.march, v->deps.file},
        {ASSAY_ABOUT_HBDK, ASSAY_BY_BUILD, v->hbdk_version, v->log_file},
        {ASSAY_ABOUT_NN, ASSAY_BY_BUILD, v->horizon_nn_version, v->log_file},
        {ASSAY_ABOUT_MAPPER, ASSAY_BY_BUILD, v->hb_mapper_version, v->log_file},
        {ASSAY_ABOUT_HBDK, ASSAY_BY_COMPILED, v->disas_version,
         v->n_features > 0 ? v->features[0].file : ""},
    };
    int rc = 0;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && rc == 0; i++)
        rc = say(v, &all[i], err);
    for (uint32_t i = 0; i < v->n_features && rc == 0; i++)
        rc = say(v,
                 &(struct saying){ASSAY_ABOUT_MARCH, ASSAY_BY_COMPILED,
                                  v->features[i].march, v->features[i].file},
                 err);
    return rc;
}
