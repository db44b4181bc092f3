/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sysinfo.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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

#define RUNTIME_NAME 64u
#define RUNTIME_FILES 24u
#define RUNTIME_ENTRIES 20000u /* of one folder, that are looked at */

static bool is_runtime(const char *name)
{
    static const char *const begins[] = {"libhbrt", "libhbucp", "libdnn.",
                                         "libdnn_"};
    size_t n = strlen(name);

    if (n >= RUNTIME_NAME || strstr(name, ".so") == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)name[i]) && strchr("._+-", name[i]) == NULL)
            return false;
    }
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    }
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static size_t list_runtime(const char *folder,
                           char names[RUNTIME_FILES][RUNTIME_NAME], size_t n)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    unsigned entries = 0;

    while (d != NULL && (e = readdir(d)) != NULL && n < RUNTIME_FILES &&
           entries++ < RUNTIME_ENTRIES) {
        if (is_runtime(e->d_name))
            memcpy(names[n++], e->d_name, strlen(e->d_name) + 1);
    }
    if (d != NULL)
        closedir(d);
    return n;
}

void assay_sysinfo_runtime(const char *folders, char *out, uint32_t cap)
{
    char names[RUNTIME_FILES][RUNTIME_NAME], folder[1024];
    size_t n = 0, len = 0;

    while (*folders != '\0') {
        size_t k = strcspn(folders, ":");

        if (k > 0 && k < sizeof(folder)) {
            memcpy(folder, folders, k);
            folder[k] = '\0';
            n = list_runtime(folder, names, n);
        }
        folders += k + (folders[k] == ':');
    }
    qsort(names, n, sizeof(names[0]), by_name);
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        if ((i > 0 && strcmp(names[i], names[i - 1]) == 0) ||
            len + strlen(names[i]) + 2 > cap)
            continue;
        len += (size_t)sprintf(out + len, "%s%s", len > 0 ? " " : "", names[i]);
    }
}

/* Where the vendor installs it, and where the environment says. */
static void read_runtime(char *out, uint32_t cap)
{
    const char *path = getenv("LD_LIBRARY_PATH");
    char folders[4096];

    snprintf(folders, sizeof(folders), "/usr/hobot/lib:%.4000s",
             path != NULL ? path : "");
    assay_sysinfo_runtime(folders, out, cap);
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
    if (out->soc[0] == '\0')
        read_line("/sys/class/socinfo/soc_name", out->soc, sizeof(out->soc));
    read_runtime(out->runtime, sizeof(out->runtime));
#ifdef __aarch64__
    assay_sysinfo_features(getauxval(AT_HWCAP), getauxval(AT_HWCAP2),
                           out->features, sizeof(out->features));
#else
    snprintf(out->features, sizeof(out->features), "%s", out->machine);
#endif
    out->cores = cores > 0 ? (uint32_t)cores : 1;
}

/* ---- sensors ----------------------------------------------------------------- */

#define SENSORS_MAX 256 /* zones, cores */

const char *assay_sysinfo_sysfs(void)
{
    const char *folder = getenv("ASSAYD_SYSFS");

    return folder != NULL && *folder != '\0' ? folder : "/sys";
}

/* false: no number there. */
static bool read_number(const char *path, int64_t lo, int64_t hi, int64_t *out)
{
    char text[32], *end;
    long long v;

    read_line(path, text, sizeof(text));
    v = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || v < lo || v > hi)
        return false;
    *out = v;
    return true;
}

static void read_zones(const char *sysfs, struct assay_sensors *out)
{
    char path[512];
    int64_t mc;

    for (int i = 0; i < SENSORS_MAX; i++) {
        snprintf(path, sizeof(path), "%.400s/class/thermal/thermal_zone%d/type",
                 sysfs, i);
        if (access(path, R_OK) < 0)
            return;
        snprintf(path, sizeof(path), "%.400s/class/thermal/thermal_zone%d/temp",
                 sysfs, i);
        if (!read_number(path, -100000, 300000, &mc) || mc == 0 ||
            (out->temperature_mc != 0 && mc <= out->temperature_mc))
            continue;
        out->temperature_mc = (int32_t)mc;
        snprintf(path, sizeof(path), "%.400s/class/thermal/thermal_zone%d/type",
                 sysfs, i);
        read_line(path, out->zone, sizeof(out->zone));
    }
}

void assay_sysinfo_sensors(const char *sysfs, struct assay_sensors *out)
{
    char path[512];
    int64_t khz, max;

    memset(out, 0, sizeof(*out));
    read_zones(sysfs, out);
    for (int i = 0; i < SENSORS_MAX; i++) {
        snprintf(path, sizeof(path),
                 "%.400s/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq",
                 sysfs, i);
        if (!read_number(path, 1, 100000000, &khz))
            return;
        snprintf(path, sizeof(path),
                 "%.400s/devices/system/cpu/cpu%d/cpufreq/cpuinfo_max_freq",
                 sysfs, i);
        if (!read_number(path, 1, 100000000, &max))
            max = khz;
        if ((uint64_t)khz > out->khz) {
            out->khz = (uint64_t)khz;
            out->max_khz = (uint64_t)max;
        }
    }
}

uint64_t assay_sysinfo_resident(void)
{
    char text[128];
    unsigned long long total, resident;

    read_line("/proc/self/statm", text, sizeof(text));
    if (sscanf(text, "%llu %llu", &total, &resident) != 2)
        return 0;
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}
