/* Functions: attributes, occupancy, names. */
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

/* member of cudaFuncAttributes, attribute of the driver */
#define FUNC_ATTRIBUTES(X)                                                                         \
    X(sharedSizeBytes, SHARED_SIZE_BYTES)                                                          \
    X(constSizeBytes, CONST_SIZE_BYTES)                                                            \
    X(localSizeBytes, LOCAL_SIZE_BYTES)                                                            \
    X(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK)                                                   \
    X(numRegs, NUM_REGS)                                                                           \
    X(ptxVersion, PTX_VERSION)                                                                     \
    X(binaryVersion, BINARY_VERSION)                                                               \
    X(cacheModeCA, CACHE_MODE_CA)                                                                  \
    X(maxDynamicSharedSizeBytes, MAX_DYNAMIC_SHARED_SIZE_BYTES)                                    \
    X(preferredShmemCarveout, PREFERRED_SHARED_MEMORY_CARVEOUT)                                    \
    X(clusterDimMustBeSet, CLUSTER_SIZE_MUST_BE_SET)                                               \
    X(requiredClusterWidth, REQUIRED_CLUSTER_WIDTH)                                                \
    X(requiredClusterHeight, REQUIRED_CLUSTER_HEIGHT)                                              \
    X(requiredClusterDepth, REQUIRED_CLUSTER_DEPTH)                                                \
    X(clusterSchedulingPolicyPreference, CLUSTER_SCHEDULING_POLICY_PREFERENCE)                     \
    X(nonPortableClusterSizeAllowed, NON_PORTABLE_CLUSTER_SIZE_ALLOWED)

cudaError_t rt_cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
    CUfunction f;
    int value;
    if (!attr)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_function(func, &f));
    memset(attr, 0, sizeof(*attr));
#define X(member, name)                                                                            \
    RT_TRY(rt_result(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_##name, f)));                    \
    attr->member = (__typeof__(attr->member))value;
    FUNC_ATTRIBUTES(X)
#undef X
    return cudaSuccess;
}

cudaError_t rt_cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value)
{
    CUfunction f;
    RT_TRY(rt_function(func, &f));
    return rt_result(cuFuncSetAttribute(f, (CUfunction_attribute)attr, value));
}

cudaError_t rt_cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attr,
                                               int value, int device)
{
    CUkernel handle;
    RT_TRY(rt_enter());
    RT_TRY(rt_kernel(kernel, &handle));
    return rt_result(cuKernelSetAttribute((CUfunction_attribute)attr, value, handle, device));
}

cudaError_t rt_cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache cacheConfig)
{
    CUfunction f;
    RT_TRY(rt_function(func, &f));
    return rt_result(cuFuncSetCacheConfig(f, (CUfunc_cache)cacheConfig));
}

cudaError_t rt_cudaFuncSetSharedMemConfig(const void *func, enum cudaSharedMemConfig config)
{
    CUfunction f;
    RT_TRY(rt_function(func, &f));
    return rt_result(cuFuncSetSharedMemConfig(f, (CUsharedconfig)config));
}

cudaError_t rt_cudaFuncGetName(const char **name, const void *func)
{
    CUkernel kernel;
    RT_TRY(rt_enter());
    if (!name)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_kernel(func, &kernel));
    return rt_result(cuKernelGetName(name, kernel));
}

cudaError_t rt_cudaFuncGetParamInfo(const void *func, size_t paramIndex, size_t *paramOffset,
                                    size_t *paramSize)
{
    CUfunction f;
    RT_TRY(rt_function(func, &f));
    return rt_result(cuFuncGetParamInfo(f, paramIndex, paramOffset, paramSize));
}

cudaError_t rt_cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr)
{
    return functionPtr ? rt_function(symbolPtr, functionPtr) : rt_fail(cudaErrorInvalidValue);
}

cudaError_t rt_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func,
                                                             int blockSize, size_t dynamicSMemSize)
{
    CUfunction f;
    RT_TRY(rt_function(func, &f));
    return rt_result(
        cuOccupancyMaxActiveBlocksPerMultiprocessor(numBlocks, f, blockSize, dynamicSMemSize));
}

cudaError_t rt_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize, unsigned int flags)
{
    CUfunction f;
    RT_TRY(rt_function(func, &f));
    return rt_result(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, f, blockSize,
                                                                          dynamicSMemSize, flags));
}

cudaError_t rt_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, const void *func,
                                                         int numBlocks, int blockSize)
{
    CUfunction f;
    RT_TRY(rt_function(func, &f));
    return rt_result(
        cuOccupancyAvailableDynamicSMemPerBlock(dynamicSmemSize, f, numBlocks, blockSize));
}
