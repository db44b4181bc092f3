/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P_advice.json: what the compiler would have otherwise. Its form is not
 * published: a list of objects (or an object of such lists) that name an
 * operation and have "advice"; where one says which processor it runs on, that
 * is a placement like any other. Anything else in it is passed over.
 */
#include <string.h>

#include "host-tools/vendor/parse.h"

#define MAX_DEPTH 8u

struct advice {
    struct assay_vendor *v, rows;
    const char *file;
    struct assay_err *err;
};

static const char *first_text(const json_t *o, const char *const *keys)
{
    for (size_t i = 0; keys[i] != NULL; i++) {
        const char *s = json_string_value(json_object_get(o, keys[i]));

        if (s != NULL)
            return s;
    }
    return "";
}

static int entry(struct advice *a, const json_t *o)
{
    static const char *const names[] = {"name",    "node",  "node_name",
                                        "op_name", "layer", NULL};
    static const char *const types[] = {"type", "op", "op_type", NULL};
    static const char *const devices[] = {"on", "ON", "backend", "device",
                                          NULL};
    const char *name = first_text(o, names);
    struct assay_vendor_node n = {.subgraph = "", .dtype = ""}, *slot;

    a->v->n_advice++;
    n.on = assay_vendor_on_of(first_text(o, devices));
    if (n.on == ASSAY_ON_UNKNOWN || name[0] == '\0')
        return 0;
    n.name = assay_vendor_str(a->v, name);
    n.type = assay_vendor_str(a->v, first_text(o, types));
    slot = assay_vendor_grow(a->v, &a->rows.nodes, &a->rows.n_nodes,
                             &a->rows.cap_nodes, sizeof(n),
                             ASSAY_VENDOR_MAX_NODES);
    if (slot == NULL || n.name == NULL || n.type == NULL)
        return assay_vendor_too_many(a->file, "entries", a->err);
    *slot = n;
    return 0;
}

static int walk(struct advice *a, const json_t *j, unsigned depth)
{
    const char *key;
    json_t *e;
    size_t i;
    int rc = 0;

    if (depth > MAX_DEPTH)
        return assay_fail(a->err, ASSAY_EFORMAT,
                          "%s: lists in lists, deeper than %u", a->file,
                          MAX_DEPTH);
    if (json_is_object(j) && (json_object_get(j, "advice") != NULL ||
                              json_object_get(j, "advices") != NULL))
        rc = entry(a, j);
    json_array_foreach(j, i, e)
    {
        if (rc == 0)
            rc = walk(a, e, depth + 1);
    }
    json_object_foreach((json_t *)j, key, e)
    {
        if (rc == 0 && (json_is_object(e) || json_is_array(e)))
            rc = walk(a, e, depth + 1);
    }
    return rc;
}

int assay_vendor_read_advice(struct assay_vendor *v, char *data, size_t n,
                             const char *file, struct assay_err *err)
{
    struct advice a = {.v = v, .file = file, .err = err};
    json_t *j;
    int rc = assay_vendor_json(&j, data, n, file, err);

    if (rc < 0)
        return rc;
    v->advice_file = file;
    rc = walk(&a, j, 0);
    json_decref(j);
    /* A table of nodes knows more of them than an advice on some. */
    a.rows.nodes_converted = true;
    if (rc == 0 && v->n_nodes == 0)
        assay_vendor_merge(v, &a.rows, file);
    return rc;
}
