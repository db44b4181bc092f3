/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What deploy takes for an agent's file, what it makes of a board's answers,
 * and what it has the board's shell do.
 *
 * links: host-tools/deploy_agent.c host-tools/deploy_board.c
 * links: host-tools/messages.c host-tools/model/file.c lib/net/ssh.c
 * links: lib/net/target.c lib/core/buf.c lib/core/err.c lib/core/hash.c
 * links: proto/version.c
 * libs: -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <elf.h>

#include "host-tools/deploy_agent.h"
#include "host-tools/deploy_board.h"

/* ---- the agent's file ----------------------------------------------------- */

struct program {
    Elf64_Ehdr h;
    Elf64_Phdr p[2];
    char text[64];
};

static struct program good_program(void)
{
    struct program g = {
        .h = {.e_type = ET_EXEC,
              .e_machine = EM_AARCH64,
              .e_phoff = offsetof(struct program, p),
              .e_phentsize = sizeof(Elf64_Phdr),
              .e_phnum = 2},
        .p = {{.p_type = PT_LOAD, .p_filesz = sizeof(struct program)},
              {.p_type = PT_NOTE}},
        .text = "..@(#)assayd 1.2.3-dirty",
    };

    memcpy(g.h.e_ident, ELFMAG, SELFMAG);
    g.h.e_ident[EI_CLASS] = ELFCLASS64;
    g.h.e_ident[EI_DATA] = ELFDATA2LSB;
    return g;
}

static int check(const struct program *g, size_t n, char version[64],
                 struct assay_err *err)
{
    /* Exactly as large as it is: a sanitizer sees one byte beyond. */
    uint8_t *copy = malloc(n > 0 ? n : 1);
    int rc;

    assert_non_null(copy);
    memcpy(copy, g, n);
    rc = assay_agent_file_check(copy, n, "f", version, err);
    free(copy);
    return rc;
}

static void test_agent(void **state)
{
    struct program g = good_program();
    struct assay_err err = {0};
    char version[64] = "";

    (void)state;
    assert_int_equal(check(&g, sizeof(g), version, &err), 0);
    assert_string_equal(version, "1.2.3-dirty");
    g.h.e_type = ET_DYN; /* static-pie */
    assert_int_equal(check(&g, sizeof(g), version, &err), 0);
    /* A mark without a version is passed over. */
    strcpy(g.text, "@(#)assayd x @(#)assayd @(#)assayd 4.5.6");
    assert_int_equal(check(&g, sizeof(g), version, &err), 0);
    assert_string_equal(version, "4.5.6");
}

static void test_agent_cut(void **state)
{
    struct program g = good_program();

    (void)state;
    for (size_t n = 0; n < sizeof(g); n++) {
        struct assay_err err = {0};
        char version[64] = "as before";

        assert_int_equal(check(&g, n, version, &err), ASSAY_EFORMAT);
        assert_string_equal(version, "as before");
        assert_true(err.text[0] != '\0');
    }
}

static void bad(struct program g, const char *found)
{
    struct assay_err err = {0};
    char version[64];

    assert_int_equal(check(&g, sizeof(g), version, &err), ASSAY_EFORMAT);
    if (strstr(err.text, found) == NULL)
        fail_msg("'%s' lacks '%s'", err.text, found);
}

static void test_agent_bad(void **state)
{
    struct program g;

    (void)state;
#define BAD(change, found) (g = good_program(), change, bad(g, found))
    BAD(g.h.e_ident[0] = 0, "found another kind of file");
    BAD(g.h.e_machine = EM_X86_64, "found one for x86-64");
    BAD(g.h.e_machine = EM_ARM, "machine 40");
    BAD(g.h.e_ident[EI_CLASS] = ELFCLASS32, "class 1");
    BAD(g.h.e_ident[EI_DATA] = ELFDATA2MSB, "data 2");
    BAD(g.h.e_type = ET_REL, "an object or a core file");
    BAD(g.h.e_type = ET_CORE, "an object or a core file");
    BAD(g.h.e_phnum = 0, "a file that is cut");
    BAD(g.h.e_phnum = 0xffff, "a file that is cut");
    BAD(g.h.e_phoff = UINT64_MAX, "a file that is cut");
    BAD(g.h.e_phoff = UINT64_MAX - 8, "a file that is cut");
    BAD(g.h.e_phoff = sizeof(g) - 8, "a file that is cut");
    BAD(g.h.e_phentsize = 8, "a file that is cut");
    BAD(g.p[0].p_offset = sizeof(g) + 1, "a file that is cut");
    BAD(g.p[0].p_offset = UINT64_MAX, "a file that is cut");
    BAD(g.p[0].p_filesz = UINT64_MAX, "a file that is cut");
    BAD(g.p[1].p_type = PT_INTERP, "one that needs libraries");
    BAD(g.p[0].p_type = PT_NOTE, "an ELF file without one");
    BAD(g.text[4] = 'x', "another program, or a build that is too old");
    BAD(strcpy(g.text, "@(#)assayd 1.2"), "another program");
    BAD(memset(g.text, 'a', sizeof(g.text)), "another program");
    BAD((memset(g.text, '1', sizeof(g.text)),
         memcpy(g.text, "@(#)assayd 1.2.3-", 17)),
        "another program"); /* it has no end */
#undef BAD
}

/* ---- answers -------------------------------------------------------------- */

static struct assay_buf answer(const char *text, size_t n)
{
    struct assay_buf b;

    assay_buf_init(&b);
    if (n > 0)
        assert_int_equal(assay_buf_append(&b, text, n), 0);
    return b;
}

static const char full[] =
    "Welcome!\nassay: machine aarch64\nassay: system Linux\r\n"
    "assay: folder yes\nassay: writable yes\nassay: file yes\n"
    "assay: old assayd 1.2.3\nassay: sha256sum yes\n"
    "assay: free /dev/root 100 40 60 40% /\n"
    "assay: daemons a b\nassay: on-path /usr/bin/assayd\n"
    "assay: machine later\nassay: done\n";

static void test_answers(void **state)
{
    struct assay_buf b = answer(full, sizeof(full) - 1);
    struct assay_board_facts f;

    (void)state;
    assert_true(assay_board_facts_read(&f, &b));
    assert_string_equal(f.machine, "aarch64"); /* the first one */
    assert_string_equal(f.system, "Linux");
    assert_string_equal(assay_board_version(f.old), "1.2.3");
    assert_string_equal(f.daemons, "a b");
    assert_string_equal(f.on_path, "/usr/bin/assayd");
    assert_true(f.folder && f.writable && f.is_file && f.has_sha256sum &&
                f.knows_free);
    assert_false(f.is_folder || f.is_link || f.is_listed);
    assert_int_equal(f.free_bytes, 60 * 1024);
    assay_buf_close(&b);
}

/* Whatever is missing behind, it is not taken for a whole answer. */
static void test_answers_cut(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(full) - 1; n++) {
        struct assay_buf b = answer(full, n);
        struct assay_board_facts f;

        assert_false(assay_board_facts_read(&f, &b));
        assay_buf_close(&b);
    }
}

static void one_free(const char *words, bool known, uint64_t kib)
{
    char text[256];
    struct assay_board_facts f;
    struct assay_buf b;

    snprintf(text, sizeof(text), "assay: free %s\nassay: done\n", words);
    b = answer(text, strlen(text));
    assert_true(assay_board_facts_read(&f, &b));
    if (f.knows_free != known)
        fail_msg("'%s'", words);
    assert_int_equal(f.free_bytes, kib * 1024);
    assay_buf_close(&b);
}

static void test_free_space(void **state)
{
    (void)state;
    one_free("/dev/mmcblk0p2 15 10 5 67% /", true, 5);
    one_free("//host/a b 15 10 5 67% /mnt/x y", true, 5);
    one_free("none 0 0 0 0% /", true, 0);
    one_free("", false, 0);
    one_free("%", false, 0);
    one_free("5%", false, 0);
    one_free("a 5%", false, 0);
    one_free("a b5 6% /", false, 0);
    one_free("a -5 6% /", false, 0);
    one_free("99 x% /", false, 0);
    one_free("d 1 1 99999999999999999999999 6% /", false, 0);
    one_free("d 1 1 18446744073709551615 6% /", false, 0);
}

static void test_control(void **state)
{
    const char text[] = "assay: k \x1b[2J\x07\xff\0x  \nassay: done\n";
    struct assay_buf b = answer(text, sizeof(text) - 1);
    char out[32], small[4];

    (void)state;
    assert_true(assay_board_answer(&b, "k", out, sizeof(out)));
    assert_string_equal(out, "?[2J???x");
    assert_true(assay_board_answer(&b, "k", small, sizeof(small)));
    assert_string_equal(small, "?[2");
    assert_false(assay_board_answer(&b, "kk", out, sizeof(out)));
    assert_false(assay_board_answer(&b, "", out, sizeof(out)));
    assay_buf_close(&b);
}

static void test_version(void **state)
{
    static const char *const bad[] = {
        "",
        "assayd",
        "assayd ",
        "assay 1.2.3",
        "1.2.3",
        "assayd 1.2",
        "assayd  1.2.3",
        "assayd 1.2.3 x",
        "xassayd 1.2.3",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_null(assay_board_version(bad[i]));
    assert_string_equal(assay_board_version("assayd 1.2.3-x"), "1.2.3-x");
}

/* ---- scripts -------------------------------------------------------------- */

static void test_scripts(void **state)
{
    const char *words[] = {"/opt/it's/assayd", "~/a b"};

    (void)state;
    for (int k = ASSAY_SCRIPT_ASK; k <= ASSAY_SCRIPT_TAKE_AWAY; k++) {
        struct assay_err err = {0};
        struct assay_buf b;
        const char *text, *end;

        assay_buf_init(&b);
        assert_int_equal(
            assay_board_command(&b, (enum assay_board_script)k, words, 2, &err),
            0);
        text = (const char *)b.data;
        assert_int_equal(strncmp(text, "sh -c '", 7), 0);
        end = strchr(text + 7, '\'');
        assert_non_null(strstr(text, "say done")); /* it is not empty */
        assert_non_null(end);
        assert_string_equal(end, "' assay '/opt/it'\\''s/assayd' ~/'a b'");
        /* One word for any login shell: sh, csh, fish. */
        for (const char *p = text; p < end; p++)
            assert_true(*p >= ' ' && *p != '!' && *p != '\\');
        assay_buf_close(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agent),       cmocka_unit_test(test_agent_cut),
        cmocka_unit_test(test_agent_bad),   cmocka_unit_test(test_answers),
        cmocka_unit_test(test_answers_cut), cmocka_unit_test(test_free_space),
        cmocka_unit_test(test_control),     cmocka_unit_test(test_version),
        cmocka_unit_test(test_scripts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
