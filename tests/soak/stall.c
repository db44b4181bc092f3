/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/soak/soak.h"

#include <stdlib.h>

#include "lib/core/buf.h"

#define STALL_MS 30

void soak_hello(struct hostile_peer *p, const struct agents *a)
{
    struct assay_msg m = {.type = ASSAY_MSG_HELLO};

    hostile_dial(p, a);
    m.u.hello = (struct assay_msg_hello){1, 1, "soak"};
    hostile_say(p, m, NULL, 0);
    hostile_until(p, ASSAY_MSG_HELLO_ACK);
}

static void acquire(struct hostile_peer *p)
{
    struct assay_msg m = {.type = ASSAY_MSG_LEASE_ACQUIRE};

    m.u.lease = (struct assay_msg_lease){
        .owner = "stall@test 1", .ttl_ms = 60000, .force = true};
    hostile_say(p, m, NULL, 0);
    hostile_until(p, ASSAY_MSG_LEASE_GRANTED);
}

bool soak_stall(const struct agents *a, const struct assay_slice *slice,
                uint32_t input_bytes, bool leaves)
{
    uint8_t *input = assay_calloc(1, input_bytes);
    struct assay_msg m = hostile_start(1, 1);
    struct hostile_text t;
    struct hostile_peer p;
    bool good = true;

    soak_hello(&p, a);
    acquire(&p);
    hostile_text_of(&t, slice);
    hostile_say(&p, hostile_blob(ASSAY_MSG_BLOB_PUT, t.identity, t.text.len, 0),
                t.text.data, (uint32_t)t.text.len);
    hostile_until(&p, ASSAY_MSG_BLOB_STORED);
    hostile_say(&p, hostile_blob(ASSAY_MSG_SLICE_LOAD, t.identity, 0, 0), NULL,
                0);
    hostile_until(&p, ASSAY_MSG_SLICE_LOADED);
    hostile_say(&p, hostile_tensor(0, input_bytes, 0), input, input_bytes);
    m.u.run_start.stall_timeout_ms = STALL_MS;
    hostile_say(&p, m, NULL, 0);
    if (!leaves) {
        hostile_until(&p, ASSAY_MSG_RUN_END);
        good = p.got.u.run_end.error.code == ASSAY_ECLIENT_STALLED &&
               hostile_hear(&p) == 0;
    }
    hostile_hang_up(&p);
    assay_buf_close(&t.text);
    assay_free(input);
    return good;
}
