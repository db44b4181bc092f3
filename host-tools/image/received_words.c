/* SPDX-License-Identifier: Apache-2.0 */
/* How readings and differences are told; see received_knobs.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/image/received_knobs.h"

const struct assay_fed_text *assay_fed_text(enum assay_fed fed)
{
    static const struct assay_fed_text texts[] = {
#define ASSAY_FED(key, id, name, fix) {id, name, fix},
#include "host-tools/image/received.def"
#undef ASSAY_FED
    };

    return &texts[fed];
}

static bool is_planes(enum assay_image_type type)
{
    return type == ASSAY_IMAGE_NV12 || type == ASSAY_IMAGE_NV21;
}

/* ---- which difference it is ----------------------------------------------- */

static enum assay_fed of_type(const struct assay_reading *got,
                              const struct assay_reading *wanted)
{
    enum assay_image_type g = got->spec.type, w = wanted->spec.type;

    if (got->from_bgr != wanted->from_bgr)
        return ASSAY_FED_SWAPPED;
    if (got->planar && is_planes(w) && !wanted->spec.widen)
        return ASSAY_FED_PLANAR;
    if (is_planes(g) && is_planes(w) && g != w && !got->spec.widen &&
        !wanted->spec.widen)
        return ASSAY_FED_NV21;
    if (g == w && got->swap_chroma != wanted->swap_chroma)
        return ASSAY_FED_YCRCB;
    if (g == ASSAY_IMAGE_BGR && w == ASSAY_IMAGE_RGB)
        return ASSAY_FED_BGR_FOR_RGB;
    if (g == ASSAY_IMAGE_RGB && w == ASSAY_IMAGE_BGR)
        return ASSAY_FED_RGB_FOR_BGR;
    /* Both are Y, U, V of every pixel. */
    if ((g == ASSAY_IMAGE_YUV444 || got->spec.widen) &&
        (w == ASSAY_IMAGE_YUV444 || wanted->spec.widen))
        return got->swap_chroma ? ASSAY_FED_YCRCB : ASSAY_FED_SAMPLING;
    return w == ASSAY_IMAGE_NV12 && !wanted->spec.widen ? ASSAY_FED_NEEDS_NV12
                                                        : ASSAY_FED_TYPE;
}

static enum assay_fed of_centre(const struct assay_reading *got,
                                const struct assay_reading *wanted,
                                const struct assay_received_wanted *facts)
{
    if (got->spec.centre < wanted->spec.centre)
        return ASSAY_FED_CENTRE_MISSING;
    return facts->model_centres && got->spec.centre == 1
               ? ASSAY_FED_CENTRE_MODEL
               : ASSAY_FED_CENTRE_TWICE;
}

static enum assay_fed of_memory(const struct assay_reading *got)
{
    switch (got->memory) {
    case ASSAY_MEMORY_CUT: return ASSAY_FED_CUT;
    case ASSAY_MEMORY_SHEARED: return ASSAY_FED_SHEARED;
    case ASSAY_MEMORY_DENSE:
    case ASSAY_MEMORY_PADDED: break;
    }
    return ASSAY_FED_PADDED;
}

static enum assay_fed of_values(const struct assay_reading *wanted,
                                const struct assay_received_wanted *facts)
{
    if (facts->model_normalises && wanted->spec.normalise == 0 &&
        wanted->spec.divide == 0)
        return ASSAY_FED_NORMALISED_MODEL;
    return ASSAY_FED_NORMALISED;
}

/* What COLOR_RGB2YUV_I420 makes. */
static bool is_i420(const struct assay_image_spec *s)
{
    return is_planes(s->type) && s->colour.arith == ASSAY_COLOUR_OPENCV &&
           s->colour.range == ASSAY_RANGE_STUDIO && s->down == ASSAY_DOWN_FIRST;
}

enum assay_fed assay_fed_of(enum assay_knob knob,
                            const struct assay_reading *got,
                            const struct assay_reading *wanted,
                            const struct assay_received_wanted *facts)
{
    switch (knob) {
    case ASSAY_KNOB_SIZE:
        return got->spec.width == wanted->spec.height &&
                       got->spec.height == wanted->spec.width
                   ? ASSAY_FED_SIDES
                   : ASSAY_FED_SIZE;
    case ASSAY_KNOB_TURN: return ASSAY_FED_TURN;
    case ASSAY_KNOB_FIT: return ASSAY_FED_FIT;
    case ASSAY_KNOB_FILTER: return ASSAY_FED_FILTER;
    case ASSAY_KNOB_PAD: return ASSAY_FED_PAD;
    case ASSAY_KNOB_FIRST: return ASSAY_FED_FIRST;
    case ASSAY_KNOB_TYPE: return of_type(got, wanted);
    case ASSAY_KNOB_RANGE: return ASSAY_FED_RANGE;
    case ASSAY_KNOB_MATRIX: return ASSAY_FED_MATRIX;
    case ASSAY_KNOB_ARITH:
        return is_i420(&got->spec) && !is_i420(&wanted->spec) ? ASSAY_FED_I420
                                                              : ASSAY_FED_ARITH;
    case ASSAY_KNOB_DOWN: return ASSAY_FED_DOWN;
    case ASSAY_KNOB_UP: return ASSAY_FED_UP;
    case ASSAY_KNOB_ODD: return ASSAY_FED_ODD;
    case ASSAY_KNOB_CENTRE: return of_centre(got, wanted, facts);
    case ASSAY_KNOB_VALUES: return of_values(wanted, facts);
    case ASSAY_KNOB_QUANTIZE:
        return got->spec.quantize_scale == 1.0f ? ASSAY_FED_SCALE_MISSING
                                                : ASSAY_FED_SCALE_TWICE;
    case ASSAY_KNOB_LAYOUT: return ASSAY_FED_LAYOUT;
    case ASSAY_KNOB_MEMORY: return of_memory(got);
    case ASSAY_KNOB_SHIFT: return ASSAY_FED_PLANE;
    case ASSAY_KNOB_DTYPE:
    case ASSAY_KNOB_COUNT: break;
    }
    return got->held == ASSAY_F32 || assay_dtype_bytes(got->held) >= 4
               ? ASSAY_FED_DTYPE_FLOAT
               : ASSAY_FED_DTYPE;
}

/* ---- words ---------------------------------------------------------------- */

static const char *type_word(const struct assay_reading *r)
{
    switch (r->spec.type) {
    case ASSAY_IMAGE_NV12:
        if (!r->spec.widen)
            return r->planar ? "I420" : "NV12";
        return r->swap_chroma ? "YVU444 of NV12" : "YUV444 of NV12";
    case ASSAY_IMAGE_NV21:
        if (!r->spec.widen)
            return r->planar ? "YV12" : "NV21";
        return "YUV444 of NV21";
    case ASSAY_IMAGE_YUV444: return r->swap_chroma ? "YVU444" : "YUV444";
    case ASSAY_IMAGE_RGB: return "RGB";
    case ASSAY_IMAGE_BGR: return "BGR";
    case ASSAY_IMAGE_GRAY: return "gray";
    case ASSAY_IMAGE_TYPE_COUNT: break;
    }
    return "?";
}

static const char *turn_word(unsigned orientation)
{
    static const char *const words[] = {
        "as EXIF says",
        "as it is stored",
        "mirrored left-right",
        "turned by 180 degrees",
        "mirrored top-bottom",
        "transposed (rows for columns)",
        "turned clockwise",
        "transposed along the other diagonal",
        "turned counter-clockwise",
    };

    return words[orientation <= 8 ? orientation : 0];
}

static const char *arith_word(enum assay_colour_arith arith)
{
    switch (arith) {
    case ASSAY_COLOUR_INTEGER: return "8-bit integer weights";
    case ASSAY_COLOUR_REAL: return "the real formula, rounded to nearest";
    case ASSAY_COLOUR_OPENCV: return "OpenCV's fixed point";
    case ASSAY_COLOUR_OPENCV_YUV: return "OpenCV's COLOR_RGB2YUV (analog)";
    case ASSAY_COLOUR_ARITH_COUNT: break;
    }
    return "?";
}

static const char *down_word(enum assay_chroma_down down)
{
    switch (down) {
    case ASSAY_DOWN_MEAN: return "the mean of four pixels' chroma";
    case ASSAY_DOWN_FIRST: return "that of the upper left of four pixels";
    case ASSAY_DOWN_MEAN_RGB: return "that of the mean of four colours";
    case ASSAY_DOWN_COUNT: break;
    }
    return "?";
}

static const char *odd_word(enum assay_odd odd)
{
    switch (odd) {
    case ASSAY_ODD_REFUSE: return "nothing is made";
    case ASSAY_ODD_DOWN: return "the last row or column has no chroma";
    case ASSAY_ODD_UP: return "the last row or column has chroma of its own";
    case ASSAY_ODD_COUNT: break;
    }
    return "?";
}

/* Appends; what does not fit is left out. */
static void say(char *out, size_t cap, const char *fmt, ...) ASSAY_PRINTF(3, 4);
static void say(char *out, size_t cap, const char *fmt, ...)
{
    size_t n = strlen(out);
    va_list ap;

    va_start(ap, fmt);
    if (n < cap)
        vsnprintf(out + n, cap - n, fmt, ap);
    va_end(ap);
}

static void say_list(char *out, size_t cap, const float *v, uint32_t n)
{
    bool same = n == 3 && v[0] == v[1] && v[1] == v[2];

    if (same || n == 1) {
        say(out, cap, "%.4g", (double)v[0]);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        say(out, cap, "%s%.4g", i == 0 ? "[" : ",", (double)v[i]);
    say(out, cap, "]");
}

/* "divided by 255, (x - 128) * 0.0078125, twice"; "" for bytes as they are. */
static void say_values(char *out, size_t cap, const struct assay_image_spec *s)
{
    uint32_t n = assay_image_channels(s);
    bool mean = s->mean[0] != 0 || s->mean[1] != 0 || s->mean[2] != 0;
    bool scale = s->scale[0] != 1 || s->scale[1] != 1 || s->scale[2] != 1;

    if (s->divide > 0)
        say(out, cap, "divided by 255%s", s->divide > 1 ? " twice" : "");
    if (s->normalise == 0)
        return;
    say(out, cap, "%s", s->divide > 0 ? ", then normalised " : "normalised ");
    if (!mean && !scale)
        say(out, cap, "by nothing");
    else if (!mean || s->scale_first)
        say(out, cap, "x * ");
    else
        say(out, cap, "%s", scale ? "(x - " : "x - ");
    if (mean && !s->scale_first)
        say_list(out, cap, s->mean, n);
    if (mean && scale && !s->scale_first)
        say(out, cap, ") * ");
    if (scale)
        say_list(out, cap, s->scale, n);
    else if (mean && s->scale_first)
        say(out, cap, "1");
    if (mean && s->scale_first) {
        say(out, cap, " - ");
        say_list(out, cap, s->mean, n);
    }
    if (s->normalise > 1)
        say(out, cap, ", twice");
}

static void say_memory(char *out, size_t cap, const struct assay_reading *r)
{
    size_t unit = assay_dtype_bytes(r->held);

    switch (r->memory) {
    case ASSAY_MEMORY_DENSE: say(out, cap, "rows without gaps"); break;
    case ASSAY_MEMORY_PADDED:
        say(out, cap, "rows %zu bytes apart", r->stride * unit);
        break;
    case ASSAY_MEMORY_CUT:
        say(out, cap, "rows %zu bytes apart are read without gaps",
            r->stride * unit);
        break;
    case ASSAY_MEMORY_SHEARED:
        say(out, cap, "rows without gaps are read %zu bytes apart",
            r->stride * unit);
        break;
    }
}

const char *assay_knob_value(enum assay_knob knob,
                             const struct assay_reading *r, char *out,
                             size_t cap)
{
    const struct assay_image_spec *s = &r->spec;
    const char *word = "";

    out[0] = '\0';
    switch (knob) {
    case ASSAY_KNOB_SIZE: say(out, cap, "%ux%u", s->width, s->height); break;
    case ASSAY_KNOB_TURN:
        word = turn_word(r->turned_last > 0 ? r->turned_last : s->orientation);
        if (r->turned_last > 0)
            say(out, cap, "resized, then ");
        break;
    case ASSAY_KNOB_FIT: word = assay_fit_name(s->fit); break;
    case ASSAY_KNOB_FILTER: word = assay_filter_name(s->filter); break;
    case ASSAY_KNOB_PAD:
        if (s->pad[0] == s->pad[1] && s->pad[1] == s->pad[2])
            say(out, cap, "%u", s->pad[0]);
        else
            say(out, cap, "%u,%u,%u", s->pad[0], s->pad[1], s->pad[2]);
        break;
    case ASSAY_KNOB_FIRST:
        word = s->colour_first ? "after its colours were converted"
                               : "before its colours are converted";
        break;
    case ASSAY_KNOB_TYPE: word = type_word(r); break;
    case ASSAY_KNOB_RANGE:
        say(out, cap, "%s range", assay_range_name(s->colour.range));
        break;
    case ASSAY_KNOB_MATRIX:
        say(out, cap, "BT.%s", assay_matrix_name(s->colour.matrix));
        break;
    case ASSAY_KNOB_ARITH: word = arith_word(s->colour.arith); break;
    case ASSAY_KNOB_DOWN: word = down_word(s->down); break;
    case ASSAY_KNOB_UP:
        word = s->up == ASSAY_UP_BILINEAR ? "interpolated" : "repeated";
        break;
    case ASSAY_KNOB_ODD: word = odd_word(s->odd); break;
    case ASSAY_KNOB_CENTRE:
        word = s->centre == 0   ? "unsigned"
               : s->centre == 1 ? "minus 128"
                                : "minus 128 twice";
        break;
    case ASSAY_KNOB_VALUES:
        say_values(out, cap, s);
        word = out[0] == '\0' ? "0..255 as they are" : "";
        break;
    case ASSAY_KNOB_QUANTIZE:
        say(out, cap, "scale %.6g", (double)s->quantize_scale);
        break;
    case ASSAY_KNOB_LAYOUT: word = r->nchw ? "NCHW" : "NHWC"; break;
    case ASSAY_KNOB_MEMORY: say_memory(out, cap, r); break;
    case ASSAY_KNOB_SHIFT:
        word = r->chroma_shift == 0  ? "begins where it is"
               : r->chroma_shift > 0 ? "begins one byte too late"
                                     : "begins one byte too early";
        break;
    case ASSAY_KNOB_DTYPE: word = assay_dtype_name(r->held); break;
    case ASSAY_KNOB_COUNT: break;
    }
    if (word[0] != '\0')
        say(out, cap, "%s", word);
    return out;
}

/* What a value alone would not say. */
static const char *detail_word(enum assay_knob knob)
{
    switch (knob) {
    case ASSAY_KNOB_FILTER: return "resized with ";
    case ASSAY_KNOB_PAD: return "filled with ";
    case ASSAY_KNOB_FIRST: return "resized ";
    case ASSAY_KNOB_ARITH: return "colours by ";
    case ASSAY_KNOB_DOWN:
    case ASSAY_KNOB_UP:
    case ASSAY_KNOB_SHIFT: return "chroma ";
    default: return "";
    }
}

const char *assay_reading_text(const struct assay_reading *r,
                               const enum assay_knob *knobs, uint32_t n_knobs,
                               char *out, size_t cap)
{
    const struct assay_image_spec *s = &r->spec;
    bool planes = is_planes(s->type) && !s->widen;
    char one[160];

    snprintf(out, cap, "%s%s %s", type_word(r),
             planes || s->type == ASSAY_IMAGE_GRAY ? ""
             : r->nchw                             ? " NCHW"
                                                   : " NHWC",
             assay_dtype_name(r->held));
    if (s->type != ASSAY_IMAGE_RGB && s->type != ASSAY_IMAGE_BGR &&
        s->type != ASSAY_IMAGE_GRAY)
        say(out, cap, " %s",
            assay_knob_value(ASSAY_KNOB_RANGE, r, one, sizeof(one)));
    if (r->from_bgr)
        say(out, cap, " of swapped red and blue");
    if (s->centre > 0)
        say(out, cap, " %s",
            assay_knob_value(ASSAY_KNOB_CENTRE, r, one, sizeof(one)));
    if (s->divide > 0 || s->normalise > 0)
        say(out, cap, " %s",
            assay_knob_value(ASSAY_KNOB_VALUES, r, one, sizeof(one)));
    for (uint32_t i = 0; i < n_knobs; i++) {
        switch (knobs[i]) {
        case ASSAY_KNOB_TYPE:
        case ASSAY_KNOB_RANGE:
        case ASSAY_KNOB_CENTRE:
        case ASSAY_KNOB_VALUES:
        case ASSAY_KNOB_LAYOUT:
        case ASSAY_KNOB_DTYPE: continue;
        default: break;
        }
        say(out, cap, ", %s%s", detail_word(knobs[i]),
            assay_knob_value(knobs[i], r, one, sizeof(one)));
    }
    return out;
}

const char *assay_received_form(const struct assay_received_got *got, char *out,
                                size_t cap)
{
    snprintf(out, cap, "%s ", assay_dtype_name(got->dtype));
    if (got->rank == 0)
        say(out, cap, "of %zu bytes", got->bytes);
    for (uint32_t i = 0; i < got->rank; i++)
        say(out, cap, "%s%lld%s", i == 0 ? "[" : ",", (long long)got->dims[i],
            i + 1 == got->rank ? "]" : "");
    return out;
}
