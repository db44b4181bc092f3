/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/daemon.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
    perror(what);
    exit(99);
}

double daemon_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

double daemon_start(struct agents *a, const char *program, const char *memory)
{
    static const char head[] = "assayd listening on ";
    static unsigned count;
    double begun = daemon_now_ms(), took;
    char line[256], board[64];
    ssize_t n;
    int fds[2];

    memset(a, 0, sizeof(*a));
    snprintf(board, sizeof(board), "daemon-%d-%u", (int)getpid(), count++);
    if (pipe(fds) < 0)
        die("pipe");
    fflush(NULL);
    a->pid = fork();
    if (a->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(fds[1], 1);
        close(fds[0]);
        execl(program, program, "--listen", "127.0.0.1:0", "--board-id", board,
              "--memory", memory, "--log-level", "error", (char *)NULL);
        _exit(127);
    }
    close(fds[1]);
    n = read(fds[0], line, sizeof(line) - 1);
    took = daemon_now_ms() - begun;
    close(fds[0]);
    if (n <= (ssize_t)sizeof(head) || memcmp(line, head, sizeof(head) - 1) != 0)
        die(program);
    line[n] = '\0';
    line[strcspn(line, "\n")] = '\0';
    snprintf(a->target, sizeof(a->target), "%.90s", line + sizeof(head) - 1);
    return took;
}

int daemon_stop(struct agents *a)
{
    int status = 0;

    kill(a->pid, SIGTERM);
    if (waitpid(a->pid, &status, 0) != a->pid)
        die("waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* "Field:   123 kB" */
static uint64_t find_kb(const char *path, const char *field)
{
    unsigned long kb = 0;
    size_t n = strlen(field);
    char line[256];
    FILE *f = fopen(path, "r");

    if (f == NULL)
        return 0;
    while (fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, field, n) == 0 && line[n] == ':')
            kb = strtoul(line + n + 1, NULL, 10);
    }
    fclose(f);
    return (uint64_t)kb << 10;
}

uint64_t daemon_memory(pid_t pid, const char *field)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    return find_kb(path, field);
}

uint64_t daemon_share(pid_t pid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    return find_kb(path, "Pss");
}

unsigned daemon_descriptors(const struct agents *a)
{
    char path[64];
    unsigned n = 0;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)a->pid);
    dir = opendir(path);
    if (dir == NULL)
        die(path);
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}
