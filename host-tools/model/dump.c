/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/dump.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Digits at *p, below a million; p behind them. */
static bool number(const char **p, uint32_t *out)
{
    uint32_t v = 0;
    unsigned n = 0;

    for (; isdigit((unsigned char)**p) && n < 6; n++)
        v = v * 10 + (uint32_t)(*(*p)++ - '0');
    *out = v;
    return n > 0 && !isdigit((unsigned char)**p);
}

static bool prefix(const char **p, const char *word)
{
    size_t n = strlen(word);

    if (strncmp(*p, word, n) != 0)
        return false;
    *p += n;
    return true;
}

bool assay_dump_index(uint32_t *index, bool *is_input, const char *stem)
{
    static const char *const words[] = {"output", "out", "arr", "input", "in"};
    const char *p = stem;

    *is_input = false;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (!prefix(&p, words[i]))
            continue;
        *is_input = i >= 3;
        break;
    }
    if (p > stem)
        (void)prefix(&p, "_");
    return number(&p, index) && *p == '\0';
}

/* "-input-0" or "-output-0", then a tensor or the end. */
static bool port(struct assay_dump_name *out, const char *rest)
{
    for (const char *at = rest; (at = strchr(at, '-')) != NULL; at++) {
        const char *p = at + 1;
        bool is_input = prefix(&p, "input-");

        if (!is_input && !prefix(&p, "output-"))
            continue;
        if (!number(&p, &out->index) || (*p != '\0' && *p != '-'))
            continue;
        out->is_input = is_input;
        strcpy(out->tensor, *p == '-' ? p + 1 : p);
        return true;
    }
    return false;
}

/* Segments are "bpu-<graph>_subgraph_0", in the Nash family
 * "...<operator>_bpu_segment_2". */
static bool is_segment(const char *node)
{
    return strncasecmp(node, "bpu", 3) == 0 ||
           strstr(node, "_bpu_segment_") != NULL;
}

static bool node(struct assay_dump_name *out, const char *stem)
{
    const char *p = stem;

    if (!prefix(&p, "layer-") || !number(&p, &out->layer) || *p++ != '-')
        return false;
    out->is_bpu = is_segment(p);
    return port(out, p);
}

static bool model(struct assay_dump_name *out, const char *stem)
{
    const char *p = stem;

    if (!prefix(&p, "model_infer_"))
        return false;
    out->is_input = prefix(&p, "input_");
    if ((!out->is_input && !prefix(&p, "output_")) || !number(&p, &out->index))
        return false;
    if (*p != '\0' && *p != '_')
        return false;
    strcpy(out->tensor, *p == '_' ? p + 1 : p);
    return true;
}

bool assay_dump_name(struct assay_dump_name *out, const char *name)
{
    static const char *const suffixes[] = {".bin", ".txt", ".npy"};
    size_t n = strlen(name);
    char stem[ASSAY_DUMP_NAME_CAP];

    memset(out, 0, sizeof(*out));
    if (n <= 4 || n - 4 >= sizeof(stem))
        return false;
    for (unsigned i = 0;; i++) {
        if (i == sizeof(suffixes) / sizeof(suffixes[0]))
            return false;
        if (strcmp(name + n - 4, suffixes[i]) != 0)
            continue;
        out->form = (enum assay_dump_form)i;
        break;
    }
    memcpy(stem, name, n - 4);
    stem[n - 4] = '\0';
    if (node(out, stem)) {
        out->kind = ASSAY_DUMP_NODE;
    } else if (model(out, stem)) {
        out->kind = ASSAY_DUMP_MODEL;
    } else if (assay_dump_index(&out->index, &out->is_input, stem)) {
        out->kind = ASSAY_DUMP_INDEX;
        out->tensor[0] = '\0';
    } else {
        out->kind = ASSAY_DUMP_PLAIN;
        strcpy(out->tensor, stem);
    }
    return true;
}
