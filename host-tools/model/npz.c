/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/npz.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zip.h>

#include "host-tools/model/file.h"
#include "host-tools/model/npy.h"

#define MAX_MEMBERS 65536
#define MAX_TOTAL ((uint64_t)4 << 30)
/* Deflate cannot do better than 1032:1. */
#define MAX_RATIO 1040u

static void tell(const struct assay_model_note *note, const char *text)
{
    if (note && note->note)
        note->note(note->self, text);
}

void assay_npz_close(struct assay_npz *z)
{
    if (!z)
        return;
    for (size_t i = 0; i < z->n; i++) {
        assay_free(z->arrays[i].name);
        assay_free(z->arrays[i].data);
    }
    assay_free(z->arrays);
    assay_free(z->meta);
    assay_free(z->layers);
    memset(z, 0, sizeof(*z));
}

const struct assay_array *assay_npz_find(const struct assay_npz *z,
                                         const char *name)
{
    for (size_t i = 0; i < z->n; i++)
        if (!strcmp(z->arrays[i].name, name))
            return &z->arrays[i];
    return NULL;
}

/* Takes the parsed document over. `array` is the slot that it may fill. */
static int keep(struct assay_npz *z, struct assay_npy *d, const char *name,
                size_t name_len, const struct assay_model_note *note,
                const char *what, struct assay_err *err)
{
    char text[512];

    if (name_len == 8 && !memcmp(name, "__meta__", 8) && d->text) {
        assay_free(z->meta);
        z->meta = d->text;
        return 0;
    }
    if (name_len == 10 && !memcmp(name, "__layers__", 10) && d->text) {
        assay_free(z->layers);
        z->layers = d->text;
        return 0;
    }
    assay_free(d->text);
    if (name_len >= 2 && !memcmp(name, "__", 2)) {
        assay_free(d->array.data);
        return 0;
    }
    if (!d->is_number) {
        snprintf(text, sizeof(text), "%s: type '%s' is not a number: ignored",
                 what, d->descr);
        tell(note, text);
        return 0;
    }
    d->array.name = assay_calloc(1, name_len + 1);
    if (!d->array.name) {
        assay_free(d->array.data);
        return assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", what);
    }
    memcpy(d->array.name, name, name_len);
    if (assay_npz_find(z, d->array.name)) {
        assay_free(d->array.name);
        assay_free(d->array.data);
        return assay_fail(err, ASSAY_EFORMAT, "%s: second array of that name",
                          what);
    }
    z->arrays[z->n++] = d->array;
    return 0;
}

static int check_stat(const zip_stat_t *st, uint64_t file_size,
                      const char *what, struct assay_err *err)
{
    const zip_uint64_t need =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;

    if ((st->valid & need) != need)
        return assay_fail(err, ASSAY_EFORMAT, "%s: no size in the directory",
                          what);
    if (st->comp_method != ZIP_CM_STORE && st->comp_method != ZIP_CM_DEFLATE)
        return assay_fail(err, ASSAY_EUNSUPPORTED,
                          "%s: compression method %u, expected stored or "
                          "deflate",
                          what, st->comp_method);
    if ((st->valid & ZIP_STAT_ENCRYPTION_METHOD) && st->encryption_method)
        return assay_fail(err, ASSAY_EUNSUPPORTED, "%s: encrypted", what);
    if (st->size > ASSAY_NPY_MAX_BYTES)
        return assay_fail(err, ASSAY_ERANGE,
                          "%s: %llu bytes, more than the limit of %zu", what,
                          (unsigned long long)st->size, ASSAY_NPY_MAX_BYTES);
    if (st->comp_size > file_size)
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: %llu compressed bytes in a file of %llu", what,
                          (unsigned long long)st->comp_size,
                          (unsigned long long)file_size);
    if (st->size / MAX_RATIO > st->comp_size ||
        (st->comp_method == ZIP_CM_STORE && st->size != st->comp_size))
        return assay_fail(
            err, ASSAY_EFORMAT, "%s: %llu bytes cannot come out of %llu", what,
            (unsigned long long)st->size, (unsigned long long)st->comp_size);
    return 0;
}

static int read_bytes(zip_t *za, zip_uint64_t i, uint8_t *buf, size_t n,
                      const char *what, struct assay_err *err)
{
    zip_file_t *f = zip_fopen_index(za, i, 0);
    uint8_t extra;
    size_t got = 0;
    zip_int64_t k;

    if (!f)
        return assay_fail(err, ASSAY_EFORMAT, "%s: %s", what, zip_strerror(za));
    while (got < n) {
        k = zip_fread(f, buf + got, n - got);
        if (k <= 0)
            break;
        got += (size_t)k;
    }
    /* Reading to the end is what makes libzip compare the CRC. */
    k = got == n ? zip_fread(f, &extra, 1) : 0;
    if (got != n || k != 0) {
        int rc = assay_fail(
            err, ASSAY_EFORMAT, "%s: damaged: %s (%zu of %zu bytes read)", what,
            k < 0 || got != n ? zip_file_strerror(f) : "longer than declared",
            got, n);
        zip_fclose(f);
        return rc;
    }
    zip_fclose(f);
    return 0;
}

static int read_member(struct assay_npz *z, zip_t *za, zip_uint64_t i,
                       const char *path, uint64_t file_size, uint64_t *total,
                       const struct assay_model_note *note,
                       struct assay_err *err)
{
    char what[400], text[512];
    struct assay_npy d = {0};
    uint8_t *buf;
    zip_stat_t st;
    size_t len;
    int rc;

    if (zip_stat_index(za, i, 0, &st) || !(st.valid & ZIP_STAT_NAME))
        return assay_fail(err, ASSAY_EFORMAT, "%s: member %llu: %s", path,
                          (unsigned long long)i, zip_strerror(za));
    snprintf(what, sizeof(what), "%.200s: member '%.120s'", path, st.name);
    len = strlen(st.name);
    if (len < 5 || strcmp(st.name + len - 4, ".npy")) {
        snprintf(text, sizeof(text), "%s: not an array: ignored", what);
        tell(note, text);
        return 0;
    }
    rc = check_stat(&st, file_size, what, err);
    if (rc)
        return rc;
    *total += st.size;
    if (*total > MAX_TOTAL)
        return assay_fail(err, ASSAY_ERANGE,
                          "%s: arrays of more than %llu bytes together", path,
                          (unsigned long long)MAX_TOTAL);
    buf = assay_alloc(st.size ? st.size : 1);
    if (!buf)
        return assay_fail(err, ASSAY_EMEMORY, "%s: no memory for %llu bytes",
                          what, (unsigned long long)st.size);
    rc = read_bytes(za, i, buf, st.size, what, err);
    if (!rc)
        rc = assay_npy_parse(&d, buf, st.size, what, err);
    assay_free(buf);
    return rc ? rc : keep(z, &d, st.name, len - 4, note, what, err);
}

int assay_npz_read(struct assay_npz *out, const char *path,
                   const struct assay_model_note *note, struct assay_err *err)
{
    struct assay_npz z = {0};
    uint64_t total = 0;
    struct stat sb;
    zip_int64_t n;
    zip_t *za;
    int ze = 0, rc = 0;

    if (stat(path, &sb))
        return assay_fail(err, ASSAY_EIO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(sb.st_mode))
        return assay_fail(err, ASSAY_EIO, "%s: not a file", path);
    za = zip_open(path, ZIP_RDONLY | ZIP_CHECKCONS, &ze);
    if (!za) {
        zip_error_t e;

        zip_error_init_with_code(&e, ze);
        rc = assay_fail(err, ASSAY_EFORMAT, "%s: not a readable zip file: %s",
                        path, zip_error_strerror(&e));
        zip_error_fini(&e);
        return rc;
    }
    n = zip_get_num_entries(za, 0);
    if (n > MAX_MEMBERS)
        rc = assay_fail(err, ASSAY_ERANGE,
                        "%s: %lld members, more than the limit of %d", path,
                        (long long)n, MAX_MEMBERS);
    if (!rc) {
        z.arrays = assay_calloc(n > 0 ? (size_t)n : 1, sizeof(*z.arrays));
        if (!z.arrays)
            rc = assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", path);
    }
    for (zip_int64_t i = 0; !rc && i < n; i++)
        rc = read_member(&z, za, (zip_uint64_t)i, path, (uint64_t)sb.st_size,
                         &total, note, err);
    zip_discard(za);
    if (rc)
        assay_npz_close(&z);
    else
        *out = z;
    return rc;
}

int assay_npy_read(struct assay_npz *out, const char *path, const char *name,
                   const struct assay_model_note *note, struct assay_err *err)
{
    struct assay_npz z = {0};
    struct assay_npy d = {0};
    uint8_t *data;
    size_t n;
    int rc = assay_file_read(&data, &n, path, ASSAY_NPY_MAX_BYTES + 65536, err);

    if (rc)
        return rc;
    rc = assay_npy_parse(&d, data, n, path, err);
    assay_free(data);
    if (rc)
        return rc;
    z.arrays = assay_calloc(1, sizeof(*z.arrays));
    if (!z.arrays) {
        assay_free(d.array.data);
        assay_free(d.text);
        return assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", path);
    }
    rc = keep(&z, &d, name, strlen(name), note, path, err);
    if (rc)
        assay_npz_close(&z);
    else
        *out = z;
    return rc;
}
