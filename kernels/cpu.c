/* SPDX-License-Identifier: Apache-2.0 */
/* CPU features: a pure decoder, and the one place that asks the system. */
#include "kernels/cpu.h"

#include <stdbool.h>
#include <string.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

/* Bits of Linux' aarch64 auxiliary vector, an ABI that never changes. */
#define HWCAP_BIT_ASIMD 1
#define HWCAP_BIT_ASIMDDP 20
#define HWCAP2_BIT_I8MM 13

static const struct {
    const char *name;
    uint32_t flag;
    uint32_t mask; /* the rung and those below it */
} RUNGS[] = {
    {"neon", ASSAY_CPU_NEON, ASSAY_CPU_NEON},
    {"dotprod", ASSAY_CPU_DOTPROD, ASSAY_CPU_NEON | ASSAY_CPU_DOTPROD},
    {"i8mm", ASSAY_CPU_I8MM,
     ASSAY_CPU_NEON | ASSAY_CPU_DOTPROD | ASSAY_CPU_I8MM},
};
#define N_RUNGS (sizeof(RUNGS) / sizeof(RUNGS[0]))

uint32_t assay_cpu_decode(uint64_t hwcap, uint64_t hwcap2)
{
    uint32_t flags = 0;
    if (!(hwcap >> HWCAP_BIT_ASIMD & 1))
        return 0; /* no rung works without Advanced SIMD */
    flags |= ASSAY_CPU_NEON;
    if (hwcap >> HWCAP_BIT_ASIMDDP & 1)
        flags |= ASSAY_CPU_DOTPROD;
    if (hwcap2 >> HWCAP2_BIT_I8MM & 1)
        flags |= ASSAY_CPU_I8MM;
    return flags;
}

uint32_t assay_cpu_probe(void)
{
#if defined(__aarch64__)
    return assay_cpu_decode(getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
#else
    return 0;
#endif
}

static bool same_word(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(text, word, n) == 0;
}

int assay_cpu_parse_mask(const char *text, uint32_t *mask)
{
    if (!text || !*text)
        return -1;
    if (strcmp(text, "0") == 0) {
        *mask = 0;
        return 0;
    }
    if (strcmp(text, "all") == 0) {
        *mask = ASSAY_CPU_ALL;
        return 0;
    }
    uint32_t got = 0;
    for (;;) {
        size_t n = strcspn(text, ",");
        size_t i = 0;
        while (i < N_RUNGS && !same_word(text, n, RUNGS[i].name))
            i++;
        if (i == N_RUNGS)
            return -1;
        got |= RUNGS[i].mask;
        if (text[n] == '\0')
            break;
        text += n + 1;
    }
    *mask = got;
    return 0;
}

const char *assay_cpu_rung(uint32_t flags)
{
    for (size_t i = N_RUNGS; i-- > 0;) {
        if (flags & RUNGS[i].flag)
            return RUNGS[i].name;
    }
    return "scalar";
}

static size_t append(char *out, size_t cap, size_t at, const char *word)
{
    size_t n = strlen(word);
    if (n >= cap - at)
        n = cap - at - 1;
    memcpy(out + at, word, n);
    out[at + n] = '\0';
    return at + n;
}

const char *assay_cpu_names(uint32_t flags, char *out, size_t cap)
{
    size_t at = 0;
    if (cap == 0)
        return "";
    out[0] = '\0';
    for (size_t i = 0; i < N_RUNGS; i++) {
        if (!(flags & RUNGS[i].flag))
            continue;
        if (at > 0)
            at = append(out, cap, at, " ");
        at = append(out, cap, at, RUNGS[i].name);
    }
    if (at == 0)
        append(out, cap, at, "scalar");
    return out;
}
