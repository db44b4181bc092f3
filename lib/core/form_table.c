/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a 256-entry table. The engine reads entry x + 128; a rule that
 * says `index unsigned` means entry x mod 256, so the two halves change places
 * in a second tensor that is made once.
 */
#include "lib/core/form_private.h"

#include <stdio.h>
#include <string.h>

#define GIVEN ASSAY_FIELD_TABLE
#define TURNED ASSAY_FIELD_TABLE_UNSIGNED
#define HALF 128

static int turn(struct assay_rule_use *u, uint32_t given, uint32_t *index)
{
    const struct assay_tensor *t = &u->s->tensors[given];
    size_t width = assay_dtype_bytes(t->dtype);
    struct assay_tensor copy = *t;
    uint8_t *data;
    char name[600];
    int rc;

    if (t->role != ASSAY_ROLE_CONSTANT || !width || t->size != 2 * HALF * width)
        return assay_fail(u->err, ASSAY_EFORMAT,
                          "table '%.100s' is no constant of 256 entries",
                          t->name);
    data = assay_arena_alloc(u->s->arena, t->size);
    snprintf(name, sizeof(name), "%.500s/unsigned", t->name);
    copy.name = assay_arena_str(u->s->arena, name, strlen(name));
    if (!data || !copy.name)
        return assay_fail(u->err, ASSAY_EMEMORY, "out of memory");
    memcpy(data, (const uint8_t *)t->data + HALF * width, HALF * width);
    memcpy(data + HALF * width, t->data, HALF * width);
    copy.data = data;
    assay_sha256(copy.data, copy.size, copy.sha256);
    rc = assay_slice_add_tensor(u->s, index, u->err);
    if (!rc)
        u->s->tensors[*index] = copy;
    return rc;
}

static int keep(struct assay_rule_use *u, const char *name, uint32_t tensor)
{
    int64_t v = tensor;

    return assay_field_add(u->s, u->l, name, 1, &v, u->err);
}

int assay_form_table(struct assay_rule_use *u, bool is_unsigned,
                     uint32_t *tensor)
{
    const struct assay_field *f = assay_field_find(u->l, GIVEN);
    uint32_t given;
    int rc;

    if (u->l->op != ASSAY_OP_TABLE || u->l->n_inputs != 2 ||
        u->l->inputs[1] >= u->s->n_tensors)
        return assay_fail(u->err, ASSAY_EFORMAT, "it has no table");
    given = f ? (uint32_t)f->v[0] : u->l->inputs[1];
    *tensor = given;
    if (!is_unsigned)
        return 0;
    f = assay_field_find(u->l, TURNED);
    if (f) {
        *tensor = (uint32_t)f->v[0];
        return 0;
    }
    rc = turn(u, given, tensor);
    if (!rc)
        rc = keep(u, GIVEN, given);
    return rc ? rc : keep(u, TURNED, *tensor);
}
