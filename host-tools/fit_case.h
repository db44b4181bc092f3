/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goldens of cases to layers that fit-arith searches; shared by the command
 * and by `run`, which asks for the layers of its culprits. One thread.
 */
#ifndef ASSAY_HOST_FIT_CASE_H
#define ASSAY_HOST_FIT_CASE_H

#include "host-tools/fit/pool.h"
#include "host-tools/prepare.h"

struct assay_fit_session {
    struct assay_prepared *cases; /* of the command; run has its own */
    size_t n_cases;
    struct assay_fit_layer **waiting; /* not yet searched */
    const char **sources;             /* of each: its case */
    size_t n_waiting;
    struct assay_fit_found **found;
    size_t n_found;
    struct assay_fit_pool **pools;
    size_t n_pools;
    uint32_t no_golden; /* layers with a form, without any golden */
    size_t max_samples; /* of a case, the first; 0: all */
    uint64_t stop_ms;   /* monotonic; 0: no limit */
    bool stopped;       /* by the limit */
    uint32_t n_cut;     /* layers that were not searched then */
};

/* The layers of a slice that are wanted (NULL: all) and have a choice. */
int assay_fit_session_add(struct assay_fit_session *f,
                          const struct assay_slice *s, const char *source,
                          const bool *wanted, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Samples of a case into the layers of its slice that wait. */
int assay_fit_session_read(struct assay_fit_session *f,
                           const struct assay_case *c,
                           const struct assay_slice *s,
                           const struct assay_model_note *note,
                           struct assay_err *err) ASSAY_MUST_CHECK;
/* Searches what waits, then pools the forms. */
int assay_fit_session_search(struct assay_fit_session *f, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Searches inputs that separate the rest; fills found->inputs. */
int assay_fit_session_separate(struct assay_fit_session *f,
                               struct assay_err *err) ASSAY_MUST_CHECK;
void assay_fit_session_close(struct assay_fit_session *f);

/* Is any candidate of the pool left, and are all that are proved equal? */
static inline bool assay_fit_is_unique(const struct assay_fit_pool *p)
{
    return p->left > 0 && p->classes == 1;
}

/* fit_save.c: a numerics file; inputs of DIR/separating/. */
int assay_fit_save(const struct assay_fit_session *f, const char *path,
                   struct assay_err *err) ASSAY_MUST_CHECK;
int assay_fit_save_inputs(const struct assay_fit_session *f, const char *dir,
                          struct assay_err *err) ASSAY_MUST_CHECK;
/* Name of the file of a layer's k-th input below separating/. */
void assay_fit_input_name(const struct assay_fit_found *f, size_t k, char *out,
                          size_t cap);

/* fit_report.c */
struct assay_options;
int assay_fit_report(const struct assay_fit_session *f,
                     const struct assay_options *o, int code, uint64_t ms,
                     struct assay_err *err) ASSAY_MUST_CHECK;

#endif
