/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mlir_print [FILE]: reads MLIR text with the importer's parser and writes the
 * tree as generic text. Without a file, many texts from the standard input,
 * between lines "// -----", and the answers in the same way; the sentences of
 * those that are refused go to the standard error, "NUMBER: sentence". Exit 0
 * when all were taken, 1 when not. --quiet writes nothing.
 *
 * links: tests/support/mlir_write.c tests/support/mlir_write_attr.c
 * links: tests/support/mlir_write_dense.c lib/core/ kernels/requant.c
 * links: host-tools/model/mlir_[!i]*.c
 * libs: -lxxhash -lmbedcrypto -lm
 */
#include "tests/support/mlir_write.h"

#include <stdlib.h>
#include <string.h>

static const char mark[] = "// -----\n";

static char *read_all(FILE *f, size_t *n)
{
    size_t cap = 1 << 16, got;
    char *data = malloc(cap);

    *n = 0;
    while (data && (got = fread(data + *n, 1, cap - *n, f)) > 0) {
        *n += got;
        if (*n == cap)
            data = realloc(data, cap *= 2);
    }
    if (!data || ferror(f)) {
        fprintf(stderr, "mlir_print: cannot read\n");
        exit(3);
    }
    return data;
}

/* 0: taken. The block is exactly as large as the text: ASan sees each byte
 * beyond it. */
static int one(const char *text, size_t n, unsigned number, bool quiet)
{
    struct assay_mlir_source source = {.size = n, .file = "text"};
    struct assay_arena *arena = assay_arena_new();
    struct assay_mlir_region *region = NULL;
    struct mlir_writer w = {.to = stdout};
    struct assay_err err = {0};
    char *copy = malloc(n ? n : 1);
    int rc;

    if (!arena || !copy)
        abort();
    memcpy(copy, text, n);
    source.data = copy;
    rc = assay_mlir_parse(&region, &source, arena, &err);
    if (rc)
        fprintf(stderr, "%u: %s\n", number, err.text);
    else if (!quiet)
        mlir_write(&w, region);
    mlir_writer_close(&w);
    assay_arena_free(arena);
    free(copy);
    return rc;
}

int main(int argc, char **argv)
{
    bool quiet = argc > 1 && strcmp(argv[1], "--quiet") == 0;
    const char *path = argc > 1 + quiet ? argv[1 + quiet] : NULL;
    FILE *f = path ? fopen(path, "rb") : stdin;
    size_t n = 0, from = 0;
    unsigned number = 0;
    char *data;
    int bad = 0;

    if (!f) {
        fprintf(stderr, "mlir_print: cannot open '%s'\n", path);
        return 3;
    }
    data = read_all(f, &n);
    while (from <= n) {
        size_t to = n, next = n + 1;

        if (!path) {
            const char *m =
                memmem(data + from, n - from, mark, sizeof(mark) - 1);

            if (m) {
                to = (size_t)(m - data);
                next = to + sizeof(mark) - 1;
            }
        }
        bad |= one(data + from, to - from, number++, quiet) != 0;
        if (next <= n)
            fputs(mark, stdout);
        from = next;
    }
    free(data);
    if (path)
        fclose(f);
    return bad;
}
