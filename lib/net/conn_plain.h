/* SPDX-License-Identifier: Apache-2.0 */
/* Connections without encryption over libuv streams; for lib/net only.
 * Each takes its handle over when it succeeds. */
#ifndef ASSAY_NET_CONN_PLAIN_H
#define ASSAY_NET_CONN_PLAIN_H

#include "lib/net/conn.h"

struct assay_plain {
    struct assay_conn base;
    union {
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } in;
    uv_pipe_t out; /* used when `two` */
    bool two;      /* reading and writing are different descriptors */
    bool reading;
    int open_handles;
    uint8_t buffer[65536];
};

enum assay_plain_kind { ASSAY_PLAIN_TCP, ASSAY_PLAIN_PIPE, ASSAY_PLAIN_TWO };

/* Allocates and initialises the handles; NULL: no memory. */
struct assay_plain *assay_plain_new(uv_loop_t *loop,
                                    enum assay_plain_kind kind);
uv_stream_t *assay_plain_writer(struct assay_plain *p);

/* TCP: a peer that vanished without a word is noticed within half a minute,
 * whether nothing is on its way (10 s of silence, 3 probes) or something is. */
void assay_plain_keep_alive(struct assay_plain *p);

#endif
