/*
 * Built-ins of compute capability 7.0 in terms of the ones that clang's __clang_cuda_intrinsics.h
 * has just defined; that header includes this file by name.
 */
#ifndef HEDDLE_CUDA_CRT_SM_70_RT_HPP
#define HEDDLE_CUDA_CRT_SM_70_RT_HPP

#define HEDDLE_MATCH(type, bits, as)                                                               \
    static __device__ __forceinline__ unsigned int __match_any_sync(unsigned int mask, type value) \
    {                                                                                              \
        as word;                                                                                   \
        __builtin_memcpy(&word, &value, sizeof word);                                              \
        return __match##bits##_any_sync(mask, word);                                               \
    }                                                                                              \
    static __device__ __forceinline__ unsigned int __match_all_sync(unsigned int mask, type value, \
                                                                    int *pred)                     \
    {                                                                                              \
        as word;                                                                                   \
        __builtin_memcpy(&word, &value, sizeof word);                                              \
        return __match##bits##_all_sync(mask, word, pred);                                         \
    }

HEDDLE_MATCH(int, 32, unsigned int)
HEDDLE_MATCH(unsigned int, 32, unsigned int)
HEDDLE_MATCH(float, 32, unsigned int)
HEDDLE_MATCH(long, 64, unsigned long long)
HEDDLE_MATCH(unsigned long, 64, unsigned long long)
HEDDLE_MATCH(long long, 64, unsigned long long)
HEDDLE_MATCH(unsigned long long, 64, unsigned long long)
HEDDLE_MATCH(double, 64, unsigned long long)

#undef HEDDLE_MATCH

static __device__ __forceinline__ void __nanosleep(unsigned int ns)
{
    __asm__ __volatile__("nanosleep.u32 %0;" ::"r"(ns));
}

#endif
