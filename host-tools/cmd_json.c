/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of a command: on stdout, in a file, or both. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/cmd.h"
#include "host-tools/messages.h"
#include "host-tools/model/file.h"

int assay_cmd_write_json(const struct assay_options *o, struct json_t *root,
                         struct assay_err *err)
{
    char *text = root != NULL ? json_dumps(root, JSON_INDENT(2)) : NULL;
    int rc = 0;

    json_decref(root);
    if (text == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    /* That stdout cannot be written is told when the command ends. */
    if (o->json_stdout)
        puts(text);
    if (o->json != NULL)
        rc = assay_file_write(o->json, text, strlen(text), err);
    free(text);
    return rc;
}
