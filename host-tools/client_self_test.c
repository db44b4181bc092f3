/* SPDX-License-Identifier: Apache-2.0 */
/* A board's self-test: one question, several answers. */
#include "host-tools/client.h"

#define ANSWERS_MAX 4096u

int assay_client_self_test(struct assay_backend *b, uint64_t memory_bytes,
                           void (*found)(void *self,
                                         const struct assay_msg_self_test *),
                           void *self, struct assay_err *err)
{
    struct assay_client *c = (struct assay_client *)b;
    struct assay_msg m = {.type = ASSAY_MSG_SELF_TEST,
                          .u.number = memory_bytes};
    const struct assay_msg_self_test *t = &m.u.self_test;
    int rc = assay_client_send(c, &m, NULL, err);

    for (unsigned i = 0; rc == 0; i++) {
        bool last;

        rc = assay_client_expect(c, ASSAY_MSG_SELF_TEST_REPLY, &m, err);
        if (rc < 0)
            break;
        assay_client_printable(t->name);
        assay_client_printable(t->rung);
        assay_client_printable(t->text);
        found(self, t);
        last = t->kind == ASSAY_SELF_TEST_END;
        assay_msg_close(&m);
        if (last)
            return 0;
        if (i == ANSWERS_MAX) {
            rc = assay_fail(&c->broken, ASSAY_EPROTOCOL,
                            "board '%.200s': self-test has no end",
                            c->target.text);
            return assay_fail(err, rc, "%s", c->broken.text);
        }
    }
    return rc;
}
