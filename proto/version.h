/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who works with whom. A hello carries the protocols that its sender speaks
 * and its build id. Both sides hold both against this rule, so that the newer
 * one refuses whatever the older one knows of it:
 *
 *   - the ranges of protocols overlap;
 *   - both build ids are MAJOR.MINOR.PATCH[-WORD], such as 1.2.3-dirty;
 *   - the majors are equal, the minors at most ASSAY_VERSION_MINORS apart.
 *
 * Pure, any thread. The frame prefix never changes within a magic.
 */
#ifndef ASSAY_PROTO_VERSION_H
#define ASSAY_PROTO_VERSION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/core/err.h"

#define ASSAY_PROTOCOL_MIN 1u
#define ASSAY_PROTOCOL_MAX 1u
#define ASSAY_VERSION_MINORS 2u

struct assay_build_version {
    uint32_t major, minor, patch; /* each at most 65535 */
};

/* What one side says of itself. */
struct assay_build {
    const char *id; /* borrowed; may hold anything */
    uint32_t protocol_min, protocol_max;
};

/* This build. */
struct assay_build assay_build_here(void);

/* ASSAY_EFORMAT: it is no build id as above; tells nothing. */
int assay_build_parse(struct assay_build_version *out, const char *text)
    ASSAY_MUST_CHECK;
/* < 0: a is older than b. What is behind the patch number does not count. */
int assay_build_compare(const struct assay_build_version *a,
                        const struct assay_build_version *b);
/* Majors and minors are near enough. */
bool assay_build_near(const struct assay_build_version *a,
                      const struct assay_build_version *b);

/* Stands for the board in the sentences below; who knows its address puts it
 * there. */
#define ASSAY_DEPLOY_TO "ssh:USER@HOST"

/* 0, or ASSAY_EVERSION: err says which of the two is to be updated and how. */
int assay_builds_agree(const struct assay_build *host,
                       const struct assay_build *agent, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
