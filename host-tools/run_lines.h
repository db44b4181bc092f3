/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentences of a run for text reports: header, summary, block of the
 * first culprit, last line. Texts live in the run's arena.
 */
#ifndef ASSAY_HOST_RUN_LINES_H
#define ASSAY_HOST_RUN_LINES_H

#include "host-tools/messages.h"
#include "host-tools/report/report.h"
#include "host-tools/run.h"

#define ASSAY_LINE_TEXT 1024 /* bytes of a sentence, '\0' included */
#define ASSAY_LINE_ROOM 116  /* bytes that surely fit into 120 columns */

struct assay_lines {
    struct assay_arena *arena;
    bool wide;      /* lines are not broken */
    const char **v; /* in the arena, as what they point to */
    size_t n, cap;
};

/* "prefix" + text, broken at spaces before column 120. Without memory it is
 * left out. */
void assay_line_add(struct assay_lines *l, const char *prefix,
                    const char *text);
/* One line, however wide. */
void assay_line_add_whole(struct assay_lines *l, const char *prefix,
                          const char *text);
/* run_head.c */
void assay_run_head_lines(struct assay_run *r,
                          const struct assay_run_summary *sum,
                          struct assay_lines *l);
/* run_numerics.c: the arithmetic in use: lines of the head, and what the JSON
 * report says of it. ASSAY_EMEMORY, or 0. */
void assay_run_numerics_lines(const struct assay_run *r, struct assay_lines *l);
int assay_run_numerics_rules(const struct assay_run *r,
                             struct assay_report_head *head) ASSAY_MUST_CHECK;
/* As far as they hold for all layers. */
void assay_run_tolerance_lines(const struct assay_run *r,
                               struct assay_lines *l);
/* run_differ.c: differences that are no faults, as lines and as findings;
 * v has room for ASSAY_RUN_DIFFERENCES, the number is returned. */
#define ASSAY_RUN_DIFFERENCES 64
void assay_run_difference_lines(const struct assay_run *r,
                                struct assay_lines *l);
/* A culprit of a column that was made for another march, by another version
 * or with other options: that speaks against blaming its compiler. */
void assay_run_made_line(const struct assay_run *r, enum assay_column column,
                         struct assay_lines *l);
size_t assay_run_difference_findings(const struct assay_run *r,
                                     struct assay_report_finding *v);
/* run_tail.c */
void assay_run_tail_lines(struct assay_run *r,
                          const struct assay_run_summary *sum,
                          uint64_t received, struct assay_lines *l);
/* run_culprit.c: the block of the first culprit. */
void assay_run_culprit_lines(const struct assay_run *r,
                             const struct assay_run_summary *sum,
                             struct assay_lines *l);
/* run_fit.c: what would fit; lines, and for JSON (in the run's arena). */
void assay_run_fit_lines(const struct assay_run *r, struct assay_lines *l);
size_t assay_run_fits(const struct assay_run *r,
                      const struct assay_report_fit **out);
/* run_cause_lines.c: why a culprit differs; the name of its cause, "" where
 * none is proved; for JSON (in the run's arena). */
void assay_run_cause_lines(const struct assay_run *r, uint32_t layer,
                           enum assay_column column, struct assay_lines *l);
const char *assay_run_cause_text(const struct assay_run *r, uint32_t layer,
                                 enum assay_column column, char *out,
                                 size_t cap);
/* Id alone, of any column: "P5", "L1", "". */
const char *assay_run_cause_id(const struct assay_run *r, uint32_t layer);
size_t assay_run_hypotheses(const struct assay_run *r,
                            const struct assay_report_hypothesis **out);
/* Those of the row's first column that was searched. */
void assay_run_fingerprints(const struct assay_run *r, struct assay_row *row);
/* What is known of the search for the cause of out->index in out->column. */
void assay_run_cause_report(const struct assay_run *r,
                            struct assay_report_culprit *out);
/* run_builds.c: columns that are of two builds. */
void assay_run_builds_lines(const struct assay_run *r, struct assay_lines *l);
/* run_probe.c: what the data never reached, of a run that matches. */
void assay_run_probe_lines(const struct assay_run *r,
                           const struct assay_run_summary *sum,
                           struct assay_lines *l);
/* run_sentence.c: a run that was cut, where, and how much was compared. */
const char *assay_run_lost(const struct assay_run *r,
                           const struct assay_run_summary *sum, const char *why,
                           char *out, size_t cap);
/* The sentence of the whole run and the id of its message. */
const char *assay_run_sentence(const struct assay_run *r,
                               const struct assay_run_summary *sum, char *out,
                               size_t cap, enum assay_message_id *id);
/* A match of what was selected, behind something else that differs. */
bool assay_run_only_inherited(const struct assay_run_summary *sum);
bool assay_run_cpu_all_exact(const struct assay_run_summary *sum);
/* run_head.c: "onnxruntime 1.32.0 ..." or "host, scalar engine". */
const char *assay_run_reference(const struct assay_run *r, char *out,
                                size_t cap);

#endif
