/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of files as JSON. Any thread; the caller owns the value. */
#ifndef ASSAY_REPORT_JSON_TEXT_H
#define ASSAY_REPORT_JSON_TEXT_H

#include <jansson.h>
#include <stddef.h>

/* Not valid UTF-8 (hostile names): bytes above 127 become '?'; NULL is
 * "". NULL: out of memory. */
static inline json_t *assay_json_text(const char *s)
{
    json_t *j = json_string(s != NULL ? s : "");
    char safe[640];
    size_t i;

    if (j != NULL)
        return j;
    for (i = 0; s[i] != '\0' && i + 1 < sizeof(safe); i++)
        safe[i] = (unsigned char)s[i] < 128 ? s[i] : '?';
    safe[i] = '\0';
    return json_string(safe);
}

#endif
