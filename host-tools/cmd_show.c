/* SPDX-License-Identifier: Apache-2.0 */
/* show: what is inside a model; import: can it be run, and what would be. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/cmd.h"
#include "host-tools/diff/diff.h"
#include "host-tools/messages.h"
#include "host-tools/prepare.h"
#include "host-tools/report/report.h"
#include "host-tools/step_text.h"
#include "kernels/kernels.h"
#include "lib/engine/plan.h"

static void print_program(const char *title, const struct assay_program *p)
{
    char text[160];

    printf("  %s\n", title);
    if (p->n_steps == 0)
        printf("    store\n");
    for (uint32_t i = 0; i < p->n_steps && i < ASSAY_MAX_STEPS; i++)
        printf("    %s\n",
               assay_step_text(p, i, ASSAY_ALL_CHANNELS, text, sizeof(text)));
}

/* Names come from files, to the byte: they do not steer a terminal. */
static void print_name(const char *name)
{
    for (; *name != '\0'; name++)
        putchar((unsigned char)*name < 32 || *name == 127 ? '?' : *name);
}

static void print_tensor(const struct assay_prepared *p, const char *role,
                         uint32_t index)
{
    const struct assay_tensor *t = &p->slice->tensors[index];
    char shape[128];

    printf("  %-8s ", role);
    print_name(t->name);
    printf(" %s %s", assay_dtype_name(t->dtype),
           assay_report_shape(t, shape, sizeof(shape)));
    if (t->axes[0] != '\0')
        printf(" %s", t->axes);
    if (t->quant.n > 0)
        printf("   scale %.9g zero point %" PRId32, (double)t->quant.scale[0],
               t->quant.zero_point[0]);
    if (t->quant.n > 1)
        printf(" .. (%" PRIu32 " channels)", t->quant.n);
    if (t->quant.n > 0 && p->own_numerics)
        printf(" (%s)", assay_scales_origin_name(&p->scales, index));
    if (t->quant.n == 0 && p->own_numerics && t->dtype != ASSAY_F32 &&
        t->role != ASSAY_ROLE_CONSTANT)
        printf("   scale -");
    printf("\n");
}

static void print_layer(const struct assay_prepared *p, uint32_t i,
                        const struct assay_plan *plan)
{
    const struct assay_slice *s = p->slice;
    const struct assay_layer *l = &s->layers[i];
    char title[64];

    printf("%03" PRIu32 " %s (%s, %s)\n", i, l->name, l->source_op,
           assay_op_name(l->op));
    for (uint32_t j = 0; j < l->n_inputs; j++)
        print_tensor(p, "input", l->inputs[j]);
    print_tensor(p, "output", l->output);
    if (l->op == ASSAY_OP_SKIPPED) {
        printf("  skipped  ");
        print_name(l->skip_reason != NULL ? l->skip_reason : "");
        printf("\n");
        return;
    }
    printf("  kernel   %s   %" PRIu64 " MAC\n", assay_plan_kernel(plan, i),
           assay_plan_macs(plan, i));
    printf("  arith    %s%s\n",
           l->arith != NULL && l->arith[0] != '\0' ? l->arith : "-",
           l->arith_overridden ? " (overridden)" : "");
    for (uint32_t j = 0; j < l->n_in_programs; j++) {
        snprintf(title, sizeof(title), "operand %" PRIu32, j);
        print_program(title, &l->in_programs[j]);
    }
    print_program("result", &l->out_program);
}

/* As wide as the longest of its words, up to 60. */
static int column_width(const struct assay_slice *s, bool names, int least)
{
    int width = least;

    for (uint32_t i = 0; i < s->n_layers; i++) {
        const struct assay_layer *l = &s->layers[i];
        size_t n = strlen(names ? l->name : l->source_op);

        if (n > (size_t)width)
            width = n > 60 ? 60 : (int)n;
    }
    return width;
}

static void print_table(const struct assay_prepared *p,
                        const struct assay_plan *plan)
{
    const struct assay_slice *s = p->slice;
    int ops = column_width(s, false, 4), names = column_width(s, true, 8);

    printf("%3s %-*s %-*s %-7s %-14s %12s %5s %-18s %10s %s\n", "idx", ops,
           "op", names, "name", "dtype", "shape", "scale", "zp", "arith", "MAC",
           p->own_numerics ? "kernel (scale from)" : "kernel");
    for (uint32_t i = 0; i < s->n_layers; i++) {
        const struct assay_layer *l = &s->layers[i];
        const struct assay_tensor *t = &s->tensors[l->output];
        char shape[128], scale[32] = "-", zp[32] = "-";

        if (t->quant.n > 0) {
            snprintf(scale, sizeof(scale), "%.6g", (double)t->quant.scale[0]);
            snprintf(zp, sizeof(zp), "%" PRId32, t->quant.zero_point[0]);
        }
        printf("%03" PRIu32 " %-*s %-*s %-7s %-14s %12s %5s %-18s %10" PRIu64
               " %s",
               i, ops, l->source_op, names, l->name, assay_dtype_name(t->dtype),
               assay_report_shape(t, shape, sizeof(shape)), scale, zp,
               l->arith != NULL && l->arith[0] != '\0' ? l->arith : "-",
               assay_plan_macs(plan, i),
               l->op == ASSAY_OP_SKIPPED ? "skipped"
                                         : assay_plan_kernel(plan, i));
        if (p->own_numerics && t->quant.n > 0)
            printf(" (%s)", assay_scales_origin_name(&p->scales, l->output));
        printf("\n");
    }
}

static void print_head(const struct assay_prepared *p)
{
    char text[512], hash[2 * ASSAY_SHA256_LEN + 1], name[200];

    assay_hex(p->slice->model_sha256, ASSAY_SHA256_LEN, hash);
    snprintf(name, sizeof(name), "%.190s", p->slice->model_name);
    printf("%s\n",
           assay_message(text, sizeof(text), ASSAY_MSG_IMPORT_HEAD, "model",
                         name, "hash", hash, "layers",
                         assay_num_u(p->slice->n_layers).text, "tensors",
                         assay_num_u(p->slice->n_tensors).text, NULL));
}

/* Operator types in order of appearance, with their number. */
static void print_ops(const struct assay_slice *s)
{
    for (uint32_t i = 0; i < s->n_layers; i++) {
        const char *op = s->layers[i].source_op;
        uint32_t n = 0;
        bool first = true;

        for (uint32_t j = 0; j < i && first; j++)
            first = strcmp(s->layers[j].source_op, op) != 0;
        for (uint32_t j = i; j < s->n_layers && first; j++)
            n += strcmp(s->layers[j].source_op, op) == 0;
        if (first)
            printf("  %-28s %5" PRIu32 "  %s\n", op, n,
                   assay_op_name(s->layers[i].op));
    }
}

static void print_import(const struct assay_prepared *p,
                         const struct assay_plan *plan)
{
    const struct assay_slice *s = p->slice;
    uint32_t known = 0, proved = 0;
    uint64_t macs = 0;
    char text[1024];

    print_head(p);
    print_ops(s);
    for (uint32_t i = 0; i < s->n_layers; i++) {
        const struct assay_layer *l = &s->layers[i];
        bool skipped = l->op == ASSAY_OP_SKIPPED;

        known += !skipped;
        proved += !skipped && assay_prepare_proved(p, i);
        macs += assay_plan_macs(plan, i);
        if (skipped)
            printf("%s\n",
                   assay_message(text, sizeof(text), ASSAY_MSG_SUM_SKIPPED,
                                 "layer", l->name, "op", l->source_op, "why",
                                 l->skip_reason != NULL ? l->skip_reason : "",
                                 NULL));
    }
    printf("%s\n", assay_message(text, sizeof(text), ASSAY_MSG_IMPORT_OPS,
                                 "known", assay_num_u(known).text, "all",
                                 assay_num_u(s->n_layers).text, NULL));
    printf("%s\n", assay_message(text, sizeof(text), ASSAY_MSG_IMPORT_NUMERICS,
                                 "numerics", p->numerics, "proved",
                                 assay_num_u(proved).text, "all",
                                 assay_num_u(known).text, NULL));
    printf("%s\n",
           assay_message(text, sizeof(text), ASSAY_MSG_IMPORT_PLAN, "arena",
                         assay_num_bytes(assay_plan_arena_bytes(plan)).text,
                         "packed",
                         assay_num_bytes(assay_plan_packed_bytes(plan)).text,
                         "macs", assay_num_u(macs).text, NULL));
}

static int with_plan(const struct assay_options *o, bool import)
{
    struct assay_prepared p;
    struct assay_kernel_table table;
    struct assay_plan_limits limits = {0};
    struct assay_plan *plan = NULL;
    struct assay_err err = {0};
    uint32_t layer = 0;
    int rc = assay_prepare(&p, o, &err), code = 0;

    if (rc < 0)
        return assay_cmd_failed(&err);
    assay_kernel_table_init(&table, assay_cpu_probe());
    rc = assay_plan_new(&plan, p.slice, &table, &limits, &err);
    if (rc == 0 && o->layer != NULL)
        rc = assay_find_layer(&layer, p.slice, o->layer, &err);
    if (rc < 0) {
        code = assay_cmd_failed(&err);
    } else if (import) {
        print_import(&p, plan);
        assay_show_vendor(&p);
        if (o->output_dir != NULL &&
            assay_cmd_write_slice(o->output_dir, p.slice, "", &err) < 0)
            code = assay_cmd_failed(&err);
    } else if (o->layer != NULL) {
        print_layer(&p, layer, plan);
        assay_show_vendor_layer(&p, layer);
    } else {
        print_head(&p);
        print_table(&p, plan);
        assay_show_vendor(&p);
    }
    /* Shown all the same, but not as if it fitted. */
    if (p.findings.count[ASSAY_CONTRADICTION] > 0)
        code = assay_exit_combine(code, ASSAY_CLASS_USAGE);
    assay_plan_free(plan);
    assay_prepare_close(&p);
    return code;
}

int assay_cmd_show(const struct assay_options *o, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return with_plan(o, false);
}

int assay_cmd_import(const struct assay_options *o, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return with_plan(o, true);
}
