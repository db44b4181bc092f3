/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a sample of a column: what its sources share. Internal to
 * host-tools/model: observed.c places tensors, observed_npz.c reads npz,
 * observed_folder.c sorts the files of a folder and reads the simulator's
 * texts, observed_dump.c what a board wrote; for that observed_match.c finds whose
 * tensor a file is, observed_fit.c how its bytes lie, observed_nv12.c puts
 * planes of an image together.
 */
#ifndef ASSAY_MODEL_OBSERVED_PRIVATE_H
#define ASSAY_MODEL_OBSERVED_PRIVATE_H

#include "host-tools/model/dump.h"
#include "host-tools/model/dump_layout.h"
#include "host-tools/model/dump_text.h"
#include "host-tools/model/model_info.h"
#include "host-tools/model/observed.h"

struct assay_observing {
    struct assay_sample *s;
    struct assay_case *c;
    enum assay_case_side side;
    size_t sample;
    const struct assay_slice *slice;
    const struct assay_feature_map *map;
    struct assay_sample reference; /* goldens; read when a name is unknown */
    struct assay_sample inputs;    /* the case's; likewise */
    bool reference_read;
    struct assay_model_info info; /* of the folder; n 0: none */
    const struct assay_model_note *note;
    uint8_t *marks; /* by tensor: what observed.c knows of its sources */
    struct assay_err *err;
};

/* Data of one name: either values of integers or an array of an npz. */
struct assay_observed_data {
    const char *file, *name;
    uint32_t rank;
    const int64_t *dims;
    const struct assay_array *array; /* or */
    const int64_t *values;
};

/* A note, once a run. */
void assay_observed_tell(struct assay_observing *l, const char *file,
                         const char *name, const char *why);
/* How a file was understood: for -v and reports. */
void assay_observed_detail(const struct assay_observing *l, const char *file,
                           const char *fmt, ...) ASSAY_PRINTF(3, 4);
int assay_observed_no_memory(const struct assay_observing *l, const char *what);
/* Finds the tensors of a name; false (told by a note): there are none. */
bool assay_observed_named(struct assay_observing *l, const char *file,
                          const char *name, struct assay_observed_match *m);
/* Puts the data where the match says. */
int assay_observed_take(struct assay_observing *l,
                        const struct assay_observed_match *m,
                        const struct assay_observed_data *x) ASSAY_MUST_CHECK;
int assay_observed_check_type(struct assay_observing *l,
                              const struct assay_tensor *t,
                              const struct assay_observed_data *x)
    ASSAY_MUST_CHECK;
int assay_observed_check_binding(struct assay_observing *l, const char *meta,
                                 const char *file) ASSAY_MUST_CHECK;
/* An npz, by the names of its arrays. */
int assay_observed_npz(struct assay_observing *l, const char *path)
    ASSAY_MUST_CHECK;
/* What the case has of a tensor, golden or input, in stored order; NULL:
 * nothing. */
const void *assay_observed_reference(struct assay_observing *l,
                                     uint32_t tensor);
/* An array whose name is none of the model's; `outputs`: only those. True:
 * taken, or told. */
bool assay_observed_unnamed(struct assay_observing *l, const char *path,
                            const struct assay_array *a, bool outputs,
                            struct assay_observed_match *m);

/* A text of model_info; the last one of a sample counts. */
int assay_observed_model_info(struct assay_observing *l, const char *path)
    ASSAY_MUST_CHECK;
/* All files of a folder, in the order of their names. */
int assay_observed_folder(struct assay_observing *l, const char *folder)
    ASSAY_MUST_CHECK;

/* ---- what a board wrote ------------------------------------------------- */

/* The files of one tensor, which differ in their suffix. */
struct assay_dump_files {
    struct assay_dump_name name;
    const char *file[3]; /* by form; NULL: there is none */
    bool taken;          /* or told of */
    /* While one is looked at: the bytes of the .bin, the numbers of the
     * .txt. */
    char *path; /* owned */
    uint8_t *data;
    size_t n;
    bool has_text;
    struct assay_dump_text text;
};
/* observed_dump.c. Those of the names that are no dump are passed over; NULL
 * ones too. */
int assay_observed_dumps(struct assay_observing *l, const char *folder,
                         char *const *names, size_t n) ASSAY_MUST_CHECK;

/* What model_info says of a file's tensor; NULL: nothing. */
const struct assay_model_info_tensor *assay_observed_info(
    const struct assay_observing *l, const struct assay_dump_name *name);

/* observed_match.c. How a tensor was found, for messages. */
bool assay_observed_by_name(struct assay_observing *l, const char *name,
                            struct assay_observed_match *m, const char **how);
/* The orders of axes that a file of this tensor may have. */
unsigned assay_observed_orders(const struct assay_tensor *t, bool nchw,
                               bool named);
/* By what it holds: shape and type, then content. False: told, or nothing
 * fits. */
int assay_observed_by_content(struct assay_observing *l,
                              const struct assay_dump_files *f,
                              struct assay_observed_match *m, const char **how,
                              bool *told) ASSAY_MUST_CHECK;

/* observed_fit.c. */
enum assay_fit {
    ASSAY_FIT_SIZE = 0, /* no layout has the size */
    ASSAY_FIT_PADDING,  /* one has, but what should be padding is not 0 */
    ASSAY_FIT_SEVERAL,  /* several give different elements: text names them */
    ASSAY_FIT_ONE,
};
struct assay_fitted {
    enum assay_fit fit;
    struct assay_dump_layout layout;
    enum assay_dtype dtype;
    uint8_t *dense; /* owned; in the source's order of axes */
    bool equal;     /* to the reference */
    bool centred;   /* 128 was taken away, as the runtime does */
    char text[300];
};
/* The bytes of f as elements of a tensor. */
int assay_observed_fit(struct assay_fitted *out, struct assay_observing *l,
                       const struct assay_dump_files *f, uint32_t tensor,
                       unsigned orders) ASSAY_MUST_CHECK;
/* Bytes that are swapped, a text that says other: refused. */
int assay_observed_fit_check(struct assay_observing *l,
                             const struct assay_dump_files *f, uint32_t tensor,
                             const struct assay_fitted *x) ASSAY_MUST_CHECK;
void assay_fitted_close(struct assay_fitted *x); /* NULL safe */

/* observed_nv12.c: luma and chroma of an image, where f is one of them; both
 * are taken then. */
int assay_observed_nv12(struct assay_observing *l, const char *folder,
                        struct assay_dump_files *all, size_t n, size_t at)
    ASSAY_MUST_CHECK;

#endif
