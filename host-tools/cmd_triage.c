/* SPDX-License-Identifier: Apache-2.0 */
/* triage: which stage broke, from what all of them left. */
#include "host-tools/cmd.h"
#include "host-tools/messages.h"
#include "host-tools/triage_report.h"

static void tell(void *self, const char *text)
{
    char line[640];

    (void)self;
    fprintf(stderr, "%s\n",
            assay_message(line, sizeof(line), ASSAY_MSG_NOTE_LINE, "text", text,
                          NULL));
}

static int write_json(const struct assay_options *o,
                      const struct assay_triage *t, struct assay_err *err)
{
    if (!o->json_stdout && o->json == NULL)
        return 0;
    return assay_cmd_write_json(o, assay_triage_json(t), err);
}

static int report(const struct assay_triage *t, const struct assay_options *o,
                  struct assay_err *err)
{
    int rc;

    if (!o->json_stdout)
        assay_triage_text(stdout, t);
    rc = write_json(o, t, err);
    if (rc == 0 && o->bundle != NULL)
        rc = assay_triage_bundle(t, o, o->quiet ? NULL : stderr, err);
    return rc;
}

int assay_cmd_triage(const struct assay_options *o, int argc, char **argv)
{
    const struct assay_model_note note = {.note = o->quiet ? NULL : tell};
    struct assay_triage_request r = {
        .folder = o->operand,
        .vendor = o->vendor.v,
        .n_vendor = o->vendor.n,
        .logs = o->logs.v,
        .n_logs = o->logs.n,
        .scales = o->scale.v,
        .n_scales = o->scale.n,
    };
    struct assay_triage t;
    struct assay_err err = {0}, other = {0};
    int rc, written = 0, code = 0;

    (void)argc;
    (void)argv;
    for (size_t i = 0; i < ASSAY_STAGE_COUNT; i++)
        r.stage[i] = o->stage[i];
    rc = assay_triage_run(&t, &r, &note, &err);
    if (rc == 0 || t.few) {
        written = report(&t, o, &other);
        code = t.exit_code;
    }
    if (rc < 0)
        code = assay_cmd_failed(&err);
    if (written < 0)
        code = assay_exit_combine(code, assay_cmd_failed(&other));
    assay_triage_close(&t);
    return code;
}
