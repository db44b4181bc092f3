/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds files, and mutations of them, to a fuzzer without libFuzzer, so that
 * `make check` replays every corpus under the sanitizers.
 *
 *   replay_X [--mutations N] [--seconds S] [--seed X] FILE|FOLDER...
 *
 * Mutations are made from the seed, the file's place and a number: a failure
 * prints all three, and the same arguments give the same bytes again. An
 * input that takes longer than 10 s is a failure (SIGALRM).
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define INPUT_SECONDS 10
#define FILE_MAX (16u * 1024 * 1024)

static uint64_t seed = 1;
static unsigned long mutations = 1000;
static double seconds = 20;
static unsigned long n_inputs, n_files;
/* For the signal handler only: what is being tried. */
static char current[512];

static void on_alarm(int sig)
{
    static const char text[] = ": no end after 10 s\n";

    (void)sig;
    (void)!write(2, current, strlen(current));
    (void)!write(2, text, sizeof(text) - 1);
    _exit(1);
}

/* splitmix64: every state is a good one. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The bytes get a block of exactly their size: ASan sees each byte beyond. */
static void try_input(const uint8_t *data, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);

    if (!copy) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    if (n)
        memcpy(copy, data, n);
    alarm(INPUT_SECONDS);
    LLVMFuzzerTestOneInput(n ? copy : (const uint8_t *)"", n);
    alarm(0);
    free(copy);
    n_inputs++;
}

/* One to four changes: a bit, a byte, a length-like word, a cut, a doubled
 * or a dropped range. Returns the new length; buf has room for 2 * n + 64. */
static size_t mutate(uint8_t *buf, size_t n, uint64_t *state)
{
    static const uint32_t words[] = {
        0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff};
    size_t limit = 2 * n + 64;
    unsigned changes = 1 + (unsigned)(next_random(state) % 4);

    while (changes--) {
        uint64_t r = next_random(state);
        size_t at = n ? (size_t)(next_random(state) % n) : 0;
        size_t len = 1 + (size_t)(next_random(state) % 16);

        if (!n)
            return 0;
        switch (r % 7) {
        case 0: buf[at] ^= (uint8_t)(1u << (r >> 8) % 8); break;
        case 1: buf[at] = (uint8_t)(r >> 8); break;
        case 2:
        case 3: {
            uint32_t w = words[(r >> 8) % (sizeof(words) / sizeof(*words))];

            len = (r >> 16) % 2 ? 4 : 1;
            if (at + len <= n)
                memcpy(buf + at, &w, len);
            break;
        }
        case 4: n = at; break;
        case 5:
            if (at + len <= n && n + len <= limit) {
                memmove(buf + at + len, buf + at, n - at);
                n += len;
            }
            break;
        default:
            if (at + len <= n) {
                memmove(buf + at, buf + at + len, n - at - len);
                n -= len;
            }
        }
    }
    return n;
}

static int replay_file(const char *path, double until)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = NULL, *work = NULL;
    long size = -1;
    int rc = 2;

    if (f && fseek(f, 0, SEEK_END) == 0)
        size = ftell(f);
    if (size < 0 || (unsigned long)size > FILE_MAX || fseek(f, 0, SEEK_SET)) {
        fprintf(stderr, "%s: cannot read (%s) or too large\n", path,
                strerror(errno));
        goto out;
    }
    data = malloc((size_t)size + 1);
    work = malloc(2 * (size_t)size + 64);
    if (!data || !work || fread(data, 1, (size_t)size, f) != (size_t)size) {
        fprintf(stderr, "%s: cannot read\n", path);
        goto out;
    }
    n_files++;
    snprintf(current, sizeof(current), "%s", path);
    try_input(data, (size_t)size);
    for (unsigned long k = 0; k < mutations && now() < until; k++) {
        uint64_t state = seed * 1000003 + n_files * 7919 + k;

        snprintf(current, sizeof(current), "%s, file %lu, mutation %lu", path,
                 n_files, k);
        memcpy(work, data, (size_t)size);
        try_input(work, mutate(work, (size_t)size, &state));
    }
    rc = 0;
out:
    if (f)
        fclose(f);
    free(data);
    free(work);
    return rc;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int replay_path(const char *path, double until)
{
    struct dirent **names;
    struct stat st;
    int n, rc = 0;

    if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
        return replay_file(path, until);
    n = scandir(path, &names, NULL, by_name);
    if (n < 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 2;
    }
    for (int k = 0; k < n; k++) {
        char full[4096];

        /* Each file gets its share of the time that is left. */
        if (names[k]->d_name[0] != '.' && rc == 0) {
            double t = now();

            snprintf(full, sizeof(full), "%s/%s", path, names[k]->d_name);
            rc = replay_file(full, t + (until - t) / (n - k));
        }
        free(names[k]);
    }
    free(names);
    return rc;
}

/* A report of the sanitizers, and abort() in a fuzzer, end here: the input is
 * named. Their defaults are asked for by these two names. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "abort_on_error=1:allocator_may_return_null=1:"
           "max_allocation_size_mb=2048";
}
__attribute__((visibility("default"))) const char *__ubsan_default_options(
    void);
const char *__ubsan_default_options(void)
{
    return "abort_on_error=1:print_stacktrace=1";
}

static void on_abort(int sig)
{
    static const char head[] = "input: ";

    (void)sig;
    (void)!write(2, head, sizeof(head) - 1);
    (void)!write(2, current, strlen(current));
    (void)!write(2, "\n", 1);
    _exit(1);
}

int main(int argc, char **argv)
{
    int k = 1, rc = 0, n;
    double start = now();

    for (; k + 1 < argc && strncmp(argv[k], "--", 2) == 0; k += 2) {
        if (strcmp(argv[k], "--mutations") == 0)
            mutations = strtoul(argv[k + 1], NULL, 10);
        else if (strcmp(argv[k], "--seconds") == 0)
            seconds = strtod(argv[k + 1], NULL);
        else if (strcmp(argv[k], "--seed") == 0)
            seed = strtoull(argv[k + 1], NULL, 10);
        else
            break;
    }
    if (k >= argc || strncmp(argv[k], "--", 2) == 0) {
        fprintf(stderr,
                "usage: %s [--mutations N] [--seconds S] [--seed X] "
                "FILE|FOLDER...\n",
                argv[0]);
        return 2;
    }
    signal(SIGALRM, on_alarm);
    signal(SIGABRT, on_abort);
    try_input(NULL, 0);
    n = argc - k;
    for (int i = 0; i < n && rc == 0; i++)
        rc = replay_path(argv[k + i],
                         now() + (start + seconds - now()) / (n - i));
    printf("%lu files, %lu inputs, %.1f s\n", n_files, n_inputs, now() - start);
    /* Nothing replayed is no success. */
    return rc ? rc : n_files == 0;
}
