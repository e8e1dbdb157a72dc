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
#include "texture_types.h"
#include "surface_types.h"
#include "channel_descriptor.h"
#include "heddle/math_overloads.h"
#include "texture_indirect_functions.h"
#include "surface_indirect_functions.h"
#undef std

#if defined(NDEBUG)
#define assert(condition) ((void)0)
#else
#define assert(condition)                                                                          \
    ((condition)                                                                                   \
         ? (void)0                                                                                 \
         : __assertfail(#condition, __FILE__, __LINE__, __PRETTY_FUNCTION__, sizeof(char)))
#endif

/* What NVRTC does have in it, unless options say otherwise. */
namespace std {
#if !defined(HEDDLE_RTC_NO_MOVE_FORWARD)
template <class T> struct heddle_plain {
    using type = T;
};
template <class T> struct heddle_plain<T &> {
    using type = T;
};
template <class T> struct heddle_plain<T &&> {
    using type = T;
};
template <class T>
__host__ __device__ constexpr typename heddle_plain<T>::type &&move(T &&value) noexcept
{
    return static_cast<typename heddle_plain<T>::type &&>(value);
}
template <class T>
__host__ __device__ constexpr T &&forward(typename heddle_plain<T>::type &value) noexcept
{
    return static_cast<T &&>(value);
}
template <class T>
__host__ __device__ constexpr T &&forward(typename heddle_plain<T>::type &&value) noexcept
{
    return static_cast<T &&>(value);
}
#endif
#if !defined(HEDDLE_RTC_NO_INITIALIZER_LIST)
template <class T> class initializer_list {
    const T *first;
    size_t count;

  public:
    using value_type = T;
    using reference = const T &;
    using const_reference = const T &;
    using size_type = size_t;
    using iterator = const T *;
    using const_iterator = const T *;
    __host__ __device__ constexpr initializer_list() noexcept : first(nullptr), count(0)
    {
    }
    __host__ __device__ constexpr size_t size() const noexcept
    {
        return count;
    }
    __host__ __device__ constexpr const T *begin() const noexcept
    {
        return first;
    }
    __host__ __device__ constexpr const T *end() const noexcept
    {
        return first + count;
    }
};
#endif
} // namespace std

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
