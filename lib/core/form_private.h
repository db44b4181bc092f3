/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule as it is read (form_parse.c) and built (form_build.c). Private to
 * lib/core/form*.c.
 */
#ifndef ASSAY_CORE_FORM_PRIVATE_H
#define ASSAY_CORE_FORM_PRIVATE_H

#include "lib/core/form.h"

enum assay_word {
    ASSAY_WORD_ADD,
    ASSAY_WORD_SHL,
    ASSAY_WORD_SHR,
    ASSAY_WORD_MUL,
    ASSAY_WORD_ADD_ZP,
    ASSAY_WORD_ADD_INPUT,
    ASSAY_WORD_ADD_SCALED,
    ASSAY_WORD_SRDHM,
    ASSAY_WORD_SDMULH,
    ASSAY_WORD_SAT,
    ASSAY_WORD_WRAP,
    ASSAY_WORD_CLAMP,
    ASSAY_WORD_RELU,
    ASSAY_WORD_TO_F32,
    ASSAY_WORD_FMUL,
    ASSAY_WORD_FDIV,
    ASSAY_WORD_FADD,
    ASSAY_WORD_FCLAMP,
    ASSAY_WORD_FROUND,
    ASSAY_WORD_DERIVE,
    ASSAY_WORD_INDEX,
    ASSAY_WORD_LINE,
    ASSAY_WORD_MIX,
    ASSAY_WORD_BETWEEN,
};

/* A field's name, or an integer where name is NULL. */
struct assay_rule_operand {
    const char *name; /* one of the known names: a constant */
    int64_t v;
};

struct assay_rule_step {
    enum assay_word word;
    uint8_t round; /* enum assay_round */
    uint8_t mode;  /* add: enum assay_add_mode; index: 1 is unsigned */
    uint8_t bits;  /* sat, wrap; 0: the output's */
    struct assay_rule_operand arg[2];
};

/* Longer than a program: words that choose parameters stand beside steps. */
#define ASSAY_RULE_STEPS 24
#define ASSAY_RULE_TEXT 1000

enum { ASSAY_SECTION_FIRST, ASSAY_SECTION_SECOND, ASSAY_SECTION_LAST };

struct assay_rule {
    uint32_t n[3]; /* steps of x or pos, of e or neg, of the output */
    struct assay_rule_step step[3][ASSAY_RULE_STEPS];
};

/* What a rule may hold in a form. */
struct assay_form {
    const char *name;
    const char *first, *second;    /* sections with a name, NULL: none */
    bool from_float, to_float;     /* what the output program takes and gives */
    bool index, segments, between; /* words of tables and of resize */
};
const struct assay_form *assay_form_find(const char *name);

/* The words of a rule; the sentence says which one is wrong, and where. */
int assay_rule_parse(const struct assay_form *form, const char *text,
                     struct assay_rule *out, struct assay_err *err)
    ASSAY_MUST_CHECK;

/* ---- what the build shares ---------------------------------------------- */

/* One layer while a rule is applied to it; nothing of the layer is changed
 * before all of it is known to be good. */
struct assay_rule_use {
    struct assay_slice *s;
    struct assay_layer *l;
    const struct assay_rule *rule;
    struct assay_err *err;
    /* derive: stand for the fields `scale` and `post_shift`. */
    struct assay_field derived_scale, derived_shift;
    int64_t between;  /* resize: the shift between the passes */
    bool bias_in_sum; /* the first step is in the accumulator */
    bool sum_wraps;   /* the kernel's accumulator wraps at 32 by itself */
};

/* The field that an operand names, derived or given; NULL: none. */
const struct assay_field *assay_rule_field(const struct assay_rule_use *u,
                                           const char *name);
/* Derives scale and post_shift where the rule says so and they are missing. */
int assay_rule_derive(struct assay_rule_use *u) ASSAY_MUST_CHECK;
/* The program of one section. */
int assay_rule_program(struct assay_rule_use *u, uint32_t section,
                       struct assay_program *out) ASSAY_MUST_CHECK;

/* form_sum.c: bias and accumulator of convolutions and matrix products. */
bool assay_form_has_sum(const struct assay_layer *l);
/* Sets bias_in_sum and sum_wraps. */
int assay_form_sum(struct assay_rule_use *u) ASSAY_MUST_CHECK;
/* The bias becomes an input of the layer, or stops being one. */
int assay_form_set_bias(struct assay_rule_use *u) ASSAY_MUST_CHECK;

/* form_table.c: the order of a 256-entry table. */
int assay_form_table(struct assay_rule_use *u, bool is_unsigned,
                     uint32_t *tensor) ASSAY_MUST_CHECK;

#endif
