/* SPDX-License-Identifier: Apache-2.0 */
/* What a board sends of the outputs of a run's layers. */
#ifndef ASSAY_CORE_CAPTURE_H
#define ASSAY_CORE_CAPTURE_H

/*
 * Numbers are on the wire. Behind FULL, the client says before a run which
 * bytes it expects of which tensors (by the digests of their tiles), and of
 * those the tiles that differ are sent, whatever the capture is. Of others,
 * DIFFERING sends everything, DIGEST the digests of their tiles, STATS these
 * and statistics (of every layer).
 */
enum assay_capture {
    ASSAY_CAPTURE_FULL = 0,
    ASSAY_CAPTURE_DIFFERING = 1,
    ASSAY_CAPTURE_DIGEST = 2,
    ASSAY_CAPTURE_STATS = 3,
    ASSAY_CAPTURE_COUNT = 4,
};

#endif
