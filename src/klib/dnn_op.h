/* Kernels of a struct klib_dnn_op, and how they are cut. */
#ifndef HD_KLIB_DNN_OP_H
#define HD_KLIB_DNN_OP_H

#include "klib/dnn.h"

int klib_dnn_op_run(struct heddle_native_call *call);
uint64_t klib_dnn_op_plan(struct klib_dnn_op *op, unsigned threads, uint64_t *out_tiles);

#endif
