/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who executes layers: a board (client.c, over the protocol) or this process
 * (local.c, `--local`, and the host's own scalar engine as a column). One
 * interface, so that commands do not know which.
 *
 * Calls are synchronous, on one thread; each wait inside has a deadline.
 * A backend is used as: open, load, run any number of times, close.
 */
#ifndef ASSAY_HOST_BACKEND_H
#define ASSAY_HOST_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host-tools/tls_files.h"
#include "lib/core/capture.h"
#include "lib/core/err.h"
#include "lib/core/probe.h"
#include "lib/core/slice.h"
#include "lib/core/stats.h"
#include "proto/codec.h"

/* What a board (or this process) says of itself. Strings are the backend's,
 * until its next info() or its end. */
struct assay_backend_info {
    bool is_local;     /* this process: no lease, no limit, no counters */
    uint32_t protocol; /* that is spoken; 0 for this process */
    struct assay_msg_info agent;
};

struct assay_run_tensor {
    uint32_t tensor;  /* index in the slice */
    const void *data; /* dense, stored order, borrowed until run returns */
    size_t bytes;
};

/* Results, in execution order. A negative return stops the run. */
struct assay_results {
    void *self;
    /* Whole output of one layer. time_us is compute time on the backend. */
    int (*layer)(void *self, uint32_t layer, const void *data, size_t bytes,
                 const char *kernel, uint64_t time_us);
    /* The same of a layer of which a board sent the digests of its tiles alone
     * (16 bytes each; captures DIGEST and STATS). A backend may always call
     * layer() instead. NULL: with FULL and DIFFERING it does not come. */
    int (*digests)(void *self, uint32_t layer, const uint8_t *digests,
                   size_t tiles, const char *kernel, uint64_t time_us);
    /* What the board counted of a layer's output, before that (capture STATS).
     * May be NULL. */
    void (*stats)(void *self, uint32_t layer, const struct assay_stats *s);
    /* Layer could not run: `tensor` was not given. */
    int (*missing)(void *self, uint32_t layer, uint32_t tensor);
    /* What the run's data exercised in a layer, after its output; a board that
     * knows no probes, and local.c, tell none. p->values 0: the layer was left
     * out. Steps are those of the layer's programs. May be NULL. */
    void (*probe)(void *self, uint32_t layer, const struct assay_probe *p);
    /* A layer starts: for progress. May be NULL. */
    void (*begin)(void *self, uint32_t layer, const char *kernel);
};

struct assay_backend_run {
    bool isolated;
    const bool *layers; /* one a layer, NULL: all */
    uint32_t cpumask;   /* ASSAY_CPU_* that may be used; ASSAY_CPU_ALL */
    uint32_t sample;
    const struct assay_run_tensor *given; /* inputs, reference tensors */
    size_t n_given;
    uint64_t layer_timeout_ms; /* 0: the default, 30 s of computing */
    uint64_t probe_work; /* about instructions for probes; 0: none wanted */
    enum assay_capture capture;
    /* Outputs as they are expected to be: what is equal need not travel. Only a
     * matter of bytes: layer() is told what the board has in any case. */
    const struct assay_run_tensor *expect;
    size_t n_expect;
};

struct assay_backend {
    const struct assay_backend_vtable *vt;
};

struct assay_backend_vtable {
    int (*info)(struct assay_backend *b, struct assay_backend_info *out,
                struct assay_err *err);
    /* The slice must outlive the backend (or the next load). */
    int (*load)(struct assay_backend *b, const struct assay_slice *slice,
                struct assay_err *err);
    int (*run)(struct assay_backend *b, const struct assay_backend_run *run,
               const struct assay_results *results, struct assay_err *err);
    /* Tests kernels, memory and clock, and tells what it looked at, one by
     * one, the end of all last. memory_bytes: at most so much memory, 0: the
     * board's choice. */
    int (*self_test)(struct assay_backend *b, uint64_t memory_bytes,
                     void (*found)(void *self,
                                   const struct assay_msg_self_test *item),
                     void *self, struct assay_err *err);
    /* Bytes received so far, for the last line of a report. */
    uint64_t (*received)(struct assay_backend *b);
    void (*close)(struct assay_backend *b); /* frees b */
};

struct assay_client_options {
    const char *target;  /* HOST[:PORT] | unix:PATH | exec:CMD | ssh:U@H[:P] */
    uint64_t timeout_ms; /* of connect and each answer; 0: 30 s */
    const char *owner;   /* of the lease: "user@host pid" */
    bool force;          /* take a lease over */
    struct assay_tls_files tls; /* of a target behind TLS */
    /* It was taken from that owner. May be NULL. */
    void (*taken)(const char *owner);
    /* Polled while waiting: true ends the wait with ASSAY_ECANCELLED. */
    const volatile int *interrupted;
};

int assay_client_open(struct assay_backend **out,
                      const struct assay_client_options *options,
                      struct assay_err *err) ASSAY_MUST_CHECK;
/* From now on, of a backend that assay_client_open() gave: how long an answer
 * may take. */
void assay_client_patience(struct assay_backend *b, uint64_t timeout_ms);
int assay_local_open(struct assay_backend **out, uint32_t cpumask,
                     struct assay_err *err) ASSAY_MUST_CHECK;

#endif
