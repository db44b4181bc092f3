/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/output/output.h"

static const struct {
    const char *id, *name, *fix;
    bool layout;
} table[] = {
#define ASSAY_OUTPUT(key, id, layout, name, fix) {id, name, fix, layout},
#include "host-tools/output/output.def"
#undef ASSAY_OUTPUT
};

const char *assay_output_id(enum assay_output_id id)
{
    return table[id].id;
}

const char *assay_output_name(enum assay_output_id id)
{
    return table[id].name;
}

const char *assay_output_fix(enum assay_output_id id)
{
    return table[id].fix;
}

bool assay_output_is_layout(enum assay_output_id id)
{
    return table[id].layout;
}
