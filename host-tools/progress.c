/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host-tools/messages.h"

#define PHASES 4
#define LINE_EVERY_MS 10000
#define BAR_EVERY_MS 100

uint64_t assay_monotonic_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void assay_progress_init(struct assay_progress *p, bool quiet, bool verbose)
{
    memset(p, 0, sizeof(*p));
    p->quiet = quiet;
    p->verbose = verbose;
    p->terminal = isatty(STDERR_FILENO) == 1;
}

void assay_progress_clear(struct assay_progress *p)
{
    if (p->dirty)
        fputs("\r\033[K", stderr);
    p->dirty = false;
}

void assay_progress_phase(struct assay_progress *p, unsigned phase,
                          uint32_t all, const char *text)
{
    p->at = 0;
    p->all = all;
    p->started_ms = p->printed_ms = assay_monotonic_ms();
    if (p->quiet)
        return;
    assay_progress_clear(p);
    fprintf(stderr, "[%u/%u] %s\n", phase, PHASES, text);
}

void assay_progress_layer(struct assay_progress *p, const char *name)
{
    uint64_t now = assay_monotonic_ms();
    uint64_t elapsed = now - p->started_ms;
    uint64_t every = p->terminal ? BAR_EVERY_MS : LINE_EVERY_MS;
    char text[256], cut[64];
    uint64_t eta;

    if (p->at < p->all)
        p->at++;
    if (p->quiet || (!p->verbose && now - p->printed_ms < every))
        return;
    p->printed_ms = now;
    eta = p->at > 0 ? elapsed * (p->all - p->at) / p->at : 0;
    snprintf(cut, sizeof(cut), "%.60s", name);
    assay_message(text, sizeof(text), ASSAY_MSG_PROGRESS_LAYER, "at",
                  assay_num_u(p->at).text, "all", assay_num_u(p->all).text,
                  "name", cut, "elapsed",
                  assay_num_f(1, (double)elapsed / 1000.0).text, "eta",
                  assay_num_f(0, (double)eta / 1000.0).text, NULL);
    if (p->terminal && !p->verbose) {
        fprintf(stderr, "\r\033[K%s", text);
        fflush(stderr);
        p->dirty = true;
    } else {
        fprintf(stderr, "      %s\n", text);
    }
}
