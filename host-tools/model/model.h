/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Model readers: {probe, open}. A reader turns one file into a slice with the
 * source's names, scales and op parameters; arithmetic is added afterwards by
 * assay_numerics_apply() (lib/core/arith.h). Adding a format is one file and
 * one line in the table of model.c. Nothing is half-loaded: on failure no
 * slice is returned and err holds one sentence (what, where, expected, found).
 */
#ifndef ASSAY_MODEL_MODEL_H
#define ASSAY_MODEL_MODEL_H

#include <stdbool.h>

#include "lib/core/slice.h"

struct assay_model_note {
    void *self;
    /* A remark for the user (stderr): ignored array, skipped node, ... */
    void (*note)(void *self, const char *text);
    /* How something was understood, for who asks: shown with -v, kept for
     * reports. May be NULL. */
    void (*detail)(void *self, const char *text);
    /* What the reference says of a tensor that the model file gives no shape:
     * the source's dims and a dtype, or false. May be NULL. */
    bool (*shape)(void *self, const char *tensor, uint32_t *rank,
                  int64_t dims[ASSAY_MAX_RANK], enum assay_dtype *dtype);
    /* For readers that are mapped: told that bytes of data below offset are
     * not needed for now. May be NULL; assay_model_open() sets it. */
    void (*passed)(void *self, size_t offset);
    void *passed_self;
};

struct assay_model_reader {
    const char *format; /* "onnx" */
    const char *suffix; /* ".onnx" */
    bool mapped;        /* text of any size: mapped, not read */
    bool recorded;      /* a slice as it is: with its model's name and hash, */
                        /* and with its programs */
    bool (*probe)(const uint8_t *head, size_t n);
    int (*open)(struct assay_slice **out, const uint8_t *data, size_t n,
                const char *file, const struct assay_model_note *note,
                struct assay_err *err);
};

/* Reads the file, picks the reader, checks the size cap, fills model_name,
 * model_format and model_sha256. No programs yet, but in a recorded slice
 * (model_format "slice"). */
int assay_model_open(struct assay_slice **out, const char *path,
                     const struct assay_model_note *note, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
