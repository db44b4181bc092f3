/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent says of itself and its health, both ways; the codec's own. */
#ifndef ASSAY_PROTO_CODEC_INFO_H
#define ASSAY_PROTO_CODEC_INFO_H

#include "lib/core/err.h"
#include "proto/assay.pb-c.h"
#include "proto/codec.h"

/* Strings are borrowed. in NULL: all empty. */
void assay_codec_get_info(const Assay__Pb__Info *in,
                          struct assay_msg_info *out);
Assay__Pb__Info *assay_codec_put_info(Assay__Pb__Info *o,
                                      const struct assay_msg_info *i);
int assay_codec_get_self_test(const Assay__Pb__SelfTestReply *in,
                              struct assay_msg_self_test *out,
                              struct assay_err *err) ASSAY_MUST_CHECK;
void assay_codec_put_self_test(Assay__Pb__SelfTestReply *o,
                               const struct assay_msg_self_test *t);

#endif
