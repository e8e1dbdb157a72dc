/*
 * The calls of spec/device_runtime.def, each a function; cudaError_t by name. Words of arguments
 * come as the compiler packs them; what pointers in them name is the device's (ir_runtime_io).
 *
 *     cdp_calls.c    errors, launches, streams and events
 *     cdp_query.c      questions about devices and functions
 *     cdp_copy.c     copies and fills
 */
#ifndef HD_CORE_CDP_CDP_CALLS_H
#define HD_CORE_CDP_CDP_CALLS_H

#include <assert.h>
#include <string.h>

#include "core/cdp/cdp.h"

/* cudaError_t. The runtime's table is its own: core knows those that it returns by number. */
enum core_cuda_error {
#define X(name, value, text) name = (value),
#include "api/cudart_errors.def"
#undef X
};

#define X(name, symbol, result_B, params)                                                          \
    uint64_t core_cdp_##name(const struct core_cdp_call *call);
#define ALIAS(...)
#include "device_runtime.def"
#undef X
#undef ALIAS

/* What a pointer in the arguments names; false: the kernel's fault. No lock is held. */
static inline bool core_cdp_read(const struct core_cdp_call *call, uint64_t va, void *to,
                                 uint32_t size_B)
{
    return call->io->read(call->io, va, to, size_B);
}
/* What a pointer in the arguments gets; a null one is an error. */
static inline uint64_t core_cdp_answer(const struct core_cdp_call *call, uint64_t va,
                                       const void *bytes, uint32_t size_B)
{
    assert(size_B <= sizeof(call->io->out));
    if (!va)
        return cudaErrorInvalidValue;
    memcpy(call->io->out, bytes, size_B);
    call->io->out_va = va;
    call->io->out_B = size_B;
    return cudaSuccess;
}
static inline uint64_t core_cdp_answer_int(const struct core_cdp_call *call, uint64_t va, int value)
{
    return core_cdp_answer(call, va, &value, sizeof(value));
}
/* Can work be put into the stream? */
bool core_cdp_stream_takes(const struct core_cdp_call *call, uint64_t stream);
/* Adds to what is submitted, unless the stream is none. */
uint64_t core_cdp_enqueue(const struct core_cdp_call *call, uint64_t stream,
                          struct core_cdp_command *command);

#endif
