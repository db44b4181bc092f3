/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "host-tools/cmd.h"
#include "host-tools/fit_case.h"
#include "host-tools/interrupt.h"
#include "host-tools/messages.h"
#include "host-tools/progress.h"

/* --layers: globs over layer names. */
static bool *wanted_layers(const struct assay_options *o,
                           const struct assay_slice *s)
{
    bool *wanted = assay_calloc((size_t)s->n_layers + 1, sizeof(*wanted));

    for (uint32_t i = 0; wanted != NULL && i < s->n_layers; i++)
        wanted[i] = o->layers.n == 0 ||
                    assay_strings_match(&o->layers, s->layers[i].name);
    return wanted;
}

static int read_case(struct assay_fit_session *f, struct assay_prepared *p,
                     const struct assay_options *o, struct assay_err *err)
{
    bool *wanted;
    int rc = assay_prepare(p, o, err);

    if (rc < 0)
        return rc;
    f->n_cases++; /* closed with the session from here on */
    wanted = wanted_layers(o, p->slice);
    if (wanted == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    rc = assay_fit_session_add(f, p->slice, p->c.name != NULL ? p->c.name : "",
                               wanted, err);
    assay_free(wanted);
    return rc < 0 ? rc
                  : assay_fit_session_read(f, &p->c, p->slice, &p->note, err);
}

static int read_cases(struct assay_fit_session *f,
                      const struct assay_options *o, struct assay_err *err)
{
    size_t n = o->cases.n > 0 ? o->cases.n : 1;
    int rc = 0;

    f->cases = assay_calloc(n, sizeof(*f->cases));
    if (f->cases == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct assay_options one = *o;

        if (o->cases.n > 0)
            one.operand = o->cases.v[i];
        rc = read_case(f, &f->cases[i], &one, err);
        if (rc == 0 && assay_interrupted() != 0)
            rc = assay_fail(err, ASSAY_ECANCELLED, "interrupted");
    }
    return rc;
}

static int exit_code(const struct assay_fit_session *f)
{
    if (f->n_found == 0)
        return 5;
    for (size_t i = 0; i < f->n_pools; i++) {
        if (f->pools[i]->left == 0)
            return 1;
    }
    return f->stopped ? 5 : 0;
}

static int save(const struct assay_fit_session *f,
                const struct assay_options *o, struct assay_err *err)
{
    char path[4096];
    int rc = 0;

    if (o->save != NULL)
        rc = assay_fit_save(f, o->save, err);
    if (rc < 0 || o->output_dir == NULL)
        return rc;
    mkdir(o->output_dir, 0777); /* a failure shows itself below */
    snprintf(path, sizeof(path), "%.4000s/numerics.json", o->output_dir);
    rc = assay_fit_save(f, path, err);
    return rc < 0 ? rc : assay_fit_save_inputs(f, o->output_dir, err);
}

int assay_cmd_fit_arith(const struct assay_options *o, int argc, char **argv)
{
    struct assay_fit_session f = {0};
    struct assay_err err = {0};
    uint64_t started = assay_monotonic_ms();
    int rc, code = 0;

    (void)argc;
    (void)argv;
    assay_interrupt_install();
    if (o->time_limit_ms != 0)
        f.stop_ms = started + o->time_limit_ms;
    rc = read_cases(&f, o, &err);
    if (rc == 0)
        rc = assay_fit_session_search(&f, &err);
    if (rc == 0)
        rc = assay_fit_session_separate(&f, &err);
    if (rc == 0 && f.n_found > 0)
        rc = save(&f, o, &err);
    if (rc == 0) {
        code = exit_code(&f);
        rc =
            assay_fit_report(&f, o, code, assay_monotonic_ms() - started, &err);
    }
    if (rc < 0)
        code = assay_cmd_failed(&err);
    assay_fit_session_close(&f);
    return code;
}
