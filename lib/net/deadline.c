/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/deadline.h"

#include <assert.h>

static void on_timer(uv_timer_t *timer)
{
    struct assay_deadline *d = timer->data;

    d->expired(d->self);
}

static void on_close(uv_handle_t *handle)
{
    struct assay_deadline *d = handle->data;

    if (d->closed != NULL)
        d->closed(d->self);
}

void assay_deadline_init(struct assay_deadline *d, uv_loop_t *loop,
                         assay_deadline_fn *expired, void *self)
{
    int rc = uv_timer_init(loop, &d->timer);

    assert(rc == 0); /* a timer's init has no way to fail */
    (void)rc;
    d->timer.data = d;
    d->expired = expired;
    d->closed = NULL;
    d->self = self;
}

void assay_deadline_start(struct assay_deadline *d, uint64_t ms)
{
    /* The loop's clock may be old after a long callback. */
    uv_update_time(d->timer.loop);
    uv_timer_start(&d->timer, on_timer, ms, 0);
}

void assay_deadline_stop(struct assay_deadline *d)
{
    uv_timer_stop(&d->timer);
}

void assay_deadline_close(struct assay_deadline *d, void (*closed)(void *))
{
    d->closed = closed;
    uv_close((uv_handle_t *)&d->timer, on_close);
}
