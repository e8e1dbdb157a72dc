/* Recurrent networks. */
#ifndef HD_KLIB_DNN_RNN_H
#define HD_KLIB_DNN_RNN_H

#include "klib/dnn.h"

int klib_rnn_run(struct heddle_native_call *call);
uint64_t klib_rnn_plan(struct klib_rnn *r, uint64_t *out_tiles);
/* Of training. */
uint64_t klib_rnn_reserve_B(const struct klib_rnn *r);

#endif
