/* SPDX-License-Identifier: Apache-2.0 */
/* See received_sized.h. */
#include "host-tools/image/received_sized.h"

#include <stdlib.h>
#include <string.h>

#include "lib/core/buf.h"

#define KEPT ((size_t)192 << 20) /* bytes of whole pictures */
#define MOST 4096                /* windows of so many */

static bool fits(const struct assay_judge_sized *z,
                 const struct assay_reading *r)
{
    const struct assay_image_spec *k = &z->spec, *s = &r->spec;

    return k->width == s->width && k->height == s->height &&
           k->orientation == s->orientation && k->fit == s->fit &&
           k->filter == s->filter && z->turned_last == r->turned_last &&
           z->from_bgr == r->from_bgr && memcmp(k->pad, s->pad, 3) == 0;
}

/* How much a block tells: steps between neighbours, and colour. */
static void weigh(const struct assay_picture *p, uint32_t x0, uint32_t y0,
                  uint64_t *texture, uint64_t *colour)
{
    *texture = *colour = 0;
    for (uint32_t y = y0 + 2; y + 2 < y0 + ASSAY_JUDGE_WINDOW; y += 2)
        for (uint32_t x = x0 + 2; x + 2 < x0 + ASSAY_JUDGE_WINDOW; x += 2) {
            const uint8_t *e = p->data + 3 * ((size_t)y * p->width + x);

            *texture += (uint64_t)abs(e[1] - e[4]);
            *texture += (uint64_t)abs(e[1] - e[3 * (size_t)p->width + 1]);
            *colour += (uint64_t)abs(e[0] - e[2]) + (uint64_t)abs(e[0] - e[1]);
        }
}

static void add_window(struct assay_judge_sized *z, uint32_t x, uint32_t y)
{
    struct assay_judge_window *w = &z->windows[z->n_windows++];

    w->x = x;
    w->y = y;
    w->width = w->height = ASSAY_JUDGE_WINDOW;
    for (uint32_t i = 0; i < ASSAY_JUDGE_WINDOW; i++)
        memcpy(w->rgb + 3 * (size_t)i * ASSAY_JUDGE_WINDOW,
               z->picture.data + 3 * ((size_t)(y + i) * z->picture.width + x),
               3 * ASSAY_JUDGE_WINDOW);
}

/* The corner, which shows pads and shears, and the two blocks that tell most
 * by texture and by colour. */
static void make_windows(struct assay_judge_sized *z)
{
    const struct assay_picture *p = &z->picture;
    uint32_t best[2][2] = {{0, 0}, {0, 0}}, step_x, step_y;
    uint64_t most[2] = {0, 0}, now[2];

    z->n_windows = 0;
    if (p->width < ASSAY_JUDGE_WINDOW + 4 || p->height < ASSAY_JUDGE_WINDOW + 4)
        return;
    step_x = (p->width / 24 + 7) / 2 * 2;
    step_y = (p->height / 24 + 7) / 2 * 2;
    for (uint32_t y = 0; y + ASSAY_JUDGE_WINDOW <= p->height; y += step_y)
        for (uint32_t x = 0; x + ASSAY_JUDGE_WINDOW <= p->width; x += step_x) {
            weigh(p, x, y, &now[0], &now[1]);
            for (int i = 0; i < 2; i++) {
                if (now[i] <= most[i])
                    continue;
                most[i] = now[i];
                best[i][0] = x;
                best[i][1] = y;
            }
        }
    add_window(z, best[0][0], best[0][1]);
    add_window(z, best[1][0], best[1][1]);
    add_window(z, 0, 0);
}

static bool drop_oldest(struct assay_judge *j)
{
    struct assay_judge_sized *oldest = NULL;
    size_t bytes = 0, kept = 0;

    for (size_t i = 0; i < j->n_sized; i++) {
        struct assay_judge_sized *z = &j->sized[i];

        if (z->picture.data == NULL)
            continue;
        kept++;
        bytes += z->picture.bytes;
        if (oldest == NULL || z->used < oldest->used)
            oldest = z;
    }
    /* The newest stays, whatever its size. */
    if (kept > 1 && bytes > KEPT) {
        assay_picture_close(&oldest->picture);
        oldest->picture = (struct assay_picture){0};
        return true;
    }
    return false;
}

static int make(struct assay_judge_sized *z, struct assay_judge *j,
                struct assay_err *err)
{
    struct assay_image_spec s = z->spec;
    struct assay_picture p = {0}, turned = {0};
    int rc;

    if (z->turned_last >= 5) {
        s.width = z->spec.height;
        s.height = z->spec.width;
    }
    rc = assay_image_sized(&p, &s, j->facts.picture, err);
    if (rc == 0 && z->turned_last > 0) {
        rc = assay_picture_orient(&turned, &p, z->turned_last, err);
        assay_picture_close(&p);
        p = turned;
    }
    for (size_t i = 0; rc == 0 && z->from_bgr && i + 2 < p.bytes; i += 3) {
        uint8_t red = p.data[i];

        p.data[i] = p.data[i + 2];
        p.data[i + 2] = red;
    }
    z->picture = rc == 0 ? p : (struct assay_picture){0};
    return rc;
}

int assay_judge_sized_of(struct assay_judge_sized **out, struct assay_judge *j,
                         const struct assay_reading *r, bool whole,
                         struct assay_err *err)
{
    struct assay_judge_sized *z = NULL;
    int rc = 0;

    for (size_t i = 0; i < j->n_sized && z == NULL; i++) {
        if (fits(&j->sized[i], r))
            z = &j->sized[i];
    }
    if (z == NULL) {
        if (j->n_sized == j->cap_sized) {
            size_t cap = j->cap_sized > 0 ? 2 * j->cap_sized : 32;
            void *v =
                cap <= MOST ? assay_realloc(j->sized, cap * sizeof(*z)) : NULL;

            if (v == NULL)
                return assay_fail(err, ASSAY_EMEMORY, "out of memory");
            j->sized = v;
            j->cap_sized = cap;
        }
        z = &j->sized[j->n_sized];
        *z = (struct assay_judge_sized){.spec = r->spec,
                                        .turned_last = r->turned_last,
                                        .from_bgr = r->from_bgr};
        rc = make(z, j, err);
        if (rc < 0)
            return rc;
        make_windows(z);
        j->n_sized++;
    } else if (whole && z->picture.data == NULL)
        rc = make(z, j, err);
    if (rc < 0)
        return rc;
    z->used = ++j->turn;
    while (drop_oldest(j))
        ;
    *out = z;
    return 0;
}

void assay_judge_close(struct assay_judge *j)
{
    for (size_t i = 0; i < j->n_sized; i++)
        assay_picture_close(&j->sized[i].picture);
    assay_free(j->sized);
    j->sized = NULL;
    j->n_sized = j->cap_sized = 0;
}
