/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions of the protocol that this build speaks. A hello carries the range
 * of its sender; the agent answers with the highest common version or refuses
 * with both ranges. The frame prefix never changes within a magic.
 */
#ifndef ASSAY_PROTO_VERSION_H
#define ASSAY_PROTO_VERSION_H

#define ASSAY_PROTOCOL_MIN 1u
#define ASSAY_PROTOCOL_MAX 1u

#endif
