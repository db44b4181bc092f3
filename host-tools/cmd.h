/* SPDX-License-Identifier: Apache-2.0 */
/* One function a sub-command: options in, exit code out. */
#ifndef ASSAY_HOST_CMD_H
#define ASSAY_HOST_CMD_H

#include "host-tools/options.h"

int assay_cmd_run(const struct assay_options *o, int argc, char **argv);
int assay_cmd_import(const struct assay_options *o, int argc, char **argv);
int assay_cmd_show(const struct assay_options *o, int argc, char **argv);
int assay_cmd_info(const struct assay_options *o, int argc, char **argv);
int assay_cmd_self_test(const struct assay_options *o, int argc, char **argv);
int assay_cmd_explain(const struct assay_options *o, int argc, char **argv);
int assay_cmd_pinpoint(const struct assay_options *o, int argc, char **argv);
int assay_cmd_impact(const struct assay_options *o, int argc, char **argv);
int assay_cmd_triage(const struct assay_options *o, int argc, char **argv);
int assay_cmd_lint(const struct assay_options *o, int argc, char **argv);
int assay_cmd_output(const struct assay_options *o, int argc, char **argv);
int assay_cmd_mutate(const struct assay_options *o, int argc, char **argv);
int assay_cmd_replay(const struct assay_options *o, int argc, char **argv);
int assay_cmd_image(const struct assay_options *o, int argc, char **argv);
int assay_cmd_keygen(const struct assay_options *o, int argc, char **argv);
int assay_cmd_pair(const struct assay_options *o, int argc, char **argv);
int assay_cmd_fit_arith(const struct assay_options *o, int argc, char **argv);

/* show --vendor: the table of all layers and the findings; one layer's line. */
struct assay_prepared;
void assay_show_vendor(const struct assay_prepared *p);
void assay_show_vendor_layer(const struct assay_prepared *p, uint32_t layer);

/* Writes a file .slice and prints that; `mutation`: what was changed in it on
 * purpose, or "". */
struct assay_slice;
int assay_cmd_write_slice(const char *path, struct assay_slice *s,
                          const char *mutation, struct assay_err *err)
    ASSAY_MUST_CHECK;

/* A command's report where --format json and --json want it: a file appears
 * complete or not at all. Takes root; NULL: there was no memory for it. */
struct json_t;
int assay_cmd_write_json(const struct assay_options *o, struct json_t *root,
                         struct assay_err *err) ASSAY_MUST_CHECK;

/* "error: ..." on stderr; the exit code of the error's class. */
int assay_cmd_failed(const struct assay_err *err);
/* The board of --target, or this process; ASSAY_EUSAGE when none is named. */
struct assay_backend;
int assay_cmd_open_board(struct assay_backend **out,
                         const struct assay_options *o, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
