/* SPDX-License-Identifier: Apache-2.0 */
/* Talk on stderr: phases, a bar on a terminal, else a line every 10 s. */
#ifndef ASSAY_HOST_PROGRESS_H
#define ASSAY_HOST_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct assay_progress {
    bool quiet, terminal, verbose;
    bool dirty;          /* a bar stands on the line */
    uint32_t at, all;    /* layers of the current phase */
    uint64_t started_ms; /* of the phase, monotonic */
    uint64_t printed_ms;
};

uint64_t assay_monotonic_ms(void);
void assay_progress_init(struct assay_progress *p, bool quiet, bool verbose);
/* "[3/4] text"; all: layers that the phase will report. */
void assay_progress_phase(struct assay_progress *p, unsigned phase,
                          uint32_t all, const char *text);
void assay_progress_layer(struct assay_progress *p, const char *name);
/* Takes the bar off the line, before anything else is printed. */
void assay_progress_clear(struct assay_progress *p);

#endif
