/*
 * Barriers that threads arrive at and wait for apart, as a class: nvcuda::experimental::awbarrier. New programs use
 * cuda::barrier of libcu++ (<cuda/barrier>).
 */
#ifndef HEDDLE_CUDA_AWBARRIER_H
#define HEDDLE_CUDA_AWBARRIER_H

/* By this name a toolkit's headers beside the program know that they are not needed any more. */
#define _CUDA_AWBARRIER_H_

#include "cuda_awbarrier_primitives.h"

#if defined(__CUDA__) && defined(__cplusplus)

namespace nvcuda {
namespace experimental {

/* In shared memory, begun by one thread's init() that the others wait for. */
class awbarrier {
  public:
    class arrival_token {
      public:
        arrival_token() = default;
        __device__ uint32_t pending_count() const
        {
            return __mbarrier_token_pending_count(heddle_token);
        }
        __mbarrier_token_t heddle_token;
    };

    awbarrier() = default;
    awbarrier(const awbarrier &) = delete;
    awbarrier &operator=(const awbarrier &) = delete;

    __device__ arrival_token arrive()
    {
        arrival_token token;
        token.heddle_token = __mbarrier_arrive(&heddle_word);
        return token;
    }
    __device__ arrival_token arrive_and_drop()
    {
        arrival_token token;
        token.heddle_token = __mbarrier_arrive_and_drop(&heddle_word);
        return token;
    }
    __device__ bool timed_wait(arrival_token token, uint32_t hint_cycles)
    {
        return __mbarrier_try_wait(&heddle_word, token.heddle_token, hint_cycles);
    }
    __device__ bool timed_wait_parity(bool phase, uint32_t hint_cycles)
    {
        return __mbarrier_try_wait_parity(&heddle_word, phase, hint_cycles);
    }
    __device__ void wait(arrival_token token)
    {
        while (!__mbarrier_test_wait(&heddle_word, token.heddle_token))
            ;
    }
    __device__ void arrive_and_wait()
    {
        wait(arrive());
    }
    __device__ bool try_wait(arrival_token token, uint32_t max_sleep_nanosec)
    {
        return __mbarrier_try_wait(&heddle_word, token.heddle_token, max_sleep_nanosec);
    }
    __device__ bool try_wait_parity(bool phase_parity, uint32_t max_sleep_nanosec)
    {
        return __mbarrier_try_wait_parity(&heddle_word, phase_parity, max_sleep_nanosec);
    }
    static __device__ constexpr uint32_t max()
    {
        return (1u << 20) - 1;
    }

    __mbarrier_t heddle_word;
};

static __device__ __forceinline__ void init(awbarrier *barrier, uint32_t expected_count)
{
    __mbarrier_init(&barrier->heddle_word, expected_count);
}

} // namespace experimental
} // namespace nvcuda

#endif

#endif
