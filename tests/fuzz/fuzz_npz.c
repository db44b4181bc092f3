/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy and npz, told apart by their first bytes as the reader's callers do by
 * name. The bytes go through a file in memory, as the readers take paths.
 *
 * links: host-tools/model/npz.c host-tools/model/npy.c
 * links: host-tools/model/file.c lib/core/ kernels/requant.c
 * covers: host-tools/model/npz.c host-tools/model/npy.c
 * libs: -lzip -lxxhash -lmbedcrypto
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host-tools/model/npz.h"

static void note(void *self, const char *text)
{
    (void)self;
    if (strlen(text) > 4096)
        abort();
}

static void touch(const struct assay_npz *z)
{
    volatile uint8_t sum = 0;

    for (size_t k = 0; k < z->n; k++) {
        const struct assay_array *a = &z->arrays[k];

        for (size_t i = 0; i < a->bytes; i += 61)
            sum ^= ((const uint8_t *)a->data)[i];
        if (assay_npz_find(z, a->name) == NULL)
            abort();
    }
    (void)sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct assay_model_note n = {.note = note};
    struct assay_npz z = {0};
    struct assay_err err = {0};
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    if (fd < 0)
        return 0;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (size && write(fd, data, size) != (ssize_t)size)
        goto out;
    if (assay_npz_read(&z, path, &n, &err) == 0)
        touch(&z);
    assay_npz_close(&z);
    if (size > 6 && memcmp(data, "\x93NUMPY", 6) == 0) {
        memset(&z, 0, sizeof(z));
        if (assay_npy_read(&z, path, "x", &n, &err) == 0)
            touch(&z);
        assay_npz_close(&z);
    }
out:
    close(fd);
    return 0;
}
