/*
 * A thread's pipeline of asynchronous copies, as the class of cuda_pipeline_primitives.h's functions:
 * nvcuda::experimental::pipeline. New programs use cuda::pipeline of libcu++ (<cuda/pipeline>).
 */
#ifndef HEDDLE_CUDA_PIPELINE_H
#define HEDDLE_CUDA_PIPELINE_H

/* By this name a toolkit's headers beside the program know that they are not needed any more. */
#define _CUDA_PIPELINE_H_

#include "cuda_pipeline_primitives.h"

#if defined(__CUDA__) && defined(__cplusplus)

#include "cuda_awbarrier.h"

namespace nvcuda {
namespace experimental {

class pipeline {
  public:
    __device__ pipeline() : batch(0)
    {
    }
    pipeline(const pipeline &) = delete;
    pipeline &operator=(const pipeline &) = delete;

    /* Closes a batch and returns its number. */
    __device__ size_t commit()
    {
        __pipeline_commit();
        return batch++;
    }
    __device__ void commit_and_wait()
    {
        (void)commit();
        wait_prior<0>();
    }
    /* Waits for the batch of this number and all before it. */
    __device__ void wait(size_t number)
    {
        __pipeline_wait_prior(batch > number ? batch - number - 1 : 0);
    }
    template <unsigned int _Prior> __device__ void wait_prior()
    {
        __pipeline_wait_prior(_Prior);
    }
    __device__ void arrive_on(awbarrier &barrier)
    {
        __pipeline_arrive_on(&barrier.heddle_word);
    }

  private:
    size_t batch;
};

/* Copies an object; sizes and alignments that have no instruction are copied at once. */
template <class _Tp>
__device__ __forceinline__ void memcpy_async(_Tp &dst, const _Tp &src, pipeline &)
{
    static_assert(__is_trivially_copyable(_Tp), "memcpy_async() copies bytes");
    constexpr size_t align = alignof(_Tp) >= 16 ? 16 : alignof(_Tp);
    if (align < 4 || sizeof(_Tp) % align || !__isShared(&dst) || !__isGlobal(&src)) {
        dst = src;
        return;
    }
    for (size_t at = 0; at < sizeof(_Tp); at += align)
        __pipeline_memcpy_async((char *)&dst + at, (const char *)&src + at, align);
}
template <class _Tp, size_t _Dst, size_t _Src>
__device__ __forceinline__ void memcpy_async(_Tp (&dst)[_Dst], const _Tp (&src)[_Src],
                                             pipeline &pipe)
{
    static_assert(_Src <= _Dst, "the destination is as large as the source");
    for (size_t i = 0; i < _Src; i++)
        memcpy_async(dst[i], src[i], pipe);
}

} // namespace experimental
} // namespace nvcuda

#endif

#endif
