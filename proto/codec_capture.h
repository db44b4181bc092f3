/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding of what captures add: expectations, digests of tiles, statistics.
 * For codec.c only. */
#ifndef ASSAY_PROTO_CODEC_CAPTURE_H
#define ASSAY_PROTO_CODEC_CAPTURE_H

#include "proto/assay.pb-c.h"
#include "proto/codec.h"

int assay_codec_run_expect(const Assay__Pb__RunExpect *in,
                           struct assay_msg_run_expect *out,
                           struct assay_err *err) ASSAY_MUST_CHECK;
int assay_codec_layer_stats(const Assay__Pb__LayerStats *in,
                            struct assay_msg_layer_stats *out,
                            struct assay_err *err) ASSAY_MUST_CHECK;
int assay_codec_layer_tiles(const Assay__Pb__LayerTiles *in,
                            struct assay_msg_layer_tiles *out,
                            struct assay_err *err) ASSAY_MUST_CHECK;

#endif
