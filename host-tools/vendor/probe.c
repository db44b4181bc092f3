/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the vendor's files is this? By content: names are the user's. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "host-tools/vendor/vendor.h"

static bool has(const char *data, size_t n, const char *word)
{
    return memmem(data, n, word, strlen(word)) != NULL;
}

/* At the start of a line. */
static bool has_line(const char *data, size_t n, const char *word)
{
    size_t len = strlen(word);
    const char *at = data, *end = data + n;

    while (at < end && (at = memmem(at, (size_t)(end - at), word, len))) {
        if (at == data || at[-1] == '\n')
            return true;
        at += len;
    }
    return false;
}

/* "2026-12-02 02:15:21,927 " */
static bool is_time(const char *p, size_t n)
{
    static const char form[] = "dddd-dd-dd dd:dd:dd";

    if (n < sizeof(form) - 1)
        return false;
    for (size_t i = 0; form[i] != '\0'; i++) {
        if (form[i] == 'd' ? !isdigit((unsigned char)p[i]) : p[i] != form[i])
            return false;
    }
    return true;
}

/* Is one of the cells of a CSV's first line this word, whatever its case? */
static bool has_cell(const char *p, size_t first, const char *word)
{
    size_t len = strlen(word), at = 0;

    while (at < first) {
        size_t n = 0;

        while (at + n < first && p[at + n] != ',')
            n++;
        if (n >= len && strncasecmp(p + at, word, len) == 0 &&
            (n == len || p[at + n - 1] == '\r'))
            return true;
        at += n + 1;
    }
    return false;
}

/* "Node,ON,Subgraph,Type,...": the header of a table, whatever its order. */
static bool is_node_info(const char *p, size_t first)
{
    return has_cell(p, first, "on") &&
           (has_cell(p, first, "type") || has_cell(p, first, "op_type")) &&
           (has_cell(p, first, "node") || has_cell(p, first, "node_name") ||
            has_cell(p, first, "name"));
}

static bool is_runtime(const char *p, size_t n)
{
    static const char *const marks[] = {
        "[BPU_PLAT]BPU Platform Version(",
        "[HBRT] set log level",
        "[DNN] Runtime version = ",
        "[HorizonRT] The model builder version = ",
        "INFO]BPULib verison(", /* spelt so */
        "Load model to DDR cost ",
    };

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        if (has(p, n, marks[i]))
            return true;
    }
    return has(p, n, "[DNN]: ") && has(p, n, " HBRT)");
}

static enum assay_vendor_kind probe_json(const char *p, size_t n)
{
    if (has(p, n, "\"input features\"") || has(p, n, "\"output features\"") ||
        has(p, n, "\"hbdk-cc version\""))
        return ASSAY_VENDOR_DISAS;
    if (has(p, n, "\"advice\"") || has(p, n, "\"advices\""))
        return ASSAY_VENDOR_ADVICE;
    if (*p != '{')
        return ASSAY_VENDOR_UNKNOWN;
    if (has(p, n, "\"cosine_similarity\"") || has(p, n, "\"thresholds\""))
        return ASSAY_VENDOR_QUANT_INFO;
    if (has(p, n, "\"model_config\"") || has(p, n, "\"node_config\"") ||
        has(p, n, "\"op_config\""))
        return ASSAY_VENDOR_QUANT_CONFIG;
    return ASSAY_VENDOR_UNKNOWN;
}

static enum assay_vendor_kind probe_text(const char *p, size_t n)
{
    const char *line = memchr(p, '\n', n);
    size_t first = line != NULL ? (size_t)(line - p) : n;

    /* Others have times, too. */
    if (has(p, n, "Start hb_mapper") ||
        has(p, n, "Start to Horizon NN Model Convert") ||
        has(p, n, "Start hb_compile") ||
        has(p, n, "The converted model node information:") ||
        has(p, n, "The main quantized node information:"))
        return ASSAY_VENDOR_LOG;
    if (has(p, n, "HB_Verifier Starts") || has(p, n, "verifier tool version") ||
        has(p, n, "result Strict check "))
        return ASSAY_VENDOR_VERIFIER;
    if (assay_model_info_probe(p, n))
        return ASSAY_VENDOR_MODEL_INFO;
    if (is_runtime(p, n))
        return ASSAY_VENDOR_RUNTIME;
    if (is_time(p, n))
        return ASSAY_VENDOR_UNKNOWN;
    if (has(p, first, "Cosin Similarity") && has(p, first, "MAE"))
        return ASSAY_VENDOR_VEC_DIFF;
    if (is_node_info(p, first))
        return ASSAY_VENDOR_NODE_INFO;
    if (has_line(p, n, "model_parameters:") ||
        has_line(p, n, "input_parameters:") ||
        has_line(p, n, "calibration_parameters:") ||
        has_line(p, n, "compiler_parameters:"))
        return ASSAY_VENDOR_YAML;
    return ASSAY_VENDOR_UNKNOWN;
}

enum assay_vendor_kind assay_vendor_probe(const char *data, size_t n)
{
    const char *p = data, *end = data + n;

    if (memchr(data, '\0', n) != NULL)
        return ASSAY_VENDOR_UNKNOWN;
    if (n >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0)
        p += 3;
    while (p < end && isspace((unsigned char)*p))
        p++;
    if (p == end)
        return ASSAY_VENDOR_UNKNOWN;
    if (*p == '{' || *p == '[') {
        enum assay_vendor_kind k = probe_json(p, (size_t)(end - p));

        if (k != ASSAY_VENDOR_UNKNOWN)
            return k;
    }
    return probe_text(p, (size_t)(end - p));
}
