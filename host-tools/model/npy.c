/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/npy.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Text of the header dictionary, read from left to right. */
struct cursor {
    const char *at, *end;
    const char *what;
    struct assay_err *err;
};

struct header {
    char descr[48];
    bool structured; /* descr is a list: not numbers */
    bool fortran;
    uint32_t rank;
    int64_t dims[ASSAY_MAX_RANK];
    bool have_descr, have_order, have_shape;
};

static void skip_space(struct cursor *c)
{
    while (c->at < c->end && isspace((unsigned char)*c->at))
        c->at++;
}

static bool take(struct cursor *c, char ch)
{
    skip_space(c);
    if (c->at >= c->end || *c->at != ch)
        return false;
    c->at++;
    return true;
}

static int bad(struct cursor *c, const char *expected)
{
    char found[24];
    size_t n = 0;

    for (const char *p = c->at; p < c->end && n < sizeof(found) - 1; p++)
        found[n++] = isprint((unsigned char)*p) ? *p : '.';
    found[n] = '\0';
    return assay_fail(c->err, ASSAY_EFORMAT,
                      "%s: npy header: expected %s, found '%s'", c->what,
                      expected, found);
}

static int quoted(struct cursor *c, char *out, size_t cap)
{
    size_t n = 0;
    char q;

    skip_space(c);
    if (c->at >= c->end || (*c->at != '\'' && *c->at != '"'))
        return bad(c, "a quoted word");
    q = *c->at++;
    while (c->at < c->end && *c->at != q) {
        if (n + 1 >= cap)
            return bad(c, "a shorter word");
        out[n++] = *c->at++;
    }
    if (c->at >= c->end)
        return bad(c, "a closing quote");
    c->at++;
    out[n] = '\0';
    return 0;
}

/* Passes over a bracketed list (structured descr). */
static int skip_list(struct cursor *c)
{
    unsigned depth = 0;

    do {
        if (c->at >= c->end)
            return bad(c, "a closing bracket");
        if (*c->at == '[' || *c->at == '(')
            depth++;
        else if (*c->at == ']' || *c->at == ')')
            depth--;
        c->at++;
    } while (depth);
    return 0;
}

static int read_shape(struct cursor *c, struct header *h)
{
    if (!take(c, '('))
        return bad(c, "'(' of the shape");
    while (!take(c, ')')) {
        int64_t v = 0;
        int digits = 0;

        skip_space(c);
        while (c->at < c->end && isdigit((unsigned char)*c->at)) {
            if (v > (INT64_MAX - 9) / 10)
                return bad(c, "a dimension below 2^63");
            v = v * 10 + (*c->at++ - '0');
            digits++;
        }
        if (!digits)
            return bad(c, "a dimension");
        if (h->rank == ASSAY_MAX_RANK)
            return assay_fail(c->err, ASSAY_ERANGE,
                              "%s: more than %d dimensions", c->what,
                              ASSAY_MAX_RANK);
        h->dims[h->rank++] = v;
        if (!take(c, ',')) {
            if (!take(c, ')'))
                return bad(c, "',' or ')' in the shape");
            break;
        }
    }
    return 0;
}

static int read_entry(struct cursor *c, struct header *h)
{
    char key[32];
    int rc = quoted(c, key, sizeof(key));

    if (rc)
        return rc;
    if (!take(c, ':'))
        return bad(c, "':'");
    skip_space(c);
    if (!strcmp(key, "descr")) {
        h->have_descr = true;
        if (c->at < c->end && *c->at == '[') {
            h->structured = true;
            snprintf(h->descr, sizeof(h->descr), "[...]");
            return skip_list(c);
        }
        return quoted(c, h->descr, sizeof(h->descr));
    }
    if (!strcmp(key, "fortran_order")) {
        size_t left = (size_t)(c->end - c->at);

        h->have_order = true;
        if (left >= 4 && !memcmp(c->at, "True", 4)) {
            h->fortran = true;
            c->at += 4;
            return 0;
        }
        if (left >= 5 && !memcmp(c->at, "False", 5)) {
            c->at += 5;
            return 0;
        }
        return bad(c, "True or False");
    }
    if (!strcmp(key, "shape")) {
        h->have_shape = true;
        h->rank = 0;
        return read_shape(c, h);
    }
    return assay_fail(c->err, ASSAY_EFORMAT, "%s: npy header: unknown key '%s'",
                      c->what, key);
}

static int read_header(struct cursor *c, struct header *h)
{
    if (!take(c, '{'))
        return bad(c, "'{'");
    while (!take(c, '}')) {
        int rc = read_entry(c, h);

        if (rc)
            return rc;
        if (!take(c, ',')) {
            if (!take(c, '}'))
                return bad(c, "',' or '}'");
            break;
        }
    }
    if (!h->have_descr || !h->have_order || !h->have_shape)
        return assay_fail(c->err, ASSAY_EFORMAT, "%s: npy header lacks '%s'",
                          c->what,
                          !h->have_descr   ? "descr"
                          : !h->have_order ? "fortran_order"
                                           : "shape");
    return 0;
}

/* How the elements of a file become elements of the array. */
enum convert { AS_IS, F64_TO_F32, F16_TO_F32, U32_TO_S64, BOOL_TO_U8 };

struct kind {
    const char *descr;
    uint8_t bytes;
    enum assay_dtype dtype;
    enum convert convert;
};

static const struct kind kinds[] = {
    {"i1", 1, ASSAY_S8, AS_IS},       {"u1", 1, ASSAY_U8, AS_IS},
    {"b1", 1, ASSAY_U8, BOOL_TO_U8},  {"i2", 2, ASSAY_S16, AS_IS},
    {"u2", 2, ASSAY_U16, AS_IS},      {"i4", 4, ASSAY_S32, AS_IS},
    {"u4", 4, ASSAY_S64, U32_TO_S64}, {"i8", 8, ASSAY_S64, AS_IS},
    {"f4", 4, ASSAY_F32, AS_IS},      {"f8", 8, ASSAY_F32, F64_TO_F32},
    {"f2", 2, ASSAY_F32, F16_TO_F32},
};

static float half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exp = (h >> 10) & 31;
    uint32_t man = h & 0x3ff, bits;
    float f;

    if (exp == 0) { /* zero and subnormals: exact in binary32 */
        f = (float)man * 0x1p-24f;
        memcpy(&bits, &f, 4);
        bits |= sign;
    } else if (exp == 31) {
        bits = sign | 0x7f800000u | man << 13;
    } else {
        bits = sign | (exp + 112) << 23 | man << 13;
    }
    memcpy(&f, &bits, 4);
    return f;
}

static void convert_one(const struct kind *k, const uint8_t *src, uint8_t *dst)
{
    uint16_t h;
    uint32_t u;
    int64_t s;
    double d;
    float f;

    switch (k->convert) {
    case F64_TO_F32:
        memcpy(&d, src, 8);
        f = (float)d;
        memcpy(dst, &f, 4);
        break;
    case F16_TO_F32:
        memcpy(&h, src, 2);
        f = half_to_float(h);
        memcpy(dst, &f, 4);
        break;
    case U32_TO_S64:
        memcpy(&u, src, 4);
        s = u;
        memcpy(dst, &s, 8);
        break;
    case BOOL_TO_U8: *dst = *src != 0; break;
    case AS_IS: memcpy(dst, src, k->bytes); break;
    }
}

static const struct kind *find_kind(const char *descr)
{
    if (descr[0] != '<' && descr[0] != '|' && descr[0] != '=')
        return NULL;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (!strcmp(kinds[i].descr, descr + 1))
            return &kinds[i];
    return NULL;
}

/* Fortran order: the first index runs fastest in the file. */
static void fill(const struct header *h, const struct kind *k,
                 const uint8_t *src, uint8_t *dst, size_t count, size_t out)
{
    int64_t at[ASSAY_MAX_RANK] = {0};

    if (!h->fortran || h->rank < 2) {
        if (k->convert == AS_IS) {
            memcpy(dst, src, count * k->bytes);
            return;
        }
        for (size_t i = 0; i < count; i++)
            convert_one(k, src + i * k->bytes, dst + i * out);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        size_t from = 0;

        for (uint32_t d = h->rank; d-- > 0;)
            from = from * (size_t)h->dims[d] + (size_t)at[d];
        convert_one(k, src + from * k->bytes, dst + i * out);
        for (uint32_t d = h->rank; d-- > 0;) {
            if (++at[d] < h->dims[d])
                break;
            at[d] = 0;
        }
    }
}

static int count_elements(const struct header *h, const char *what,
                          size_t *count, struct assay_err *err)
{
    size_t n = 1;

    for (uint32_t d = 0; d < h->rank; d++)
        if (!assay_mul_size(n, (size_t)h->dims[d], &n))
            return assay_fail(err, ASSAY_ERANGE,
                              "%s: the shape has more elements than memory "
                              "can hold",
                              what);
    *count = n;
    return 0;
}

/* UCS-4 of numpy's '<U' to UTF-8; trailing NULs are padding. */
static char *utf8(const uint8_t *p, size_t chars)
{
    char *out, *o;
    size_t cap;

    if (!assay_mul_size(chars, 4, &cap) || cap == SIZE_MAX)
        return NULL;
    out = o = assay_alloc(cap + 1);
    if (!out)
        return NULL;
    for (size_t i = 0; i < chars; i++) {
        uint32_t c;

        memcpy(&c, p + 4 * i, 4);
        if (c < 0x80) {
            if (c)
                *o++ = (char)c;
        } else if (c < 0x800) {
            *o++ = (char)(0xc0 | c >> 6);
            *o++ = (char)(0x80 | (c & 63));
        } else if (c < 0x10000) {
            *o++ = (char)(0xe0 | c >> 12);
            *o++ = (char)(0x80 | (c >> 6 & 63));
            *o++ = (char)(0x80 | (c & 63));
        } else {
            *o++ = (char)(0xf0 | (c >> 18 & 7));
            *o++ = (char)(0x80 | (c >> 12 & 63));
            *o++ = (char)(0x80 | (c >> 6 & 63));
            *o++ = (char)(0x80 | (c & 63));
        }
    }
    *o = '\0';
    return out;
}

/* A string of rank 0: remarks such as __meta__. */
static int read_text(struct assay_npy *out, const struct header *h,
                     const uint8_t *body, size_t n, const char *what,
                     struct assay_err *err)
{
    bool wide = h->descr[0] == '<' && h->descr[1] == 'U';
    bool narrow = h->descr[0] == '|' && h->descr[1] == 'S';
    size_t chars = 0, bytes;

    if ((!wide && !narrow) || h->rank != 0)
        return 0;
    for (const char *p = h->descr + 2; *p; p++) {
        if (!isdigit((unsigned char)*p) || chars > ASSAY_NPY_MAX_BYTES)
            return assay_fail(err, ASSAY_EFORMAT, "%s: bad string type '%s'",
                              what, h->descr);
        chars = chars * 10 + (size_t)(*p - '0');
    }
    bytes = wide ? chars * 4 : chars;
    if (bytes != n)
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: '%s' needs %zu bytes of data, found %zu", what,
                          h->descr, bytes, n);
    if (wide) {
        out->text = utf8(body, chars);
    } else {
        out->text = assay_calloc(1, chars + 1);
        if (out->text)
            memcpy(out->text, body, chars);
    }
    if (!out->text)
        return assay_fail(err, ASSAY_EMEMORY, "%s: no memory for %zu bytes",
                          what, bytes);
    return 0;
}

/* Finds the header text; on success *body is where the data begins. */
static int find_header(const uint8_t *data, size_t n, struct cursor *c,
                       size_t *body)
{
    size_t len, at;

    if (n < 10 || memcmp(data, "\x93NUMPY", 6))
        return assay_fail(c->err, ASSAY_EFORMAT,
                          "%s: not an npy document: no magic bytes at offset "
                          "0",
                          c->what);
    if (data[6] < 1 || data[6] > 3)
        return assay_fail(c->err, ASSAY_EVERSION,
                          "%s: npy version %u.%u, expected 1.0 to 3.0", c->what,
                          data[6], data[7]);
    at = data[6] == 1 ? 10 : 12;
    if (n < at)
        return assay_fail(c->err, ASSAY_EFORMAT,
                          "%s: npy header cut off at byte %zu", c->what, n);
    len = data[8] | (size_t)data[9] << 8;
    if (data[6] > 1)
        len |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
    if (len > n - at)
        return assay_fail(c->err, ASSAY_EFORMAT,
                          "%s: npy header of %zu bytes, but only %zu are left",
                          c->what, len, n - at);
    c->at = (const char *)data + at;
    c->end = c->at + len;
    *body = at + len;
    return 0;
}

int assay_npy_parse(struct assay_npy *out, const uint8_t *data, size_t n,
                    const char *what, struct assay_err *err)
{
    struct cursor c = {.what = what, .err = err};
    struct assay_npy r = {0};
    struct header h = {0};
    const struct kind *k;
    size_t body = 0, count = 0, need, bytes;
    int rc = find_header(data, n, &c, &body);

    if (!rc)
        rc = read_header(&c, &h);
    if (rc)
        return rc;
    memcpy(r.descr, h.descr, sizeof(r.descr));
    k = h.structured ? NULL : find_kind(h.descr);
    if (!k) {
        if (!h.structured && h.descr[0] == '>')
            return assay_fail(err, ASSAY_EUNSUPPORTED,
                              "%s: big-endian type '%s', expected "
                              "little-endian",
                              what, h.descr);
        rc = h.structured ? 0
                          : read_text(&r, &h, data + body, n - body, what, err);
        if (!rc)
            *out = r;
        return rc;
    }
    rc = count_elements(&h, what, &count, err);
    if (rc)
        return rc;
    if (!assay_mul_size(count, k->bytes, &need) || need != n - body)
        return assay_fail(
            err, ASSAY_EFORMAT,
            "%s: %zu elements of '%s' need %zu bytes, found %zu", what, count,
            h.descr, count > SIZE_MAX / k->bytes ? SIZE_MAX : count * k->bytes,
            n - body);
    if (!assay_mul_size(count, assay_dtype_bytes(k->dtype), &bytes) ||
        bytes > ASSAY_NPY_MAX_BYTES)
        return assay_fail(err, ASSAY_ERANGE, "%s: array of more than %zu bytes",
                          what, ASSAY_NPY_MAX_BYTES);
    r.array.data = assay_alloc(bytes ? bytes : 1);
    if (!r.array.data)
        return assay_fail(err, ASSAY_EMEMORY, "%s: no memory for %zu bytes",
                          what, bytes);
    fill(&h, k, data + body, r.array.data, count, assay_dtype_bytes(k->dtype));
    r.is_number = true;
    r.array.dtype = k->dtype;
    r.array.rank = h.rank;
    memcpy(r.array.dims, h.dims, sizeof(h.dims));
    r.array.bytes = bytes;
    *out = r;
    return 0;
}

static const char *descr_of(enum assay_dtype dtype)
{
    switch (dtype) {
    case ASSAY_S8: return "|i1";
    case ASSAY_U8: return "|u1";
    case ASSAY_S16: return "<i2";
    case ASSAY_U16: return "<u2";
    case ASSAY_S32: return "<i4";
    case ASSAY_F32: return "<f4";
    case ASSAY_S64: return "<i8";
    }
    return NULL;
}

size_t assay_npy_header(uint8_t *out, size_t cap, enum assay_dtype dtype,
                        uint32_t rank, const int64_t *dims)
{
    const char *descr = descr_of(dtype);
    char shape[ASSAY_MAX_RANK * 24 + 8], text[512];
    size_t at = 0, len;
    int n;

    if (!descr || rank > ASSAY_MAX_RANK)
        return 0;
    shape[0] = '\0';
    for (uint32_t d = 0; d < rank; d++)
        at += (size_t)snprintf(shape + at, sizeof(shape) - at,
                               "%s%" PRId64 "%s", d ? " " : "", dims[d],
                               d + 1 < rank || rank == 1 ? "," : "");
    n = snprintf(text, sizeof(text),
                 "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                 descr, shape);
    len = (10 + (size_t)n + 1 + 63) / 64 * 64;
    if (n < 0 || (size_t)n >= sizeof(text) || len > cap)
        return 0;
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (uint8_t)((len - 10) & 255);
    out[9] = (uint8_t)((len - 10) >> 8);
    memset(out + 10, ' ', len - 10);
    memcpy(out + 10, text, (size_t)n);
    out[len - 1] = '\n';
    return len;
}
