/* SPDX-License-Identifier: Apache-2.0 */
/* dense<"0x...">: elements as MLIR keeps them in memory. */
#include <string.h>

#include "host-tools/model/mlir_parse.h"

static int nibble(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool assay_mlir_hex(struct assay_mlir_parser *p, const char *s, size_t chars,
                    uint8_t *out)
{
    for (size_t i = 0; i + 1 < chars; i += 2) {
        int a = nibble(s[i]), b = nibble(s[i + 1]);

        if (a < 0 || b < 0)
            return false;
        *out++ = (uint8_t)(a << 4 | b);
        if (!(i & ((1 << 20) - 2)))
            assay_mlir_told(p, s + i);
    }
    return chars % 2 == 0;
}

/* One bit an element in n bytes, to a byte each; from the end, since both
 * share their memory. */
static void unpack_bits(uint8_t *v, uint64_t count)
{
    for (uint64_t i = count; i-- > 0;)
        v[i] = v[i / 8] >> (i % 8) & 1;
}

/* What a string of hex bytes may be, as MLIR tells one value for all from a
 * value each. */
static bool hex_size(const struct assay_mlir_elements *e, size_t bytes,
                     uint8_t first, bool *splat)
{
    size_t one = e->size * (e->pair ? 2 : 1), all;

    *splat = e->count == 1;
    if (e->i1) {
        if (bytes == 1 && (first == 0 || first == 255))
            *splat = true;
        return *splat ? bytes == 1 : bytes == e->count / 8 + !!(e->count % 8);
    }
    if (bytes == one)
        *splat = true;
    return bytes == one ||
           (assay_mul_size((size_t)e->count, one, &all) && bytes == all);
}

bool assay_mlir_hex_string(struct assay_mlir_parser *p,
                           struct assay_mlir_elements *e,
                           struct assay_mlir_attr *a, const char *s)
{
    struct assay_mlir_token at = {.s = s,
                                  .line = p->at.line,
                                  .column =
                                      (uint32_t)(s - p->at.line_start) + 1};
    const char *end = s + 1;
    size_t chars, room;
    uint8_t *out, first;

    while (end < p->end && *end != '"') {
        const char *next = p->end - end > 1 << 20 ? end + (1 << 20) : p->end;
        const char *hit = memchr(end, '"', (size_t)(next - end));

        end = hit ? hit : next;
        assay_mlir_told(p, end);
    }
    if (end - s < 3 || s[1] != '0' || s[2] != 'x')
        return assay_mlir_fail(p, &at,
                               "expected hex digits that begin with "
                               "0x in a string of elements");
    s += 3;
    chars = (size_t)(end - s);
    if (chars >= 2 && nibble(s[0]) == nibble(s[1]))
        first = nibble(s[0]) == 15 ? 255 : nibble(s[0]) ? 1 : 0;
    else
        first = 1; /* all that is asked is whether it is 0 or 255 */
    if (!hex_size(e, chars / 2, first, &a->splat))
        return assay_mlir_fail(p, &at, "%zu bytes do not fit '%.100s'",
                               chars / 2, e->type->text);
    room = e->i1 && !a->splat ? (size_t)e->count : chars / 2;
    out = assay_arena_alloc(p->arena, room);
    if (!out)
        return assay_mlir_no_memory(p);
    if (!assay_mlir_hex(p, s, chars, out))
        return assay_mlir_fail(p, &at,
                               "expected pairs of hex digits in a "
                               "string of elements");
    if (e->i1 && a->splat)
        out[0] &= 1;
    else if (e->i1)
        unpack_bits(out, e->count);
    a->data = out;
    a->data_size = room;
    assay_mlir_reset(p, end + 1);
    return !p->rc;
}
