/* Unaligned little-endian loads and stores for file formats. Private to obj. */
#ifndef HD_OBJ_BYTES_H
#define HD_OBJ_BYTES_H

#include <string.h>

#include "base/compiler.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "file formats are little-endian");

static inline uint16_t obj_load_u16(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

static inline uint32_t obj_load_u32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

/* True when [offset, offset + len) lies inside [0, size), without overflow. */
static inline bool obj_range_fits(uint64_t offset, uint64_t len, uint64_t size)
{
    return offset <= size && len <= size - offset;
}

#endif
