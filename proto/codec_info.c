/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/codec_info.h"

void assay_codec_get_info(const Assay__Pb__Info *in, struct assay_msg_info *out)
{
    static const Assay__Pb__Info none = ASSAY__PB__INFO__INIT;

    if (in == NULL)
        in = &none;
#define ASSAY_INFO_TEXT(field) out->field = in->field;
#define ASSAY_INFO_NUMBER(type, field) out->field = in->field;
#include "proto/info.def"
#undef ASSAY_INFO_TEXT
#undef ASSAY_INFO_NUMBER
}

/* Generated structs want char *, but packing only reads. */
static char *str(const char *s)
{
    return (char *)(uintptr_t)(s != NULL ? s : "");
}

Assay__Pb__Info *assay_codec_put_info(Assay__Pb__Info *o,
                                      const struct assay_msg_info *i)
{
    assay__pb__info__init(o);
#define ASSAY_INFO_TEXT(field) o->field = str(i->field);
#define ASSAY_INFO_NUMBER(type, field) o->field = i->field;
#include "proto/info.def"
#undef ASSAY_INFO_TEXT
#undef ASSAY_INFO_NUMBER
    return o;
}

int assay_codec_get_self_test(const Assay__Pb__SelfTestReply *in,
                              struct assay_msg_self_test *out,
                              struct assay_err *err)
{
    /* Kinds of a newer agent are passed over by whoever reads them. */
    if (in->kind == 0)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "message SELF_TEST_REPLY: field 'kind' is 0, "
                          "expected 1 or more");
    if (in->verdict < ASSAY_VERDICT_GOOD || in->verdict > ASSAY_VERDICT_NONE)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "message SELF_TEST_REPLY: field 'verdict' is %u, "
                          "expected 1 (good), 2 (bad) or 3 (none)",
                          in->verdict);
    *out = (struct assay_msg_self_test){
        .kind = in->kind,
        .verdict = in->verdict,
        .name = in->name,
        .rung = in->rung,
        .text = in->text,
        .checks = in->checks,
        .time_us = in->time_us,
    };
    return 0;
}

void assay_codec_put_self_test(Assay__Pb__SelfTestReply *o,
                               const struct assay_msg_self_test *t)
{
    o->kind = t->kind;
    o->verdict = t->verdict;
    o->name = str(t->name);
    o->rung = str(t->rung);
    o->text = str(t->text);
    o->checks = t->checks;
    o->time_us = t->time_us;
}
