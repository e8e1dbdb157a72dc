/* What libheddle-klib.so has for cuDNN. */
#include "klib/dnn.h"

#include "klib/dnn_conv.h"

const struct klib_dnn klib_dnn = {.conv = klib_conv_run, .conv_plan = klib_conv_plan};
