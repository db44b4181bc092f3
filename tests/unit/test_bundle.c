/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles: what is written is read again, every cut and every changed byte is
 * refused with a sentence, and no order of frames but the documented one is
 * taken.
 *
 * links: proto/ gen/proto/assay.pb-c.c lib/core/ kernels/requant.c
 * links: tests/support/slices.c
 * libs: -lprotobuf-c -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "proto/bundle.h"
#include "tests/support/slices.h"

#define PIXELS (3 * 1024 * 1024 + 5) /* more than three chunks */

static uint8_t image[PIXELS];
static const uint8_t weights[4] = {1, 2, 3, 4};

/* x (input) + w (constant, with a wrong digest) -> y */
static struct assay_slice *make(int64_t n)
{
    struct assay_slice *s = slices_new();
    const int64_t four = 4;

    s->model_name = "net.onnx";
    memset(s->model_sha256, 9, sizeof(s->model_sha256));
    slices_tensor(s, "x", ASSAY_ROLE_INPUT, ASSAY_S8, 1, &n);
    slices_tensor(s, "w", ASSAY_ROLE_CONSTANT, ASSAY_S8, 1, &four);
    slices_data(s, 1, weights);
    memset(s->tensors[1].sha256, 0, ASSAY_SHA256_LEN);
    slices_tensor(s, "w2", ASSAY_ROLE_CONSTANT, ASSAY_S8, 1, &four);
    slices_data(s, 2, weights);
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, &n);
    s->tensors[3].is_output = true;
    slices_layer(s, "relu", ASSAY_OP_UNARY, 1, (uint32_t[]){0}, 3);
    return s;
}

static void write_all(struct assay_buf *out, int64_t n, uint32_t samples)
{
    struct assay_bundle_writer w;
    struct assay_slice *s = make(n);
    struct assay_err err = {0};

    assert_int_equal(assay_bundle_begin(&w, out, "1.0.0", &err), 0);
    assert_int_equal(assay_bundle_note(&w, "column", "cpu\x01\n", &err), 0);
    assert_int_equal(assay_bundle_slice(&w, s, &err), 0);
    for (uint32_t k = 0; k < samples; k++) {
        image[0] = (uint8_t)k;
        assert_int_equal(assay_bundle_tensor(&w, ASSAY_BUNDLE_INPUT, 0, image,
                                             (size_t)n, &err),
                         0);
        assert_int_equal(assay_bundle_tensor(&w, ASSAY_BUNDLE_EXPECTED, 3,
                                             image, (size_t)n, &err),
                         0);
        assert_int_equal(assay_bundle_tensor(&w, ASSAY_BUNDLE_GOT, 3, image,
                                             (size_t)n, &err),
                         0);
        assert_int_equal(assay_bundle_run(&w, 7 + k, &err), 0);
    }
    assert_int_equal(assay_bundle_note(&w, "hypothesis", "R1", &err), 0);
    assert_int_equal(assay_bundle_end(&w, &err), 0);
    assay_bundle_close(&w);
    assay_bundle_close(&w);
    assay_slice_free(s);
}

static void test_round_trip(void **state)
{
    struct assay_bundle *b = NULL;
    struct assay_err err = {0};
    struct assay_buf out;

    (void)state;
    for (size_t i = 0; i < PIXELS; i++)
        image[i] = (uint8_t)(i * 7);
    assay_buf_init(&out);
    write_all(&out, PIXELS, 2);
    assert_true(assay_bundle_probe(out.data, out.len));
    assert_false(assay_bundle_probe(out.data, 3));
    if (assay_bundle_read(&b, out.data, out.len, &err) < 0)
        fail_msg("%s", err.text);
    memset(out.data, 0, out.len); /* nothing of it is kept */
    assay_buf_close(&out);
    assert_string_equal(b->build_id, "1.0.0");
    assert_string_equal(assay_bundle_text(b, "column"), "cpu \n");
    assert_string_equal(assay_bundle_text(b, "hypothesis"), "R1");
    assert_string_equal(assay_bundle_text(b, "none"), "");
    assert_string_equal(b->slice->model_name, "net.onnx");
    assert_int_equal(b->slice->n_tensors, 4);
    assert_memory_equal(b->slice->tensors[1].data, weights, 4);
    assert_ptr_equal(b->slice->tensors[1].data, b->slice->tensors[2].data);
    assert_int_equal(b->n_samples, 2);
    for (uint32_t k = 0; k < 2; k++) {
        const struct assay_bundle_sample *p = &b->samples[k];

        image[0] = (uint8_t)k;
        assert_int_equal(p->number, 7 + k);
        assert_memory_equal(p->values[ASSAY_BUNDLE_INPUT][0], image, PIXELS);
        assert_memory_equal(p->values[ASSAY_BUNDLE_EXPECTED][3], image, PIXELS);
        assert_memory_equal(p->values[ASSAY_BUNDLE_GOT][3], image, PIXELS);
        assert_null(p->values[ASSAY_BUNDLE_INPUT][3]);
        assert_null(p->values[ASSAY_BUNDLE_GOT][0]);
    }
    assay_bundle_free(b);
    assay_bundle_free(NULL);
}

static void test_slice_alone(void **state)
{
    struct assay_bundle *b = NULL;
    struct assay_err err = {0};
    struct assay_buf out;

    (void)state;
    assay_buf_init(&out);
    write_all(&out, 5, 0);
    assert_int_equal(assay_bundle_read(&b, out.data, out.len, &err), 0);
    assert_int_equal(b->n_samples, 0);
    assay_bundle_free(b);
    assay_buf_close(&out);
}

/* Cut anywhere, any byte changed, a byte more: one sentence each. */
static void test_damage(void **state)
{
    struct assay_bundle *b = NULL;
    struct assay_buf out;

    (void)state;
    assay_buf_init(&out);
    write_all(&out, 5, 1);
    for (size_t n = 0; n < out.len; n++) {
        struct assay_err err = {0};
        uint8_t *copy = malloc(n + 1);

        memcpy(copy, out.data, n);
        assert_int_equal(assay_bundle_read(&b, copy, n, &err), ASSAY_EFORMAT);
        assert_true(strncmp(err.text, "at byte ", 8) == 0);
        assert_null(strchr(err.text, '\n'));
        assert_int_equal(err.code, ASSAY_EFORMAT);
        free(copy);
        out.data[n] ^= 0x10;
        assert_true(assay_bundle_read(&b, out.data, out.len, &err) < 0);
        assert_int_equal(assay_status_class(err.code), ASSAY_CLASS_USAGE);
        out.data[n] ^= 0x10;
    }
    assert_int_equal(assay_buf_append(&out, "", 1), 0);
    assert_int_equal(assay_bundle_read(&b, out.data, out.len, NULL),
                     ASSAY_EFORMAT);
    assert_null(b);
    assay_buf_close(&out);
}

/* ---- order ---------------------------------------------------------------- */

typedef int step_fn(struct assay_bundle_writer *w, struct assay_err *err);

static int put_note(struct assay_bundle_writer *w, struct assay_err *err)
{
    return assay_bundle_note(w, "a", "b", err);
}
static int put_slice(struct assay_bundle_writer *w, struct assay_err *err)
{
    struct assay_slice *s = make(5);
    int rc = assay_bundle_slice(w, s, err);

    assay_slice_free(s);
    return rc;
}
static int put_input(struct assay_bundle_writer *w, struct assay_err *err)
{
    return assay_bundle_tensor(w, ASSAY_BUNDLE_INPUT, 0, image, 5, err);
}
static int put_short(struct assay_bundle_writer *w, struct assay_err *err)
{
    return assay_bundle_tensor(w, ASSAY_BUNDLE_INPUT, 0, image, 4, err);
}
static int put_foreign(struct assay_bundle_writer *w, struct assay_err *err)
{
    return assay_bundle_tensor(w, ASSAY_BUNDLE_GOT, 4, image, 5, err);
}
static int put_constant(struct assay_bundle_writer *w, struct assay_err *err)
{
    return assay_bundle_tensor(w, ASSAY_BUNDLE_EXPECTED, 1, image, 4, err);
}
static int put_run(struct assay_bundle_writer *w, struct assay_err *err)
{
    return assay_bundle_run(w, 0, err);
}
static int put_ping(struct assay_bundle_writer *w, struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_PING};

    return assay_msg_frame(w->out, &m, false, w->frames++, err);
}
static int put_hello(struct assay_bundle_writer *w, struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_HELLO};

    m.u.hello.version_min = m.u.hello.version_max = 1;
    return assay_msg_frame(w->out, &m, false, w->frames++, err);
}
static int put_many(struct assay_bundle_writer *w, struct assay_err *err)
{
    int rc = 0;

    for (int i = 0; i <= ASSAY_BUNDLE_NOTES && rc == 0; i++)
        rc = put_note(w, err);
    return rc;
}
/* More than the file has. */
static int put_greedy(struct assay_bundle_writer *w, struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_BLOB_PUT, .payload_bytes = 1};
    int rc;

    m.u.blob.total = (uint64_t)1 << 40;
    rc = assay_msg_frame(w->out, &m, false, w->frames++, err);
    return rc < 0 ? rc : assay_buf_append(w->out, "x", 1);
}

static const struct {
    step_fn *steps[4];
    const char *sentence;
} orders[] = {
    {{put_note}, "there is no slice"},
    {{put_slice, put_slice}, "a constant comes behind the slice"},
    {{put_input}, "a tensor comes before the slice"},
    {{put_run}, "a run comes before the slice"},
    {{put_slice, put_input}, "tensors without a run behind them"},
    {{put_slice, put_input, put_input}, "tensor 0 is there twice in one"},
    {{put_slice, put_short}, "tensor 0 'x' has 4 bytes, its shape and type n"},
    {{put_slice, put_foreign}, "tensor 4 is not of the slice, which has 4"},
    {{put_slice, put_constant}, "tensor 1 'w' has 4 bytes"},
    {{put_ping}, "message PING has no place in a bundle"},
    {{put_hello}, "a second HELLO"},
    {{put_many}, "more than 256 notes"},
    {{put_greedy}, "1099511627776 bytes are announced, "},
};

static void test_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        struct assay_bundle_writer w;
        struct assay_bundle *b = NULL;
        struct assay_err err = {0};
        struct assay_buf out;

        assay_buf_init(&out);
        assert_int_equal(assay_bundle_begin(&w, &out, "1", &err), 0);
        for (size_t k = 0; k < 4 && orders[i].steps[k] != NULL; k++)
            assert_int_equal(orders[i].steps[k](&w, &err), 0);
        assert_int_equal(assay_bundle_end(&w, &err), 0);
        assert_int_equal(assay_bundle_read(&b, out.data, out.len, &err),
                         ASSAY_EFORMAT);
        if (strstr(err.text, orders[i].sentence) == NULL)
            fail_msg("'%s' lacks '%s'", err.text, orders[i].sentence);
        assert_null(b);
        assay_bundle_close(&w);
        assay_buf_close(&out);
    }
}

static void test_version(void **state)
{
    struct assay_msg m = {.type = ASSAY_MSG_HELLO};
    struct assay_bundle *b = NULL;
    struct assay_err err = {0};
    struct assay_buf out;

    (void)state;
    m.u.hello.version_min = m.u.hello.version_max = 9;
    assay_buf_init(&out);
    assert_int_equal(assay_msg_frame(&out, &m, false, 0, &err), 0);
    assert_int_equal(assay_bundle_read(&b, out.data, out.len, &err),
                     ASSAY_EVERSION);
    assert_string_equal(err.text, "at byte 0: the bundle speaks protocol 9..9, "
                                  "this build 1..1: update assay");
    assay_buf_close(&out);
}

static long allocations_left;

static void *failing(void *p, size_t n)
{
    if (n == 0) {
        free(p);
        return NULL;
    }
    return allocations_left-- > 0 ? realloc(p, n) : NULL;
}

static void test_no_memory(void **state)
{
    struct assay_bundle *b = NULL;
    struct assay_buf out;
    int rc = ASSAY_EMEMORY;
    long n;

    (void)state;
    assay_alloc_hook = failing;
    allocations_left = 1000000;
    assay_buf_init(&out);
    write_all(&out, 5, 1);
    for (n = 0; rc < 0 && n < 1000; n++) {
        allocations_left = n;
        rc = assay_bundle_read(&b, out.data, out.len, NULL);
        assert_true(rc == 0 || rc == ASSAY_EMEMORY);
    }
    assert_int_equal(rc, 0);
    assert_true(n > 10);
    allocations_left = 1000000;
    assay_bundle_free(b);
    assay_buf_close(&out);
    assay_alloc_hook = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_slice_alone),
        cmocka_unit_test(test_damage),     cmocka_unit_test(test_order),
        cmocka_unit_test(test_version),    cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
