/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/run_error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static void crash_text(int status, char *out, size_t cap)
{
    if (WIFSIGNALED(status))
        snprintf(out, cap, "worker died of signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(out, cap, "worker ended with status %d before its run",
                 WEXITSTATUS(status));
}

void assay_run_error_tell(const struct assay_run_error *r,
                          struct assay_err *err, struct assay_msg_error *e)
{
    uint32_t state = atomic_load(&r->page->state);
    uint32_t layer = atomic_load(&r->page->layer);
    bool known = layer < r->slice->n_layers;
    char what[160], where[320] = "before its first layer";
    static char kernel[ASSAY_KERNEL_NAME_MAX]; /* loop thread only */

    memcpy(kernel, r->page->kernel, sizeof(kernel) - 1);
    if (state != ASSAY_WORKER_STARTING) {
        e->has_layer = known;
        e->layer = layer;
        e->detail = kernel;
        snprintf(where, sizeof(where), "%s layer '%.150s' (kernel %.90s)",
                 state == ASSAY_WORKER_BETWEEN ? "behind" : "in",
                 known ? r->slice->layers[layer].name : "?", kernel);
    }
    if (r->run_ms != 0) {
        assay_fail(err, r->reason,
                   "run did not end within %" PRIu64 " ms %s; its worker was "
                   "killed",
                   r->run_ms, where);
    } else if (r->reason == ASSAY_ELAYER_TIMEOUT) {
        assay_fail(err, r->reason,
                   "layer did not finish within %" PRIu64 " ms %s; its worker "
                   "was killed",
                   r->layer_ms, where);
    } else if (r->reason == ASSAY_ECLIENT_STALLED) {
        assay_fail(err, r->reason,
                   "the client took no results for %" PRIu64 " ms %s",
                   r->stall_ms, where);
    } else if (r->reason == ASSAY_ECANCELLED) {
        assay_fail(err, r->reason, "run cancelled %s", where);
    } else if (r->reason != 0) {
        assay_fail(err, r->reason, "the worker's ring is damaged %s", where);
    } else {
        crash_text(r->status, what, sizeof(what));
        assay_fail(err, ASSAY_ECRASH, "%s %s", what, where);
    }
    e->code = err->code;
    e->text = err->text;
    e->fatal = r->reason == ASSAY_ECLIENT_STALLED;
}
