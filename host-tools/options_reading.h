/* SPDX-License-Identifier: Apache-2.0 */
/* Behind the options in --help: how what a command prints is read. */
#ifndef ASSAY_HOST_OPTIONS_READING_H
#define ASSAY_HOST_OPTIONS_READING_H

#include <stdio.h>

#include "host-tools/options.h"

void assay_options_reading(FILE *f, enum assay_command c);

/* Prints words up to column 79; further lines begin at `indent`. options.c. */
void assay_options_wrap(FILE *f, const char *text, int indent);

#endif
