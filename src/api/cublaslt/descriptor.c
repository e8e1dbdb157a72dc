/*
 * Descriptors: opaque structures of the program or of ours, and their attributes. A row of a table
 * says where an attribute is kept, and how long it is where the program has it.
 */
#include <assert.h>
#include <string.h>

#include "api/cublaslt/cublaslt.h"
#include "base/mem.h"

struct attribute {
    int attr;
    uint16_t offset;
    uint8_t kept_B, given_B; /* kept in less: a number with a sign where `is_signed` */
    bool is_signed, is_fixed;
};
#define ROW(attr, type, T, member)                                                                 \
    {attr, offsetof(type, member), sizeof(((type *)NULL)->member), sizeof(T), (T) - 1 < (T)1, false}
#define ROW_FLOAT(attr, type, member)                                                              \
    {attr, offsetof(type, member), sizeof(float), sizeof(float), false, false}
#define ROW_POINTER(attr, type, member)                                                            \
    {attr, offsetof(type, member), sizeof(void *), sizeof(void *), false, false}

#define L(attr, T, member) ROW(CUBLASLT_MATRIX_LAYOUT_##attr, struct lt_layout, T, member)
static const struct attribute layout_rows[] = {
    L(TYPE, uint32_t, type),
    L(ORDER, int32_t, order),
    L(ROWS, uint64_t, rows),
    L(COLS, uint64_t, cols),
    L(LD, int64_t, ld),
    L(BATCH_COUNT, int32_t, batch),
    L(STRIDED_BATCH_OFFSET, int64_t, stride),
    L(PLANE_OFFSET, int64_t, plane),
    L(BATCH_MODE, uint32_t, batch_mode),
};

#define M(attr, T, member) ROW(CUBLASLT_MATMUL_DESC_##attr, struct lt_desc, T, member)
#define P(attr, member)    ROW_POINTER(CUBLASLT_MATMUL_DESC_##attr, struct lt_desc, member)
static const struct attribute desc_rows[] = {
    M(COMPUTE_TYPE, int32_t, compute),
    M(SCALE_TYPE, int32_t, scale),
    M(POINTER_MODE, int32_t, pointer_mode),
    M(TRANSA, int32_t, transa),
    M(TRANSB, int32_t, transb),
    M(TRANSC, int32_t, transc),
    M(FILL_MODE, int32_t, fill),
    M(EPILOGUE, uint32_t, epilogue),
    P(BIAS_POINTER, bias),
    M(BIAS_BATCH_STRIDE, int64_t, bias_stride),
    P(EPILOGUE_AUX_POINTER, aux),
    M(EPILOGUE_AUX_LD, int64_t, aux_ld),
    M(EPILOGUE_AUX_BATCH_STRIDE, int64_t, aux_stride),
    M(ALPHA_VECTOR_BATCH_STRIDE, int64_t, alpha_stride),
    M(SM_COUNT_TARGET, int32_t, sm_count),
    P(A_SCALE_POINTER, a_scale),
    P(B_SCALE_POINTER, b_scale),
    P(C_SCALE_POINTER, c_scale),
    P(D_SCALE_POINTER, d_scale),
    P(AMAX_D_POINTER, amax_d),
    M(EPILOGUE_AUX_DATA_TYPE, int32_t, aux_type),
    P(EPILOGUE_AUX_SCALE_POINTER, aux_scale),
    P(EPILOGUE_AUX_AMAX_POINTER, aux_amax),
    M(FAST_ACCUM, int8_t, fast_accum),
    M(BIAS_DATA_TYPE, int32_t, bias_type),
    M(A_SCALE_MODE, int32_t, a_mode),
    M(B_SCALE_MODE, int32_t, b_mode),
    M(C_SCALE_MODE, int32_t, c_mode),
    M(D_SCALE_MODE, int32_t, d_mode),
    M(EPILOGUE_AUX_SCALE_MODE, int32_t, aux_mode),
    P(D_OUT_SCALE_POINTER, d_out),
    M(D_OUT_SCALE_MODE, int32_t, d_out_mode),
    P(EMULATION_DESCRIPTOR, emulation),
};

#define S(attr, member)                                                                            \
    ROW(CUBLASLT_MATRIX_TRANSFORM_DESC_##attr, struct lt_transform_desc, int32_t, member)
static const struct attribute transform_rows[] = {
    S(SCALE_TYPE, scale), S(POINTER_MODE, pointer_mode), S(TRANSA, transa), S(TRANSB, transb)};

#define R(attr, T, member) ROW(CUBLASLT_MATMUL_PREF_##attr, struct lt_preference, T, member)
static const struct attribute preference_rows[] = {
    R(SEARCH_MODE, uint32_t, search),
    R(MAX_WORKSPACE_BYTES, uint64_t, workspace_B),
    R(REDUCTION_SCHEME_MASK, uint32_t, reductions),
    R(MIN_ALIGNMENT_A_BYTES, uint32_t, align_a),
    R(MIN_ALIGNMENT_B_BYTES, uint32_t, align_b),
    R(MIN_ALIGNMENT_C_BYTES, uint32_t, align_c),
    R(MIN_ALIGNMENT_D_BYTES, uint32_t, align_d),
    ROW_FLOAT(CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, struct lt_preference, waves),
    R(IMPL_MASK, uint64_t, implementations),
};

#define E(attr, member) ROW(CUBLASLT_EMULATION_DESC_##attr, struct lt_emulation, int32_t, member)
static const struct attribute emulation_rows[] = {
    E(STRATEGY, strategy),
    E(SPECIAL_VALUES_SUPPORT, special_values),
    E(FIXEDPOINT_MANTISSA_CONTROL, control),
    E(FIXEDPOINT_MAX_MANTISSA_BIT_COUNT, bits),
    E(FIXEDPOINT_MANTISSA_BIT_OFFSET, offset),
    ROW_POINTER(CUBLASLT_EMULATION_DESC_FIXEDPOINT_MANTISSA_BIT_COUNT_POINTER, struct lt_emulation,
                bits_used),
};

#define A(attr, T, member) ROW(CUBLASLT_ALGO_CONFIG_##attr, struct lt_algo, T, member)
static const struct attribute algo_rows[] = {
    {CUBLASLT_ALGO_CONFIG_ID, offsetof(struct lt_algo, id), 4, 4, true, true},
    A(TILE_ID, uint32_t, tile),
    A(SPLITK_NUM, int32_t, split_k),
    A(REDUCTION_SCHEME, uint32_t, reduction),
    A(CTA_SWIZZLING, uint32_t, swizzling),
    A(CUSTOM_OPTION, uint32_t, option),
    A(STAGES_ID, uint32_t, stages),
    A(INNER_SHAPE_ID, uint16_t, inner_shape),
    A(CLUSTER_SHAPE_ID, uint16_t, cluster_shape),
};

static const struct attribute *find(const struct attribute *rows, size_t n, int attr)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].attr == attr)
            return &rows[i];
    return NULL;
}

static cublasStatus_t set(void *object, const struct attribute *row, const void *buf, size_t size,
                          const char *function)
{
    int64_t value = 0;

    if (!object || !row || row->is_fixed || !buf || size != row->given_B)
        return lt_error(CUBLAS_STATUS_INVALID_VALUE, function,
                        "no such attribute, or not of %zu bytes", size);
    char *at = (char *)object + row->offset;
    if (row->kept_B == row->given_B) {
        memcpy(at, buf, size);
        return CUBLAS_STATUS_SUCCESS;
    }
    /* Little-endian: the number's low bytes are kept, if they are all of it. */
    assert(size == sizeof(int32_t) && row->kept_B < size);
    int32_t wide;
    memcpy(&wide, buf, sizeof(wide));
    value = row->is_signed ? wide : (int64_t)(uint32_t)wide;
    int64_t limit = (int64_t)1 << (8 * row->kept_B - row->is_signed);
    if (value >= limit || value < (row->is_signed ? -limit : 0))
        return lt_error(CUBLAS_STATUS_INVALID_VALUE, function, "attribute %d cannot be %lld",
                        row->attr, (long long)value);
    memcpy(at, &value, row->kept_B);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t get(const void *object, const struct attribute *row, void *buf, size_t size,
                          size_t *written)
{
    if (!object || !row || (!size && !written) || (size && (!buf || size != row->given_B)))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (written)
        *written = row->given_B;
    if (!size)
        return CUBLAS_STATUS_SUCCESS;
    const char *at = (const char *)object + row->offset;
    bool minus = row->is_signed && row->kept_B < row->given_B && (at[row->kept_B - 1] & 0x80);
    memset(buf, minus ? 0xff : 0, size);
    memcpy(buf, at, row->kept_B);
    return CUBLAS_STATUS_SUCCESS;
}

/* An object of the library's own, attributes of any; `Args` and `args` are what it begins with. */
#define CLASS(Name, T, rows, Attribute)                                                            \
    _Static_assert(sizeof(T) <= sizeof(cublasLt##Name##Opaque_t), "an opaque structure");          \
    cublasStatus_t cublasLt##Name##Destroy(cublasLt##Name##_t desc)                                \
    {                                                                                              \
        hd_free(desc);                                                                             \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }                                                                                              \
    cublasStatus_t cublasLt##Name##SetAttribute(cublasLt##Name##_t desc, Attribute attr,           \
                                                const void *buf, size_t sizeInBytes)               \
    {                                                                                              \
        return set(desc, find(rows, HD_COUNT_OF(rows), (int)attr), buf, sizeInBytes, __func__);    \
    }                                                                                              \
    cublasStatus_t cublasLt##Name##GetAttribute(cublasLt##Name##_t desc, Attribute attr,           \
                                                void *buf, size_t sizeInBytes,                     \
                                                size_t *sizeWritten)                               \
    {                                                                                              \
        return get(desc, find(rows, HD_COUNT_OF(rows), (int)attr), buf, sizeInBytes, sizeWritten); \
    }
CLASS(MatrixLayout, struct lt_layout, layout_rows, cublasLtMatrixLayoutAttribute_t)
CLASS(MatmulDesc, struct lt_desc, desc_rows, cublasLtMatmulDescAttributes_t)
CLASS(MatrixTransformDesc, struct lt_transform_desc, transform_rows,
      cublasLtMatrixTransformDescAttributes_t)
CLASS(MatmulPreference, struct lt_preference, preference_rows, cublasLtMatmulPreferenceAttributes_t)
CLASS(EmulationDesc, struct lt_emulation, emulation_rows, cublasLtEmulationDescAttributes_t)
/* A program that was built with CUDA 12.0 has the smallest one. */
_Static_assert(sizeof(struct lt_desc) <= 23 * sizeof(uint64_t), "of CUDA 12.0");
_Static_assert(sizeof(struct lt_algo) <= sizeof(cublasLtMatmulAlgo_t), "an opaque structure");

/* Into a structure of `size` bytes. */
static cublasStatus_t init(void *object, size_t size, const void *value, size_t value_B)
{
    if (!object || size < value_B)
        return CUBLAS_STATUS_INVALID_VALUE;
    memset(object, 0, size);
    memcpy(object, value, value_B);
    return CUBLAS_STATUS_SUCCESS;
}

/* Into a new one, which has room for what later versions' structures are copied as. */
#define CREATED_B 256
#define CREATE(out, Name, ...)                                                                     \
    do {                                                                                           \
        if (!(out))                                                                                \
            return CUBLAS_STATUS_INVALID_VALUE;                                                    \
        *(out) = hd_alloc(CREATED_B);                                                              \
        if (!*(out))                                                                               \
            return CUBLAS_STATUS_ALLOC_FAILED;                                                     \
        return cublasLt##Name##Init_internal(*(out), sizeof(**(out)) __VA_ARGS__);                 \
    } while (0)

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t matLayout, size_t size,
                                                 cudaDataType type, uint64_t rows, uint64_t cols,
                                                 int64_t ld)
{
    struct lt_layout layout = {
        .type = (uint32_t)type, .rows = rows, .cols = cols, .ld = ld, .batch = 1};

    return init(matLayout, size, &layout, sizeof(layout));
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *matLayout, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld)
{
    CREATE(matLayout, MatrixLayout, , type, rows, cols, ld);
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t matmulDesc, size_t size,
                                               cublasComputeType_t computeType,
                                               cudaDataType_t scaleType)
{
    struct lt_desc desc = {.compute = (int8_t)computeType,
                           .scale = (int8_t)scaleType,
                           .fill = CUBLAS_FILL_MODE_FULL,
                           .epilogue = CUBLASLT_EPILOGUE_DEFAULT,
                           .aux_type = -1,
                           .bias_type = -1};

    if ((unsigned)computeType > INT8_MAX || (unsigned)scaleType > INT8_MAX)
        return CUBLAS_STATUS_INVALID_VALUE;
    return init(matmulDesc, size, &desc, sizeof(desc));
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *matmulDesc,
                                        cublasComputeType_t computeType, cudaDataType_t scaleType)
{
    CREATE(matmulDesc, MatmulDesc, , computeType, scaleType);
}

cublasStatus_t cublasLtMatrixTransformDescInit_internal(cublasLtMatrixTransformDesc_t transformDesc,
                                                        size_t size, cudaDataType scaleType)
{
    struct lt_transform_desc desc = {.scale = (int32_t)scaleType};

    return init(transformDesc, size, &desc, sizeof(desc));
}

cublasStatus_t cublasLtMatrixTransformDescCreate(cublasLtMatrixTransformDesc_t *transformDesc,
                                                 cudaDataType scaleType)
{
    CREATE(transformDesc, MatrixTransformDesc, , scaleType);
}

cublasStatus_t cublasLtEmulationDescInit_internal(cublasLtEmulationDesc_t emulationDesc,
                                                  size_t size)
{
    struct lt_emulation emulation = {.special_values =
                                         CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT};

    return init(emulationDesc, size, &emulation, sizeof(emulation));
}

cublasStatus_t cublasLtEmulationDescCreate(cublasLtEmulationDesc_t *emulationDesc)
{
    CREATE(emulationDesc, EmulationDesc, );
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t pref, size_t size)
{
    struct lt_preference preference = {.implementations = UINT64_MAX,
                                       .reductions = CUBLASLT_REDUCTION_SCHEME_MASK,
                                       .align_a = 256,
                                       .align_b = 256,
                                       .align_c = 256,
                                       .align_d = 256};

    return init(pref, size, &preference, sizeof(preference));
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *pref)
{
    CREATE(pref, MatmulPreference, );
}

/* ---- the configuration of an algorithm */

static bool is_algo(const cublasLtMatmulAlgo_t *algo)
{
    return algo && ((const struct lt_algo *)algo)->magic == LT_ALGO;
}

cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t *algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attr,
                                                    const void *buf, size_t sizeInBytes)
{
    return set(is_algo(algo) ? algo : NULL, find(algo_rows, HD_COUNT_OF(algo_rows), (int)attr), buf,
               sizeInBytes, __func__);
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attr,
                                                    void *buf, size_t sizeInBytes,
                                                    size_t *sizeWritten)
{
    return get(is_algo(algo) ? algo : NULL, find(algo_rows, HD_COUNT_OF(algo_rows), (int)attr), buf,
               sizeInBytes, sizeWritten);
}

/* What an algorithm can do: one number each, and lists of tiles and stages with nothing in them. */
cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                 cublasLtMatmulAlgoCapAttributes_t attr, void *buf,
                                                 size_t sizeInBytes, size_t *sizeWritten)
{
    static const uint64_t flags = CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA;
    uint64_t value = 0;
    size_t value_B = sizeof(uint32_t);

    switch (attr) {
    case CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT:
    case CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT:
    case CUBLASLT_ALGO_CAP_CUSTOM_MEMORY_ORDER:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES:
        value = 1;
        break;
    case CUBLASLT_ALGO_CAP_SPLITK_SUPPORT:
    case CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK:
    case CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT:
    case CUBLASLT_ALGO_CAP_UPLO_SUPPORT:
    case CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX:
    case CUBLASLT_ALGO_CAP_LD_NEGATIVE:
        break;
    case CUBLASLT_ALGO_CAP_POINTER_MODE_MASK:
        value = 31;
        break;
    case CUBLASLT_ALGO_CAP_EPILOGUE_MASK:
        value = 1023;
        break;
    case CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS:
        value = flags;
        value_B = sizeof(value);
        break;
    case CUBLASLT_ALGO_CAP_TILE_IDS:
    case CUBLASLT_ALGO_CAP_STAGES_IDS:
        if (sizeInBytes >= sizeof(uint32_t)) /* one: UNDEFINED */
            sizeInBytes = sizeof(uint32_t);
        break;
    default:
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (!is_algo(algo) || (!sizeInBytes && !sizeWritten) ||
        (sizeInBytes && (!buf || sizeInBytes != value_B)))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (sizeWritten)
        *sizeWritten = value_B;
    if (sizeInBytes)
        memcpy(buf, &value, value_B);
    return CUBLAS_STATUS_SUCCESS;
}
