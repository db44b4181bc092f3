/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mean, scale and colour of one input, read back from the weights of its
 * HzSQuantizedPreprocess. That node computes, of an image minus 128,
 *   y[c] = (sum over k of M[c][k] * (x[k] + centre[k]) - mean[c]) * scale[c]
 * with M the colour conversion (BT.601, full range; measured: 1.4017 and
 * 1.7722 where textbooks have 1.402 and 1.772), rows in the order of
 * input_type_train. Integer weights carry 7 bits, so 1.5 % of a row's largest
 * entry and half a grey level are what can be told apart.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/vendor/check.h"

struct colour {
    double m[3][3];
    double centre[3];
};

static bool starts(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static bool is_yuv(const char *type)
{
    return strcmp(type, "nv12") == 0 || starts(type, "yuv");
}

static bool is_rgb(const char *type)
{
    return starts(type, "rgb");
}

static bool is_bgr(const char *type)
{
    return starts(type, "bgr");
}

/* false: a pair that is not known here. */
static bool colour_of(const char *rt, const char *train, struct colour *out)
{
    static const double rgb_of_yuv[3][3] = {
        {1.0, 0.0, 1.4017}, {1.0, -0.3457, -0.7145}, {1.0, 1.7722, 0.0}};
    bool from_yuv = is_yuv(rt);

    memset(out, 0, sizeof(*out));
    for (int i = 0; i < 3; i++)
        out->centre[i] = from_yuv && i > 0 ? 0.0 : 128.0;
    if (from_yuv && (is_rgb(train) || is_bgr(train))) {
        for (int i = 0; i < 3; i++)
            memcpy(out->m[i], rgb_of_yuv[is_bgr(train) ? 2 - i : i],
                   sizeof(out->m[i]));
        return true;
    }
    if ((is_rgb(rt) || is_bgr(rt)) && (is_rgb(train) || is_bgr(train))) {
        for (int i = 0; i < 3; i++)
            out->m[i][is_rgb(rt) == is_rgb(train) ? i : 2 - i] = 1.0;
        return true;
    }
    return false;
}

static double value_of(const struct assay_vendor_numbers *n, unsigned c,
                       double missing)
{
    if (n->n == 0)
        return missing;
    return n->v[n->n == 1 ? 0 : c];
}

/* Largest difference of a row's shape from the colour's, and the row's
 * scale: the entry that the colour says is largest. */
static double row_differs(const double *w, const double *m, double *scale)
{
    unsigned top = 0;
    double worst = 0.0;

    for (unsigned k = 1; k < 3; k++) {
        if (fabs(m[k]) > fabs(m[top]))
            top = k;
    }
    *scale = w[top] / m[top];
    if (*scale <= 0.0)
        return INFINITY;
    for (unsigned k = 0; k < 3; k++) {
        double d = fabs(w[k] / *scale - m[k]) / fabs(m[top]);

        if (d > worst)
            worst = d;
    }
    return worst;
}

static bool rows_fit(const struct assay_vendor_preprocess *p,
                     const struct colour *k)
{
    double scale;

    for (unsigned c = 0; c < 3; c++) {
        if (row_differs(p->weights[c], k->m[c], &scale) > 0.015)
            return false;
    }
    return true;
}

static void colour_differs(struct assay_checker *c,
                           const struct assay_vendor_input *in,
                           const struct assay_vendor_preprocess *p)
{
    static const char *const orders[] = {"rgb", "bgr"};
    const char *found = "neither rgb nor bgr";
    struct colour k;

    for (int i = 0; i < 2; i++) {
        if (colour_of(in->type_rt, orders[i], &k) && rows_fit(p, &k))
            found = orders[i];
    }
    assay_vcheck_add(c, ASSAY_CONTRADICTION, "colour", c->config->file,
                     p->input, in->type_train, found,
                     "input '%.100s': the configuration trains on '%.40s' from "
                     "'%.40s', the weights of '%.100s' make %s",
                     p->input, in->type_train, in->type_rt, p->node, found);
}

static void check_values(struct assay_checker *c,
                         const struct assay_vendor_input *in,
                         const struct assay_vendor_preprocess *p,
                         const struct colour *k)
{
    bool with_mean = strstr(in->norm_type, "mean") != NULL;
    bool with_scale = strstr(in->norm_type, "scale") != NULL ||
                      strstr(in->norm_type, "std") != NULL;
    char a[32], b[32];

    for (unsigned ch = 0; ch < 3; ch++) {
        double want = with_scale ? value_of(&in->scale, ch, 1.0) : 1.0;
        double mean = with_mean ? value_of(&in->mean, ch, 0.0) : 0.0;
        double scale, offset = 0.0, have;

        (void)row_differs(p->weights[ch], k->m[ch], &scale);
        if (fabs(scale - want) > 0.01 * fabs(want)) {
            snprintf(a, sizeof(a), "%.6g", want);
            snprintf(b, sizeof(b), "%.6g", scale);
            assay_vcheck_add(c, ASSAY_CONTRADICTION, "scale", c->config->file,
                             p->input, a, b,
                             "input '%.100s', channel %u: scale_value is %s, "
                             "the weights of '%.100s' hold %s",
                             p->input, ch, a, p->node, b);
            continue; /* the mean hangs on it */
        }
        for (unsigned j = 0; j < 3; j++)
            offset += k->m[ch][j] * k->centre[j];
        have = offset - p->bias[ch] / scale;
        if (fabs(have - mean) > 0.5) {
            snprintf(a, sizeof(a), "%.6g", mean);
            snprintf(b, sizeof(b), "%.2f", have);
            assay_vcheck_add(c, ASSAY_CONTRADICTION, "mean", c->config->file,
                             p->input, a, b,
                             "input '%.100s', channel %u: mean_value is %s, "
                             "the bias of '%.100s' holds %s",
                             p->input, ch, a, p->node, b);
        }
    }
}

static void check_counts(struct assay_checker *c,
                         const struct assay_vendor_input *in,
                         const struct assay_vendor_numbers *n, const char *key,
                         const char *part, uint32_t channels)
{
    char b[16];
    bool wanted = strstr(in->norm_type, part) != NULL ||
                  (n == &in->scale && strstr(in->norm_type, "std") != NULL);

    snprintf(b, sizeof(b), "%u", n->n);
    if (wanted && n->n != 1 && n->n != channels)
        assay_vcheck_add(c, ASSAY_CONTRADICTION, "norm", c->config->file,
                         in->name, "one value a channel", b,
                         "input '%.100s': norm_type is '%.40s', but '%s' has "
                         "%s values for %u channels",
                         in->name, in->norm_type, key, b, channels);
    else if (!wanted && n->n > 0)
        assay_vcheck_add(c, ASSAY_WARNING, "norm", c->config->file, in->name,
                         "no value", b,
                         "input '%.100s': '%s' is given, but norm_type '%.40s' "
                         "does not use it",
                         in->name, key, in->norm_type);
}

void assay_vcheck_preprocess(struct assay_checker *c,
                             const struct assay_vendor_input *in,
                             const struct assay_vendor_preprocess *p)
{
    const char *want = is_yuv(in->type_rt)   ? "YUV"
                       : is_rgb(in->type_rt) ? "RGB"
                       : is_bgr(in->type_rt) ? "BGR"
                                             : "";
    bool video = strstr(in->space, "video") != NULL;
    struct colour k;

    if (want[0] != '\0' && p->input_type[0] != '\0' &&
        !starts(p->input_type, want))
        assay_vcheck_add(
            c, ASSAY_CONTRADICTION, "preprocess-type", c->config->file,
            p->input, in->type_rt, p->input_type,
            "input '%.100s': input_type_rt is '%.40s', the model's "
            "node '%.100s' takes %.60s",
            p->input, in->type_rt, p->node, p->input_type);
    check_counts(c, in, &in->mean, "mean_value", "mean", p->channels);
    check_counts(c, in, &in->scale, "scale_value", "scale", p->channels);
    if (!p->derived || p->channels != 3 || video ||
        (in->mean.n != 0 && in->mean.n != 1 && in->mean.n != 3) ||
        (in->scale.n != 0 && in->scale.n != 1 && in->scale.n != 3) ||
        (p->input_type[0] != '\0' && !starts(p->input_type, want)) ||
        !colour_of(in->type_rt, in->type_train, &k))
        return;
    if (!rows_fit(p, &k))
        colour_differs(c, in, p);
    else
        check_values(c, in, p, &k);
}
