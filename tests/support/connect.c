/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/connect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct assay_backend *connect_and_load(const char *target,
                                       const struct assay_slice *slice)
{
    struct assay_client_options options = {
        .target = target, .timeout_ms = 10000, .owner = "me@test 1"};
    struct assay_backend *b = NULL;
    struct assay_err err = {0};

    if (assay_client_open(&b, &options, &err) < 0 ||
        b->vt->load(b, slice, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}
