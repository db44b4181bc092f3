/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the vendor's tools say of a compiled model's inputs and outputs, as
 * text: `hrt_model_exec model_info` (with the strides in memory; the form of
 * X3, X5 and J5 and that of UCP) and `hb_model_info` (march, versions, shapes).
 * Recognised by content. Hostile input: one sentence, nothing half-read. Pure
 * but for memory.
 */
#ifndef ASSAY_MODEL_MODEL_INFO_H
#define ASSAY_MODEL_MODEL_INFO_H

#include <stdbool.h>

#include "lib/core/slice.h"

#define ASSAY_MODEL_INFO_MAX_BYTES ((size_t)16 << 20)
#define ASSAY_MODEL_INFO_MAX_TENSORS 4096u

enum assay_model_info_side {
    ASSAY_INFO_INPUT = 0,
    ASSAY_INFO_OUTPUT,
    ASSAY_INFO_INNER, /* hb_model_info: between two nodes of the runtime */
};
struct assay_model_info_tensor {
    enum assay_model_info_side side;
    uint32_t index; /* among those of its side */
    const char *name;
    const char *model; /* "" where not said */
    uint32_t rank;     /* 0: no shape was said */
    int64_t valid[ASSAY_MAX_RANK];
    uint32_t aligned_rank, stride_rank; /* 0: not said */
    int64_t aligned[ASSAY_MAX_RANK];
    int64_t stride[ASSAY_MAX_RANK]; /* bytes; -1: dynamic */
    int64_t aligned_bytes;          /* -1: dynamic, 0: not said */
    const char *type;               /* "S8", "NV12"; "" */
    bool has_dtype; /* type is that of elements, not of an image */
    enum assay_dtype dtype;
    bool is_image;      /* nv12, yuv444, rgb, ... */
    const char *layout; /* "NHWC", "NCHW" or "" */
    uint32_t n_scales;  /* quanti type SCALE */
    double *scales;
    bool has_zero_point; /* one that is not 0 */
    int64_t axis;        /* of the scales; -1: not said */
};

struct assay_model_info {
    struct assay_arena *arena; /* owned */
    uint32_t n, cap;
    struct assay_model_info_tensor *v;
    /* hb_model_info only; "" else. */
    const char *march, *hbdk_version, *horizon_nn_version, *mapper_version;
    const char *file; /* in the arena */
};

bool assay_model_info_probe(const char *data, size_t n);
/* Does the file begin so? False too where it cannot be read. */
bool assay_model_info_is_file(const char *path);
/* data[n] is 0. */
int assay_model_info_parse(struct assay_model_info *out, const char *data,
                           size_t n, const char *file, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_model_info_close(struct assay_model_info *m); /* NULL safe */
/* By name; NULL: none, or two models say different things of it. */
const struct assay_model_info_tensor *assay_model_info_find(
    const struct assay_model_info *m, const char *name);
/* By number; NULL likewise. */
const struct assay_model_info_tensor *assay_model_info_nth(
    const struct assay_model_info *m, enum assay_model_info_side side,
    uint32_t index);

#endif
