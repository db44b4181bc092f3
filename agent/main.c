/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "agent/agent.h"
#include "agent/options.h"

/* With the mark of what(1) in front: `assay deploy` finds it in the file. */
static const char what[] __attribute__((used)) = "@(#)assayd " ASSAY_VERSION;

int main(int argc, char **argv)
{
    struct assay_agent_options options;
    struct assay_err err = {0};

    if (assay_agent_options_parse(&options, argc, argv, &err) < 0) {
        fprintf(stderr, "assayd: %s\n", err.text);
        return 2;
    }
    if (options.help) {
        assay_agent_options_help(stdout);
        return 0;
    }
    if (options.version) {
        puts(what + 4);
        return 0;
    }
    if (options.self_test)
        return assay_agent_self_test(&options);
    return assay_agent_main(&options);
}
