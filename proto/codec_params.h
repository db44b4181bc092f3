/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of a layer's op, both ways. Used by codec_slice*.c only. */
#ifndef ASSAY_PROTO_CODEC_PARAMS_H
#define ASSAY_PROTO_CODEC_PARAMS_H

#include <stdint.h>

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/slice.h"
#include "proto/assay.pb-c.h"

/* Hangs the message of l->op's parameters, made in the arena, on o. ERANGE
 * or EMEMORY, without a sentence. */
int assay_codec_put_params(struct assay_arena *a, Assay__Pb__Layer *o,
                           const struct assay_layer *l) ASSAY_MUST_CHECK;
/* Reads what l->op needs; a softmax's table stays NULL, its length is
 * checked. EPROTOCOL with a sentence. */
int assay_codec_get_params(const Assay__Pb__Layer *in, struct assay_layer *l,
                           struct assay_err *err) ASSAY_MUST_CHECK;

/* Whether `found` is a number of a list that grows, first..last in this
 * build; EPROTOCOL with a sentence. */
int assay_codec_list(struct assay_err *err, const char *field, uint32_t found,
                     uint32_t first, uint32_t last) ASSAY_MUST_CHECK;

#endif
