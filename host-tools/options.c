/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/messages.h"
#include "host-tools/model/numerics_file.h"
#include "host-tools/options_value.h"
#include "kernels/cpu.h"
#include "lib/core/arith.h"

struct entry {
    enum assay_option_key key; /* NONE: not yet known */
    const char *name;
    char letter;
    const char *arg;
    unsigned commands;
    const char *help;
};

static const struct entry entries[] = {
#define ASSAY_OPTION(key, name, letter, arg, commands, help) \
    {ASSAY_OPT_##key, name, letter, arg, commands, help},
#define ASSAY_LATER(name, has_arg) \
    {ASSAY_OPT_NONE, name, 0, (has_arg) ? "" : NULL, 0, NULL},
#include "host-tools/options.def"
#undef ASSAY_OPTION
#undef ASSAY_LATER
};
#define N_ENTRIES (sizeof(entries) / sizeof(entries[0]))
#define FIRST_VAL 256 /* of long options, above every letter */

static const struct {
    enum assay_command command;
    const char *name, *operands, *help;
} commands[] = {
    {ASSAY_CMD_RUN, "run", "CASE | -m MODEL -i INPUT [-r REFERENCE]",
     "run a model on a board and compare every layer with the reference"},
    {ASSAY_CMD_IMPORT, "import", "CASE | MODEL",
     "read a model, check that it can be run, print what would be"},
    {ASSAY_CMD_SHOW, "show", "CASE | MODEL",
     "print the layers: shapes, scales, programs, kernels"},
    {ASSAY_CMD_INFO, "info", "", "say what a board is"},
    {ASSAY_CMD_SELF_TEST, "self-test", "",
     "test a board's kernels, memory and clock"},
    {ASSAY_CMD_PINPOINT, "pinpoint", "CASE | -m MODEL -i INPUT -r REFERENCE",
     "say why layers differ: of the reference, or of --got"},
    {ASSAY_CMD_REPLAY, "replay", "FILE.assay",
     "run a saved failure again, here or on a board"},
    {ASSAY_CMD_MUTATE, "mutate", "CASE | MODEL",
     "write a slice whose arithmetic deviates in one entry of the catalogue"},
    {ASSAY_CMD_EXPLAIN, "explain", "CASE --layer NAME --at N,H,W,C",
     "print the hand calculation of one element"},
    {ASSAY_CMD_IMPACT, "impact", "CASE | -m MODEL -i INPUT -r REFERENCE",
     "say what each culprit of a column does to the model's outputs"},
    {ASSAY_CMD_LINT, "lint", "CASE | MODEL",
     "say what is wrong with a model before anything runs"},
    {ASSAY_CMD_TRIAGE, "triage", "[FOLDER]",
     "say which stage broke: float, calibration, qat, qat.export, qat.bc, "
     "quantized.bc, hbm or board"},
    {ASSAY_CMD_OUTPUT, "output", "CASE | -m MODEL -i INPUT -r REFERENCE",
     "say what turns the model's outputs into what an application read"},
    {ASSAY_CMD_FIT, "fit-arith", "CASE... | -m MODEL -i INPUT -r REFERENCE",
     "find the arithmetic that reproduces the goldens"},
    {ASSAY_CMD_IMAGE, "image",
     "PICTURE --as TYPE --size WxH | PICTURE --got FILE --vendor PATH",
     "make a model's input of a picture, step by step; --show: the way back; "
     "--got: what an application did instead"},
    {ASSAY_CMD_KEYGEN, "keygen", "", "make a key, for boards behind TLS"},
    {ASSAY_CMD_PAIR, "pair", "--target tls:HOST[:PORT]",
     "trust a board, once a person has compared its fingerprint"},
};
#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const char *const later_commands[] = {
    "compare", "deploy", "nightly", "history", "report", "vectors",
};

static const struct {
    const char *code, *meaning;
} exits[] = {
    {"0", "all expected tensors compared, all within policy"},
    {"1", "divergence"},
    {"2", "usage, configuration, file format, incompatible versions"},
    {"3", "board unreachable, refused, busy, lost"},
    {"4", "agent error while running, or assay's kernel or the board's CPU "
          "found wrong"},
    {"5", "nothing compared, coverage below --min-coverage, required "
          "evidence missing, or arithmetic unproven"},
    {"6", "non-deterministic"},
    {"77", "skipped on request (--skip-if-missing)"},
    {"130, 143", "interrupted; a partial report exists"},
};

const char *assay_command_name(enum assay_command c)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (commands[i].command == c)
            return commands[i].name;
    }
    return "";
}

static void print_wrapped(FILE *f, const char *text, int indent)
{
    int column = indent;

    while (*text != '\0') {
        int n = (int)strcspn(text, " ");

        if (column + 1 + n > 79 && column > indent) {
            fprintf(f, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', f);
            column++;
        }
        fprintf(f, "%.*s", n, text);
        text += n;
        column += n;
        text += *text == ' ';
    }
    fputc('\n', f);
}

static void print_exits(FILE *f)
{
    fputs("\nExit status:\n", f);
    for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++) {
        fprintf(f, "  %-9s ", exits[i].code);
        print_wrapped(f, exits[i].meaning, 12);
    }
}

void assay_options_usage(FILE *f)
{
    fputs("Usage: assay COMMAND [OPTIONS]\n\nFinds the first layer where a "
          "board does not compute what a quantized\nmodel says.\n\n"
          "Commands:\n",
          f);
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(f, "  %-9s %s\n", commands[i].name, commands[i].help);
    fputs("\nassay COMMAND --help explains the options of a command; "
          "assay --version prints\nthe version.\n",
          f);
    print_exits(f);
}

static void print_names(FILE *f, const char *title,
                        const char *(*name)(unsigned i))
{
    char line[2048];

    fprintf(f, "\n%s:\n  ", title);
    line[0] = '\0';
    for (unsigned i = 0; name(i) != NULL; i++) {
        if (i > 0)
            strncat(line, " ", sizeof(line) - strlen(line) - 1);
        strncat(line, name(i), sizeof(line) - strlen(line) - 1);
    }
    print_wrapped(f, line, 2);
}

/* How what a command prints is read. */
struct word {
    const char *word, *meaning;
};

static void print_reading(FILE *f, const struct word *words, size_t n)
{
    int width = 0;

    for (size_t i = 0; i < n; i++)
        if ((int)strlen(words[i].word) > width)
            width = (int)strlen(words[i].word);
    fputs("\nHow to read it:\n", f);
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "  %-*s ", width, words[i].word);
        print_wrapped(f, words[i].meaning, width + 3);
    }
}

/* The block of a culprit. */
static const struct word pinpoint_words[] = {
    {"where", "how many elements differ, by how much, and where they lie"},
    {"looks", "what the differing elements have in common: a hint"},
    {"channel", "got / expected, or the difference, of each channel, where one "
                "number a channel is what they have in common"},
    {"cause", "an entry of the catalogue; proved: it gives every element "
              "of every sample, those that had been equal too"},
    {"or", "fits as well; what this data does not tell apart is listed "
           "together, and an input that would tell is made (-o DIR)"},
    {"(...)", "explains the differing ones and breaks others: not it"},
    {"try", "what to change"},
};

/* A table of steps; numbers and reasons are in docs/triage.md. */
static const struct word triage_words[] = {
    {"a -> b", "the step from one stage that is there to the next; all tensors "
               "of all samples that both have"},
    {"exact", "quantized.bc, hbm and board must be equal to the bit"},
    {"limits", "other steps have a smallest cosine and a largest relative "
               "error; limits of steps that are skipped add up"},
    {"BREAKS", "a tensor of a sample is beyond a limit; or above half of it "
               "and 8 times as far off as all steps before; never within 1 "
               "LSB or 1e-6"},
    {"ok", "it is not"},
    {"training", "a break of calibration or QAT is said, and left"},
    {"exit", "0 nothing breaks, 1 a step breaks, 2 fewer than two stages, 5 a "
             "step had nothing to compare"},
};

/* A hand calculation with columns that differ. */
static const struct word explain_words[] = {
    {"sim: [A, B]", "behind a step: what its value would have to be for the "
                    "steps behind it, done as printed, to give sim's value"},
    {"sim: none", "no value there gives it: it parted further down"},
    {"(half_up)", "another reading of this step alone that gives it"},
    {"would have to be", "the same of the accumulator, or of what was read: "
                         "when no step alone is enough, it parted there"},
};

void assay_options_help(FILE *f, enum assay_command c)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (commands[i].command == c)
            fprintf(f, "Usage: assay %s %s%s[OPTIONS]\n\n%s\n\nOptions:\n",
                    commands[i].name, commands[i].operands,
                    commands[i].operands[0] != '\0' ? " " : "",
                    commands[i].help);
    }
    for (size_t i = 0; i < N_ENTRIES; i++) {
        const struct entry *e = &entries[i];
        char names[64];

        if ((e->commands & (unsigned)c) == 0)
            continue;
        snprintf(names, sizeof(names), "%c%c%s--%s%s%s",
                 e->letter != 0 ? '-' : ' ', e->letter != 0 ? e->letter : ' ',
                 e->letter != 0 ? ", " : "  ", e->name,
                 e->arg != NULL ? " " : "", e->arg != NULL ? e->arg : "");
        fprintf(f, "  %-28s ", names);
        if (strlen(names) > 28)
            fprintf(f, "\n%*s", 31, "");
        print_wrapped(f, e->help, 31);
    }
    if ((c & (ASSAY_CMD_ALONE | ASSAY_CMD_TRIAGE | ASSAY_CMD_IMAGE |
              ASSAY_CMD_OUTPUT)) == 0) {
        print_names(f, "Numerics", assay_numerics_known);
        print_names(f, "Arithmetic", assay_arith_name);
    }
    if (c == ASSAY_CMD_PINPOINT)
        print_reading(f, pinpoint_words,
                      sizeof(pinpoint_words) / sizeof(pinpoint_words[0]));
    if (c == ASSAY_CMD_TRIAGE)
        print_reading(f, triage_words,
                      sizeof(triage_words) / sizeof(triage_words[0]));
    if (c == ASSAY_CMD_EXPLAIN)
        print_reading(f, explain_words,
                      sizeof(explain_words) / sizeof(explain_words[0]));
    print_exits(f);
}

static enum assay_command find_command(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return commands[i].command;
    }
    return ASSAY_CMD_NONE;
}

static int refuse_command(const char *name, struct assay_err *err)
{
    const char *near = commands[0].name;
    unsigned best = ~0u;

    for (size_t i = 0; i < sizeof(later_commands) / sizeof(later_commands[0]);
         i++) {
        if (strcmp(later_commands[i], name) == 0)
            return assay_fail_message(
                err, ASSAY_EUSAGE, ASSAY_MSG_LATER_COMMAND, "name", name, NULL);
    }
    for (size_t i = 0; i < N_COMMANDS; i++) {
        unsigned d = assay_edit_distance(name, commands[i].name);

        if (d < best) {
            best = d;
            near = commands[i].name;
        }
    }
    return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_UNKNOWN_COMMAND,
                              "name", name, "near", near, NULL);
}

/* Of the options with its name. */
static bool is_first(size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (strcmp(entries[k].name, entries[i].name) == 0)
            return false;
    }
    return true;
}

/* The sentence for what getopt_long does not know. */
static int refuse_option(const char *word, int opt, struct assay_err *err)
{
    char name[64] = "", near[64];
    const char *best_name = "help";
    unsigned best = ~0u, prefixes = 0;
    size_t n;

    if (opt >= FIRST_VAL) { /* --flag=value */
        snprintf(name, sizeof(name), "--%s", entries[opt - FIRST_VAL].name);
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_SURPLUS_ARGUMENT,
                                  "name", name, NULL);
    }
    if (strncmp(word, "--", 2) != 0 || opt != 0) {
        snprintf(name, sizeof(name), "-%c", opt);
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_UNKNOWN_OPTION,
                                  "name", name, "near", "--help", NULL);
    }
    n = strcspn(word, "=");
    snprintf(name, sizeof(name), "%.*s", (int)(n < 60 ? n : 60), word);
    for (size_t i = 0; i < N_ENTRIES; i++) {
        unsigned d = assay_edit_distance(name + 2, entries[i].name);

        prefixes += is_first(i) &&
                    strncmp(name + 2, entries[i].name, strlen(name) - 2) == 0;
        if (entries[i].key != ASSAY_OPT_NONE && d < best) {
            best = d;
            best_name = entries[i].name;
        }
    }
    if (prefixes > 1)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_AMBIGUOUS_OPTION,
                                  "name", name, NULL);
    snprintf(near, sizeof(near), "--%s", best_name);
    return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_UNKNOWN_OPTION,
                              "name", name, "near", near, NULL);
}

static const struct entry *entry_of(int value)
{
    if (value >= FIRST_VAL)
        return &entries[value - FIRST_VAL];
    for (size_t i = 0; i < N_ENTRIES; i++) {
        if (entries[i].letter == value && value != 0)
            return &entries[i];
    }
    return NULL;
}

/* Of the options with this name the one that the command has, else this. */
static const struct entry *meaning_for(const struct entry *e,
                                       enum assay_command command)
{
    for (size_t i = 0; i < N_ENTRIES; i++) {
        if ((entries[i].commands & (unsigned)command) != 0 &&
            strcmp(entries[i].name, e->name) == 0)
            return &entries[i];
    }
    return e;
}

static int take_option(struct assay_options *o, const struct entry *e,
                       const char *value, struct assay_err *err)
{
    char name[64];

    e = meaning_for(e, o->command);
    snprintf(name, sizeof(name), "--%s", e->name);
    if (e->key == ASSAY_OPT_NONE)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_LATER_OPTION,
                                  "name", name, NULL);
    if ((e->commands & (unsigned)o->command) == 0)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_FOREIGN_OPTION,
                                  "name", name, "command",
                                  assay_command_name(o->command), NULL);
    return assay_option_store(o, e->key, name, value, err);
}

static void fill_getopt(struct option *longs, char *shorts)
{
    *shorts++ = ':';
    for (size_t i = 0; i < N_ENTRIES; i++) {
        if (!is_first(i))
            continue;
        *longs++ = (struct option){
            .name = entries[i].name,
            .has_arg = entries[i].arg != NULL ? required_argument : no_argument,
            .val = FIRST_VAL + (int)i,
        };
        if (entries[i].letter == 0)
            continue;
        *shorts++ = entries[i].letter;
        if (entries[i].arg != NULL)
            *shorts++ = ':';
    }
    *longs = (struct option){.name = NULL};
    *shorts = '\0';
}

/* mutate: what it cannot do without. */
static int check_mutate(const struct assay_options *o, struct assay_err *err)
{
    if (o->layer == NULL)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_MUTATE_NO_LAYER,
                                  NULL);
    if (o->list)
        return 0;
    if (o->set.n == 0)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_MUTATE_NO_SET,
                                  NULL);
    if (o->output_dir == NULL)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_MUTATE_NO_OUT,
                                  NULL);
    return 0;
}

/* triage: something to look at. */
static int check_triage(const struct assay_options *o, struct assay_err *err)
{
    bool any = o->operand != NULL || o->logs.n > 0 || o->vendor.n > 0;

    for (size_t i = 0; i < sizeof(o->stage) / sizeof(o->stage[0]); i++)
        any = any || o->stage[i] != NULL;
    return any ? 0
               : assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_TRIAGE_NOTHING,
                                    NULL);
}

/* output: what was read, and a letterbox that is whole. */
static int check_output(const struct assay_options *o, struct assay_err *err)
{
    if (o->read.n == 0)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_OUTPUT_NO_GOT,
                                  NULL);
    if (o->picture_size[0] > 0 && o->size[0] == 0)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_OUTPUT_NO_SIZE,
                                  NULL);
    return 0;
}

static int check_together(struct assay_options *o, struct assay_err *err)
{
    if (o->help || o->version)
        return 0;
    if (o->command == ASSAY_CMD_TRIAGE)
        return check_triage(o, err);
    if (o->local && o->target != NULL)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_LOCAL_AND_TARGET,
                                  NULL);
    if (o->target == NULL && !o->local) {
        const char *env = getenv("ASSAY_TARGET");

        if (env != NULL && env[0] != '\0')
            return assay_option_store(o, ASSAY_OPT_TARGET, "ASSAY_TARGET", env,
                                      err);
    }
    if (o->command == ASSAY_CMD_IMAGE)
        return 0; /* cmd_image.c knows what it needs */
    if (o->operand != NULL &&
        (o->model != NULL || o->inputs.n > 0 || o->reference != NULL))
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_CASE_AND_FILES,
                                  "case", o->operand, NULL);
    if (o->command == ASSAY_CMD_LINT && o->list)
        return 0; /* the table of checks needs no model */
    if ((o->command & ASSAY_CMD_ALONE) == 0 && o->operand == NULL &&
        o->model == NULL)
        return assay_fail_message(
            err, ASSAY_EUSAGE,
            o->command == ASSAY_CMD_REPLAY ? ASSAY_MSG_NO_BUNDLE
                                           : ASSAY_MSG_NO_CASE,
            "command", assay_command_name(o->command), NULL);
    if ((o->command & (ASSAY_CMD_RUN | ASSAY_CMD_PINPOINT | ASSAY_CMD_FIT |
                       ASSAY_CMD_IMPACT | ASSAY_CMD_OUTPUT)) != 0 &&
        o->model != NULL && o->inputs.n == 0)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_NO_INPUTS,
                                  "model", o->model, NULL);
    if (o->command == ASSAY_CMD_EXPLAIN && (o->layer == NULL || o->at == NULL))
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_EXPLAIN_WHAT,
                                  NULL);
    if (o->command == ASSAY_CMD_OUTPUT)
        return check_output(o, err);
    return o->command == ASSAY_CMD_MUTATE ? check_mutate(o, err) : 0;
}

static int parse_command_line(struct assay_options *o, int argc, char **argv,
                              struct assay_err *err)
{
    struct option longs[N_ENTRIES + 1];
    char shorts[2 * N_ENTRIES + 2], name[64];
    const char *env = getenv("NO_COLOR");
    int c, rc;

    fill_getopt(longs, shorts);
    opterr = 0;
    optind = 0; /* start anew */
    while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        const struct entry *e = entry_of(c == ':' ? optopt : c);

        if (c == '?' || e == NULL)
            return refuse_option(argv[optind - 1], optopt, err);
        if (c == ':') {
            e = meaning_for(e, o->command);
            snprintf(name, sizeof(name), "--%s", e->name);
            if (e->key == ASSAY_OPT_NONE)
                return take_option(o, e, NULL, err);
            return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_NO_ARGUMENT,
                                      "name", name, "arg", e->arg, NULL);
        }
        rc = take_option(o, e, optarg, err);
        if (rc < 0)
            return rc;
    }
    if (env != NULL && env[0] != '\0')
        o->no_color = true;
    for (; optind < argc; optind++) {
        bool many =
            o->command == ASSAY_CMD_FIT || o->command == ASSAY_CMD_IMAGE;

        if (many && o->cases.n < ASSAY_MAX_REPEATS)
            o->cases.v[o->cases.n++] = argv[optind];
        else if (o->operand != NULL || (o->command & ASSAY_CMD_ALONE) != 0)
            return assay_fail_message(err, ASSAY_EUSAGE,
                                      ASSAY_MSG_SURPLUS_OPERAND, "value",
                                      argv[optind], NULL);
        if (o->operand == NULL)
            o->operand = argv[optind];
    }
    return check_together(o, err);
}

int assay_options_parse(struct assay_options *out, int argc, char **argv,
                        struct assay_err *err)
{
    struct assay_options o = {
        .max_rows = 50,
        .min_coverage = 100.0,
        .capture = ASSAY_CAPTURE_DIFFERING,
        .cpumask = ASSAY_CPU_ALL,
    };
    int rc;

    if (argc < 1)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_NO_COMMAND,
                                  NULL);
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0 ||
        strcmp(argv[0], "help") == 0) {
        o.help = true;
        *out = o;
        return 0;
    }
    if (strcmp(argv[0], "--version") == 0) {
        o.version = true;
        *out = o;
        return 0;
    }
    if (argv[0][0] == '-')
        return refuse_option(argv[0], argv[0][1] != '-' ? argv[0][1] : 0, err);
    o.command = find_command(argv[0]);
    if (o.command == ASSAY_CMD_NONE)
        return refuse_command(argv[0], err);
    rc = parse_command_line(&o, argc, argv, err);
    if (rc < 0)
        return rc;
    *out = o;
    return 0;
}
