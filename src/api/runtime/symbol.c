/* Device variables by the address of their host shadow. */
#include "runtime.h"

#include <assert.h>

cudaError_t rt_symbol_range(const void *symbol, size_t offset, size_t count, void **out_ptr)
{
    CUdeviceptr ptr;
    size_t size_B;
    *out_ptr = NULL;
    RT_TRY(rt_symbol(symbol, &ptr, &size_B));
    if (offset > size_B || count > size_B - offset)
        return rt_fail(cudaErrorInvalidValue);
    assert(ptr || !size_B);
    *out_ptr = (void *)(uintptr_t)(ptr + offset);
    return cudaSuccess;
}

static bool to_device(enum cudaMemcpyKind kind)
{
    return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ||
           kind == cudaMemcpyDefault;
}

static bool from_device(enum cudaMemcpyKind kind)
{
    return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ||
           kind == cudaMemcpyDefault;
}

cudaError_t rt_cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
    return devPtr ? rt_symbol_range(symbol, 0, 0, devPtr) : rt_fail(cudaErrorInvalidValue);
}

cudaError_t rt_cudaGetSymbolSize(size_t *size, const void *symbol)
{
    CUdeviceptr ptr;
    return size ? rt_symbol(symbol, &ptr, size) : rt_fail(cudaErrorInvalidValue);
}

cudaError_t rt_cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count, size_t offset,
                                  enum cudaMemcpyKind kind, CUstream null_stream)
{
    void *dst;
    if (null_stream)
        return rt_wait(rt_cudaMemcpyToSymbolAsync(symbol, src, count, offset, kind, null_stream),
                       null_stream);
    RT_TRY(rt_symbol_range(symbol, offset, count, &dst));
    return to_device(kind) ? rt_copy(dst, src, count, kind)
                           : rt_fail(cudaErrorInvalidMemcpyDirection);
}

cudaError_t rt_cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count,
                                       size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    void *dst;
    RT_TRY(rt_symbol_range(symbol, offset, count, &dst));
    return to_device(kind) ? rt_copy_async(dst, src, count, kind, stream)
                           : rt_fail(cudaErrorInvalidMemcpyDirection);
}

cudaError_t rt_cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset,
                                    enum cudaMemcpyKind kind, CUstream null_stream)
{
    void *src;
    if (null_stream)
        return rt_wait(rt_cudaMemcpyFromSymbolAsync(dst, symbol, count, offset, kind, null_stream),
                       null_stream);
    RT_TRY(rt_symbol_range(symbol, offset, count, &src));
    return from_device(kind) ? rt_copy(dst, src, count, kind)
                             : rt_fail(cudaErrorInvalidMemcpyDirection);
}

cudaError_t rt_cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count, size_t offset,
                                         enum cudaMemcpyKind kind, cudaStream_t stream)
{
    void *src;
    RT_TRY(rt_symbol_range(symbol, offset, count, &src));
    return from_device(kind) ? rt_copy_async(dst, src, count, kind, stream)
                             : rt_fail(cudaErrorInvalidMemcpyDirection);
}
