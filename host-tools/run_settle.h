/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several causes fit all samples: an input is made on which they differ, the
 * culprit is asked what it gives, and causes that give something else are
 * struck out; again, until one is left or no input is found. Part of
 * run_cause.c. One thread.
 */
#ifndef ASSAY_HOST_RUN_SETTLE_H
#define ASSAY_HOST_RUN_SETTLE_H

#include "host-tools/run_cause.h"

/* Fills k->apart and k->settled; with -o DIR inputs are saved. A culprit that
 * cannot be asked, or gives no answer, leaves all of them standing. */
int assay_run_settle(struct assay_run *r, struct assay_run_suspect *k,
                     struct assay_err *err) ASSAY_MUST_CHECK;

#endif
