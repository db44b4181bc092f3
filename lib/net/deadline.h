/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One timer with one meaning: "this wait is over". Loop thread only.
 * init -> start/stop any number of times -> close(cb); the memory belongs to
 * the caller and may go in the close callback.
 */
#ifndef ASSAY_NET_DEADLINE_H
#define ASSAY_NET_DEADLINE_H

#include <stdint.h>

#include <uv.h>

typedef void assay_deadline_fn(void *self);

struct assay_deadline {
    uv_timer_t timer;
    assay_deadline_fn *expired;
    void (*closed)(void *self);
    void *self;
};

void assay_deadline_init(struct assay_deadline *d, uv_loop_t *loop,
                         assay_deadline_fn *expired, void *self);
void assay_deadline_start(struct assay_deadline *d, uint64_t ms);
void assay_deadline_stop(struct assay_deadline *d);
void assay_deadline_close(struct assay_deadline *d, void (*closed)(void *));

#endif
