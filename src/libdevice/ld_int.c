/* Integer functions: bits, minima, products' upper halves, averages without overflow. */
#include "ld.h"

LD_FN(int, __nv_abs, int x)
{
    return x < 0 ? (int)(0u - (ld_u32)x) : x;
}

LD_FN(ld_i64, __nv_llabs, ld_i64 x)
{
    return x < 0 ? (ld_i64)(0ull - (ld_u64)x) : x;
}

#define LD_MINMAX(type, min, max)                                                                  \
    LD_FN(type, __nv_##min, type x, type y)                                                        \
    {                                                                                              \
        return x < y ? x : y;                                                                      \
    }                                                                                              \
    LD_FN(type, __nv_##max, type x, type y)                                                        \
    {                                                                                              \
        return x > y ? x : y;                                                                      \
    }
LD_MINMAX(int, min, max)
LD_MINMAX(ld_u32, umin, umax)
LD_MINMAX(ld_i64, llmin, llmax)
LD_MINMAX(ld_u64, ullmin, ullmax)
#undef LD_MINMAX

LD_FN(int, __nv_clz, int x)
{
    return x ? __builtin_clz((ld_u32)x) : 32;
}

LD_FN(int, __nv_clzll, ld_i64 x)
{
    return x ? __builtin_clzll((ld_u64)x) : 64;
}

LD_FN(int, __nv_ffs, int x)
{
    return x ? 32 - __builtin_clz((ld_u32)x & (0u - (ld_u32)x)) : 0;
}

LD_FN(int, __nv_ffsll, ld_i64 x)
{
    return x ? 64 - __builtin_clzll((ld_u64)x & (0ull - (ld_u64)x)) : 0;
}

LD_FN(int, __nv_popc, ld_u32 x)
{
    return __builtin_popcount(x);
}

LD_FN(int, __nv_popcll, ld_u64 x)
{
    return __builtin_popcountll(x);
}

static ld_u32 reverse_bits(ld_u32 x)
{
#if LD_DEVICE
    return __builtin_bitreverse32(x);
#else
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
#endif
}

LD_FN(int, __nv_brev, int x)
{
    return (int)reverse_bits((ld_u32)x);
}

LD_FN(ld_i64, __nv_brevll, ld_i64 x)
{
#if LD_DEVICE
    return (ld_i64)__builtin_bitreverse64((ld_u64)x);
#else
    return (ld_i64)((ld_u64)reverse_bits((ld_u32)x) << 32 |
                    reverse_bits((ld_u32)((ld_u64)x >> 32)));
#endif
}

/*
 * Four bytes chosen from the eight of y:x by the low three bits of each nibble; bit 3 spreads the
 * sign.
 */
LD_FN(int, __nv_byte_perm, int x, int y, int selector)
{
#if LD_DEVICE
    return (int)__nvvm_prmt((ld_u32)x, (ld_u32)y, (ld_u32)selector & 0x7777u);
#else
    ld_u64 bytes = (ld_u64)(ld_u32)y << 32 | (ld_u32)x;
    ld_u32 r = 0;
    for (int i = 0; i < 4; i++)
        r |= (ld_u32)(bytes >> (((ld_u32)selector >> (4 * i) & 7) * 8) & 0xff) << (8 * i);
    return (int)r;
#endif
}

LD_FN(int, __nv_mulhi, int x, int y)
{
    return (int)((ld_i64)x * y >> 32);
}

LD_FN(ld_u32, __nv_umulhi, ld_u32 x, ld_u32 y)
{
    return (ld_u32)((ld_u64)x * y >> 32);
}

LD_FN(ld_i64, __nv_mul64hi, ld_i64 x, ld_i64 y)
{
    return (ld_i64)((__int128)x * y >> 64);
}

LD_FN(ld_u64, __nv_umul64hi, ld_u64 x, ld_u64 y)
{
    return (ld_u64)((unsigned __int128)x * y >> 64);
}

/* Products of the low 24 bits. */
LD_FN(int, __nv_mul24, int x, int y)
{
    ld_u32 a = (ld_u32)((int)((ld_u32)x << 8) >> 8), b = (ld_u32)((int)((ld_u32)y << 8) >> 8);
    return (int)(a * b);
}

LD_FN(ld_u32, __nv_umul24, ld_u32 x, ld_u32 y)
{
    return (x & 0xffffffu) * (y & 0xffffffu);
}

LD_FN(int, __nv_sad, int x, int y, int z)
{
    ld_u32 d = x > y ? (ld_u32)x - (ld_u32)y : (ld_u32)y - (ld_u32)x;
    return (int)(d + (ld_u32)z);
}

LD_FN(ld_u32, __nv_usad, ld_u32 x, ld_u32 y, ld_u32 z)
{
    return (x > y ? x - y : y - x) + z;
}

LD_FN(int, __nv_hadd, int x, int y)
{
    return (x & y) + ((x ^ y) >> 1);
}

LD_FN(int, __nv_rhadd, int x, int y)
{
    return (x | y) - ((x ^ y) >> 1);
}

LD_FN(int, __nv_uhadd, ld_u32 x, ld_u32 y)
{
    return (int)((x & y) + ((x ^ y) >> 1));
}

LD_FN(ld_u32, __nv_urhadd, ld_u32 x, ld_u32 y)
{
    return (x | y) - ((x ^ y) >> 1);
}
