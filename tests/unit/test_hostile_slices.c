/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptions that mean harm, most of them well formed. See tests/support/hostile.h; the list is in
 * docs/testing.md.
 *
 * links: tests/support/agents.c tests/support/proc.c tests/support/slices.c
 * links: tests/support/hostile.c tests/support/hostile_table.c
 * links: agent/ lib/net/ proto/ gen/proto/assay.pb-c.c
 * links: lib/core/ lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * libs: -luv -lprotobuf-c -lxxhash -lmbedtls -lmbedx509 -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "kernels/kernels.h"
#include "tests/support/hostile.h"

#define MIB (1u << 20)
#define LARGE (INT64_C(1) << 62)

static const uint8_t zeros[MIB];

/* ---- graphs ----------------------------------------------------------------- */

static void cycle(struct assay_slice *s)
{
    s->layers[0].inputs[0] = 2; /* what the second layer makes */
}

static void reads_itself(struct assay_slice *s)
{
    s->layers[0].inputs[0] = 1;
}

static void made_twice(struct assay_slice *s)
{
    s->layers[1].output = 1;
}

static void writes_an_input(struct assay_slice *s)
{
    s->layers[0].output = 0;
}

static void input_index(struct assay_slice *s)
{
    s->layers[0].inputs[0] = 3;
}

static void output_index(struct assay_slice *s)
{
    s->layers[1].output = UINT32_MAX;
}

static void no_layers(struct assay_slice *s)
{
    s->n_layers = 0;
}

static void absent_constant(struct assay_slice *s)
{
    s->tensors[0].role = ASSAY_ROLE_CONSTANT;
    memset(s->tensors[0].sha256, 0xee, ASSAY_SHA256_LEN);
    s->tensors[0].size = HOSTILE_SMALL;
}

/* ---- shapes ----------------------------------------------------------------- */

static void all_dims(struct assay_slice *s, int64_t d0, int64_t d1)
{
    for (uint32_t i = 0; i < s->n_tensors; i++) {
        s->tensors[i].rank = 2;
        s->tensors[i].dims[0] = d0;
        s->tensors[i].dims[1] = d1;
    }
}

static void dim_of_zero(struct assay_slice *s)
{
    all_dims(s, 0, 4);
}

static void dim_below_zero(struct assay_slice *s)
{
    all_dims(s, -4, -4);
}

static void elements_overflow(struct assay_slice *s)
{
    all_dims(s, LARGE, 8);
}

static void bytes_overflow(struct assay_slice *s)
{
    all_dims(s, LARGE / 2, 1);
    for (uint32_t i = 0; i < s->n_tensors; i++)
        s->tensors[i].dtype = ASSAY_S64;
}

static void huge_tensors(struct assay_slice *s)
{
    all_dims(s, INT64_C(1) << 40, 1);
}

static void beyond_the_budget(struct assay_slice *s)
{
    all_dims(s, 1024, 40 * 1024); /* two at a time */
}

static void tensors_sum_overflow(struct assay_slice *s)
{
    all_dims(s, INT64_MAX / 2, 1);
}

static void quant_without_scales(struct assay_slice *s)
{
    static const float scale[2] = {1, 1};
    static const int32_t zero[2];

    s->tensors[0].quant = (struct assay_quant){2, 0, scale, zero};
}

static void scale_is_nan(struct assay_slice *s)
{
    slices_quant(s, 0, __builtin_nanf(""), 0);
}

/* ---- operators -------------------------------------------------------------- */

/* The first layer becomes a convolution of x [1][8][8][2] with 3 x 3 weights
 * (an input here: no constant has to be there). */
static struct assay_conv2d_params *conv(struct assay_slice *s)
{
    static const int64_t x[4] = {1, 8, 8, 2}, w[4] = {2, 3, 3, 2};
    static const int64_t y[4] = {1, 8, 8, 2};
    uint32_t in[2], out;

    in[0] = slices_tensor(s, "x", ASSAY_ROLE_INPUT, ASSAY_S8, 4, x);
    in[1] = slices_tensor(s, "w", ASSAY_ROLE_INPUT, ASSAY_S8, 4, w);
    out = slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 4, y);
    slices_quant(s, in[0], 1, 0);
    slices_quant(s, in[1], 1, 0);
    slices_layer(s, "conv", ASSAY_OP_CONV2D, 2, in, out);
    s->layers[2].p.conv2d =
        (struct assay_conv2d_params){1, 1, 1, 1, 1, 1, 1, 1, 1, false, false};
    return &s->layers[2].p.conv2d;
}

static void conv_stride(struct assay_slice *s)
{
    conv(s)->stride_h = -1;
}

static void conv_no_stride(struct assay_slice *s)
{
    conv(s)->stride_w = 0;
}

static void conv_dilation(struct assay_slice *s)
{
    conv(s)->dilation_h = INT32_MAX;
}

static void conv_pad(struct assay_slice *s)
{
    conv(s)->pad_top = INT32_MAX;
    s->layers[2].p.conv2d.pad_bottom = INT32_MAX;
}

static void conv_groups(struct assay_slice *s)
{
    conv(s)->groups = 0;
}

static void conv_weights(struct assay_slice *s)
{
    conv(s);
    s->tensors[4].dims[0] = LARGE;
}

static void transposed_stride(struct assay_slice *s)
{
    conv(s)->stride_h = INT32_MAX;
    s->layers[2].op = ASSAY_OP_CONV_TRANSPOSE2D;
    s->layers[2].p.conv2d.stride_w = INT32_MAX;
}

static struct assay_view_params *view(struct assay_slice *s)
{
    struct assay_view_params *v = &s->layers[0].p.view;

    s->layers[0].op = ASSAY_OP_VIEW;
    *v = (struct assay_view_params){
        .rank = 1, .dims = {HOSTILE_SMALL}, .strides = {1}};
    return v;
}

static void view_back(struct assay_slice *s)
{
    view(s)->strides[0] = -1; /* from element 0 */
}

static void view_stride(struct assay_slice *s)
{
    view(s)->strides[0] = LARGE;
}

static void view_offset(struct assay_slice *s)
{
    view(s)->offset = INT64_MIN;
}

static void view_product(struct assay_slice *s)
{
    struct assay_view_params *v = view(s);

    v->rank = 2;
    v->dims[0] = v->dims[1] = INT64_C(1) << 32;
}

static void view_goes_beyond(struct assay_slice *s)
{
    view(s)->offset = 1;
}

static void pool_kernel(struct assay_slice *s)
{
    conv(s);
    s->layers[2].op = ASSAY_OP_POOL;
    s->layers[2].n_inputs = 1;
    s->layers[2].p.pool = (struct assay_pool_params){.kind = 1,
                                                     .kh = INT32_MAX,
                                                     .kw = INT32_MAX,
                                                     .stride_h = 1,
                                                     .stride_w = 1,
                                                     .dilation_h = 1,
                                                     .dilation_w = 1};
}

static void concat_axis(struct assay_slice *s)
{
    s->layers[0].op = ASSAY_OP_CONCAT;
    s->layers[0].p.concat.axis = INT32_MAX;
}

static void reduce_axes(struct assay_slice *s)
{
    s->layers[0].op = ASSAY_OP_REDUCE;
    s->layers[0].p.reduce = (struct assay_reduce_params){1, 1u << 9};
}

/* A product of [m][k] by [k][n], whose sums are K = 2^40 long. */
static void matmul_product(struct assay_slice *s)
{
    static const int64_t a[2] = {1, INT64_C(1) << 40};
    static const int64_t b[2] = {INT64_C(1) << 40, 1}, y[2] = {1, 1};
    uint32_t in[2], out;

    in[0] = slices_tensor(s, "l", ASSAY_ROLE_INPUT, ASSAY_S8, 2, a);
    in[1] = slices_tensor(s, "r", ASSAY_ROLE_INPUT, ASSAY_S8, 2, b);
    out = slices_tensor(s, "p", ASSAY_ROLE_ACTIVATION, ASSAY_S32, 2, y);
    slices_layer(s, "product", ASSAY_OP_MATMUL, 2, in, out);
}

static void shift_of_200(struct assay_slice *s)
{
    static const int64_t far = 200;

    slices_shr(&s->layers[0].out_program, ASSAY_ROUND_FLOOR, &far);
}

static void operands_of_channels(struct assay_slice *s)
{
    static const int64_t few[3];

    slices_step(&s->layers[0].out_program, ASSAY_STEP_ADD_ZP, 3, few, NULL);
}

static void unknown_step(struct assay_slice *s)
{
    static const int64_t one = 1;

    slices_step(&s->layers[0].out_program, (enum assay_step_kind)200, 1, &one,
                NULL);
}

/* ---- descriptions ------------------------------------------------------------ */

static void put_and_load(struct hostile_peer *p, const void *text, size_t n)
{
    uint8_t sha[ASSAY_SHA256_LEN];

    assay_sha256(text, n, sha);
    hostile_say(p, hostile_blob(ASSAY_MSG_BLOB_PUT, sha, n, 0), text,
                (uint32_t)n);
    hostile_until(p, ASSAY_MSG_BLOB_STORED);
    hostile_say(p, hostile_blob(ASSAY_MSG_SLICE_LOAD, sha, 0, 0), NULL, 0);
}

static void load_zeros(struct hostile_peer *p)
{
    put_and_load(p, zeros, 4096);
}

static void load_nothing(struct hostile_peer *p)
{
    put_and_load(p, "", 0);
}

/* Every two bytes ask for a structure: 2^19 of them. */
static void load_bomb(struct hostile_peer *p)
{
    static uint8_t bomb[MIB];

    for (size_t i = 0; i < sizeof(bomb); i += 2)
        memcpy(bomb + i, "\x2a\x00", 2);
    put_and_load(p, bomb, sizeof(bomb));
}

static void load_cut(struct hostile_peer *p)
{
    struct assay_slice *s = hostile_copies(HOSTILE_SMALL);
    struct hostile_text t;

    hostile_text_of(&t, s);
    put_and_load(p, t.text.data, t.text.len - 1);
    assay_buf_close(&t.text);
    assay_slice_free(s);
}

static void load_absent(struct hostile_peer *p)
{
    static const uint8_t sha[ASSAY_SHA256_LEN] = {0xab};

    hostile_say(p, hostile_blob(ASSAY_MSG_SLICE_LOAD, sha, 0, 0), NULL, 0);
}

#define D(function) .damage = function, .end = HOSTILE_REFUSED
#define A(function) .act = function

static const struct hostile_case cases[] = {
    {"cycle of two layers", HOSTILE_LEASED, D(cycle), .code = ASSAY_EFORMAT,
     .words = "'one'"},
    {"layer that reads its own output", HOSTILE_LEASED, D(reads_itself),
     .code = ASSAY_EFORMAT, .words = "'one'"},
    {"tensor made twice", HOSTILE_LEASED, D(made_twice), .code = ASSAY_EFORMAT,
     .words = "produces it already"},
    {"layer that writes an input", HOSTILE_LEASED, D(writes_an_input),
     .code = ASSAY_EFORMAT, .words = "expected an activation"},
    {"input index beyond the tensors", HOSTILE_LEASED, D(input_index),
     .code = ASSAY_EPROTOCOL},
    {"output index beyond the tensors", HOSTILE_LEASED, D(output_index),
     .code = ASSAY_EPROTOCOL},
    {"slice of no layers", HOSTILE_LEASED, D(no_layers), .code = ASSAY_ERANGE},
    {"constant that was never sent", HOSTILE_LEASED, D(absent_constant),
     .code = ASSAY_EPROTOCOL},
    {"dimension of 0", HOSTILE_LEASED, D(dim_of_zero), .code = ASSAY_EPROTOCOL},
    {"dimension below 0", HOSTILE_LEASED, D(dim_below_zero),
     .code = ASSAY_EPROTOCOL},
    {"elements overflow 64 bits", HOSTILE_LEASED, D(elements_overflow),
     .code = ASSAY_ERANGE},
    {"bytes overflow 64 bits", HOSTILE_LEASED, D(bytes_overflow),
     .code = ASSAY_ERANGE},
    {"sum of tensors overflows 64 bits", HOSTILE_LEASED,
     D(tensors_sum_overflow), .code = ASSAY_EMEMORY},
    {"tensors of a terabyte", HOSTILE_LEASED, D(huge_tensors),
     .code = ASSAY_EMEMORY},
    {"tensors beyond the budget", HOSTILE_LEASED, D(beyond_the_budget),
     .code = ASSAY_EMEMORY},
    {"scales that do not fit their axis", HOSTILE_LEASED,
     D(quant_without_scales), .code = ASSAY_EPROTOCOL},
    {"scale that is no number", HOSTILE_LEASED, D(scale_is_nan),
     .code = ASSAY_EPROTOCOL},
    {"convolution: negative stride", HOSTILE_LEASED, D(conv_stride),
     .code = ASSAY_ERANGE},
    {"convolution: stride of 0", HOSTILE_LEASED, D(conv_no_stride),
     .code = ASSAY_ERANGE},
    {"convolution: dilation of 2^31 - 1", HOSTILE_LEASED, D(conv_dilation),
     .code = ASSAY_EFORMAT},
    {"convolution: padding of 2^31 - 1", HOSTILE_LEASED, D(conv_pad),
     .code = ASSAY_EFORMAT},
    {"convolution: no groups", HOSTILE_LEASED, D(conv_groups),
     .code = ASSAY_EFORMAT},
    {"convolution: weights overflow", HOSTILE_LEASED, D(conv_weights),
     .code = ASSAY_ERANGE},
    {"transposed convolution: stride of 2^31 - 1", HOSTILE_LEASED,
     D(transposed_stride), .code = ASSAY_EFORMAT},
    {"view: negative stride before the input", HOSTILE_LEASED, D(view_back),
     .code = ASSAY_ERANGE},
    {"view: stride of 2^62", HOSTILE_LEASED, D(view_stride),
     .code = ASSAY_ERANGE},
    {"view: offset of -2^63", HOSTILE_LEASED, D(view_offset),
     .code = ASSAY_ERANGE},
    {"view: product of dims overflows", HOSTILE_LEASED, D(view_product),
     .code = ASSAY_ERANGE},
    {"view: one element beyond the input", HOSTILE_LEASED, D(view_goes_beyond),
     .code = ASSAY_ERANGE},
    {"pool: window of 2^62 cells", HOSTILE_LEASED, D(pool_kernel),
     .code = ASSAY_EFORMAT},
    {"concat: axis of 2^31 - 1", HOSTILE_LEASED, D(concat_axis),
     .code = ASSAY_ERANGE},
    {"reduce: an axis that is not there", HOSTILE_LEASED, D(reduce_axes),
     .code = ASSAY_ERANGE},
    {"product of 2^40 terms", HOSTILE_LEASED, D(matmul_product),
     .code = ASSAY_ERANGE},
    {"program: shift by 200", HOSTILE_LEASED, D(shift_of_200),
     .code = ASSAY_ERANGE},
    {"program: three operands for 64 channels", HOSTILE_LEASED,
     D(operands_of_channels), .code = ASSAY_EFORMAT},
    {"program: step of no number", HOSTILE_LEASED, D(unknown_step),
     .code = ASSAY_EPROTOCOL},
    {"description of zeros", HOSTILE_LEASED, A(load_zeros),
     .end = HOSTILE_REFUSED, .code = ASSAY_EPROTOCOL},
    {"empty description", HOSTILE_LEASED, A(load_nothing),
     .end = HOSTILE_REFUSED, .code = ASSAY_EPROTOCOL},
    {"description that is cut", HOSTILE_LEASED, A(load_cut),
     .end = HOSTILE_REFUSED, .code = ASSAY_EPROTOCOL},
    {"description of 2^19 empty tensors", HOSTILE_LEASED, A(load_bomb),
     .end = HOSTILE_REFUSED, .code = ASSAY_EMEMORY},
    {"slice that was never sent", HOSTILE_LEASED, A(load_absent),
     .end = HOSTILE_REFUSED, .code = ASSAY_EUSAGE, .words = "is not here"},
};

int main(int argc, char **argv)
{
    return hostile_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
