/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Abstract Unix sockets: names without files, which vanish with their owner.
 * All functions return a descriptor (non-blocking, close-on-exec) or -errno.
 */
#ifndef ASSAY_NET_ABSTRACT_H
#define ASSAY_NET_ABSTRACT_H

#include <stdbool.h>

int assay_abstract_listen(const char *name);
int assay_abstract_connect(const char *name);
/* The peer is this user or root: anybody may bind or reach such a name. */
bool assay_abstract_trusted(int fd);

#endif
