/* SPDX-License-Identifier: Apache-2.0 */
/* The ONNX reader, for the table of model.c. */
#ifndef ASSAY_MODEL_ONNX_H
#define ASSAY_MODEL_ONNX_H

#include "host-tools/model/model.h"

extern const struct assay_model_reader assay_onnx_reader;

#endif
