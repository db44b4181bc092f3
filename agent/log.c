/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/log.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

const char *assay_log_quote(const char *text, char out[ASSAY_LOG_TEXT])
{
    /* Room for one more escape, the dots, the quote and the end. */
    const size_t most = ASSAY_LOG_TEXT - 10;
    size_t n = 0;

    out[n++] = '"';
    for (; *text != '\0' && n < most; text++) {
        unsigned char c = (unsigned char)*text;

        if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
            n += (size_t)sprintf(out + n, "\\x%02x", c);
        else
            out[n++] = (char)c;
    }
    sprintf(out + n, "%s\"", *text != '\0' ? "..." : "");
    return out;
}

/* JOURNAL_STREAM names the file that stderr was when the service began. */
static bool is_journal(void)
{
    static int known = -1;
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long dev, ino;
    struct stat st;

    if (known < 0)
        known = stream != NULL &&
                sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
                fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev &&
                st.st_ino == ino;
    return known != 0;
}

void assay_log(enum assay_log_level level, const char *fmt, ...)
{
    static const int priorities[] = {3, 4, 6, 7}; /* of syslog */
    char text[2048];
    size_t n;
    va_list ap;

    if (level > threshold)
        return;
    n = (size_t)(is_journal() ? sprintf(text, "<%d>", priorities[level])
                              : sprintf(text, "assayd: %s: ", names[level]));
    va_start(ap, fmt);
    vsnprintf(text + n, sizeof(text) - n - 1, fmt, ap);
    va_end(ap);
    for (char *p = text; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?'; /* whatever it is, it is one line */
    }
    strcat(text, "\n");
    /* At once, so that lines of the agent and its workers stay whole. */
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return; /* nobody listens */
}
