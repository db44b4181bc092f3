/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/step_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/core/form.h"

static const char *const names[] = {
    [ASSAY_STEP_ADD] = "add",
    [ASSAY_STEP_SHL] = "shl",
    [ASSAY_STEP_SHR] = "shr",
    [ASSAY_STEP_MUL] = "mul",
    [ASSAY_STEP_SRDHM] = "srdhm",
    [ASSAY_STEP_SDMULH] = "sdmulh",
    [ASSAY_STEP_ADD_INPUT] = "add_input",
    [ASSAY_STEP_SAT] = "sat",
    [ASSAY_STEP_WRAP] = "wrap",
    [ASSAY_STEP_TO_F32] = "to_f32",
    [ASSAY_STEP_TO_F64] = "to_f64",
    [ASSAY_STEP_FMUL] = "fmul",
    [ASSAY_STEP_FDIV] = "fdiv",
    [ASSAY_STEP_FADD] = "fadd",
    [ASSAY_STEP_FFMA] = "ffma",
    [ASSAY_STEP_FCLAMP] = "fclamp",
    [ASSAY_STEP_FROUND] = "fround",
    [ASSAY_STEP_ADD_ZP] = "add_zp",
    [ASSAY_STEP_CLAMP] = "clamp",
    [ASSAY_STEP_ADD_SCALED] = "add_scaled",
};

enum assay_text_width assay_step_width(const struct assay_program *p,
                                       uint32_t n, enum assay_text_width before)
{
    for (uint32_t i = 0; i < n; i++) {
        if (p->steps[i].kind == ASSAY_STEP_TO_F32)
            before = ASSAY_TEXT_F32;
        else if (p->steps[i].kind == ASSAY_STEP_TO_F64)
            before = ASSAY_TEXT_F64;
        else if (p->steps[i].kind == ASSAY_STEP_FROUND)
            before = ASSAY_TEXT_INT;
    }
    return before;
}

static void append_operand(char *out, size_t cap, const struct assay_step *s,
                           const int64_t *v, size_t channel, bool wide)
{
    size_t at = strlen(out);
    bool is_float = s->kind >= ASSAY_STEP_FMUL && s->kind <= ASSAY_STEP_FCLAMP;
    int64_t bits;

    if (v == NULL)
        return;
    bits = v[channel != ASSAY_ALL_CHANNELS && s->n > 1 ? channel : 0];
    if (is_float && wide) {
        double d;

        memcpy(&d, &bits, sizeof(d));
        snprintf(out + at, cap - at, " %.17g", d);
    } else if (is_float) {
        uint32_t low = (uint32_t)bits;
        float f;

        memcpy(&f, &low, sizeof(f));
        snprintf(out + at, cap - at, " %.9g", (double)f);
    } else {
        snprintf(out + at, cap - at, " %" PRId64, bits);
    }
    at = strlen(out);
    if (s->n > 1 && channel == ASSAY_ALL_CHANNELS)
        snprintf(out + at, cap - at, ".. (%" PRIu32 " channels)", s->n);
}

static bool has_round(uint8_t kind)
{
    return kind == ASSAY_STEP_SHR || kind == ASSAY_STEP_ADD_INPUT ||
           kind == ASSAY_STEP_ADD_SCALED || kind == ASSAY_STEP_FROUND;
}

const char *assay_step_text(const struct assay_program *p, uint32_t i,
                            size_t channel, char *out, size_t cap)
{
    const struct assay_step *s = &p->steps[i];
    bool wide = assay_step_width(p, i, ASSAY_TEXT_INT) == ASSAY_TEXT_F64;
    size_t at;

    out[0] = '\0';
    if (s->kind >= sizeof(names) / sizeof(names[0]) || names[s->kind] == NULL)
        return out;
    snprintf(out, cap, "%s", names[s->kind]);
    append_operand(out, cap, s, s->a, channel, wide);
    append_operand(out, cap, s, s->b, channel, wide);
    at = strlen(out);
    if (s->kind == ASSAY_STEP_SAT || s->kind == ASSAY_STEP_WRAP)
        snprintf(out + at, cap - at, " %u", s->bits);
    if (has_round(s->kind))
        snprintf(out + at, cap - at, " %s", assay_round_name(s->round));
    return out;
}
