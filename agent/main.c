/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "agent/agent.h"
#include "agent/options.h"

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
        printf("assayd %s\n", ASSAY_VERSION);
        return 0;
    }
    if (options.self_test)
        return assay_agent_self_test(&options);
    return assay_agent_main(&options);
}
