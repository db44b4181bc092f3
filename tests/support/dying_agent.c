/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assayd whose engine dies or errs: the engine's results go through here. The
 * run is that of one worker; they are counted from 0.
 *
 *   DIE=LAYER,RUN:HOW    when it has begun the layer. HOW: a signal's number,
 *                        exit=STATUS, hang, or parent: the agent dies
 *   FLIP=LAYER,EVERY     each EVERYth run gives the layer with the lowest bit
 *                        of its middle byte changed
 *
 * links: agent/ agent/main.c proto/ gen/proto/assay.pb-c.c lib/core/ lib/engine/
 * links: lib/engine/ops/ lib/net/ kernels/ kernels/ref/
 * libs: -Wl,--wrap=assay_run -Wl,--wrap=assay_worker_start
 * libs: -luv -lprotobuf-c -lxxhash -lmbedtls -lmbedx509 -lmbedcrypto -lm
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/worker.h"
#include "lib/core/buf.h"
#include "lib/engine/run.h"

int __real_assay_run(const struct assay_plan *plan, void *arena,
                     const struct assay_run_request *request,
                     const struct assay_sink *sink, struct assay_err *err);
int __wrap_assay_run(const struct assay_plan *plan, void *arena,
                     const struct assay_run_request *request,
                     const struct assay_sink *sink, struct assay_err *err);
int __real_assay_worker_start(struct assay_worker *w,
                              const struct assay_worker_run *run,
                              struct assay_err *err);
int __wrap_assay_worker_start(struct assay_worker *w,
                              const struct assay_worker_run *run,
                              struct assay_err *err);

static unsigned runs; /* that were started */

int __wrap_assay_worker_start(struct assay_worker *w,
                              const struct assay_worker_run *run,
                              struct assay_err *err)
{
    int rc;

    runs++;
    rc = __real_assay_worker_start(w, run, err);
    return rc;
}

static void die(const char *how)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    int status, sig = 0;

    if (sscanf(how, ":exit=%d", &status) == 1)
        _exit(status);
    while (strcmp(how, ":hang") == 0)
        pause();
    if (strcmp(how, ":parent") == 0) {
        kill(getppid(), SIGKILL);
        pause(); /* it dies with its parent */
    }
    sscanf(how, ":%d", &sig);
    sigaction(sig, &plain, NULL); /* a sanitizer has its own handlers */
    raise(sig);
}

static int begin(void *self, const struct assay_layer_info *info)
{
    const struct assay_sink *to = self;
    const char *text = getenv("DIE");
    unsigned layer, run;
    int rc = to->begin(to->self, info), n = 0;

    if (text != NULL && sscanf(text, "%u,%u%n", &layer, &run, &n) == 2 &&
        info->layer == layer && runs - 1 == run)
        die(text + n);
    return rc;
}

static int tensor(void *self, const struct assay_layer_info *info,
                  const void *data)
{
    const struct assay_sink *to = self;
    const char *text = getenv("FLIP");
    unsigned layer, every;
    uint8_t *copy;
    int rc;

    if (text == NULL || sscanf(text, "%u,%u", &layer, &every) != 2 ||
        info->layer != layer || runs == 0 /* the self-test's */ ||
        runs % every != 0)
        return to->tensor(to->self, info, data);
    copy = assay_alloc(info->bytes);
    if (copy == NULL)
        abort();
    memcpy(copy, data, info->bytes);
    copy[info->bytes / 2] ^= 1;
    rc = to->tensor(to->self, info, copy);
    assay_free(copy);
    return rc;
}

static int end(void *self, const struct assay_layer_info *info)
{
    const struct assay_sink *to = self;

    return to->end(to->self, info);
}

int __wrap_assay_run(const struct assay_plan *plan, void *arena,
                     const struct assay_run_request *request,
                     const struct assay_sink *sink, struct assay_err *err)
{
    struct assay_sink through = {(void *)sink, begin, tensor, end};

    return __real_assay_run(plan, arena, request, &through, err);
}
