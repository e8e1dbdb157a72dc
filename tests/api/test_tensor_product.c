/*
 * A product of matrices as kernels for tensor cores are written: tensor copies with swizzle fill
 * two stages, whose mbarriers say when they are full, ldmatrix and mma.sync consume them, and the
 * tile of the result leaves by a tensor copy. On every device.
 */
#include <stdio.h>

#include "api/driver/cuda_abi.h"
#include "tap.h"

enum { M = 192, N = 128, K = 320, TILE = 64, STAGE_B = 2 * TILE * TILE * 2, THREADS = 128 };

static char text[64 << 10];
static size_t text_B;

static HD_PRINTF(1, 2) void put(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text + text_B, sizeof(text) - text_B, fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof(text) - text_B)
        abort();
    text_B += (size_t)n;
}

/* Thread 0: tiles of a and b for step %s0 into stage %s0 mod 2. */
static void put_fill(const char *label)
{
    put("setp.ge.s32 %%p, %%s0, %u; @%%p bra %s; setp.ne.u32 %%p, %%me, 0; @%%p bra %s;\n",
        K / TILE, label, label);
    put("and.b32 %%x, %%s0, 1; mul.lo.u32 %%at, %%x, %u; add.u32 %%at, %%at, %%box;\n"
        "shl.b32 %%x, %%x, 3; add.u32 %%bar, %%full, %%x; shl.b32 %%k, %%s0, 6;\n"
        "mbarrier.arrive.expect_tx.shared.b64 %%t, [%%bar], %u;\n"
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes\n"
        "    [%%at], [%%ma, {%%k, %%row}], [%%bar];\n"
        "add.u32 %%at, %%at, %u;\n"
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes\n"
        "    [%%at], [%%mb, {%%k, %%col}], [%%bar];\n%s:\n",
        STAGE_B, STAGE_B, STAGE_B / 2, label);
}

/* %x: where the 16 bytes number `chunk` (a register) of row %y of the tile at %at are. */
static void put_swizzled(const char *chunk)
{
    put("and.b32 %%x, %%y, 7; xor.b32 %%x, %%x, %s; shl.b32 %%x, %%x, 4;\n"
        "shl.b32 %%z, %%y, 7; add.u32 %%x, %%x, %%z; add.u32 %%x, %%x, %%at;\n",
        chunk);
}

/* 16 rows of a for this warp, 8 columns of b for each product; 16 elements of both at a time. */
static void put_step(unsigned k16)
{
    put("and.b32 %%y, %%lane, 15; add.u32 %%y, %%y, %%w16; shr.u32 %%c, %%lane, 4;\n"
        "add.u32 %%c, %%c, %u; mov.u32 %%at, %%stage;\n",
        2 * k16);
    put_swizzled("%c");
    put("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%%a0, %%a1, %%a2, %%a3}, [%%x];\n");
    for (unsigned n = 0; n < TILE / 8; n += 2) {
        put("shr.u32 %%y, %%lane, 4; shl.b32 %%y, %%y, 3; and.b32 %%x, %%lane, 7;\n"
            "add.u32 %%y, %%y, %%x; add.u32 %%y, %%y, %u; shr.u32 %%c, %%lane, 3;\n"
            "and.b32 %%c, %%c, 1; add.u32 %%c, %%c, %u; add.u32 %%at, %%stage, %u;\n",
            8 * n, 2 * k16, STAGE_B / 2);
        put_swizzled("%c");
        put("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%%b0, %%b1, %%b2, %%b3}, [%%x];\n");
        for (unsigned i = 0; i < 2; i++) {
            unsigned d = 4 * (n + i);
            put("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%%d%u, %%d%u, %%d%u, "
                "%%d%u},\n"
                "    {%%a0, %%a1, %%a2, %%a3}, {%%b%u, %%b%u}, {%%d%u, %%d%u, %%d%u, %%d%u};\n",
                d, d + 1, d + 2, d + 3, 2 * i, 2 * i + 1, d, d + 1, d + 2, d + 3);
        }
    }
}

static void put_result(void)
{
    put("shr.u32 %%y, %%lane, 2; add.u32 %%y, %%y, %%w16; shl.b32 %%y, %%y, 8;\n"
        "and.b32 %%x, %%lane, 3; shl.b32 %%x, %%x, 3; add.u32 %%y, %%y, %%x; add.u32 %%y, %%y, "
        "%%box;\n");
    for (unsigned n = 0; n < TILE / 8; n++)
        put("st.shared.v2.f32 [%%y+%u], {%%d%u, %%d%u}; st.shared.v2.f32 [%%y+%u], {%%d%u, "
            "%%d%u};\n",
            32 * n, 4 * n, 4 * n + 1, 32 * n + 8 * 256, 4 * n + 2, 4 * n + 3);
    put("fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u32 %%p, %%me, 0; @%%p bra DONE;\n"
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%%mc, {%%col, %%row}], [%%box];\n"
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nDONE: ret;\n}\n");
}

static void put_kernel(void)
{
    put(".version 8.0\n.target sm_90\n.address_size 64\n.extern .shared .align 1024 .b8 tiles[];\n"
        ".visible .entry product(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128],\n"
        "    .param .align 64 .b8 c[128]) {\n"
        ".reg .b64 %%ma, %%mb, %%mc, %%t; .reg .pred %%p, %%q; .reg .f32 %%d<32>;\n"
        ".reg .b32 %%a<4>, %%b<4>, %%me, %%lane, %%w16, %%box, %%full, %%stage, %%at, %%bar;\n"
        ".reg .b32 %%s, %%s0, %%k, %%row, %%col, %%x, %%y, %%z, %%c, %%parity;\n"
        ".shared .align 8 .b64 full[2];\n"
        "mov.b64 %%ma, a; cvta.param.u64 %%ma, %%ma; mov.b64 %%mb, b; cvta.param.u64 %%mb, %%mb;\n"
        "mov.b64 %%mc, c; cvta.param.u64 %%mc, %%mc; mov.u32 %%box, tiles; mov.u32 %%full, full;\n"
        "mov.u32 %%me, %%tid.x; and.b32 %%lane, %%me, 31; shr.u32 %%w16, %%me, 5;\n"
        "shl.b32 %%w16, %%w16, 4; mov.u32 %%row, %%ctaid.y; shl.b32 %%row, %%row, 6;\n"
        "mov.u32 %%col, %%ctaid.x; shl.b32 %%col, %%col, 6;\n"
        "setp.ne.u32 %%p, %%me, 0; @%%p bra READY;\n"
        "prefetch.tensormap [%%ma]; mbarrier.init.shared.b64 [full], 1;\n"
        "mbarrier.init.shared.b64 [full+8], 1; fence.mbarrier_init.release.cluster;\n"
        "READY: bar.sync 0; mov.u32 %%s0, 0;\n");
    for (unsigned i = 0; i < 32; i++)
        put("mov.f32 %%d%u, 0f00000000;\n", i);
    put_fill("FILLED");
    put("mov.u32 %%s, 0;\nSTEP: add.u32 %%s0, %%s, 1;\n");
    put_fill("AHEAD");
    put("and.b32 %%x, %%s, 1; mul.lo.u32 %%stage, %%x, %u; add.u32 %%stage, %%stage, %%box;\n"
        "shl.b32 %%x, %%x, 3; add.u32 %%bar, %%full, %%x; shr.u32 %%parity, %%s, 1;\n"
        "and.b32 %%parity, %%parity, 1;\n"
        "WAIT: mbarrier.try_wait.parity.shared.b64 %%q, [%%bar], %%parity; @!%%q bra WAIT;\n",
        STAGE_B);
    for (unsigned k16 = 0; k16 < TILE / 16; k16++)
        put_step(k16);
    put("bar.sync 0; add.u32 %%s, %%s, 1; setp.lt.u32 %%p, %%s, %u; @%%p bra STEP;\n", K / TILE);
    put_result();
}

/* Small whole numbers: every order of sums gives the same. */
static int element(unsigned row, unsigned k, unsigned salt)
{
    return (int)((row * 7 + k * 5 + salt * 3 + row * k) % 9) - 4;
}

static uint16_t bf16(int x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    return (uint16_t)(bits >> 16);
}

static CUresult upload(CUdeviceptr at, unsigned rows, unsigned salt)
{
    uint16_t *x = malloc(rows * K * sizeof(*x));
    for (unsigned i = 0; x && i < rows * K; i++)
        x[i] = bf16(element(i / K, i % K, salt));
    CUresult r = x ? cuMemcpyHtoD_v2(at, x, rows * K * sizeof(*x)) : CUDA_ERROR_OUT_OF_MEMORY;
    free(x);
    return r;
}

static CUresult encode(CUtensorMap *out, CUtensorMapDataType type, CUdeviceptr at,
                       unsigned long long width, unsigned long long height, unsigned size_B)
{
    const cuuint64_t dim[] = {width, height}, stride_B[] = {width * size_B};
    const cuuint32_t box[] = {TILE, TILE}, step[] = {1, 1};
    return cuTensorMapEncodeTiled(
        out, type, 2, (void *)(uintptr_t)at, dim, stride_B, box, step,
        CU_TENSOR_MAP_INTERLEAVE_NONE,
        size_B == 2 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
        CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

static unsigned wrong(const float *c)
{
    unsigned n = 0;
    for (unsigned i = 0; i < M * N; i++) {
        int sum = 0;
        for (unsigned k = 0; k < K; k++)
            sum += element(i / N, k, 1) * element(i % N, k, 2);
        n += c[i] != (float)sum;
    }
    return n;
}

static void test_product(CUmodule module, CUdeviceptr memory)
{
    _Alignas(64) CUtensorMap a, b, c;
    CUdeviceptr at_b = memory + M * K * 2, at_c = at_b + N * K * 2;
    void *params[] = {&a, &b, &c};
    float *got = calloc(M * N, sizeof(*got));
    CUfunction product;
    CUresult r = upload(memory, M, 1);

    r = r ? r : upload(at_b, N, 2);
    r = r ? r : encode(&a, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, memory, K, M, 2);
    r = r ? r : encode(&b, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, at_b, K, N, 2);
    r = r ? r : encode(&c, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, at_c, N, M, 4);
    r = r ? r : cuModuleGetFunction(&product, module, "product");
    r = r ? r
          : cuLaunchKernel(product, N / TILE, M / TILE, 1, THREADS, 1, 1, 2 * STAGE_B, NULL, params,
                           NULL);
    r = r ? r : cuMemcpyDtoH_v2(got, at_c, M * N * sizeof(*got));
    eq_u64(r, CUDA_SUCCESS, "it runs");
    eq_u64(wrong(got), 0, "every sum is right");
    free(got);
}

int main(int argc, char **argv)
{
    CUdevice dev;
    CUcontext ctx;
    CUmodule module;
    CUdeviceptr memory;

    setenv("HEDDLE_MEMORY", "256M", 1);
    setenv("HEDDLE_CACHE", "off", 1);
    if (argc > 1)
        setenv("HEDDLE_DEVICE", argv[1], 1);
    if (argc > 2)
        setenv("HEDDLE_CPU", argv[2], 1);
    if (argc > 2 && tap_lacks(argv[2]))
        return skip_all("this CPU lacks the level");
    put_kernel();
    if (ok(!cuInit(0) && !cuDeviceGet(&dev, 0) && !cuCtxCreate_v2(&ctx, 0, dev) &&
               !cuModuleLoadData(&module, text) &&
               !cuMemAlloc_v2(&memory, (M + N) * K * 2 + M * N * 4),
           "the module loads"))
        test_product(module, memory);
    return done();
}
