/* Connectionist temporal classification (Graves and others, 2006). */
#ifndef HD_KLIB_DNN_CTC_H
#define HD_KLIB_DNN_CTC_H

#include "klib/dnn.h"

/* One sample of a `ctc`. False: no memory. */
bool klib_ctc(const struct klib_dnn_op *op, int64_t sample);

#endif
