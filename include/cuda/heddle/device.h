/*
 * The device side of CUDA C++ for clang: built-in variables, maths, atomics, warp operations.
 *
 * cuda_runtime.h includes this file when clang compiles CUDA. What the compiler's own headers
 * (__clang_cuda_*.h, in its resource directory) provide is taken from there; the headers of this
 * folder add what those expect from an SDK. Maths ends in calls of __nv_* functions, which come
 * from heddle-libdevice.bc at compile time (`heddle cc`) or from Heddle's loader.
 *
 * The order is fixed: clang's forward declarations of the device overloads of sin(), abs() ... must
 * precede <cmath>, and everything below needs vector types.
 */
#ifndef HEDDLE_CUDA_DEVICE_H
#define HEDDLE_CUDA_DEVICE_H

#include <__clang_cuda_math_forward_declares.h>

/* libstdc++ leaves out __float128, which no device has, when it sees this. */
#if !defined(__CUDACC__)
#define __CUDACC__ 1
#endif
#if defined(__CLANG_RDC__)
#define __CUDACC_RDC__ 1
#endif
/* nvcc has __float128 on devices from sm_100 on, as CCCL knows; clang has it on none. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000 && !defined(CCCL_DISABLE_FLOAT128_SUPPORT)
#define CCCL_DISABLE_FLOAT128_SUPPORT
#endif

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <cmath>
#include <cstdlib>

#include "cuda_version.h"
#include "host_defines.h"
#include "vector_types.h"
#include "vector_functions.h"

/* clang's <new> wrapper looks for device allocation functions. */
extern "C" {
__device__ int vprintf(const char *format, const char *arguments);
__device__ int printf(const char *format, ...);
__device__ void free(void *ptr) __attribute__((nothrow));
__device__ void *malloc(size_t size_B) __attribute__((nothrow, malloc));
__device__ void __assertfail(const char *message, const char *file, unsigned int line,
                             const char *function, size_t char_B);
/*
 * What assert() of the C library expands to. Where that is off libcu++ declares one of its own, for
 * nvcc on both sides; it is in the device library then.
 */
#if !defined(NDEBUG) || !defined(__NVCC__)
__device__ static inline void __assert_fail(const char *message, const char *file,
                                            unsigned int line, const char *function)
{
    __assertfail(message, file, line, function, sizeof(char));
}
#endif
}

/*
 * What constexpr members of the C++ library call when they fail: std::array::at(),
 * std::optional::value(). nvcc takes such calls of the host's functions and leaves them out.
 */
namespace std {
#define HEDDLE_THROW(name, parameters)                                                             \
    [[noreturn]] __device__ static inline void __throw_##name parameters                           \
    {                                                                                              \
        __builtin_trap();                                                                          \
    }
HEDDLE_THROW(bad_alloc, ())
HEDDLE_THROW(bad_array_new_length, ())
HEDDLE_THROW(bad_cast, ())
HEDDLE_THROW(bad_optional_access, ())
HEDDLE_THROW(bad_function_call, ())
HEDDLE_THROW(bad_variant_access, (const char *))
HEDDLE_THROW(bad_variant_access, (bool))
HEDDLE_THROW(domain_error, (const char *))
HEDDLE_THROW(invalid_argument, (const char *))
HEDDLE_THROW(length_error, (const char *))
HEDDLE_THROW(logic_error, (const char *))
HEDDLE_THROW(out_of_range, (const char *))
HEDDLE_THROW(overflow_error, (const char *))
HEDDLE_THROW(range_error, (const char *))
HEDDLE_THROW(runtime_error, (const char *))
HEDDLE_THROW(underflow_error, (const char *))
/* Not variadic: the device has no such functions. */
template <typename... _Args> HEDDLE_THROW(out_of_range_fmt, (const char *, _Args...))
#undef HEDDLE_THROW
} // namespace std

namespace std {
__device__ static inline void free(void *ptr)
{
    ::free(ptr);
}
__device__ static inline void *malloc(size_t size_B)
{
    return ::malloc(size_B);
}
} // namespace std

/*
 * The built-in variables, of the types that CUDA gives them. In the compiler's own header they are
 * objects of other types. Who runs clang makes reads of special registers of them (src/clang).
 */
#define __CUDA_BUILTIN_VARS_H
#define __DEVICE_LAUNCH_PARAMETERS_H__
#define HEDDLE_BUILTIN_VAR extern const __device__ __attribute__((weak))
HEDDLE_BUILTIN_VAR uint3 threadIdx;
HEDDLE_BUILTIN_VAR uint3 blockIdx;
HEDDLE_BUILTIN_VAR dim3 blockDim;
HEDDLE_BUILTIN_VAR dim3 gridDim;
#undef HEDDLE_BUILTIN_VAR
__device__ const int warpSize = 32;

#include <__clang_cuda_libdevice_declares.h>
#include <__clang_cuda_device_functions.h>
#include <__clang_cuda_math.h>

/* Address spaces: which one a generic pointer names, and conversions. */
typedef __UINT32_TYPE__ cuuint32_t;
typedef __UINT64_TYPE__ cuuint64_t; /* unsigned long, as uint64_t */
#define HEDDLE_ADDRESS_SPACE(Name, name, num)                                                      \
    static __device__ __forceinline__                                                              \
        __attribute__((const)) unsigned int __is##Name(const void *ptr)                            \
    {                                                                                              \
        return __nvvm_isspacep_##name(ptr);                                                        \
    }
HEDDLE_ADDRESS_SPACE(Global, global, 1)
HEDDLE_ADDRESS_SPACE(Shared, shared, 3)
HEDDLE_ADDRESS_SPACE(Constant, const, 4)
HEDDLE_ADDRESS_SPACE(Local, local, 5)
#undef HEDDLE_ADDRESS_SPACE
static __device__ __forceinline__ __attribute__((const)) unsigned int
__isGridConstant(const void *ptr)
{
    unsigned int is;
    __asm__("{ .reg .pred p; isspacep.param p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(is) : "l"(ptr));
    return is;
}
#define HEDDLE_CVTA(name, num)                                                                     \
    static __device__ __forceinline__ size_t __cvta_generic_to_##name(const void *ptr)             \
    {                                                                                              \
        return (size_t)(__attribute__((address_space(num))) const void *)ptr;                      \
    }                                                                                              \
    static __device__ __forceinline__ void *__cvta_##name##_to_generic(size_t raw)                 \
    {                                                                                              \
        return (void *)(__attribute__((address_space(num))) void *)raw;                            \
    }
HEDDLE_CVTA(global, 1)
HEDDLE_CVTA(shared, 3)
HEDDLE_CVTA(constant, 4)
HEDDLE_CVTA(local, 5)
#undef HEDDLE_CVTA

#include <__clang_cuda_cmath.h>
/* clang 19 gives these the mask in front of the value, which they take the other way around. */
#define __nvvm_redux_sync_add(mask, value)  __nvvm_redux_sync_add(value, mask)
#define __nvvm_redux_sync_umin(mask, value) __nvvm_redux_sync_umin(value, mask)
#define __nvvm_redux_sync_umax(mask, value) __nvvm_redux_sync_umax(value, mask)
#define __nvvm_redux_sync_min(mask, value)  __nvvm_redux_sync_min(value, mask)
#define __nvvm_redux_sync_max(mask, value)  __nvvm_redux_sync_max(value, mask)
#define __nvvm_redux_sync_or(mask, value)   __nvvm_redux_sync_or(value, mask)
#define __nvvm_redux_sync_and(mask, value)  __nvvm_redux_sync_and(value, mask)
#define __nvvm_redux_sync_xor(mask, value)  __nvvm_redux_sync_xor(value, mask)
/* Those of float2 and float4 it has may be moved and dropped: heddle/device_atomics.h has others. */
#define atomicAdd        heddle_clang_atomicAdd
#define atomicAdd_block  heddle_clang_atomicAdd_block
#define atomicAdd_system heddle_clang_atomicAdd_system
#include <__clang_cuda_intrinsics.h>
#undef atomicAdd
#undef atomicAdd_block
#undef atomicAdd_system
#undef __nvvm_redux_sync_add
#undef __nvvm_redux_sync_umin
#undef __nvvm_redux_sync_umax
#undef __nvvm_redux_sync_min
#undef __nvvm_redux_sync_max
#undef __nvvm_redux_sync_or
#undef __nvvm_redux_sync_and
#undef __nvvm_redux_sync_xor
#include <__clang_cuda_complex_builtins.h>

#include "heddle/device_atomics.h"
#include "heddle/device_atomic_builtins.h"
#include "heddle/device_memory.h"
#include "heddle/device_integer.h"

/*
 * What nvcc says of lambdas with execution spaces. Those of clang are closures like any other, whose
 * return type host code can ask for: none is what nvcc calls extended.
 */
template <class _Tp> struct heddle_lambda {
    static constexpr bool is_extended = false;
};
#define __nv_is_extended_device_lambda_closure_type(...) heddle_lambda<__VA_ARGS__>::is_extended
#define __nv_is_extended_host_device_lambda_closure_type(...)                                      \
    heddle_lambda<__VA_ARGS__>::is_extended
#define __nv_is_extended_device_lambda_with_preserved_return_type(...)                             \
    heddle_lambda<__VA_ARGS__>::is_extended

/* Device operator new and delete; clang's wrapper waits for the declarations above. */
#include <new>

#endif
