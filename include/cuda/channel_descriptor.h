/* cudaCreateChannelDesc<T>(): the channel format of a scalar or vector type. */
#if !defined(HEDDLE_CUDA_CHANNEL_DESCRIPTOR_H) && !defined(__CHANNEL_DESCRIPTOR_H__)
#define HEDDLE_CUDA_CHANNEL_DESCRIPTOR_H

/* By this name a toolkit's headers beside the program and these know of each other. */
#define __CHANNEL_DESCRIPTOR_H__

#include "cuda_runtime_api.h"
#include "vector_types.h"

#if defined(__cplusplus)

template <class _Tp> inline __host__ cudaChannelFormatDesc cudaCreateChannelDesc()
{
    return cudaCreateChannelDesc(0, 0, 0, 0, cudaChannelFormatKindNone);
}

#define HEDDLE_CHANNEL(_Tp, bits, n, kind)                                                         \
    template <> inline __host__ cudaChannelFormatDesc cudaCreateChannelDesc<_Tp>()                 \
    {                                                                                              \
        return cudaCreateChannelDesc(bits, (n) > 1 ? bits : 0, (n) > 2 ? bits : 0,                 \
                                     (n) > 3 ? bits : 0, cudaChannelFormatKind##kind);             \
    }
#define HEDDLE_CHANNELS(_Tp, name, bits, kind)                                                     \
    HEDDLE_CHANNEL(_Tp, bits, 1, kind)                                                             \
    HEDDLE_CHANNEL(name##1, bits, 1, kind)                                                         \
    HEDDLE_CHANNEL(name##2, bits, 2, kind)                                                         \
    HEDDLE_CHANNEL(name##4, bits, 4, kind)

HEDDLE_CHANNEL(char, 8, 1, Signed)
HEDDLE_CHANNELS(signed char, char, 8, Signed)
HEDDLE_CHANNELS(unsigned char, uchar, 8, Unsigned)
HEDDLE_CHANNELS(short, short, 16, Signed)
HEDDLE_CHANNELS(unsigned short, ushort, 16, Unsigned)
HEDDLE_CHANNELS(int, int, 32, Signed)
HEDDLE_CHANNELS(unsigned int, uint, 32, Unsigned)
HEDDLE_CHANNELS(float, float, 32, Float)

#undef HEDDLE_CHANNELS
#undef HEDDLE_CHANNEL

/* Halves are channels of 16 bits. */
#define HEDDLE_CHANNEL_HALF(n, y, z, w)                                                            \
    static inline __host__ cudaChannelFormatDesc cudaCreateChannelDescHalf##n()                    \
    {                                                                                              \
        return cudaCreateChannelDesc(16, y, z, w, cudaChannelFormatKindFloat);                     \
    }
HEDDLE_CHANNEL_HALF(, 0, 0, 0)
HEDDLE_CHANNEL_HALF(1, 0, 0, 0)
HEDDLE_CHANNEL_HALF(2, 16, 0, 0)
HEDDLE_CHANNEL_HALF(4, 16, 16, 16)
#undef HEDDLE_CHANNEL_HALF

static inline __host__ cudaChannelFormatDesc cudaCreateChannelDescNV12()
{
    return cudaCreateChannelDesc(8, 8, 8, 0, cudaChannelFormatKindNV12);
}

/* Formats that no type stands for, by their kind. */
template <cudaChannelFormatKind> inline __host__ cudaChannelFormatDesc cudaCreateChannelDesc()
{
    return cudaCreateChannelDesc(0, 0, 0, 0, cudaChannelFormatKindNone);
}
#define HEDDLE_CHANNEL_KIND(kind, x, y, z, w)                                                      \
    template <>                                                                                    \
    inline __host__ cudaChannelFormatDesc cudaCreateChannelDesc<cudaChannelFormatKind##kind>()     \
    {                                                                                              \
        return cudaCreateChannelDesc(x, y, z, w, cudaChannelFormatKind##kind);                     \
    }
#define HEDDLE_CHANNEL_NORMALIZED(kind, bits)                                                      \
    HEDDLE_CHANNEL_KIND(kind##X1, bits, 0, 0, 0)                                                   \
    HEDDLE_CHANNEL_KIND(kind##X2, bits, bits, 0, 0)                                                \
    HEDDLE_CHANNEL_KIND(kind##X4, bits, bits, bits, bits)
HEDDLE_CHANNEL_NORMALIZED(SignedNormalized8, 8)
HEDDLE_CHANNEL_NORMALIZED(UnsignedNormalized8, 8)
HEDDLE_CHANNEL_NORMALIZED(SignedNormalized16, 16)
HEDDLE_CHANNEL_NORMALIZED(UnsignedNormalized16, 16)
HEDDLE_CHANNEL_KIND(NV12, 8, 8, 8, 0)
HEDDLE_CHANNEL_KIND(UnsignedNormalized1010102, 10, 10, 10, 2)
HEDDLE_CHANNEL_KIND(UnsignedBlockCompressed1, 8, 8, 8, 8)
HEDDLE_CHANNEL_KIND(UnsignedBlockCompressed1SRGB, 8, 8, 8, 8)
HEDDLE_CHANNEL_KIND(UnsignedBlockCompressed2, 8, 8, 8, 8)
HEDDLE_CHANNEL_KIND(UnsignedBlockCompressed2SRGB, 8, 8, 8, 8)
HEDDLE_CHANNEL_KIND(UnsignedBlockCompressed3, 8, 8, 8, 8)
HEDDLE_CHANNEL_KIND(UnsignedBlockCompressed3SRGB, 8, 8, 8, 8)
HEDDLE_CHANNEL_KIND(UnsignedBlockCompressed4, 8, 0, 0, 0)
HEDDLE_CHANNEL_KIND(SignedBlockCompressed4, 8, 0, 0, 0)
HEDDLE_CHANNEL_KIND(UnsignedBlockCompressed5, 8, 8, 0, 0)
HEDDLE_CHANNEL_KIND(SignedBlockCompressed5, 8, 8, 0, 0)
HEDDLE_CHANNEL_KIND(UnsignedBlockCompressed6H, 16, 16, 16, 0)
HEDDLE_CHANNEL_KIND(SignedBlockCompressed6H, 16, 16, 16, 0)
HEDDLE_CHANNEL_KIND(UnsignedBlockCompressed7, 8, 8, 8, 8)
HEDDLE_CHANNEL_KIND(UnsignedBlockCompressed7SRGB, 8, 8, 8, 8)
#undef HEDDLE_CHANNEL_NORMALIZED
#undef HEDDLE_CHANNEL_KIND

#endif

#endif
