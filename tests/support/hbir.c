/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/hbir.h"

#include <stdio.h>
#include <string.h>

#include "host-tools/model/mlir_import.h"

static const struct {
    const char *name, *type, *literal;
} values[] = {
    {"x8", "1x4x4x4xsi8", NULL},
    {"y8", "1x4x4x4xsi8", NULL},
    {"z8", "1x4x4x4x!qnt.uniform<si8:f32, 0.25>", NULL},
    {"x16", "1x4x4x4xsi16", NULL},
    {"x32", "1x4x4x4xsi32", NULL},
    {"xf", "1x4x4x4xf32", NULL},
    {"xh", "1x4x4x4xf16", NULL},
    {"g", "1x5x6x2xsi16", NULL},
    {"c", "1x4x4x4xi1", NULL},
    {"a", "1x3x4xsi8", NULL},
    {"w", "4x3x3x4xsi8", "dense<3>"},
    {"w16", "4x3x3x4xsi16", "dense<3>"},
    {"wd", "4x3x3x1xsi8", "dense<-2>"},
    {"wl", "4x5xsi8", "dense<2>"},
    {"wm", "1x4x6xsi8", "dense<1>"},
    {"q", "4x6xsi64",
     "dense<[[7, 1, 0, 1, 300, 9], [-7, 2, 1, 2, 301, 10], [0, 1, 0, 0, 1, 0], "
     "[5, 65535, 31, 31, 65535, 62]]>"},
    {"q1", "1x6xsi64", "dense<[[0, 1, 0, 2, 300, 9]]>"},
    {"q5", "5x6xsi64", "dense<1>"},
    {"qt", "1x6xsi64", "dense<[[9, 1, 0, 0, 1, 0]]>"},
    {"qb", "1x6xsi64", "dense<[[4, 1, 0, 2, 300, 9]]>"},
    {"qbad", "4x6xsi64",
     "dense<[[0, 1, 0, 0, 1, 0], [0, 1, 0, 0, 1, 0], [0, 1, 0, 32, 1, 0], [0, "
     "1, 0, 0, 1, 0]]>"},
    {"qf", "4x3xf32",
     "dense<[[3.0, 1.0, 0.5], [-4.0, 1.0, 0.25], [0.0, 1.0, 2.0], [1.0, 1.0, "
     "1.0]]>"},
    {"qh", "4x3xf32", "dense<5.000000e-01>"},
    {"t8", "256xsi8", "dense<7>"},
    {"t16", "256xsi16", "dense<700>"},
    {"t9", "257xsi8", "dense<7>"},
    {"en", "6x64xsi16", "dense<-5>"},
    {"rg", "8x5xsi32", "dense<3>"},
    {"gm", "4xf32", "dense<1.500000e+00>"},
    {"k4", "1x1x1x4xsi8", "dense<[[[[1, -2, 3, -128]]]]>"},
    {"s8", "1x1x1x4xsi8", "dense<1>"},
};
#define N_VALUES (sizeof(values) / sizeof(values[0]))

struct writer {
    char *p;
    size_t n;
};

static void put(struct writer *w, const char *text)
{
    size_t n = strlen(text);

    if (w->n + n >= HBIR_TEXT_BYTES)
        return;
    memcpy(w->p + w->n, text, n + 1);
    w->n += n;
}

static void border(struct writer *w)
{
    const char *comma = "";

    for (size_t i = 0; i < N_VALUES; i++)
        if (!values[i].literal) {
            char arg[120];

            snprintf(arg, sizeof(arg),
                     "%s%%%s: tensor<%s> {hbir.name = \"%s\"}", comma,
                     values[i].name, values[i].type, values[i].name);
            put(w, arg);
            comma = ", ";
        }
}

static void constants(struct writer *w, const char *used)
{
    char text[400], padded[200], name[16];

    snprintf(padded, sizeof(padded), " %s ", used);
    for (size_t i = 0; i < N_VALUES; i++) {
        snprintf(name, sizeof(name), " %s ", values[i].name);
        if (!values[i].literal || !strstr(padded, name))
            continue;
        snprintf(text, sizeof(text),
                 "    %%%s = \"hbir.constant\"() <{values = %s : tensor<%s>}> "
                 ": () -> tensor<%s> loc(\"%s\")\n",
                 values[i].name, values[i].literal, values[i].type,
                 values[i].type, values[i].name);
        put(w, text);
    }
}

/* Each operand's name (or type), behind commas. */
static void list(struct writer *w, const char *used, int types)
{
    const char *comma = "";

    while (*used) {
        size_t n = strcspn(used, " ");

        put(w, comma);
        for (size_t i = 0; i < N_VALUES; i++)
            if (strlen(values[i].name) == n &&
                !strncmp(values[i].name, used, n)) {
                put(w, types ? "tensor<" : "%");
                put(w, types ? values[i].type : values[i].name);
                put(w, types ? ">" : "");
            }
        comma = ", ";
        used += n + (used[n] == ' ');
    }
}

const char *hbir_module(char *out, const struct hbir_text *t)
{
    struct writer w = {out, 0};
    char text[200];

    put(&w, "module attributes {hbdk.target = \"B30G\"} {\n  func.func @main(");
    border(&w);
    snprintf(text, sizeof(text), ") -> (tensor<%s> {hbir.name = \"out\"}) {\n",
             t->result);
    put(&w, text);
    constants(&w, t->operands);
    snprintf(text, sizeof(text), "    %%0 = \"%s\"(", t->op);
    put(&w, text);
    list(&w, t->operands, 0);
    put(&w, ") <{");
    put(&w, t->attrs);
    put(&w, "}> : (");
    list(&w, t->operands, 1);
    snprintf(text, sizeof(text),
             ") -> tensor<%s> loc(\"layer\")\n    return %%0 : tensor<%s>\n  "
             "}\n}\n",
             t->result, t->result);
    put(&w, text);
    return out;
}

static void keep(void *self, const char *text)
{
    if (self)
        snprintf(self, 600, "%s", text);
}

struct assay_slice *hbir_open(const char *text, char notes[600],
                              struct assay_err *err)
{
    const struct assay_model_note note = {.self = notes, .note = keep};
    struct assay_slice *s = NULL;

    memset(err, 0, sizeof(*err));
    if (notes)
        notes[0] = '\0';
    if (assay_mlir_reader.open(&s, (const uint8_t *)text, strlen(text),
                               "m.mlir", &note, err))
        return NULL;
    return s;
}
