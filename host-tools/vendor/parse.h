/* SPDX-License-Identifier: Apache-2.0 */
/* The readers of host-tools/vendor: internal to this room. */
#ifndef ASSAY_VENDOR_PARSE_H
#define ASSAY_VENDOR_PARSE_H

#include <jansson.h>

#include "host-tools/vendor/vendor.h"

/* Caps: what is larger is no such file. */
#define ASSAY_VENDOR_MAX_FILE (64u << 20)
#define ASSAY_VENDOR_MAX_YAML (1u << 20)
#define ASSAY_VENDOR_MAX_NODES ASSAY_MAX_LAYERS
#define ASSAY_VENDOR_MAX_LIST 4096u
#define ASSAY_VENDOR_MAX_INPUTS 256u

/* data[n] is 0; `file` is borrowed from the vendor's arena. */
typedef int (*assay_vendor_reader_fn)(struct assay_vendor *v, char *data,
                                      size_t n, const char *file,
                                      struct assay_err *err);
/* load.c: nothing read yet; then one file's bytes, in whose kind VEC_DIFF and
 * UNKNOWN do not occur. */
int assay_vendor_new(struct assay_vendor **out, struct assay_err *err);
int assay_vendor_read(struct assay_vendor *v, enum assay_vendor_kind kind,
                      char *data, size_t n, const char *file,
                      struct assay_err *err);
int assay_vendor_read_yaml(struct assay_vendor *v, char *data, size_t n,
                           const char *file, struct assay_err *err);
int assay_vendor_read_log(struct assay_vendor *v, char *data, size_t n,
                          const char *file, struct assay_err *err);
int assay_vendor_read_quant_info(struct assay_vendor *v, char *data, size_t n,
                                 const char *file, struct assay_err *err);
int assay_vendor_read_quant_config(struct assay_vendor *v, char *data, size_t n,
                                   const char *file, struct assay_err *err);
int assay_vendor_read_model_info(struct assay_vendor *v, char *data, size_t n,
                                 const char *file, struct assay_err *err);
int assay_vendor_read_verifier(struct assay_vendor *v, char *data, size_t n,
                               const char *file, struct assay_err *err);
int assay_vendor_read_disas(struct assay_vendor *v, char *data, size_t n,
                            const char *file, struct assay_err *err);

int assay_vendor_read_runtime(struct assay_vendor *v, char *data, size_t n,
                              const char *file, struct assay_err *err);
int assay_vendor_read_node_info(struct assay_vendor *v, char *data, size_t n,
                                const char *file, struct assay_err *err);
int assay_vendor_read_advice(struct assay_vendor *v, char *data, size_t n,
                             const char *file, struct assay_err *err);

/* log.c: a line as a terminal shows it in the end: colours go, what was
 * written over goes, NUL bytes go. In place. */
void assay_vendor_clean(char *line, size_t n);
/* "int8/int16", of inputs and outputs, becomes "int8". node_info.c */
int assay_vendor_first_dtype(struct assay_vendor *v, const char **dtype,
                             struct assay_err *err);
/* Rows of one more table of nodes, or of outputs: the first table stays, what
 * another says otherwise is kept as v->differing_log. */
void assay_vendor_merge(struct assay_vendor *v, const struct assay_vendor *more,
                        const char *file);

/* claims.c: one claim, once a file. A value is text [0, n) of `value`; what
 * has other characters than versions and names have says nothing. */
int assay_vendor_claim(struct assay_vendor *v, const struct assay_claim *like,
                       const char *value, size_t n, struct assay_err *err);
/* What YAML, log and hbdk-disas say, once all files are read. */
int assay_vendor_claims(struct assay_vendor *v, struct assay_err *err);

/* config.c: one setting, whichever file it came from. A key that is not
 * known is passed over. */
int assay_vendor_setting(struct assay_vendor *v, struct assay_vendor_config *c,
                         const char *key, const char *value,
                         struct assay_err *err);
int assay_vendor_override(struct assay_vendor *v, const char *file,
                          const char *node, const char *key, const char *value,
                          struct assay_err *err);
/* Empty texts instead of NULL. */
void assay_vendor_config_init(struct assay_vendor_config *c, const char *file);
/* Splits at any of `separators`, trimmed; empty pieces are kept when
 * keep_empty (a trailing one never is). */
int assay_vendor_split(struct assay_vendor *v, struct assay_vendor_texts *out,
                       const char *text, const char *separators,
                       bool keep_empty, const char *file,
                       struct assay_err *err);
enum assay_vendor_on assay_vendor_on_of(const char *text);

/* deps.c: a Python literal (dict, list, text, number, True, False, None) as
 * JSON; *end: behind it. Owned by the caller. */
int assay_vendor_python(json_t **out, const char *text, size_t n,
                        const char **end, const char *file,
                        struct assay_err *err);
int assay_vendor_read_deps(struct assay_vendor *v, const char *text, size_t n,
                           const char *file, struct assay_err *err);

/* Grown arrays: a zeroed new element, or NULL when memory or `limit` ends. */
void *assay_vendor_grow(struct assay_vendor *v, void *array, uint32_t *n,
                        uint32_t *cap, size_t size, uint32_t limit);
int assay_vendor_too_many(const char *file, const char *what,
                          struct assay_err *err);
/* lookup.c: once all files are read. */
int assay_vendor_index(struct assay_vendor *v, struct assay_err *err);
/* A JSON text with its errors as one sentence. Owned by the caller. */
int assay_vendor_json(json_t **out, const char *data, size_t n,
                      const char *file, struct assay_err *err);
char *assay_vendor_str(struct assay_vendor *v,
                       const char *s); /* NULL: memory */

#endif
