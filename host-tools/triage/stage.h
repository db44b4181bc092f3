/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages of a model and the tensors that each left: samples as npz, npy or
 * folders of them, read one sample at a time. One thread.
 */
#ifndef ASSAY_TRIAGE_STAGE_H
#define ASSAY_TRIAGE_STAGE_H

#include "host-tools/model/npz.h"
#include "lib/core/buf.h"

enum assay_stage {
#define ASSAY_STAGE(id, name, side, cosine, error, step, look) ASSAY_STAGE_##id,
#include "host-tools/triage/stages.def"
#undef ASSAY_STAGE
    ASSAY_STAGE_COUNT
};

/* Whose step it is. */
enum assay_side {
    ASSAY_SIDE_NONE = 0,
    ASSAY_SIDE_TRAINING,
    ASSAY_SIDE_EXPORT,
    ASSAY_SIDE_CONVERT,
    ASSAY_SIDE_COMPILE,
    ASSAY_SIDE_BOARD,
};

/* A stage, and the step that makes it from the one before. */
struct assay_stage_info {
    const char *name;
    enum assay_side side;
    double cosine_min, error_max; /* 1 and 0: equal to the bit */
    const char *step, *look;
};
const struct assay_stage_info *assay_stage_info(enum assay_stage stage);
const char *assay_side_name(enum assay_side side); /* "training" */

struct assay_stage_sample {
    const char *name; /* of its file, without the suffix */
    uint32_t n_files;
    const char **files; /* one npz, or npy files */
};
struct assay_stage_set {
    enum assay_stage stage;
    const char *path; /* NULL: this stage was not given */
    uint32_t n;
    struct assay_stage_sample *samples;
};

/*
 * path: an npz (one sample), an npy (one sample, one tensor "output"), a folder
 * of npz (each a sample), of npy (one sample, a tensor each), or of folders of
 * npy (each a sample). What is allocated belongs to the arena.
 */
int assay_stage_open(struct assay_stage_set *out, struct assay_arena *arena,
                     enum assay_stage stage, const char *path,
                     struct assay_err *err) ASSAY_MUST_CHECK;
/* Tensors of sample i; closed with assay_npz_close. */
int assay_stage_read(struct assay_npz *out, const struct assay_stage_set *set,
                     uint32_t i, const struct assay_model_note *note,
                     struct assay_err *err) ASSAY_MUST_CHECK;

/* Names of a folder in the order of their bytes, without hidden ones. */
struct assay_names {
    uint32_t n;
    const char **v;
};
int assay_names_list(struct assay_names *out, struct assay_arena *arena,
                     const char *folder, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* "folder/name" in the arena. */
const char *assay_names_join(struct assay_arena *arena, const char *folder,
                             const char *name);

#endif
