/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sysinfo.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Linux aarch64 hwcap bits that decide which kernels could ever run. */
static const struct {
    uint8_t word, bit;
    const char *name;
} bits[] = {
    {0, 0, "fp"},       {0, 1, "asimd"},     {0, 9, "fphp"},
    {0, 10, "asimdhp"}, {0, 12, "asimdrdm"}, {0, 20, "asimddp"},
    {0, 22, "sve"},     {0, 23, "asimdfhm"}, {1, 1, "sve2"},
    {1, 13, "i8mm"},    {1, 14, "bf16"},
};

void assay_sysinfo_features(uint64_t hwcap, uint64_t hwcap2, char *out,
                            uint32_t cap)
{
    size_t len = 0;

    out[0] = '\0';
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        uint64_t word = bits[i].word != 0 ? hwcap2 : hwcap;

        if ((word >> bits[i].bit & 1) == 0)
            continue;
        if (len + strlen(bits[i].name) + 2 > cap)
            return;
        len += (size_t)sprintf(out + len, "%s%s", len > 0 ? " " : "",
                               bits[i].name);
    }
}

/* First line (or string) of a small file. */
static void read_line(const char *path, char *out, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    out[0] = '\0';
    if (fd < 0)
        return;
    n = read(fd, out, cap - 1);
    close(fd);
    out[n > 0 ? n : 0] = '\0';
    for (char *p = out; *p != '\0'; p++) {
        if (*p == '\n')
            *p-- = '\0';
        else if (!isprint((unsigned char)*p))
            *p = '?';
    }
}

void assay_sysinfo_read(struct assay_sysinfo *out)
{
    struct utsname u;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    memset(out, 0, sizeof(*out));
    if (uname(&u) == 0) {
        snprintf(out->host, sizeof(out->host), "%.64s", u.nodename);
        snprintf(out->machine, sizeof(out->machine), "%.64s", u.machine);
        snprintf(out->firmware, sizeof(out->firmware), "%.63s %.64s", u.sysname,
                 u.release);
    }
    for (char *p = out->host; *p != '\0'; p++) {
        if (!isalnum((unsigned char)*p) && strchr("._-", *p) == NULL)
            *p = '-';
    }
    if (out->host[0] == '\0')
        snprintf(out->host, sizeof(out->host), "board");
    read_line("/proc/device-tree/model", out->soc, sizeof(out->soc));
#ifdef __aarch64__
    assay_sysinfo_features(getauxval(AT_HWCAP), getauxval(AT_HWCAP2),
                           out->features, sizeof(out->features));
#else
    snprintf(out->features, sizeof(out->features), "%s", out->machine);
#endif
    out->cores = cores > 0 ? (uint32_t)cores : 1;
}
