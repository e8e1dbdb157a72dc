/*
 * In front of Thrust's own header, which it includes. Without relocatable code Thrust's algorithms are
 * sequential when a kernel calls them, but name the parallel ones in dead code of the same function,
 * so that nvcc compiles their kernels. clang makes an error of every name of a host's function in a
 * function that it emits for the device. Here the dead code is a lambda's, which is never emitted.
 */
#pragma GCC system_header
#include_next <thrust/system/cuda/detail/cdp_dispatch.h>

#if defined(__CUDA_ARCH__) && defined(THRUST_CDP_DISPATCH)
#if !defined(HEDDLE_CUDA_CDP_DISPATCH_H)
#define HEDDLE_CUDA_CDP_DISPATCH_H
/* What the algorithms return, whatever that is. */
struct __heddle_any {
    template <class... _Tp> __host__ __device__ __heddle_any(const _Tp &...);
};
#endif
#undef THRUST_CDP_DISPATCH
#define THRUST_CDP_DISPATCH(par_impl, seq_impl)                                                    \
    if (false) {                                                                                   \
        auto __heddle_never = [&]() -> __heddle_any { NV_IF_TARGET(NV_ANY_TARGET, par_impl); };    \
        (void)__heddle_never;                                                                      \
    }                                                                                              \
    NV_IF_TARGET(NV_IS_HOST, par_impl, seq_impl)
#endif
