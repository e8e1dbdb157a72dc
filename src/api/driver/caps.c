/* What devices and contexts can do: atomics across the link, affinity, core dumps. */
#include "api/driver/driver.h"

#include <assert.h>

#include "core/debug/coredump.h"

/* ---- atomics: the host, and other devices, reach the same memory in the same way */

#define INTEGER                                                                                    \
    (CU_ATOMIC_CAPABILITY_SIGNED | CU_ATOMIC_CAPABILITY_UNSIGNED |                                 \
     CU_ATOMIC_CAPABILITY_REDUCTION | CU_ATOMIC_CAPABILITY_SCALAR_32 |                             \
     CU_ATOMIC_CAPABILITY_SCALAR_64)
#define BITS                                                                                       \
    (CU_ATOMIC_CAPABILITY_UNSIGNED | CU_ATOMIC_CAPABILITY_REDUCTION |                              \
     CU_ATOMIC_CAPABILITY_SCALAR_32 | CU_ATOMIC_CAPABILITY_SCALAR_64)
#define SWAP                                                                                       \
    (CU_ATOMIC_CAPABILITY_UNSIGNED | CU_ATOMIC_CAPABILITY_SCALAR_32 |                              \
     CU_ATOMIC_CAPABILITY_SCALAR_64 | CU_ATOMIC_CAPABILITY_SCALAR_128)

static const unsigned atomics[] = {
    [CU_ATOMIC_OPERATION_INTEGER_ADD] = INTEGER,
    [CU_ATOMIC_OPERATION_INTEGER_MIN] = INTEGER,
    [CU_ATOMIC_OPERATION_INTEGER_MAX] = INTEGER,
    [CU_ATOMIC_OPERATION_INTEGER_INCREMENT] = CU_ATOMIC_CAPABILITY_UNSIGNED |
                                              CU_ATOMIC_CAPABILITY_REDUCTION |
                                              CU_ATOMIC_CAPABILITY_SCALAR_32,
    [CU_ATOMIC_OPERATION_INTEGER_DECREMENT] = CU_ATOMIC_CAPABILITY_UNSIGNED |
                                              CU_ATOMIC_CAPABILITY_REDUCTION |
                                              CU_ATOMIC_CAPABILITY_SCALAR_32,
    [CU_ATOMIC_OPERATION_AND] = BITS,
    [CU_ATOMIC_OPERATION_OR] = BITS,
    [CU_ATOMIC_OPERATION_XOR] = BITS,
    [CU_ATOMIC_OPERATION_EXCHANGE] = SWAP,
    [CU_ATOMIC_OPERATION_CAS] = SWAP,
    [CU_ATOMIC_OPERATION_FLOAT_ADD] = CU_ATOMIC_CAPABILITY_REDUCTION |
                                      CU_ATOMIC_CAPABILITY_SCALAR_32 |
                                      CU_ATOMIC_CAPABILITY_SCALAR_64,
    [CU_ATOMIC_OPERATION_FLOAT_MIN] = 0, /* PTX has them for halves only */
    [CU_ATOMIC_OPERATION_FLOAT_MAX] = 0,
};
_Static_assert(HD_COUNT_OF(atomics) == CU_ATOMIC_OPERATION_MAX, "every operation has a row");

static CUresult atomics_notify(const CUatomicOperation *operations, unsigned count, unsigned *out)
{
    for (unsigned i = 0; i < count; i++)
        if ((unsigned)operations[i] >= HD_COUNT_OF(atomics))
            return drv_error(CUDA_ERROR_INVALID_VALUE, "atomic operation %d", (int)operations[i]);
    for (unsigned i = 0; i < count; i++)
        out[i] = atomics[operations[i]];
    return CUDA_SUCCESS;
}

CUresult drv_cuDeviceGetHostAtomicCapabilities(unsigned *out, const CUatomicOperation *operations,
                                               unsigned count, CUdevice dev)
{
    API_CALL(cuDeviceGetHostAtomicCapabilities);
    API_CHECK(out && operations && count);
    API_DEVICE(device, dev);
    (void)device;
    return atomics_notify(operations, count, out);
}

CUresult drv_cuDeviceGetP2PAtomicCapabilities(unsigned *out, const CUatomicOperation *operations,
                                              unsigned count, CUdevice from, CUdevice to)
{
    API_CALL(cuDeviceGetP2PAtomicCapabilities);
    API_CHECK(out && operations && count);
    API_DEVICE(src, from);
    API_DEVICE(dst, to);
    if (src == dst)
        return drv_error(CUDA_ERROR_INVALID_DEVICE, "device %d is not its own peer", from);
    return atomics_notify(operations, count, out);
}

/* ---- affinity: a context has all multiprocessors */

CUresult drv_cuDeviceGetExecAffinitySupport(int *out, CUexecAffinityType type, CUdevice dev)
{
    API_CALL(cuDeviceGetExecAffinitySupport);
    API_CHECK(out);
    API_CHECK(type == CU_EXEC_AFFINITY_TYPE_SM_COUNT);
    API_DEVICE(device, dev);
    (void)device;
    *out = 0;
    return CUDA_SUCCESS;
}

CUresult drv_cuCtxGetExecAffinity(CUexecAffinityParam *out, CUexecAffinityType type)
{
    API_CALL(cuCtxGetExecAffinity);
    API_CHECK(out);
    API_CHECK(type == CU_EXEC_AFFINITY_TYPE_SM_COUNT);
    API_CONTEXT(ctx);
    out->type = type;
    out->param.smCount.val =
        core_current_green() ? core_current_green()->nsms : (unsigned)ctx->device->units;
    return CUDA_SUCCESS;
}

/* ---- core dumps */

static CUresult dump_get(struct core_context *ctx, CUcoredumpSettings which, void *value,
                         size_t *size_B)
{
    if (!size_B)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "core dump setting %d", (int)which);
    return drv_result(core_dump_get(ctx, (unsigned)which, value, size_B));
}

static CUresult dump_set(struct core_context *ctx, CUcoredumpSettings which, const void *value,
                         const size_t *size_B)
{
    if (!value || !size_B)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "core dump setting %d", (int)which);
    enum hd_status status = core_dump_set(ctx, (unsigned)which, value, *size_B);
    return status == HD_BAD_STATE ? drv_error(CUDA_ERROR_NOT_PERMITTED, "%s", hd_error_message())
                                  : drv_result(status);
}

CUresult drv_cuCoredumpGetAttribute(CUcoredumpSettings which, void *value, size_t *size_B)
{
    API_CALL(cuCoredumpGetAttribute);
    API_CONTEXT_ANY(ctx);
    return dump_get(ctx, which, value, size_B);
}

CUresult drv_cuCoredumpGetAttributeGlobal(CUcoredumpSettings which, void *value, size_t *size_B)
{
    API_CALL(cuCoredumpGetAttributeGlobal);
    return dump_get(NULL, which, value, size_B);
}

CUresult drv_cuCoredumpSetAttribute(CUcoredumpSettings which, void *value, size_t *size_B)
{
    API_CALL(cuCoredumpSetAttribute);
    API_CONTEXT_ANY(ctx);
    return dump_set(ctx, which, value, size_B);
}

CUresult drv_cuCoredumpSetAttributeGlobal(CUcoredumpSettings which, void *value, size_t *size_B)
{
    API_CALL(cuCoredumpSetAttributeGlobal);
    return dump_set(NULL, which, value, size_B);
}
