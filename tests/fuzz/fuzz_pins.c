/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of pins, as clients' and as boards'. What is taken must be found
 * again by both of its words, and stay so when it is written and read again.
 *
 * links: lib/net/pins.c lib/net/identity.c lib/net/private_file.c
 * links: lib/net/random.c lib/core/buf.c lib/core/err.c lib/core/hash.c
 * libs: -lmbedx509 -lmbedcrypto -lxxhash
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/net/pins.h"

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_set(const struct assay_pins *pins, enum assay_pins_kind kind)
{
    for (size_t i = 0; i < pins->count; i++) {
        const struct assay_pin *pin = &pins->pins[i];
        const char *name = assay_pins_find(pins, pin->fingerprint);

        require(assay_is_fingerprint(pin->fingerprint));
        require(assay_pins_bad_name(pin->name) == NULL);
        require(strcmp(assay_pins_find_name(pins, pin->name),
                       pin->fingerprint) == 0);
        require(name != NULL);
        require(kind == ASSAY_PINS_BOARDS || name == pin->name);
    }
}

static void check_again(const struct assay_pins *pins,
                        enum assay_pins_kind kind)
{
    struct assay_buf text;
    struct assay_pins again;
    char line[ASSAY_PIN_NAME_MAX + ASSAY_FINGERPRINT_TEXT + 4];

    assay_buf_init(&text);
    for (size_t i = 0; i < pins->count; i++) {
        int n = snprintf(line, sizeof(line), "%s %s\n", pins->pins[i].name,
                         pins->pins[i].fingerprint);

        require(assay_buf_append(&text, line, (size_t)n) == 0);
    }
    if (text.len <= ASSAY_PINS_FILE_MAX) {
        require(assay_pins_parse(&again, (const char *)text.data, text.len,
                                 kind, "again", NULL) == 0);
        require(again.count == pins->count);
        assay_pins_close(&again);
    }
    assay_buf_close(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum assay_pins_kind kinds[] = {ASSAY_PINS_CLIENTS,
                                                 ASSAY_PINS_BOARDS};

    for (size_t i = 0; i < 2; i++) {
        struct assay_pins pins;
        struct assay_err err = {0};

        if (assay_pins_parse(&pins, (const char *)data, size, kinds[i], "pins",
                             &err) < 0) {
            require(err.text[0] != '\0');
            continue;
        }
        check_set(&pins, kinds[i]);
        check_again(&pins, kinds[i]);
        assay_pins_close(&pins);
    }
    return 0;
}
