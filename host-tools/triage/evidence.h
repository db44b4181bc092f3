/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the vendor's tools for training and debugging leave: tables of layers,
 * lists of bad cases, dtypes and how they came about. Files are told by their
 * content. Every file is hostile: one sentence, nothing half-read. One thread.
 */
#ifndef ASSAY_TRIAGE_EVIDENCE_H
#define ASSAY_TRIAGE_EVIDENCE_H

#include "host-tools/vendor/vendor.h"
#include "lib/core/buf.h"

enum assay_evidence_kind {
    ASSAY_EVIDENCE_UNKNOWN = 0,
    ASSAY_EVIDENCE_LAYERS,    /* compare_per_layer_out.csv, .txt */
    ASSAY_EVIDENCE_BADCASE,   /* badcase.txt */
    ASSAY_EVIDENCE_SENSITIVE, /* output_*_sensitive_ops.txt */
    ASSAY_EVIDENCE_CHECK,     /* model_check_result.txt */
    ASSAY_EVIDENCE_DTYPES,    /* qconfig_dtypes.pt.py */
    ASSAY_EVIDENCE_CHANGES,   /* qconfig_changelogs.txt */
    ASSAY_EVIDENCE_VENDOR,    /* what host-tools/vendor/ reads */
};
const char *assay_evidence_kind_name(enum assay_evidence_kind kind);
enum assay_evidence_kind assay_evidence_probe(const char *text, size_t n);

/* A row of compare_per_layer_out: NAN and "" where a cell is missing. */
struct assay_layer_row {
    const char *name, *base_op, *analy_op, *shape, *dtype, *file;
    double qscale, cosine, l1, atol, max_qscale_diff;
    double base_min, analy_min, base_max, analy_max;
};

/* The sample that is worst by a metric: of one output, or ("") of all. */
struct assay_badcase {
    const char *output, *metric;
    int64_t sample;
    double value; /* NAN: not said */
};

struct assay_sensitive_op {
    const char *name, *op, *metric, *dtype;
    double value;
};

/* What a module is to give, or gives: "qint16", "float16". */
struct assay_dtype_row {
    const char *module, *dtype;
};

/* One line of the log of changes. */
struct assay_dtype_change {
    const char *module, *from, *to; /* from: "" where it is set first */
    const char *by;                 /* the template: "ConvDtypeTemplate"; "" */
    const char *text;               /* the line */
    uint32_t line;
    bool fallback, missed; /* says that it fell back; that nothing matched */
};

enum assay_dtype_why {
    ASSAY_DTYPE_AS_ASKED = 0,
    ASSAY_DTYPE_NOT_HIT,    /* no module has that name */
    ASSAY_DTYPE_OVERRIDDEN, /* by a later template */
    ASSAY_DTYPE_FELL_BACK,  /* the operator, or a fusion, has no such form */
    ASSAY_DTYPE_UNSAID,     /* no file says why */
};
struct assay_dtype_verdict {
    const char *module, *asked, *got, *by, *text, *near;
    enum assay_dtype_why why;
    uint32_t line; /* of the change that decided; 0 */
};

struct assay_evidence_file {
    const char *path;
    enum assay_evidence_kind kind;
};

struct assay_triage_evidence {
    struct assay_arena *arena; /* owned */
    uint32_t n_files, cap_files, n_ignored;
    struct assay_evidence_file *files;
    uint32_t n_layers, cap_layers;
    struct assay_layer_row *layers;
    uint32_t n_badcases, cap_badcases;
    struct assay_badcase *badcases;
    uint32_t n_sensitive, cap_sensitive;
    struct assay_sensitive_op *sensitive;
    uint32_t n_got, cap_got; /* model_check_result.txt */
    struct assay_dtype_row *got;
    uint32_t n_config, cap_config; /* qconfig_dtypes.pt.py */
    struct assay_dtype_row *config;
    uint32_t n_changes, cap_changes;
    struct assay_dtype_change *changes;
    uint32_t n_verdicts, cap_verdicts; /* modules that did not get it */
    struct assay_dtype_verdict *verdicts;
    uint32_t n_as_asked;         /* modules that did */
    struct assay_vendor *vendor; /* NULL: none of its files */
};

int assay_evidence_new(struct assay_triage_evidence **out,
                       struct assay_err *err) ASSAY_MUST_CHECK;
/* A file, or the files of a folder and of its folders; `skip` are names of
 * folders that are no evidence. A named file that is none of these is refused
 * (named), one of a folder is counted. */
int assay_evidence_add(struct assay_triage_evidence *e, const char *path,
                       bool named, const char *const *skip,
                       struct assay_err *err) ASSAY_MUST_CHECK;
/* Once all files are there: asks for dtypes against what was got. */
int assay_evidence_finish(struct assay_triage_evidence *e,
                          struct assay_err *err) ASSAY_MUST_CHECK;
void assay_evidence_free(struct assay_triage_evidence *e); /* NULL safe */

/* Indices of the n most sensitive layers, worst first; returns how many. */
uint32_t assay_evidence_worst(const struct assay_triage_evidence *e,
                              uint32_t *out, uint32_t n);
/* "clipped" or "rounding": what the ranges of a row say; "" nothing. */
const char *assay_layer_row_error(const struct assay_layer_row *r);

/* ---- of this room -------------------------------------------------------- */

/* The dtype that a text names first, in the vendor's spelling; NULL: none. */
const char *assay_dtype_word(const char *text, size_t n);
/* A zeroed element more; NULL: no memory, or too many. */
void *assay_evidence_grow(struct assay_triage_evidence *e, void *array,
                          uint32_t *n, uint32_t *cap, size_t size);
/* Text in the arena. */
const char *assay_evidence_text(struct assay_triage_evidence *e, const char *s,
                                size_t n);

typedef int (*assay_evidence_reader_fn)(struct assay_triage_evidence *e,
                                        const char *text, size_t n,
                                        const char *file,
                                        struct assay_err *err);
int assay_evidence_layers(struct assay_triage_evidence *e, const char *text,
                          size_t n, const char *file, struct assay_err *err);
int assay_evidence_badcases(struct assay_triage_evidence *e, const char *text,
                            size_t n, const char *file, struct assay_err *err);
int assay_evidence_sensitive(struct assay_triage_evidence *e, const char *text,
                             size_t n, const char *file, struct assay_err *err);
int assay_evidence_check(struct assay_triage_evidence *e, const char *text,
                         size_t n, const char *file, struct assay_err *err);
int assay_evidence_config(struct assay_triage_evidence *e, const char *text,
                          size_t n, const char *file, struct assay_err *err);
int assay_evidence_changes(struct assay_triage_evidence *e, const char *text,
                           size_t n, const char *file, struct assay_err *err);
int assay_evidence_judge_dtypes(struct assay_triage_evidence *e,
                                struct assay_err *err);

#endif
