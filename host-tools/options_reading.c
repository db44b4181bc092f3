/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/options_reading.h"

#include <string.h>

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
        assay_options_wrap(f, words[i].meaning, width + 3);
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

void assay_options_reading(FILE *f, enum assay_command c)
{
    if (c == ASSAY_CMD_PINPOINT)
        print_reading(f, pinpoint_words,
                      sizeof(pinpoint_words) / sizeof(pinpoint_words[0]));
    if (c == ASSAY_CMD_TRIAGE)
        print_reading(f, triage_words,
                      sizeof(triage_words) / sizeof(triage_words[0]));
    if (c == ASSAY_CMD_EXPLAIN)
        print_reading(f, explain_words,
                      sizeof(explain_words) / sizeof(explain_words[0]));
}
