/*
 * Entry points of programs compiled with a default stream per thread: name_ptsz where the function
 * takes a stream, name_ptds where it is synchronous. Stream 0 means the thread's stream in them.
 */
#include "runtime.h"

/* A synchronous call: the asynchronous one on the thread's stream, then waiting for that. */
static cudaError_t wait(cudaError_t error)
{
    return error ? error : cudaStreamSynchronize(cudaStreamPerThread);
}

#define PTSZ(name, params, ...)                                                                    \
    cudaError_t name##_ptsz params;                                                                \
    RT_API(name##_ptsz) cudaError_t name##_ptsz params                                             \
    {                                                                                              \
        return name(__VA_ARGS__);                                                                  \
    }
#define PTDS(name, params, async_call)                                                             \
    cudaError_t name##_ptds params;                                                                \
    RT_API(name##_ptds) cudaError_t name##_ptds params                                             \
    {                                                                                              \
        return wait(async_call);                                                                   \
    }
#define S rt_per_thread(stream)

PTSZ(cudaMemcpyAsync,
     (void *dst, const void *src, size_t n, enum cudaMemcpyKind kind, cudaStream_t stream), dst,
     src, n, kind, S)
PTSZ(cudaMemcpy2DAsync,
     (void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
      enum cudaMemcpyKind kind, cudaStream_t stream),
     dst, dpitch, src, spitch, width, height, kind, S)
PTSZ(cudaMemcpy3DAsync, (const struct cudaMemcpy3DParms *p, cudaStream_t stream), p, S)
PTSZ(cudaMemcpyToSymbolAsync,
     (const void *symbol, const void *src, size_t n, size_t offset, enum cudaMemcpyKind kind,
      cudaStream_t stream),
     symbol, src, n, offset, kind, S)
PTSZ(cudaMemcpyFromSymbolAsync,
     (void *dst, const void *symbol, size_t n, size_t offset, enum cudaMemcpyKind kind,
      cudaStream_t stream),
     dst, symbol, n, offset, kind, S)
PTSZ(cudaMemsetAsync, (void *dst, int value, size_t n, cudaStream_t stream), dst, value, n, S)
PTSZ(cudaMemset2DAsync,
     (void *dst, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream), dst,
     pitch, value, width, height, S)
PTSZ(cudaMemset3DAsync,
     (struct cudaPitchedPtr dst, int value, struct cudaExtent extent, cudaStream_t stream), dst,
     value, extent, S)
PTSZ(cudaMallocAsync, (void **ptr, size_t n, cudaStream_t stream), ptr, n, S)
PTSZ(cudaFreeAsync, (void *ptr, cudaStream_t stream), ptr, S)
PTSZ(cudaStreamSynchronize, (cudaStream_t stream), S)
PTSZ(cudaStreamQuery, (cudaStream_t stream), S)
PTSZ(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags), S, event, flags)
PTSZ(cudaStreamAddCallback,
     (cudaStream_t stream, cudaStreamCallback_t func, void *arg, unsigned flags), S, func, arg,
     flags)
PTSZ(cudaStreamAttachMemAsync, (cudaStream_t stream, void *ptr, size_t n, unsigned flags), S, ptr,
     n, flags)
PTSZ(cudaStreamGetFlags, (cudaStream_t stream, unsigned *flags), S, flags)
PTSZ(cudaStreamGetPriority, (cudaStream_t stream, int *priority), S, priority)
PTSZ(cudaStreamGetId, (cudaStream_t stream, unsigned long long *id), S, id)
PTSZ(cudaStreamGetDevice, (cudaStream_t stream, int *device), S, device)
PTSZ(cudaStreamIsCapturing, (cudaStream_t stream, enum cudaStreamCaptureStatus *status), S, status)
PTSZ(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), event, S)
PTSZ(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned flags), event, S,
     flags)
PTSZ(cudaGetDriverEntryPoint,
     (const char *symbol, void **func, unsigned long long flags,
      enum cudaDriverEntryPointQueryResult *status),
     symbol, func, flags ? flags : cudaEnablePerThreadDefaultStream, status)
PTSZ(cudaGetDriverEntryPointByVersion,
     (const char *symbol, void **func, unsigned version, unsigned long long flags,
      enum cudaDriverEntryPointQueryResult *status),
     symbol, func, version, flags ? flags : cudaEnablePerThreadDefaultStream, status)

PTDS(cudaMemcpy, (void *dst, const void *src, size_t n, enum cudaMemcpyKind kind),
     cudaMemcpyAsync(dst, src, n, kind, cudaStreamPerThread))
PTDS(cudaMemcpy2D,
     (void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
      enum cudaMemcpyKind kind),
     cudaMemcpy2DAsync(dst, dpitch, src, spitch, width, height, kind, cudaStreamPerThread))
PTDS(cudaMemcpy3D, (const struct cudaMemcpy3DParms *p), cudaMemcpy3DAsync(p, cudaStreamPerThread))
PTDS(cudaMemcpyToSymbol,
     (const void *symbol, const void *src, size_t n, size_t offset, enum cudaMemcpyKind kind),
     cudaMemcpyToSymbolAsync(symbol, src, n, offset, kind, cudaStreamPerThread))
PTDS(cudaMemcpyFromSymbol,
     (void *dst, const void *symbol, size_t n, size_t offset, enum cudaMemcpyKind kind),
     cudaMemcpyFromSymbolAsync(dst, symbol, n, offset, kind, cudaStreamPerThread))
PTDS(cudaMemset, (void *dst, int value, size_t n),
     cudaMemsetAsync(dst, value, n, cudaStreamPerThread))
PTDS(cudaMemset2D, (void *dst, size_t pitch, int value, size_t width, size_t height),
     cudaMemset2DAsync(dst, pitch, value, width, height, cudaStreamPerThread))
PTDS(cudaMemset3D, (struct cudaPitchedPtr dst, int value, struct cudaExtent extent),
     cudaMemset3DAsync(dst, value, extent, cudaStreamPerThread))
