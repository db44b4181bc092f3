/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of protobuf-c under a budget: a few hostile bytes must not become
 * many. Used by codec*.c only. */
#ifndef ASSAY_PROTO_CODEC_ALLOC_H
#define ASSAY_PROTO_CODEC_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

struct assay_codec_alloc {
    ProtobufCAllocator pb; /* hand this to protobuf-c */
    size_t left;           /* bytes that may still be taken, ever */
    bool refused;          /* the budget said no */
    bool starved;          /* the system said no */
};

void assay_codec_alloc_init(struct assay_codec_alloc *a, size_t budget);

#endif
