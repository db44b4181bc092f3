/* SPDX-License-Identifier: Apache-2.0 */
/* A run whose question is why: every culprit is searched and told. */
#include "host-tools/cmd.h"

int assay_cmd_pinpoint(const struct assay_options *o, int argc, char **argv)
{
    struct assay_options mine = *o;

    /* What differs is in files; a board is asked only where one is named. */
    mine.local = mine.local || mine.target == NULL;
    return assay_cmd_run(&mine, argc, argv);
}
