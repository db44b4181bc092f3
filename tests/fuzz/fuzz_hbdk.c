/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of the vendor's simulator, as every integer type, and the names of
 * their files. What is taken lies in the type's range and has the elements
 * that its dimensions say.
 *
 * corpus: tests/data/horizon/sim-text/0000 tests/data/horizon/sim-text/0001
 * links: host-tools/model/hbdk_text.c lib/core/ kernels/requant.c
 * covers: host-tools/model/hbdk_text.c
 * libs: -lxxhash -lmbedcrypto
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "host-tools/model/hbdk_text.h"

static void check(const struct assay_hbdk_text *t, enum assay_dtype dtype)
{
    int64_t lo, hi;
    size_t count = 1;

    assay_dtype_range(dtype, &lo, &hi);
    for (uint32_t a = 0; a < t->rank; a++)
        count *= (size_t)t->dims[a];
    if (t->rank == 0 || count != t->count)
        abort();
    for (size_t i = 0; i < t->count; i++) {
        if (t->values[i] < lo || t->values[i] > hi)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum assay_dtype dtypes[] = {ASSAY_S8, ASSAY_S16, ASSAY_S32};
    char name[128];
    const char *feature;
    size_t n = size < sizeof(name) - 1 ? size : sizeof(name) - 1;

    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        struct assay_hbdk_text t = {0};
        struct assay_err err = {0};

        if (assay_hbdk_text_parse(&t, (const char *)data, size, dtypes[i],
                                  "fuzz.txt", &err) == 0)
            check(&t, dtypes[i]);
        else if (err.text[0] == '\0' || t.values != NULL)
            abort();
        assay_hbdk_text_close(&t);
    }
    memcpy(name, data, n);
    name[n] = '\0';
    if (assay_hbdk_name(name, &feature, &n) != ASSAY_HBDK_OTHER &&
        (feature < name || n == 0 || feature + n > name + strlen(name)))
        abort();
    return 0;
}
