/* Whole floats to integers as the device converts: saturating, a NaN becomes 0. */
#ifndef HEDDLE_CUDA_HALF_INTEGER_H
#define HEDDLE_CUDA_HALF_INTEGER_H

#define HEDDLE_CVT(name, type, lo, hi)                                                             \
    static __host__ __device__ __forceinline__ type heddle_cvt_##name(float f)                     \
    {                                                                                              \
        if (f != f)                                                                                \
            return 0;                                                                              \
        return f <= lo##f ? (type)lo : (f >= hi##f ? heddle_max_##name() : (type)f);               \
    }
#define HEDDLE_MAX(name, type, value)                                                              \
    static __host__ __device__ __forceinline__ type heddle_max_##name(void)                        \
    {                                                                                              \
        return (type)(value);                                                                      \
    }
HEDDLE_MAX(int, int, 2147483647)
HEDDLE_MAX(uint, unsigned int, 4294967295u)
HEDDLE_MAX(short, short, 32767)
HEDDLE_MAX(ushort, unsigned short, 65535)
HEDDLE_MAX(ll, long long, 9223372036854775807ll)
HEDDLE_MAX(ull, unsigned long long, 18446744073709551615ull)
HEDDLE_MAX(char, signed char, 127)
HEDDLE_MAX(uchar, unsigned char, 255)
HEDDLE_CVT(int, int, -2147483648.0, 2147483648.0)
HEDDLE_CVT(uint, unsigned int, 0.0, 4294967296.0)
HEDDLE_CVT(short, short, -32768.0, 32768.0)
HEDDLE_CVT(ushort, unsigned short, 0.0, 65536.0)
HEDDLE_CVT(ll, long long, -9223372036854775808.0, 9223372036854775808.0)
HEDDLE_CVT(ull, unsigned long long, 0.0, 18446744073709551616.0)
HEDDLE_CVT(char, signed char, -128.0, 128.0)
HEDDLE_CVT(uchar, unsigned char, 0.0, 256.0)
#undef HEDDLE_MAX
#undef HEDDLE_CVT

#endif
