/*
 * Attribute macros of CUDA C++: where a function runs, where a variable lives.
 * With clang's CUDA mode they are its attributes; for a plain host compiler they vanish, so that
 * headers shared between .cu and .c files work in both.
 */
#if !defined(HEDDLE_CUDA_HOST_DEFINES_H) && !defined(__HOST_DEFINES_H__)
#define HEDDLE_CUDA_HOST_DEFINES_H

/* By this name a toolkit's headers beside the program and these know of each other. */
#define __HOST_DEFINES_H__

#if defined(__CUDA__)
#define __host__     __attribute__((host))
#define __device__   __attribute__((device))
#define __global__   __attribute__((global))
#define __shared__   __attribute__((shared))
#define __constant__ __attribute__((constant))
/* The host's shadow is the variable: heddle/managed.h tells the runtime where they all are. */
#if defined(__CUDA_ARCH__)
#define __managed__ __attribute__((device))
#else
#define __managed__ __attribute__((device, section("heddle_managed")))
#endif
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
/* Parameters of a kernel are already constant and in parameter space: nothing to add. */
#define __grid_constant__
/* Clusters: whoever runs clang makes directives of the annotations. */
#define __cluster_dims__(...) __attribute__((annotate("heddle.cluster_dims", ##__VA_ARGS__)))
#define __block_size__(...)   __heddle_block_size(__VA_ARGS__, (1, 1, 1), )
#define __heddle_block_size(block, cluster, ...)                                                   \
    __attribute__((annotate("heddle.block_size", __heddle_sizes block),                            \
                   annotate("heddle.block_cluster", __heddle_sizes cluster)))
#define __heddle_sizes(...) __VA_ARGS__
#else
#define __cluster_dims__(...)
#define __block_size__(...)
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __launch_bounds__(...)
#define __grid_constant__
#endif

#define __no_return__   __attribute__((noreturn))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(n)    __attribute__((aligned(n)))
#define __thread__      __thread
#define __import__
#define __export__
#define __location__(a)
#define __maxnreg__(...)
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __builtin_align__(n) __align__(n)
#if !defined(CUDARTAPI)
#define CUDARTAPI
#endif
#define CUDARTAPI_CDECL
#if !defined(CUDART_CB)
#define CUDART_CB
#endif
#define __CUDA_HOSTDEVICE__ __host__ __device__

/* A toolkit's headers beside the program put uses of deprecated names between these. */
#define __NV_SILENCE_DEPRECATION_BEGIN                                                             \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wdeprecated-declarations\"")
#define __NV_SILENCE_DEPRECATION_END _Pragma("GCC diagnostic pop")

#endif
