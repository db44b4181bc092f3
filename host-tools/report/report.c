/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/report/report.h"

#include <inttypes.h>
#include <string.h>

static const struct assay_report_writer *const writers[] = {
    &assay_report_text,
    &assay_report_json,
};

const struct assay_report_writer *assay_report_find(const char *format)
{
    for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
        if (strcmp(writers[i]->format, format) == 0)
            return writers[i];
    }
    return NULL;
}

/* Joins the numbers; what does not fit is left out. */
static const char *join(const int64_t *v, uint32_t n, const char *sep,
                        char *out, size_t cap)
{
    size_t at = 0;

    out[0] = '\0';
    for (uint32_t i = 0; i < n; i++) {
        int k =
            snprintf(out + at, cap - at, "%s%" PRId64, i > 0 ? sep : "", v[i]);

        if (k < 0 || (size_t)k >= cap - at)
            break;
        at += (size_t)k;
    }
    return out;
}

const char *assay_report_index(const struct assay_tensor *t, uint64_t index,
                               bool source, char *out, size_t cap)
{
    int64_t at[ASSAY_MAX_RANK] = {0};
    char inner[160];

    for (uint32_t a = t->rank; a-- > 0;) {
        uint32_t to = source ? t->perm[a] : a;

        at[to] = (int64_t)(index % (uint64_t)t->dims[a]);
        index /= (uint64_t)t->dims[a];
    }
    snprintf(out, cap, "[%s]", join(at, t->rank, ",", inner, sizeof(inner)));
    return out;
}

const char *assay_report_shape(const struct assay_tensor *t, char *out,
                               size_t cap)
{
    if (t->rank == 0)
        snprintf(out, cap, "scalar");
    else
        join(t->dims, t->rank, "x", out, cap);
    return out;
}

const char *const assay_report_seen_names[ASSAY_REPORT_SEEN] = {
    "reference", "sim", "bpu", "got"};
