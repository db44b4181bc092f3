/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the MLIR reader (mlir.h): one parser object that the files
 * mlir_*.c pass on. Functions give NULL or false after the first error; its
 * sentence is in parser->err then, and its code in parser->rc.
 */
#ifndef ASSAY_MODEL_MLIR_PARSE_H
#define ASSAY_MODEL_MLIR_PARSE_H

#include "host-tools/model/mlir.h"

#define ASSAY_MLIR_MAX_DEPTH 256u
#define ASSAY_MLIR_MAX_RANK 64u
/* Of the text of a type, and of what a dialect's symbol says. */
#define ASSAY_MLIR_MAX_TEXT ((size_t)1 << 20)
/* Parts of an attribute or a location, aliases written out. */
#define ASSAY_MLIR_MAX_WEIGHT (UINT32_C(1) << 24)

/* Kinds of a token; a single character of punctuation stands for itself. */
enum assay_mlir_token_kind {
    ASSAY_TOK_EOF = 256,
    ASSAY_TOK_BARE,     /* words, keywords, i32 */
    ASSAY_TOK_AT,       /* @name or @"name" */
    ASSAY_TOK_INTEGER,  /* 12, 0x1F */
    ASSAY_TOK_FLOAT,    /* 1.5, 1.e+00 */
    ASSAY_TOK_STRING,   /* with its quotes */
    ASSAY_TOK_ARROW,    /* -> */
    ASSAY_TOK_ELLIPSIS, /* ... */
    ASSAY_TOK_META,     /* {-# */
    ASSAY_TOK_META_END, /* #-} */
};
/* '#' '!' '^' '%' with their names are tokens of these kinds. */

struct assay_mlir_token {
    int kind;
    const char *s;
    size_t n;
    uint32_t line, column;
};

/* A place to come back to: see dense elements. */
struct assay_mlir_place {
    const char *cur, *line_start;
    uint32_t line;
    struct assay_mlir_token tok;
};

/* Keys are interned strings with a number: equal keys are equal pointers. */
struct assay_mlir_map {
    struct assay_mlir_pair {
        const char *key;
        uint64_t number;
        void *value;
    } * pairs;
    size_t n, cap;
};

struct assay_mlir_resource {
    const void *data;
    size_t size;
    uint32_t alignment;
};

struct assay_mlir_parser {
    const struct assay_mlir_source *source;
    struct assay_arena *arena;
    struct assay_err *err;
    int rc;
    const char *end;
    const char *told; /* up to where the source knows that we passed */
    struct assay_mlir_place at;
    unsigned depth;
    unsigned in_func; /* custom func.func bodies around: `return` is known */
    /* Lists under construction, one above the other. */
    const void **stack;
    size_t n_stack, cap_stack;
    struct assay_mlir_name {
        const char *s;
        size_t n;
        uint32_t hash;
    } * names;
    size_t n_names, cap_names;
    struct assay_mlir_map types, attr_aliases, type_aliases, values, blocks,
        resources, locs;
    const struct assay_mlir_attr **small_ints; /* a cache by value, type */
    /* What has to be there at the end. */
    struct assay_mlir_pending {
        struct assay_mlir_pending *next;
        struct assay_mlir_token at;
        const char *name;
        void *what; /* value, location or resource attribute */
    } * pending_locs, *pending_values, *pending_resources;
    const char **scope; /* names that the open regions define */
    uint64_t *scope_numbers;
    size_t n_scope, cap_scope;
    uint64_t n_regions, region; /* ever opened; the innermost one */
    struct assay_buf text;      /* of the token that string() unescaped */
};

/* ---- mlir_lex.c ---------------------------------------------------------- */
void assay_mlir_next(struct assay_mlir_parser *p);
/* Reads the next token at a place inside the current one or behind it. */
void assay_mlir_reset(struct assay_mlir_parser *p, const char *cur);
/* White space and comments behind the current token; where they end. */
const char *assay_mlir_skip_space(struct assay_mlir_parser *p);
void assay_mlir_told(struct assay_mlir_parser *p, const char *cur);
bool assay_mlir_take(struct assay_mlir_parser *p, int kind);
/* takes it or fails: expected WHAT */
bool assay_mlir_need(struct assay_mlir_parser *p, int kind, const char *what);
bool assay_mlir_is(const struct assay_mlir_parser *p, const char *word);
bool assay_mlir_take_word(struct assay_mlir_parser *p, const char *word);
/* Always false. */
bool assay_mlir_expected(struct assay_mlir_parser *p, const char *what);
bool assay_mlir_fail(struct assay_mlir_parser *p,
                     const struct assay_mlir_token *at, const char *fmt, ...)
    ASSAY_PRINTF(3, 4);
bool assay_mlir_unsupported(struct assay_mlir_parser *p,
                            const struct assay_mlir_token *at, const char *fmt,
                            ...) ASSAY_PRINTF(3, 4);
bool assay_mlir_no_memory(struct assay_mlir_parser *p);
bool assay_mlir_enter(struct assay_mlir_parser *p); /* false: too deep */
void assay_mlir_leave(struct assay_mlir_parser *p);
/* The token's string without quotes and escapes; NUL behind it; valid until
 * the next call. Sets *n. */
const char *assay_mlir_unescape(struct assay_mlir_parser *p,
                                const struct assay_mlir_token *t, size_t *n);
bool assay_mlir_u64(const struct assay_mlir_token *t, uint64_t *out);

/* ---- mlir_names.c -------------------------------------------------------- */
const char *assay_mlir_intern(struct assay_mlir_parser *p, const char *s,
                              size_t n);
void *assay_mlir_map_get(const struct assay_mlir_map *m, const char *key,
                         uint64_t number);
bool assay_mlir_map_put(struct assay_mlir_parser *p, struct assay_mlir_map *m,
                        const char *key, uint64_t number, void *value);
bool assay_mlir_push(struct assay_mlir_parser *p, const void *item);
/* The items above mark as an array of the arena; the stack is cut there. */
const void **assay_mlir_pop(struct assay_mlir_parser *p, size_t mark,
                            uint32_t *n);
void assay_mlir_parser_close(struct assay_mlir_parser *p);

/* ---- mlir_type.c --------------------------------------------------------- */
bool assay_mlir_starts_type(const struct assay_mlir_parser *p);
const struct assay_mlir_type *assay_mlir_type(struct assay_mlir_parser *p);
const struct assay_mlir_type *assay_mlir_type_int(struct assay_mlir_parser *p,
                                                  char sign, unsigned width);
const struct assay_mlir_type *assay_mlir_type_float(struct assay_mlir_parser *p,
                                                    const char *name);
/* (a, b) -> c, built from lists. */
const struct assay_mlir_type *assay_mlir_type_function(
    struct assay_mlir_parser *p, const struct assay_mlir_type *const *types,
    uint32_t n, uint32_t n_inputs);
/* Elements of a ranked, static type; false: more than fit. */
bool assay_mlir_count(const struct assay_mlir_type *t, uint64_t *count);

/* ---- mlir_symbol.c: #name<...> and !name<...> ----------------------------- */
/* The current token is one; *alias says that it names one, else its text. */
const char *assay_mlir_symbol(struct assay_mlir_parser *p, bool *alias);

/* ---- mlir_number.c ------------------------------------------------------- */
/* Bits of a float type's format; 0: not a float. */
unsigned assay_mlir_float_width(const char *name);
/* d in that format, little-endian, (width + 7) / 8 bytes. */
void assay_mlir_float_bytes(const char *name, double d, uint8_t *out);
double assay_mlir_float_value(const char *name, const uint8_t *bytes);
bool assay_mlir_double(struct assay_mlir_parser *p,
                       const struct assay_mlir_token *t, double *out);
/* What MLIR lets through for a type of this width and sign ('i', 's', 'u', or
 * 'x' for index), in (width + 7) / 8 bytes, sign or zero extended. */
bool assay_mlir_integer_bytes(const struct assay_mlir_token *t, bool negative,
                              unsigned width, char sign, uint8_t *out);

/* ---- mlir_attr.c --------------------------------------------------------- */
const struct assay_mlir_attr *assay_mlir_attr(struct assay_mlir_parser *p);
const struct assay_mlir_attr *assay_mlir_dict(struct assay_mlir_parser *p);
struct assay_mlir_attr *assay_mlir_new_attr(struct assay_mlir_parser *p,
                                            enum assay_mlir_attr_kind kind);
const struct assay_mlir_attr *assay_mlir_attr_list(
    struct assay_mlir_parser *p, enum assay_mlir_attr_kind kind, size_t mark,
    const char *const *names);
const struct assay_mlir_attr *assay_mlir_attr_string(
    struct assay_mlir_parser *p, const char *s, size_t n);
const struct assay_mlir_attr *assay_mlir_attr_type(
    struct assay_mlir_parser *p, const struct assay_mlir_type *type);
/* A number that stands here with this type (NULL: i64 or f64, or ": type"). */
const struct assay_mlir_attr *assay_mlir_attr_number(
    struct assay_mlir_parser *p, const struct assay_mlir_type *type);
/* Adds an item's depth and weight to what holds it; false: too much. */
bool assay_mlir_carry(struct assay_mlir_parser *p, uint32_t *weight,
                      uint16_t *depth, uint32_t item_weight,
                      unsigned item_depth);

/* ---- mlir_dense.c, mlir_affine.c, mlir_loc.c, mlir_resource.c ------------- */
const struct assay_mlir_attr *assay_mlir_dense(struct assay_mlir_parser *p);
const struct assay_mlir_attr *assay_mlir_sparse(struct assay_mlir_parser *p);
const struct assay_mlir_attr *assay_mlir_affine(struct assay_mlir_parser *p);
const struct assay_mlir_attr *assay_mlir_strided(struct assay_mlir_parser *p);
/* "(" location ")", behind `loc`. */
const struct assay_mlir_loc *assay_mlir_loc(struct assay_mlir_parser *p);
/* [loc(...)]; *out NULL where none stands. */
bool assay_mlir_trailing_loc(struct assay_mlir_parser *p,
                             const struct assay_mlir_loc **out);
bool assay_mlir_resources(struct assay_mlir_parser *p);
const struct assay_mlir_attr *assay_mlir_resource_attr(
    struct assay_mlir_parser *p);

/* ---- mlir_dense.c, mlir_hex.c, mlir_sparse.c ------------------------------ */
struct assay_mlir_elements {
    const struct assay_mlir_type *type, *element; /* of pairs: of a half */
    bool pair, i1, text;
    size_t size; /* of a number; of a half of a pair */
    uint64_t count;
    uint8_t *out;
    size_t done, room; /* numbers */
    size_t items;      /* on the stack, of strings */
};
/* To the '>' (or the ',' outside of brackets) at the end of a list. */
bool assay_mlir_skip_list(struct assay_mlir_parser *p, bool comma);
/* ": type" with a shape; *at is the type's place. */
const struct assay_mlir_type *assay_mlir_shaped(struct assay_mlir_parser *p,
                                                struct assay_mlir_token *at);
/* Fills e from e->type. */
bool assay_mlir_describe(struct assay_mlir_parser *p,
                         const struct assay_mlir_token *at,
                         struct assay_mlir_elements *e);
/* The elements behind the place, in at most so many characters, into a. */
bool assay_mlir_values(struct assay_mlir_parser *p,
                       struct assay_mlir_elements *e, struct assay_mlir_attr *a,
                       size_t chars);
/* The same where s is the quote of a string of hex digits. */
bool assay_mlir_hex_string(struct assay_mlir_parser *p,
                           struct assay_mlir_elements *e,
                           struct assay_mlir_attr *a, const char *s);
/* Pairs of hex digits to bytes; false: something else, or an odd number. */
bool assay_mlir_hex(struct assay_mlir_parser *p, const char *s, size_t chars,
                    uint8_t *out);

/* ---- mlir_scope.c -------------------------------------------------------- */
struct assay_mlir_value *assay_mlir_use(struct assay_mlir_parser *p,
                                        const struct assay_mlir_token *at,
                                        const char *name, uint64_t number,
                                        const struct assay_mlir_type *type);
struct assay_mlir_value *assay_mlir_define(struct assay_mlir_parser *p,
                                           const struct assay_mlir_token *at,
                                           const char *name, uint64_t number,
                                           bool group,
                                           const struct assay_mlir_type *type);
void assay_mlir_close_scope(struct assay_mlir_parser *p, size_t mark);
struct assay_mlir_block *assay_mlir_block_of(struct assay_mlir_parser *p,
                                             uint64_t region, const char *name);
bool assay_mlir_ends(struct assay_mlir_parser *p);

/* ---- mlir_op.c, mlir_func.c ----------------------------------------------- */
struct assay_mlir_op *assay_mlir_op(struct assay_mlir_parser *p);
/* Arguments that the entry block gets from outside; n may be 0. */
struct assay_mlir_entry {
    uint32_t n;
    struct assay_mlir_token *at;
    const char **names;
    const struct assay_mlir_type **types;
    const struct assay_mlir_loc **locs;
};
struct assay_mlir_region *assay_mlir_region(
    struct assay_mlir_parser *p, const struct assay_mlir_entry *entry);
/* module, func.func, return: NULL after an error. */
struct assay_mlir_op *assay_mlir_custom_op(struct assay_mlir_parser *p);
/* %name and its number (#n, 0 where none stands). */
bool assay_mlir_value_name(struct assay_mlir_parser *p, const char **name,
                           uint64_t *number);

/* ---- mlir_text.c: how the parts are written ------------------------------- */
/* Appends; false: no memory. Types are their text. */
bool assay_mlir_attr_text(struct assay_buf *b, const struct assay_mlir_attr *a);
bool assay_mlir_loc_text(struct assay_buf *b, const struct assay_mlir_loc *l);
bool assay_mlir_quote(struct assay_buf *b, const char *s, size_t n);
bool assay_mlir_put(struct assay_buf *b, const char *s);
bool assay_mlir_printf(struct assay_buf *b, const char *fmt, ...)
    ASSAY_PRINTF(2, 3);

#endif
