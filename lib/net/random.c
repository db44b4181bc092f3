/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/random.h"

#include <errno.h>
#include <time.h>

#include <sys/random.h>

#include <mbedtls/entropy.h>

#define TRIES 100
#define PAUSE_NS 50000000L

int assay_random(void *unused, unsigned char *out, size_t n)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int tries = 0;

    (void)unused;
    while (n > 0) {
        ssize_t got = getrandom(out, n, GRND_NONBLOCK);

        if (got > 0) {
            out += got;
            n -= (size_t)got;
        } else if (errno == EAGAIN && tries++ < TRIES) {
            nanosleep(&pause, NULL);
        } else if (errno != EINTR) {
            return MBEDTLS_ERR_ENTROPY_SOURCE_FAILED;
        }
    }
    return 0;
}
