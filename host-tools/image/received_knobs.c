/* SPDX-License-Identifier: Apache-2.0 */
/* Values of knobs and what they do; see received_knobs.h. */
#include "host-tools/image/received_knobs.h"

#include <string.h>

/* How values are scaled: knob VALUES. */
enum values {
    V_WANTED,
    V_NONE,
    V_ONCE,
    V_TWICE,
    V_DIVIDED,
    V_DIVIDED_TWICE,
    V_DIVIDED_ONCE,
    V_SCALE_FIRST,
    V_MEAN_ONLY,
    V_SCALE_ONLY,
    V_OTHER_ORDER,
    V_INVERSE,
    V_SOLVED,
};

/* Bytes behind a row: no vendor aligns to more. */
#define MOST_PADDING 256u
/* OpenCV's COLOR_RGB2YUV_I420 as one change: it differs in three things. */
#define ARITH_I420 16u
/* Turned behind the resizing: orientation + 8. */
#define TURN_LAST 8u
#define TYPE_WIDEN 16u
#define TYPE_SWAP 32u
#define TYPE_PLANAR 64u
#define TYPE_FROM_BGR 128u

static uint32_t type_value(enum assay_image_type type, bool widen, bool swap)
{
    return (uint32_t)type | (widen ? TYPE_WIDEN : 0) | (swap ? TYPE_SWAP : 0);
}

static bool is_yuv420(enum assay_image_type type)
{
    return type == ASSAY_IMAGE_NV12 || type == ASSAY_IMAGE_NV21;
}

static bool has_colour(enum assay_image_type type)
{
    return type != ASSAY_IMAGE_RGB && type != ASSAY_IMAGE_BGR;
}

static enum assay_dtype dtype_of(const struct assay_image_spec *s)
{
    if (s->dtype != ASSAY_IMAGE_NO_DTYPE)
        return s->dtype;
    if (s->divide > 0 || s->normalise > 0)
        return ASSAY_F32;
    return s->centre > 0 ? ASSAY_S8 : ASSAY_U8;
}

static uint64_t stride_of(const struct assay_image_spec *s,
                          const struct assay_reading *r)
{
    struct assay_form f;
    size_t unit = assay_dtype_bytes(r->dtype);

    if (!assay_reading_shape(&f, r) || unit == 0)
        return 0;
    if (s->stride > 0)
        return s->stride / unit > f.row ? s->stride / unit : 0;
    if (s->align > 1 && f.row * unit % s->align != 0)
        return ((f.row * unit + s->align - 1) / s->align * s->align) / unit;
    return 0;
}

void assay_reading_settle(struct assay_reading *r, bool memory_turned,
                          const struct assay_knob_facts *f)
{
    r->dtype = dtype_of(&r->spec);
    if (memory_turned || f->wanted->spec.stride > 0)
        return;
    r->stride = (size_t)stride_of(&f->wanted->spec, r);
    r->memory = r->stride > 0 ? ASSAY_MEMORY_PADDED : ASSAY_MEMORY_DENSE;
}

void assay_reading_wanted(struct assay_reading *out,
                          const struct assay_knob_facts *f)
{
    const struct assay_image_spec *s = &f->wanted->spec;

    *out = (struct assay_reading){.spec = *s, .nchw = s->nchw};
    if (s->orientation == 0)
        out->spec.orientation = f->picture->orientation;
    out->spec.nchw = false;
    out->spec.stride = out->spec.align = 0;
    out->dtype = dtype_of(s);
    out->stride = (size_t)stride_of(s, out);
    out->memory = out->stride > 0 ? ASSAY_MEMORY_PADDED : ASSAY_MEMORY_DENSE;
    out->held = f->got->dtype;
}

/* ---- lists ---------------------------------------------------------------- */

static void add(struct assay_knobs *k, enum assay_knob knob, uint32_t value)
{
    for (uint32_t i = 0; i < k->n[knob]; i++) {
        if (k->v[knob][i] == value)
            return;
    }
    if (k->n[knob] < ASSAY_KNOB_VALUES_MAX)
        k->v[knob][k->n[knob]++] = value;
}

static void add_all(struct assay_knobs *k, enum assay_knob knob,
                    uint32_t wanted, uint32_t count)
{
    add(k, knob, wanted);
    for (uint32_t i = 0; i < count; i++)
        add(k, knob, i);
}

static uint32_t size_value(uint64_t width, uint64_t height)
{
    if (width < 1 || height < 1 || width > ASSAY_PICTURE_MAX_SIDE ||
        height > ASSAY_PICTURE_MAX_SIDE)
        return 0;
    return (uint32_t)width << 16 | (uint32_t)height;
}

static void add_size(struct assay_knobs *k, int64_t width, int64_t height)
{
    uint32_t v = width > 0 && height > 0
                     ? size_value((uint64_t)width, (uint64_t)height)
                     : 0;

    if (v != 0)
        add(k, ASSAY_KNOB_SIZE, v);
}

/* Sizes that the shape of the tensor tells, and those that people mistake. */
static void size_values(struct assay_knobs *k, const struct assay_knob_facts *f)
{
    const struct assay_image_spec *s = &f->wanted->spec;
    const int64_t *d = f->got->dims;
    uint32_t rank = f->got->rank;

    add_size(k, s->width, s->height);
    add_size(k, s->height, s->width);
    add_size(k, f->picture->width, f->picture->height);
    add_size(k, f->picture->height, f->picture->width);
    while (rank > 2 && d[0] == 1) {
        d++;
        rank--;
    }
    if (rank == 3 && (d[2] == 3 || d[2] == 1))
        add_size(k, d[1], d[0]);
    if (rank == 3 && d[0] == 3)
        add_size(k, d[2], d[1]);
    if (rank == 2 && d[0] % 3 == 0)
        add_size(k, d[1], d[0] / 3 * 2);
    if (rank == 2)
        add_size(k, d[1], d[0]);
}

static void type_values(struct assay_knobs *k, const struct assay_image_spec *s)
{
    static const uint32_t others[] = {
        ASSAY_IMAGE_NV12,
        ASSAY_IMAGE_NV21,
        ASSAY_IMAGE_RGB,
        ASSAY_IMAGE_BGR,
        ASSAY_IMAGE_YUV444,
        ASSAY_IMAGE_YUV444 | TYPE_SWAP,
        ASSAY_IMAGE_NV12 | TYPE_WIDEN,
        ASSAY_IMAGE_NV12 | TYPE_WIDEN | TYPE_SWAP,
        ASSAY_IMAGE_GRAY,
        ASSAY_IMAGE_NV12 | TYPE_PLANAR,
        ASSAY_IMAGE_NV21 | TYPE_PLANAR,
    };
    uint32_t wanted =
        type_value(s->type, s->widen && is_yuv420(s->type), false);

    add(k, ASSAY_KNOB_TYPE, wanted);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        add(k, ASSAY_KNOB_TYPE, others[i]);
    if (has_colour(s->type))
        add(k, ASSAY_KNOB_TYPE, wanted | TYPE_FROM_BGR);
}

static bool same_values(const struct assay_image_spec *a,
                        const struct assay_image_spec *b)
{
    return a->divide == b->divide && a->normalise == b->normalise &&
           (a->normalise == 0 ||
            (a->scale_first == b->scale_first &&
             memcmp(a->mean, b->mean, sizeof(a->mean)) == 0 &&
             memcmp(a->scale, b->scale, sizeof(a->scale)) == 0));
}

static bool is_identity(const struct assay_image_spec *s)
{
    for (int i = 0; i < 3; i++) {
        if (s->mean[i] != 0.0f || s->scale[i] != 1.0f)
            return false;
    }
    return true;
}

/* Ways to scale that differ from what is wanted and from each other. */
static void value_values(struct assay_knobs *k,
                         const struct assay_knob_facts *f)
{
    struct assay_image_spec made[ASSAY_KNOB_VALUES_MAX];
    uint32_t n = 1;

    made[0] = f->wanted->spec;
    add(k, ASSAY_KNOB_VALUES, V_WANTED);
    for (uint32_t v = V_NONE; v < V_SOLVED; v++) {
        struct assay_reading r = {.spec = f->wanted->spec};
        bool there = false;

        assay_knob_turn(&r, ASSAY_KNOB_VALUES, v, f);
        /* A mean of 0 and a scale of 1 are no way to normalise. */
        there = r.spec.normalise > 0 && is_identity(&r.spec);
        for (uint32_t i = 0; i < n; i++)
            there = there || same_values(&made[i], &r.spec);
        if (there)
            continue;
        made[n++] = r.spec;
        add(k, ASSAY_KNOB_VALUES, v);
    }
    if (f->got->dtype == ASSAY_F32)
        add(k, ASSAY_KNOB_VALUES, V_SOLVED);
}

static uint32_t memory_value(enum assay_memory memory, uint64_t stride)
{
    return stride < (1u << 24) ? (uint32_t)memory << 24 | (uint32_t)stride : 0;
}

/* Strides of one form: whatever the number of elements tells, and alignments
 * that the vendors have. */
static void memory_values(struct assay_knobs *k,
                          const struct assay_knob_facts *f,
                          const struct assay_reading *r)
{
    static const uint32_t aligns[] = {16, 32, 64};
    uint64_t unit = assay_dtype_bytes(f->got->dtype);
    struct assay_form form;

    if (!assay_reading_shape(&form, r) || unit == 0)
        return;
    if (f->elements % form.rows == 0 && f->elements / form.rows > form.row &&
        (f->elements / form.rows - form.row) * unit < MOST_PADDING)
        add(k, ASSAY_KNOB_MEMORY,
            memory_value(ASSAY_MEMORY_PADDED, f->elements / form.rows));
    if (f->elements != form.rows * form.row)
        return;
    for (size_t i = 0; i < sizeof(aligns) / sizeof(aligns[0]); i++) {
        uint64_t bytes =
            (form.row * unit + aligns[i] - 1) / aligns[i] * aligns[i];

        if (bytes == form.row * unit || bytes % unit != 0)
            continue;
        add(k, ASSAY_KNOB_MEMORY, memory_value(ASSAY_MEMORY_CUT, bytes / unit));
        add(k, ASSAY_KNOB_MEMORY,
            memory_value(ASSAY_MEMORY_SHEARED, bytes / unit));
    }
}

/* Turns the knobs that the form hangs on. way: bit 0 the layout, bit 1 what
 * an odd side means. */
#define WAYS 4u
static struct assay_reading formed(const struct assay_knobs *k,
                                   const struct assay_knob_facts *f,
                                   uint32_t size, uint32_t type, uint32_t way)
{
    struct assay_reading r;

    assay_reading_wanted(&r, f);
    assay_knob_turn(&r, ASSAY_KNOB_SIZE, k->v[ASSAY_KNOB_SIZE][size], f);
    assay_knob_turn(&r, ASSAY_KNOB_TYPE, k->v[ASSAY_KNOB_TYPE][type], f);
    r.spec.odd = (way & 2) != 0 ? ASSAY_ODD_DOWN : ASSAY_ODD_UP;
    r.nchw = (way & 1) != 0;
    return r;
}

/* Which values of size, type and memory go with the number of elements. */
static void fit_form(struct assay_knobs *k, const struct assay_knob_facts *f)
{
    bool size_fits = false, type_fits = false, memory_fits = false;

    for (uint32_t s = 0; s < k->n[ASSAY_KNOB_SIZE]; s++)
        for (uint32_t t = 0; t < k->n[ASSAY_KNOB_TYPE]; t++)
            for (uint32_t way = 0; way < WAYS; way++) {
                struct assay_reading r = formed(k, f, s, t, way);

                memory_values(k, f, &r);
            }
    for (uint32_t s = 0; s < k->n[ASSAY_KNOB_SIZE]; s++)
        for (uint32_t t = 0; t < k->n[ASSAY_KNOB_TYPE]; t++)
            for (uint32_t i = 0; i < WAYS * k->n[ASSAY_KNOB_MEMORY]; i++) {
                struct assay_reading r = formed(k, f, s, t, i % WAYS);
                uint32_t m = i / WAYS;

                if (m > 0)
                    assay_knob_turn(&r, ASSAY_KNOB_MEMORY,
                                    k->v[ASSAY_KNOB_MEMORY][m], f);
                assay_reading_settle(&r, m > 0, f);
                if (!assay_reading_fits(&r, f->elements))
                    continue;
                size_fits = size_fits || s == 0;
                type_fits = type_fits || t == 0;
                memory_fits = memory_fits || m == 0;
            }
    k->forced[ASSAY_KNOB_SIZE] = !size_fits;
    k->forced[ASSAY_KNOB_TYPE] = !type_fits;
    k->forced[ASSAY_KNOB_MEMORY] = !memory_fits;
}

void assay_knobs_init(struct assay_knobs *k, const struct assay_knob_facts *f)
{
    static const uint8_t pads[] = {0, 114, 127, 128, 255};
    struct assay_reading w;
    const struct assay_image_spec *s = &w.spec;

    memset(k, 0, sizeof(*k));
    assay_reading_wanted(&w, f);
    size_values(k, f);
    add(k, ASSAY_KNOB_TURN, s->orientation);
    for (uint32_t i = 1; i <= 8; i++)
        add(k, ASSAY_KNOB_TURN, i);
    /* What mirrors gives the same on both sides of a resizing. */
    add(k, ASSAY_KNOB_TURN, TURN_LAST + 6);
    add(k, ASSAY_KNOB_TURN, TURN_LAST + 8);
    add_all(k, ASSAY_KNOB_FIT, s->fit, ASSAY_FIT_COUNT);
    add_all(k, ASSAY_KNOB_FILTER, s->filter, ASSAY_FILTER_COUNT);
    /* What is wanted may have a pad of three values: it is never turned to. */
    add(k, ASSAY_KNOB_PAD,
        s->pad[0] == s->pad[1] && s->pad[1] == s->pad[2] ? s->pad[0] : 256);
    for (size_t i = 0; i < sizeof(pads); i++)
        add(k, ASSAY_KNOB_PAD, pads[i]);
    add_all(k, ASSAY_KNOB_FIRST, s->colour_first, 2);
    type_values(k, s);
    add_all(k, ASSAY_KNOB_RANGE, s->colour.range, ASSAY_RANGE_COUNT);
    add_all(k, ASSAY_KNOB_MATRIX, s->colour.matrix, ASSAY_MATRIX_COUNT);
    add_all(k, ASSAY_KNOB_ARITH, s->colour.arith, ASSAY_COLOUR_ARITH_COUNT);
    add(k, ASSAY_KNOB_ARITH, ARITH_I420);
    add_all(k, ASSAY_KNOB_DOWN, s->down, ASSAY_DOWN_COUNT);
    add_all(k, ASSAY_KNOB_UP, s->up, ASSAY_UP_COUNT);
    add_all(k, ASSAY_KNOB_ODD, s->odd, ASSAY_ODD_COUNT);
    add_all(k, ASSAY_KNOB_CENTRE, s->centre, 3);
    value_values(k, f);
    add(k, ASSAY_KNOB_QUANTIZE, 1);
    add(k, ASSAY_KNOB_QUANTIZE, 0);
    add(k, ASSAY_KNOB_QUANTIZE, 2);
    add_all(k, ASSAY_KNOB_LAYOUT, w.nchw, 2);
    add(k, ASSAY_KNOB_MEMORY, memory_value(w.memory, w.stride));
    add(k, ASSAY_KNOB_MEMORY, 0);
    add_all(k, ASSAY_KNOB_SHIFT, 0, 3);
    k->n[ASSAY_KNOB_DTYPE] = 1;
    fit_form(k, f);
}

/* ---- turning -------------------------------------------------------------- */

static void turn_values(struct assay_reading *r, uint32_t value,
                        const struct assay_image_spec *w)
{
    struct assay_image_spec *s = &r->spec;

    if (value == V_WANTED)
        return;
    s->divide = 0;
    s->normalise =
        value == V_NONE || value == V_DIVIDED || value == V_DIVIDED_TWICE ? 0
                                                                          : 1;
    switch ((enum values)value) {
    case V_TWICE: s->normalise = 2; break;
    case V_DIVIDED: s->divide = 1; break;
    case V_DIVIDED_TWICE: s->divide = 2; break;
    case V_DIVIDED_ONCE: s->divide = 1; break;
    case V_SCALE_FIRST: s->scale_first = !w->scale_first; break;
    case V_MEAN_ONLY:
        for (int i = 0; i < 3; i++)
            s->scale[i] = 1.0f;
        break;
    case V_SCALE_ONLY: memset(s->mean, 0, sizeof(s->mean)); break;
    case V_OTHER_ORDER:
        for (int i = 0; i < 3; i++) {
            s->mean[i] = w->mean[2 - i];
            s->scale[i] = w->scale[2 - i];
        }
        break;
    case V_INVERSE:
        for (int i = 0; i < 3; i++)
            s->scale[i] = w->scale[i] != 0.0f ? 1.0f / w->scale[i] : 1.0f;
        break;
    case V_SOLVED: r->solved = true; break;
    case V_WANTED:
    case V_NONE:
    case V_ONCE: break;
    }
}

static void turn_quantize(struct assay_reading *r, uint32_t times,
                          const struct assay_image_spec *w)
{
    if (times == 0)
        r->spec.quantize_scale = 1.0f;
    else if (times == 2)
        r->spec.quantize_scale = w->quantize_scale * w->quantize_scale;
}

void assay_knob_turn(struct assay_reading *r, enum assay_knob knob,
                     uint32_t value, const struct assay_knob_facts *f)
{
    struct assay_image_spec *s = &r->spec;

    switch (knob) {
    case ASSAY_KNOB_SIZE:
        s->width = value >> 16;
        s->height = value & 0xffff;
        break;
    case ASSAY_KNOB_TURN:
        if (value > TURN_LAST)
            r->turned_last = (uint8_t)(value - TURN_LAST);
        else
            s->orientation = (uint8_t)value;
        break;
    case ASSAY_KNOB_FIT: s->fit = (enum assay_fit)value; break;
    case ASSAY_KNOB_FILTER: s->filter = (enum assay_filter)value; break;
    case ASSAY_KNOB_PAD:
        if (value < 256)
            memset(s->pad, (int)value, sizeof(s->pad));
        break;
    case ASSAY_KNOB_FIRST: s->colour_first = value != 0; break;
    case ASSAY_KNOB_TYPE:
        s->type = (enum assay_image_type)(value & (TYPE_WIDEN - 1));
        s->widen = (value & TYPE_WIDEN) != 0;
        r->swap_chroma = (value & TYPE_SWAP) != 0;
        r->planar = (value & TYPE_PLANAR) != 0;
        r->from_bgr = (value & TYPE_FROM_BGR) != 0;
        break;
    case ASSAY_KNOB_RANGE: s->colour.range = (enum assay_range)value; break;
    case ASSAY_KNOB_MATRIX: s->colour.matrix = (enum assay_matrix)value; break;
    case ASSAY_KNOB_ARITH:
        s->colour.arith = value == ARITH_I420 ? ASSAY_COLOUR_OPENCV
                                              : (enum assay_colour_arith)value;
        if (value != ARITH_I420)
            break;
        s->colour.range = ASSAY_RANGE_STUDIO;
        s->down = ASSAY_DOWN_FIRST;
        break;
    case ASSAY_KNOB_DOWN: s->down = (enum assay_chroma_down)value; break;
    case ASSAY_KNOB_UP: s->up = (enum assay_chroma_up)value; break;
    case ASSAY_KNOB_ODD: s->odd = (enum assay_odd)value; break;
    case ASSAY_KNOB_CENTRE: s->centre = (uint8_t)value; break;
    case ASSAY_KNOB_VALUES: turn_values(r, value, &f->wanted->spec); break;
    case ASSAY_KNOB_QUANTIZE: turn_quantize(r, value, &f->wanted->spec); break;
    case ASSAY_KNOB_LAYOUT: r->nchw = value != 0; break;
    case ASSAY_KNOB_MEMORY:
        r->memory = (enum assay_memory)(value >> 24);
        r->stride = value & 0xffffff;
        break;
    case ASSAY_KNOB_SHIFT:
        r->chroma_shift = value == 2 ? -1 : (int)value;
        break;
    case ASSAY_KNOB_DTYPE:
    case ASSAY_KNOB_COUNT: break;
    }
}

/* ---- what matters --------------------------------------------------------- */

static bool is_resized(const struct assay_reading *r,
                       const struct assay_picture *p)
{
    bool on_side = (r->spec.orientation >= 5) != (r->turned_last >= 5);
    uint32_t w = on_side ? p->height : p->width;
    uint32_t h = on_side ? p->width : p->height;

    return r->spec.width != w || r->spec.height != h;
}

/* Has the picture other proportions than the model's input? */
static bool is_odd_shape(const struct assay_reading *r,
                         const struct assay_picture *p)
{
    bool on_side = (r->spec.orientation >= 5) != (r->turned_last >= 5);
    uint64_t w = on_side ? p->height : p->width;
    uint64_t h = on_side ? p->width : p->height;

    return w * r->spec.height != h * r->spec.width;
}

bool assay_knob_matters(enum assay_knob knob, const struct assay_reading *r,
                        const struct assay_knob_facts *f)
{
    const struct assay_image_spec *s = &r->spec;
    bool subsampled = is_yuv420(s->type);
    bool analog = s->colour.arith == ASSAY_COLOUR_OPENCV_YUV;
    bool boxed =
        s->fit == ASSAY_FIT_LETTERBOX || s->fit == ASSAY_FIT_LETTERBOX_TL;

    switch (knob) {
    case ASSAY_KNOB_FIT: return is_odd_shape(r, f->picture);
    case ASSAY_KNOB_FILTER: return is_resized(r, f->picture);
    case ASSAY_KNOB_PAD: return boxed && is_odd_shape(r, f->picture);
    case ASSAY_KNOB_FIRST:
        return has_colour(s->type) && is_resized(r, f->picture);
    case ASSAY_KNOB_RANGE: return has_colour(s->type) && !analog;
    case ASSAY_KNOB_MATRIX:
        /* OpenCV has BT.601 alone. */
        return has_colour(s->type) && !analog &&
               s->colour.arith != ASSAY_COLOUR_OPENCV;
    case ASSAY_KNOB_ARITH: return has_colour(s->type);
    case ASSAY_KNOB_DOWN: return subsampled;
    case ASSAY_KNOB_UP: return subsampled && s->widen;
    case ASSAY_KNOB_ODD:
        return subsampled && (s->width % 2 != 0 || s->height % 2 != 0);
    case ASSAY_KNOB_QUANTIZE:
        return s->dtype != ASSAY_IMAGE_NO_DTYPE &&
               f->wanted->spec.quantize_scale != 1.0f;
    case ASSAY_KNOB_LAYOUT: return !subsampled || s->widen;
    case ASSAY_KNOB_SHIFT: return subsampled && !s->widen && !r->planar;
    case ASSAY_KNOB_CENTRE:
        /* Twice in 8 bits is not at all. */
        return s->centre != 2 || f->wanted->spec.centre != 0 ||
               assay_dtype_bytes(r->dtype) != 1;
    case ASSAY_KNOB_TURN:
        return r->turned_last == 0 ||
               (is_resized(r, f->picture) && !s->colour_first);
    case ASSAY_KNOB_SIZE:
    case ASSAY_KNOB_TYPE:
    case ASSAY_KNOB_VALUES:
    case ASSAY_KNOB_MEMORY:
    case ASSAY_KNOB_DTYPE:
    case ASSAY_KNOB_COUNT: break;
    }
    return true;
}
