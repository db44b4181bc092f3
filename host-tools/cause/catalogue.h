/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The catalogue of causes. An entry is an *edit* of a layer: it changes a
 * slice so that it computes what it would if this fault were there. The search
 * runs edited layers and compares bytes; `assay mutate` writes an edited slice.
 * So an entry is written once, and both ends prove each other.
 *
 * Ids are permanent (docs/hypotheses.md); a retired one is not used again.
 */
#ifndef ASSAY_CAUSE_CATALOGUE_H
#define ASSAY_CAUSE_CATALOGUE_H

#include <stdbool.h>

#include "lib/core/slice.h"

enum assay_cause_id {
#define ASSAY_CAUSE(id, structural, solved, edit, variants, name, advice) \
    ASSAY_CAUSE_##id,
#include "host-tools/cause/catalogue.def"
#undef ASSAY_CAUSE
    ASSAY_CAUSE_COUNT
};

/* One way to be wrong: an entry, which of its variants, and the number that
 * was solved for (entries with `solved`). */
struct assay_edit {
    enum assay_cause_id id;
    uint32_t variant;
    int64_t value;
};

/*
 * Changes layer *layer of s, in place; s is a copy (slice_part.h). Layers may
 * be put in front of or behind it: *layer is its index afterwards. The tensor
 * that the layer gave is then still the one that its readers read, and stays
 * is_output. Tensors are only appended. Nothing of `from` is written to: new
 * constants and operands are in the arena of s; the constants have no hash
 * (sha256 is 0): who sends or writes the slice makes it.
 * 0; ASSAY_EDIT_* > 0 with s unchanged; or a negative ASSAY_E*.
 */
enum {
    ASSAY_EDIT_NOT_HERE = 1, /* this layer has nothing of the kind */
    ASSAY_EDIT_SAME = 2,     /* it would change no output of any input */
};
typedef int assay_edit_fn(struct assay_slice *s, uint32_t *layer,
                          const struct assay_edit *e, struct assay_err *err);

struct assay_cause {
    const char *id;   /* "R1" */
    const char *name; /* "rounds twice" */
    /* Words by blanks, one a variant: "top left bottom right"; "" is one
     * variant without a name. */
    const char *variants;
    /* In the user's terms: what to change, on which side. {variant}, {value}
     * stand for the edit's own. */
    const char *advice;
    bool structural; /* both ends share the importer: suspect it as well */
    bool solved;     /* `value` is solved for from the differing elements */
    assay_edit_fn *edit;
};
const struct assay_cause *assay_cause_of(enum assay_cause_id id);
/* Id of "R1"; ASSAY_CAUSE_COUNT: no such entry. */
enum assay_cause_id assay_cause_find(const char *id);
/* Can a slice say it? Else edit is NOT_HERE everywhere. */
bool assay_cause_is_slice(const struct assay_cause *c);
uint32_t assay_cause_variants(const struct assay_cause *c);
/* Name of variant i, "" where it has none; returns out. */
const char *assay_cause_variant(const struct assay_cause *c, uint32_t i,
                                char *out, size_t cap);
/* "R5=trunc", "P5=bottom:128", "R1": how --set and --hypothesis write an edit.
 * The sentence says what was expected. */
int assay_edit_parse(struct assay_edit *out, const char *text,
                     struct assay_err *err) ASSAY_MUST_CHECK;
const char *assay_edit_text(const struct assay_edit *e, char *out, size_t cap);

/* Applies an edit; what assay_edit_fn says. */
int assay_edit_apply(struct assay_slice *s, uint32_t *layer,
                     const struct assay_edit *e, struct assay_err *err)
    ASSAY_MUST_CHECK;

/* One file a family: edit_round.c R, edit_sum.c A B Z, edit_pad.c P,
 * edit_scale.c Q S F, edit_weight.c W, edit_bytes.c L U, edit_op.c O. */
assay_edit_fn assay_edit_round, assay_edit_sum, assay_edit_pad,
    assay_edit_scale, assay_edit_weight, assay_edit_bytes, assay_edit_op,
    assay_edit_none;

#endif
