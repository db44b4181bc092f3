/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal of a run: what is written is read again; cut anywhere, it is what
 * was whole; damaged anywhere, it is refused or a digest tells.
 *
 * links: host-tools/journal_read.c host-tools/journal_write.c
 * links: host-tools/diff/classify.c
 * links: proto/ gen/proto/assay.pb-c.c lib/core/ kernels/requant.c
 * libs: -lprotobuf-c -lxxhash -lmbedcrypto -lm
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host-tools/journal.h"

#define LAYERS 3
#define BYTES 70000 /* two tiles */

static char path[] = "test-journal-XXXXXX";
static uint8_t data[BYTES], *whole;
static size_t n_whole;

static struct assay_layer layers[LAYERS];
static struct assay_tensor tensors[LAYERS];
static const struct assay_slice slice = {.n_layers = LAYERS,
                                         .layers = layers,
                                         .n_tensors = LAYERS,
                                         .tensors = tensors};

/* Two passes: of the first all three layers, the second one's output is what
 * the reader has already; of the second one, whose probe has not come. */
static int write_journal(void **state)
{
    const bool all[LAYERS] = {true, true, true}, one[LAYERS] = {true};
    struct assay_journal_pass pass = {7, ASSAY_COL_CPU, false, false,
                                      3, 1000,          all};
    struct assay_probe probe = {.values = 5, .work = 11};
    struct assay_journal_writer w;
    FILE *f;
    int fd = mkstemp(path);

    (void)state;
    if (fd < 0)
        return -1;
    close(fd);
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (uint8_t)(i * 7 + i / 256);
    for (uint32_t i = 0; i < LAYERS; i++) {
        layers[i].output = i;
        tensors[i].dtype = ASSAY_S8;
        tensors[i].rank = 1;
        tensors[i].dims[0] = BYTES;
    }
    if (assay_journal_create(&w, path, LAYERS, NULL) < 0 ||
        assay_journal_note(&w, "model", "abc", NULL) < 0 ||
        assay_journal_note(&w, "sample", "7 xyz", NULL) < 0 ||
        assay_journal_pass(&w, &pass, NULL) < 0)
        return -1;
    for (uint32_t i = 0; i < LAYERS; i++) {
        if (assay_journal_layer(&w, &slice, i, "k__ref", data, BYTES, i == 1,
                                i + 40, NULL) < 0 ||
            assay_journal_probe(&w, i, &probe, NULL) < 0)
            return -1;
    }
    pass.layers = one;
    pass.again = pass.isolated = true;
    pass.column = ASSAY_COL_BPU;
    if (assay_journal_pass(&w, &pass, NULL) < 0 ||
        assay_journal_layer(&w, &slice, 0, "k", data, BYTES, true, 0, NULL) < 0)
        return -1;
    assay_journal_close(&w);
    assay_journal_close(&w);
    f = fopen(path, "rb");
    whole = malloc(1 << 20);
    if (f == NULL || whole == NULL)
        return -1;
    n_whole = fread(whole, 1, 1 << 20, f);
    fclose(f);
    return 0;
}

static int drop_journal(void **state)
{
    (void)state;
    free(whole);
    unlink(path);
    return 0;
}

static void put(const uint8_t *p, size_t n)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    fclose(f);
}

/* Data of all layers; 0 where their digests are right. */
static int look(struct assay_journal *j)
{
    uint8_t *out = malloc(BYTES);
    int rc = 0;

    assert_non_null(out);
    for (uint32_t i = 0; i < j->n_layers && rc == 0; i++) {
        if (j->layers[i].bytes != BYTES)
            continue; /* the caller knows its tensors */
        memcpy(out, data, BYTES);
        if (!j->layers[i].same)
            memset(out, 0, BYTES);
        rc = assay_journal_data(j, &j->layers[i], out, NULL);
        if (rc == 0)
            assert_memory_equal(out, data, BYTES);
    }
    free(out);
    return rc;
}

static void what_was_written(void **state)
{
    struct assay_journal *j;

    (void)state;
    put(whole, n_whole);
    assert_int_equal(assay_journal_read(&j, path, LAYERS, NULL), 0);
    assert_string_equal(assay_journal_text(j, "model"), "abc");
    assert_string_equal(assay_journal_text(j, "board"), "");
    assert_string_equal(assay_journal_sample(j, 7), "xyz");
    assert_string_equal(assay_journal_sample(j, 77), "");
    assert_int_equal(j->n_passes, 2);
    assert_int_equal(j->passes[0].sample, 7);
    assert_int_equal(j->passes[0].cpumask, 3);
    assert_false(j->passes[0].again);
    assert_int_equal(j->passes[1].column, ASSAY_COL_BPU);
    assert_true(j->passes[1].again && j->passes[1].isolated);
    assert_true(j->passes[1].layers[0] && !j->passes[1].layers[1]);
    /* The last one's probe may have been on its way. */
    assert_int_equal(j->n_layers, 3);
    assert_true(!j->layers[0].same && j->layers[1].same);
    assert_int_equal(j->layers[2].time_us, 42);
    assert_int_equal(j->layers[2].probe->work, 11);
    assert_string_equal(j->layers[0].kernel, "k__ref");
    assert_int_equal(look(j), 0);
    assay_journal_free(j);
}

static void cut_anywhere(void **state)
{
    uint32_t before = 0;

    (void)state;
    for (size_t n = 0; n < n_whole; n += n < 3000 ? 1 : 97) {
        struct assay_journal *j;

        put(whole, n);
        assert_int_equal(assay_journal_read(&j, path, LAYERS, NULL), 0);
        assert_true(j->n_layers <= 3);
        assert_true(j->n_layers + 1 >= before);
        before = j->n_layers;
        assert_int_equal(look(j), 0);
        assay_journal_free(j);
    }
    assert_int_equal(before, 3);
}

static void damaged_anywhere(void **state)
{
    uint8_t *bad = malloc(n_whole);
    unsigned refused = 0, told = 0;

    (void)state;
    assert_non_null(bad);
    for (size_t at = 0; at < n_whole; at += at < 3000 ? 1 : 211) {
        struct assay_journal *j;
        struct assay_err err = {0};
        int rc;

        memcpy(bad, whole, n_whole);
        bad[at] ^= (uint8_t)(1 + at % 255);
        put(bad, n_whole);
        rc = assay_journal_read(&j, path, LAYERS, &err);
        if (rc < 0) {
            assert_true(rc == ASSAY_EFORMAT || rc == ASSAY_EMEMORY);
            assert_non_null(strstr(err.text, path));
            refused++;
            continue;
        }
        told += look(j) < 0;
        assay_journal_free(j);
    }
    assert_true(refused > 200);
    assert_true(told > 50);
    free(bad);
}

static void another_model(void **state)
{
    struct assay_journal *j;
    struct assay_err err = {0};

    (void)state;
    put(whole, n_whole);
    assert_int_equal(assay_journal_read(&j, path, 300, &err), ASSAY_EFORMAT);
    assert_non_null(strstr(err.text, "number of layers"));
    assert_int_equal(assay_journal_read(&j, "test-journal-none", 3, &err),
                     ASSAY_EIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(damaged_anywhere),
        cmocka_unit_test(another_model),
    };

    return cmocka_run_group_tests(tests, write_journal, drop_journal);
}
