/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_resume.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host-tools/journal.h"
#include "host-tools/messages.h"
#include "host-tools/model/file.h"

#define NAME "resume.journal"
#define EARLIER "resume.previous.json"
#define HEX 33

static void say(const struct assay_run *r, enum assay_message_id id,
                const char *key, const char *value)
{
    char line[640], text[600], cut[400];

    if (r->o->quiet)
        return;
    snprintf(cut, sizeof(cut), "%.390s", value);
    assay_message(text, sizeof(text), id, key, cut, NULL);
    fprintf(stderr, "%s\n",
            assay_message(line, sizeof(line), ASSAY_MSG_NOTE_LINE, "text", text,
                          NULL));
}

/* ---- does it fit? --------------------------------------------------------- */

static int differs(const struct assay_run *r, const char *what, const char *was,
                   const char *now, struct assay_err *err)
{
    char a[100], b[100];

    snprintf(a, sizeof(a), "%.90s", was);
    snprintf(b, sizeof(b), "%.90s", now);
    return assay_fail_message(err, ASSAY_EMISMATCH, ASSAY_MSG_RESUME_DIFFERS,
                              "dir", r->o->resume, "what", what, "was", a,
                              "now", b, NULL);
}

static int same(const struct assay_run *r, const char *key, const char *what,
                const char *now, struct assay_err *err)
{
    const char *was = assay_journal_text(r->resume->old, key);

    return strcmp(was, now) == 0 ? 0 : differs(r, what, was, now, err);
}

/* Programs, layouts and constants: everything that the board is told. */
static int slice_digest(const struct assay_run *r, char out[65],
                        struct assay_err *err)
{
    uint8_t digest[ASSAY_SHA256_LEN];
    struct assay_buf text;
    int rc;

    assay_buf_init(&text);
    rc = assay_slice_encode(r->s, &text, err);
    if (rc == 0) {
        assay_sha256(text.data, text.len, digest);
        assay_hex(digest, sizeof(digest), out);
    }
    assay_buf_close(&text);
    return rc;
}

static const char *model_hash(const struct assay_run *r, char out[65])
{
    assay_hex(r->s->model_sha256, ASSAY_SHA256_LEN, out);
    return out;
}

int assay_run_resume_open(struct assay_run *r, struct assay_err *err)
{
    const struct assay_options *o = r->o;
    struct assay_run_resume *k;
    char path[4200], model[65];
    struct stat a, b;
    int rc;

    if (o->capture >= ASSAY_CAPTURE_DIGEST && o->resume != NULL)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_RESUME_CAPTURE,
                                  NULL);
    /* Of digests alone nothing could go on. */
    if (o->output_dir == NULL || o->capture >= ASSAY_CAPTURE_DIGEST ||
        o->command == ASSAY_CMD_IMPACT || o->command == ASSAY_CMD_REPLAY)
        return 0;
    k = r->resume = assay_calloc(1, sizeof(*k));
    if (k == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    k->wanted = true;
    snprintf(k->path, sizeof(k->path), "%.4000s/" NAME, o->output_dir);
    snprintf(k->fresh, sizeof(k->fresh), "%.4000s/" NAME, o->output_dir);
    rc = slice_digest(r, k->slice, err);
    if (rc < 0 || o->resume == NULL)
        return rc;
    snprintf(path, sizeof(path), "%.4000s/" NAME, o->resume);
    if (stat(path, &a) == 0 && stat(k->path, &b) == 0 && a.st_dev == b.st_dev &&
        a.st_ino == b.st_ino) {
        snprintf(k->fresh, sizeof(k->fresh), "%.4000s/" NAME ".new",
                 o->output_dir);
        k->replaces = true;
    }
    if (assay_file_is_regular(path))
        rc = assay_journal_read(&k->old, path, r->s->n_layers, err);
    /* All that it is of stands in front of its first sample. */
    if (rc == 0 &&
        (k->old == NULL || assay_journal_text(k->old, "sample")[0] == '\0'))
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_RESUME_NOTHING,
                                  "dir", o->resume, "file", NAME, NULL);
    if (rc == 0)
        rc = same(r, "model", "model", model_hash(r, model), err);
    if (rc == 0)
        rc = same(r, "assay", "version of assay", ASSAY_VERSION, err);
    if (rc == 0)
        rc = same(r, "slice", "arithmetic or layout of the model", k->slice,
                  err);
    return rc;
}

int assay_run_resume_board(struct assay_run *r, struct assay_err *err)
{
    int rc;

    if (r->resume == NULL || r->resume->old == NULL)
        return 0;
    rc = same(r, "board", "board", r->info.agent.board_id, err);
    if (rc == 0)
        rc = same(r, "agent", "version of the agent", r->info.agent.build_id,
                  err);
    if (rc == 0)
        rc = same(r, "features", "CPU", r->info.agent.features, err);
    return rc;
}

/* ---- what is written ------------------------------------------------------ */

/* The run goes on without. */
void assay_run_resume_give_up(struct assay_run *r, const struct assay_err *why)
{
    struct assay_run_resume *k = r->resume;

    assay_journal_close(&k->w);
    if (k->made)
        unlink(k->fresh);
    k->wanted = k->made = false;
    say(r, ASSAY_MSG_RESUME_NOT_KEPT, "why", why->text);
}

static bool begin_journal(struct assay_run *r)
{
    struct assay_run_resume *k = r->resume;
    struct assay_err err = {0};
    char model[65];
    const char *const notes[][2] = {
        {"assay", ASSAY_VERSION},
        {"model", model_hash(r, model)},
        {"slice", k->slice},
        {"board", r->info.agent.board_id},
        {"agent", r->info.agent.build_id},
        {"features", r->info.agent.features},
    };
    int rc;

    if (!k->wanted || k->made)
        return k->wanted;
    mkdir(r->o->output_dir, 0777); /* a failure shows itself below */
    rc = assay_journal_create(&k->w, k->fresh, r->s->n_layers, &err);
    k->made = rc == 0;
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]) && rc == 0; i++)
        rc = assay_journal_note(&k->w, notes[i][0], notes[i][1], &err);
    if (rc < 0)
        assay_run_resume_give_up(r, &err);
    return rc == 0;
}

/* Tensors that are there, by index, to one digest. */
static void digest_values(const struct assay_run *r, const void *const *values,
                          uint8_t digest[16])
{
    uint8_t part[36];

    for (uint32_t t = 0; values != NULL && t < r->s->n_tensors; t++) {
        size_t n, bytes;

        if (values[t] == NULL ||
            assay_tensor_count(&r->s->tensors[t], &n, &bytes, NULL) < 0)
            continue;
        memcpy(part, digest, 16);
        memcpy(part + 16, &t, sizeof(t));
        assay_xxh128(values[t], bytes, part + 20);
        assay_xxh128(part, sizeof(part), digest);
    }
}

/* "HEX HEX HEX": inputs, reference, columns. */
static void digest_sample(const struct assay_run *r, char out[3 * HEX])
{
    uint8_t digest[3][16] = {{0}};

    digest_values(r, (const void *const *)r->inputs.values, digest[0]);
    digest_values(r, (const void *const *)r->golden.values, digest[1]);
    for (unsigned s = 0; s < ASSAY_SIDES; s++)
        digest_values(r, (const void *const *)r->sides[s].observed.values,
                      digest[2]);
    for (size_t i = 0; i < 3; i++) {
        assay_hex(digest[i], 16, out + i * HEX);
        out[i * HEX + HEX - 1] = i < 2 ? ' ' : '\0';
    }
}

static int sample_differs(const struct assay_run *r, const char *was,
                          const char *now, struct assay_err *err)
{
    static const char *const words[] = {"input in sample %u",
                                        "reference in sample %u",
                                        "sim, bpu or got in sample %u"};
    size_t i = 0;
    char what[64], a[HEX], b[HEX];

    while (i < 2 && strncmp(was + i * HEX, now + i * HEX, HEX - 1) == 0)
        i++;
    snprintf(what, sizeof(what), words[i], r->sample);
    snprintf(a, sizeof(a), "%.*s", HEX - 1, was + i * HEX);
    snprintf(b, sizeof(b), "%.*s", HEX - 1, now + i * HEX);
    return differs(r, what, a, b, err);
}

int assay_run_resume_sample(struct assay_run *r, struct assay_err *err)
{
    struct assay_run_resume *k = r->resume;
    struct assay_err why = {0};
    char now[3 * HEX], text[3 * HEX + 16];
    const char *was;

    if (k == NULL)
        return 0;
    digest_sample(r, now);
    was = k->old != NULL ? assay_journal_sample(k->old, r->sample) : "";
    if (was[0] != '\0' && strlen(was) != strlen(now))
        return differs(r, "way to write samples", was, now, err);
    if (was[0] != '\0' && strcmp(was, now) != 0)
        return sample_differs(r, was, now, err);
    snprintf(text, sizeof(text), "%u %s", r->sample, now);
    if (begin_journal(r) && assay_journal_note(&k->w, "sample", text, &why) < 0)
        assay_run_resume_give_up(r, &why);
    return 0;
}

/* ---- the end -------------------------------------------------------------- */

static const char *earlier(const char *dir, char *out, size_t cap)
{
    snprintf(out, cap, "%.4000s/" EARLIER, dir);
    return out;
}

const char *assay_run_resume_previous(const struct assay_run *r,
                                      const char *dir, char *out, size_t cap)
{
    if (r->o->resume != NULL)
        return earlier(r->o->resume, out, cap);
    snprintf(out, cap, "%.4000s/report.json", dir);
    return out;
}

void assay_run_resume_end(struct assay_run *r)
{
    struct assay_run_resume *k = r->resume;
    bool cut = r->error.code != 0 || r->interrupted != 0;
    char before[4200], report[4200];

    if (k == NULL)
        return;
    assay_journal_close(&k->w);
    if (k->old != NULL)
        say(r, ASSAY_MSG_RESUME_TAKEN, "layers", assay_num_u(k->taken).text);
    earlier(r->o->output_dir, before, sizeof(before));
    if (!cut || (k->replaces && k->made))
        unlink(k->fresh);
    if (!cut) {
        unlink(k->path);
        unlink(before);
    }
    k->resumable = cut && (k->made || k->old != NULL);
    if (!k->resumable || k->old != NULL)
        return;
    /* What this run found there is not what it leaves. */
    snprintf(report, sizeof(report), "%.4000s/report.json", r->o->output_dir);
    unlink(before);
    (void)rename(report, before);
}

void assay_run_resume_close(struct assay_run *r)
{
    if (r->resume == NULL)
        return;
    assay_journal_close(&r->resume->w);
    assay_journal_free(r->resume->old);
    assay_free(r->resume);
    r->resume = NULL;
}

/* It died in a kernel that plain C can replace. */
bool assay_run_vector_died(const struct assay_run *r)
{
    const char *isa = strstr(r->running_kernel, "__");

    return r->error.code == ASSAY_ECRASH && r->is_running && isa != NULL &&
           strcmp(isa, "__ref") != 0;
}

const char *assay_run_next(const struct assay_run *r, char *out, size_t cap)
{
    bool resumable = r->resume != NULL && r->resume->resumable;
    bool scalar = assay_run_vector_died(r);
    char dir[400] = "";

    out[0] = '\0';
    if (!resumable && !scalar)
        return out;
    if (resumable)
        snprintf(dir, sizeof(dir), " --resume %.380s", r->o->output_dir);
    return assay_message(out, cap, ASSAY_MSG_NEXT_COMMAND, "command",
                         assay_command_name(r->o->command), "dir", dir, "mask",
                         scalar ? " --cpumask 0" : "", NULL);
}
