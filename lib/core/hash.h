/* SPDX-License-Identifier: Apache-2.0 */
/* Digests: SHA-256 is identity (models, blobs), XXH3 is a tile check. */
#ifndef ASSAY_CORE_HASH_H
#define ASSAY_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define ASSAY_SHA256_LEN 32
#define ASSAY_TILE_BYTES 65536u /* digest and payload unit of a result */

void assay_sha256(const void *data, size_t n, uint8_t out[ASSAY_SHA256_LEN]);
/* The same; passed is told now and then that no byte below `offset` will be
 * read again, so that a large mapping need not stay in memory. */
void assay_sha256_passing(const void *data, size_t n,
                          void (*passed)(void *self, size_t offset), void *self,
                          uint8_t out[ASSAY_SHA256_LEN]);
/* Lower-case hex, NUL-terminated: out holds 2 * n + 1 bytes. */
void assay_hex(const uint8_t *bytes, size_t n, char *out);
uint64_t assay_xxh64(const void *data, size_t n); /* XXH3-64 */
/* XXH3-128 in canonical (big-endian) form. */
void assay_xxh128(const void *data, size_t n, uint8_t out[16]);
/* Tiles of n bytes, and their digests: 16 bytes each. */
size_t assay_tiles(size_t n);
void assay_tile_digests(const void *data, size_t n, uint8_t *out);

#endif
