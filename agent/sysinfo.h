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
    char runtime[512];  /* "libdnn.so.1.24.5 libhbrt_bayes_aarch64.so" */
    uint32_t cores;
};

void assay_sysinfo_read(struct assay_sysinfo *out);
/* File names of the vendor's runtime in folders that are divided by ':', by
 * name, each once; "" there are none. No file is opened. */
void assay_sysinfo_runtime(const char *folders, char *out, uint32_t cap);
/* Names of the hwcap words' bits, pure. */
void assay_sysinfo_features(uint64_t hwcap, uint64_t hwcap2, char *out,
                            uint32_t cap);

/* What heats and slows a board; 0 and "" where it offers nothing. */
struct assay_sensors {
    int32_t temperature_mc; /* of the hottest zone, thousandths of a degree */
    char zone[32];          /* its type */
    uint64_t khz, max_khz;  /* of the core that is fastest now */
};
/* sysfs: "/sys", or a folder like it. */
void assay_sysinfo_sensors(const char *sysfs, struct assay_sensors *out);
const char *assay_sysinfo_sysfs(void); /* ASSAYD_SYSFS, else "/sys" */
uint64_t assay_sysinfo_resident(void); /* bytes of this process; 0 unknown */

#endif
