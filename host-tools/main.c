/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host-tools/cmd.h"
#include "host-tools/messages.h"

static const struct {
    enum assay_command command;
    int (*run)(const struct assay_options *o, int argc, char **argv);
    bool tells; /* its report says itself that it could not be printed */
} commands[] = {
    {ASSAY_CMD_RUN, assay_cmd_run, true},
    {ASSAY_CMD_IMPORT, assay_cmd_import, false},
    {ASSAY_CMD_SHOW, assay_cmd_show, false},
    {ASSAY_CMD_INFO, assay_cmd_info, false},
    {ASSAY_CMD_SELF_TEST, assay_cmd_self_test, false},
    {ASSAY_CMD_FIT, assay_cmd_fit_arith, false},
    {ASSAY_CMD_PINPOINT, assay_cmd_pinpoint, true},
    {ASSAY_CMD_EXPLAIN, assay_cmd_explain, false},
    {ASSAY_CMD_IMPACT, assay_cmd_impact, false},
    {ASSAY_CMD_LINT, assay_cmd_lint, false},
    {ASSAY_CMD_TRIAGE, assay_cmd_triage, false},
    {ASSAY_CMD_OUTPUT, assay_cmd_output, false},
    {ASSAY_CMD_MUTATE, assay_cmd_mutate, false},
    {ASSAY_CMD_REPLAY, assay_cmd_replay, true},
    {ASSAY_CMD_IMAGE, assay_cmd_image, false},
    {ASSAY_CMD_KEYGEN, assay_cmd_keygen, false},
    {ASSAY_CMD_PAIR, assay_cmd_pair, false},
};

static int flush(int code, bool tells)
{
    char line[256];

    if ((code != 0 && tells) || (fflush(stdout) == 0 && !ferror(stdout)))
        return code;
    /* What could not be printed is no success. */
    fprintf(stderr, "%s\n",
            assay_message(line, sizeof(line), ASSAY_MSG_ERROR_LINE, "text",
                          "cannot write to the standard output", NULL));
    return code != 0 ? code : ASSAY_CLASS_USAGE;
}

/* A caller may have closed what every program expects to be open; the next
 * file or socket would take its place. Read alone: writing fails, and is told. */
static void hold_standard_files(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    struct assay_options o;
    struct assay_err err = {0};

    hold_standard_files();
    if (assay_options_parse(&o, argc - 1, argv + 1, &err) < 0)
        return assay_cmd_failed(&err);
    if (o.version) {
        printf("assay %s\n", ASSAY_VERSION);
        return flush(0, false);
    }
    if (o.help) {
        if (o.command == ASSAY_CMD_NONE)
            assay_options_usage(stdout);
        else
            assay_options_help(stdout, o.command);
        return flush(0, false);
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (commands[i].command == o.command)
            return flush(commands[i].run(&o, argc, argv), commands[i].tells);
    }
    return ASSAY_CLASS_USAGE;
}
