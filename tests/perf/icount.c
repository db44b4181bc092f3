/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin for qemu-user 7.2 (TCG plugin API 1) that counts the guest
 * instructions that were executed and prints the total on stderr at the end:
 * "icount 123". Exact for one thread. The distribution has no header for the
 * API, so the few functions that are used are declared here, after the
 * manual "QEMU TCG Plugins".
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))
#define INLINE_ADD_U64 0 /* the only inline operation of API 1 */

typedef uint64_t plugin_id;
struct qemu_plugin_tb;

void qemu_plugin_register_vcpu_tb_trans_cb(
    plugin_id id, void (*cb)(plugin_id id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op,
                                              void *ptr, uint64_t imm);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
void qemu_plugin_register_atexit_cb(plugin_id id,
                                    void (*cb)(plugin_id id, void *arg),
                                    void *arg);

EXPORT extern int qemu_plugin_version;
EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc,
                               char **argv);

int qemu_plugin_version = 1;
static uint64_t total;

/* Each time a translated block is entered, all of it counts. */
static void translated(plugin_id id, struct qemu_plugin_tb *tb)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64, &total,
                                             qemu_plugin_tb_n_insns(tb));
}

static void at_exit(plugin_id id, void *arg)
{
    (void)id;
    (void)arg;
    fprintf(stderr, "icount %" PRIu64 "\n", total);
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    (void)argc;
    (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, at_exit, NULL);
    return 0;
}
