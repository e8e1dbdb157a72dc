/*
 * Integer built-ins that clang's headers lack: dot products of packed bytes, three-way minima and
 * maxima, timers, lane masks and sleeping.
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

/* Fused minima and maxima (DPX): the three-operand and the add-then-compare forms. */
#define HEDDLE_DPX(T, suffix)                                                                      \
    HEDDLE_FN T __vimax_##suffix(T a, T b)                                                         \
    {                                                                                              \
        return a > b ? a : b;                                                                      \
    }                                                                                              \
    HEDDLE_FN T __vimin_##suffix(T a, T b)                                                         \
    {                                                                                              \
        return a < b ? a : b;                                                                      \
    }                                                                                              \
    HEDDLE_FN T __vimax3_##suffix(T a, T b, T c)                                                   \
    {                                                                                              \
        return __vimax_##suffix(__vimax_##suffix(a, b), c);                                        \
    }                                                                                              \
    HEDDLE_FN T __vimin3_##suffix(T a, T b, T c)                                                   \
    {                                                                                              \
        return __vimin_##suffix(__vimin_##suffix(a, b), c);                                        \
    }                                                                                              \
    HEDDLE_FN T __viaddmax_##suffix(T a, T b, T c)                                                 \
    {                                                                                              \
        return __vimax_##suffix((T)((unsigned int)a + (unsigned int)b), c);                        \
    }                                                                                              \
    HEDDLE_FN T __viaddmin_##suffix(T a, T b, T c)                                                 \
    {                                                                                              \
        return __vimin_##suffix((T)((unsigned int)a + (unsigned int)b), c);                        \
    }
HEDDLE_DPX(int, s32)
HEDDLE_DPX(unsigned int, u32)
#undef HEDDLE_DPX

/* Nanoseconds since the device's epoch. */
HEDDLE_FN unsigned long long __globaltimer(void)
{
    unsigned long long t;
    __asm__ __volatile__("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

#undef HEDDLE_FN

#endif
