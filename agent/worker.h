/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that computes one run: forked without exec, with nothing open
 * but its own descriptors, dead with its parent. It hands results over in the
 * ring and cannot take the parent down. Loop thread only.
 */
#ifndef ASSAY_AGENT_WORKER_H
#define ASSAY_AGENT_WORKER_H

#include <sys/types.h>

#include "agent/loaded.h"
#include "agent/ring.h"
#include "lib/engine/run.h"

struct assay_worker {
    pid_t pid;  /* 0: none, or reaped */
    int status; /* of waitpid, once reaped */
    struct assay_ring *ring;
    int ready; /* readable when there are records */
    int space; /* written when the worker waits and room was made */
};

struct assay_worker_run {
    const struct assay_loaded *loaded; /* with plan and given tensors */
    const bool *layers;                /* NULL: all */
    enum assay_run_mode mode;
    enum assay_capture capture;
    uint64_t probe_work; /* about instructions for probes; 0: none */
    size_t probe_memory; /* bytes that a probe may take */
    uint64_t layer_us;   /* the deadline of a layer */
};

int assay_worker_start(struct assay_worker *w,
                       const struct assay_worker_run *run,
                       struct assay_err *err) ASSAY_MUST_CHECK;
/* In a child after fork: closes all but two descriptors, so that a peer sees
 * its connection end with the parent, and takes signals as they come. */
void assay_worker_enter(int a, int b);
void assay_worker_kill(struct assay_worker *w);
/* true once the process is reaped; never waits. */
bool assay_worker_reap(struct assay_worker *w);
/* Kills and reaps where needed, releases everything. */
void assay_worker_close(struct assay_worker *w);

#endif
