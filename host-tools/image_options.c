/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/image_options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/messages.h"

static int bad(const char *name, const char *value, const char *expected,
               struct assay_err *err)
{
    return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_BAD_VALUE, "name",
                              name, "value", value, "expected", expected, NULL);
}

static int bad_id(const char *name, const char *value, enum assay_message_id id,
                  struct assay_err *err)
{
    return bad(name, value, assay_message_text(id), err);
}

/* ---- forms of values ------------------------------------------------------------- */

static bool take_number(uint64_t *out, const char **p, uint64_t lo, uint64_t hi)
{
    char *end;
    unsigned long long v;

    if (!isdigit((unsigned char)**p))
        return false;
    errno = 0;
    v = strtoull(*p, &end, 10);
    if (errno != 0 || v < lo || v > hi)
        return false;
    *p = end;
    *out = v;
    return true;
}

static bool take_size(uint32_t *width, uint32_t *height, const char **p)
{
    uint64_t w, h;

    if (!take_number(&w, p, 1, ASSAY_PICTURE_MAX_SIDE) ||
        (**p != 'x' && **p != 'X'))
        return false;
    (*p)++;
    if (!take_number(&h, p, 1, ASSAY_PICTURE_MAX_SIDE))
        return false;
    *width = (uint32_t)w;
    *height = (uint32_t)h;
    return true;
}

static int read_number(uint64_t *out, const char *name, const char *value,
                       uint64_t lo, uint64_t hi, struct assay_err *err)
{
    const char *p = value;
    char expected[96];

    if (take_number(out, &p, lo, hi) && *p == '\0')
        return 0;
    assay_message(expected, sizeof(expected), ASSAY_MSG_EXPECT_NUMBER, "lo",
                  assay_num_u(lo).text, "hi", assay_num_u(hi).text, NULL);
    return bad(name, value, expected, err);
}

/* One number, or three with commas. */
static int read_triple(float out[3], const char *name, const char *value,
                       struct assay_err *err)
{
    const char *p = value;
    float v[3];
    unsigned n = 0;

    for (;;) {
        char *end;

        v[n] = strtof(p, &end);
        if (end == p || isspace((unsigned char)*p) || !isfinite(v[n]))
            return bad_id(name, value, ASSAY_MSG_EXPECT_TRIPLE, err);
        n++;
        p = end;
        if (*p != ',' || n == 3)
            break;
        p++;
    }
    if (*p != '\0' || n == 2)
        return bad_id(name, value, ASSAY_MSG_EXPECT_TRIPLE, err);
    for (unsigned k = 0; k < 3; k++)
        out[k] = v[n == 1 ? 0 : k];
    return 0;
}

typedef const char *word_fn(unsigned i);

/* The number of a word among `n` that a function names. */
static int read_word(unsigned *out, word_fn *word, unsigned n, const char *name,
                     const char *value, size_t len, struct assay_err *err)
{
    char list[160] = "", expected[200];

    for (unsigned i = 0; i < n; i++) {
        if (strlen(word(i)) == len && strncmp(word(i), value, len) == 0) {
            *out = i;
            return 0;
        }
        if (i > 0)
            strncat(list, ", ", sizeof(list) - strlen(list) - 1);
        strncat(list, word(i), sizeof(list) - strlen(list) - 1);
    }
    assay_message(expected, sizeof(expected), ASSAY_MSG_EXPECT_WORD, "words",
                  list, NULL);
    return bad(name, value, expected, err);
}

#define WORDS(name, of) \
    static const char *name(unsigned i) \
    { \
        return of(i); \
    }
WORDS(type_word, assay_image_type_name)
WORDS(range_word, assay_range_name)
WORDS(matrix_word, assay_matrix_name)
WORDS(arith_word, assay_colour_arith_name)
WORDS(down_word, assay_chroma_down_name)
WORDS(up_word, assay_chroma_up_name)
WORDS(odd_word, assay_odd_name)
WORDS(fit_word, assay_fit_name)
WORDS(filter_word, assay_filter_name)
WORDS(raw_word, assay_raw_form_name)

static const char *order_word(unsigned i)
{
    return i == 0 ? "resize" : "colour";
}

static const char *values_word(unsigned i)
{
    return i == 0 ? "mean" : "scale";
}

static const char *layout_word(unsigned i)
{
    return i == 0 ? "NHWC" : "NCHW";
}

static const enum assay_dtype dtypes[] = {ASSAY_U8, ASSAY_S8, ASSAY_U16,
                                          ASSAY_S16, ASSAY_F32};
#define N_DTYPES (sizeof(dtypes) / sizeof(dtypes[0]))

static const char *dtype_word(unsigned i)
{
    return assay_dtype_name(dtypes[i]);
}

/* ---- options ------------------------------------------------------------------------ */

static int read_type(struct assay_image_ask *a, const char *value,
                     struct assay_err *err)
{
    size_t n = strlen(value);
    unsigned type = 0;
    bool centred = false;
    int rc;

    if (n > 4 && strcmp(value + n - 4, "_128") == 0) {
        centred = true;
        n -= 4;
    } else if (strcmp(value, "yuv444c") == 0) {
        centred = true;
        n -= 1;
    }
    rc = read_word(&type, type_word, ASSAY_IMAGE_TYPE_COUNT, "--as", value, n,
                   err);
    if (rc < 0)
        return rc;
    assay_image_spec_init(&a->spec, (enum assay_image_type)type, 0, 0);
    a->spec.centre = centred;
    a->typed = true;
    return 0;
}

static int read_resize(struct assay_image_spec *s, const char *value,
                       struct assay_err *err)
{
    size_t n = strcspn(value, ":");
    unsigned fit = 0, filter = 0;
    int rc =
        read_word(&fit, fit_word, ASSAY_FIT_COUNT, "--resize", value, n, err);

    if (rc == 0 && value[n] == ':')
        rc = read_word(&filter, filter_word, ASSAY_FILTER_COUNT, "--resize",
                       value + n + 1, strlen(value + n + 1), err);
    s->fit = (enum assay_fit)fit;
    s->filter = (enum assay_filter)filter;
    return rc;
}

static int read_raw(struct assay_image_ask *a, const char *value,
                    struct assay_err *err)
{
    size_t n = strcspn(value, ":");
    const char *p = value + n;
    uint64_t stride = 0;
    unsigned form = 0;
    bool good = *p == ':';

    p += good;
    good = good &&
           read_word(&form, raw_word, ASSAY_RAW_COUNT, "--raw", value, n,
                     NULL) == 0 &&
           take_size(&a->raw.width, &a->raw.height, &p);
    if (good && *p == ':') {
        p++;
        good = take_number(&stride, &p, 1, 1u << 30);
    }
    if (!good || *p != '\0')
        return bad_id("--raw", value, ASSAY_MSG_EXPECT_RAW, err);
    a->raw.form = (enum assay_raw_form)form;
    a->raw.stride = (size_t)stride;
    a->is_raw = true;
    return 0;
}

static int read_values(struct assay_image_spec *s,
                       const struct assay_image_texts *t, struct assay_err *err)
{
    int rc = 0;

    if (t->mean != NULL)
        rc = read_triple(s->mean, "--mean-value", t->mean, err);
    if (rc == 0 && t->scale != NULL)
        rc = read_triple(s->scale, "--scale-value", t->scale, err);
    if (t->mean != NULL || t->scale != NULL)
        s->normalise = 1;
    return rc;
}

/* ---- --set ------------------------------------------------------------------------------ */

enum key {
    KEY_MATRIX,
    KEY_ARITH,
    KEY_DOWN,
    KEY_UP,
    KEY_ODD,
    KEY_ORDER,
    KEY_VALUES,
    KEY_DTYPE,
    KEY_ORIENTATION,
    KEY_WIDEN,
    KEY_CENTRE,
    KEY_DIVIDE,
    KEY_NORMALISE,
    KEY_ALIGN,
    KEY_PAD,
    KEY_SCALE,
    KEY_COUNT,
};

/* A word of a list, or a number up to `most`. */
static const struct {
    const char *name;
    word_fn *word;
    unsigned n;
    uint64_t most;
} keys[KEY_COUNT] = {
    [KEY_MATRIX] = {"matrix", matrix_word, ASSAY_MATRIX_COUNT, 0},
    [KEY_ARITH] = {"arith", arith_word, ASSAY_COLOUR_ARITH_COUNT, 0},
    [KEY_DOWN] = {"down", down_word, ASSAY_DOWN_COUNT, 0},
    [KEY_UP] = {"up", up_word, ASSAY_UP_COUNT, 0},
    [KEY_ODD] = {"odd", odd_word, ASSAY_ODD_COUNT, 0},
    [KEY_ORDER] = {"order", order_word, 2, 0},
    [KEY_VALUES] = {"order-of-values", values_word, 2, 0},
    [KEY_DTYPE] = {"dtype", dtype_word, N_DTYPES, 0},
    [KEY_ORIENTATION] = {"orientation", NULL, 0, 8},
    [KEY_WIDEN] = {"widen", NULL, 0, 1},
    [KEY_CENTRE] = {"centre", NULL, 0, 2},
    [KEY_DIVIDE] = {"divide", NULL, 0, 2},
    [KEY_NORMALISE] = {"normalise", NULL, 0, 2},
    [KEY_ALIGN] = {"align", NULL, 0, 65536},
    [KEY_PAD] = {"pad", NULL, 0, 0},
    [KEY_SCALE] = {"input-scale", NULL, 0, 0},
};

/* Its number, or a negative ASSAY_E*. */
static int find_key(const char *name, size_t n, struct assay_err *err)
{
    char text[64];
    const char *near = keys[0].name;
    unsigned best = ~0u;

    snprintf(text, sizeof(text), "%.*s", (int)(n < 60 ? n : 60), name);
    for (unsigned i = 0; i < KEY_COUNT; i++) {
        unsigned d = assay_edit_distance(text, keys[i].name);

        if (d == 0)
            return (int)i;
        if (d < best) {
            best = d;
            near = keys[i].name;
        }
    }
    return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_IMAGE_KEY, "key",
                              text, "near", near, NULL);
}

static void set_choice(struct assay_image_ask *a, enum key key, unsigned v)
{
    struct assay_image_spec *s = &a->spec;

    switch (key) {
    case KEY_MATRIX: s->colour.matrix = (enum assay_matrix)v; break;
    case KEY_ARITH: s->colour.arith = (enum assay_colour_arith)v; break;
    case KEY_DOWN: s->down = (enum assay_chroma_down)v; break;
    case KEY_UP: s->up = (enum assay_chroma_up)v; break;
    case KEY_ODD: s->odd = (enum assay_odd)v; break;
    case KEY_ORDER: s->colour_first = v == 1; break;
    case KEY_VALUES: s->scale_first = v == 1; break;
    case KEY_DTYPE: s->dtype = a->dtype = dtypes[v]; break;
    case KEY_ORIENTATION: s->orientation = (uint8_t)v; break;
    case KEY_WIDEN: s->widen = v == 1; break;
    case KEY_CENTRE: s->centre = (uint8_t)v; break;
    case KEY_DIVIDE: s->divide = (uint8_t)v; break;
    case KEY_NORMALISE: s->normalise = (uint8_t)v; break;
    default: s->align = v; break;
    }
}

static int set_triple(struct assay_image_ask *a, enum key key, const char *name,
                      const char *value, struct assay_err *err)
{
    float v[3];
    int rc = read_triple(v, name, value, err);

    if (rc < 0)
        return rc;
    if (key == KEY_SCALE) {
        a->spec.quantize_scale = v[0];
        return 0;
    }
    for (unsigned k = 0; k < 3; k++) {
        if (v[k] < 0 || v[k] > 255 || v[k] != floorf(v[k]))
            return bad_id(name, value, ASSAY_MSG_EXPECT_TRIPLE, err);
        a->spec.pad[k] = (uint8_t)v[k];
    }
    return 0;
}

static int read_set(struct assay_image_ask *a, const char *text,
                    struct assay_err *err)
{
    size_t n = strcspn(text, "=");
    const char *value = text + n + 1;
    char name[64];
    unsigned word = 0;
    uint64_t number = 0;
    enum key key;
    int rc;

    if (text[n] == '\0')
        return bad_id("--set", text, ASSAY_MSG_EXPECT_KEY_VALUE, err);
    rc = find_key(text, n, err);
    if (rc < 0)
        return rc;
    key = (enum key)rc;
    snprintf(name, sizeof(name), "--set %.*s", (int)n, text);
    if (key == KEY_PAD || key == KEY_SCALE)
        return set_triple(a, key, name, value, err);
    if (keys[key].word != NULL)
        rc = read_word(&word, keys[key].word, keys[key].n, name, value,
                       strlen(value), err);
    else
        rc = read_number(&number, name, value, 0, keys[key].most, err);
    if (rc == 0)
        set_choice(a, key, keys[key].word != NULL ? word : (unsigned)number);
    return rc;
}

static int read_texts(struct assay_image_ask *a,
                      const struct assay_image_texts *t, struct assay_err *err)
{
    const char *p = t->size;
    uint64_t stride = 0;
    unsigned v = 0;
    int rc = 0;

    if (p != NULL &&
        (!take_size(&a->spec.width, &a->spec.height, &p) || *p != '\0'))
        return bad_id("--size", t->size, ASSAY_MSG_EXPECT_SIZE, err);
    a->sized = t->size != NULL;
    if (t->range != NULL) {
        rc = read_word(&v, range_word, ASSAY_RANGE_COUNT, "--range", t->range,
                       strlen(t->range), err);
        a->spec.colour.range = (enum assay_range)v;
    }
    if (rc == 0 && t->resize != NULL)
        rc = read_resize(&a->spec, t->resize, err);
    if (rc == 0)
        rc = read_values(&a->spec, t, err);
    if (rc == 0 && t->stride != NULL) {
        rc = read_number(&stride, "--stride", t->stride, 1, 1u << 30, err);
        a->spec.stride = (size_t)stride;
    }
    if (rc == 0 && t->layout != NULL) {
        rc = read_word(&v, layout_word, 2, "--layout", t->layout,
                       strlen(t->layout), err);
        a->spec.nchw = v == 1;
    }
    if (rc == 0 && t->raw != NULL)
        rc = read_raw(a, t->raw, err);
    return rc;
}

int assay_image_options(struct assay_image_ask *out,
                        const struct assay_options *o, struct assay_err *err)
{
    struct assay_image_ask a = {.dtype = ASSAY_IMAGE_NO_DTYPE};
    int rc = 0;

    assay_image_spec_init(&a.spec, ASSAY_IMAGE_NV12, 0, 0);
    if (o->image.as != NULL)
        rc = read_type(&a, o->image.as, err);
    if (rc == 0)
        rc = read_texts(&a, &o->image, err);
    for (size_t i = 0; rc == 0 && i < o->set.n; i++)
        rc = read_set(&a, o->set.v[i], err);
    if (rc == 0)
        *out = a;
    return rc;
}
