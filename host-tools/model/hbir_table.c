/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of 256 entries, and tables by segments. */
#include <string.h>

#include "host-tools/model/mlir_import.h"

static int lut_simple(struct assay_hbir *im, uint32_t x)
{
    const struct assay_hbir_const *table;
    const struct assay_tensor *t = &im->s->tensors[x];
    int64_t dims[ASSAY_MAX_RANK];
    struct assay_hbir_type type;
    struct assay_layer *l;
    uint32_t in[2] = {x, 0}, y, rank = t->rank;
    int rc = assay_hbir_const(im, 1, &table);

    memcpy(dims, t->dims, sizeof(dims));
    if (!rc)
        rc = assay_hbir_declared(im, 0, &type);
    if (!rc && !table)
        rc = assay_hbir_skip(im, "the table is not constant");
    if (rc)
        return rc;
    if (table->count != 256)
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "table '%.100s': expected 256 elements, found "
                               "%zu",
                               table->name, table->count);
    if (table->dtype != type.dtype)
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "table '%.100s' is %s, but the result is %s",
                               table->name, assay_dtype_name(table->dtype),
                               assay_dtype_name(type.dtype));
    rc = assay_hbir_input(im, 1, "table", ASSAY_HBIR_S8_16, &in[1]);
    if (!rc)
        rc = assay_hbir_output(im, 0, ASSAY_HBIR_S8_16, rank, dims,
                               im->s->tensors[x].axes, &y);
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_TABLE, 2, in, y, &l);
    if (!rc)
        l->form = "lut";
    return rc;
}

static int expect(struct assay_hbir *im, uint32_t i, const char *what,
                  enum assay_dtype dtype, int64_t rows, int64_t columns,
                  const struct assay_hbir_const **out)
{
    const int64_t dims[2] = {rows, columns};
    char want[160], found[160];
    int rc = assay_hbir_const(im, i, out);

    if (!rc && i >= im->op->n_operands)
        rc = assay_hbir_skip(im, "a table of int16 without %s", what);
    if (!rc && !*out)
        rc = assay_hbir_skip(im, "the %s are not constant", what);
    if (rc)
        return rc;
    if ((*out)->dtype == dtype && (*out)->rank == 2 &&
        (*out)->dims[0] == rows && (*out)->dims[1] == columns)
        return 0;
    /* How they are packed in the vendor's files is not public. */
    return assay_hbir_skip(
        im, "%s '%.100s' are %s, known is %s", what, (*out)->name,
        assay_hbir_shape_text(found, (*out)->dtype, (*out)->rank, (*out)->dims),
        assay_hbir_shape_text(want, dtype, 2, dims));
}

static int check_segments(struct assay_hbir *im,
                          const struct assay_hbir_const *k)
{
    for (int s = 0; s < ASSAY_SEGMENTS; s++) {
        size_t at = (size_t)s * ASSAY_SEGMENT_FIELDS;
        int64_t bound = assay_hbir_const_int(k, at);
        int64_t before =
            s ? assay_hbir_const_int(k, at - ASSAY_SEGMENT_FIELDS) : bound;

        if (bound < before)
            return assay_hbir_fail(im, ASSAY_EFORMAT,
                                   "ranges '%.100s': bound %d is %lld, below "
                                   "the one before it",
                                   k->name, s, (long long)bound);
        for (size_t f = 3; f < ASSAY_SEGMENT_FIELDS; f++) {
            int64_t shift = assay_hbir_const_int(k, at + f);

            if (shift < 0 || shift > 31)
                return assay_hbir_fail(im, ASSAY_ERANGE,
                                       "ranges '%.100s': row %d has a shift "
                                       "of %lld, expected 0 to 31",
                                       k->name, s, (long long)shift);
        }
    }
    return 0;
}

static int lut_segments(struct assay_hbir *im, uint32_t x)
{
    const struct assay_hbir_const *entries, *ranges = NULL;
    int64_t dims[ASSAY_MAX_RANK];
    uint32_t in[3] = {x}, y, rank = im->s->tensors[x].rank;
    struct assay_layer *l;
    int mode;
    int rc = assay_hbir_word(im, "symMode", "none center y", -1, &mode);

    memcpy(dims, im->s->tensors[x].dims, sizeof(dims));
    if (!rc)
        rc = expect(im, 1, "entries", ASSAY_S16, ASSAY_SEGMENTS - 2,
                    ASSAY_SEGMENT_ENTRIES, &entries);
    if (!rc)
        rc = expect(im, 2, "ranges", ASSAY_S32, ASSAY_SEGMENTS,
                    ASSAY_SEGMENT_FIELDS, &ranges);
    if (!rc && im->op->n_operands > 3)
        rc =
            assay_hbir_skip(im, "%u operands, known are 3", im->op->n_operands);
    if (!rc)
        rc = check_segments(im, ranges);
    if (!rc)
        rc = assay_hbir_input(im, 1, "entries", ASSAY_HBIR_S16, &in[1]);
    if (!rc)
        rc = assay_hbir_input(im, 2, "ranges", ASSAY_HBIR_S32, &in[2]);
    if (!rc)
        rc = assay_hbir_output(im, 0, ASSAY_HBIR_S8_16, rank, dims,
                               im->s->tensors[x].axes, &y);
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_SEGMENT_TABLE, 3, in, y, &l);
    if (rc)
        return rc;
    l->p.segment.symmetry = (uint8_t)(ASSAY_SYMMETRY_NONE + mode);
    l->form = "lut_segments";
    return 0;
}

int assay_hbir_lut(struct assay_hbir *im)
{
    uint32_t x;
    int rc = assay_hbir_input(im, 0, "input", ASSAY_HBIR_S8_16, &x);

    if (rc)
        return rc;
    if (im->s->tensors[x].dtype == ASSAY_S16)
        return lut_segments(im, x);
    if (im->op->n_operands != 2)
        return assay_hbir_skip(im,
                               "%u operands for an input of int8, known "
                               "are 2",
                               im->op->n_operands);
    return lut_simple(im, x);
}
