/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An input on which causes that this data does not tell apart give different
 * outputs. Whether there is one is not known before one is found: tries are
 * bounded, and finding none proves nothing. Pure; one thread.
 */
#ifndef ASSAY_CAUSE_SEPARATE_H
#define ASSAY_CAUSE_SEPARATE_H

#include "host-tools/cause/search.h"

struct assay_separation {
    void **inputs; /* by tensor of s->one, dense; constants: NULL; owned */
    uint32_t n_inputs;
    void *base;         /* what the engine gives on them; owned */
    uint32_t n_classes; /* of the proved ones that were compared: 1 to this */
    uint8_t **outputs;  /* by class number less one, on these inputs; owned */
    uint32_t *group;    /* by class number less one: equal, equal outputs */
    uint32_t n_groups;  /* 1: nothing was told apart */
    uint64_t differing; /* elements in which not all groups are equal */
    uint32_t tried;     /* inputs */
};

/* The proved hypotheses of a search, one of each class. out is to be closed
 * when 0 is returned. */
int assay_cause_separate(struct assay_separation *out,
                         const struct assay_suspect *s,
                         const struct assay_search *found, uint32_t cpu_flags,
                         struct assay_err *err) ASSAY_MUST_CHECK;
void assay_separation_close(struct assay_separation *s); /* idempotent */

#endif
