/* Tensor maps. */
#include "api/driver/driver.h"
#include "core/texture/tensor_map_object.h"

static CUresult encode(const struct core_tensor_spec *spec, const char *function, CUtensorMap *map)
{
    const char *why = core_tensor_map_encode(spec, map);

    if (!why)
        return CUDA_SUCCESS;
    return drv_error(CUDA_ERROR_INVALID_VALUE, "%s: %s", function, why);
}

CUresult drv_cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                    void *address, const cuuint64_t *dim, const cuuint64_t *strides,
                                    const cuuint32_t *box, const cuuint32_t *steps,
                                    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                    CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill)
{
    struct core_tensor_spec spec = {.kind = CORE_TENSOR_TILED,
                                    .type = type,
                                    .interleave = interleave,
                                    .swizzle = swizzle,
                                    .l2 = l2,
                                    .fill = fill,
                                    .rank = rank,
                                    .address = (uintptr_t)address,
                                    .dim = dim,
                                    .stride_B = strides,
                                    .step = steps,
                                    .box = box};

    API_CALL(cuTensorMapEncodeTiled);
    API_CHECK(map && dim && (strides || rank == 1) && box && steps);
    return encode(&spec, "cuTensorMapEncodeTiled", map);
}

CUresult drv_cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                     void *address, const cuuint64_t *dim,
                                     const cuuint64_t *strides, const int *lower, const int *upper,
                                     cuuint32_t channels, cuuint32_t pixels,
                                     const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                     CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2,
                                     CUtensorMapFloatOOBfill fill)
{
    struct core_tensor_spec spec = {.kind = CORE_TENSOR_IM2COL,
                                    .type = type,
                                    .interleave = interleave,
                                    .swizzle = swizzle,
                                    .l2 = l2,
                                    .fill = fill,
                                    .rank = rank,
                                    .address = (uintptr_t)address,
                                    .dim = dim,
                                    .stride_B = strides,
                                    .step = steps,
                                    .lower = lower,
                                    .upper = upper,
                                    .channels = channels,
                                    .pixels = pixels};

    API_CALL(cuTensorMapEncodeIm2col);
    API_CHECK(map && dim && strides && lower && upper && steps);
    return encode(&spec, "cuTensorMapEncodeIm2col", map);
}

CUresult drv_cuTensorMapEncodeIm2colWide(CUtensorMap *map, CUtensorMapDataType type,
                                         cuuint32_t rank, void *address, const cuuint64_t *dim,
                                         const cuuint64_t *strides, int lower, int upper,
                                         cuuint32_t channels, cuuint32_t pixels,
                                         const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                         CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle,
                                         CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill)
{
    bool all_128 = mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128;
    struct core_tensor_spec spec = {.kind = CORE_TENSOR_IM2COL_W,
                                    .type = type,
                                    .interleave = interleave,
                                    .swizzle = swizzle,
                                    .l2 = l2,
                                    .fill = fill,
                                    .rank = rank,
                                    .address = (uintptr_t)address,
                                    .dim = dim,
                                    .stride_B = strides,
                                    .step = steps,
                                    .lower = &lower,
                                    .upper = &upper,
                                    .channels = channels,
                                    .pixels = all_128 ? CORE_TENSOR_W128_PIXELS : pixels};

    API_CALL(cuTensorMapEncodeIm2colWide);
    API_CHECK(map && dim && strides && steps);
    API_CHECK((all_128 || mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W) && (all_128 || pixels));
    return encode(&spec, "cuTensorMapEncodeIm2colWide", map);
}

CUresult drv_cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
    const char *why;

    API_CALL(cuTensorMapReplaceAddress);
    API_CHECK(map);
    why = core_tensor_map_move(map, (uintptr_t)address);
    if (!why)
        return CUDA_SUCCESS;
    return drv_error(CUDA_ERROR_INVALID_VALUE, "cuTensorMapReplaceAddress: %s", why);
}
