/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/options_value.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/diff/diff.h"
#include "host-tools/messages.h"
#include "kernels/cpu.h"

#define MAX_SECONDS 86400u
#define MAX_ROWS 1000000u
#define MAX_PIXELS 65535u

static int bad_value(const char *name, const char *value, const char *expected,
                     struct assay_err *err)
{
    return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_BAD_VALUE, "name",
                              name, "value", value, "expected", expected, NULL);
}

static int bad_value_id(const char *name, const char *value,
                        enum assay_message_id id, struct assay_err *err)
{
    return bad_value(name, value, assay_message_text(id), err);
}

static int parse_uint(uint64_t *out, const char *name, const char *value,
                      uint64_t lo, uint64_t hi, struct assay_err *err)
{
    char *end = NULL;
    unsigned long long v;
    char expected[96];

    errno = 0;
    v = isdigit((unsigned char)value[0]) ? strtoull(value, &end, 10) : 0;
    if (end == NULL || *end != '\0' || errno != 0 || v < lo || v > hi) {
        assay_message(expected, sizeof(expected), ASSAY_MSG_EXPECT_NUMBER, "lo",
                      assay_num_u(lo).text, "hi", assay_num_u(hi).text, NULL);
        return bad_value(name, value, expected, err);
    }
    *out = v;
    return 0;
}

static bool parse_real(double *out, const char *value)
{
    char *end = NULL;
    double v;

    if (!isdigit((unsigned char)value[0]) && value[0] != '.')
        return false;
    v = strtod(value, &end);
    if (*end != '\0' || !isfinite(v) || v < 0.0)
        return false;
    *out = v;
    return true;
}

static int parse_seconds(uint64_t *ms, const char *name, const char *value,
                         struct assay_err *err)
{
    double v;
    char expected[96];

    if (!parse_real(&v, value) || v < 0.001 || v > MAX_SECONDS) {
        assay_message(expected, sizeof(expected), ASSAY_MSG_EXPECT_NUMBER, "lo",
                      "1", "hi", assay_num_u(MAX_SECONDS).text, NULL);
        return bad_value(name, value, expected, err);
    }
    *ms = (uint64_t)(v * 1000.0);
    return 0;
}

static int add_string(struct assay_strings *s, const char *name,
                      const char *value, struct assay_err *err)
{
    if (value[0] == '\0')
        return bad_value_id(name, value, ASSAY_MSG_EXPECT_TEXT, err);
    if (s->n == ASSAY_MAX_REPEATS)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_TOO_MANY, "name",
                                  name, "limit",
                                  assay_num_u(ASSAY_MAX_REPEATS).text, NULL);
    s->v[s->n++] = value;
    return 0;
}

static int set_string(const char **out, const char *name, const char *value,
                      struct assay_err *err)
{
    if (value[0] == '\0')
        return bad_value_id(name, value, ASSAY_MSG_EXPECT_TEXT, err);
    *out = value;
    return 0;
}

static int add_threshold(struct assay_thresholds *t, bool integer,
                         const char *name, const char *value,
                         struct assay_err *err)
{
    const char *colon = strrchr(value, ':');
    struct assay_threshold *e = &t->v[t->n];

    if (t->n == ASSAY_MAX_REPEATS)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_TOO_MANY, "name",
                                  name, "limit",
                                  assay_num_u(ASSAY_MAX_REPEATS).text, NULL);
    if (!parse_real(&e->value, colon != NULL ? colon + 1 : value) ||
        colon == value ||
        (integer && (e->value != floor(e->value) || e->value > 1e9)))
        return bad_value_id(name, value, ASSAY_MSG_EXPECT_THRESHOLD, err);
    e->layer = colon != NULL ? value : NULL;
    e->layer_len = colon != NULL ? (size_t)(colon - value) : 0;
    t->n++;
    return 0;
}

/* Index of the word in a NULL-ended list. */
static int parse_word(unsigned *out, const char *const *words, const char *name,
                      const char *value, struct assay_err *err)
{
    char list[160] = "", expected[200];

    for (unsigned i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], value) == 0) {
            *out = i;
            return 0;
        }
        if (i > 0)
            strncat(list, ", ", sizeof(list) - strlen(list) - 1);
        strncat(list, words[i], sizeof(list) - strlen(list) - 1);
    }
    assay_message(expected, sizeof(expected), ASSAY_MSG_EXPECT_WORD, "words",
                  list, NULL);
    return bad_value(name, value, expected, err);
}

static int parse_columns(uint32_t *out, const char *name, const char *value,
                         struct assay_err *err)
{
    uint32_t mask = 0;
    const char *p = value;

    do {
        size_t n = strcspn(p, ",");
        unsigned c = 0;

        while (c < ASSAY_COL_COUNT &&
               (strlen(assay_column_name(c)) != n ||
                strncmp(assay_column_name(c), p, n) != 0))
            c++;
        if (c == ASSAY_COL_COUNT)
            return bad_value_id(name, value, ASSAY_MSG_EXPECT_COLUMNS, err);
        mask |= 1u << c;
        p += n;
    } while (*p++ == ',');
    *out |= mask;
    return 0;
}

/* RKNN users write the chip's name here: tell them what is wanted. */
static bool chip_name(const char *s)
{
    static const char *const patterns[] = {
        "rk3[0-9][0-9][0-9]*",
        "rv1[0-9][0-9][0-9]*",
        "bayes*",
        "nash*",
        "bernoulli*",
        "[xj][2-6]",
        "[xj][2-6][a-z]",
        "s[16]00",
        "s[16]00[a-z]",
        "bpu*",
        "qcs*",
        "sm8*",
    };

    if (strchr(s, '.') != NULL || strchr(s, ':') != NULL)
        return false;
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        if (fnmatch(patterns[i], s, FNM_CASEFOLD) == 0)
            return true;
    }
    return false;
}

static int store_target(struct assay_options *o, const char *name,
                        const char *value, struct assay_err *err)
{
    if (chip_name(value))
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_ADDRESS_EXPECTED,
                                  "value", value, NULL);
    return set_string(&o->target, name, value, err);
}

static int store_word(struct assay_options *o, enum assay_option_key key,
                      const char *name, const char *value,
                      struct assay_err *err)
{
    static const char *const modes[] = {"both", "cumulative", "isolated", NULL};
    static const char *const captures[] = {"full", "differing", "digest",
                                           "stats", NULL};
    static const char *const sorts[] = {"index",  "mismatch", "max_lsb",
                                        "cosine", "sqnr",     NULL};
    static const char *const columns[] = {"sim", "bpu", NULL};
    static const char *const places[] = {"middle", "corner", NULL};
    static const char *const formats[] = {"text", "json", NULL};
    unsigned w = 0;
    int rc;

    switch (key) {
    case ASSAY_OPT_COLUMN:
        rc = parse_word(&w, columns, name, value, err);
        o->column = w == 0 ? ASSAY_COL_SIM : ASSAY_COL_BPU;
        return rc;
    case ASSAY_OPT_LETTERBOX:
        rc = parse_word(&w, places, name, value, err);
        o->corner = w == 1;
        return rc;
    case ASSAY_OPT_CAPTURE:
        rc = parse_word(&w, captures, name, value, err);
        o->capture = (enum assay_capture)w;
        return rc;
    case ASSAY_OPT_MODE:
        rc = parse_word(&w, modes, name, value, err);
        o->mode = (enum assay_mode)w;
        return rc;
    case ASSAY_OPT_SORT_BY:
        rc = parse_word(&w, sorts, name, value, err);
        o->sort = (enum assay_sort)w;
        return rc;
    default:
        rc = parse_word(&w, formats, name, value, err);
        o->json_stdout = w == 1;
        return rc;
    }
}

static int store_number(struct assay_options *o, enum assay_option_key key,
                        const char *name, const char *value,
                        struct assay_err *err)
{
    uint64_t v = 0;
    int rc;

    switch (key) {
    case ASSAY_OPT_MAX_ROWS:
        rc = parse_uint(&v, name, value, 0, MAX_ROWS, err);
        o->max_rows = (uint32_t)v;
        return rc;
    case ASSAY_OPT_SAMPLE:
        rc = parse_uint(&v, name, value, 0, UINT32_MAX - 1, err);
        o->sample = (uint32_t)v;
        o->one_sample = true;
        return rc;
    case ASSAY_OPT_TIMEOUT:
        return parse_seconds(&o->timeout_ms, name, value, err);
    case ASSAY_OPT_LAYER_TIMEOUT:
        return parse_seconds(&o->layer_timeout_ms, name, value, err);
    case ASSAY_OPT_TIME_LIMIT:
        return parse_seconds(&o->time_limit_ms, name, value, err);
    case ASSAY_OPT_MAX_LSB:
        return add_threshold(&o->max_lsb, true, name, value, err);
    case ASSAY_OPT_ATOL:
        return add_threshold(&o->atol, false, name, value, err);
    case ASSAY_OPT_RTOL:
        return add_threshold(&o->rtol, false, name, value, err);
    default:
        if (!parse_real(&o->min_coverage, value) || o->min_coverage > 100.0)
            return bad_value_id(name, value, ASSAY_MSG_EXPECT_PERCENT, err);
        return 0;
    }
}

static int store_flag(struct assay_options *o, enum assay_option_key key)
{
    switch (key) {
    case ASSAY_OPT_LOCAL: o->local = true; return 0;
    case ASSAY_OPT_ALL: o->all = true; return 0;
    case ASSAY_OPT_WIDE: o->wide = true; return 0;
    case ASSAY_OPT_FAIL_FAST: o->fail_fast = true; return 0;
    case ASSAY_OPT_SAVE_OUTPUTS: o->save_outputs = true; return 0;
    case ASSAY_OPT_SKIP_IF_MISSING: o->skip_if_missing = true; return 0;
    case ASSAY_OPT_FORCE: o->force = true; return 0;
    case ASSAY_OPT_LIST: o->list = true; return 0;
    case ASSAY_OPT_DRY_RUN: o->dry_run = true; return 0;
    case ASSAY_OPT_NO_PREFLIGHT: o->no_preflight = true; return 0;
    case ASSAY_OPT_VERBOSE: o->verbose++; return 0;
    case ASSAY_OPT_QUIET: o->quiet = true; return 0;
    case ASSAY_OPT_NO_COLOR: o->no_color = true; return 0;
    case ASSAY_OPT_HELP: o->help = true; return 0;
    default: o->version = true; return 0;
    }
}

/* --quantized-bc is stage quantized.bc. */
static bool names_stage(const char *option, const char *stage)
{
    while (*stage != '\0' &&
           (*option == *stage || (*option == '-' && *stage == '.'))) {
        option++;
        stage++;
    }
    return *option == '\0' && *stage == '\0';
}

static int store_stage(struct assay_options *o, const char *name,
                       const char *value, struct assay_err *err)
{
    static const char *const stages[] = {
#define ASSAY_STAGE(id, stage, side, cosine, error, step, look) stage,
#include "host-tools/triage/stages.def"
#undef ASSAY_STAGE
    };
    size_t i = 0;

    _Static_assert(sizeof(stages) == sizeof(o->stage), "stages of options.h");
    while (i + 1 < sizeof(stages) / sizeof(stages[0]) &&
           !names_stage(name + 2, stages[i]))
        i++;
    return set_string(&o->stage[i], name, value, err);
}

static int store_image(struct assay_options *o, enum assay_option_key key,
                       const char *name, const char *value,
                       struct assay_err *err)
{
    struct assay_image_texts *t = &o->image;

    switch (key) {
    case ASSAY_OPT_AS: return set_string(&t->as, name, value, err);
    case ASSAY_OPT_SIZE: return set_string(&t->size, name, value, err);
    case ASSAY_OPT_RANGE: return set_string(&t->range, name, value, err);
    case ASSAY_OPT_RESIZE: return set_string(&t->resize, name, value, err);
    case ASSAY_OPT_MEAN_VALUE: return set_string(&t->mean, name, value, err);
    case ASSAY_OPT_SCALE_VALUE: return set_string(&t->scale, name, value, err);
    case ASSAY_OPT_STRIDE: return set_string(&t->stride, name, value, err);
    case ASSAY_OPT_LAYOUT: return set_string(&t->layout, name, value, err);
    case ASSAY_OPT_RAW: return set_string(&t->raw, name, value, err);
    default: return set_string(&t->show, name, value, err);
    }
}

/* "1920x1080". */
static int parse_size(uint32_t out[2], const char *name, const char *value,
                      struct assay_err *err)
{
    char *end = NULL;
    unsigned long w = 0, h = 0;

    errno = 0;
    if (isdigit((unsigned char)value[0]))
        w = strtoul(value, &end, 10);
    if (end != NULL && *end == 'x' && isdigit((unsigned char)end[1]))
        h = strtoul(end + 1, &end, 10);
    if (end == NULL || *end != '\0' || errno != 0 || w < 1 || h < 1 ||
        w > MAX_PIXELS || h > MAX_PIXELS)
        return bad_value_id(name, value, ASSAY_MSG_EXPECT_SIZE, err);
    out[0] = (uint32_t)w;
    out[1] = (uint32_t)h;
    return 0;
}

static int store_text(struct assay_options *o, enum assay_option_key key,
                      const char *name, const char *value,
                      struct assay_err *err)
{
    switch (key) {
    case ASSAY_OPT_MODEL: return set_string(&o->model, name, value, err);
    case ASSAY_OPT_INPUT: return add_string(&o->inputs, name, value, err);
    case ASSAY_OPT_SAVE: return set_string(&o->save, name, value, err);
    case ASSAY_OPT_REFERENCE:
        return set_string(&o->reference, name, value, err);
    case ASSAY_OPT_OUTPUT_DIR:
        return set_string(&o->output_dir, name, value, err);
    case ASSAY_OPT_SIM: return set_string(&o->sim, name, value, err);
    case ASSAY_OPT_SET: return add_string(&o->set, name, value, err);
    case ASSAY_OPT_SAVE_FAILING:
        return set_string(&o->save_failing, name, value, err);
    case ASSAY_OPT_GOT: return set_string(&o->got, name, value, err);
    case ASSAY_OPT_HYPOTHESIS:
        return set_string(&o->hypothesis, name, value, err);
    case ASSAY_OPT_EXPECT_DTYPES:
        return set_string(&o->expect_dtypes, name, value, err);
    case ASSAY_OPT_TLS_CERT: return set_string(&o->tls_cert, name, value, err);
    case ASSAY_OPT_TLS_KEY: return set_string(&o->tls_key, name, value, err);
    case ASSAY_OPT_TLS_CA: return set_string(&o->tls_ca, name, value, err);
    case ASSAY_OPT_FINGERPRINT:
        return set_string(&o->fingerprint, name, value, err);
    case ASSAY_OPT_NAME: return set_string(&o->name, name, value, err);
    case ASSAY_OPT_BUNDLE: return set_string(&o->bundle, name, value, err);
    case ASSAY_OPT_BPU: return set_string(&o->bpu, name, value, err);
    case ASSAY_OPT_COMPILED: return set_string(&o->compiled, name, value, err);
    case ASSAY_OPT_FLOAT_MODEL:
        return set_string(&o->float_model, name, value, err);
    case ASSAY_OPT_PREVIOUS: return set_string(&o->previous, name, value, err);
    case ASSAY_OPT_HYBRID: return set_string(&o->hybrid, name, value, err);
    case ASSAY_OPT_LAYERS: return add_string(&o->layers, name, value, err);
    case ASSAY_OPT_SKIP_LAYERS:
        return add_string(&o->skip_layers, name, value, err);
    case ASSAY_OPT_OP_TYPE: return add_string(&o->op_types, name, value, err);
    case ASSAY_OPT_START_LAYER:
        return set_string(&o->start_layer, name, value, err);
    case ASSAY_OPT_END_LAYER:
        return set_string(&o->end_layer, name, value, err);
    case ASSAY_OPT_AT: return set_string(&o->at, name, value, err);
    case ASSAY_OPT_LAYER: return set_string(&o->layer, name, value, err);
    case ASSAY_OPT_NUMERICS: return set_string(&o->numerics, name, value, err);
    default:
        if (strcmp(value, "-") == 0) {
            o->json_stdout = true; /* like every tool: "-" is stdout */
            return 0;
        }
        return set_string(&o->json, name, value, err);
    }
}

int assay_option_store(struct assay_options *o, enum assay_option_key key,
                       const char *name, const char *value,
                       struct assay_err *err)
{
    const char *eq;

    if (value == NULL)
        return store_flag(o, key);
    switch (key) {
    case ASSAY_OPT_TARGET: return store_target(o, name, value, err);
    case ASSAY_OPT_MODE:
    case ASSAY_OPT_CAPTURE:
    case ASSAY_OPT_SORT_BY:
    case ASSAY_OPT_COLUMN:
    case ASSAY_OPT_LETTERBOX:
    case ASSAY_OPT_FORMAT: return store_word(o, key, name, value, err);
    case ASSAY_OPT_MAX_ROWS:
    case ASSAY_OPT_SAMPLE:
    case ASSAY_OPT_TIMEOUT:
    case ASSAY_OPT_LAYER_TIMEOUT:
    case ASSAY_OPT_TIME_LIMIT:
    case ASSAY_OPT_MAX_LSB:
    case ASSAY_OPT_ATOL:
    case ASSAY_OPT_RTOL:
    case ASSAY_OPT_MIN_COVERAGE: return store_number(o, key, name, value, err);
    case ASSAY_OPT_REQUIRE: return parse_columns(&o->require, name, value, err);
    case ASSAY_OPT_CPUMASK:
        if (assay_cpu_parse_mask(value, &o->cpumask) != 0)
            return bad_value_id(name, value, ASSAY_MSG_EXPECT_MASK, err);
        return 0;
    case ASSAY_OPT_ARITH:
        eq = strrchr(value, '=');
        if (eq == NULL || eq == value || eq[1] == '\0')
            return bad_value_id(name, value, ASSAY_MSG_EXPECT_ARITH, err);
        return add_string(&o->arith, name, value, err);
    case ASSAY_OPT_AS:
    case ASSAY_OPT_SIZE:
    case ASSAY_OPT_RANGE:
    case ASSAY_OPT_RESIZE:
    case ASSAY_OPT_MEAN_VALUE:
    case ASSAY_OPT_SCALE_VALUE:
    case ASSAY_OPT_STRIDE:
    case ASSAY_OPT_LAYOUT:
    case ASSAY_OPT_RAW:
    case ASSAY_OPT_SHOW: return store_image(o, key, name, value, err);
    case ASSAY_OPT_SCALES: return add_string(&o->scales, name, value, err);
    case ASSAY_OPT_FED: return add_string(&o->fed, name, value, err);
    case ASSAY_OPT_READ: return add_string(&o->read, name, value, err);
    case ASSAY_OPT_IMAGE_SIZE:
        return parse_size(o->picture_size, name, value, err);
    case ASSAY_OPT_MODEL_SIZE: return parse_size(o->size, name, value, err);
    case ASSAY_OPT_VENDOR: return add_string(&o->vendor, name, value, err);
    case ASSAY_OPT_STAGE: return store_stage(o, name, value, err);
    case ASSAY_OPT_SCALE: return add_string(&o->scale, name, value, err);
    case ASSAY_OPT_LOG: return add_string(&o->logs, name, value, err);
    default: return store_text(o, key, name, value, err);
    }
}

double assay_threshold_of(const struct assay_thresholds *t, const char *layer,
                          double otherwise)
{
    char glob[512];

    for (size_t i = t->n; i-- > 0;) {
        const struct assay_threshold *e = &t->v[i];

        if (e->layer == NULL)
            return e->value;
        if (e->layer_len >= sizeof(glob))
            continue;
        memcpy(glob, e->layer, e->layer_len);
        glob[e->layer_len] = '\0';
        if (fnmatch(glob, layer, 0) == 0)
            return e->value;
    }
    return otherwise;
}

bool assay_strings_match(const struct assay_strings *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++) {
        if (fnmatch(s->v[i], name, 0) == 0)
            return true;
    }
    return false;
}

unsigned assay_edit_distance(const char *a, const char *b)
{
    unsigned row[65];
    size_t na = strlen(a), nb = strlen(b);

    if (na > 64)
        na = 64;
    if (nb > 64)
        nb = 64;
    for (size_t j = 0; j <= nb; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        unsigned diagonal = row[0];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[nb];
}
