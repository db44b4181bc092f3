/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data files of host-tools/numerics, as they are, in the program. The
 * assembler finds them beside the Makefile, where compilers are started.
 */
#include "host-tools/model/numerics_file.h"

#include <string.h>

#include "lib/core/arith.h"

#define EMBED(symbol, path) \
    __asm__(".section .rodata\n" \
            ".hidden " #symbol "\n" \
            ".global " #symbol "\n" #symbol ":\n" \
            ".incbin \"" path "\"\n" \
            ".byte 0\n" \
            ".previous\n"); \
    extern const char symbol[]

EMBED(assay_numerics_bayes_e, "host-tools/numerics/bayes-e.json");
EMBED(assay_numerics_nash, "host-tools/numerics/nash.json");

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
