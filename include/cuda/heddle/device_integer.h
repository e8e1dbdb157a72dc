/*
 * Integer built-ins that clang's headers lack: dot products of packed bytes, fused minima and maxima
 * (DPX), the timer.
 */
#ifndef HEDDLE_CUDA_DEVICE_INTEGER_H
#define HEDDLE_CUDA_DEVICE_INTEGER_H

#define HEDDLE_FN static __device__ __forceinline__

/* a . b + c over four bytes; lo and hi take two 16-bit values of a and two bytes of b. */
#define HEDDLE_DOT(fn, op, A, B, C)                                                                \
    HEDDLE_FN C fn(A a, B b, C c)                                                                  \
    {                                                                                              \
        C d;                                                                                       \
        unsigned int ra, rb;                                                                       \
        __builtin_memcpy(&ra, &a, 4);                                                              \
        __builtin_memcpy(&rb, &b, 4);                                                              \
        __asm__(op " %0, %1, %2, %3;" : "=r"(d) : "r"(ra), "r"(rb), "r"(c));                       \
        return d;                                                                                  \
    }
HEDDLE_DOT(__dp4a, "dp4a.s32.s32", int, int, int)
HEDDLE_DOT(__dp4a, "dp4a.u32.u32", unsigned int, unsigned int, unsigned int)
HEDDLE_DOT(__dp4a, "dp4a.s32.s32", char4, char4, int)
HEDDLE_DOT(__dp4a, "dp4a.u32.u32", uchar4, uchar4, unsigned int)
HEDDLE_DOT(__dp2a_lo, "dp2a.lo.s32.s32", int, int, int)
HEDDLE_DOT(__dp2a_lo, "dp2a.lo.u32.u32", unsigned int, unsigned int, unsigned int)
HEDDLE_DOT(__dp2a_lo, "dp2a.lo.s32.s32", short2, char4, int)
HEDDLE_DOT(__dp2a_lo, "dp2a.lo.u32.u32", ushort2, uchar4, unsigned int)
HEDDLE_DOT(__dp2a_hi, "dp2a.hi.s32.s32", int, int, int)
HEDDLE_DOT(__dp2a_hi, "dp2a.hi.u32.u32", unsigned int, unsigned int, unsigned int)
HEDDLE_DOT(__dp2a_hi, "dp2a.hi.s32.s32", short2, char4, int)
HEDDLE_DOT(__dp2a_hi, "dp2a.hi.u32.u32", ushort2, uchar4, unsigned int)
#undef HEDDLE_DOT

/*
 * DPX: fused minima and maxima for dynamic programming, on the host as well. Sums wrap. `relu` is
 * the maximum with 0. The bool of vib* says whether the first operand was taken, also when both
 * are equal. x2 forms work on the two 16-bit halves of a word.
 */
#define HEDDLE_HD static __inline__ __host__ __device__ __attribute__((unused, always_inline))
#define HEDDLE_DPX(T, U, suffix)                                                                   \
    HEDDLE_HD T __vimax_##suffix(T a, T b)                                                         \
    {                                                                                              \
        return a > b ? a : b;                                                                      \
    }                                                                                              \
    HEDDLE_HD T __vimin_##suffix(T a, T b)                                                         \
    {                                                                                              \
        return a < b ? a : b;                                                                      \
    }                                                                                              \
    HEDDLE_HD T __vimax3_##suffix(T a, T b, T c)                                                   \
    {                                                                                              \
        return __vimax_##suffix(__vimax_##suffix(a, b), c);                                        \
    }                                                                                              \
    HEDDLE_HD T __vimin3_##suffix(T a, T b, T c)                                                   \
    {                                                                                              \
        return __vimin_##suffix(__vimin_##suffix(a, b), c);                                        \
    }                                                                                              \
    HEDDLE_HD T __viaddmax_##suffix(T a, T b, T c)                                                 \
    {                                                                                              \
        return __vimax_##suffix((T)(U)((U)a + (U)b), c);                                           \
    }                                                                                              \
    HEDDLE_HD T __viaddmin_##suffix(T a, T b, T c)                                                 \
    {                                                                                              \
        return __vimin_##suffix((T)(U)((U)a + (U)b), c);                                           \
    }                                                                                              \
    HEDDLE_HD T __vibmax_##suffix(T a, T b, bool *first)                                           \
    {                                                                                              \
        *first = a >= b;                                                                           \
        return *first ? a : b;                                                                     \
    }                                                                                              \
    HEDDLE_HD T __vibmin_##suffix(T a, T b, bool *first)                                           \
    {                                                                                              \
        *first = a <= b;                                                                           \
        return *first ? a : b;                                                                     \
    }
#define HEDDLE_DPX_RELU(T, suffix)                                                                 \
    HEDDLE_HD T __vimax_##suffix##_relu(T a, T b)                                                  \
    {                                                                                              \
        return __vimax3_##suffix(a, b, 0);                                                         \
    }                                                                                              \
    HEDDLE_HD T __vimin_##suffix##_relu(T a, T b)                                                  \
    {                                                                                              \
        return __vimax_##suffix(__vimin_##suffix(a, b), 0);                                        \
    }                                                                                              \
    HEDDLE_HD T __vimax3_##suffix##_relu(T a, T b, T c)                                            \
    {                                                                                              \
        return __vimax_##suffix(__vimax3_##suffix(a, b, c), 0);                                    \
    }                                                                                              \
    HEDDLE_HD T __vimin3_##suffix##_relu(T a, T b, T c)                                            \
    {                                                                                              \
        return __vimax_##suffix(__vimin3_##suffix(a, b, c), 0);                                    \
    }                                                                                              \
    HEDDLE_HD T __viaddmax_##suffix##_relu(T a, T b, T c)                                          \
    {                                                                                              \
        return __vimax_##suffix(__viaddmax_##suffix(a, b, c), 0);                                  \
    }                                                                                              \
    HEDDLE_HD T __viaddmin_##suffix##_relu(T a, T b, T c)                                          \
    {                                                                                              \
        return __vimax_##suffix(__viaddmin_##suffix(a, b, c), 0);                                  \
    }
HEDDLE_DPX(int, unsigned int, s32)
HEDDLE_DPX(unsigned int, unsigned int, u32)
HEDDLE_DPX_RELU(int, s32)
/* One half, from which the x2 forms are made. */
HEDDLE_DPX(short, unsigned short, heddle_s16)
HEDDLE_DPX(unsigned short, unsigned short, heddle_u16)
HEDDLE_DPX_RELU(short, heddle_s16)
#undef HEDDLE_DPX_RELU
#undef HEDDLE_DPX

#define HEDDLE_HALVES(lo, hi) ((unsigned int)(unsigned short)(lo) | (unsigned int)(hi) << 16)
#define HEDDLE_DPX2(T, fn, suffix, half)                                                           \
    HEDDLE_HD unsigned int __##fn##_##suffix(unsigned int a, unsigned int b)                       \
    {                                                                                              \
        return HEDDLE_HALVES(__##fn##_##half((T)a, (T)b),                                          \
                             __##fn##_##half((T)(a >> 16), (T)(b >> 16)));                         \
    }
#define HEDDLE_DPX3(T, fn, suffix, half)                                                           \
    HEDDLE_HD unsigned int __##fn##_##suffix(unsigned int a, unsigned int b, unsigned int c)       \
    {                                                                                              \
        return HEDDLE_HALVES(__##fn##_##half((T)a, (T)b, (T)c),                                    \
                             __##fn##_##half((T)(a >> 16), (T)(b >> 16), (T)(c >> 16)));           \
    }
#define HEDDLE_DPXB(T, fn, suffix, half)                                                           \
    HEDDLE_HD unsigned int __##fn##_##suffix(unsigned int a, unsigned int b, bool *first_hi,       \
                                             bool *first_lo)                                       \
    {                                                                                              \
        return HEDDLE_HALVES(__##fn##_##half((T)a, (T)b, first_lo),                                \
                             __##fn##_##half((T)(a >> 16), (T)(b >> 16), first_hi));               \
    }
#define HEDDLE_DPX_X2(T, suffix, half)                                                             \
    HEDDLE_DPX3(T, vimax3, suffix, half)                                                           \
    HEDDLE_DPX3(T, vimin3, suffix, half)                                                           \
    HEDDLE_DPX3(T, viaddmax, suffix, half)                                                         \
    HEDDLE_DPX3(T, viaddmin, suffix, half)                                                         \
    HEDDLE_DPXB(T, vibmax, suffix, half)                                                           \
    HEDDLE_DPXB(T, vibmin, suffix, half)
HEDDLE_DPX_X2(short, s16x2, heddle_s16)
HEDDLE_DPX_X2(unsigned short, u16x2, heddle_u16)
HEDDLE_DPX2(short, vimax, s16x2_relu, heddle_s16_relu)
HEDDLE_DPX2(short, vimin, s16x2_relu, heddle_s16_relu)
HEDDLE_DPX3(short, vimax3, s16x2_relu, heddle_s16_relu)
HEDDLE_DPX3(short, vimin3, s16x2_relu, heddle_s16_relu)
HEDDLE_DPX3(short, viaddmax, s16x2_relu, heddle_s16_relu)
HEDDLE_DPX3(short, viaddmin, s16x2_relu, heddle_s16_relu)
#undef HEDDLE_DPX_X2
#undef HEDDLE_DPXB
#undef HEDDLE_DPX3
#undef HEDDLE_DPX2
#undef HEDDLE_HALVES
#undef HEDDLE_HD

/* Nanoseconds since the device's epoch. A template, as programs define a function of this name. */
template <int _Unused = 0> HEDDLE_FN unsigned long long __globaltimer(void)
{
    unsigned long long t;
    __asm__ __volatile__("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

#undef HEDDLE_FN

#endif
