/*
 * Compiler attributes behind macros, and a few helpers that every file may use.
 * Works with gcc >= 12 and clang >= 14 in C17 with GNU extensions.
 */
#ifndef HD_BASE_COMPILER_H
#define HD_BASE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Checks printf-style arguments: fmt is the index of the format, args of the first variadic. */
#define HD_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define HD_MUST_CHECK        __attribute__((warn_unused_result))
#define HD_NORETURN          __attribute__((noreturn))
#define HD_EXPORT            __attribute__((visibility("default")))
#define HD_UNUSED            __attribute__((unused))
#define HD_ALIGNED(n)        __attribute__((aligned(n)))
#define HD_PACKED            __attribute__((packed)) /* enums: the smallest integer that fits */
#define HD_THREAD_LOCAL      _Thread_local
#define HD_LIKELY(x)         __builtin_expect(!!(x), 1)
#define HD_UNLIKELY(x)       __builtin_expect(!!(x), 0)

/* One body at one address: no inlined, cloned or specialised copies. */
#ifdef __clang__
#define HD_NOINLINE __attribute__((noinline))
#else
#define HD_NOINLINE __attribute__((noinline, noclone))
#endif

/* Frees a malloc'ed pointer when the variable leaves its scope. */
#define HD_AUTOFREE __attribute__((cleanup(hd_autofree_)))
void hd_autofree_(void *ptr_to_ptr);

/* Is this built with a sanitizer? clang says it by __has_feature(), gcc by macros. */
#if defined(__SANITIZE_THREAD__)
#define HD_SANITIZES_THREADS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HD_SANITIZES_THREADS 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define HD_SANITIZES_ADDRESSES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HD_SANITIZES_ADDRESSES 1
#endif
#endif
#if !defined(HD_SANITIZES_THREADS)
#define HD_SANITIZES_THREADS 0
#endif
#if !defined(HD_SANITIZES_ADDRESSES)
#define HD_SANITIZES_ADDRESSES 0
#endif

/*
 * Of a function whose atomic accesses may fault. ThreadSanitizer makes such accesses inside itself,
 * with locks that a jump out of the fault's signal would leave taken: it is kept out, and told what
 * it has to know, before a store and after a load.
 */
#if HD_SANITIZES_THREADS
#include <sanitizer/tsan_interface.h>
#define HD_ATOMICS_MAY_FAULT __attribute__((disable_sanitizer_instrumentation))
#define HD_SAY_RELEASE(at)   __tsan_release((void *)(uintptr_t)(at))
#define HD_SAY_ACQUIRE(at)   __tsan_acquire((void *)(uintptr_t)(at))
#else
#define HD_ATOMICS_MAY_FAULT
#define HD_SAY_RELEASE(at) ((void)(at))
#define HD_SAY_ACQUIRE(at) ((void)(at))
#endif

#define HD_COUNT_OF(array)                 (sizeof(array) / sizeof((array)[0]))
#define HD_CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

#define HD_MIN(a, b) ((a) < (b) ? (a) : (b))
#define HD_MAX(a, b) ((a) > (b) ? (a) : (b))

/* Rounds up to a power-of-two alignment. The caller rules out overflow. */
static inline uint64_t hd_align_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) & ~(align - 1);
}

static inline bool hd_is_pow2(uint64_t value)
{
    return value && !(value & (value - 1));
}

#endif
