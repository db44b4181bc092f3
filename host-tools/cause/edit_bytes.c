/* SPDX-License-Identifier: Apache-2.0 */
/*
 * L, U: the layer's output in another arrangement of bytes. The layer itself
 * is as it was; what stands behind it moves or changes the bytes.
 */
#include <string.h>

#include "host-tools/cause/catalogue.h"
#include "host-tools/cause/edit_graph.h"
#include "host-tools/cause/edit_program.h"
#include "lib/core/slice_part.h"

enum { L1_NCHW, L1_NHWC };
enum { L5_BATCH, L5_OUTPUT };

/* Bytes that rows and planes are aligned to; 0: dense. */
static const struct {
    int64_t written, read;
} L2[] = {{16, 0}, {32, 0}, {64, 0}, {0, 16}, {0, 32}, {0, 64}},
  L4[] = {{64, 32}, {32, 64}};
static const int64_t L3_BLOCKS[] = {4, 8, 16};

/* A tensor as images of pixels of channels. */
struct image {
    int64_t n, pixels, channels;
};

static struct image image_of(const struct assay_tensor *t)
{
    struct image m = {t->dims[0], 1, t->dims[t->rank - 1]};

    for (uint32_t i = 1; i + 1 < t->rank; i++)
        m.pixels *= t->dims[i];
    return m;
}

static struct assay_tensor *output_of(struct assay_slice *s, uint32_t layer)
{
    return &s->tensors[s->layers[layer].output];
}

/* ---- order of axes ----------------------------------------------------- */

static int permute(struct assay_slice *s, uint32_t layer, uint32_t variant,
                   struct assay_err *err)
{
    const struct assay_tensor *y = output_of(s, layer);
    struct assay_view_params view;
    struct image m;

    if (y->rank < 3)
        return ASSAY_EDIT_NOT_HERE;
    m = image_of(y);
    if (m.pixels == 1 || m.channels == 1)
        return ASSAY_EDIT_SAME;
    view = (struct assay_view_params){.rank = 3,
                                      .strides = {m.pixels * m.channels, 1, 0}};
    view.dims[0] = m.n;
    view.dims[1] = variant == L1_NCHW ? m.channels : m.pixels;
    view.dims[2] = variant == L1_NCHW ? m.pixels : m.channels;
    view.strides[2] = view.dims[1];
    return assay_edit_view_behind(s, layer, &view, err);
}

/* Images from the last to the first. */
static int reverse_batch(struct assay_slice *s, uint32_t layer,
                         struct assay_err *err)
{
    const struct assay_tensor *y = output_of(s, layer);
    struct assay_view_params view = {.rank = 2};
    size_t n, bytes;
    int rc = assay_tensor_count(y, &n, &bytes, err);

    if (rc)
        return rc;
    if (y->rank < 2 || y->dims[0] == 1)
        return ASSAY_EDIT_NOT_HERE;
    view.dims[0] = y->dims[0];
    view.dims[1] = (int64_t)n / y->dims[0];
    view.strides[0] = -view.dims[1];
    view.strides[1] = 1;
    view.offset = (int64_t)n - view.dims[1];
    return assay_edit_view_behind(s, layer, &view, err);
}

static bool is_read(const struct assay_slice *s, uint32_t tensor)
{
    for (uint32_t i = 0; i < s->n_layers; i++)
        for (uint32_t k = 0; k < s->layers[i].n_inputs; k++)
            if (s->layers[i].inputs[k] == tensor)
                return true;
    return false;
}

/* Layer that gives the tensor; -1: none that is run. */
static int64_t giver_of(const struct assay_slice *s, uint32_t tensor)
{
    for (uint32_t i = 0; i < s->n_layers; i++)
        if (s->layers[i].output == tensor &&
            s->layers[i].op != ASSAY_OP_SKIPPED)
            return i;
    return -1;
}

/* Another output of the same type and shape; -1: none. */
static int64_t output_like(const struct assay_slice *s, uint32_t tensor)
{
    const struct assay_tensor *y = &s->tensors[tensor];

    for (uint32_t i = 0; i < s->n_tensors; i++) {
        const struct assay_tensor *t = &s->tensors[i];

        if (i != tensor && t->is_output && t->dtype == y->dtype &&
            t->rank == y->rank &&
            memcmp(t->dims, y->dims, y->rank * sizeof(*y->dims)) == 0 &&
            giver_of(s, i) >= 0)
            return i;
    }
    return -1;
}

/* An output of the model is a copy of another one, which is made last. */
static int other_output(struct assay_slice *s, uint32_t layer,
                        struct assay_err *err)
{
    uint32_t given = s->layers[layer].output, fresh, at;
    struct assay_layer *l;
    int64_t other;
    int rc;

    if (!s->tensors[given].is_output || is_read(s, given))
        return ASSAY_EDIT_NOT_HERE;
    other = output_like(s, given);
    if (other < 0)
        return ASSAY_EDIT_NOT_HERE;
    at = s->n_layers;
    rc = assay_edit_tensor(s, given, "unedited", &fresh, err);
    if (!rc)
        rc = assay_slice_insert_layer(s, at, 1, err);
    if (rc)
        return rc;
    s->layers[layer].output = fresh;
    l = &s->layers[at];
    l->name = s->tensors[fresh].name;
    l->source_op = "edit";
    l->source_index = s->layers[layer].source_index;
    l->op = ASSAY_OP_CONCAT; /* of one input: a copy */
    l->inputs[0] = (uint32_t)other;
    l->output = given;
    return 0;
}

/* ---- distance of rows -------------------------------------------------- */

static int64_t ceil_to(int64_t n, int64_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

/* A layer of a kind behind the edited one, whose input has these dims. */
static int put(struct assay_slice *s, uint32_t layer, enum assay_op op,
               uint32_t rank, const int64_t *dims, struct assay_layer **made,
               struct assay_err *err)
{
    uint32_t fresh;
    int rc = assay_edit_behind_n(s, layer, op == ASSAY_OP_CONCAT ? 2 : 1,
                                 &fresh, made, err);

    if (rc)
        return rc;
    (*made)->op = op;
    assay_edit_shape(&s->tensors[fresh], rank, dims);
    return 0;
}

/* Zeros joined to dims[0] x dims[1] elements along an axis. */
static int put_zeros(struct assay_slice *s, uint32_t layer,
                     const int64_t dims[2], uint32_t axis, int64_t n,
                     struct assay_err *err)
{
    int64_t more[] = {dims[0], dims[1]};
    struct assay_layer *made;
    uint32_t zeros;
    int rc = put(s, layer, ASSAY_OP_CONCAT, 2, dims, &made, err);

    more[axis] = n;
    if (!rc)
        rc = assay_edit_fill(s, made->inputs[0], more, 0, &zeros, err);
    if (rc)
        return rc;
    made->inputs[1] = zeros;
    made->p.concat.axis = (int32_t)axis;
    return 0;
}

/* The layer's output, of its own shape, flat. */
static int put_flat(struct assay_slice *s, uint32_t layer,
                    const struct assay_tensor *y, int64_t n,
                    struct assay_err *err)
{
    const struct assay_tensor shape = *y;
    struct assay_tensor *t;
    struct assay_layer *made;
    int rc = put(s, layer, ASSAY_OP_VIEW, 1, &n, &made, err);

    if (rc)
        return rc;
    made->p.view.rank = 1;
    made->p.view.dims[0] = n;
    made->p.view.strides[0] = 1;
    t = output_of(s, layer);
    t->rank = shape.rank;
    memcpy(t->dims, shape.dims, sizeof(t->dims));
    memcpy(t->perm, shape.perm, sizeof(t->perm));
    memcpy(t->axes, shape.axes, sizeof(t->axes));
    t->quant = shape.quant;
    return 0;
}

/* Rows of `row` elements that are written at one distance and read at another
 * one; zeros between them and behind them. From the last step to the first. */
static int restride(struct assay_slice *s, uint32_t layer, int64_t rows,
                    int64_t row, int64_t written, int64_t read,
                    struct assay_err *err)
{
    const struct assay_tensor y = *output_of(s, layer);
    int64_t missing = (rows - 1) * read + row - rows * written;
    int64_t more = missing > 0 ? (missing + written - 1) / written : 0;
    struct assay_layer *made;
    int rc = put(s, layer, ASSAY_OP_VIEW, 2, (int64_t[]){rows + more, written},
                 &made, err);

    if (rc)
        return rc;
    made->p.view = (struct assay_view_params){
        .rank = 2, .dims = {rows, row}, .strides = {read, 1}};
    if (more > 0)
        rc = put_zeros(s, layer, (int64_t[]){rows, written}, 0, more, err);
    if (!rc && written > row)
        rc = put_zeros(s, layer, (int64_t[]){rows, row}, 1, written - row, err);
    return rc ? rc : put_flat(s, layer, &y, rows * row, err);
}

static int align_rows(struct assay_slice *s, uint32_t layer, int64_t written,
                      int64_t read, struct assay_err *err)
{
    const struct assay_tensor *y = output_of(s, layer);
    int64_t width = (int64_t)assay_dtype_bytes(y->dtype), row, rows;
    size_t n, bytes;
    int rc = assay_tensor_count(y, &n, &bytes, err);

    if (rc)
        return rc;
    if (y->rank < 2)
        return ASSAY_EDIT_NOT_HERE;
    row = y->dims[y->rank - 1];
    if (y->rank > 3) /* of an image: pixels side by side */
        row *= y->dims[y->rank - 2];
    rows = (int64_t)n / row;
    written = written > 0 ? ceil_to(row * width, written) / width : row;
    read = read > 0 ? ceil_to(row * width, read) / width : row;
    if (rows == 1 || written == read)
        return ASSAY_EDIT_SAME;
    return restride(s, layer, rows, row, written, read, err);
}

/* ---- channels in blocks ------------------------------------------------ */

static int pack(struct assay_slice *s, uint32_t layer, int64_t block,
                struct assay_err *err)
{
    const struct assay_tensor y = *output_of(s, layer);
    int64_t padded, n;
    struct assay_layer *made;
    struct image m;
    int rc;

    if (y.rank < 3)
        return ASSAY_EDIT_NOT_HERE;
    m = image_of(&y);
    padded = ceil_to(m.channels, block);
    if (padded == m.channels ? m.pixels == 1 || padded == block
                             : m.n * m.pixels == 1)
        return ASSAY_EDIT_SAME;
    if (m.pixels == 1) /* rows that are further apart: L2 */
        return ASSAY_EDIT_NOT_HERE;
    n = m.n * m.pixels;
    rc = put(s, layer, ASSAY_OP_VIEW, 1, (int64_t[]){n * padded}, &made, err);
    if (rc)
        return rc;
    made->p.view = (struct assay_view_params){
        .rank = 1, .dims = {n * m.channels}, .strides = {1}};
    rc = put(s, layer, ASSAY_OP_VIEW, 2, (int64_t[]){n, padded}, &made, err);
    if (rc)
        return rc;
    made->p.view = (struct assay_view_params){
        .rank = 4,
        .dims = {m.n, padded / block, m.pixels, block},
        .strides = {m.pixels * padded, block, padded, 1}};
    if (padded > m.channels)
        rc = put_zeros(s, layer, (int64_t[]){n, m.channels}, 1,
                       padded - m.channels, err);
    return rc ? rc : put_flat(s, layer, &y, n * m.channels, err);
}

/* ---- what a byte is ---------------------------------------------------- */

static int wrap_behind(struct assay_slice *s, uint32_t layer, int64_t bits,
                       struct assay_err *err)
{
    struct assay_layer *made;
    uint32_t fresh;
    int rc = assay_edit_behind(s, layer, &fresh, &made, err);

    if (rc)
        return rc;
    made->op = ASSAY_OP_UNARY;
    rc = assay_edit_insert(s, &made->out_program, 0, ASSAY_STEP_ADD,
                           INT64_C(1) << (bits - 1), 0, err);
    return rc ? rc
              : assay_edit_insert(s, &made->out_program, 1, ASSAY_STEP_WRAP,
                                  bits, 0, err);
}

/* The highest bit of every element the other way. */
static int flip_sign(struct assay_slice *s, uint32_t layer,
                     struct assay_err *err)
{
    enum assay_dtype dtype = output_of(s, layer)->dtype;
    uint32_t table, fresh;
    struct assay_layer *made;
    int64_t v[256];
    int rc;

    if (dtype == ASSAY_S16 || dtype == ASSAY_S32)
        return wrap_behind(s, layer, dtype == ASSAY_S16 ? 16 : 32, err);
    if (dtype != ASSAY_S8 && dtype != ASSAY_U8)
        return ASSAY_EDIT_NOT_HERE;
    for (int i = 0; i < 256; i++) /* place i is the i-th smallest element */
        v[i] = dtype == ASSAY_S8 ? i : i ^ 0x80;
    rc = assay_edit_table(s, s->layers[layer].output, v, &table, err);
    if (!rc)
        rc = assay_edit_behind_n(s, layer, 2, &fresh, &made, err);
    if (rc)
        return rc;
    made->op = ASSAY_OP_TABLE;
    made->inputs[1] = table;
    return 0;
}

static int append(struct assay_slice *s, struct assay_program *p,
                  enum assay_step_kind kind, int64_t a, struct assay_err *err)
{
    return assay_edit_insert(s, p, p->n_steps, kind, a, 0, err);
}

/* Byte number `from` of a value as byte number `to`; the highest is signed. */
static int move_byte(struct assay_slice *s, struct assay_program *p,
                     int64_t from, int64_t to, bool highest,
                     struct assay_err *err)
{
    int64_t half = highest ? 0 : 128;
    int rc = append(s, p, ASSAY_STEP_SHR, 8 * from, err);

    if (!rc)
        rc = append(s, p, ASSAY_STEP_ADD, -half, err);
    if (!rc)
        rc = append(s, p, ASSAY_STEP_WRAP, 8, err);
    if (!rc)
        rc = append(s, p, ASSAY_STEP_ADD, half, err);
    return rc ? rc : append(s, p, ASSAY_STEP_SHL, 8 * to, err);
}

/* Two operands that are added, behind the layer. */
static int put_sum(struct assay_slice *s, uint32_t layer,
                   struct assay_layer **made, struct assay_err *err)
{
    uint32_t fresh;
    int rc = assay_edit_behind_n(s, layer, 2, &fresh, made, err);

    if (rc)
        return rc;
    (*made)->op = ASSAY_OP_BINARY;
    (*made)->p.binary.combine = ASSAY_COMBINE_ADD;
    return assay_edit_programs(s, *made, 2, err);
}

static int swap_two(struct assay_slice *s, uint32_t layer,
                    struct assay_err *err)
{
    struct assay_layer *made;
    int rc = put_sum(s, layer, &made, err);

    if (!rc)
        rc = move_byte(s, &made->in_programs[0], 0, 1, true, err);
    return rc ? rc : move_byte(s, &made->in_programs[1], 1, 0, false, err);
}

/* The lower two bytes, exchanged and up, and the upper two, added. */
static int swap_four(struct assay_slice *s, uint32_t layer,
                     struct assay_err *err)
{
    static const char *const names[] = {"low", "high"};
    uint32_t sum = layer + 1, part, x[2];
    struct assay_layer *made;
    int rc = put_sum(s, layer, &made, err);

    x[0] = x[1] = s->layers[layer].output;
    /* What the halves are anyway: so the sum is proved to fit. */
    if (!rc)
        rc = assay_edit_insert(s, &made->in_programs[0], 0, ASSAY_STEP_CLAMP,
                               INT32_MIN, INT32_MAX - UINT16_MAX, err);
    if (!rc)
        rc = assay_edit_insert(s, &made->in_programs[1], 0, ASSAY_STEP_CLAMP, 0,
                               UINT16_MAX, err);
    for (uint32_t i = 0; i < 2 && !rc; i++) {
        rc = assay_edit_tensor(s, x[0], names[i], &part, err);
        if (!rc)
            rc = assay_edit_before(s, &sum, 2, x, part, i, &made, err);
        if (rc)
            return rc;
        made->op = ASSAY_OP_BINARY;
        made->p.binary.combine = ASSAY_COMBINE_ADD;
        rc = assay_edit_programs(s, made, 2, err);
        if (!rc)
            rc = move_byte(s, &made->in_programs[0], 2 * i, 3 - 2 * i, i == 0,
                           err);
        if (!rc)
            rc = move_byte(s, &made->in_programs[1], 2 * i + 1, 2 - 2 * i,
                           false, err);
    }
    return rc;
}

static int swap_bytes(struct assay_slice *s, uint32_t layer,
                      struct assay_err *err)
{
    switch (output_of(s, layer)->dtype) {
    case ASSAY_S16: return swap_two(s, layer, err);
    case ASSAY_S32: return swap_four(s, layer, err);
    default: return ASSAY_EDIT_NOT_HERE;
    }
}

int assay_edit_bytes(struct assay_slice *s, uint32_t *layer,
                     const struct assay_edit *e, struct assay_err *err)
{
    uint32_t v = e->variant;

    if (s->layers[*layer].op == ASSAY_OP_SKIPPED)
        return ASSAY_EDIT_NOT_HERE;
    switch (e->id) {
    case ASSAY_CAUSE_L1: return permute(s, *layer, v, err);
    case ASSAY_CAUSE_L2:
        return align_rows(s, *layer, L2[v].written, L2[v].read, err);
    case ASSAY_CAUSE_L3: return pack(s, *layer, L3_BLOCKS[v], err);
    case ASSAY_CAUSE_L4:
        return align_rows(s, *layer, L4[v].written, L4[v].read, err);
    case ASSAY_CAUSE_L5:
        return v == L5_BATCH ? reverse_batch(s, *layer, err)
                             : other_output(s, *layer, err);
    case ASSAY_CAUSE_U1: return flip_sign(s, *layer, err);
    default: return swap_bytes(s, *layer, err);
    }
}
