/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kernels/kcheck.h"

#include <stdlib.h>

bool kc_next_shape(FILE *f, struct kc_shape *s)
{
    char line[256];

    while (fgets(line, sizeof(line), f)) {
        int n;

        if (line[0] == '#' || line[0] == '\n')
            continue;
        n = sscanf(line, "%47s %d %d %d %d %d %d %d %d %d %d %d %d %d", s->name,
                   &s->h, &s->w, &s->c, &s->oc, &s->kh, &s->kw, &s->stride_h,
                   &s->stride_w, &s->pad_top, &s->pad_left, &s->oh, &s->ow,
                   &s->groups);
        if (n == 14 && s->h > 0 && s->w > 0 && s->c > 0 && s->oc > 0 &&
            s->groups > 0 && s->c % s->groups == 0 && s->oc % s->groups == 0)
            return true;
        fprintf(stderr, "kcheck: bad line in shapes: %s", line);
        exit(2);
    }
    return false;
}
