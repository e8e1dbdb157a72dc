/*
 * What kernels call of the CUDA runtime, under the names that relocatable PTX has for it
 * (spec/device_runtime.def). Included by cuda_device_runtime_api.h; the host's pass reads kernels, too.
 */
#ifndef HEDDLE_CUDA_DEVICE_RUNTIME_H
#define HEDDLE_CUDA_DEVICE_RUNTIME_H

#define __HEDDLE_CDP(result, name, ...)                                                            \
    __device__ result cuda##name(__VA_ARGS__) __asm__("__cudaCDP2" #name)

extern "C" {
__HEDDLE_CDP(cudaError_t, DeviceGetAttribute, int *value, enum cudaDeviceAttr attr, int device);
__HEDDLE_CDP(cudaError_t, DeviceGetLimit, size_t *pValue, enum cudaLimit limit);
__HEDDLE_CDP(cudaError_t, DeviceGetCacheConfig, enum cudaFuncCache *pCacheConfig);
__HEDDLE_CDP(cudaError_t, GetLastError, void);
__HEDDLE_CDP(cudaError_t, PeekAtLastError, void);
__HEDDLE_CDP(const char *, GetErrorString, cudaError_t error);
__HEDDLE_CDP(const char *, GetErrorName, cudaError_t error);
__HEDDLE_CDP(cudaError_t, GetDeviceCount, int *count);
__HEDDLE_CDP(cudaError_t, GetDevice, int *device);
__HEDDLE_CDP(cudaError_t, StreamCreateWithFlags, cudaStream_t *pStream, unsigned int flags);
__HEDDLE_CDP(cudaError_t, StreamDestroy, cudaStream_t stream);
__HEDDLE_CDP(cudaError_t, StreamWaitEvent, cudaStream_t stream, cudaEvent_t event,
             unsigned int flags = 0);
__HEDDLE_CDP(cudaError_t, EventCreateWithFlags, cudaEvent_t *event, unsigned int flags);
__HEDDLE_CDP(cudaError_t, EventRecord, cudaEvent_t event, cudaStream_t stream = 0);
__HEDDLE_CDP(cudaError_t, EventRecordWithFlags, cudaEvent_t event, cudaStream_t stream = 0,
             unsigned int flags = 0);
__HEDDLE_CDP(cudaError_t, EventDestroy, cudaEvent_t event);
__HEDDLE_CDP(cudaError_t, FuncGetAttributes, struct cudaFuncAttributes *attr, const void *func);
__HEDDLE_CDP(cudaError_t, Malloc, void **devPtr, size_t size);
__HEDDLE_CDP(cudaError_t, Free, void *devPtr);
__HEDDLE_CDP(cudaError_t, MemcpyAsync, void *dst, const void *src, size_t count,
             enum cudaMemcpyKind kind, cudaStream_t stream = 0);
__HEDDLE_CDP(cudaError_t, Memcpy2DAsync, void *dst, size_t dpitch, const void *src, size_t spitch,
             size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream = 0);
__HEDDLE_CDP(cudaError_t, Memcpy3DAsync, const struct cudaMemcpy3DParms *p,
             cudaStream_t stream = 0);
__HEDDLE_CDP(cudaError_t, MemsetAsync, void *devPtr, int value, size_t count,
             cudaStream_t stream = 0);
__HEDDLE_CDP(cudaError_t, Memset2DAsync, void *devPtr, size_t pitch, int value, size_t width,
             size_t height, cudaStream_t stream = 0);
__HEDDLE_CDP(cudaError_t, Memset3DAsync, struct cudaPitchedPtr pitchedDevPtr, int value,
             struct cudaExtent extent, cudaStream_t stream = 0);
__HEDDLE_CDP(cudaError_t, RuntimeGetVersion, int *runtimeVersion);
__HEDDLE_CDP(void *, GetParameterBuffer, size_t alignment, size_t size);
__HEDDLE_CDP(void *, GetParameterBufferV2, void *func, dim3 gridDimension, dim3 blockDimension,
             unsigned int sharedMemSize);
__HEDDLE_CDP(cudaError_t, LaunchDevice, void *func, void *parameterBuffer, dim3 gridDimension,
             dim3 blockDimension, unsigned int sharedMemSize, cudaStream_t stream);
__HEDDLE_CDP(cudaError_t, LaunchDeviceV2, void *parameterBuffer, cudaStream_t stream);
__HEDDLE_CDP(cudaError_t, OccupancyMaxActiveBlocksPerMultiprocessor, int *numBlocks,
             const void *func, int blockSize, size_t dynamicSmemSize);
__HEDDLE_CDP(cudaError_t, OccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *numBlocks,
             const void *func, int blockSize, size_t dynamicSmemSize, unsigned int flags);
}

template <class _Tp> static inline __device__ cudaError_t cudaMalloc(_Tp **devPtr, size_t size)
{
    return cudaMalloc((void **)devPtr, size);
}

template <class _Tp>
static inline __device__ cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attr, _Tp *entry)
{
    return cudaFuncGetAttributes(attr, (const void *)entry);
}

template <class _Tp>
static inline __device__ cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    int *numBlocks, _Tp func, int blockSize, size_t dynamicSmemSize)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(numBlocks, (const void *)func, blockSize,
                                                         dynamicSmemSize);
}

template <class _Tp>
static inline __device__ cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, _Tp func, int blockSize, size_t dynamicSmemSize, unsigned int flags)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks, (const void *)func, blockSize, dynamicSmemSize, flags);
}

#if defined(__HEDDLE_LAUNCHES_IN_KERNELS__)
#if !defined(__CUDA_ARCH__)
/* Never called: what the host's pass has of launches in device code (src/clang/launches.c). */
template <class... _Tp> __host__ __device__ bool __heddle_unlaunched(_Tp... args);
#else
extern "C" {
/*
 * What launches in device code become (src/clang/launches.c, launches_ir.c). A launch that has no
 * room for its arguments is none; its reason is the thread's last error.
 */
__host__ __device__ void __heddle_launched(dim3 grid, dim3 block, size_t shared_B = 0,
                                           cudaStream_t stream = 0);

__device__ __attribute__((used)) inline void *__heddle_launch_parameters(size_t size_B)
{
    return cudaGetParameterBuffer(64, size_B);
}

__device__ __attribute__((used)) inline void __heddle_launch(dim3 grid, dim3 block, size_t shared_B,
                                                             cudaStream_t stream, void *kernel,
                                                             void *parameters)
{
    if (parameters)
        (void)cudaLaunchDevice(kernel, parameters, grid, block, (unsigned int)shared_B, stream);
}
}

/* By its name the compiler's ending of internal kernels' names is known; it goes from IR. */
namespace {
__attribute__((global, nothrow)) void __heddle_sample_kernel(void)
{
}
} // namespace
#endif
#endif

#undef __HEDDLE_CDP

#endif
