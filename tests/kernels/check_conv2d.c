/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_x8w8, dwconv2d_x8w8, conv2d_x16w8. */
#include "tests/kernels/kcheck.h"

#include <stdlib.h>
#include <string.h>

/* A case: parameters and the buffers that they borrow. */
struct conv_case {
    struct assay_conv2d p;
    struct kc_buf x, second;
    struct kc_program program;
    void *weights;
    int32_t *w_zero, *bias;
    size_t y_bytes;
    int64_t dims[4];
};

static int64_t limit_lo(enum assay_dtype t)
{
    return t == ASSAY_S8 ? -128 : t == ASSAY_U8 ? 0 : -32768;
}

static int64_t limit_hi(enum assay_dtype t)
{
    return t == ASSAY_S8 ? 127 : t == ASSAY_U8 ? 255 : 32767;
}

static int32_t draw_zero(struct kc *k, enum assay_dtype t)
{
    int64_t lo = limit_lo(t), hi = limit_hi(t);

    switch (kc_range(k, 0, 5)) {
    case 0: return (int32_t)lo;
    case 1: return (int32_t)hi;
    case 2: return 0;
    default: return (int32_t)kc_range(k, lo, hi);
    }
}

/* Weights, zero points, bias; then the input. */
static void fill_case(struct kc *k, struct conv_case *c)
{
    struct assay_conv2d *p = &c->p;
    size_t oc = (size_t)p->oc, symmetric = (size_t)kc_chance(k, 60);
    size_t n_w =
        oc * (size_t)p->kh * (size_t)p->kw * (size_t)(p->c / p->groups);
    size_t n_x = (size_t)p->n * (size_t)p->h * (size_t)p->w * (size_t)p->c;
    size_t x_size = assay_dtype_size(p->x_dtype);
    int8_t *w = c->weights = kc_alloc(n_w);
    bool far = kc_chance(k, 10), least = kc_chance(k, 6);

    kc_fill(k, p->w_dtype, w, n_w);
    if (kc_chance(k, 60)) /* no -128: the paths that rely on it */
        for (size_t i = 0; i < n_w; i++)
            if (w[i] == (p->w_dtype == ASSAY_S8 ? -128 : 0))
                w[i]++;
    c->w_zero = kc_alloc(oc * sizeof(*c->w_zero));
    c->bias = kc_alloc(oc * sizeof(*c->bias));
    for (size_t i = 0; i < oc; i++) {
        c->w_zero[i] = symmetric ? (p->w_dtype == ASSAY_U8 ? 128 : 0)
                                 : draw_zero(k, p->w_dtype);
        c->bias[i] = (int32_t)kc_range(k, far ? INT32_MIN : -60000,
                                       far ? INT32_MAX : 60000);
        if (far && kc_chance(k, 50)) /* sums that wrap */
            c->bias[i] = kc_chance(k, 50) ? INT32_MAX : INT32_MIN;
    }
    p->x_zero = p->x_dtype == ASSAY_S16 ? 0 : draw_zero(k, p->x_dtype);
    c->x = kc_buf_wall(n_x * x_size);
    kc_fill(k, p->x_dtype, c->x.data, n_x);
    if (least) { /* the largest product, everywhere */
        memset(w, p->w_dtype == ASSAY_S8 ? 0x80 : 0, n_w);
        if (p->x_dtype != ASSAY_S16)
            memset(c->x.data, p->x_dtype == ASSAY_S8 ? 0x80 : 0, n_x);
    }
    p->weights = w;
    p->w_zero = c->w_zero;
    p->bias = kc_chance(k, 85) ? c->bias : NULL;
}

/* wrap 32 in front: then it may be any program of an int32. */
static void wrap_first(struct kc_program *to)
{
    struct assay_step *s = to->p.steps;

    memmove(s + 1, s, to->p.n_steps++ * sizeof(*s));
    s[0] = (struct assay_step){.kind = ASSAY_STEP_WRAP, .bits = 32};
}

/* The program and what follows from it. */
static void program_case(struct kc *k, struct conv_case *c, unsigned which)
{
    struct assay_conv2d *p = &c->p;
    static const enum assay_dtype outs[] = {ASSAY_S8, ASSAY_U8, ASSAY_S16,
                                            ASSAY_F32, ASSAY_S32};
    size_t n_y = (size_t)p->n * (size_t)p->oh * (size_t)p->ow * (size_t)p->oc;
    bool with_input = false, wrap = false;

    p->y_dtype = outs[kc_chance(k, 90) ? kc_range(k, 0, 1) : 2];
    if (p->x_dtype == ASSAY_S16) {
        p->y_dtype = kc_chance(k, 50) ? ASSAY_S16 : ASSAY_S8;
        wrap = which <= 9;
        if (which < KC_HZ_FIRST && !wrap)
            which = 12 + which % 3; /* takes any int64 */
        if (which == KC_HZ_HIGH)
            which++;
        wrap = wrap || which >= KC_RULE; /* stays what it is */
        if (!wrap && kc_chance(k, 50))   /* the sum wraps: what vectors take */
            which = KC_HZ_FIRST + (unsigned)kc_range(k, 2, 4);
        else if (!wrap && kc_chance(k, 20))
            which = KC_HZ_HIGH + (unsigned)kc_range(k, 1, 2);
        else if (!wrap && kc_chance(k, 30))
            which = KC_POLICIES; /* random */
    }
    if (which < KC_POLICIES) {
        kc_policy(k, &c->program, which, (size_t)p->oc, kc_chance(k, 70),
                  &p->y_dtype);
        with_input = kc_policy_takes_input(which);
        if (wrap && which < KC_RULE)
            wrap_first(&c->program);
    } else {
        int64_t bound = p->x_dtype == ASSAY_S16 ? (int64_t)1 << 44 : INT32_MAX;

        p->y_dtype = outs[kc_range(k, 0, 4)];
        with_input = kc_chance(k, 30);
        kc_random_program(k, &c->program, (size_t)p->oc, false, -bound - 1,
                          bound, p->y_dtype, with_input);
    }
    p->program = &c->program.p;
    if (with_input) {
        static const enum assay_dtype seconds[] = {ASSAY_S8, ASSAY_U8,
                                                   ASSAY_S16, ASSAY_S32};

        p->second_dtype = seconds[kc_range(k, 0, 3)];
        c->second = kc_buf_wall(n_y * assay_dtype_size(p->second_dtype));
        kc_fill(k, p->second_dtype, c->second.data, n_y);
        p->second = c->second.data;
    }
    c->y_bytes = n_y * assay_dtype_size(p->y_dtype);
    c->dims[0] = p->n;
    c->dims[1] = p->oh;
    c->dims[2] = p->ow;
    c->dims[3] = p->oc;
    snprintf(k->text, sizeof(k->text),
             "n%d %dx%dx%d -> %dx%dx%d k%dx%d s%d,%d d%d,%d p%d,%d g%d "
             "x%d w%d y%d xz%d %s",
             p->n, p->h, p->w, p->c, p->oh, p->ow, p->oc, p->kh, p->kw,
             p->stride_h, p->stride_w, p->dilation_h, p->dilation_w, p->pad_top,
             p->pad_left, p->groups, p->x_dtype, p->w_dtype, p->y_dtype,
             p->x_zero, c->program.name);
}

static void free_case(struct conv_case *c)
{
    kc_buf_free(&c->x);
    kc_buf_free(&c->second);
    kc_program_free(&c->program);
    free(c->weights);
    free(c->w_zero);
    free(c->bias);
}

/* One kernel over the case into y. False when a guard band was hurt. */
static bool run_kernel(struct kc *k, const struct conv_case *c,
                       const struct assay_conv2d_kernel *kernel,
                       struct kc_buf *y)
{
    const struct assay_conv2d *p = &c->p;
    size_t mis =
        assay_dtype_size(p->y_dtype) == 1 ? (size_t)kc_range(k, 0, 15) : 0;
    struct kc_buf packed = kc_buf_new(kernel->packed_size(p), 0);
    struct kc_buf scratch = kc_buf_new(kernel->scratch_size(p), 0);
    bool ok;

    *y = kc_buf_new(c->y_bytes, mis);
    kernel->pack(p, packed.data);
    kernel->run(p, packed.data, c->x.data, y->data, scratch.data);
    ok = kc_buf_intact(k, y, kernel->name, "output") &&
         kc_buf_intact(k, &packed, kernel->name, "packed weights") &&
         kc_buf_intact(k, &scratch, kernel->name, "scratch");
    kc_buf_free(&packed);
    kc_buf_free(&scratch);
    return ok;
}

/* The scalar kernel against the definition, the others against the scalar. */
static void judge_case(struct kc *k, const struct conv_case *c,
                       const struct assay_conv2d_kernel *const *column,
                       bool naive)
{
    const struct assay_conv2d *p = &c->p;
    const struct assay_conv2d_kernel *ref = column[ASSAY_ISA_REF];
    struct kc_buf expected;

    if (!ref->supports(p))
        return;
    if (!run_kernel(k, c, ref, &expected))
        goto out;
    if (naive && kc_wants(k, ref->name)) {
        struct kc_buf direct = kc_buf_new(c->y_bytes, 0);

        kc_naive_conv2d(p, c->x.data, direct.data);
        kc_judge(k, ref->name, p->y_dtype, direct.data, expected.data, c->dims);
        kc_buf_free(&direct);
    }
    for (int i = ASSAY_ISA_REF + 1; i < ASSAY_ISA_COUNT; i++) {
        struct kc_buf got;

        if (!column[i] || !column[i]->supports(p) ||
            !kc_wants(k, column[i]->name))
            continue;
        if (run_kernel(k, c, column[i], &got))
            kc_judge(k, column[i]->name, p->y_dtype, expected.data, got.data,
                     c->dims);
        kc_buf_free(&got);
    }
out:
    kc_buf_free(&expected);
}

static int32_t out_size(int32_t in, int32_t pad, int32_t kernel, int32_t d,
                        int32_t s)
{
    int32_t room = in + pad - d * (kernel - 1) - 1;

    return room < 0 ? 1 : room / s + 1;
}

/* Geometry; the sums of pads (begin, end) are drawn apart. */
static void draw_shape(struct kc *k, struct assay_conv2d *p, bool depthwise)
{
    int32_t edge = kc_chance(k, 15) ? 1 : (int32_t)kc_range(k, 1, 11);
    int32_t pads;

    p->n = kc_chance(k, 15) ? 2 : 1;
    p->h = edge;
    p->w = kc_chance(k, 50) ? edge : (int32_t)kc_range(k, 1, 17);
    p->kh = (int32_t)kc_range(k, 1, kc_chance(k, 20) ? 5 : 3);
    p->kw = kc_chance(k, 70) ? p->kh : (int32_t)kc_range(k, 1, 5);
    if (kc_chance(k, 30))
        p->kh = p->kw = kc_chance(k, 50) ? 1 : 3;
    p->stride_h = (int32_t)kc_range(k, 1, 3);
    p->stride_w = kc_chance(k, 70) ? p->stride_h : (int32_t)kc_range(k, 1, 3);
    p->dilation_h = kc_chance(k, 80) ? 1 : (int32_t)kc_range(k, 2, 3);
    p->dilation_w = kc_chance(k, 80) ? 1 : (int32_t)kc_range(k, 2, 3);
    p->pad_top = (int32_t)kc_range(k, 0, 2);
    p->pad_left = (int32_t)kc_range(k, 0, 2);
    pads = p->pad_top + (int32_t)kc_range(k, 0, 2);
    p->oh = out_size(p->h, pads, p->kh, p->dilation_h, p->stride_h);
    pads = p->pad_left + (int32_t)kc_range(k, 0, 2);
    p->ow = out_size(p->w, pads, p->kw, p->dilation_w, p->stride_w);
    p->c = (int32_t)kc_range(k, 1, kc_chance(k, 30) ? 70 : 20);
    p->oc = (int32_t)kc_range(k, 1, kc_chance(k, 30) ? 40 : 17);
    p->groups = 1;
    if (depthwise) {
        p->groups = p->c;
        p->oc = kc_chance(k, 80) ? p->c : p->c * (int32_t)kc_range(k, 2, 3);
    } else if (kc_chance(k, 15)) {
        p->groups = (int32_t)kc_range(k, 2, 4);
        p->c = p->groups * (int32_t)kc_range(k, 1, 9);
        p->oc = p->groups * (int32_t)kc_range(k, 1, 9);
    }
}

/* Tails of the tiles, one after the other: pixels 1..17, channels 1..17. */
static void tail_shape(struct assay_conv2d *p, int64_t i, bool depthwise)
{
    p->n = p->h = p->kh = p->kw = p->oh = 1;
    p->stride_h = p->stride_w = p->dilation_h = p->dilation_w = 1;
    p->pad_top = p->pad_left = 0;
    p->w = p->ow = (int32_t)(i % 17) + 1;
    p->oc = (int32_t)(i / 17 % 17) + 1;
    p->c = (int32_t)(i * 7 % 33) + 1;
    p->groups = 1;
    if (depthwise)
        p->groups = p->c = p->oc = (int32_t)(i % 35) + 1;
}

/* Steps of 2^30 from pad to pad: only the middle window meets the image. */
static void far_shape(struct assay_conv2d *p, int64_t i, bool depthwise)
{
    tail_shape(p, i, depthwise);
    p->n = 1 + (int32_t)(i % 2);
    p->w = p->kh = p->kw = 2;
    p->oh = p->ow = 3;
    p->stride_h = p->stride_w = p->pad_top = p->pad_left = 1 << 30;
    p->dilation_h = p->dilation_w = i % 3 ? 1 : 1 << 30;
}

typedef void shape_fn(struct assay_conv2d *p, int64_t i, bool depthwise);

/* shape: NULL draws one. */
static void one_case(struct kc *k, const char *check, int64_t i,
                     const struct assay_conv2d_kernel *const *column,
                     bool depthwise, bool wide, shape_fn *shape)
{
    struct conv_case c;

    if (!kc_case(k, check, i))
        return;
    memset(&c, 0, sizeof(c));
    if (shape)
        shape(&c.p, i, depthwise);
    else
        draw_shape(k, &c.p, depthwise);
    c.p.x_dtype = wide ? ASSAY_S16 : kc_chance(k, 50) ? ASSAY_S8 : ASSAY_U8;
    c.p.w_dtype = kc_chance(k, 65) ? ASSAY_S8 : ASSAY_U8;
    fill_case(k, &c);
    program_case(k, &c, (unsigned)kc_range(k, 0, KC_POLICIES));
    judge_case(k, &c, column, true);
    free_case(&c);
}

/* The same with a program that a rule may write. */
static void rule_case(struct kc *k, const char *check, int64_t i,
                      const struct assay_conv2d_kernel *const *column,
                      bool depthwise, bool wide)
{
    struct conv_case c;

    if (!kc_case(k, check, i))
        return;
    memset(&c, 0, sizeof(c));
    draw_shape(k, &c.p, depthwise);
    c.p.x_dtype = wide ? ASSAY_S16 : ASSAY_S8;
    c.p.w_dtype = ASSAY_S8;
    fill_case(k, &c);
    program_case(k, &c, KC_RULE + (unsigned)(i % 2));
    judge_case(k, &c, column, true);
    free_case(&c);
}

struct assay_conv2d kc_shape_params(const struct kc_shape *s)
{
    struct assay_conv2d p = {
        .n = 1,
        .h = s->h,
        .w = s->w,
        .c = s->c,
        .oh = s->oh,
        .ow = s->ow,
        .oc = s->oc,
        .kh = s->kh,
        .kw = s->kw,
        .stride_h = s->stride_h,
        .stride_w = s->stride_w,
        .dilation_h = 1,
        .dilation_w = 1,
        .pad_top = s->pad_top,
        .pad_left = s->pad_left,
        .groups = s->groups,
        .x_dtype = ASSAY_S8,
        .w_dtype = ASSAY_S8,
        .y_dtype = ASSAY_S8,
    };

    return p;
}

/* Layers of real networks; the definition only where it is quick. */
static void network_shapes(struct kc *k)
{
    FILE *f = k->opt.shapes ? fopen(k->opt.shapes, "r") : NULL;
    struct kc_shape s;

    if (!f) {
        fprintf(stderr, "kcheck: cannot open shapes '%s'\n",
                k->opt.shapes ? k->opt.shapes : "");
        exit(2);
    }
    for (int64_t i = 0; kc_next_shape(f, &s); i++) {
        bool depthwise = s.groups == s.c && s.groups > 1;
        int64_t macs =
            (int64_t)s.oh * s.ow * s.oc * s.kh * s.kw * (s.c / s.groups);
        struct conv_case c;

        if (macs > 12000000 && !k->opt.long_run)
            continue;
        if (!kc_case(k, "shapes", i))
            continue;
        memset(&c, 0, sizeof(c));
        c.p = kc_shape_params(&s);
        c.p.x_dtype = kc_chance(k, 50) ? ASSAY_S8 : ASSAY_U8;
        fill_case(k, &c);
        program_case(k, &c,
                     kc_chance(k, 50)
                         ? (unsigned)kc_range(k, 0, 5)
                         : (unsigned)kc_range(k, KC_HZ_FIRST, KC_HZ_HIGH + 3));
        judge_case(k, &c,
                   depthwise ? k->table.dwconv2d_x8w8 : k->table.conv2d_x8w8,
                   macs < 100000 || k->opt.long_run);
        free_case(&c);
    }
    fclose(f);
}

void kc_check_conv2d(struct kc *k)
{
    int64_t n = k->opt.long_run ? 12000 : 1500;

    for (int64_t i = 0; i < 17 * 17; i++)
        one_case(k, "conv2d_tails", i, k->table.conv2d_x8w8, false, false,
                 tail_shape);
    for (int64_t i = 0; i < 17 * 17; i++)
        one_case(k, "conv2d_x16_tails", i, k->table.conv2d_x16w8, false, true,
                 tail_shape);
    for (int64_t i = 0; i < 70; i++) {
        one_case(k, "dwconv2d_tails", i, k->table.dwconv2d_x8w8, true, false,
                 tail_shape);
        one_case(k, "dwconv2d_x16_tails", i, k->table.conv2d_x16w8, true, true,
                 tail_shape);
    }
    for (int64_t i = 0; i < 24; i++) {
        one_case(k, "conv2d_far", i, k->table.conv2d_x8w8, false, false,
                 far_shape);
        one_case(k, "conv2d_x16_far", i, k->table.conv2d_x16w8, false, true,
                 far_shape);
        one_case(k, "dwconv2d_far", i, k->table.dwconv2d_x8w8, true, false,
                 far_shape);
        one_case(k, "dwconv2d_x16_far", i, k->table.conv2d_x16w8, true, true,
                 far_shape);
    }
    for (int64_t i = 0; i < n; i++) {
        one_case(k, "conv2d", i, k->table.conv2d_x8w8, false, false, NULL);
        one_case(k, "dwconv2d", i, k->table.dwconv2d_x8w8, true, false, NULL);
        if (i % 3 == 0)
            one_case(k, "conv2d_x16", i, k->table.conv2d_x16w8, false, true,
                     NULL);
        if (i % 3 == 1)
            one_case(k, "dwconv2d_x16", i, k->table.conv2d_x16w8, true, true,
                     NULL);
    }
    for (int64_t i = 0; i < n; i++) {
        rule_case(k, "conv2d_rules", i, k->table.conv2d_x8w8, false, false);
        if (i % 3 == 0)
            rule_case(k, "dwconv2d_rules", i, k->table.dwconv2d_x8w8, true,
                      false);
        if (i % 3 == 1)
            rule_case(k, "conv2d_x16_rules", i, k->table.conv2d_x16w8,
                      i % 4 > 1, true);
    }
    network_shapes(k);
}
