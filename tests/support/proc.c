/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/proc.h"

#include <stdio.h>

pid_t proc_first_child(pid_t pid)
{
    char path[64];
    long child = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid,
             (int)pid);
    f = fopen(path, "r");
    if (f == NULL || fscanf(f, "%ld", &child) != 1)
        child = 0;
    if (f != NULL)
        fclose(f);
    return (pid_t)child;
}
