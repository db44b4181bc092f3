/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void event(struct runs *r, const char *text)
{
    if (strlen(r->events) + strlen(text) >= sizeof(r->events))
        abort();
    strcat(r->events, text);
}

static int layer_event(struct runs *r, char kind, uint32_t layer)
{
    char text[16];
    snprintf(text, sizeof(text), "%c%u", kind, (unsigned)layer);
    event(r, text);
    return r->n_events++ == r->stop_at ? ASSAY_ECANCELLED : 0;
}

static const void *fetch(void *self, uint32_t tensor)
{
    struct runs *r = self;
    r->fetches[tensor]++;
    return r->given[tensor];
}

static void missing(void *self, uint32_t layer, uint32_t tensor)
{
    char text[32];
    snprintf(text, sizeof(text), "m%u/%u", (unsigned)layer, (unsigned)tensor);
    event(self, text);
}

static int begin(void *self, const struct assay_layer_info *info)
{
    return layer_event(self, 'b', info->layer);
}

static int tensor(void *self, const struct assay_layer_info *info,
                  const void *data)
{
    struct runs *r = self;
    if (info->tensor != r->slice->layers[info->layer].output ||
        !info->kernel[0])
        abort();
    r->out[info->layer] = malloc(info->bytes);
    if (!r->out[info->layer])
        abort();
    memcpy(r->out[info->layer], data, info->bytes);
    return layer_event(r, 't', info->layer);
}

static int end(void *self, const struct assay_layer_info *info)
{
    return layer_event(self, 'e', info->layer);
}

void runs_init(struct runs *r, const struct assay_slice *s)
{
    memset(r, 0, sizeof(*r));
    r->slice = s;
    r->mode = ASSAY_RUN_CUMULATIVE;
    r->stop_at = -1;
}

void runs_close(struct runs *r)
{
    for (int i = 0; i < RUNS_MAX; i++) {
        free(r->out[i]);
        r->out[i] = NULL;
    }
}

int runs_run(struct runs *r)
{
    struct assay_kernel_table table;
    struct assay_plan *plan = NULL;
    runs_close(r);
    r->events[0] = '\0';
    r->n_events = 0;
    memset(r->fetches, 0, sizeof(r->fetches));
    memset(&r->err, 0, sizeof(r->err));
    assay_kernel_table_init(&table, r->flags);
    int rc = assay_plan_new(&plan, r->slice, &table, NULL, &r->err);
    if (rc)
        return rc;
    /* Filled with rubbish: a kernel that reads what it has not written
     * gives other results. */
    size_t bytes = assay_plan_arena_bytes(plan);
    void *arena = aligned_alloc(64, bytes);
    if (!arena)
        abort();
    memset(arena, 0xa5, bytes);
    const struct assay_run_request request = {.mode = r->mode,
                                              .layers = r->layers,
                                              .fetch = fetch,
                                              .missing = missing,
                                              .self = r};
    const struct assay_sink sink = {
        .self = r, .begin = begin, .tensor = tensor, .end = end};
    rc = assay_run(plan, arena, &request, &sink, &r->err);
    free(arena);
    assay_plan_free(plan);
    return rc;
}
