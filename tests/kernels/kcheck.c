/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kernels/kcheck.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char HELP[] =
    "Usage: kcheck [OPTION]...\n"
    "Compare every vector kernel with the scalar one, and the scalar ones\n"
    "with naive definitions, bit for bit.\n\n"
    "  --seed N          seed of all data (default: from the clock; printed)\n"
    "  --function=GLOB   only kernels whose symbol matches\n"
    "  --check NAME      only one check (conv2d, dwconv2d, program, ...)\n"
    "  --case N          only case N of a check\n"
    "  --cpumask M       0, neon, dotprod, i8mm or all\n"
    "  --shapes FILE     shapes of networks (default: "
    "tests/kernels/shapes.txt,\n"
    "                    beside the current folder or the program)\n"
    "  --long            ten times as many cases, and all shapes\n"
    "  --list-kernels    print slot, rung and symbol of every kernel\n"
    "  --bench           time the convolutions over the shapes\n"
    "  --json            --bench and the summary as JSON\n"
    "Exit status: 0 all equal; 1 a difference, or nothing compared; 2 usage.\n";

static void list_one(void *arg, const char *slot, const char *name,
                     enum assay_isa isa)
{
    (void)arg;
    printf("%-14s %-8s %s\n", slot, assay_isa_name(isa), name);
}

static void add_one(void *arg, const char *slot, const char *name,
                    enum assay_isa isa)
{
    struct kc *k = arg;
    static const uint32_t bits[ASSAY_ISA_COUNT] = {
        [ASSAY_ISA_NEON] = ASSAY_CPU_NEON,
        [ASSAY_ISA_DOTPROD] = ASSAY_CPU_DOTPROD,
        [ASSAY_ISA_I8MM] = ASSAY_CPU_I8MM,
    };

    if (k->n_stats == KC_MAX_KERNELS) {
        fprintf(stderr, "kcheck: more than %d kernels\n", KC_MAX_KERNELS);
        exit(2);
    }
    k->stats[k->n_stats++] = (struct kc_stats){
        .slot = slot,
        .name = name,
        .isa = isa,
        .available = (k->table.flags & bits[isa]) == bits[isa],
    };
}

static uint64_t number(const char *text, const char *option)
{
    char *end;
    unsigned long long v;

    errno = 0;
    v = strtoull(text, &end, 10);
    if (errno || end == text || *end) {
        fprintf(stderr, "kcheck: %s expects a number, found '%s'\n", option,
                text);
        exit(2);
    }
    return v;
}

enum {
    O_SEED = 1,
    O_FUNCTION,
    O_CHECK,
    O_CASE,
    O_MASK,
    O_SHAPES,
    O_LONG,
    O_LIST,
    O_BENCH,
    O_JSON,
    O_HELP
};

static void parse(struct kc_options *o, int argc, char **argv)
{
    static const struct option options[] = {
        {"seed", required_argument, NULL, O_SEED},
        {"function", required_argument, NULL, O_FUNCTION},
        {"check", required_argument, NULL, O_CHECK},
        {"case", required_argument, NULL, O_CASE},
        {"cpumask", required_argument, NULL, O_MASK},
        {"shapes", required_argument, NULL, O_SHAPES},
        {"long", no_argument, NULL, O_LONG},
        {"list-kernels", no_argument, NULL, O_LIST},
        {"bench", no_argument, NULL, O_BENCH},
        {"json", no_argument, NULL, O_JSON},
        {"help", no_argument, NULL, O_HELP},
        {NULL, 0, NULL, 0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {
        case O_SEED: o->seed = number(optarg, "--seed"); break;
        case O_FUNCTION: o->function = optarg; break;
        case O_CHECK: o->only_check = optarg; break;
        case O_CASE: o->only_case = (int64_t)number(optarg, "--case"); break;
        case O_MASK:
            if (assay_cpu_parse_mask(optarg, &o->mask) != 0) {
                fprintf(stderr, "kcheck: unknown --cpumask '%s'\n", optarg);
                exit(2);
            }
            break;
        case O_SHAPES: o->shapes = optarg; break;
        case O_LONG: o->long_run = true; break;
        case O_LIST: o->list = true; break;
        case O_BENCH: o->bench = true; break;
        case O_JSON: o->json = true; break;
        case O_HELP: fputs(HELP, stdout); exit(0);
        default: exit(2);
        }
    }
    if (optind < argc) {
        fprintf(stderr, "kcheck: unexpected argument '%s'\n", argv[optind]);
        exit(2);
    }
}

/* shapes.txt in the checkout: from here, or from where the program lies. */
static const char *find_shapes(const char *argv0, char *out, size_t cap)
{
    const char *slash = strrchr(argv0, '/');
    FILE *f = fopen("tests/kernels/shapes.txt", "r");

    if (f) {
        fclose(f);
        return "tests/kernels/shapes.txt";
    }
    snprintf(out, cap, "%.*s/../../tests/kernels/shapes.txt",
             slash ? (int)(slash - argv0) : 1, slash ? argv0 : ".");
    return out;
}

/* A check runs when one of its slot's kernels is wanted. */
static bool slot_wanted(const struct kc *k, const char *slot)
{
    for (size_t i = 0; i < k->n_stats; i++)
        if (strncmp(k->stats[i].slot, slot, strlen(slot)) == 0 &&
            kc_wants(k, k->stats[i].name))
            return true;
    return false;
}

static void run_checks(struct kc *k)
{
    if (slot_wanted(k, "program"))
        kc_check_program(k);
    if (slot_wanted(k, "unary"))
        kc_check_unary(k);
    if (slot_wanted(k, "binary"))
        kc_check_binary(k);
    if (slot_wanted(k, "pool"))
        kc_check_pool(k);
    if (slot_wanted(k, "softmax"))
        kc_check_softmax(k);
    if (slot_wanted(k, "copy"))
        kc_check_copy(k);
    if (slot_wanted(k, "table"))
        kc_check_table(k);
    if (slot_wanted(k, "segment_table"))
        kc_check_segment_table(k);
    if (slot_wanted(k, "reduce"))
        kc_check_reduce(k);
    if (slot_wanted(k, "resize"))
        kc_check_resize(k);
    if (slot_wanted(k, "grid_sample"))
        kc_check_grid_sample(k);
    if (slot_wanted(k, "function"))
        kc_check_function(k);
    if (slot_wanted(k, "normalize"))
        kc_check_normalize(k);
    if (slot_wanted(k, "select"))
        kc_check_select(k);
    if (slot_wanted(k, "conv2d") || slot_wanted(k, "dwconv2d")) {
        kc_check_conv2d(k);
        kc_check_fused(k);
    }
}

/*
 * One line a kernel, then the closing line. A kernel that could run and was
 * never compared is a failure, unless the command line asked for one case.
 */
static int summary(const struct kc *k)
{
    uint64_t passed = 0, failed = 0, skipped = 0;
    bool narrowed = k->opt.only_case >= 0 || k->opt.only_check;

    for (size_t i = 0; i < k->n_stats; i++) {
        const struct kc_stats *s = &k->stats[i];
        uint64_t n = s->passed + s->failed;

        if (!kc_wants(k, s->name))
            continue;
        passed += s->passed;
        failed += s->failed;
        if (!s->available) {
            skipped++;
            printf("SKIP %-28s this CPU or the mask lacks %s\n", s->name,
                   assay_isa_name(s->isa));
        } else if (n == 0 && !narrowed) {
            failed++;
            printf("FAIL %-28s was never compared\n", s->name);
        } else if (n) {
            printf("%s %-28s %" PRIu64 " equal, %" PRIu64 " different\n",
                   s->failed ? "FAIL" : "ok  ", s->name, s->passed, s->failed);
        }
    }
    if (passed + failed == 0) {
        printf("FAIL nothing was compared\n");
        failed = 1;
    }
    printf("%" PRIu64 " passed, %" PRIu64 " failed, %" PRIu64 " skipped\n",
           passed, failed, skipped);
    return failed ? 1 : 0;
}

static struct kc k; /* for the signal handler, too */

/* A kernel that dies is a failure with a repro, like any other. */
static void died(int number)
{
    static char text[512];
    int n = snprintf(
        text, sizeof(text),
        "FAIL signal %d: %s\n"
        "  repro: kcheck --seed %" PRIu64 " --check %s --case %" PRId64 "\n"
        "0 passed, 1 failed, 0 skipped\n",
        number, k.text, k.opt.seed, k.check ? k.check : "?", k.case_index);

    if (n > 0 && write(STDOUT_FILENO, text, (size_t)n) < 0)
        _exit(2);
    _exit(1);
}

int main(int argc, char **argv)
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    char path[1024], names[64];

    k.opt.only_case = -1;
    k.opt.mask = ASSAY_CPU_ALL;
    k.opt.seed = (uint64_t)time(NULL);
    parse(&k.opt, argc, argv);
    if (k.opt.list) {
        assay_kernel_list(list_one, NULL);
        return 0;
    }
    if (!k.opt.shapes)
        k.opt.shapes = find_shapes(argv[0], path, sizeof(path));
    assay_kernel_table_init(&k.table, assay_cpu_probe() & k.opt.mask);
    assay_kernel_list(add_one, &k);
    if (k.opt.bench) {
        kc_bench(&k);
        return 0;
    }
    printf("kcheck: seed %" PRIu64 ", cpu %s\n", k.opt.seed,
           assay_cpu_names(k.table.flags, names, sizeof(names)));
    fflush(stdout);
    for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
        signal(deadly[i], died);
    run_checks(&k);
    return summary(&k);
}
