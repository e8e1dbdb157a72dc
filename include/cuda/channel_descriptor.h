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

#endif

#endif
