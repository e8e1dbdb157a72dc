/* The functions of IR_BUILTIN_RUNTIME: the calls of spec/device_runtime.def. */
#ifndef HD_IR_DEVICE_RUNTIME_H
#define HD_IR_DEVICE_RUNTIME_H

#include <stdint.h>

/* Arguments of a call: words of eight bytes. No call has more. */
#define IR_RUNTIME_WORDS 12

enum ir_runtime_call {
#define X(call, name, result_B, params) IR_RUNTIME_##call,
#define ALIAS(...)
#include "device_runtime.def"
#undef X
#undef ALIAS
    IR_RUNTIME_COUNT
};

/* struct cudaMemcpy3DParms and struct cudaFuncAttributes, the largest things pointed at. */
#define IR_RUNTIME_IN_B  160
#define IR_RUNTIME_OUT_B 144

/*
 * A call as the device sees it. Whoever makes the call reads what the thread points at before, and
 * writes the answer afterwards, so that a wild pointer is the kernel's fault.
 */
struct ir_runtime_io {
    enum ir_runtime_call call;
    uint64_t thread; /* its number in the grid */
    uint64_t args[IR_RUNTIME_WORDS];
    uint8_t in[IR_RUNTIME_IN_B]; /* MEMCPY3D: at args[0] */
    uint64_t result;
    uint64_t out_va; /* where out_B bytes of `out` belong */
    uint32_t out_B;
    uint8_t out[IR_RUNTIME_OUT_B];
};

#endif
