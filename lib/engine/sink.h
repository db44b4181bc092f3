/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a run's results go: begin, tensor, end for each layer, in execution
 * order. Called on the thread that calls assay_run(). A sink that returns a
 * negative ASSAY_E* stops the run, which returns that code.
 */
#ifndef ASSAY_ENGINE_SINK_H
#define ASSAY_ENGINE_SINK_H

#include <stddef.h>
#include <stdint.h>

struct assay_layer_info {
    uint32_t layer;            /* index in the slice */
    uint32_t tensor;           /* its output */
    const char *kernel;        /* name of the kernel that runs, borrowed */
    size_t bytes;              /* of the output, dense, in stored order */
    const void *const *inputs; /* dense bytes of the layer's inputs, in its */
                               /* order; valid until end() returns */
};

struct assay_sink {
    void *self;
    /* Before a layer computes. */
    int (*begin)(void *self, const struct assay_layer_info *info);
    /* Its output, valid until the call returns. */
    int (*tensor)(void *self, const struct assay_layer_info *info,
                  const void *data);
    /* The layer is over; not called when tensor() stopped the run. */
    int (*end)(void *self, const struct assay_layer_info *info);
};

#endif
