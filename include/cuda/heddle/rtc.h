/*
 * What NVRTC predefines, for clang: device code without a host, and so without a host's headers.
 * libnvrtc includes this file in front of every program, with rtc/ on the search path: the few
 * standard headers that the compiler's own device headers ask for.
 *
 * At its end the compiler stops calling itself clang or GCC, as NVRTC's front end is none: libraries
 * (libcu++, Jitify) choose what they do by these names and by __CUDACC_RTC__.
 */
#ifndef HEDDLE_CUDA_RTC_H
#define HEDDLE_CUDA_RTC_H

/* NVRTC's namespace std is the program's, which may fill it; that of the headers below is another. */
#define std heddle_std
#include "heddle/device.h"
#include "device_types.h"
#include "texture_types.h"
#include "surface_types.h"
#include "channel_descriptor.h"
#include "heddle/math_overloads.h"
#include "heddle/device_builtins.h"
#include "texture_indirect_functions.h"
#include "surface_indirect_functions.h"
#if defined(__CUDACC_RDC__)
#include "cuda_device_runtime_api.h"
#endif
#undef std
#include "heddle/rtc_target.h"

/* What NVRTC does have in it, unless options say otherwise. */
namespace std {
#if !defined(HEDDLE_RTC_NO_MOVE_FORWARD)
template <class _Tp> struct heddle_plain {
    using type = _Tp;
};
template <class _Tp> struct heddle_plain<_Tp &> {
    using type = _Tp;
};
template <class _Tp> struct heddle_plain<_Tp &&> {
    using type = _Tp;
};
template <class _Tp>
__host__ __device__ constexpr typename heddle_plain<_Tp>::type &&move(_Tp &&value) noexcept
{
    return static_cast<typename heddle_plain<_Tp>::type &&>(value);
}
template <class _Tp>
__host__ __device__ constexpr _Tp &&forward(typename heddle_plain<_Tp>::type &value) noexcept
{
    return static_cast<_Tp &&>(value);
}
template <class _Tp>
__host__ __device__ constexpr _Tp &&forward(typename heddle_plain<_Tp>::type &&value) noexcept
{
    return static_cast<_Tp &&>(value);
}
#endif
#if !defined(HEDDLE_RTC_NO_INITIALIZER_LIST)
#define __NV_BUILTIN_INITIALIZER_LIST 1
template <class _Tp> class initializer_list {
    const _Tp *first;
    size_t count;

  public:
    using value_type = _Tp;
    using reference = const _Tp &;
    using const_reference = const _Tp &;
    using size_type = size_t;
    using iterator = const _Tp *;
    using const_iterator = const _Tp *;
    __host__ __device__ constexpr initializer_list() noexcept : first(nullptr), count(0)
    {
    }
    __host__ __device__ constexpr size_t size() const noexcept
    {
        return count;
    }
    __host__ __device__ constexpr const _Tp *begin() const noexcept
    {
        return first;
    }
    __host__ __device__ constexpr const _Tp *end() const noexcept
    {
        return first + count;
    }
};
#endif
} // namespace std

/* NVRTC knows these without a header. */
typedef long clock_t;

/* Macros of the C library: programs define their own, or include its headers, which come again. */
#undef CHAR_BIT
#undef CHAR_MIN
#undef CHAR_MAX
#undef SCHAR_MIN
#undef SCHAR_MAX
#undef UCHAR_MAX
#undef SHRT_MIN
#undef SHRT_MAX
#undef USHRT_MAX
#undef INT_MIN
#undef INT_MAX
#undef UINT_MAX
#undef LONG_MIN
#undef LONG_MAX
#undef ULONG_MAX
#undef LLONG_MIN
#undef LLONG_MAX
#undef ULLONG_MAX
#undef INFINITY
#undef NAN
#undef HUGE_VAL
#undef HUGE_VALF
#undef HUGE_VALL
#undef FP_NAN
#undef FP_INFINITE
#undef FP_ZERO
#undef FP_SUBNORMAL
#undef FP_NORMAL
#undef HEDDLE_RTC_LIMITS_H

#undef __GNUC__
#undef __GNUC_MINOR__
#undef __GNUC_PATCHLEVEL__
#undef __GNUG__
#undef __clang__
#undef __clang_major__
#undef __clang_minor__
#undef __clang_patchlevel__
#undef __clang_version__

#endif
