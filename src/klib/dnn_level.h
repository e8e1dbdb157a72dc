/*
 * cuDNN's loops are compiled for each level of the host's instruction sets (base/host.h), whose
 * name DNN_LEVEL is: what they define ends in it. Results are the same, but for BLAS's.
 */
#ifndef HD_KLIB_DNN_LEVEL_H
#define HD_KLIB_DNN_LEVEL_H

#ifdef DNN_LEVEL
#define DNN_JOINED(name, level)  name##_##level
#define DNN_LEVELED(name, level) DNN_JOINED(name, level)
#define klib_conv_plan           DNN_LEVELED(klib_conv_plan, DNN_LEVEL)
#define klib_conv_run            DNN_LEVELED(klib_conv_run, DNN_LEVEL)
#define klib_ctc                 DNN_LEVELED(klib_ctc, DNN_LEVEL)
#define klib_dnn                 DNN_LEVELED(klib_dnn, DNN_LEVEL)
#define klib_dnn_graph           DNN_LEVELED(klib_dnn_graph, DNN_LEVEL)
#define klib_dnn_op_plan         DNN_LEVELED(klib_dnn_op_plan, DNN_LEVEL)
#define klib_dnn_op_run          DNN_LEVELED(klib_dnn_op_run, DNN_LEVEL)
#define klib_rnn_plan            DNN_LEVELED(klib_rnn_plan, DNN_LEVEL)
#define klib_rnn_reserve_B       DNN_LEVELED(klib_rnn_reserve_B, DNN_LEVEL)
#define klib_rnn_run             DNN_LEVELED(klib_rnn_run, DNN_LEVEL)
#endif

#endif
