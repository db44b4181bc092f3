/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of channels as a line of bars and a list. Pure; any thread. */
#ifndef ASSAY_HOST_RUN_CAUSE_PLOT_H
#define ASSAY_HOST_RUN_CAUSE_PLOT_H

#include <stddef.h>

#define ASSAY_PLOT_BARS 64

/*
 * A bar for each of v[0..n-1], n <= ASSAY_PLOT_BARS: the least is the lowest,
 * the greatest the highest, NAN is "?"; all alike: all in the middle. UTF-8;
 * room for 3 * n + 1 bytes. Returns out.
 */
const char *assay_plot_bars(const double *v, size_t n, char *out, size_t cap);
/* "0: 1.00, 2: 0.498, ...": the first `shown` of channels 0, step, 2 step ...;
 * "..." where there are more. Returns out. */
const char *assay_plot_list(const double *v, size_t n, size_t step,
                            size_t shown, char *out, size_t cap);

#endif
