/* SPDX-License-Identifier: Apache-2.0 */
/* A run whose model, inputs and reference are in one file. */
#include "host-tools/cmd.h"

int assay_cmd_replay(const struct assay_options *o, int argc, char **argv)
{
    struct assay_options mine = *o;

    mine.local = mine.local || mine.target == NULL;
    return assay_cmd_run(&mine, argc, argv);
}
