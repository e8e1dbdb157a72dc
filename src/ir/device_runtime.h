/* The functions of IR_BUILTIN_RUNTIME: the calls of spec/device_runtime.def. */
#ifndef HD_IR_DEVICE_RUNTIME_H
#define HD_IR_DEVICE_RUNTIME_H

#include <stdbool.h>
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

/* Sets of calls. */
#define IR_RUNTIME_BIT(call) ((uint64_t)1 << (call))
_Static_assert(IR_RUNTIME_COUNT <= 64, "a set is a word");
/* They make work for the device outside of graphs: dynamic parallelism. */
#define IR_RUNTIME_WORK                                                                            \
    (IR_RUNTIME_BIT(IR_RUNTIME_LaunchDevice) | IR_RUNTIME_BIT(IR_RUNTIME_LaunchDeviceV2) |         \
     IR_RUNTIME_BIT(IR_RUNTIME_MemcpyAsync) | IR_RUNTIME_BIT(IR_RUNTIME_Memcpy2DAsync) |           \
     IR_RUNTIME_BIT(IR_RUNTIME_Memcpy3DAsync) | IR_RUNTIME_BIT(IR_RUNTIME_MemsetAsync) |           \
     IR_RUNTIME_BIT(IR_RUNTIME_Memset2DAsync) | IR_RUNTIME_BIT(IR_RUNTIME_Memset3DAsync))
/* They change nodes of graphs. */
#define IR_RUNTIME_UPDATES                                                                         \
    (IR_RUNTIME_BIT(IR_RUNTIME_GraphKernelNodeSetParam) |                                          \
     IR_RUNTIME_BIT(IR_RUNTIME_GraphKernelNodeSetEnabled) |                                        \
     IR_RUNTIME_BIT(IR_RUNTIME_GraphKernelNodeSetGridDim) |                                        \
     IR_RUNTIME_BIT(IR_RUNTIME_GraphKernelNodeUpdatesApply))
/* They ask about the graph that they are in. */
#define IR_RUNTIME_GRAPHS                                                                          \
    (IR_RUNTIME_BIT(IR_RUNTIME_GraphLaunch) | IR_RUNTIME_BIT(IR_RUNTIME_CurrentGraphExec))

struct ir_module;
/* The calls that its functions make. */
uint64_t ir_module_runtime_calls(const struct ir_module *module);

/* struct cudaFuncAttributes, the largest answer. */
#define IR_RUNTIME_OUT_B 144

/*
 * A call as the device sees it. The device reads what the thread points at, and writes the answer
 * afterwards, so that a wild pointer is the kernel's fault.
 */
struct ir_runtime_io {
    enum ir_runtime_call call;
    uint32_t grid_id; /* of its dispatch */
    uint64_t thread;  /* its number in the grid */
    uint64_t args[IR_RUNTIME_WORDS];
    /*
     * Reads the thread's memory. False: it must not be read, and the call is over. May also never
     * return, so the caller holds no lock and nothing else that it would have to give back.
     */
    bool (*read)(struct ir_runtime_io *io, uint64_t va, void *to, uint32_t size_B);
    void *reader; /* the device's */
    bool has_failed;
    uint64_t result;
    uint64_t out_va; /* where out_B bytes of `out` belong */
    uint32_t out_B;
    uint8_t out[IR_RUNTIME_OUT_B];
};

#endif
