/* SPDX-License-Identifier: Apache-2.0 */
/* The data files of host-tools/numerics, as they are, in the program. */
#include "host-tools/model/numerics_file.h"

#include <string.h>

#include "lib/core/arith.h"
#include "lib/core/embed.h"

ASSAY_EMBED(assay_numerics_bayes_e, "host-tools/numerics/bayes-e.json");
ASSAY_EMBED(assay_numerics_nash, "host-tools/numerics/nash.json");

static const struct {
    const char *name, *text;
} files[] = {
    {"bayes-e", assay_numerics_bayes_e},
    {"nash", assay_numerics_nash},
};
#define N_FILES (sizeof(files) / sizeof(files[0]))

const char *assay_numerics_builtin(unsigned i)
{
    return i < N_FILES ? files[i].name : NULL;
}

const char *assay_numerics_text(const char *name)
{
    for (size_t i = 0; i < N_FILES; i++)
        if (strcmp(files[i].name, name) == 0)
            return files[i].text;
    return NULL;
}

const char *assay_numerics_known(unsigned i)
{
    unsigned n = 0;

    while (assay_numerics_name(n))
        n++;
    return i < n ? assay_numerics_name(i) : assay_numerics_builtin(i - n);
}
