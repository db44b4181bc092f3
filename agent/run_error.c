/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/run_error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/crash.h"

/* As the source calls it, else as the engine does. */
static const char *op_name(const struct assay_layer *l)
{
    return l->source_op != NULL && l->source_op[0] != '\0'
               ? l->source_op
               : assay_op_name(l->op);
}

void assay_run_error_tell(const struct assay_run_error *r,
                          struct assay_err *err, struct assay_msg_error *e)
{
    uint32_t state = atomic_load(&r->page->state);
    uint32_t layer = atomic_load(&r->page->layer);
    bool known = layer < r->slice->n_layers;
    char what[160], where[400] = "before its first layer";
    static char kernel[ASSAY_KERNEL_NAME_MAX]; /* loop thread only */

    memcpy(kernel, r->page->kernel, sizeof(kernel) - 1);
    if (state != ASSAY_WORKER_STARTING) {
        e->has_layer = known;
        e->layer = layer;
        e->detail = kernel;
        snprintf(where, sizeof(where),
                 "%s layer '%.150s' (%.60s, kernel %.90s)",
                 state == ASSAY_WORKER_BETWEEN ? "behind" : "in",
                 known ? r->slice->layers[layer].name : "?",
                 known ? op_name(&r->slice->layers[layer]) : "?", kernel);
    }
    if (r->overdue) {
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
        assay_crash_text(r->status, what, sizeof(what));
        assay_fail(
            err, assay_crash_is_kill(r->status) ? ASSAY_EKILLED : ASSAY_ECRASH,
            "%s %s", what, where);
    }
    e->code = err->code;
    e->text = err->text;
    e->fatal = r->reason == ASSAY_ECLIENT_STALLED;
}
