/* SPDX-License-Identifier: Apache-2.0 */
/* The table of horizon operators, and what their emitters share. */
#include "host-tools/model/onnx_hz.h"

#include <stdio.h>
#include <string.h>

/*
 * attrs: all that may stand there; those that no emitter reads are named in
 * onnx_hz_attr.c.
 */
static const struct entry {
    const char *domain, *op;
    uint32_t min_in, max_in;
    assay_hz_emit_fn *emit;
    const char *attrs;
} table[] = {
    {"horizon", "HzQuantize", 2, 2, assay_hz_quantize, "bits"},
    {"horizon", "HzDequantize", 2, 2, assay_hz_dequantize, "axis"},
    {"horizon", "HzRequantize", 1, 1, assay_hz_requantize,
     "axis bits method output_scale output_right_shift data_format"},
    {"horizon", "HzSQuantizedConv", 2, 5, assay_hz_conv,
     "dilations group kernel_shape pads strides use_bias use_sumin activation "
     "weight_thresholds input_scales output_bit right_shift scale out_shift "
     "e_shift e_scale high_precision_output data_format"},
    {"horizon", "HzSQuantizedPreprocess", 2, 4, assay_hz_conv,
     "input_type channel_group use_bias activation weight_thresholds "
     "input_scales output_bit right_shift scale out_shift "
     "high_precision_output data_format"},
    {"horizon", "HzSQuantizedConvTranspose", 2, 3, assay_hz_conv_transpose,
     "group kernel_shape dilations output_padding pads strides use_bias "
     "activation weight_thresholds input_scales output_bit accu_right_shift "
     "y_quant_scale y_right_shift b_left_shift data_format"},
    {"horizon", "HzSElementwiseAdd", 2, 2, assay_hz_add,
     "x_shift e_scale e_shift accu_right_shift output_scale "
     "output_right_shift rounding_method output_bit data_format"},
    {"horizon", "HzSElementwiseSub", 2, 2, assay_hz_add,
     "x_shift e_scale e_shift accu_right_shift output_scale "
     "output_right_shift rounding_method output_bit data_format"},
    {"horizon", "HzSElementwiseMul", 2, 2, assay_hz_mul,
     "accu_right_shift output_scale output_right_shift rounding_method "
     "output_bit data_format"},
    {"horizon", "HzQuantizedBitShift", 1, 1, assay_hz_bit_shift,
     "direction shift output_bit data_format"},
    {"horizon", "HzQuantizedComparison", 2, 2, assay_hz_compare,
     "comparison output_bit data_format"},
    {"horizon", "HzSPRelu", 2, 2, assay_hz_prelu,
     "positive_scale positive_right_shift accu_right_shift negative_scale "
     "negative_right_shift output_bit data_format"},
    {"horizon", "HzLut", 2, 2, assay_hz_lut, "lut_type output_bit data_format"},
    {"horizon", "HzLut2Layer", 1, 1, assay_hz_lut2,
     "lut_type output_bit rounding_method symmetry_mode table_param scale "
     "bias left_shift right_shift bound data_format"},
    {"horizon", "HzSQuantizedMatmul", 2, 2, assay_hz_matmul,
     "output_bit right_shift scale out_shift rounding_method"},
    {"horizon", "HzQuantizedMaxPool", 1, 1, assay_hz_max_pool,
     "kernel_shape strides pads dilations ceil_mode output_bit data_format"},
    {"horizon", "HzQuantizedAveragePool", 1, 1, assay_hz_avg_pool,
     "kernel_shape strides pads dilations ceil_mode scale output_bit "
     "data_format"},
    {"horizon", "HzQuantizedGlobalMaxPool", 1, 1, assay_hz_global_max_pool,
     "output_bit data_format"},
    {"horizon", "HzSQuantizedGlobalAveragePool", 1, 1, assay_hz_gap,
     "accu_right_shift output_scale output_right_shift rounding_method "
     "output_bit data_format"},
    {"horizon", "HzQuantizedReduceMax", 1, 1, assay_hz_reduce_max,
     "axis output_bit"},
    {"horizon", "HzSQuantizedReduceMean", 1, 1, assay_hz_reduce_scaled,
     "axis output_bit accu_right_shift scale out_shift"},
    {"horizon", "HzSQuantizedReduceSum", 1, 1, assay_hz_reduce_scaled,
     "axis output_bit accu_right_shift scale out_shift"},
    {"horizon", "HzQuantizedArgMax", 1, 1, assay_hz_arg_max, "axis output_bit"},
    {"horizon", "HzQuantizedRoiResize", 1, 1, assay_hz_roi_resize,
     "align_mode step sizes pad_mode step_decimal_bit is_interpolate_twice "
     "output_bit data_format"},
    {"horizon", "HzQuantizedResizeUpsample", 1, 1, assay_hz_upsample,
     "mode scale output_bit data_format"},
    {"horizon", "HzQuantizedGridSample", 2, 2, assay_hz_grid_sample,
     "mode padding_mode coord_shift itplt_shift output_round output_bit "
     "data_format"},
    {"horizon", "HzPad", 1, 2, assay_hz_pad,
     "pads mode output_bit data_format"},
    {"horizon", "HzDepthToSpace", 1, 1, assay_hz_depth_to_space,
     "blocksize mode data_format"},
    {"horizon", "HzSpaceToDepth", 1, 1, assay_hz_space_to_depth,
     "block_height block_width data_format"},
    {"horizon", "HzChannelShuffle", 1, 1, assay_hz_channel_shuffle,
     "group data_format"},
    /* Standard operators, as they stand between those of the domain. */
    {"", "Concat", 1, ASSAY_MAX_LAYER_INPUTS, assay_hz_concat, "axis"},
    {"", "Split", 1, 2, assay_hz_split, "axis split num_outputs"},
    {"", "Slice", 1, 5, assay_hz_slice, "starts ends axes"},
    {"", "Gather", 2, 2, assay_hz_gather, "axis"},
    {"", "Tile", 2, 2, assay_hz_tile, ""},
    {"", "Expand", 2, 2, assay_hz_expand, ""},
    {"", "DepthToSpace", 1, 1, assay_hz_std_depth_to_space, "blocksize mode"},
    {"", "SpaceToDepth", 1, 1, assay_hz_std_space_to_depth, "blocksize"},
    {"", "Max", 1, ASSAY_MAX_LAYER_INPUTS, assay_hz_several, ""},
    {"", "Min", 1, ASSAY_MAX_LAYER_INPUTS, assay_hz_several, ""},
    {"", "Sum", 1, ASSAY_MAX_LAYER_INPUTS, assay_hz_several, ""},
    {"", "Mean", 1, ASSAY_MAX_LAYER_INPUTS, assay_hz_several, ""},
    {"", "Pad", 1, 3, assay_hz_std_pad, "pads mode value"},
    {"", "Resize", 1, 4, assay_hz_std_resize,
     "mode nearest_mode coordinate_transformation_mode cubic_coeff_a "
     "exclude_outside extrapolation_value"},
    {"", "Cast", 1, 1, assay_hz_cast, "to"},
    {"", "Neg", 1, 1, assay_hz_neg, ""},
    {"", "Relu", 1, 1, assay_hz_relu, ""},
    {"", "ReduceMax", 1, 2, assay_hz_std_reduce,
     "axes keepdims noop_with_empty_axes"},
    {"", "ReduceMin", 1, 2, assay_hz_std_reduce,
     "axes keepdims noop_with_empty_axes"},
    {"", "ReduceSum", 1, 2, assay_hz_std_reduce,
     "axes keepdims noop_with_empty_axes"},
    {"", "ReduceMean", 1, 2, assay_hz_std_reduce,
     "axes keepdims noop_with_empty_axes"},
    {"", "Softmax", 1, 1, assay_hz_std_softmax, "axis"},
};

bool assay_onnx_has_horizon(const struct assay_onnx_graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (!strcmp(g->nodes[i].domain, "horizon"))
            return true;
    return false;
}

static const struct entry *find(const struct assay_onnx_import *im,
                                const struct assay_onnx_node *n)
{
    for (size_t i = 0; im->source_order && i < sizeof(table) / sizeof(table[0]);
         i++)
        if (assay_onnx_is(n, table[i].domain, table[i].op))
            return &table[i];
    return NULL;
}

bool assay_onnx_is_horizon(const struct assay_onnx_import *im,
                           const struct assay_onnx_node *n)
{
    return find(im, n) != NULL;
}

static int bad_inputs(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n, const struct entry *e)
{
    char most[24] = "";

    if (e->max_in > e->min_in)
        snprintf(most, sizeof(most), " to %u", e->max_in);
    return assay_onnx_fail(im, n, ASSAY_EFORMAT, "%u inputs, expected %u%s",
                           n->n_in, e->min_in, most);
}

int assay_onnx_emit_horizon(struct assay_onnx_import *im,
                            struct assay_onnx_operation *op)
{
    const struct assay_onnx_node *n = op->node;
    const struct entry *e = find(im, n);
    int rc;

    if (n->n_in < e->min_in || n->n_in > e->max_in)
        return bad_inputs(im, n, e);
    if (strcmp(n->op, "Split") && n->n_out != 1)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT, "%u outputs, expected 1",
                               n->n_out);
    rc = assay_hz_attrs(im, n, e->attrs);
    return rc ? rc : e->emit(im, n);
}

/* ---- operands ----------------------------------------------------------- */

static int check_dtype(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, const char *name,
                       const char *what, unsigned mask, enum assay_dtype found)
{
    static const enum assay_dtype all[] = {ASSAY_S8, ASSAY_S16, ASSAY_S32,
                                           ASSAY_F32};
    char list[64] = "";
    bool is_float = found == ASSAY_F32;

    if (mask & 1u << found)
        return 0;
    for (size_t i = 0; i < 4; i++)
        if (mask & 1u << all[i])
            snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
                     list[0] ? " or " : "", assay_dtype_name(all[i]));
    /* Another width of integers is a thing that was not measured; a float
     * where integers are needed, or the reverse, is a broken file. */
    if (is_float || mask == ASSAY_HZ_F32)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "%s '%.100s' is %s, expected %s", what, name,
                               assay_dtype_name(found), list);
    return assay_onnx_skip(im,
                           "%s '%.100s' of '%s' is %s, which was never "
                           "measured: expected %s",
                           what, name, n->op, assay_dtype_name(found), list);
}

int assay_hz_input(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n, uint32_t i,
                   const char *what, unsigned mask, uint32_t *index)
{
    struct assay_onnx_operand o = {.value = assay_onnx_input(n, i)};
    const struct assay_onnx_value *v;
    int rc;

    if (o.value == ASSAY_ONNX_NONE)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT, "input %u (%s) is missing",
                               i, what);
    v = &im->g->values[o.value];
    if (v->k)
        rc = assay_onnx_new_constant(im, v->name, v->k, v->k->rank, NULL, "",
                                     index);
    else
        rc = assay_onnx_activation(im, &o, index);
    if (rc)
        return rc;
    return check_dtype(im, n, v->name, what, mask,
                       im->s->tensors[*index].dtype);
}

int assay_hz_image(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n, uint32_t i,
                   const char *what, unsigned mask, uint32_t *index)
{
    int rc = assay_hz_input(im, n, i, what, mask, index);
    const struct assay_tensor *t;

    if (rc)
        return rc;
    t = &im->s->tensors[*index];
    if (t->rank != 4)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "%s '%.100s' is of rank %u, expected 4", what,
                               t->name, t->rank);
    return 0;
}

int assay_hz_const(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n, uint32_t i,
                   const char *what, enum assay_dtype dtype, size_t count,
                   const struct assay_onnx_const **out)
{
    uint32_t value = assay_onnx_input(n, i);
    const struct assay_onnx_const *k;
    const char *name;

    if (value == ASSAY_ONNX_NONE)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT, "input %u (%s) is missing",
                               i, what);
    name = im->g->values[value].name;
    k = im->g->values[value].k;
    if (!k)
        return assay_onnx_skip(im,
                               "%s '%.100s' of '%s' is computed, expected a "
                               "constant",
                               what, name, n->op);
    if (k->dtype != dtype)
        return assay_onnx_fail(
            im, n, ASSAY_EFORMAT, "%s '%.100s' is %s, expected %s", what, name,
            assay_onnx_type_name(k->onnx_type), assay_dtype_name(dtype));
    if (count && k->count != count)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "%s '%.100s': expected %zu element%s, found "
                               "%zu",
                               what, name, count, count == 1 ? "" : "s",
                               k->count);
    *out = k;
    return 0;
}

/* ---- outputs ------------------------------------------------------------ */

int assay_hz_out_dtype(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, uint32_t i,
                       unsigned mask, enum assay_dtype *dtype)
{
    const struct assay_onnx_value *v = &im->g->values[n->out[i]];
    int64_t bits, found;
    int rc;

    if (!v->has_info)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "output '%.100s' has no type in the file: "
                               "its width is not known",
                               v->name);
    *dtype = assay_onnx_dtype(v->info_type);
    if (!*dtype)
        return assay_onnx_skip(im, "output '%.100s' of '%s' is %s", v->name,
                               n->op, assay_onnx_type_name(v->info_type));
    rc = check_dtype(im, n, v->name, "output", mask, *dtype);
    found = (int64_t)assay_dtype_bytes(*dtype) * 8;
    if (!rc)
        rc = assay_hz_int(im, n, "output_bit", 1, 64, &found, &bits);
    if (!rc && bits != found)
        rc =
            assay_onnx_fail(im, n, ASSAY_EFORMAT,
                            "attribute 'output_bit': %lld, but output "
                            "'%.100s' is %s",
                            (long long)bits, v->name, assay_dtype_name(*dtype));
    return rc;
}

static void set_axes(struct assay_tensor *t, const char *axes)
{
    size_t n = strlen(axes);

    if (n == t->rank)
        memcpy(t->axes, axes, n + 1);
}

int assay_hz_output(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n, uint32_t i, unsigned mask,
                    uint32_t rank, const int64_t *dims, const char *axes,
                    uint32_t *index)
{
    enum assay_dtype dtype = 0;
    char label[ASSAY_MAX_RANK + 1];
    int rc;

    /* axes may stand in a tensor, which moves when one is added. */
    snprintf(label, sizeof(label), "%s", axes);
    rc = assay_hz_out_dtype(im, n, i, mask, &dtype);
    if (!rc)
        rc = assay_onnx_out(im, n, rank, dims);
    if (!rc)
        rc = assay_onnx_new_tensor(im, n->out[i], dtype, NULL, index);
    if (!rc)
        set_axes(&im->s->tensors[*index], label);
    return rc;
}

static int bare_tensor(struct assay_onnx_import *im, const char *name,
                       enum assay_dtype dtype, uint32_t rank,
                       const int64_t *dims, uint32_t *index)
{
    struct assay_tensor *t;
    int rc = assay_slice_add_tensor(im->s, index, im->err);

    if (rc)
        return rc;
    t = &im->s->tensors[*index];
    t->name = assay_arena_str(im->s->arena, name, strlen(name));
    t->dtype = dtype;
    t->rank = rank;
    for (uint32_t i = 0; i < rank; i++) {
        t->dims[i] = dims[i];
        t->perm[i] = (uint8_t)i;
    }
    return t->name ? 0 : assay_onnx_no_memory(im);
}

int assay_hz_between(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, enum assay_dtype dtype,
                     uint32_t rank, const int64_t *dims, uint32_t *index)
{
    char name[600];

    snprintf(name, sizeof(name), "%.500s/part/%u",
             im->g->values[n->out[0]].name, im->s->n_tensors);
    return bare_tensor(im, name, dtype, rank, dims, index);
}

int assay_hz_made(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                  const char *what, enum assay_dtype dtype, uint32_t rank,
                  const int64_t *dims, const void *data, uint32_t *index)
{
    size_t count;
    char name[600];
    struct assay_tensor *t;
    int rc;

    snprintf(name, sizeof(name), "%.500s/%s", assay_onnx_node_name(im->g, n),
             what);
    rc = bare_tensor(im, name, dtype, rank, dims, index);
    if (rc)
        return rc;
    t = &im->s->tensors[*index];
    t->role = ASSAY_ROLE_CONSTANT;
    rc = assay_tensor_count(t, &count, &t->size, im->err);
    if (rc)
        return rc;
    t->data = assay_arena_copy(im->s->arena, data, t->size);
    if (!t->data)
        return assay_onnx_no_memory(im);
    assay_sha256(t->data, t->size, t->sha256);
    return 0;
}

const char *assay_hz_axes(const struct assay_onnx_import *im, uint32_t index)
{
    return im->s->tensors[index].axes;
}

/* ---- fields and programs ------------------------------------------------ */

int assay_hz_field(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n, struct assay_layer *l,
                   const char *name, const struct assay_hz_list *list)
{
    char text[160];
    int rc = assay_field_add(im->s, l, name, list->n, list->v, im->err);

    if (rc)
        assay_err_prefix(im->err, "%s: %s", im->g->file,
                         assay_onnx_node_text(n, text, sizeof(text)));
    return rc;
}

int assay_hz_field_one(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, struct assay_layer *l,
                       const char *name, int64_t v)
{
    struct assay_hz_list list = {1, &v};

    return assay_hz_field(im, n, l, name, &list);
}

int assay_hz_field_f32(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, struct assay_layer *l,
                       size_t count, const float *v)
{
    int64_t *bits = assay_arena_array(im->g->arena, count, sizeof(*bits));
    struct assay_hz_list list = {(uint32_t)count, bits};

    if (!bits)
        return assay_onnx_no_memory(im);
    for (size_t i = 0; i < count; i++) {
        uint32_t u;

        memcpy(&u, &v[i], sizeof(u));
        bits[i] = (int64_t)u;
    }
    return assay_hz_field(im, n, l, "scale_f32", &list);
}

void assay_hz_begin(struct assay_builder *b, struct assay_onnx_import *im)
{
    assay_build_begin(b, im->s->arena, im->err);
}

void assay_hz_step(struct assay_builder *b, enum assay_step_kind kind,
                   const struct assay_hz_list *l)
{
    assay_build_ints(b, kind, l->n, l->v);
}

void assay_hz_shr(struct assay_builder *b, const struct assay_hz_list *l,
                  enum assay_round round)
{
    assay_build_shr(b, l->n, l->v, round);
}

void assay_hz_sat(struct assay_builder *b, enum assay_dtype dtype)
{
    assay_build_bits(b, ASSAY_STEP_SAT,
                     (uint8_t)(assay_dtype_bytes(dtype) * 8));
}

int assay_hz_end(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                 const struct assay_builder *b, struct assay_program *out)
{
    char text[160];
    int rc = assay_build_end(b, out);

    if (rc)
        assay_err_prefix(im->err, "%s: %s", im->g->file,
                         assay_onnx_node_text(n, text, sizeof(text)));
    return rc;
}

int assay_hz_scaling(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, const char *first,
                     const char *scale, const char *second, int64_t channels,
                     struct assay_hz_scaling *out)
{
    int rc = assay_hz_list(im, n, first, channels, 0, 31, NULL, &out->first);

    if (!rc)
        rc = assay_hz_list(im, n, scale, channels, INT32_MIN, INT32_MAX, NULL,
                           &out->scale);
    if (!rc)
        rc = assay_hz_list(im, n, second, channels, 0, 31, NULL, &out->second);
    return rc;
}

int assay_hz_scaled(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n, struct assay_layer *l,
                    const char *form, const struct assay_hz_scaling *k)
{
    int rc = assay_hz_field(im, n, l, "pre_shift", &k->first);

    l->form = form;
    if (!rc)
        rc = assay_hz_field(im, n, l, "scale", &k->scale);
    return rc ? rc : assay_hz_field(im, n, l, "post_shift", &k->second);
}
