/* What libheddle-klib.so has for cuDNN. */
#include "klib/dnn.h"

#include "klib/dnn_conv.h"
#include "klib/dnn_op.h"
#include "klib/dnn_rnn.h"

const struct klib_dnn klib_dnn = {
    .conv = klib_conv_run,
    .conv_plan = klib_conv_plan,
    .op = klib_dnn_op_run,
    .op_plan = klib_dnn_op_plan,
    .rnn = klib_rnn_run,
    .rnn_plan = klib_rnn_plan,
    .rnn_reserve_B = klib_rnn_reserve_B,
    .names =
        {
#define X(name, what) "cudnn_" #name,
            KLIB_DNN_LIST(X)
#undef X
        },
};
