/* SPDX-License-Identifier: Apache-2.0 */
/* Differences that are no faults, told with their reason. */
#include <stdio.h>
#include <string.h>

#include "host-tools/run_lines.h"

#define MAX_SHOWN 8u

void assay_run_difference_lines(const struct assay_run *r,
                                struct assay_lines *l)
{
    const struct assay_case *c = &r->p.c;
    size_t n = c->n_differences;
    char text[1024];

    for (size_t i = 0; i < n && (i < MAX_SHOWN || r->o->verbose > 0); i++)
        assay_line_add(l, "",
                       assay_message(text, sizeof(text), ASSAY_MSG_DIFFERENCE,
                                     "id", c->differences[i].id, "sentence",
                                     c->differences[i].sentence, NULL));
    if (n > MAX_SHOWN && r->o->verbose == 0)
        assay_line_add(l, "",
                       assay_message(text, sizeof(text),
                                     ASSAY_MSG_DIFFERENCE_MORE, "more",
                                     assay_num_u(n - MAX_SHOWN).text, NULL));
}

void assay_run_made_line(const struct assay_run *r, enum assay_column column,
                         struct assay_lines *l)
{
    static const char *const ids[] = {"march", "version", "option"};
    const struct assay_case *c = &r->p.c;
    const char *side = column == ASSAY_COL_BPU ? "bpu" : "sim";
    char list[64] = "", text[400];

    for (size_t k = 0; k < sizeof(ids) / sizeof(ids[0]); k++)
        for (size_t i = 0; i < c->n_differences; i++) {
            const char *subject = c->differences[i].subject;

            if (strcmp(c->differences[i].id, ids[k]) != 0 ||
                strncmp(subject, side, 3) != 0 ||
                (subject[3] != '\0' && subject[3] != ' '))
                continue;
            snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
                     list[0] != '\0' ? ", " : "", ids[k]);
            break;
        }
    if (list[0] != '\0')
        assay_line_add(l, "  but     ",
                       assay_message(text, sizeof(text), ASSAY_MSG_MADE_APART,
                                     "side", side, "what", list, NULL));
}

size_t assay_run_difference_findings(const struct assay_run *r,
                                     struct assay_report_finding *v)
{
    const struct assay_case *c = &r->p.c;
    size_t n = 0;

    for (; n < c->n_differences && n < ASSAY_RUN_DIFFERENCES; n++) {
        const struct assay_case_difference *d = &c->differences[n];

        v[n] = (struct assay_report_finding){
            .severity = strcmp(d->id, "march") ? "hint" : "warning",
            .id = d->id,
            .file = d->file,
            .subject = d->subject,
            .sentence = d->sentence,
            .expected = d->expected,
            .found = d->found,
        };
    }
    return n;
}
