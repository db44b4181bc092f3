/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/codec_capture.h"

#include <inttypes.h>
#include <string.h>

/* Some of a tensor's tile digests: whole ones, at least one. */
static int get_tile_digests(const ProtobufCBinaryData *in, size_t most,
                            const uint8_t **digests, size_t *n,
                            enum assay_msg_type type, struct assay_err *err)
{
    *n = in->len / ASSAY_TILE_DIGEST;
    *digests = in->data;
    if (in->len % ASSAY_TILE_DIGEST != 0 || *n == 0 || *n > most)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "message %s: digests have %zu bytes, expected 1 to "
                          "%zu of %u bytes each",
                          assay_msg_name(type), in->len, most,
                          ASSAY_TILE_DIGEST);
    return 0;
}

int assay_codec_run_expect(const Assay__Pb__RunExpect *in,
                           struct assay_msg_run_expect *out,
                           struct assay_err *err)
{
    out->tensor = in->tensor;
    out->tiles = in->tiles;
    out->first = in->first;
    if (get_tile_digests(&in->digests, ASSAY_EXPECT_DIGESTS, &out->digests,
                         &out->n, ASSAY_MSG_RUN_EXPECT, err) < 0)
        return ASSAY_EPROTOCOL;
    if (in->first > in->tiles || out->n > in->tiles - in->first)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "message RUN_EXPECT: %zu digests from tile %" PRIu64
                          " on exceed its %" PRIu64 " tiles",
                          out->n, in->first, in->tiles);
    return 0;
}

int assay_codec_layer_stats(const Assay__Pb__LayerStats *in,
                            struct assay_msg_layer_stats *out,
                            struct assay_err *err)
{
    struct assay_stats *s = &out->stats;
    const char *bad;

    if (in->n_bins != ASSAY_STATS_BINS)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "message LAYER_STATS: %zu bins, expected %d",
                          in->n_bins, ASSAY_STATS_BINS);
    out->run = in->run;
    out->layer = in->layer;
    *s = (struct assay_stats){
        .count = in->count,
        .zeros = in->zeros,
        .at_low = in->at_low,
        .at_high = in->at_high,
        .is_float = in->is_float ? 1 : 0,
        .min = in->min,
        .max = in->max,
        .sum_low = in->sum_low,
        .sum_high = in->sum_high,
        .nan = in->nan,
        .inf = in->inf,
        .real_min = in->real_min,
        .real_max = in->real_max,
        .real_sum = in->real_sum,
    };
    memcpy(s->bins, in->bins, sizeof(s->bins));
    bad = assay_stats_bad_field(s);
    if (bad != NULL)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "message LAYER_STATS: field '%s' is not as it has "
                          "to be",
                          bad);
    return 0;
}

int assay_codec_layer_tiles(const Assay__Pb__LayerTiles *in,
                            struct assay_msg_layer_tiles *out,
                            struct assay_err *err)
{
    out->run = in->run;
    out->layer = in->layer;
    out->first = in->first;
    return get_tile_digests(&in->digests, ASSAY_TILES_DIGESTS, &out->digests,
                            &out->n, ASSAY_MSG_LAYER_TILES, err);
}
