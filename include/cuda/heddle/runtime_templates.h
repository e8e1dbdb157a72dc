/*
 * The C++ face of the runtime API: typed pointers, kernels and device variables as arguments, and
 * launches with checked argument lists. Each function does what its C namesake does.
 */
#ifndef HEDDLE_CUDA_RUNTIME_TEMPLATES_H
#define HEDDLE_CUDA_RUNTIME_TEMPLATES_H

#include "channel_descriptor.h"
#include "cuda_runtime_api.h"

#define HEDDLE_API template <class _Tp> static __inline__ __host__ cudaError_t

/* Memory. */
HEDDLE_API cudaMalloc(_Tp **ptr, size_t size)
{
    return ::cudaMalloc((void **)(void *)ptr, size);
}
HEDDLE_API cudaMallocHost(_Tp **ptr, size_t size, unsigned int flags = 0)
{
    return ::cudaHostAlloc((void **)(void *)ptr, size, flags);
}
HEDDLE_API cudaHostAlloc(_Tp **ptr, size_t size, unsigned int flags)
{
    return ::cudaHostAlloc((void **)(void *)ptr, size, flags);
}
HEDDLE_API cudaHostGetDevicePointer(_Tp **device, void *host, unsigned int flags)
{
    return ::cudaHostGetDevicePointer((void **)(void *)device, host, flags);
}
HEDDLE_API cudaMallocManaged(_Tp **ptr, size_t size, unsigned int flags = cudaMemAttachGlobal)
{
    return ::cudaMallocManaged((void **)(void *)ptr, size, flags);
}
HEDDLE_API cudaMallocPitch(_Tp **ptr, size_t *pitch, size_t width, size_t height)
{
    return ::cudaMallocPitch((void **)(void *)ptr, pitch, width, height);
}
HEDDLE_API cudaMallocAsync(_Tp **ptr, size_t size, cudaStream_t stream)
{
    return ::cudaMallocAsync((void **)(void *)ptr, size, stream);
}
HEDDLE_API cudaMallocAsync(_Tp **ptr, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync((void **)(void *)ptr, size, pool, stream);
}
HEDDLE_API cudaMallocFromPoolAsync(_Tp **ptr, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync((void **)(void *)ptr, size, pool, stream);
}
HEDDLE_API cudaStreamAttachMemAsync(cudaStream_t stream, _Tp *ptr, size_t length = 0,
                                    unsigned int flags = cudaMemAttachSingle)
{
    return ::cudaStreamAttachMemAsync(stream, (void *)ptr, length, flags);
}

/* Device variables are named by themselves: cudaMemcpyToSymbol(table, src, size). */
HEDDLE_API cudaMemcpyToSymbol(const _Tp &symbol, const void *src, size_t count, size_t offset = 0,
                              cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return ::cudaMemcpyToSymbol((const void *)&symbol, src, count, offset, kind);
}
HEDDLE_API cudaMemcpyToSymbolAsync(const _Tp &symbol, const void *src, size_t count,
                                   size_t offset = 0, cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                   cudaStream_t stream = 0)
{
    return ::cudaMemcpyToSymbolAsync((const void *)&symbol, src, count, offset, kind, stream);
}
HEDDLE_API cudaMemcpyFromSymbol(void *dst, const _Tp &symbol, size_t count, size_t offset = 0,
                                cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return ::cudaMemcpyFromSymbol(dst, (const void *)&symbol, count, offset, kind);
}
HEDDLE_API cudaMemcpyFromSymbolAsync(void *dst, const _Tp &symbol, size_t count, size_t offset = 0,
                                     cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                     cudaStream_t stream = 0)
{
    return ::cudaMemcpyFromSymbolAsync(dst, (const void *)&symbol, count, offset, kind, stream);
}
HEDDLE_API cudaGetSymbolAddress(void **ptr, const _Tp &symbol)
{
    return ::cudaGetSymbolAddress(ptr, (const void *)&symbol);
}
HEDDLE_API cudaGetSymbolAddress(_Tp **ptr, const void *symbol)
{
    return ::cudaGetSymbolAddress((void **)(void *)ptr, symbol);
}
template <class _Tp, class _Up>
static __inline__ __host__ cudaError_t cudaGetSymbolAddress(_Tp **ptr, const _Up &symbol)
{
    return ::cudaGetSymbolAddress((void **)(void *)ptr, (const void *)&symbol);
}
HEDDLE_API cudaGetSymbolSize(size_t *size, const _Tp &symbol)
{
    return ::cudaGetSymbolSize(size, (const void *)&symbol);
}

/* The same in graphs. */
HEDDLE_API cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t graph,
                                          const cudaGraphNode_t *dependencies, size_t n,
                                          const _Tp &symbol, const void *src, size_t count,
                                          size_t offset, cudaMemcpyKind kind)
{
    return ::cudaGraphAddMemcpyNodeToSymbol(node, graph, dependencies, n, (const void *)&symbol,
                                            src, count, offset, kind);
}
HEDDLE_API cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t graph,
                                            const cudaGraphNode_t *dependencies, size_t n,
                                            void *dst, const _Tp &symbol, size_t count,
                                            size_t offset, cudaMemcpyKind kind)
{
    return ::cudaGraphAddMemcpyNodeFromSymbol(node, graph, dependencies, n, dst,
                                              (const void *)&symbol, count, offset, kind);
}
HEDDLE_API cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const _Tp &symbol,
                                                const void *src, size_t count, size_t offset,
                                                cudaMemcpyKind kind)
{
    return ::cudaGraphMemcpyNodeSetParamsToSymbol(node, (const void *)&symbol, src, count, offset,
                                                  kind);
}
HEDDLE_API cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst,
                                                  const _Tp &symbol, size_t count, size_t offset,
                                                  cudaMemcpyKind kind)
{
    return ::cudaGraphMemcpyNodeSetParamsFromSymbol(node, dst, (const void *)&symbol, count, offset,
                                                    kind);
}
HEDDLE_API cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                    const _Tp &symbol, const void *src,
                                                    size_t count, size_t offset,
                                                    cudaMemcpyKind kind)
{
    return ::cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, node, (const void *)&symbol, src, count,
                                                      offset, kind);
}
HEDDLE_API cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                      void *dst, const _Tp &symbol, size_t count,
                                                      size_t offset, cudaMemcpyKind kind)
{
    return ::cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, node, dst, (const void *)&symbol,
                                                        count, offset, kind);
}

/* Kernels. */
HEDDLE_API cudaLaunchKernel(_Tp *func, dim3 grid, dim3 block, void **args, size_t shared_B = 0,
                            cudaStream_t stream = 0)
{
    return ::cudaLaunchKernel((const void *)func, grid, block, args, shared_B, stream);
}
HEDDLE_API cudaLaunchCooperativeKernel(_Tp *func, dim3 grid, dim3 block, void **args,
                                       size_t shared_B = 0, cudaStream_t stream = 0)
{
    return ::cudaLaunchCooperativeKernel((const void *)func, grid, block, args, shared_B, stream);
}
HEDDLE_API cudaFuncSetAttribute(_Tp *func, cudaFuncAttribute attr, int value)
{
    return ::cudaFuncSetAttribute((const void *)func, attr, value);
}
HEDDLE_API cudaFuncSetCacheConfig(_Tp *func, cudaFuncCache config)
{
    return ::cudaFuncSetCacheConfig((const void *)func, config);
}
HEDDLE_API cudaFuncSetSharedMemConfig(_Tp *func, cudaSharedMemConfig config)
{
    return ::cudaFuncSetSharedMemConfig((const void *)func, config);
}
HEDDLE_API cudaFuncGetAttributes(cudaFuncAttributes *attr, _Tp *func)
{
    return ::cudaFuncGetAttributes(attr, (const void *)func);
}
HEDDLE_API cudaFuncGetName(const char **name, _Tp *func)
{
    return ::cudaFuncGetName(name, (const void *)func);
}
HEDDLE_API cudaGetKernel(cudaKernel_t *kernel, _Tp *func)
{
    return ::cudaGetKernel(kernel, (const void *)func);
}
HEDDLE_API cudaGetFuncBySymbol(cudaFunction_t *function, _Tp *func)
{
    return ::cudaGetFuncBySymbol(function, (const void *)func);
}

/* Occupancy. */
HEDDLE_API cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *num_blocks, _Tp func, int block_size,
                                                         size_t dynamic_smem_B)
{
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        num_blocks, (const void *)func, block_size, dynamic_smem_B, cudaOccupancyDefault);
}
HEDDLE_API cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *num_blocks, _Tp func,
                                                                  int block_size,
                                                                  size_t dynamic_smem_B,
                                                                  unsigned int flags)
{
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        num_blocks, (const void *)func, block_size, dynamic_smem_B, flags);
}
HEDDLE_API cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamic_smem_B, _Tp *func,
                                                     int num_blocks, int block_size)
{
    return ::cudaOccupancyAvailableDynamicSMemPerBlock(dynamic_smem_B, (const void *)func,
                                                       num_blocks, block_size);
}
HEDDLE_API cudaOccupancyMaxPotentialClusterSize(int *cluster_size, _Tp *func,
                                                const cudaLaunchConfig_t *config)
{
    return ::cudaOccupancyMaxPotentialClusterSize(cluster_size, (const void *)func, config);
}
HEDDLE_API cudaOccupancyMaxActiveClusters(int *num_clusters, _Tp *func,
                                          const cudaLaunchConfig_t *config)
{
    return ::cudaOccupancyMaxActiveClusters(num_clusters, (const void *)func, config);
}

/*
 * The block size with the highest occupancy: tries every multiple of the warp size from the largest
 * down and keeps the first with the most resident threads. smem_of(block_size) gives the dynamic
 * shared memory; limit 0 means none.
 */
template <class _SmemOf, class _Tp>
static __inline__ __host__ cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
    int *min_grid_size, int *block_size, _Tp func, _SmemOf smem_of, int block_size_limit = 0,
    unsigned int flags = 0)
{
    int device, sm_count, warp, max_threads_sm, best_threads = 0, best_blocks = 0, best_size = 0;
    cudaFuncAttributes attr;
    cudaError_t err;
    if (!min_grid_size || !block_size || !func)
        return cudaErrorInvalidValue;
    if ((err = ::cudaGetDevice(&device)) != cudaSuccess ||
        (err = ::cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, device)) !=
            cudaSuccess ||
        (err = ::cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, device)) != cudaSuccess ||
        (err = ::cudaDeviceGetAttribute(&max_threads_sm, cudaDevAttrMaxThreadsPerMultiProcessor,
                                        device)) != cudaSuccess ||
        (err = ::cudaFuncGetAttributes(&attr, (const void *)func)) != cudaSuccess)
        return err;
    int limit = attr.maxThreadsPerBlock;
    if (block_size_limit > 0 && block_size_limit < limit)
        limit = block_size_limit;
    for (int size = limit; size > 0; size = (size - 1) / warp * warp) {
        int blocks = 0;
        err = ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, (const void *)func,
                                                                       size, smem_of(size), flags);
        if (err != cudaSuccess)
            return err;
        if (blocks * size > best_threads) {
            best_threads = blocks * size;
            best_blocks = blocks;
            best_size = size;
        }
        if (best_threads >= max_threads_sm)
            break;
    }
    *min_grid_size = best_blocks * sm_count;
    *block_size = best_size;
    return cudaSuccess;
}
template <class _SmemOf, class _Tp>
static __inline__ __host__ cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(
    int *min_grid_size, int *block_size, _Tp func, _SmemOf smem_of, int block_size_limit = 0)
{
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
        min_grid_size, block_size, func, smem_of, block_size_limit, cudaOccupancyDefault);
}
struct heddle_constant_smem {
    size_t size_B;
    size_t operator()(int) const
    {
        return size_B;
    }
};
HEDDLE_API cudaOccupancyMaxPotentialBlockSizeWithFlags(int *min_grid_size, int *block_size,
                                                       _Tp func, size_t dynamic_smem_B = 0,
                                                       int block_size_limit = 0,
                                                       unsigned int flags = 0)
{
    heddle_constant_smem smem = {dynamic_smem_B};
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(min_grid_size, block_size, func,
                                                                   smem, block_size_limit, flags);
}
HEDDLE_API cudaOccupancyMaxPotentialBlockSize(int *min_grid_size, int *block_size, _Tp func,
                                              size_t dynamic_smem_B = 0, int block_size_limit = 0)
{
    return cudaOccupancyMaxPotentialBlockSizeWithFlags(
        min_grid_size, block_size, func, dynamic_smem_B, block_size_limit, cudaOccupancyDefault);
}

#if __cplusplus >= 201103L
/* Launches with the kernel's own parameter types: arguments convert as in a call. */
template <class... _Params, class... _Args>
static __inline__ __host__ cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config,
                                                          void (*kernel)(_Params...),
                                                          _Args &&...args)
{
    return [&](_Params... converted) {
        void *list[sizeof...(_Params) + 1] = {(void *)&converted..., nullptr};
        return ::cudaLaunchKernelExC(config, (const void *)kernel, list);
    }(static_cast<_Args &&>(args)...);
}
#endif

/* C++ spellings kept from older releases. */
static __inline__ __host__ cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned int flags)
{
    return ::cudaEventCreateWithFlags(event, flags);
}
static __inline__ __host__ cudaError_t cudaMallocHost(void **ptr, size_t size, unsigned int flags)
{
    return ::cudaHostAlloc(ptr, size, flags);
}
static __inline__ __host__ cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec,
                                                            cudaGraph_t graph,
                                                            cudaGraphNode_t *error_node, char *log,
                                                            size_t log_B)
{
    if (error_node)
        *error_node = 0;
    if (log && log_B)
        log[0] = 0;
    return ::cudaGraphInstantiate(exec, graph, 0);
}
static __inline__ __host__ cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                                           cudaGraphNode_t *error_node,
                                                           cudaGraphExecUpdateResult *result)
{
    cudaGraphExecUpdateResultInfo info = {};
    cudaError_t error = ::cudaGraphExecUpdate(exec, graph, &info);
    if (error_node)
        *error_node = info.errorNode;
    if (result)
        *result = info.result;
    return error;
}

#undef HEDDLE_API

#endif
