/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a hand calculation, and those of a program. */
#include <inttypes.h>
#include <string.h>

#include "host-tools/explain.h"
#include "host-tools/step_text.h"

#define WIDTH 52 /* columns in front of a value */

void assay_explain_line(FILE *out, const char *what, const char *value)
{
    int columns = 0;

    for (const char *p = what; *p != '\0'; p++)
        columns += ((unsigned char)*p & 0xc0) != 0x80;
    fprintf(out, "\n%s%*s %16s", what, columns < WIDTH ? WIDTH - columns : 0,
            "", value);
}

union assay_value assay_explain_get(const struct assay_explain *e, uint32_t t,
                                    size_t i)
{
    const struct assay_tensor *k = &e->one->tensors[t];
    const uint8_t *data =
        k->role == ASSAY_ROLE_CONSTANT ? k->data : e->inputs[t];
    union assay_value v;

    assay_load_values(k->dtype, data + i * assay_dtype_bytes(k->dtype), &v, 1);
    return v;
}

const char *assay_explain_value(enum assay_dtype dtype,
                                const union assay_value *v, char *out,
                                size_t cap)
{
    if (dtype == ASSAY_F32)
        snprintf(out, cap, "%.9g", (double)v->f);
    else
        snprintf(out, cap, "%" PRId64, v->i);
    return out;
}

static const char *width_text(enum assay_text_width w,
                              const union assay_value *v, char *out, size_t cap)
{
    if (w == ASSAY_TEXT_F64)
        snprintf(out, cap, "%.17g", v->d);
    else if (w == ASSAY_TEXT_F32)
        snprintf(out, cap, "%.9g", (double)v->f);
    else
        snprintf(out, cap, "%" PRId64, v->i);
    return out;
}

void assay_explain_program(const struct assay_explain *e,
                           const struct assay_program *p, size_t channel,
                           const int32_t *second, union assay_value *v,
                           bool is_f32, const char *indent)
{
    enum assay_text_width before = is_f32 ? ASSAY_TEXT_F32 : ASSAY_TEXT_INT;
    const struct assay_tensor *y = &e->one->tensors[e->one->layers[0].output];
    size_t channels = y->rank > 0 ? (size_t)y->dims[y->rank - 1] : 1;

    const union assay_value first = *v;
    struct assay_program part = *p;

    /* From the start each time: a float's width is known only so. */
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const struct assay_block block = {.v = v,
                                          .n = 1,
                                          .channel = channel,
                                          .channels = channels,
                                          .second = second};
        char step[160], what[220], value[40];

        *v = first;
        part.n_steps = i + 1;
        assay_program_run(&part, &block);
        assay_step_text(p, i, channel, step, sizeof(step));
        snprintf(what, sizeof(what), "%s%s", indent, step);
        if (second && (p->steps[i].kind == ASSAY_STEP_ADD_INPUT ||
                       p->steps[i].kind == ASSAY_STEP_ADD_SCALED))
            snprintf(what + strlen(what), sizeof(what) - strlen(what),
                     " of %" PRId32, *second);
        assay_explain_line(e->out, what,
                           width_text(assay_step_width(p, i + 1, before), v,
                                      value, sizeof(value)));
    }
}
