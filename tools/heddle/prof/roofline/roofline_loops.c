/* See roofline_loops.h. */
#include "prof/roofline/roofline_loops.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "base/compiler.h"
#include "base/host.h"

/* A step takes four cycles or so, and a core does two in each: enough that do not wait. */
#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
enum { CHAIN_COUNT = 12 };

#if defined(__x86_64__)
#define IN_REGISTER "v"
#elif defined(__aarch64__)
#define IN_REGISTER "w"
#else
#define IN_REGISTER "m"
#endif
/* The compiler knows neither the value nor whether anybody looks at it. */
#define HIDE(value)      __asm__ volatile("" : "+" IN_REGISTER(value))
#define HIDE_CHAIN(i)    HIDE(c##i);
#define MEMORY_CHANGES() __asm__ volatile("" ::: "memory")

/* STEP(i) advances chain i by `factor` and `addend`, for which no value is ever denormal. */
#define DEFINE_MADD(name, attribute, vector, times, STEP)                                          \
    attribute HD_NOINLINE static void name(uint64_t turns)                                         \
    {                                                                                              \
        vector factor = (vector){0} + (times), addend = (vector){0} + 1;                           \
        vector c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11;                                   \
                                                                                                   \
        c0 = c1 = c2 = c3 = c4 = c5 = c6 = c7 = c8 = c9 = c10 = c11 = addend;                      \
        HIDE(factor);                                                                              \
        HIDE(addend);                                                                              \
        CHAINS(HIDE_CHAIN)                                                                         \
        for (; turns; turns--) {                                                                   \
            CHAINS(STEP)                                                                           \
        }                                                                                          \
        CHAINS(HIDE_CHAIN)                                                                         \
    }

#define DEFINE_SWEEPS(read_name, update_name, attribute, whole, vector)                            \
    attribute HD_NOINLINE static void read_name(const void *from, size_t size_B)                   \
    {                                                                                              \
        const whole *at = from, *end = (const whole *)((const char *)from + size_B);               \
        whole c0 = {0}, c1 = {0}, c2 = {0}, c3 = {0};                                              \
                                                                                                   \
        for (; at < end; at += 8) {                                                                \
            c0 ^= at[0];                                                                           \
            c1 ^= at[1];                                                                           \
            c2 ^= at[2];                                                                           \
            c3 ^= at[3];                                                                           \
            c0 ^= at[4];                                                                           \
            c1 ^= at[5];                                                                           \
            c2 ^= at[6];                                                                           \
            c3 ^= at[7];                                                                           \
        }                                                                                          \
        c0 ^= c1 ^ c2 ^ c3;                                                                        \
        HIDE(c0);                                                                                  \
        MEMORY_CHANGES();                                                                          \
    }                                                                                              \
    attribute HD_NOINLINE static void update_name(void *to, const void *from, size_t size_B)       \
    {                                                                                              \
        const vector *at = from, *end = (const vector *)((const char *)from + size_B);             \
                                                                                                   \
        for (vector *sum = to; at < end; at += 4, sum += 4) {                                      \
            sum[0] += at[0];                                                                       \
            sum[1] += at[1];                                                                       \
            sum[2] += at[2];                                                                       \
            sum[3] += at[3];                                                                       \
        }                                                                                          \
        MEMORY_CHANGES();                                                                          \
    }

#define VECTORS(bits)                                                                              \
    typedef float f32_##bits __attribute__((vector_size(bits / 8), may_alias));                    \
    typedef double f64_##bits __attribute__((vector_size(bits / 8), may_alias));                   \
    typedef uint64_t u64_##bits __attribute__((vector_size(bits / 8), may_alias));

/* flop: of a step, for each element */
#define LOOPS(path, bits, flop)                                                                    \
    {.vectors = #bits " bits",                                                                     \
     .sp_flop = CHAIN_COUNT * (flop) * (bits) / 32,                                                \
     .dp_flop = CHAIN_COUNT * (flop) * (bits) / 64,                                                \
     .sp = sp_##path,                                                                              \
     .dp = dp_##path,                                                                              \
     .read = read_##path,                                                                          \
     .update = update_##path}

VECTORS(128)

#if defined(__x86_64__)

VECTORS(256)
VECTORS(512)

#define AVX512    __attribute__((target("avx512f")))
#define SP_512(i) c##i = _mm512_fmadd_ps(c##i, factor, addend);
#define DP_512(i) c##i = _mm512_fmadd_pd(c##i, factor, addend);
DEFINE_MADD(sp_avx512, AVX512, f32_512, 0.5f, SP_512)
DEFINE_MADD(dp_avx512, AVX512, f64_512, 0.5, DP_512)
DEFINE_SWEEPS(read_avx512, update_avx512, AVX512, u64_512, f32_512)

#define AVX2      __attribute__((target("avx2,fma")))
#define SP_256(i) c##i = _mm256_fmadd_ps(c##i, factor, addend);
#define DP_256(i) c##i = _mm256_fmadd_pd(c##i, factor, addend);
DEFINE_MADD(sp_avx2, AVX2, f32_256, 0.5f, SP_256)
DEFINE_MADD(dp_avx2, AVX2, f64_256, 0.5, DP_256)
DEFINE_SWEEPS(read_avx2, update_avx2, AVX2, u64_256, f32_256)

/* Without fused operations a core multiplies in one chain while it adds in another. */
#define STEP_128(i)                                                                                \
    if ((i) % 2)                                                                                   \
        c##i *= factor;                                                                            \
    else                                                                                           \
        c##i += addend;
DEFINE_MADD(sp_generic, , f32_128, 1, STEP_128)
DEFINE_MADD(dp_generic, , f64_128, 1, STEP_128)
#define GENERIC_FLOP 1

#elif defined(__aarch64__)

#define SP_128(i)    c##i = vfmaq_f32(addend, c##i, factor);
#define DP_128(i)    c##i = vfmaq_f64(addend, c##i, factor);
DEFINE_MADD(sp_generic, , f32_128, 0.5f, SP_128)
DEFINE_MADD(dp_generic, , f64_128, 0.5, DP_128)
#define GENERIC_FLOP 2

#else

#define STEP_128(i)  c##i = c##i * factor + addend;
DEFINE_MADD(sp_generic, , f32_128, 0.5f, STEP_128)
DEFINE_MADD(dp_generic, , f64_128, 0.5, STEP_128)
#define GENERIC_FLOP 2

#endif

DEFINE_SWEEPS(read_generic, update_generic, , u64_128, f32_128)

const struct roofline_loops *roofline_loops_of(const char *path)
{
    static const struct roofline_loops generic = LOOPS(generic, 128, GENERIC_FLOP);
#if defined(__x86_64__)
    static const struct roofline_loops avx2 = LOOPS(avx2, 256, 2), avx512 = LOOPS(avx512, 512, 2);

    if (!strcmp(path, "avx512") && hd_host_has(HD_HOST_AVX512))
        return &avx512;
    if (!strcmp(path, "avx2") && hd_host_has(HD_HOST_AVX2))
        return &avx2;
#else
    (void)path;
#endif
    return &generic;
}
