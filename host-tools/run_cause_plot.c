/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_cause_plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEVELS 8

const char *assay_plot_bars(const double *v, size_t n, char *out, size_t cap)
{
    static const char *const bars[LEVELS] = {
        "\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83", "\xe2\x96\x84",
        "\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88"};
    double lo = INFINITY, hi = -INFINITY;

    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (isnan(v[i]))
            continue;
        lo = fmin(lo, v[i]);
        hi = fmax(hi, v[i]);
    }
    for (size_t i = 0; i < n; i++) {
        int level = LEVELS / 2;

        if (hi > lo)
            level = (int)((LEVELS - 1) * (v[i] - lo) / (hi - lo) + 0.5);
        if (strlen(out) + 4 > cap)
            break;
        strcat(out, isnan(v[i]) ? "?" : bars[level]);
    }
    return out;
}

const char *assay_plot_list(const double *v, size_t n, size_t step,
                            size_t shown, char *out, size_t cap)
{
    out[0] = '\0';
    for (size_t i = 0; i < n && i < shown; i++) {
        size_t at = strlen(out);

        if (isnan(v[i]))
            snprintf(out + at, cap - at, "%s%zu: ?", i > 0 ? ", " : "",
                     i * step);
        else
            snprintf(out + at, cap - at, "%s%zu: %.3g", i > 0 ? ", " : "",
                     i * step, v[i]);
    }
    if (n > shown)
        snprintf(out + strlen(out), cap - strlen(out), ", ...");
    return out;
}
