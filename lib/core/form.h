/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forms and rules: arithmetic in words.
 *
 * A model whose layers carry their multipliers and shifts (domain horizon,
 * dialect b30) does not say in which order, width and rounding they are used.
 * Its reader gives such a layer a *form* ("conv", "add", "lut_segments", ...)
 * and *fields* (the file's integers by name). A *rule*, one line of text from
 * a numerics file, from --arith or from fit-arith, turns the fields into the
 * layer's programs. So no choice of arithmetic stands in a reader.
 *
 *   rule    = section *( "|" section )
 *   section = [ name ":" ] step *( ";" step )
 *   step    = word *operand
 *
 * Sections: of BINARY "x:" and "e:" (its two operands' programs), of PRELU
 * "pos:" and "neg:"; the last section, without name, is the output program.
 * A section that is left out is empty. An operand is a field's name or an
 * integer. A step that names a field which the layer does not have is left
 * out, so that one rule serves layers with and without bias or second input.
 *
 *   add F [wrap32|sat32]   shl F   shr F ROUND   mul F   add_zp F
 *   add_input SHIFT ROUND SCALE      v + SHR(e, shift, round) * scale
 *   add_scaled SCALE SHIFT ROUND     v + SHR(e * scale, shift, round)
 *   srdhm F   sdmulh F
 *   sat N|out   wrap N|out           out: the width of the output's dtype
 *   clamp LO HI   relu               relu: clamp at 0, if field `relu` is there
 *   to_f32   fmul F   fdiv F   fadd F   fclamp out   fround ROUND
 *   derive ROUND    first in the last section: where the layer has no field
 *                   `scale` but `real` (binary64 bits), scale and post_shift
 *                   are made of it: scale in [2^14, 2^15) rounded by ROUND, or
 *                   of the given post_shift
 *   index ascending|unsigned         forms of a 256-entry table
 *   line ROUND   mix ROUND           lut_segments: right shift, interpolation
 *   between N                        resize: shift between the two passes
 *
 * ROUND: floor ceil trunc half_up half_even half_away half_down half_zero.
 * docs/numerics.md, "Rules". Pure but for the slice's arena; not thread safe.
 */
#ifndef ASSAY_CORE_FORM_H
#define ASSAY_CORE_FORM_H

#include <string.h>

#include "lib/core/slice.h"

/* Of a layer: its field of that name, or NULL. */
const struct assay_field *assay_field_find(const struct assay_layer *l,
                                           const char *name);
/* Appends a field, copied into the slice's arena. */
int assay_field_add(struct assay_slice *s, struct assay_layer *l,
                    const char *name, uint32_t n, const int64_t *v,
                    struct assay_err *err) ASSAY_MUST_CHECK;

/* What a rule has made of a layer: its field is the index of a tensor. */
#define ASSAY_FIELD_BIAS ".bias"
#define ASSAY_FIELD_TABLE ".table"
#define ASSAY_FIELD_TABLE_UNSIGNED ".table_unsigned"
static inline bool assay_field_is_tensor(const char *name)
{
    return strcmp(name, ASSAY_FIELD_BIAS) == 0 ||
           strcmp(name, ASSAY_FIELD_TABLE) == 0 ||
           strcmp(name, ASSAY_FIELD_TABLE_UNSIGNED) == 0;
}

/* i-th known form, NULL behind the last. */
const char *assay_form_name(unsigned i);
/* "half_up" of an enum assay_round; "?": no such. A rule may say all but
 * "add_half". */
const char *assay_round_name(unsigned round);

/* Is the text a rule for this form? The sentence says which word is wrong. */
int assay_rule_check(const char *form, const char *text, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Programs (and parameters that are choices) of one layer under a rule; the
 * layer has a form. Sets l->rule and l->arith. */
int assay_rule_apply(struct assay_slice *s, uint32_t layer, const char *text,
                     struct assay_err *err) ASSAY_MUST_CHECK;

/*
 * A numerics as read from its data file (host-tools/model/numerics_file.h):
 * a rule for each form, and which dtypes of the output a golden proved.
 */
struct assay_numerics_rule {
    const char *form;
    const char *rule;
    uint32_t proved;    /* bit 1 << enum assay_dtype */
    const char *golden; /* what proved it, "" */
    const char *note;   /* tier and reason, for people; "" */
};
struct assay_numerics {
    const char *name;   /* "bayes-e", "nash", ... */
    const char *source; /* file it was read from; "built in" */
    const char *note;
    uint32_t n_rules;
    const struct assay_numerics_rule *rules;
};
const struct assay_numerics_rule *assay_numerics_find(
    const struct assay_numerics *n, const char *form);
/* Programs of all layers that have a form. A form without a rule is refused. */
int assay_numerics_use(struct assay_slice *s, const struct assay_numerics *n,
                       struct assay_err *err) ASSAY_MUST_CHECK;

#endif
