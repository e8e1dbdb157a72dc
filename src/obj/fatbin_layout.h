/*
 * The on-disk layout of fat binaries, shared by the reader and the writer. Private to obj.
 * Little-endian; nothing is aligned in memory, so the reader copies instead of casting.
 */
#ifndef HD_OBJ_FATBIN_LAYOUT_H
#define HD_OBJ_FATBIN_LAYOUT_H

#include "base/compiler.h"

struct obj_wrapper_raw {
    uint32_t magic;
    uint32_t version;
    const void *fatbin;
    const void *const *parts; /* version 2 only */
};
_Static_assert(sizeof(struct obj_wrapper_raw) == 24, "ABI of .nvFatBinSegment");

struct obj_container_raw {
    uint32_t magic;
    uint16_t version;
    uint16_t header_B;
    uint64_t body_B;
};
_Static_assert(sizeof(struct obj_container_raw) == 16, "file format");

struct obj_entry_raw {
    uint16_t kind;
    uint16_t version;    /* 0x0101 */
    uint32_t header_B;   /* including what follows this struct */
    uint64_t padded_B;   /* payload, padded to 8 */
    uint32_t stored_B;   /* compressed size, 0 when not compressed */
    uint32_t options_at; /* of {u32 offset, u32 length, text} in this header, 0 = none */
    uint16_t minor, major;
    uint32_t arch;
    uint32_t source_at, source_B; /* in this header */
    uint64_t flags;
    uint64_t reserved;
    uint64_t raw_B; /* decompressed size, 0 when not compressed */
};
_Static_assert(sizeof(struct obj_entry_raw) == 64, "file format");

#define OBJ_CONTAINER_VERSION 1
#define OBJ_ENTRY_VERSION     0x0101
/* Real headers have 64 to 224 bytes; names and options are short. */
#define OBJ_ENTRY_HEADER_MAX_B (1u << 20)

#endif
