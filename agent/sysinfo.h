/* SPDX-License-Identifier: Apache-2.0 */
/* What the board says of itself. Read once at start; files are only read. */
#ifndef ASSAY_AGENT_SYSINFO_H
#define ASSAY_AGENT_SYSINFO_H

#include <stdint.h>

struct assay_sysinfo {
    char host[65];      /* fit for a board id */
    char soc[128];      /* "" unknown */
    char firmware[130]; /* kernel release */
    char machine[65];
    char features[256]; /* "asimd asimddp" */
    uint32_t cores;
};

void assay_sysinfo_read(struct assay_sysinfo *out);
/* Names of the hwcap words' bits, pure. */
void assay_sysinfo_features(uint64_t hwcap, uint64_t hwcap2, char *out,
                            uint32_t cap);

#endif
