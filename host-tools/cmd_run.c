/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "host-tools/cmd.h"
#include "host-tools/impact.h"
#include "host-tools/interrupt.h"
#include "host-tools/messages.h"
#include "host-tools/run_bad.h"
#include "host-tools/run_capture.h"
#include "host-tools/run_cause.h"
#include "host-tools/run_chain.h"
#include "host-tools/run_failing.h"
#include "host-tools/run_input.h"
#include "host-tools/run_picture.h"
#include "host-tools/run_other.h"
#include "host-tools/run_preflight.h"
#include "host-tools/run_probe.h"
#include "host-tools/run_repeat.h"
#include "host-tools/run_resume.h"
#include "kernels/cpu.h"

static int allocate(struct assay_run *r, struct assay_err *err)
{
    size_t layers = (size_t)r->s->n_layers + 1;
    size_t tensors = (size_t)r->s->n_tensors + 1;

    r->arena = assay_arena_new();
    r->layers = assay_calloc(layers, sizeof(*r->layers));
    r->now = assay_calloc(layers, sizeof(*r->now));
    r->values = assay_calloc(tensors, sizeof(*r->values));
    r->producer = assay_calloc(tensors, sizeof(*r->producer));
    r->culprits = assay_calloc(3 * layers, sizeof(*r->culprits));
    r->bad = assay_calloc((size_t)r->n_samples + 1, sizeof(*r->bad));
    if (r->arena == NULL || r->layers == NULL || r->now == NULL ||
        r->values == NULL || r->producer == NULL || r->culprits == NULL ||
        r->bad == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    for (uint32_t t = 0; t < r->s->n_tensors; t++)
        r->producer[t] = -1;
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        if (r->s->layers[i].output < r->s->n_tensors)
            r->producer[r->s->layers[i].output] = (int64_t)i;
        r->layers[i].judgement.status = ASSAY_ROW_NOT_OBSERVED;
        for (unsigned s = 0; s < ASSAY_SIDES; s++)
            r->layers[i].side[s].judgement.status = ASSAY_ROW_NOT_OBSERVED;
    }
    return 0;
}

static void release(struct assay_run *r)
{
    if (r->board != NULL)
        r->board->vt->close(r->board);
    if (r->host != NULL)
        r->host->vt->close(r->host);
    assay_npz_abort(r->saving);
    assay_run_sides_close(r);
    assay_arena_free(r->arena);
    assay_free(r->layers);
    assay_free(r->now);
    assay_free(r->values);
    assay_free(r->producer);
    assay_free(r->culprits);
    assay_free(r->bad);
    assay_run_fit_close(r);
    assay_run_causes_close(r);
    assay_run_other_close(r);
    assay_run_probe_close(r);
    assay_run_capture_close(r);
    assay_run_resume_close(r);
    assay_run_repeat_close(r);
    assay_prepare_close(&r->p);
}

static int list_layers(const struct assay_run *r)
{
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        if (r->layers[i].selected)
            printf("%03u %-22s %s\n", i, r->s->layers[i].source_op,
                   r->s->layers[i].name);
    }
    return 0;
}

/* Everything but the board: the plan, and each sample's files. */
static int dry_run(struct assay_run *r, struct assay_err *err)
{
    char text[512];
    uint32_t n = 0;
    int rc = assay_local_open(&r->host, 0, err);

    if (rc == 0)
        rc = r->host->vt->load(r->host, r->s, err);
    for (uint32_t s = 0; s < r->n_samples && rc == 0; s++) {
        rc = assay_case_inputs(&r->inputs, &r->p.c, s, r->s, &r->p.note, err);
        if (rc == 0 && r->p.c.goldens != NULL && r->p.c.goldens[s] != NULL)
            rc = assay_case_golden(&r->golden, &r->p.c, s, r->s, &r->p.note,
                                   err);
        if (rc == 0)
            rc = assay_run_sides_read(r, s, err);
        assay_run_sides_forget(r);
        assay_sample_close(&r->inputs);
        assay_sample_close(&r->golden);
        memset(&r->inputs, 0, sizeof(r->inputs));
        memset(&r->golden, 0, sizeof(r->golden));
    }
    if (rc == 0)
        rc = assay_run_preflight(r, err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < r->s->n_layers; i++)
        n += r->layers[i].run;
    assay_run_preflight_table(r);
    printf("%s\n", assay_message(text, sizeof(text), ASSAY_MSG_DRY_RUN,
                                 "layers", assay_num_u(n).text, "samples",
                                 assay_num_u(r->n_samples).text, "target",
                                 r->o->local ? "--local" : r->o->target, NULL));
    return 0;
}

/* What this board has, of what may run. */
static void choose_rungs(struct assay_run *r)
{
    uint32_t mask = r->o->cpumask, flags = r->info.agent.cpu_flags & mask;
    char text[300];

    r->scalar_only = flags == 0;
    r->kernels = flags == r->info.agent.cpu_flags
                     ? r->info.agent.kernels
                     : assay_cpu_rung(flags & ASSAY_CPU_KERNELS);
    if (mask == ASSAY_CPU_ALL ||
        strcmp(assay_cpu_rung(mask), r->kernels) == 0 || r->p.note.note == NULL)
        return;
    assay_message(text, sizeof(text), ASSAY_MSG_CPUMASK_LESS, "wanted",
                  assay_cpu_rung(mask), "board", r->info.agent.board_id, "used",
                  r->kernels, NULL);
    r->p.note.note(r->p.note.self, text);
}

static int connect_board(struct assay_run *r, struct assay_err *err)
{
    char text[320], target[256];
    int rc;

    snprintf(target, sizeof(target), "%.250s",
             r->o->local ? "--local" : r->o->target);
    assay_message(text, sizeof(text), ASSAY_MSG_PHASE_CONNECT, "target", target,
                  NULL);
    assay_progress_phase(&r->progress, 1, 0, text);
    rc = assay_cmd_open_board(&r->board, r->o, err);
    if (rc == 0)
        rc = r->board->vt->info(r->board, &r->info, err);
    if (rc < 0)
        return rc;
    choose_rungs(r);
    rc = assay_run_preflight(r, err);
    if (rc < 0 || assay_run_preflight_stops(r))
        return rc;
    rc = assay_run_resume_board(r, err);
    if (rc == 0)
        rc = assay_run_repeat_open(r, err);
    if (rc < 0)
        return rc;
    assay_message(text, sizeof(text), ASSAY_MSG_PHASE_LOAD, "layers",
                  assay_num_u(r->s->n_layers).text, NULL);
    assay_progress_phase(&r->progress, 2, 0, text);
    return assay_run_load(r, r->s, err);
}

static int run_samples(struct assay_run *r, struct assay_err *err)
{
    char text[128];
    uint32_t n = 0;
    int rc = 0;

    for (uint32_t i = 0; i < r->s->n_layers; i++)
        n += r->layers[i].run;
    assay_message(text, sizeof(text), ASSAY_MSG_PHASE_RUN, "samples",
                  assay_num_u(r->n_samples).text, NULL);
    assay_progress_phase(&r->progress, 3, n * r->n_samples, text);
    for (uint32_t s = 0; s < r->n_samples && rc == 0; s++) {
        rc = assay_run_sample(r, s, err);
        if (r->error.code != 0 || r->interrupted != 0 || r->stopped)
            break;
    }
    assay_progress_phase(
        &r->progress, 4, 0,
        assay_message(text, sizeof(text), ASSAY_MSG_PHASE_COMPARE, NULL));
    assay_progress_clear(&r->progress);
    return rc;
}

static void start_clock(struct assay_run *r)
{
    time_t now = time(NULL);
    struct tm tm;

    r->started_ms = assay_monotonic_ms();
    if (gmtime_r(&now, &tm) == NULL || strftime(r->started, sizeof(r->started),
                                                "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        r->started[0] = '\0';
}

static int finish(struct assay_run *r, int argc, char **argv)
{
    struct assay_run_summary sum;
    char line[640], text[600], next[640];

    struct assay_err err = {0};

    if (assay_run_causes_search(r, &err) < 0 ||
        assay_run_input_search(r, &err) < 0 ||
        assay_run_picture_steps(r, &err) < 0)
        return assay_cmd_failed(&err);
    assay_run_resume_end(r);
    assay_run_bad_sort(r);
    r->duration_ms = assay_monotonic_ms() - r->started_ms;
    assay_run_summarize(r, &sum);
    if (r->o->command == ASSAY_CMD_IMPACT)
        return assay_impact_report(r);
    assay_run_fit(r, &sum);
    assay_run_probe_tell(r);
    if (r->error.code != 0) {
        assay_run_lost(r, &sum, r->error.text, text, sizeof(text));
        fprintf(stderr, "%s\n",
                assay_message(line, sizeof(line), ASSAY_MSG_ERROR_LINE, "text",
                              text, NULL));
    }
    if (assay_run_next(r, next, sizeof(next))[0] != '\0')
        fprintf(stderr, "%s\n",
                assay_message(line, sizeof(line), ASSAY_MSG_RESUME_WITH, "next",
                              next, NULL));
    if (assay_run_save_failing(r, &err) < 0) {
        /* The run is judged all the same. */
        int failed = assay_cmd_failed(&err);
        int code = assay_run_report(r, &sum, argc, argv);

        return code < 128 ? assay_exit_combine(code, failed) : code;
    }
    return assay_run_report(r, &sum, argc, argv);
}

/* The case is not there, and that was asked to be no error. */
static bool skip_missing(const struct assay_options *o)
{
    char line[640], path[512];
    struct stat st;

    if (!o->skip_if_missing || stat(assay_prepare_path(o), &st) == 0)
        return false;
    snprintf(path, sizeof(path), "%.500s", assay_prepare_path(o));
    fprintf(stderr, "%s\n",
            assay_message(line, sizeof(line), ASSAY_MSG_SKIPPED_RUN, "path",
                          path, NULL));
    return true;
}

/* What needs data does not go with digests. */
static int check_capture(const struct assay_options *o, struct assay_err *err)
{
    const char *with = o->save_outputs         ? "--save-outputs"
                       : o->save_failing       ? "--save-failing"
                       : o->hypothesis != NULL ? "--hypothesis"
                                               : NULL;

    if (o->capture < ASSAY_CAPTURE_DIGEST || with == NULL)
        return 0;
    return assay_fail_message(
        err, ASSAY_EUSAGE, ASSAY_MSG_CAPTURE_NO_DATA, "capture",
        o->capture == ASSAY_CAPTURE_STATS ? "stats" : "digest", "with", with,
        NULL);
}

int assay_cmd_run(const struct assay_options *o, int argc, char **argv)
{
    struct assay_run r = {.o = o};
    struct assay_err err = {0};
    int rc, code;

    if (o->target == NULL && !o->local && !o->list && !o->dry_run) {
        (void)assay_fail_message(&err, ASSAY_EUSAGE, ASSAY_MSG_NO_TARGET, NULL);
        return assay_cmd_failed(&err);
    }
    if (check_capture(o, &err) < 0)
        return assay_cmd_failed(&err);
    if (skip_missing(o))
        return 77;
    assay_interrupt_install();
    start_clock(&r);
    assay_progress_init(&r.progress, o->quiet, o->verbose > 0);
    rc = assay_prepare(&r.p, o, &err);
    if (rc < 0)
        return assay_cmd_failed(&err);
    r.s = r.p.slice;
    r.n_samples = (uint32_t)r.p.c.n_samples;
    rc = allocate(&r, &err);
    if (rc == 0)
        rc = assay_run_causes_open(&r, &err);
    if (rc == 0)
        rc = assay_run_capture_open(&r, &err);
    if (rc == 0)
        rc = assay_run_select(&r, &err);
    if (rc == 0)
        assay_run_replay_begin(&r);
    if (rc == 0 && !o->list)
        rc = assay_run_sides_open(&r, &err);
    if (rc == 0 && !o->list)
        rc = assay_run_chain_open(&r, &err);
    if (rc == 0 && !o->list && !o->dry_run)
        rc = assay_run_resume_open(&r, &err);
    if (rc == 0 && o->list) {
        code = list_layers(&r);
        goto out;
    }
    if (rc == 0 && o->dry_run)
        rc = dry_run(&r, &err);
    else if (rc == 0)
        rc = connect_board(&r, &err);
    if (rc == 0 && !o->dry_run && !assay_run_preflight_stops(&r))
        rc = run_samples(&r, &err);
    if (rc < 0)
        code = assay_cmd_failed(&err);
    else if (o->dry_run)
        code = r.preflight.contradictions > 0 ? ASSAY_CLASS_USAGE : 0;
    else
        code = finish(&r, argc, argv);
out:
    release(&r);
    return code;
}
