/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors are values, told once: the deepest function that knows why fills
 * `struct assay_err`; whoever handles it prints it. Functions that can fail
 * return 0 or a negative ASSAY_E*; outputs are untouched on failure.
 * Texts: lower case, what first, 'subject' quoted, no full stop.
 * Any thread; err may be NULL everywhere.
 */
#ifndef ASSAY_CORE_ERR_H
#define ASSAY_CORE_ERR_H

#include <stdarg.h>
#include <stddef.h>

enum assay_status_class {
    ASSAY_CLASS_USAGE = 2,       /* exit 2 */
    ASSAY_CLASS_INFRA = 3,       /* exit 3 */
    ASSAY_CLASS_AGENT = 4,       /* exit 4 */
    ASSAY_CLASS_INTERRUPT = 130, /* exit 130 */
};

enum assay_status {
    ASSAY_OK = 0,
#define ASSAY_STATUS(name, number, cls, sentence) ASSAY_E##name = number,
#include "lib/core/status.def"
#undef ASSAY_STATUS
};

struct assay_err {
    int code; /* 0 or ASSAY_E* */
    char text[512];
};

#define ASSAY_MUST_CHECK __attribute__((warn_unused_result))
#define ASSAY_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Fills err (a longer text is cut) and returns code, so: return assay_fail(). */
int assay_fail(struct assay_err *err, int code, const char *fmt, ...)
    ASSAY_PRINTF(3, 4);
/* Puts "prefix: " before the text that is there; returns err->code. */
int assay_err_prefix(struct assay_err *err, const char *fmt, ...)
    ASSAY_PRINTF(2, 3);

const char *assay_status_name(int code);     /* "TIMEOUT"; "?" if unknown */
const char *assay_status_sentence(int code); /* from status.def */
enum assay_status_class assay_status_class(int code);

#endif
