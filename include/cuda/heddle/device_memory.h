/*
 * Loads and stores with cache hints: __ldca .cg .cs .lu .cv and __stwb .cg .cs .wt, for every
 * scalar and vector type of up to 16 bytes. (__ldg is in clang's __clang_cuda_intrinsics.h.)
 */
#ifndef HEDDLE_CUDA_DEVICE_MEMORY_H
#define HEDDLE_CUDA_DEVICE_MEMORY_H

#define HEDDLE_FN static __device__ __forceinline__

/* T: the C type, R: type of the register, c: its asm constraint, t: the PTX type. */
#define HEDDLE_LOAD1(fn, op, T, R, c, t)                                                           \
    HEDDLE_FN T fn(const T *ptr)                                                                   \
    {                                                                                              \
        R r;                                                                                       \
        __asm__ __volatile__(op "." t " %0, [%1];" : "=" c(r) : "l"(ptr) : "memory");              \
        return (T)r;                                                                               \
    }
#define HEDDLE_LOAD2(fn, op, T, E, R, c, t)                                                        \
    HEDDLE_FN T fn(const T *ptr)                                                                   \
    {                                                                                              \
        R a, b;                                                                                    \
        __asm__ __volatile__(op ".v2." t " {%0, %1}, [%2];"                                        \
                             : "=" c(a), "=" c(b)                                                  \
                             : "l"(ptr)                                                            \
                             : "memory");                                                          \
        T v = {(E)a, (E)b};                                                                        \
        return v;                                                                                  \
    }
#define HEDDLE_LOAD4(fn, op, T, E, R, c, t)                                                        \
    HEDDLE_FN T fn(const T *ptr)                                                                   \
    {                                                                                              \
        R a, b, d, e;                                                                              \
        __asm__ __volatile__(op ".v4." t " {%0, %1, %2, %3}, [%4];"                                \
                             : "=" c(a), "=" c(b), "=" c(d), "=" c(e)                              \
                             : "l"(ptr)                                                            \
                             : "memory");                                                          \
        T v = {(E)a, (E)b, (E)d, (E)e};                                                            \
        return v;                                                                                  \
    }
#define HEDDLE_STORE1(fn, op, T, R, c, t)                                                          \
    HEDDLE_FN void fn(T *ptr, T value)                                                             \
    {                                                                                              \
        __asm__ __volatile__(op "." t " [%0], %1;" ::"l"(ptr), c((R)value) : "memory");            \
    }
#define HEDDLE_STORE2(fn, op, T, R, c, t)                                                          \
    HEDDLE_FN void fn(T *ptr, T value)                                                             \
    {                                                                                              \
        __asm__ __volatile__(op ".v2." t " [%0], {%1, %2};" ::"l"(ptr), c((R)value.x),             \
                             c((R)value.y)                                                         \
                             : "memory");                                                          \
    }
#define HEDDLE_STORE4(fn, op, T, R, c, t)                                                          \
    HEDDLE_FN void fn(T *ptr, T value)                                                             \
    {                                                                                              \
        __asm__ __volatile__(op ".v4." t " [%0], {%1, %2, %3, %4};" ::"l"(ptr), c((R)value.x),     \
                             c((R)value.y), c((R)value.z), c((R)value.w)                           \
                             : "memory");                                                          \
    }

#define HEDDLE_LOADS(fn, op)                                                                       \
    HEDDLE_LOAD1(fn, op, char, short, "h", "s8")                                                   \
    HEDDLE_LOAD1(fn, op, signed char, short, "h", "s8")                                            \
    HEDDLE_LOAD1(fn, op, unsigned char, unsigned short, "h", "u8")                                 \
    HEDDLE_LOAD1(fn, op, short, short, "h", "s16")                                                 \
    HEDDLE_LOAD1(fn, op, unsigned short, unsigned short, "h", "u16")                               \
    HEDDLE_LOAD1(fn, op, int, int, "r", "s32")                                                     \
    HEDDLE_LOAD1(fn, op, unsigned int, unsigned int, "r", "u32")                                   \
    HEDDLE_LOAD1(fn, op, long, long, "l", "s64")                                                   \
    HEDDLE_LOAD1(fn, op, unsigned long, unsigned long, "l", "u64")                                 \
    HEDDLE_LOAD1(fn, op, long long, long long, "l", "s64")                                         \
    HEDDLE_LOAD1(fn, op, unsigned long long, unsigned long long, "l", "u64")                       \
    HEDDLE_LOAD1(fn, op, float, float, "f", "f32")                                                 \
    HEDDLE_LOAD1(fn, op, double, double, "d", "f64")                                               \
    HEDDLE_LOAD2(fn, op, char2, signed char, short, "h", "s8")                                     \
    HEDDLE_LOAD2(fn, op, uchar2, unsigned char, unsigned short, "h", "u8")                         \
    HEDDLE_LOAD2(fn, op, short2, short, short, "h", "s16")                                         \
    HEDDLE_LOAD2(fn, op, ushort2, unsigned short, unsigned short, "h", "u16")                      \
    HEDDLE_LOAD2(fn, op, int2, int, int, "r", "s32")                                               \
    HEDDLE_LOAD2(fn, op, uint2, unsigned int, unsigned int, "r", "u32")                            \
    HEDDLE_LOAD2(fn, op, longlong2, long long, long long, "l", "s64")                              \
    HEDDLE_LOAD2(fn, op, ulonglong2, unsigned long long, unsigned long long, "l", "u64")           \
    HEDDLE_LOAD2(fn, op, float2, float, float, "f", "f32")                                         \
    HEDDLE_LOAD2(fn, op, double2, double, double, "d", "f64")                                      \
    HEDDLE_LOAD4(fn, op, char4, signed char, short, "h", "s8")                                     \
    HEDDLE_LOAD4(fn, op, uchar4, unsigned char, unsigned short, "h", "u8")                         \
    HEDDLE_LOAD4(fn, op, short4, short, short, "h", "s16")                                         \
    HEDDLE_LOAD4(fn, op, ushort4, unsigned short, unsigned short, "h", "u16")                      \
    HEDDLE_LOAD4(fn, op, int4, int, int, "r", "s32")                                               \
    HEDDLE_LOAD4(fn, op, uint4, unsigned int, unsigned int, "r", "u32")                            \
    HEDDLE_LOAD4(fn, op, float4, float, float, "f", "f32")

#define HEDDLE_STORES(fn, op)                                                                      \
    HEDDLE_STORE1(fn, op, char, short, "h", "s8")                                                  \
    HEDDLE_STORE1(fn, op, signed char, short, "h", "s8")                                           \
    HEDDLE_STORE1(fn, op, unsigned char, unsigned short, "h", "u8")                                \
    HEDDLE_STORE1(fn, op, short, short, "h", "s16")                                                \
    HEDDLE_STORE1(fn, op, unsigned short, unsigned short, "h", "u16")                              \
    HEDDLE_STORE1(fn, op, int, int, "r", "s32")                                                    \
    HEDDLE_STORE1(fn, op, unsigned int, unsigned int, "r", "u32")                                  \
    HEDDLE_STORE1(fn, op, long, long, "l", "s64")                                                  \
    HEDDLE_STORE1(fn, op, unsigned long, unsigned long, "l", "u64")                                \
    HEDDLE_STORE1(fn, op, long long, long long, "l", "s64")                                        \
    HEDDLE_STORE1(fn, op, unsigned long long, unsigned long long, "l", "u64")                      \
    HEDDLE_STORE1(fn, op, float, float, "f", "f32")                                                \
    HEDDLE_STORE1(fn, op, double, double, "d", "f64")                                              \
    HEDDLE_STORE2(fn, op, char2, short, "h", "s8")                                                 \
    HEDDLE_STORE2(fn, op, uchar2, unsigned short, "h", "u8")                                       \
    HEDDLE_STORE2(fn, op, short2, short, "h", "s16")                                               \
    HEDDLE_STORE2(fn, op, ushort2, unsigned short, "h", "u16")                                     \
    HEDDLE_STORE2(fn, op, int2, int, "r", "s32")                                                   \
    HEDDLE_STORE2(fn, op, uint2, unsigned int, "r", "u32")                                         \
    HEDDLE_STORE2(fn, op, longlong2, long long, "l", "s64")                                        \
    HEDDLE_STORE2(fn, op, ulonglong2, unsigned long long, "l", "u64")                              \
    HEDDLE_STORE2(fn, op, float2, float, "f", "f32")                                               \
    HEDDLE_STORE2(fn, op, double2, double, "d", "f64")                                             \
    HEDDLE_STORE4(fn, op, char4, short, "h", "s8")                                                 \
    HEDDLE_STORE4(fn, op, uchar4, unsigned short, "h", "u8")                                       \
    HEDDLE_STORE4(fn, op, short4, short, "h", "s16")                                               \
    HEDDLE_STORE4(fn, op, ushort4, unsigned short, "h", "u16")                                     \
    HEDDLE_STORE4(fn, op, int4, int, "r", "s32")                                                   \
    HEDDLE_STORE4(fn, op, uint4, unsigned int, "r", "u32")                                         \
    HEDDLE_STORE4(fn, op, float4, float, "f", "f32")

HEDDLE_LOADS(__ldca, "ld.ca")
HEDDLE_LOADS(__ldcg, "ld.cg")
HEDDLE_LOADS(__ldcs, "ld.cs")
HEDDLE_LOADS(__ldlu, "ld.lu")
HEDDLE_LOADS(__ldcv, "ld.cv")
HEDDLE_STORES(__stwb, "st.wb")
HEDDLE_STORES(__stcg, "st.cg")
HEDDLE_STORES(__stcs, "st.cs")
HEDDLE_STORES(__stwt, "st.wt")

#undef HEDDLE_STORES
#undef HEDDLE_LOADS
#undef HEDDLE_STORE4
#undef HEDDLE_STORE2
#undef HEDDLE_STORE1
#undef HEDDLE_LOAD4
#undef HEDDLE_LOAD2
#undef HEDDLE_LOAD1
#undef HEDDLE_FN

#endif
