/* SPDX-License-Identifier: Apache-2.0 */
/* What resize and grid_sample prove alike. */
#include "lib/engine/ops/sample.h"

#include <inttypes.h>

int assay_check_sampled(const struct assay_op_check *c)
{
    const struct assay_tensor *x = assay_layer_input(c, 0);
    int rc = assay_check_no_in_programs(c);
    if (!rc)
        rc = assay_check_rank(c, "input", x, 4);
    if (!rc)
        rc = assay_check_rank(c, "output", assay_layer_output(c), 4);
    if (rc)
        return rc;
    if (x->dtype != ASSAY_S8 && x->dtype != ASSAY_U8 && x->dtype != ASSAY_S16)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "input dtype: expected int8, uint8 or "
                                  "int16, found %s",
                                  assay_dtype_name(x->dtype));
    return assay_check_batch(c, x, x->dims[3]);
}
