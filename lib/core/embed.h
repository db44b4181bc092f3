/* SPDX-License-Identifier: Apache-2.0 */
/* A file of the repository, as it is, in the program, with a NUL behind it.
 * The assembler finds it beside the Makefile, where compilers are started; the
 * Makefile has to name it as what the object depends on. */
#ifndef ASSAY_CORE_EMBED_H
#define ASSAY_CORE_EMBED_H

#define ASSAY_EMBED(symbol, path) \
    __asm__(".section .rodata\n" \
            ".hidden " #symbol "\n" \
            ".global " #symbol "\n" #symbol ":\n" \
            ".incbin \"" path "\"\n" \
            ".byte 0\n" \
            ".previous\n"); \
    extern const char symbol[]

#endif
