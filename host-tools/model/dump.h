/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the files that runs on a board leave behind: of
 * `hrt_model_exec infer --dump_intermediate`, one for each input and output of
 * each node of the runtime (layer-0-bpu-<segment>-output-0-<tensor>.bin); of
 * `--enable_dump`, one for each input and output of the model
 * (model_infer_output_0_<tensor>.bin); and what applications save (<tensor>.npy,
 * output_0.npy, 0.npy). A name is no proof: it says where to look. Pure.
 */
#ifndef ASSAY_MODEL_DUMP_H
#define ASSAY_MODEL_DUMP_H

#include <stdbool.h>
#include <stdint.h>

enum assay_dump_kind {
    ASSAY_DUMP_OTHER = 0, /* no file of elements */
    ASSAY_DUMP_NODE,      /* a node's input or output */
    ASSAY_DUMP_MODEL,     /* the model's */
    ASSAY_DUMP_INDEX,     /* a number alone: no tensor's name */
    ASSAY_DUMP_PLAIN,     /* what may be a tensor's name */
};
enum assay_dump_form {
    ASSAY_DUMP_BIN = 0,
    ASSAY_DUMP_TXT,
    ASSAY_DUMP_NPY,
};
#define ASSAY_DUMP_NAME_CAP 512u
struct assay_dump_name {
    enum assay_dump_kind kind;
    enum assay_dump_form form;
    bool is_input;
    bool is_bpu;    /* NODE: a segment of the accelerator */
    uint32_t layer; /* NODE: the runtime's number of the node */
    uint32_t index; /* NODE, MODEL, INDEX: the number of the input or output */
    char tensor[ASSAY_DUMP_NAME_CAP]; /* "" where the name has none */
};
/* `name`: without folders. True: out->kind is not OTHER. */
bool assay_dump_name(struct assay_dump_name *out, const char *name);
/* The number alone of "output_0", "arr_3", "input1", "7"; false: another. */
bool assay_dump_index(uint32_t *index, bool *is_input, const char *stem);

#endif
