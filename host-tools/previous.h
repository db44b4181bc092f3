/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An earlier run's report (schema assay-report/1): its chain of hashes and
 * the digests of its layers. One thread.
 */
#ifndef ASSAY_HOST_PREVIOUS_H
#define ASSAY_HOST_PREVIOUS_H

#include "host-tools/chain.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"

struct assay_previous {
    const char *file, *started, *model; /* in the arena, as all texts */
    struct assay_chain chain;
    uint32_t items; /* of the chain that are here; 0: an older version's */
    struct assay_chain_layers layers;
    bool matched;
};

/* Refuses what is no such report with one sentence. */
int assay_previous_read(struct assay_previous *out, struct assay_arena *arena,
                        const char *path, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
