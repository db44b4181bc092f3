/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences between the parts of a case that are no faults: another version
 * or option, another march, a tail of integers here and of floats there, a
 * Quantize or Dequantize that was removed, an output under another name. They
 * are recognised, compared where that can be done exactly, and told with the
 * reason; the exit status is that of what was compared.
 * Told ones are kept in the case, each once. One thread.
 */
#ifndef ASSAY_MODEL_DIFFER_H
#define ASSAY_MODEL_DIFFER_H

#include "host-tools/model/case.h"

struct json_t;

/* Ids are stable: "march", "version", "option", "tail", "removed-quantize",
 * "removed-dequantize", "renamed", "ambiguous". What does not fit is left
 * out; the subject tells apart. */
void assay_case_differ(struct assay_case *c, const char *id,
                       const char *subject, const char *file,
                       const char *expected, const char *found, const char *fmt,
                       ...) ASSAY_PRINTF(7, 8);
void assay_case_differences_close(struct assay_case *c);

/* case.json: march, versions and options of the reference against those of
 * columns.sim and columns.bpu. */
void assay_case_differ_json(struct assay_case *c, const struct json_t *j,
                            const char *file);
/* The first bytes of the model's text, for its hbdk.target; the numerics in
 * use. */
void assay_case_differ_model(struct assay_case *c, const char *head, size_t n,
                             const char *file, const char *numerics);

/* Where an array belongs whose name is that of `tensor` and which has
 * integers where the tensor has floats, or the reverse: *index is the tensor
 * in front of its Dequantize, or behind its Quantize or Dequantize. False:
 * there is none. *id: what kind of difference it is. */
bool assay_differ_place(uint32_t *index, const char **id,
                        const struct assay_slice *slice, uint32_t tensor,
                        enum assay_dtype have, uint32_t rank,
                        const int64_t *dims);
/* Floats that are integers times the tensor's scale, as those integers; false
 * where one is not, or no scale is known. out: elements of the tensor. */
bool assay_differ_integers(void *out, const struct assay_tensor *t,
                           const float *x, size_t count);

/* An array of an npz whose name nobody has: is it an output of the model under
 * another name? One that the npz lacks under its own name, by type, shape and
 * content: that of the reference, and not all elements alike. What one sample
 * has shown holds for the next, whatever its content: `before` is what
 * assay_case_renamed_before found, UINT32_MAX for nothing. */
enum assay_renamed {
    ASSAY_RENAMED_NO = 0,
    ASSAY_RENAMED_YES,       /* one output has this content: *index */
    ASSAY_RENAMED_AMBIGUOUS, /* none or several have; `list` names them */
};
enum assay_renamed assay_differ_renamed(uint32_t *index, char *list, size_t cap,
                                        uint32_t before,
                                        const struct assay_slice *slice,
                                        const struct assay_sample *reference,
                                        const struct assay_npz *z,
                                        const struct assay_array *a);
/* The tensor that a difference "renamed" has told of this name. */
uint32_t assay_case_renamed_before(const struct assay_case *c,
                                   const struct assay_slice *slice,
                                   const char *name);

#endif
