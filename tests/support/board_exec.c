/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a shell of this machine start aarch64 programs, as a board's would:
 * preloaded into it (LD_PRELOAD), an execve() of one goes to the emulator that
 * BOARD_QEMU names. Nothing of the machine is changed for that.
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_foreign(const char *path)
{
    Elf64_Ehdr h;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, &h, sizeof(h)) : -1;

    if (fd >= 0)
        close(fd);
    return n == (ssize_t)sizeof(h) && memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 &&
           h.e_machine == EM_AARCH64;
}

__attribute__((visibility("default"))) int execve(const char *path,
                                                  char *const argv[],
                                                  char *const envp[]);

int execve(const char *path, char *const argv[], char *const envp[])
{
    int (*real)(const char *, char *const[], char *const[]);
    const char *qemu = getenv("BOARD_QEMU");
    const char *words[66];
    size_t n = 2;

    *(void **)&real = dlsym(RTLD_NEXT, "execve");
    /* What may not be executed is refused as ever. */
    if (qemu == NULL || access(path, X_OK) != 0 || !is_foreign(path))
        return real(path, argv, envp);
    words[0] = qemu;
    words[1] = path;
    for (size_t i = 1; argv[0] != NULL && argv[i] != NULL && n < 65; i++)
        words[n++] = argv[i];
    words[n] = NULL;
    return real(qemu, (char *const *)words, envp);
}
