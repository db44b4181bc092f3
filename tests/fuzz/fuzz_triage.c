/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The readers of what the vendor's training tools leave, each on the same
 * bytes, whatever they look like; then what is concluded from them; the scan of
 * a log; and the filter of a bundle, whose output is bounded.
 *
 * links: host-tools/triage/ host-tools/vendor/ host-tools/model/file.c
 * links: host-tools/model/model_info.c
 * links: host-tools/model/npz.c host-tools/model/npy.c lib/core/
 * covers: host-tools/triage/evidence.c host-tools/triage/layers.c
 * covers: host-tools/triage/cells.c host-tools/triage/dtypes.c
 * covers: host-tools/triage/badcase.c host-tools/triage/log.c
 * covers: host-tools/triage/redact.c
 * libs: -ljansson -lyaml -lzip -lmbedcrypto -lxxhash
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "host-tools/triage/evidence.h"
#include "host-tools/triage/log.h"
#include "host-tools/triage/redact.h"

static void must(bool yes)
{
    if (!yes)
        abort();
}

static void judge(const struct assay_triage_evidence *e)
{
    uint32_t worst[3], n = assay_evidence_worst(e, worst, 3);

    for (uint32_t i = 0; i < n; i++)
        must(worst[i] < e->n_layers &&
             assay_layer_row_error(&e->layers[worst[i]]) != NULL);
    for (uint32_t i = 0; i < e->n_badcases; i++)
        must(e->badcases[i].sample >= 0 && e->badcases[i].metric != NULL);
    for (uint32_t i = 0; i < e->n_verdicts; i++) {
        const struct assay_dtype_verdict *v = &e->verdicts[i];

        must(v->module != NULL && v->asked != NULL && v->got != NULL &&
             v->by != NULL && v->text != NULL && v->near != NULL &&
             v->why != ASSAY_DTYPE_AS_ASKED);
    }
}

static void read_as(assay_evidence_reader_fn read, const char *text, size_t n)
{
    struct assay_triage_evidence *e = NULL;
    struct assay_err err = {0};

    must(assay_evidence_new(&e, &err) == 0);
    if (read(e, text, n, "fuzz", &err) == 0) {
        must(assay_evidence_finish(e, &err) == 0);
        judge(e);
    } else {
        must(err.text[0] != '\0');
    }
    assay_evidence_free(e);
}

static void scan(const char *text, size_t n)
{
    struct assay_log log = {.arena = assay_arena_new()};
    struct assay_err err = {0};

    must(log.arena != NULL);
    if (assay_log_scan(&log, "fuzz", text, n, &err) < 0)
        must(err.text[0] != '\0');
    for (uint32_t i = 0; i < log.n_hits; i++)
        must(log.hits[i].text != NULL && log.hits[i].line > 0 &&
             log.hits[i].count > 0);
    assay_arena_free(log.arena);
}

static void filter(const char *text, size_t n)
{
    struct assay_redaction r = {.own = {"/plant"}, .n_own = 1};
    struct assay_buf out;

    assay_buf_init(&out);
    must(assay_redact(&out, text, n, &r, NULL) == 0);
    must(out.len <= 16 * n + 16);
    assay_buf_close(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const assay_evidence_reader_fn readers[] = {
        assay_evidence_layers,    assay_evidence_badcases,
        assay_evidence_sensitive, assay_evidence_check,
        assay_evidence_config,    assay_evidence_changes,
    };
    char *text = malloc(size > 0 ? size : 1); /* its end is its end */

    must(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    (void)assay_evidence_probe(text, size);
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
        read_as(readers[i], text, size);
    scan(text, size);
    filter(text, size);
    free(text);
    return 0;
}
