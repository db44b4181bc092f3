/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "host-tools/model/differ.h"
#include "host-tools/prepare.h"

/* Of a text the module's attributes stand in front. */
#define HEAD 65536

void assay_prepare_differences(struct assay_prepared *p, const char *model)
{
    size_t n = strlen(model), got = 0;
    char *head;
    FILE *f;

    if (n < 5 || strcmp(model + n - 5, ".mlir") != 0)
        return;
    head = assay_alloc(HEAD);
    f = head != NULL ? fopen(model, "rb") : NULL;
    if (f != NULL) {
        got = fread(head, 1, HEAD, f);
        fclose(f);
    }
    assay_case_differ_model(&p->c, head, got, model,
                            p->numerics != NULL ? p->numerics : "");
    assay_free(head);
}
