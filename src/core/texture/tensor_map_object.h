/*
 * Making tensor maps (model/tensor_map.h), for cuTensorMapEncode..(): numbers as the program gave
 * them, of which not one has been looked at.
 */
#ifndef HD_CORE_TEXTURE_TENSOR_MAP_OBJECT_H
#define HD_CORE_TEXTURE_TENSOR_MAP_OBJECT_H

#include <stdint.h>

enum core_tensor_kind { CORE_TENSOR_TILED, CORE_TENSOR_IM2COL, CORE_TENSOR_IM2COL_W };

enum { CORE_TENSOR_MAP_ALIGN_B = 64, CORE_TENSOR_W128_PIXELS = 128 };

struct core_tensor_spec {
    enum core_tensor_kind kind;
    uint32_t type, interleave, swizzle, l2, fill; /* as CUDA counts them */
    uint32_t rank;
    uint64_t address;
    const uint64_t *dim;      /* rank of them */
    const uint64_t *stride_B; /* rank - 1; may be NULL when that is 0 */
    const uint32_t *step;     /* rank */
    const uint32_t *box;      /* TILED: rank */
    const int *lower, *upper; /* images: rank - 2, along W only one */
    uint32_t channels, pixels;
};

/* `out`: 128 aligned bytes. What is wrong, and then nothing is written; NULL: nothing. */
const char *core_tensor_map_encode(const struct core_tensor_spec *spec, void *out);
/* Gives the map another tensor of the same kind. What is wrong, likewise. */
const char *core_tensor_map_move(void *map, uint64_t address);

#endif
