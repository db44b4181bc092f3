/* SPDX-License-Identifier: Apache-2.0 */
/* Scales from files: scales.json, the vendor's calibrated model. */
#include "host-tools/model/scales.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/model/file.h"
#include "host-tools/model/onnx_graph.h"

#define MAX_JSON ((size_t)64 << 20)
#define MAX_MODEL ((size_t)1 << 30)
#define MAX_SCALES 65536

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "scales: out of memory");
}

static int by_name(const void *a, const void *b)
{
    const struct assay_scale_name *x = a, *y = b;

    return strcmp(x->name, y->name);
}

int assay_scales_open(struct assay_scales *sc, struct assay_slice *slice,
                      struct assay_err *err)
{
    sc->slice = slice;
    sc->origin = assay_calloc(slice->n_tensors + 1, 1);
    sc->names = assay_calloc(slice->n_tensors + 1, sizeof(*sc->names));
    if (!sc->origin || !sc->names) {
        assay_scales_close(sc);
        return no_memory(err);
    }
    for (uint32_t i = 0; i < slice->n_tensors; i++) {
        sc->names[i].name = slice->tensors[i].name;
        sc->names[i].tensor = i;
        if (slice->tensors[i].quant.n)
            sc->origin[i] = ASSAY_SCALE_MODEL;
    }
    qsort(sc->names, slice->n_tensors, sizeof(*sc->names), by_name);
    return assay_scales_carry(sc, err);
}

void assay_scales_close(struct assay_scales *sc)
{
    if (!sc)
        return;
    assay_free(sc->origin);
    assay_free(sc->names);
    memset(sc, 0, sizeof(*sc));
}

const char *assay_scales_origin_name(const struct assay_scales *sc,
                                     uint32_t tensor)
{
    static const char *const names[] = {
        [ASSAY_SCALE_UNKNOWN] = "-",
        [ASSAY_SCALE_MODEL] = "model",
        [ASSAY_SCALE_JSON] = "scales.json",
        [ASSAY_SCALE_CALIBRATED] = "calibrated",
        [ASSAY_SCALE_DERIVED] = "derived",
    };

    if (!sc->origin || tensor >= sc->slice->n_tensors)
        return "-";
    return names[sc->origin[tensor]];
}

/* One entry of a file, about one tensor. */
struct entry {
    const char *file; /* for notes */
    enum assay_scale_origin origin;
    const struct assay_model_note *note;
    uint32_t n;
    const float *v;
};

static void tell(const struct entry *e, const char *text)
{
    if (e->note && e->note->note)
        e->note->note(e->note->self, text);
}

/* Where n scales lie: the axis called C, else the only one of that length. */
static int32_t axis_of(const struct assay_tensor *t, uint32_t n)
{
    int32_t found = -1;

    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->dims[i] != (int64_t)n)
            continue;
        if (t->axes[i] == 'C' && strlen(t->axes) == t->rank)
            return (int32_t)i;
        found = found == -1 ? (int32_t)i : -2;
    }
    return found < 0 ? -1 : found;
}

/* Told when the entry says another thing than what is known. */
static void compare(const struct assay_scales *sc, uint32_t index,
                    const struct entry *e)
{
    const struct assay_tensor *t = &sc->slice->tensors[index];
    uint32_t n = t->quant.n > e->n ? t->quant.n : e->n;
    char text[600];

    if (t->quant.n != e->n && t->quant.n != 1 && e->n != 1) {
        snprintf(text, sizeof(text),
                 "%.100s: '%.200s' has %u scales, but %u from the %s: those "
                 "are used",
                 e->file, t->name, e->n, t->quant.n,
                 assay_scales_origin_name(sc, index));
        tell(e, text);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        double known = (double)t->quant.scale[t->quant.n > 1 ? i : 0];
        double given = (double)e->v[e->n > 1 ? i : 0];

        if (fabs(known - given) <= 1e-6 * known)
            continue;
        snprintf(text, sizeof(text),
                 "%.100s: scale %u of '%.200s' is %.9g, but %.9g from the "
                 "%s: that is used",
                 e->file, i, t->name, given, known,
                 assay_scales_origin_name(sc, index));
        tell(e, text);
        return;
    }
}

/* bits 0: any width. *taken: the name is that of an integer tensor. */
static int take(struct assay_scales *sc, const char *name, int bits,
                const struct entry *e, bool *taken, struct assay_err *err)
{
    const struct assay_scale_name key = {.name = name}, *found;
    const struct assay_tensor *t;
    int32_t axis = -1;
    uint32_t index;

    found =
        bsearch(&key, sc->names, sc->slice->n_tensors, sizeof(key), by_name);
    if (!found)
        return 0;
    index = found->tensor;
    t = &sc->slice->tensors[index];
    if (!assay_dtype_is_int(t->dtype) || t->role == ASSAY_ROLE_CONSTANT ||
        (bits && (size_t)bits != 8 * assay_dtype_bytes(t->dtype)))
        return 0;
    *taken = true;
    if (sc->origin[index]) {
        compare(sc, index, e);
        return 0;
    }
    if (e->n > 1) {
        axis = axis_of(t, e->n);
        if (axis < 0) {
            char text[500];

            snprintf(text, sizeof(text),
                     "%.100s: '%.200s': %u scales do not fit its shape: "
                     "ignored",
                     e->file, name, e->n);
            tell(e, text);
            return 0;
        }
    }
    return assay_scales_set(sc, index, e->n, axis, e->v, e->origin, err);
}

/* ---- scales.json: an object, name -> number or list --------------------- */

static int read_number(const char *path, const char *name, const json_t *j,
                       float *out, struct assay_err *err)
{
    double v = json_number_value(j);

    *out = (float)v;
    if (!json_is_number(j) || !isfinite(*out) || *out <= 0)
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: '%.200s': expected positive numbers, found %g",
                          path, name, v);
    return 0;
}

static int read_entry(struct assay_scales *sc, struct entry *e,
                      const char *path, const char *name, const json_t *value,
                      float *v, bool *taken, struct assay_err *err)
{
    size_t n = json_is_array(value) ? json_array_size(value) : 1;
    int rc = 0;

    if (!n || n > MAX_SCALES)
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: '%.200s': %zu scales, expected 1 to %d", path,
                          name, n, MAX_SCALES);
    for (size_t i = 0; !rc && i < n; i++)
        rc = read_number(
            path, name, json_is_array(value) ? json_array_get(value, i) : value,
            &v[i], err);
    e->n = (uint32_t)n;
    e->v = v;
    return rc ? rc : take(sc, name, 0, e, taken, err);
}

static int read_json(struct assay_scales *sc, const char *path,
                     const uint8_t *data, size_t size, struct entry *e,
                     struct assay_err *err)
{
    json_error_t at;
    json_t *root =
        json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, &at);
    float *v = assay_calloc(MAX_SCALES, sizeof(*v));
    unsigned unknown = 0;
    const char *name, *first = "";
    json_t *value;
    char text[500];
    int rc = 0;

    if (!v)
        rc = no_memory(err);
    else if (!json_is_object(root))
        rc = assay_fail(err, ASSAY_EFORMAT,
                        "%s: line %d: %s, expected an object of scales", path,
                        at.line, root ? "another value" : at.text);
    if (!rc) {
        json_object_foreach(root, name, value)
        {
            bool taken = false;

            rc = read_entry(sc, e, path, name, value, v, &taken, err);
            if (rc)
                break;
            if (!taken && !unknown++)
                first = name;
        }
    }
    if (!rc && unknown) {
        snprintf(text, sizeof(text),
                 "%.100s: %u names are no integer tensor of the model, the "
                 "first is '%.200s'",
                 e->file, unknown, first);
        tell(e, text);
    }
    json_decref(root);
    assay_free(v);
    return rc;
}

/* ---- the calibrated model ----------------------------------------------- */

static int read_calibration(struct assay_scales *sc,
                            const struct assay_onnx_graph *g,
                            const struct assay_onnx_node *n, struct entry *e,
                            bool *any, struct assay_err *err)
{
    static const char *const forms[] = {"_quantized", "_calibrated_quantized",
                                        "_Requantize_requantized_output"};
    const struct assay_onnx_attr *s = assay_onnx_attr(n, "scales");
    const struct assay_onnx_attr *q = assay_onnx_attr(n, "qtype");
    char name[600], text[200];
    const char *tensor;
    bool taken = false;
    int bits = 0, rc = 0;

    if (n->n_in < 1 || n->in[0] == ASSAY_ONNX_NONE ||
        g->values[n->in[0]].k) /* weights */
        return 0;
    if (!s || s->type != ASSAY_ONNX_FLOATS || !s->n || s->n > MAX_SCALES)
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: %s: attribute 'scales': expected 1 to %d "
                          "floats",
                          g->file, assay_onnx_node_text(n, text, sizeof(text)),
                          MAX_SCALES);
    for (size_t i = 0; i < s->n; i++)
        if (!isfinite(s->floats[i]) || s->floats[i] <= 0)
            return assay_fail(
                err, ASSAY_ERANGE,
                "%s: %s: attribute 'scales': element %zu is %g, expected a "
                "positive number",
                g->file, assay_onnx_node_text(n, text, sizeof(text)), i,
                (double)s->floats[i]);
    if (q && q->type == ASSAY_ONNX_STRING)
        bits = !strcmp(q->s, "int8") ? 8 : !strcmp(q->s, "int16") ? 16 : 0;
    *any = true;
    e->n = (uint32_t)s->n;
    e->v = s->floats;
    tensor = g->values[n->in[0]].name;
    for (size_t i = 0; !rc && i < sizeof(forms) / sizeof(forms[0]); i++) {
        int len = snprintf(name, sizeof(name), "%s%s", tensor, forms[i]);

        if (len > 0 && (size_t)len < sizeof(name))
            rc = take(sc, name, bits, e, &taken, err);
    }
    return rc;
}

static int read_calibrated(struct assay_scales *sc, const char *path,
                           const uint8_t *data, size_t size, struct entry *e,
                           struct assay_err *err)
{
    struct assay_onnx_graph g = {0};
    bool any = false;
    int rc = assay_onnx_parse(&g, data, size, path, e->note, err);

    if (rc)
        return rc;
    for (uint32_t i = 0; !rc && i < g.n_nodes; i++)
        if (assay_onnx_is(&g.nodes[i], "horizon", "HzCalibration"))
            rc = read_calibration(sc, &g, &g.nodes[i], e, &any, err);
    if (!rc && !any)
        rc = assay_fail(err, ASSAY_EFORMAT,
                        "%s: no node HzCalibration, expected scales.json or "
                        "the vendor's calibrated model",
                        path);
    assay_onnx_graph_close(&g);
    return rc;
}

/* ---- either ------------------------------------------------------------- */

static bool is_json(const uint8_t *data, size_t n)
{
    size_t i = 0;

    while (i < n && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r' ||
                     data[i] == '\n'))
        i++;
    return i < n && (data[i] == '{' || data[i] == '[');
}

int assay_scales_is_json(const char *path, bool *is, struct assay_err *err)
{
    uint8_t *data;
    size_t n;
    int rc = assay_file_read(&data, &n, path, MAX_MODEL, err);

    if (rc)
        return rc;
    *is = is_json(data, n);
    assay_free(data);
    return 0;
}

int assay_scales_read(struct assay_scales *sc, const char *path,
                      const struct assay_model_note *note,
                      struct assay_err *err)
{
    const char *base = strrchr(path, '/');
    struct entry e = {.file = base ? base + 1 : path, .note = note};
    uint8_t *data;
    size_t n;
    int rc = assay_file_read(&data, &n, path, MAX_MODEL, err);

    if (rc)
        return rc;
    if (is_json(data, n)) {
        e.origin = ASSAY_SCALE_JSON;
        rc = n > MAX_JSON
                 ? assay_fail(err, ASSAY_ERANGE,
                              "%s: %zu bytes, more than the limit of %zu", path,
                              n, MAX_JSON)
                 : read_json(sc, path, data, n, &e, err);
    } else {
        e.origin = ASSAY_SCALE_CALIBRATED;
        rc = read_calibrated(sc, path, data, n, &e, err);
    }
    assay_free(data);
    return rc ? rc : assay_scales_carry(sc, err);
}
