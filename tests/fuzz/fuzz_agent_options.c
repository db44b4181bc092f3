/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's command line: words between newlines.
 *
 * links: agent/options.c agent/log.c kernels/cpu.c lib/core/ kernels/requant.c
 * covers: agent/options.c
 * libs: -lxxhash -lmbedcrypto
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "agent/options.h"

#define WORDS 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_agent_options options;
    struct assay_err err = {0};
    char name[] = "assayd", *argv[WORDS + 2] = {name}, *text, *rest;
    int argc = 1;

    text = malloc(size + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    rest = text;
    while (argc <= WORDS && rest != NULL)
        argv[argc++] = strsep(&rest, "\n");
    if (assay_agent_options_parse(&options, argc, argv, &err) < 0 &&
        (err.code == 0 || err.text[0] == '\0'))
        abort(); /* refused without a sentence */
    free(text);
    return 0;
}
