/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One more question to a culprit that can be asked: what does it give for
 * this layer on these inputs? Part of `assay run` and `assay pinpoint`. One
 * thread.
 */
#ifndef ASSAY_HOST_RUN_ASK_H
#define ASSAY_HOST_RUN_ASK_H

#include "host-tools/run.h"

/* Is there something behind the column that runs layers? Files are not. */
bool assay_run_can_ask(const struct assay_run *r, enum assay_column column);

/*
 * Runs one layer where the column was computed. inputs: by tensor of
 * assay_slice_single() of the layer, constants NULL; out: as many bytes as its
 * output has. ASSAY_EUNSUPPORTED: nothing to ask; else the backend's code, and
 * then out says nothing. A lost board stays lost: r->error.
 */
int assay_run_ask(struct assay_run *r, uint32_t layer, enum assay_column column,
                  const void *const *inputs, void *out) ASSAY_MUST_CHECK;

#endif
