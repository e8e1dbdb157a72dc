/*
 * What kernels need is told without compiling them: no attribute, no occupancy and no handle makes
 * a COMPILE event; the first launch does. The numbers are those of the declarations that a kernel
 * and the functions that it reaches name, and stay the same once it is compiled. What cannot be
 * compiled is still told by whoever asks for it.
 */
#include <stdatomic.h>

#include "api/driver/cuda_abi.h"
#include "base/str.h"
#include "heddle/tap.h"
#include "tap.h"

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)

#define HEADER ".version 8.0\n.target sm_90\n.address_size 64\n"
#define MANY   200

static const char text[] = HEADER
    ".shared .align 4 .b8 common[100];\n"
    ".shared .align 16 .b8 other[40];\n"
    ".extern .shared .align 16 .b8 dynamic[];\n"
    ".global .align 8 .u64 table[1] = {far};\n"
    ".func leaf(.param .b64 p) { .local .align 16 .b8 depot[48]; .reg .b64 %d<3>; .reg .b32 %r;\n"
    "  .shared .align 8 .b8 mine[24];\n"
    "  mov.u64 %d1, depot; ld.param.u64 %d2, [p]; st.local.u64 [%d1], %d2;\n"
    "  ld.local.u32 %r, [%d1+4]; st.shared.u32 [mine], %r; ret; }\n"
    ".func far(.param .b64 p) { .local .align 8 .b8 depot[72]; .reg .b64 %d<3>;\n"
    "  mov.u64 %d1, depot; ld.param.u64 %d2, [p]; st.local.u64 [%d1+8], %d2;\n"
    "  st.volatile.shared.u32 [other], 1; ret; }\n"
    ".func again(.param .b64 p) { .local .align 8 .b8 depot[32]; .reg .b64 %d<3>; .reg .pred %p;\n"
    "  .param .b64 a; mov.u64 %d1, depot; ld.param.u64 %d2, [p]; st.volatile.local.u64 [%d1], "
    "%d2;\n"
    "  setp.eq.u64 %p, %d2, 0; @%p ret; st.param.b64 [a], 0; call again, (a); ret; }\n"
    ".visible .entry plain(.param .u64 p) { ret; }\n"
    ".visible .entry own(.param .u64 p) .maxntid 96 .minnctapersm 2 .maxnreg 24\n"
    "{ .shared .align 4 .b8 a[4]; .shared .align 16 .b8 b[64]; .shared .b8 unnamed[1000];\n"
    "  st.volatile.shared.u32 [a], 1; st.volatile.shared.u32 [b], 1; ret; }\n"
    ".visible .entry shares(.param .u64 p) .reqntid 8, 4\n"
    "{ st.volatile.shared.u32 [other], 1; st.volatile.shared.u32 [common], 1; ret; }\n"
    ".visible .entry dynamics(.param .u64 p) { .shared .b8 a[5];\n"
    "  st.volatile.shared.u8 [a], 1; st.volatile.shared.u32 [dynamic], 1; ret; }\n"
    ".visible .entry stack(.param .u64 p) { .local .align 8 .b8 depot[200]; .reg .b64 %d;\n"
    "  mov.u64 %d, depot; st.volatile.local.u64 [%d+192], 7; ret; }\n"
    ".visible .entry calls(.param .u64 p) { .param .b64 a; .local .align 8 .b8 depot[16];\n"
    "  .reg .b64 %d; mov.u64 %d, depot; st.volatile.local.u64 [%d], 7;\n"
    "  st.param.b64 [a], 1; call leaf, (a); call far, (a); ret; }\n"
    ".visible .entry recurses(.param .u64 p) { .param .b64 a; st.param.b64 [a], 1;\n"
    "  call again, (a); ret; }\n"
    ".visible .entry through(.param .u64 p) { .param .b64 a; .reg .b64 %d; st.param.b64 [a], 1;\n"
    "  proto: .callprototype _ (.param .b64 x); ld.global.u64 %d, [table];\n"
    "  call %d, (a), proto; ret; }\n";

static const struct {
    const char *name;
    int shared_B, local_B, regs, threads, block[2];
} all[] = {
    {"plain", 0, 0, 32, 1024, {32, 1}},
    {"own", 16 + 64, 0, 24, 96, {32, 1}},
    {"shares", 100 + 12 + 40, 0, 32, 32, {8, 4}}, /* in the order of declarations */
    {"dynamics", 16, 0, 32, 1024, {32, 1}},
    {"stack", 0, 208, 32, 1024, {32, 1}},
    {"calls", 40 + 24, 16 + 72 + 8, 32, 1024, {32, 1}}, /* the deepest chain of calls */
    {"recurses", 0, 32, 32, 1024, {32, 1}},
    {"through", 40, 16 + 72 + 8, 32, 1024, {32, 1}},
};

const char *heddle_error_message(void); /* libcuda exports it */

static _Atomic unsigned compiled;
static CUcontext ctx;

static void on_compile(void *user, const struct heddle_event *e)
{
    (void)user;
    if (e->phase == HEDDLE_PHASE_END)
        atomic_fetch_add(&compiled, 1);
}

static int ask(CUfunction func, CUfunction_attribute attribute)
{
    int value = -1;

    success(cuFuncGetAttribute(&value, attribute, func), "attribute %d", attribute);
    return value;
}

static void check_one(CUfunction func, unsigned i, const char *when)
{
    int blocks = -1, grid = -1, block = -1;
    size_t smem_B = 0;

    eq_u64((unsigned)ask(func, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), (unsigned)all[i].shared_B,
           "%s, %s: static shared memory", all[i].name, when);
    eq_u64((unsigned)ask(func, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), (unsigned)all[i].local_B,
           "%s, %s: local memory", all[i].name, when);
    eq_u64((unsigned)ask(func, CU_FUNC_ATTRIBUTE_NUM_REGS), (unsigned)all[i].regs,
           "%s, %s: registers", all[i].name, when);
    eq_u64((unsigned)ask(func, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), (unsigned)all[i].threads,
           "%s, %s: threads", all[i].name, when);
    eq_u64((unsigned)ask(func, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
           49152u - (unsigned)all[i].shared_B, "%s, %s: dynamic shared memory", all[i].name, when);
    success(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, func, all[i].threads, 0),
            "blocks");
    ok(blocks > 0, "%s, %s: some fit", all[i].name, when);
    success(cuOccupancyMaxPotentialBlockSize(&grid, &block, func, NULL, 0, 0), "block size");
    ok(block > 0 && block <= all[i].threads, "%s, %s: a block that fits", all[i].name, when);
    success(cuOccupancyAvailableDynamicSMemPerBlock(&smem_B, func, 1, 32), "memory");
    ok(smem_B + (unsigned)all[i].shared_B <= 49152u, "%s, %s: memory that is left", all[i].name,
       when);
}

static void launch(CUfunction func, unsigned i)
{
    uint64_t zero = 0;
    void *params[] = {&zero};

    success(cuLaunchKernel(func, 1, 1, 1, (unsigned)all[i].block[0], (unsigned)all[i].block[1], 1,
                           16, NULL, params, NULL),
            "%s: a launch", all[i].name);
    success(cuCtxSynchronize(), "%s: runs", all[i].name);
}

static void test_sizes(void)
{
    CUfunction func;
    CUmodule module;

    success(cuModuleLoadData(&module, text), "load");
    for (unsigned i = 0; i < HD_COUNT_OF(all); i++) {
        atomic_store(&compiled, 0);
        success(cuModuleGetFunction(&func, module, all[i].name), "%s", all[i].name);
        check_one(func, i, "before");
        success(cuFuncSetAttribute(func, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50),
                "carveout");
        eq_u64(atomic_load(&compiled), 0, "%s: nothing was compiled for that", all[i].name);
        launch(func, i);
        ok(atomic_load(&compiled) > 0, "%s: the first launch compiles it", all[i].name);
        check_one(func, i, "after");
    }
    success(cuModuleUnload(module), "unload");
}

static void test_many(void)
{
    struct hd_buf many = {0};
    CUlibrary library;
    CUkernel kernels[MANY];
    CUfunction func;
    unsigned count = 0;
    int value, wrong = 0;

    hd_buf_puts(&many, HEADER);
    for (unsigned i = 0; i < MANY; i++)
        hd_buf_printf(&many,
                      ".visible .entry k%u() { .shared .b8 s[%u]; st.volatile.shared.u8 [s], 1;\n"
                      "ret; }\n",
                      i, 1 + i);
    while (many.len < (64u << 10)) /* bodies are read when they are needed */
        hd_buf_puts(&many, "// a line that makes the text longer\n");
    atomic_store(&compiled, 0);
    success(cuLibraryLoadData(&library, many.ptr, NULL, NULL, 0, NULL, NULL, 0), "library");
    success(cuLibraryGetKernelCount(&count, library), "count");
    eq_u64(count, MANY, "kernels");
    success(cuLibraryEnumerateKernels(kernels, MANY, library), "handles");
    for (unsigned i = 0; i < MANY; i++) {
        wrong += cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernels[i], 0) !=
                     CUDA_SUCCESS ||
                 value != 1 + (int)i;
        wrong += cuKernelGetFunction(&func, kernels[i]) != CUDA_SUCCESS;
        wrong += cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000,
                                      kernels[i], 0) != CUDA_SUCCESS;
    }
    eq_u64((unsigned)wrong, 0, "right sizes of many kernels");
    eq_u64(atomic_load(&compiled), 0, "none of which was compiled");
    success(cuLibraryUnload(library), "unload");
    hd_buf_fini(&many);
}

/* What is in the way is the assembler's error: whoever asks for the kernel gets it. */
static void test_refused(void)
{
    static const struct {
        const char *body, *why;
        CUresult result;
    } bad[] = {
        {"call nowhere, ();", "nowhere", CUDA_ERROR_INVALID_PTX},
        {".shared .b8 s[60000]; st.shared.u8 [s], 1;", "shared", CUDA_ERROR_INVALID_PTX},
        {".shared .b8 s[30000]; .shared .b8 t[30000]; st.volatile.shared.u8 [s], 1;\n"
         "st.volatile.shared.u8 [t], 1;",
         "shared", CUDA_ERROR_INVALID_PTX},
    };

    for (unsigned i = 0; i < HD_COUNT_OF(bad); i++) {
        struct hd_buf ptx = {0};
        CUmodule module;
        CUfunction func;
        int value;

        hd_buf_printf(&ptx, HEADER ".extern .func nowhere();\n.visible .entry k() { %s\nret; }\n",
                      bad[i].body);
        success(cuModuleLoadData(&module, ptx.ptr), "load");
        eq_u64(cuModuleGetFunction(&func, module, "k"), bad[i].result, "%s is refused", bad[i].why);
        ok(strstr(heddle_error_message(), bad[i].why), "the message says why: %s",
           heddle_error_message());
        success(cuModuleEnumerateFunctions(&func, 1, module), "its handle");
        eq_u64(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, func), bad[i].result,
               "so is a question");
        success(cuModuleUnload(module), "unload");
        hd_buf_fini(&ptx);
    }
}

/* What only the compilation finds is told by the first launch, and from then on by all. */
static void test_refused_later(void)
{
    static const char ptx[] = HEADER
        ".visible .entry k() { .reg .f32 %f<5>; .reg .b32 %r<4>;\n"
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3},"
        " {%f1, %f2, %f3, %f4};\nret; }\n";
    CUmodule module;
    CUfunction func;
    int value;

    success(cuModuleLoadData(&module, ptx), "load");
    success(cuModuleGetFunction(&func, module, "k"), "a handle");
    success(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, func), "a size");
    eq_u64(cuLaunchKernel(func, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_NOT_SUPPORTED,
           "the launch is refused");
    ok(strstr(heddle_error_message(), "mma.sync"), "the message names the instruction");
    eq_u64(cuModuleGetFunction(&func, module, "k"), CUDA_ERROR_NOT_SUPPORTED, "the handle is, too");
    success(cuModuleUnload(module), "unload");
}

int main(void)
{
    setenv("HEDDLE_MEMORY", "64M", 1);
    success(cuInit(0), "cuInit");
    success(cuDevicePrimaryCtxRetain(&ctx, 0), "context");
    success(cuCtxSetCurrent(ctx), "set");
    ok(heddle_tap_subscribe(HEDDLE_KIND(COMPILE), on_compile, NULL), "listens");
    test_sizes();
    test_many();
    test_refused();
    test_refused_later();
    success(cuDevicePrimaryCtxRelease_v2(0), "release");
    return done();
}
