/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hb_mapper's YAML: groups of settings, two levels deep. libyaml's document
 * shares what an alias names, and only fixed depths are walked here, so
 * neither cycles nor "laughs" cost anything.
 */
#include <stdio.h>
#include <string.h>

#include <yaml.h>

#include "host-tools/vendor/parse.h"

struct yaml {
    struct assay_vendor *v;
    struct assay_vendor_config *c;
    yaml_document_t *doc;
    struct assay_err *err;
};

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "%s",
                      assay_status_sentence(ASSAY_EMEMORY));
}

static int unexpected(struct yaml *y, const yaml_node_t *n, const char *what)
{
    return assay_fail(y->err, ASSAY_EFORMAT, "%s: line %zu: expected %s",
                      y->c->file, n != NULL ? n->start_mark.line + 1 : 0, what);
}

/* A scalar, or a list of scalars joined by blanks. */
static int value_text(struct yaml *y, const yaml_node_t *n, const char **out)
{
    struct assay_buf b;
    int rc = 0;

    if (n != NULL && n->type == YAML_SCALAR_NODE) {
        *out = assay_arena_str(y->v->arena, (const char *)n->data.scalar.value,
                               strlen((const char *)n->data.scalar.value));
        return *out == NULL ? no_memory(y->err) : 0;
    }
    if (n == NULL || n->type != YAML_SEQUENCE_NODE)
        return unexpected(y, n, "a text or a list of texts");
    assay_buf_init(&b);
    for (yaml_node_item_t *i = n->data.sequence.items.start;
         i < n->data.sequence.items.top && rc == 0; i++) {
        const yaml_node_t *e = yaml_document_get_node(y->doc, *i);

        if (e == NULL || e->type != YAML_SCALAR_NODE)
            rc = unexpected(y, e != NULL ? e : n, "a list of texts");
        else if (assay_buf_append(&b, e->data.scalar.value,
                                  e->data.scalar.length) < 0 ||
                 assay_buf_append(&b, " ", 1) < 0)
            rc = no_memory(y->err);
    }
    if (rc == 0) {
        *out = assay_arena_str(
            y->v->arena, b.data != NULL ? (const char *)b.data : "", b.len);
        if (*out == NULL)
            rc = no_memory(y->err);
    }
    assay_buf_close(&b);
    return rc;
}

static int key_text(struct yaml *y, const yaml_node_t *n, const char **out)
{
    if (n == NULL || n->type != YAML_SCALAR_NODE)
        return unexpected(y, n, "a name");
    return value_text(y, n, out);
}

/* node_info: {node: {ON: BPU, InputType: int16, ...}}; or the texts that
 * older versions take, which say nothing that is checked. */
static int node_info(struct yaml *y, const yaml_node_t *n)
{
    int rc = 0;

    if (n == NULL || n->type != YAML_MAPPING_NODE)
        return 0;
    for (yaml_node_pair_t *p = n->data.mapping.pairs.start;
         p < n->data.mapping.pairs.top && rc == 0; p++) {
        const yaml_node_t *m = yaml_document_get_node(y->doc, p->value);
        const char *node, *key, *value;

        rc = key_text(y, yaml_document_get_node(y->doc, p->key), &node);
        if (rc < 0)
            break;
        if (m == NULL || m->type != YAML_MAPPING_NODE)
            return unexpected(y, m, "settings of a node");
        for (yaml_node_pair_t *q = m->data.mapping.pairs.start;
             q < m->data.mapping.pairs.top && rc == 0; q++) {
            rc = key_text(y, yaml_document_get_node(y->doc, q->key), &key);
            if (rc == 0)
                rc = value_text(y, yaml_document_get_node(y->doc, q->value),
                                &value);
            if (rc == 0)
                rc = assay_vendor_override(y->v, y->c->file, node, key, value,
                                           y->err);
        }
    }
    return rc;
}

static int group(struct yaml *y, const yaml_node_t *n)
{
    int rc = 0;

    for (yaml_node_pair_t *p = n->data.mapping.pairs.start;
         p < n->data.mapping.pairs.top && rc == 0; p++) {
        const yaml_node_t *value = yaml_document_get_node(y->doc, p->value);
        const char *key, *text;

        rc = key_text(y, yaml_document_get_node(y->doc, p->key), &key);
        if (rc < 0)
            break;
        if (strcmp(key, "node_info") == 0) {
            rc = node_info(y, value);
        } else if (value != NULL && value->type != YAML_MAPPING_NODE) {
            rc = value_text(y, value, &text);
            if (rc == 0)
                rc = assay_vendor_setting(y->v, y->c, key, text, y->err);
        }
    }
    return rc;
}

static int document(struct yaml *y)
{
    const yaml_node_t *root = yaml_document_get_root_node(y->doc);
    int rc = 0;

    if (root == NULL || root->type != YAML_MAPPING_NODE)
        return unexpected(y, root, "groups of parameters");
    for (yaml_node_pair_t *p = root->data.mapping.pairs.start;
         p < root->data.mapping.pairs.top && rc == 0; p++) {
        const yaml_node_t *value = yaml_document_get_node(y->doc, p->value);
        const char *key;

        rc = key_text(y, yaml_document_get_node(y->doc, p->key), &key);
        if (rc < 0)
            break;
        if (value != NULL && value->type == YAML_MAPPING_NODE)
            rc = group(y, value);
        else if (value == NULL || value->type != YAML_SCALAR_NODE ||
                 value->data.scalar.length > 0)
            rc = unexpected(y, value, "a group of parameters");
    }
    return rc;
}

int assay_vendor_read_yaml(struct assay_vendor *v, char *data, size_t n,
                           const char *file, struct assay_err *err)
{
    struct assay_vendor_config c;
    struct yaml y = {v, &c, NULL, err};
    yaml_parser_t parser;
    yaml_document_t doc;
    int rc;

    if (v->yaml.present)
        return assay_fail(err, ASSAY_EMISMATCH,
                          "%s: a second configuration beside '%.200s': give "
                          "the one of this build",
                          file, v->yaml.file);
    assay_vendor_config_init(&c, file);
    if (!yaml_parser_initialize(&parser))
        return no_memory(err);
    yaml_parser_set_input_string(&parser, (const unsigned char *)data, n);
    if (!yaml_parser_load(&parser, &doc)) {
        rc = parser.error == YAML_MEMORY_ERROR
                 ? no_memory(err)
                 : assay_fail(err, ASSAY_EFORMAT, "%s: line %zu: %s", file,
                              parser.problem_mark.line + 1,
                              parser.problem != NULL ? parser.problem
                                                     : "not YAML");
    } else {
        y.doc = &doc;
        rc = document(&y);
        yaml_document_delete(&doc);
    }
    yaml_parser_delete(&parser);
    if (rc == 0)
        v->yaml = c;
    return rc;
}
