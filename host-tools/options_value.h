/* SPDX-License-Identifier: Apache-2.0 */
/* Values of single options; see options.h. Internal to the option parser. */
#ifndef ASSAY_HOST_OPTIONS_VALUE_H
#define ASSAY_HOST_OPTIONS_VALUE_H

#include "host-tools/options.h"

enum assay_option_key {
    ASSAY_OPT_NONE = 0,
    ASSAY_OPT_MODEL,
    ASSAY_OPT_INPUT,
    ASSAY_OPT_REFERENCE,
    ASSAY_OPT_SIM,
    ASSAY_OPT_BPU,
    ASSAY_OPT_GOT,
    ASSAY_OPT_FED,
    ASSAY_OPT_HYPOTHESIS,
    ASSAY_OPT_EXPECT_DTYPES,
    ASSAY_OPT_HYBRID,
    ASSAY_OPT_OUTPUT_DIR,
    ASSAY_OPT_TARGET,
    ASSAY_OPT_LOCAL,
    ASSAY_OPT_LAYERS,
    ASSAY_OPT_SKIP_LAYERS,
    ASSAY_OPT_OP_TYPE,
    ASSAY_OPT_START_LAYER,
    ASSAY_OPT_END_LAYER,
    ASSAY_OPT_LAYER,
    ASSAY_OPT_AT,
    ASSAY_OPT_SAMPLE,
    ASSAY_OPT_MODE,
    ASSAY_OPT_MAX_LSB,
    ASSAY_OPT_ATOL,
    ASSAY_OPT_RTOL,
    ASSAY_OPT_SORT_BY,
    ASSAY_OPT_MAX_ROWS,
    ASSAY_OPT_ALL,
    ASSAY_OPT_WIDE,
    ASSAY_OPT_FAIL_FAST,
    ASSAY_OPT_TIMEOUT,
    ASSAY_OPT_LAYER_TIMEOUT,
    ASSAY_OPT_REQUIRE,
    ASSAY_OPT_MIN_COVERAGE,
    ASSAY_OPT_CPUMASK,
    ASSAY_OPT_NUMERICS,
    ASSAY_OPT_ARITH,
    ASSAY_OPT_SAVE,
    ASSAY_OPT_SET,
    ASSAY_OPT_SAVE_FAILING,
    ASSAY_OPT_TIME_LIMIT,
    ASSAY_OPT_SCALES,
    ASSAY_OPT_VENDOR,
    ASSAY_OPT_FORMAT,
    ASSAY_OPT_JSON,
    ASSAY_OPT_SAVE_OUTPUTS,
    ASSAY_OPT_SKIP_IF_MISSING,
    ASSAY_OPT_FORCE,
    ASSAY_OPT_LIST,
    ASSAY_OPT_DRY_RUN,
    ASSAY_OPT_VERBOSE,
    ASSAY_OPT_QUIET,
    ASSAY_OPT_NO_COLOR,
    ASSAY_OPT_HELP,
    ASSAY_OPT_VERSION,
};

/* Stores one option. `name` is as the user wrote it, for the sentence. */
int assay_option_store(struct assay_options *o, enum assay_option_key key,
                       const char *name, const char *value,
                       struct assay_err *err) ASSAY_MUST_CHECK;

#endif
