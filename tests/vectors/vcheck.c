/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vcheck [--rung scalar|neon] DIR: runs every golden row of DIR's csv files
 * through the step interpreters and kernels, and compares. Without --rung, all
 * rungs that this machine has. Exit: 0 all equal, 1 a row differs, a file is
 * missing or empty, 2 wrong use, 77 the rung is not there.
 */
#include "tests/vectors/vcheck.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *file, *header;
    assay_vc_check_fn *check;
    bool optional; /* not among the files of every generator */
} FILES[] = {
    {"requant.csv",
     "policy,acc,mult,shift,scale_bits,zp,qmin,qmax,expected,tag",
     assay_vc_requant, false},
    {"requant_hbm.csv",
     "acc,bias,bias_add,pre_shift,pre_round,mid_bits,mult,post_shift,"
     "post_round,zp,qmin,qmax,expected,tag",
     assay_vc_hbm, false},
    {"shift_round.csv", "mode,x,n,expected", assay_vc_shift, false},
    {"multiplier.csv", "scale_f64_bits,mult,shift", assay_vc_multiplier, false},
    {"add.csv", "mode,a,b,sa_bits,za,sb_bits,zb,sc_bits,zc,qmin,qmax,expected",
     assay_vc_add, false},
    {"mul.csv", "mode,a,b,sa_bits,za,sb_bits,zb,sc_bits,zc,qmin,qmax,expected",
     assay_vc_mul, false},
    {"avgpool.csv",
     "mode,values,count,si_bits,zi,so_bits,zo,qmin,qmax,expected",
     assay_vc_avgpool, false},
    {"quantize.csv", "mode,x_bits,scale_bits,zp,qmin,qmax,expected",
     assay_vc_quantize, false},
    {"dequantize.csv", "q,scale_bits,zp,expected_bits", assay_vc_dequantize,
     false},
    {"rescale.csv", "mode,q,si_bits,zi,so_bits,zo,qmin,qmax,expected",
     assay_vc_rescale, false},
    {"softmax.csv", "dtype,count,values,sx_bits,sy_bits,zy,expected",
     assay_vc_softmax, true},
    {"image.csv", "op,in0,in1,in2,out0,out1,out2", assay_vc_image, true},
};

struct tally {
    unsigned passed, failed, skipped;
};

static bool present(const char *dir, const char *file)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    FILE *f = fopen(path, "rb");
    if (f)
        fclose(f);
    return f != NULL;
}

static void check_file(const char *dir, size_t i,
                       const struct assay_vc_under_test *u, struct tally *n)
{
    if (FILES[i].optional && !present(dir, FILES[i].file)) {
        printf("%-8s %-16s skipped: not in this folder\n", u->rung,
               FILES[i].file);
        n->skipped++;
        return;
    }
    struct assay_vc_table *t =
        assay_vc_load(dir, FILES[i].file, FILES[i].header);
    if (!t) {
        n->failed++;
        return;
    }
    t->rung = u->rung;
    FILES[i].check(t, u);
    printf("%-8s %-16s rows %zu, failed %zu%s\n", u->rung, FILES[i].file,
           t->rows, t->failed, t->rows ? "" : ": no rows is a failure");
    if (t->rows > 0 && t->failed == 0)
        n->passed++;
    else
        n->failed++;
    assay_vc_free(t);
}

/* The rung's interpreter, and a table of the kernels up to it. */
static bool open_rung(enum assay_isa isa, struct assay_vc_under_test *u)
{
    uint32_t flags = isa == ASSAY_ISA_REF ? 0 : assay_cpu_probe();
    assay_kernel_table_init(&u->kernels, flags);
    const struct assay_program_kernel *k = u->kernels.program[isa];
    if (!k)
        return false;
    u->rung = assay_isa_name(isa);
    u->program = k->run;
    return true;
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    int at = 1;
    if (argc > 3 && strcmp(argv[1], "--rung") == 0) {
        only = argv[2];
        at = 3;
    }
    if (argc != at + 1 || argv[at][0] == '-') {
        fprintf(stderr, "usage: vcheck [--rung scalar|neon] DIR\n");
        return 2;
    }
    struct tally n = {0};
    bool known = false;
    for (int isa = 0; isa < ASSAY_ISA_COUNT; isa++) {
        struct assay_vc_under_test u;
        if (only && strcmp(only, assay_isa_name((enum assay_isa)isa)) != 0)
            continue;
        known = true;
        if (!open_rung((enum assay_isa)isa, &u)) {
            if (!only)
                continue;
            printf("vcheck: no '%s' interpreter on this machine\n", only);
            return 77;
        }
        for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++)
            check_file(argv[at], i, &u, &n);
    }
    if (!known) {
        fprintf(stderr, "vcheck: unknown rung '%s'\n", only);
        return 2;
    }
    printf("%u passed, %u failed, %u skipped\n", n.passed, n.failed, n.skipped);
    return n.failed || !n.passed ? 1 : 0;
}
