/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/log.h"

#include <stdio.h>
#include <string.h>

static enum assay_log_level threshold = ASSAY_LOG_WARN;
static const char *const names[] = {"error", "warn", "info", "debug"};

void assay_log_set_level(enum assay_log_level level)
{
    threshold = level;
}

int assay_log_parse_level(const char *text, enum assay_log_level *out)
{
    for (int i = 0; i < 4; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = (enum assay_log_level)i;
            return 0;
        }
    }
    return -1;
}

void assay_log(enum assay_log_level level, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    if (level > threshold)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    for (char *p = text; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?'; /* names come from the network */
    }
    fprintf(stderr, "assayd: %s: %s\n", names[level], text);
}
