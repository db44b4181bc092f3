/* SPDX-License-Identifier: Apache-2.0 */
/* What a run's data reached in a layer, as JSON. Private to host-tools/report. */
#ifndef ASSAY_REPORT_JSON_PROBE_H
#define ASSAY_REPORT_JSON_PROBE_H

#include <jansson.h>

#include "host-tools/diff/diff.h"

/* New references; NULL: no memory. Of a layer without sums: null. */
json_t *assay_json_accumulator(const struct assay_probe *p);
json_t *assay_json_exercised(const struct assay_row_probe *p);

#endif
