/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: words that are lines. What parses is asked for every
 * threshold, as the commands do.
 *
 * links: host-tools/options.c host-tools/options_value.c
 * links: host-tools/messages.c host-tools/diff/ lib/core/ kernels/ kernels/ref/
 * links: lib/engine/ lib/engine/ops/
 * links: host-tools/model/numerics_data.c
 * covers: host-tools/options.c host-tools/options_value.c
 * libs: -lxxhash -lmbedcrypto
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "host-tools/options.h"

#define WORDS 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_options options;
    struct assay_err err = {0};
    char *argv[WORDS + 1], *text, *rest;
    int argc = 0;

    text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    for (rest = text; argc < WORDS && rest; argc++) {
        argv[argc] = rest;
        rest = strchr(rest, '\n');
        if (rest)
            *rest++ = '\0';
    }
    argv[argc] = NULL;
    if (assay_options_parse(&options, argc, argv, &err) == 0) {
        (void)assay_threshold_of(&options.max_lsb, "conv1", 0);
        (void)assay_threshold_of(&options.atol, "a", 0);
        (void)assay_strings_match(&options.layers, "conv1");
        (void)assay_command_name(options.command);
    } else if (err.text[0] == '\0' ||
               memchr(err.text, '\0', sizeof(err.text)) == NULL) {
        abort(); /* a refusal without a sentence */
    }
    free(text);
    return 0;
}
