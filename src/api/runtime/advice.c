/* Ranges of managed memory, and batches. The runtime's structures and numbers are the driver's. */
#include "runtime.h"

_Static_assert(sizeof(struct cudaMemLocation) == sizeof(CUmemLocation) &&
                   sizeof(struct cudaMemcpyAttributes) == sizeof(CUmemcpyAttributes) &&
                   sizeof(struct cudaMemcpy3DBatchOp) == sizeof(CUDA_MEMCPY3D_BATCH_OP),
               "same layout");

cudaError_t rt_cudaMemRangeGetAttribute(void *data, size_t dataSize,
                                        enum cudaMemRangeAttribute attribute, const void *devPtr,
                                        size_t count)
{
    RT_CALL(cuMemRangeGetAttribute(data, dataSize, (CUmem_range_attribute)attribute, rt_va(devPtr),
                                   count));
}

cudaError_t rt_cudaMemRangeGetAttributes(void **data, size_t *dataSizes,
                                         enum cudaMemRangeAttribute *attributes,
                                         size_t numAttributes, const void *devPtr, size_t count)
{
    RT_CALL(cuMemRangeGetAttributes(data, dataSizes, (CUmem_range_attribute *)attributes,
                                    numAttributes, rt_va(devPtr), count));
}

cudaError_t rt_cudaMemPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                         struct cudaMemLocation *prefetchLocs,
                                         size_t *prefetchLocIdxs, size_t numPrefetchLocs,
                                         unsigned long long flags, cudaStream_t stream)
{
    RT_CALL(cuMemPrefetchBatchAsync((CUdeviceptr *)(void *)dptrs, sizes, count,
                                    (CUmemLocation *)prefetchLocs, prefetchLocIdxs, numPrefetchLocs,
                                    flags, stream));
}

cudaError_t rt_cudaMemDiscardAndPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                                   struct cudaMemLocation *prefetchLocs,
                                                   size_t *prefetchLocIdxs, size_t numPrefetchLocs,
                                                   unsigned long long flags, cudaStream_t stream)
{
    RT_CALL(cuMemDiscardAndPrefetchBatchAsync((CUdeviceptr *)(void *)dptrs, sizes, count,
                                              (CUmemLocation *)prefetchLocs, prefetchLocIdxs,
                                              numPrefetchLocs, flags, stream));
}

cudaError_t rt_cudaMemDiscardBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                        unsigned long long flags, cudaStream_t stream)
{
    RT_CALL(cuMemDiscardBatchAsync((CUdeviceptr *)(void *)dptrs, sizes, count, flags, stream));
}

cudaError_t rt_cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs, const size_t *sizes,
                                    size_t count, struct cudaMemcpyAttributes *attrs,
                                    size_t *attrsIdxs, size_t numAttrs, cudaStream_t stream)
{
    RT_CALL(cuMemcpyBatchAsync_v2((CUdeviceptr *)(uintptr_t)dsts, (CUdeviceptr *)(uintptr_t)srcs,
                                  (size_t *)(uintptr_t)sizes, count, (CUmemcpyAttributes *)attrs,
                                  attrsIdxs, numAttrs, stream));
}

cudaError_t rt12_cudaMemcpyBatchAsync(void **dsts, void **srcs, size_t *sizes, size_t count,
                                      struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs,
                                      size_t numAttrs, size_t *failIdx, cudaStream_t stream)
{
    RT_CALL(cuMemcpyBatchAsync((CUdeviceptr *)(void *)dsts, (CUdeviceptr *)(void *)srcs, sizes,
                               count, (CUmemcpyAttributes *)attrs, attrsIdxs, numAttrs, failIdx,
                               stream));
}

cudaError_t rt_cudaMemcpy3DBatchAsync(size_t numOps, struct cudaMemcpy3DBatchOp *opList,
                                      unsigned long long flags, cudaStream_t stream)
{
    RT_CALL(
        cuMemcpy3DBatchAsync_v2(numOps, (CUDA_MEMCPY3D_BATCH_OP *)(void *)opList, flags, stream));
}

cudaError_t rt12_cudaMemcpy3DBatchAsync(size_t numOps, struct cudaMemcpy3DBatchOp *opList,
                                        size_t *failIdx, unsigned long long flags,
                                        cudaStream_t stream)
{
    RT_CALL(cuMemcpy3DBatchAsync(numOps, (CUDA_MEMCPY3D_BATCH_OP *)(void *)opList, failIdx, flags,
                                 stream));
}
