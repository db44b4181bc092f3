/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/agents.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "kernels/cpu.h"
#include "tests/support/proc.h"

uint64_t agents_run_ms, agents_blob_ms;

static void die(const char *what)
{
    perror(what);
    exit(99);
}

static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

static void child(const char *listen, const char *board_id, uint64_t memory,
                  int out)
{
    struct assay_agent_options options = {
        .listen = listen,
        .board_id = board_id,
        .cpumask = ASSAY_CPU_ALL,
        .memory = memory,
        .log_level = ASSAY_LOG_ERROR,
        .no_self_test = true, /* its process and pipe would be counted */
        .deadline_ms[ASSAY_DEADLINE_RUN] = agents_run_ms,
        .deadline_ms[ASSAY_DEADLINE_BLOB] = agents_blob_ms,
    };

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves nobody */
    /* The test runner's handlers would outlive a fork. */
    for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
        signal(deadly[i], SIG_DFL);
    dup2(out, 1);
    _exit(assay_agent_main(&options));
}

/* The child's first line into line. */
static void start(struct agents *a, const char *listen, const char *board_id,
                  uint64_t memory, char *line, size_t cap)
{
    ssize_t n;
    int fds[2];

    if (pipe(fds) < 0)
        die("agents_start");
    fflush(NULL);
    a->pid = fork();
    if (a->pid < 0)
        die("fork");
    if (a->pid == 0) {
        close(fds[0]);
        child(listen, board_id, memory, fds[1]);
    }
    close(fds[1]);
    n = read(fds[0], line, cap - 1);
    close(fds[0]);
    line[n > 0 ? n : 0] = '\0';
    if (strncmp(line, "assayd listening on ", 20) != 0)
        die("the agent's first line");
    line[strcspn(line, "\n")] = '\0';
}

void agents_start(struct agents *a, const char *board_id, uint64_t memory)
{
    char line[256];

    snprintf(a->folder, sizeof(a->folder), "%s/assay-test-XXXXXX", P_tmpdir);
    if (mkdtemp(a->folder) == NULL)
        die("agents_start");
    snprintf(a->target, sizeof(a->target), "unix:%s/s", a->folder);
    start(a, a->target, board_id, memory, line, sizeof(line));
}

void agents_start_tcp(struct agents *a, const char *board_id, uint64_t memory)
{
    char line[256];

    a->folder[0] = '\0';
    start(a, "127.0.0.1:0", board_id, memory, line, sizeof(line));
    snprintf(a->target, sizeof(a->target), "%.90s", line + 20);
}

int agents_stop(struct agents *a)
{
    int status = 0;

    kill(a->pid, SIGCONT);
    kill(a->pid, SIGTERM);
    if (waitpid(a->pid, &status, 0) != a->pid)
        die("waitpid");
    if (a->folder[0] != '\0') {
        unlink(a->target + 5);
        rmdir(a->folder);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

pid_t agents_worker(const struct agents *a)
{
    struct timespec pause = {.tv_nsec = 10000000};

    for (int i = 0; i < 500; i++) {
        pid_t pid = proc_first_child(a->pid);

        if (pid > 0)
            return pid;
        nanosleep(&pause, NULL);
    }
    return 0;
}

uint64_t agents_resident(pid_t pid)
{
    unsigned long size, resident = 0;
    char path[64];
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    f = fopen(path, "r");
    if (f == NULL || fscanf(f, "%lu %lu", &size, &resident) != 2)
        die(path);
    fclose(f);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}
