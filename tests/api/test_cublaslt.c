/*
 * cuBLASLt beside its products: handles, which are cuBLAS's, descriptors and attributes,
 * algorithms, the log, sums of matrices, streams and graphs, and what is refused.
 */
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "support/tap.h"

static cublasLtHandle_t handle;

#define OK(call, what)       eq_u64((call), CUBLAS_STATUS_SUCCESS, what)
#define FAILS(call, s, what) eq_u64((call), CUBLAS_STATUS_##s, what)

static void test_handles(void)
{
    cublasHandle_t blas;
    cublasLtHandle_t lt;
    int value, version;

    FAILS(cublasLtCreate(NULL), INVALID_VALUE, "no place for a handle");
    FAILS(cublasLtDestroy(NULL), NOT_INITIALIZED, "no handle");
    OK(cublasCreate(&blas), "a handle of cuBLAS");
    OK(cublasLtDestroy((cublasLtHandle_t)blas), "is destroyed by cuBLASLt");
    OK(cublasLtCreate(&lt), "a handle of cuBLASLt");
    OK(cublasSetPointerMode((cublasHandle_t)lt, CUBLAS_POINTER_MODE_DEVICE), "is cuBLAS's");
    OK(cublasDestroy((cublasHandle_t)lt), "and is destroyed by it");
    OK(cublasGetVersion(NULL, &version), "cuBLAS's version");
    eq_u64(cublasLtGetVersion(), (uint64_t)version, "is cuBLASLt's");
    eq_u64(cublasLtGetCudartVersion(), cublasGetCudartVersion(), "of the same runtime");
    OK(cublasLtGetProperty(MAJOR_VERSION, &value), "a part of it");
    eq_u64((uint64_t)value, CUBLAS_VER_MAJOR, "the first");
    FAILS(cublasLtGetProperty((libraryPropertyType)3, &value), INVALID_VALUE, "no such part");
    eq_str(cublasLtGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED",
           "names of statuses");
    eq_str(cublasLtGetStatusString(CUBLAS_STATUS_INTERNAL_ERROR), "an internal operation failed",
           "and what they say");
    size_t capacity = 0;
    OK(cublasLtHeuristicsCacheGetCapacity(&capacity), "room for results of heuristics");
    ok(capacity > 0, "there is");
    OK(cublasLtHeuristicsCacheSetCapacity(7), "another");
    ok(!cublasLtHeuristicsCacheGetCapacity(&capacity) && capacity == 7, "is kept");
    (void)cublasLtDisableCpuInstructionsSetMask(5);
    eq_u64(cublasLtDisableCpuInstructionsSetMask(0), 5, "the mask that was set before");
}

/* ---- attributes */

static void test_desc(void)
{
    /* Value, documented bytes, default. */
    static const struct {
        int attr;
        size_t size;
        int64_t standard, other;
    } rows[] = {
        {CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 4, CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_64F},
        {CUBLASLT_MATMUL_DESC_SCALE_TYPE, 4, CUDA_R_32F, CUDA_R_64F},
        {CUBLASLT_MATMUL_DESC_POINTER_MODE, 4, 0, 4},
        {CUBLASLT_MATMUL_DESC_TRANSA, 4, CUBLAS_OP_N, CUBLAS_OP_C},
        {CUBLASLT_MATMUL_DESC_TRANSB, 4, CUBLAS_OP_N, CUBLAS_OP_T},
        {CUBLASLT_MATMUL_DESC_TRANSC, 4, CUBLAS_OP_N, CUBLAS_OP_T},
        {CUBLASLT_MATMUL_DESC_FILL_MODE, 4, CUBLAS_FILL_MODE_FULL, CUBLAS_FILL_MODE_LOWER},
        {CUBLASLT_MATMUL_DESC_EPILOGUE, 4, CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BGRADB},
        {CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8, 0, 0x123456789abcdef0},
        {CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, 8, 0, INT64_MIN},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, 8, 0, 0x123456789abcdef0},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 8, 0, 1ll << 40},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, 8, 0, 1ll << 40},
        {CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, 8, 0, -5},
        {CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, 4, 0, 1000000},
        {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, 8, 0, 0x10},
        {CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, 8, 0, 0x20},
        {CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, 8, 0, 0x30},
        {CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, 8, 0, 0x40},
        {CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, 8, 0, 0x50},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, 4, -1, CUDA_R_8F_E4M3},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, 8, 0, 0x60},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, 8, 0, 0x70},
        {CUBLASLT_MATMUL_DESC_FAST_ACCUM, 1, 0, 1},
        {CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 4, -1, CUDA_R_16BF},
        {CUBLASLT_MATMUL_DESC_A_SCALE_MODE, 4, 0, 1},
        {CUBLASLT_MATMUL_DESC_B_SCALE_MODE, 4, 0, 2},
        {CUBLASLT_MATMUL_DESC_C_SCALE_MODE, 4, 0, 3},
        {CUBLASLT_MATMUL_DESC_D_SCALE_MODE, 4, 0, 4},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, 4, 0, 5},
        {CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, 8, 0, 0x80},
        {CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, 4, 0, 2},
        {CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR, 8, 0, 0x90},
    };
    cublasLtMatmulDesc_t desc;
    cublasLtMatmulDescOpaque_t here;
    unsigned wrong = 0;

    OK(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F), "a description");
    OK(cublasLtMatmulDescInit(&here, CUBLAS_COMPUTE_32F, CUDA_R_32F), "in the program's memory");
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        cublasLtMatmulDescAttributes_t attr = (cublasLtMatmulDescAttributes_t)rows[i].attr;
        int64_t got = 0;
        size_t written = 0;
        int shift = 64 - 8 * (int)rows[i].size;
        bool fine =
            !cublasLtMatmulDescGetAttribute(desc, attr, NULL, 0, &written) &&
            written == rows[i].size &&
            !cublasLtMatmulDescGetAttribute(desc, attr, &got, rows[i].size, &written) &&
            (int64_t)((uint64_t)got << shift) == (int64_t)((uint64_t)rows[i].standard << shift);
        fine = fine && !cublasLtMatmulDescSetAttribute(desc, attr, &rows[i].other, rows[i].size) &&
               !cublasLtMatmulDescSetAttribute(&here, attr, &rows[i].other, rows[i].size) &&
               !cublasLtMatmulDescGetAttribute(&here, attr, &got, rows[i].size, NULL) &&
               (int64_t)((uint64_t)got << shift) == (int64_t)((uint64_t)rows[i].other << shift);
        fine = fine &&
               cublasLtMatmulDescSetAttribute(desc, attr, &got, rows[i].size + 1) ==
                   CUBLAS_STATUS_INVALID_VALUE &&
               cublasLtMatmulDescSetAttribute(desc, attr, NULL, rows[i].size) ==
                   CUBLAS_STATUS_INVALID_VALUE &&
               cublasLtMatmulDescGetAttribute(desc, attr, &got, rows[i].size - 1, NULL) ==
                   CUBLAS_STATUS_INVALID_VALUE;
        if (!fine)
            diag("attribute %d", rows[i].attr);
        wrong += !fine;
    }
    eq_u64(wrong, 0, "attributes: sizes, defaults, and what was set");
    /* What one attribute is does not change its neighbours. */
    wrong = 0;
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        int64_t got = 0;
        wrong += cublasLtMatmulDescGetAttribute(desc, (cublasLtMatmulDescAttributes_t)rows[i].attr,
                                                &got, rows[i].size, NULL) ||
                 memcmp(&got, &rows[i].other, rows[i].size) != 0;
    }
    eq_u64(wrong, 0, "each is kept when all are set");
    int huge = 1 << 20, got = 0;
    FAILS(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &huge, 4),
          INVALID_VALUE, "no such epilogue");
    FAILS(cublasLtMatmulDescSetAttribute(desc, (cublasLtMatmulDescAttributes_t)99, &huge, 4),
          INVALID_VALUE, "no such attribute");
    FAILS(cublasLtMatmulDescGetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &got, 0, NULL),
          INVALID_VALUE, "nowhere to say anything");
    FAILS(cublasLtMatmulDescInit_internal(&here, 8, CUBLAS_COMPUTE_32F, CUDA_R_32F), INVALID_VALUE,
          "a structure that is too small");
    OK(cublasLtMatmulDescInit_internal(&here, 184, CUBLAS_COMPUTE_32F, CUDA_R_32F),
       "the structure of CUDA 12.0");
    FAILS(cublasLtMatmulDescCreate(NULL, CUBLAS_COMPUTE_32F, CUDA_R_32F), INVALID_VALUE,
          "no place for a description");
    OK(cublasLtMatmulDescDestroy(desc), "it ends");
}

static void test_others(void)
{
    cublasLtMatrixLayout_t layout;
    cublasLtMatrixLayoutOpaque_t here;
    cublasLtMatmulPreference_t pref;
    cublasLtMatmulPreferenceOpaque_t pref_here;
    cublasLtMatrixTransformDesc_t transform;
    cublasLtMatrixTransformDescOpaque_t transform_here;
    uint64_t wide = 0;
    int number = -1;
    float waves = -1;

    OK(cublasLtMatrixLayoutCreate(&layout, CUDA_R_16F, 5, 6, 7), "a layout");
    OK(cublasLtMatrixLayoutInit(&here, CUDA_R_16F, 5, 6, 7), "in the program's memory");
    ok(!cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &wide, 8, NULL) &&
           wide == 5,
       "rows");
    ok(!cublasLtMatrixLayoutGetAttribute(&here, CUBLASLT_MATRIX_LAYOUT_COLS, &wide, 8, NULL) &&
           wide == 6,
       "columns");
    ok(!cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_LD, &wide, 8, NULL) &&
           wide == 7,
       "leading dimension");
    ok(!cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_TYPE, &number, 4, NULL) &&
           number == CUDA_R_16F,
       "type");
    ok(!cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &number, 4, NULL) &&
           number == CUBLASLT_ORDER_COL,
       "order");
    ok(!cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &number, 4,
                                         NULL) &&
           number == 1,
       "batch");
    ok(!cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &wide,
                                         8, NULL) &&
           wide == 0,
       "stride");
    OK(cublasLtMatrixLayoutDestroy(layout), "it ends");

    OK(cublasLtMatmulPreferenceCreate(&pref), "a preference");
    OK(cublasLtMatmulPreferenceInit(&pref_here), "in the program's memory");
    ok(!cublasLtMatmulPreferenceGetAttribute(pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &wide,
                                             8, NULL) &&
           wide == 0,
       "workspace");
    ok(!cublasLtMatmulPreferenceGetAttribute(pref, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
                                             &number, 4, NULL) &&
           number == 256,
       "alignment");
    ok(!cublasLtMatmulPreferenceGetAttribute(pref, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                             &number, 4, NULL) &&
           number == CUBLASLT_REDUCTION_SCHEME_MASK,
       "reductions");
    ok(!cublasLtMatmulPreferenceGetAttribute(&pref_here, CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT,
                                             &waves, 4, NULL) &&
           waves == 0,
       "waves");
    ok(!cublasLtMatmulPreferenceGetAttribute(pref, CUBLASLT_MATMUL_PREF_IMPL_MASK, &wide, 8,
                                             NULL) &&
           wide == UINT64_MAX,
       "implementations");
    waves = 2.5f;
    OK(cublasLtMatmulPreferenceSetAttribute(pref, CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, &waves, 4),
       "waves that are set");
    waves = 0;
    ok(!cublasLtMatmulPreferenceGetAttribute(pref, CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, &waves, 4,
                                             NULL) &&
           waves == 2.5f,
       "are kept");
    OK(cublasLtMatmulPreferenceDestroy(pref), "it ends");

    OK(cublasLtMatrixTransformDescCreate(&transform, CUDA_R_64F), "a description of a sum");
    OK(cublasLtMatrixTransformDescInit(&transform_here, CUDA_R_64F), "in the program's memory");
    ok(!cublasLtMatrixTransformDescGetAttribute(
           transform, CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE, &number, 4, NULL) &&
           number == CUDA_R_64F,
       "its factors");
    ok(!cublasLtMatrixTransformDescGetAttribute(
           &transform_here, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB, &number, 4, NULL) &&
           number == CUBLAS_OP_N,
       "its operations");
    OK(cublasLtMatrixTransformDescDestroy(transform), "it ends");

    cublasLtEmulationDesc_t emulation;
    cublasLtEmulationDescOpaque_t emulation_here;
    OK(cublasLtEmulationDescCreate(&emulation), "a description of an emulation");
    OK(cublasLtEmulationDescInit(&emulation_here), "in the program's memory");
    ok(!cublasLtEmulationDescGetAttribute(emulation, CUBLASLT_EMULATION_DESC_SPECIAL_VALUES_SUPPORT,
                                          &number, 4, NULL) &&
           number == CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT,
       "its special values");
    number = 11;
    OK(cublasLtEmulationDescSetAttribute(
           &emulation_here, CUBLASLT_EMULATION_DESC_FIXEDPOINT_MANTISSA_BIT_OFFSET, &number, 4),
       "an offset");
    number = 0;
    ok(!cublasLtEmulationDescGetAttribute(&emulation_here,
                                          CUBLASLT_EMULATION_DESC_FIXEDPOINT_MANTISSA_BIT_OFFSET,
                                          &number, 4, NULL) &&
           number == 11,
       "is kept");
    OK(cublasLtEmulationDescDestroy(emulation), "it ends");
}

/* ---- a small product: 2 x 2 floats */

struct product {
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t layout;
    float *memory, *a, *b, *c, *d; /* columns */
};

static struct product product(void)
{
    struct product p;
    static const float values[] = {1, 2, 3, 4, 5, 6, 7, 8, 1, 1, 1, 1, 0, 0, 0, 0};

    if (cublasLtMatmulDescCreate(&p.desc, CUBLAS_COMPUTE_32F, CUDA_R_32F) ||
        cublasLtMatrixLayoutCreate(&p.layout, CUDA_R_32F, 2, 2, 2) ||
        cudaMalloc((void **)&p.memory, sizeof(values)) ||
        cudaMemcpy(p.memory, values, sizeof(values), cudaMemcpyDefault))
        exit(1);
    p.a = p.memory, p.b = p.memory + 4, p.c = p.memory + 8, p.d = p.memory + 12;
    return p;
}

static void end(struct product *p)
{
    cublasLtMatmulDescDestroy(p->desc);
    cublasLtMatrixLayoutDestroy(p->layout);
    cudaFree(p->memory);
}

static cublasStatus_t multiply(const struct product *p, const float *alpha, const float *beta,
                               cudaStream_t stream)
{
    return cublasLtMatmul(handle, p->desc, alpha, p->a, p->layout, p->b, p->layout, beta, p->c,
                          p->layout, p->d, p->layout, NULL, NULL, 0, stream);
}

static void test_algorithms(void)
{
    struct product p = product();
    cublasLtMatmulPreference_t pref;
    cublasLtMatmulHeuristicResult_t found[3], checked;
    cublasLtMatmulAlgo_t algo;
    int count = -1, ids[4] = {-1, -1, -1, -1}, number = -1;
    uint32_t tile = 20, tiles[8];
    size_t written = 0;
    float one = 1, zero = 0;

    cublasLtMatmulPreferenceCreate(&pref);
    OK(cublasLtMatmulAlgoGetHeuristic(handle, p.desc, p.layout, p.layout, p.layout, p.layout, pref,
                                      3, found, &count),
       "heuristics");
    ok(count == 1 && found[0].state == CUBLAS_STATUS_SUCCESS && !found[0].workspaceSize,
       "one algorithm, which needs no workspace");
    OK(cublasLtMatmul(handle, p.desc, &one, p.a, p.layout, p.b, p.layout, &zero, p.c, p.layout, p.d,
                      p.layout, &found[0].algo, NULL, 0, NULL),
       "with it");
    cudaDeviceSynchronize();
    ok(p.d[0] == 23 && p.d[1] == 34 && p.d[2] == 31 && p.d[3] == 46, "the product");
    OK(cublasLtMatmulAlgoGetIds(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
                                CUDA_R_32F, CUDA_R_32F, 4, ids, &count),
       "numbers of algorithms");
    ok(count == 1 && ids[0] == 0, "there is one");
    FAILS(cublasLtMatmulAlgoGetIds(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_16F,
                                   CUDA_R_32F, CUDA_R_32F, 4, ids, &count),
          NOT_SUPPORTED, "of types that do not go together");
    OK(cublasLtMatmulAlgoInit(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
                              CUDA_R_32F, CUDA_R_32F, 0, &algo),
       "it by its number");
    FAILS(cublasLtMatmulAlgoInit(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
                                 CUDA_R_32F, CUDA_R_32F, 9, &algo),
          INVALID_VALUE, "no such number");
    OK(cublasLtMatmulAlgoCheck(handle, p.desc, p.layout, p.layout, p.layout, p.layout, &algo,
                               &checked),
       "it is checked");
    OK(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, 4),
       "a tile");
    tile = 0;
    ok(!cublasLtMatmulAlgoConfigGetAttribute(&algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, 4,
                                             &written) &&
           tile == 20 && written == 4,
       "is kept");
    ok(!cublasLtMatmulAlgoConfigGetAttribute(&algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &number, 4,
                                             NULL) &&
           number == 1,
       "split-k");
    FAILS(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_ID, &number, 4),
          INVALID_VALUE, "the number is not to be set");
    ok(!cublasLtMatmulAlgoCapGetAttribute(&algo, CUBLASLT_ALGO_CAP_TILE_IDS, tiles, sizeof(tiles),
                                          &written) &&
           written == 4 && tiles[0] == CUBLASLT_MATMUL_TILE_UNDEFINED,
       "its tiles");
    ok(!cublasLtMatmulAlgoCapGetAttribute(&algo, CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT, &number,
                                          4, NULL) &&
           number == 1,
       "it can do batches");
    ok(!cublasLtMatmulAlgoCapGetAttribute(&algo, CUBLASLT_ALGO_CAP_POINTER_MODE_MASK, &number, 4,
                                          NULL) &&
           number == 31,
       "all pointer modes");
    memset(&algo, 0, sizeof(algo));
    FAILS(cublasLtMatmulAlgoCheck(handle, p.desc, p.layout, p.layout, p.layout, p.layout, &algo,
                                  &checked),
          INVALID_VALUE, "no algorithm");
    FAILS(cublasLtMatmulAlgoConfigGetAttribute(&algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, 4, NULL),
          INVALID_VALUE, "which has no tile");
    int col32 = CUBLASLT_ORDER_COL32;
    cublasLtMatrixLayoutSetAttribute(p.layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &col32, 4);
    FAILS(cublasLtMatmulAlgoGetHeuristic(handle, p.desc, p.layout, p.layout, p.layout, p.layout,
                                         pref, 3, found, &count),
          NOT_SUPPORTED, "an order of tensor cores");
    eq_u64((uint64_t)count, 0, "no algorithm for it");
    cublasLtMatmulPreferenceDestroy(pref);
    end(&p);
}

static void test_streams(void)
{
    struct product p = product();
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    size_t nodes = 0;
    float one = 1, *factors, sum[4];
    int mode = CUBLASLT_POINTER_MODE_DEVICE;

    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cudaMemsetAsync(p.d, 0, 16, stream);
    OK(multiply(&p, &one, &one, stream), "a product that a graph captures");
    cudaStreamEndCapture(stream, &graph);
    cudaGraphGetNodes(graph, NULL, &nodes);
    eq_u64(nodes, 2, "is a node of it");
    p.d[0] = 99;
    cudaGraphInstantiate(&exec, graph, 0);
    for (int i = 0; i < 3; i++)
        cudaGraphLaunch(exec, stream);
    one = 77; /* was copied */
    cudaStreamSynchronize(stream);
    ok(p.d[0] == 24 && p.d[3] == 47, "and computes");
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);

    cudaMalloc((void **)&factors, 8);
    cublasLtMatmulDescSetAttribute(p.desc, CUBLASLT_MATMUL_DESC_POINTER_MODE, &mode, 4);
    cudaMemsetAsync(factors, 0, 8, stream);
    float two[] = {2, 0};
    cudaMemcpyAsync(factors, two, 8, cudaMemcpyDefault, stream);
    OK(multiply(&p, factors, factors + 1, stream), "factors that the stream writes before");
    cudaMemcpyAsync(sum, p.d, 16, cudaMemcpyDefault, stream);
    cudaStreamSynchronize(stream);
    ok(sum[0] == 46 && sum[3] == 92, "are read when it runs");

    cublasLtEmulationDescOpaque_t emulation;
    cublasLtEmulationDesc_t at = &emulation;
    int32_t *bits = (int32_t *)factors;
    cublasLtEmulationDescInit(at);
    cublasLtEmulationDescSetAttribute(
        at, CUBLASLT_EMULATION_DESC_FIXEDPOINT_MANTISSA_BIT_COUNT_POINTER, &bits, sizeof(bits));
    cublasLtMatmulDescSetAttribute(p.desc, CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR, &at, 8);
    mode = CUBLASLT_POINTER_MODE_HOST;
    cublasLtMatmulDescSetAttribute(p.desc, CUBLASLT_MATMUL_DESC_POINTER_MODE, &mode, 4);
    OK(multiply(&p, two, two + 1, stream), "a product that asks how many bits were kept");
    cudaStreamSynchronize(stream);
    ok(*bits == -1 && p.d[0] == 46, "nothing is emulated");
    cudaFree(factors);
    cudaStreamDestroy(stream);
    end(&p);
}

/* Matrices whose addresses an array has, and C and D at a stride. */
static void test_listed(void)
{
    struct product p = product();
    float **lists, one = 1, sum[8];
    uint32_t mode = CUBLASLT_BATCH_MODE_POINTER_ARRAY;
    int batch = 2, bias = CUBLASLT_EPILOGUE_RELU;
    int64_t step = 0;
    cublasLtMatrixLayout_t out;

    cudaMalloc((void **)&lists, 4 * sizeof(*lists));
    lists[0] = p.a, lists[1] = p.b, lists[2] = p.b, lists[3] = p.a;
    cublasLtMatrixLayoutSetAttribute(p.layout, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, &mode, 4);
    cublasLtMatrixLayoutSetAttribute(p.layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, 4);
    cublasLtMatrixLayoutCreate(&out, CUDA_R_32F, 2, 2, 2);
    cublasLtMatrixLayoutSetAttribute(out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, 4);
    cublasLtMatrixLayoutSetAttribute(out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, 8);
    /* Both problems add to one C; their results are four floats apart. */
    cublasLtMatrixLayout_t d;
    cublasLtMatrixLayoutCreate(&d, CUDA_R_32F, 2, 2, 2);
    step = 4;
    cublasLtMatrixLayoutSetAttribute(d, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, 4);
    cublasLtMatrixLayoutSetAttribute(d, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, 8);
    float *results;
    cudaMalloc((void **)&results, sizeof(sum));
    OK(cublasLtMatmul(handle, p.desc, &one, lists, p.layout, lists + 2, p.layout, &one, p.c, out,
                      results, d, NULL, NULL, 0, NULL),
       "matrices that an array has addresses of");
    cudaMemcpy(sum, results, sizeof(sum), cudaMemcpyDefault);
    ok(sum[0] == 24 && sum[3] == 47 && sum[4] == 20 && sum[7] == 51, "%g %g %g %g", sum[0], sum[3],
       sum[4], sum[7]);
    cublasLtMatmulDescSetAttribute(p.desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &bias, 4);
    FAILS(cublasLtMatmul(handle, p.desc, &one, lists, p.layout, lists + 2, p.layout, &one, p.c, out,
                         results, d, NULL, NULL, 0, NULL),
          NOT_SUPPORTED, "with an epilogue there are none");
    mode = CUBLASLT_BATCH_MODE_GROUPED;
    cublasLtMatrixLayoutSetAttribute(p.layout, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, &mode, 4);
    FAILS(cublasLtMatmul(handle, p.desc, &one, lists, p.layout, lists + 2, p.layout, &one, p.c, out,
                         results, d, NULL, NULL, 0, NULL),
          NOT_SUPPORTED, "nor groups");
    cublasLtMatrixLayoutDestroy(out);
    cublasLtMatrixLayoutDestroy(d);
    cudaFree(lists);
    cudaFree(results);
    end(&p);
}

/* Modes of factors that do not go together. */
static void test_modes(void)
{
    static const struct {
        int a, b, d_out;
        bool fine;
    } rows[] = {{0, 0, -1, true},  {3, 3, -1, false}, {3, 0, -1, false}, {2, 2, 2, true},
                {2, 2, -1, false}, {5, 5, -1, false}, {1, 1, -1, false}, {0, 0, 2, false}};
    cublasLtMatmulPreference_t pref;
    cublasLtMatrixLayout_t in, c, d;
    float *factors;

    cudaMalloc((void **)&factors, 4096);
    cublasLtMatmulPreferenceCreate(&pref);
    cublasLtMatrixLayoutCreate(&in, CUDA_R_8F_E4M3, 128, 128, 128);
    cublasLtMatrixLayoutCreate(&c, CUDA_R_16BF, 128, 128, 128);
    cublasLtMatrixLayoutCreate(&d, CUDA_R_8F_E4M3, 128, 128, 128);
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        cublasLtMatmulDesc_t desc;
        cublasLtMatmulHeuristicResult_t found;
        int count = 0, op = CUBLAS_OP_T;
        cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
        cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &op, 4);
        cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &factors, 8);
        cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &factors, 8);
        cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &rows[i].a, 4);
        cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, &rows[i].b, 4);
        if (rows[i].d_out >= 0) {
            cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, &factors,
                                           8);
            cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE,
                                           &rows[i].d_out, 4);
        }
        cublasStatus_t status =
            cublasLtMatmulAlgoGetHeuristic(handle, desc, in, in, c, d, pref, 1, &found, &count);
        ok(rows[i].fine ? !status && count == 1 : status == CUBLAS_STATUS_NOT_SUPPORTED && !count,
           "modes %d, %d to fp8 with %d: %d", rows[i].a, rows[i].b, rows[i].d_out, status);
        cublasLtMatmulDescDestroy(desc);
    }
    cublasLtMatmulPreferenceDestroy(pref);
    cublasLtMatrixLayoutDestroy(in);
    cublasLtMatrixLayoutDestroy(c);
    cublasLtMatrixLayoutDestroy(d);
    cudaFree(factors);
}

static void test_errors(void)
{
    struct product p = product();
    float one = 1, zero = 0;
    int value;
    cublasLtMatrixLayout_t other;

    FAILS(cublasLtMatmul(NULL, p.desc, &one, p.a, p.layout, p.b, p.layout, &one, p.c, p.layout, p.d,
                         p.layout, NULL, NULL, 0, NULL),
          NOT_INITIALIZED, "no handle");
    FAILS(cublasLtMatmul(handle, NULL, &one, p.a, p.layout, p.b, p.layout, &one, p.c, p.layout, p.d,
                         p.layout, NULL, NULL, 0, NULL),
          INVALID_VALUE, "no description");
    FAILS(multiply(&p, NULL, &one, NULL), INVALID_VALUE, "no factor");
    FAILS(cublasLtMatmul(handle, p.desc, &one, NULL, p.layout, p.b, p.layout, &one, p.c, p.layout,
                         p.d, p.layout, NULL, NULL, 0, NULL),
          INVALID_VALUE, "no matrix");
    OK(cublasLtMatmul(handle, p.desc, &one, p.a, p.layout, p.b, p.layout, &zero, NULL, p.layout,
                      p.d, p.layout, NULL, NULL, 0, NULL),
       "no C is read when beta is 0");
    FAILS(cublasLtMatmul(handle, p.desc, &one, p.a, p.layout, p.b, p.layout, &one, NULL, p.layout,
                         p.d, p.layout, NULL, NULL, 0, NULL),
          INVALID_VALUE, "it is when beta is not");
    cublasLtMatrixLayoutCreate(&other, CUDA_R_32F, 3, 2, 3);
    FAILS(cublasLtMatmul(handle, p.desc, &one, p.a, other, p.b, p.layout, &one, p.c, p.layout, p.d,
                         p.layout, NULL, NULL, 0, NULL),
          INVALID_VALUE, "sizes that do not go together");
    cublasLtMatrixLayoutDestroy(other);
    cublasLtMatrixLayoutCreate(&other, CUDA_R_32F, 2, 2, 1);
    FAILS(cublasLtMatmul(handle, p.desc, &one, p.a, other, p.b, p.layout, &one, p.c, p.layout, p.d,
                         p.layout, NULL, NULL, 0, NULL),
          INVALID_VALUE, "a leading dimension that is too small");
    cublasLtMatrixLayoutDestroy(other);
    cublasLtMatrixLayoutCreate(&other, CUDA_R_16F, 2, 2, 2);
    FAILS(cublasLtMatmul(handle, p.desc, &one, p.a, other, p.b, p.layout, &one, p.c, p.layout, p.d,
                         p.layout, NULL, NULL, 0, NULL),
          NOT_SUPPORTED, "types that do not go together");
    value = 3;
    cublasLtMatrixLayoutSetAttribute(other, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &value, 4);
    FAILS(cublasLtMatmul(handle, p.desc, &one, p.a, other, p.b, p.layout, &one, p.c, p.layout, p.d,
                         p.layout, NULL, NULL, 0, NULL),
          INVALID_VALUE, "batches of different lengths");
    cublasLtMatrixLayoutDestroy(other);
    value = CUBLASLT_EPILOGUE_BIAS;
    cublasLtMatmulDescSetAttribute(p.desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &value, 4);
    FAILS(multiply(&p, &one, &zero, NULL), INVALID_VALUE, "a bias that is nowhere");
    cublasLtMatmulDescSetAttribute(p.desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &p.a, 8);
    value = CUDA_R_16F;
    cublasLtMatmulDescSetAttribute(p.desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &value, 4);
    FAILS(multiply(&p, &one, &zero, NULL), NOT_SUPPORTED, "a bias of another type");
    value = CUBLASLT_EPILOGUE_GELU_AUX;
    cublasLtMatmulDescSetAttribute(p.desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &value, 4);
    FAILS(multiply(&p, &one, &zero, NULL), INVALID_VALUE, "an auxiliary matrix that is nowhere");
    value = 3;
    cublasLtMatmulDescSetAttribute(p.desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &value, 4);
    FAILS(multiply(&p, &one, &zero, NULL), NOT_SUPPORTED, "no such epilogue");
    value = CUBLASLT_EPILOGUE_DEFAULT;
    cublasLtMatmulDescSetAttribute(p.desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &value, 4);
    value = CUBLAS_FILL_MODE_LOWER;
    cublasLtMatmulDescSetAttribute(p.desc, CUBLASLT_MATMUL_DESC_FILL_MODE, &value, 4);
    FAILS(multiply(&p, &one, &zero, NULL), NOT_SUPPORTED, "a triangle");
    value = CUBLAS_FILL_MODE_FULL;
    cublasLtMatmulDescSetAttribute(p.desc, CUBLASLT_MATMUL_DESC_FILL_MODE, &value, 4);
    cublasLtMatmulDescSetAttribute(p.desc, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &p.a, 8);
    FAILS(multiply(&p, &one, &zero, NULL), INVALID_VALUE, "factors of floats");
    end(&p);
}

/* ---- the log */

static int logged_level;
static char logged[256];

static void on_log(int level, const char *function, const char *message)
{
    logged_level = level;
    (void)snprintf(logged, sizeof(logged), "%s: %s", function, message);
}

static void test_log(void)
{
    struct product p = product();
    float one = 1;
    char line[256] = "", name[] = "lt-log-XXXXXX";
    int fd = mkstemp(name);

    OK(cublasLtLoggerSetCallback(on_log), "a callback");
    OK(cublasLtLoggerSetLevel(1), "errors");
    OK(multiply(&p, &one, &one, NULL), "a product");
    eq_str(logged, "", "is none");
    FAILS(multiply(&p, NULL, &one, NULL), INVALID_VALUE, "an error");
    eq_str(logged, "cublasLtMatmul: an argument is NULL", "is told");
    eq_u64((uint64_t)logged_level, 1, "as one");
    OK(cublasLtLoggerSetMask(2), "launches alone");
    OK(multiply(&p, &one, &one, NULL), "a product");
    ok(logged_level == 2 && strstr(logged, "m=2 n=2 k=2"), "is told, with its sizes");
    OK(cublasLtLoggerSetCallback(NULL), "no callback");
    OK(cublasLtLoggerOpenFile(name), "a file");
    OK(multiply(&p, &one, &one, NULL), "a product");
    ok(read(fd, line, sizeof(line) - 1) > 0 && strstr(line, "[cublasLtMatmul]"), "goes to it");
    FAILS(cublasLtLoggerOpenFile("/nowhere/x"), INVALID_VALUE, "no such folder");
    FAILS(cublasLtLoggerSetLevel(6), INVALID_VALUE, "no such level");
    OK(cublasLtLoggerSetFile(NULL), "to stdout");
    OK(cublasLtLoggerSetLevel(0), "nothing");
    OK(cublasLtLoggerSetCallback(on_log), "a callback again");
    OK(cublasLtLoggerForceDisable(), "no log from here on");
    OK(cublasLtLoggerSetLevel(5), "whatever is asked for");
    logged[0] = 0;
    OK(multiply(&p, &one, &one, NULL), "a product");
    eq_str(logged, "", "is not told");
    close(fd);
    unlink(name);
    end(&p);
    cudaDeviceSynchronize();
}

/* ---- sums of matrices */

static void test_transform(void)
{
    enum { M = 5, N = 130 };
    cublasLtMatrixTransformDesc_t desc;
    cublasLtMatrixLayout_t la, lb, lc;
    int rows = CUBLASLT_ORDER_ROW, op = CUBLAS_OP_T, batch = 2;
    int64_t step_a = 7 * N, step_b = 6 * N, step_c = N * M;
    float alpha = 2, beta = -3;
    int8_t *a;
    float *b;
    int32_t *c;
    unsigned wrong = 0;

    cudaMalloc((void **)&a, (size_t)step_a * 2);
    cudaMalloc((void **)&b, (size_t)step_b * 2 * 4);
    cudaMalloc((void **)&c, (size_t)step_c * 2 * 4);
    for (int i = 0; i < step_a * 2; i++)
        a[i] = (int8_t)(i * 7);
    for (int i = 0; i < step_b * 2; i++)
        b[i] = (float)(i % 1001);
    cublasLtMatrixTransformDescCreate(&desc, CUDA_R_32F);
    cublasLtMatrixTransformDescSetAttribute(desc, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB, &op, 4);
    cublasLtMatrixLayoutCreate(&la, CUDA_R_8I, M, N, 7);  /* by columns */
    cublasLtMatrixLayoutCreate(&lb, CUDA_R_32F, N, M, 6); /* by rows, transposed */
    cublasLtMatrixLayoutCreate(&lc, CUDA_R_32I, M, N, N); /* by rows */
    cublasLtMatrixLayoutSetAttribute(lb, CUBLASLT_MATRIX_LAYOUT_ORDER, &rows, 4);
    cublasLtMatrixLayoutSetAttribute(lc, CUBLASLT_MATRIX_LAYOUT_ORDER, &rows, 4);
    cublasLtMatrixLayoutSetAttribute(la, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, 4);
    cublasLtMatrixLayoutSetAttribute(lb, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, 4);
    cublasLtMatrixLayoutSetAttribute(lc, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, 4);
    cublasLtMatrixLayoutSetAttribute(la, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step_a, 8);
    cublasLtMatrixLayoutSetAttribute(lb, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step_b, 8);
    cublasLtMatrixLayoutSetAttribute(lc, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step_c, 8);
    OK(cublasLtMatrixTransform(handle, desc, &alpha, a, la, &beta, b, lb, c, lc, NULL),
       "a sum of two");
    cudaDeviceSynchronize();
    for (int q = 0; q < 2; q++)
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++)
                wrong += c[q * step_c + i * N + j] !=
                         2 * a[q * step_a + i + j * 7] - 3 * (int)b[q * step_b + i + j * 6];
    eq_u64(wrong, 0, "of other types and orders, element by element");
    OK(cublasLtMatrixTransform(handle, desc, &alpha, a, la, NULL, NULL, NULL, c, lc, NULL),
       "of one");
    cudaDeviceSynchronize();
    for (int i = 0; i < M * N; i++)
        wrong += c[i] != 2 * a[i / N + i % N * 7];
    eq_u64(wrong, 0, "is it with its factor");
    FAILS(cublasLtMatrixTransform(handle, desc, &alpha, a, la, NULL, NULL, NULL, c, lb, NULL),
          INVALID_VALUE, "other sizes");
    rows = CUBLASLT_ORDER_COL4_4R2_8C;
    cublasLtMatrixLayoutSetAttribute(lc, CUBLASLT_MATRIX_LAYOUT_ORDER, &rows, 4);
    FAILS(cublasLtMatrixTransform(handle, desc, &alpha, a, la, NULL, NULL, NULL, c, lc, NULL),
          NOT_SUPPORTED, "an order of tensor cores");
    cublasLtMatrixLayoutDestroy(la);
    cublasLtMatrixLayoutDestroy(lb);
    cublasLtMatrixLayoutDestroy(lc);
    cublasLtMatrixTransformDescDestroy(desc);
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
}

/* Functions that there are not say so. */
static void test_refused(void)
{
    static const char *const names[] = {
#define X(name) #name,
#include "api/cublaslt_refused.def"
#undef X
    };
    unsigned wrong = 0;
    int (*quiet)(int);

    *(void **)&quiet = dlsym(RTLD_DEFAULT, "heddle_native_quiet");
    int was = quiet(1);
    for (size_t i = 0; i < HD_COUNT_OF(names); i++) {
        cublasStatus_t (*function)(void);
        *(void **)&function = dlsym(RTLD_DEFAULT, names[i]);
        wrong += !function || function() != CUBLAS_STATUS_NOT_SUPPORTED;
    }
    (void)quiet(was);
    eq_u64(wrong, 0, "%zu functions are refused", HD_COUNT_OF(names));
}

int main(void)
{
    if (cublasLtCreate(&handle))
        return 1;
    test_handles();
    test_desc();
    test_others();
    test_algorithms();
    test_streams();
    test_listed();
    test_modes();
    test_errors();
    test_transform();
    test_refused();
    test_log();
    cublasLtDestroy(handle);
    return done();
}
