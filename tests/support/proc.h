/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc says of a process. */
#ifndef ASSAY_TESTS_SUPPORT_PROC_H
#define ASSAY_TESTS_SUPPORT_PROC_H

#include <sys/types.h>

/* Its first child, now; 0: it has none, or is gone. */
pid_t proc_first_child(pid_t pid);

#endif
