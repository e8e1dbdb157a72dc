/*
 * What programs do wrong, through libcuda's entry points with nothing replaced, on every device
 * (HEDDLE_DEVICE): kernels that fault, images that are broken, launches outside the limits. Each
 * gives the documented error; a fault sticks to its context while another one works on.
 */
#include <unistd.h>

#include "api/driver/cuda_abi.h"
#include "tap.h"

const char *heddle_error_message(void);

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)

#define HEADER                                                                                     \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                              \
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"                       \
    ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, "      \
    ".param .b64 c);\n"                                                                            \
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"                                       \
    ".extern .func free(.param .b64 p);\n"                                                         \
    ".extern .func (.param .b32 r) __cudaCDP2GetDevice(.param .b64 d);\n"                          \
    ".global .align 1 .b8 text[6] = {35, 32, 37, 115, 10, 0};\n"                                   \
    ".func (.param .b32 r) noop(.param .b32 a) { ret; }\n"                                         \
    ".visible .entry k(.param .u64 p, .param .u64 q)\n"                                            \
    "{ .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .f32 %f<8>;\n"    \
    "  .shared .align 16 .b8 sm[64]; .local .align 16 .b8 lm[64];\n"                               \
    "  ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q]; mov.u32 %r1, %tid.x;\n"

/* `status` is what synchronising says; p is 8 good bytes, q a freed block of 1 MiB. */
static const struct kernel_case {
    const char *name, *body;
    CUresult status;
} kernel_cases[] = {
    {"store to null", "st.global.u32 [0], 1;", CUDA_ERROR_ILLEGAL_ADDRESS},
    {"load near null", "mov.u64 %d3, 24; ld.global.u32 %r2, [%d3]; st.global.u32 [%d1], %r2;",
     CUDA_ERROR_ILLEGAL_ADDRESS},
    {"generic store by one lane", "setp.eq.u32 %p1, %r1, 5; @%p1 st.u32 [%d2], 1;",
     CUDA_ERROR_ILLEGAL_ADDRESS},
    {"load from freed memory",
     "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d2]; "
     "st.global.u32 [%d1], %r4;",
     CUDA_ERROR_ILLEGAL_ADDRESS},
    {"non-canonical address", "mov.u64 %d3, 0x8000000000000000; st.global.u64 [%d3], %d3;",
     CUDA_ERROR_ILLEGAL_ADDRESS},
    {"atomic on freed memory", "red.global.add.u32 [%d2+4096], 1;", CUDA_ERROR_ILLEGAL_ADDRESS},
    {"compare and swap on null", "atom.cas.b64 %d3, [8], %d1, %d2; st.global.u64 [%d1], %d3;",
     CUDA_ERROR_ILLEGAL_ADDRESS},
    {"16 bytes exchanged with null",
     "{ .reg .b128 %q; mov.b128 %q, {%d1, %d2}; mov.u64 %d3, 0; atom.exch.b128 %q, [%d3], %q; "
     "mov.b128 {%d3, %d4}, %q; st.global.u64 [%d1], %d3; }",
     CUDA_ERROR_ILLEGAL_ADDRESS},
    {"matrix rows from null",
     "mov.u64 %d3, 0; ldmatrix.sync.aligned.m8n8.x4.b16 {%r2, %r3, %r4, %r5}, [%d3]; "
     "st.global.u32 [%d1], %r4;",
     CUDA_ERROR_ILLEGAL_ADDRESS},
    {"matrix rows to null", "mov.u64 %d3, 0; stmatrix.sync.aligned.m8n8.x2.b16 [%d3], {%r1, %r1};",
     CUDA_ERROR_ILLEGAL_ADDRESS},
    {"asynchronous copy from null",
     "mov.u32 %r2, sm; mov.u64 %d3, 0; cp.async.ca.shared.global [%r2], [%d3], 16; "
     "cp.async.wait_all; ld.shared.u32 %r3, [sm]; st.global.u32 [%d1], %r3;",
     CUDA_ERROR_ILLEGAL_ADDRESS},
    {"bulk copy to null",
     "mov.u32 %r2, sm; mov.u64 %d3, 0; cp.async.bulk.global.shared::cta.bulk_group [%d3], [%r2], "
     "16; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
     CUDA_ERROR_ILLEGAL_ADDRESS},
    {"texture that is null",
     "mov.u64 %d3, 0; tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d3, {%r1}]; "
     "st.global.u32 [%d1], %r2;",
     CUDA_ERROR_ILLEGAL_ADDRESS},
    {"texture near null",
     "mov.u64 %d3, 64; tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d3, {%r1}]; "
     "st.global.u32 [%d1], %r2;",
     CUDA_ERROR_ILLEGAL_ADDRESS},
    {"answer of the device runtime near null",
     "{ .param .b64 a; .param .b32 r; st.param.b64 [a], 8; call (r), __cudaCDP2GetDevice, (a); }",
     CUDA_ERROR_ILLEGAL_ADDRESS},
    {"gather from everywhere",
     "mul.wide.u32 %d3, %r1, 0x10001000; ld.global.u32 %r2, [%d3]; st.global.u32 [%d1], %r2;",
     CUDA_ERROR_ILLEGAL_ADDRESS},
    {"shared memory far outside", "mov.u32 %r2, 0x7ffffff0; st.shared.u32 [%r2], %r1;",
     CUDA_ERROR_ILLEGAL_ADDRESS},
    {"local memory far outside", "mov.u32 %r2, 0x7ffffff0; st.local.u32 [%r2], %r1;",
     CUDA_ERROR_ILLEGAL_ADDRESS},
    {"printf of a null string",
     "{ .param .b64 a; .param .b64 b; .param .b32 r; st.local.u64 [lm], 0; mov.u64 %d3, text; "
     "cvta.global.u64 %d3, %d3; mov.u64 %d4, lm; cvta.local.u64 %d4, %d4; "
     "st.param.b64 [a], %d3; st.param.b64 [b], %d4; call (r), vprintf, (a, b); }",
     CUDA_SUCCESS},
    {"printf with a wild format",
     "{ .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], 1234; "
     "st.param.b64 [b], 0; call (r), vprintf, (a, b); }",
     CUDA_ERROR_ILLEGAL_ADDRESS},
    {"printf with a null format",
     "{ .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], 0; "
     "st.param.b64 [b], 0; call (r), vprintf, (a, b); }",
     CUDA_SUCCESS},
    {"assertion",
     "{ .param .b64 a, b, d, e; .param .b32 c; mov.u64 %d3, text; cvta.global.u64 %d3, %d3; "
     "st.param.b64 [a], %d3; st.param.b64 [b], %d3; st.param.b32 [c], 7; st.param.b64 [d], %d3; "
     "st.param.b64 [e], 1; call __assertfail, (a, b, c, d, e); }",
     CUDA_ERROR_ASSERT},
    {"trap", "trap;", CUDA_ERROR_LAUNCH_FAILED},
    {"trap of one lane", "setp.eq.u32 %p1, %r1, 31; @%p1 trap;", CUDA_ERROR_LAUNCH_FAILED},
    {"free of a global pointer", "{ .param .b64 a; st.param.b64 [a], %d1; call free, (a); }",
     CUDA_ERROR_ILLEGAL_ADDRESS},
    {"malloc of everything",
     "{ .param .b64 a, r; st.param.b64 [a], -1; call (r), malloc, (a); ld.param.b64 %d3, [r]; "
     "st.global.u64 [%d1], %d3; }",
     CUDA_SUCCESS},
    {"call of an address that is no function",
     "{ .param .b32 a, r; proto: .callprototype (.param .b32 _) _ (.param .b32 _); "
     "st.param.b32 [a], 1; mov.u64 %d3, 12345678; call (r), %d3, (a), proto; }",
     CUDA_ERROR_ILLEGAL_ADDRESS},
    {"division by zero",
     "mov.u32 %r2, 0; div.s32 %r3, %r1, %r2; rem.u32 %r4, %r1, %r2; mov.u32 %r5, 0x80000000; "
     "div.s32 %r6, %r5, -1; cvt.u64.u32 %d3, %r2; div.u64 %d4, %d1, %d3; "
     "st.global.u32 [%d1], %r3; st.global.u32 [%d1+4], %r6;",
     CUDA_SUCCESS},
    {"conversion of infinities",
     "mov.f32 %f1, 0f7f800000; cvt.rzi.s32.f32 %r2, %f1; cvt.rzi.u64.f32 %d3, %f1; "
     "st.global.u32 [%d1], %r2; st.global.u64 [%d1], %d3;",
     CUDA_SUCCESS},
    {"shifts past the width",
     "mov.u32 %r2, 200; shl.b32 %r3, %r1, %r2; shr.s64 %d3, %d1, %r2; bfe.u32 %r4, %r3, %r2, %r2; "
     "st.global.u32 [%d1], %r4;",
     CUDA_SUCCESS},
    {"branch table index past the end",
     "ts: .branchtargets A, B; mov.u32 %r2, 77777777; brx.idx %r2, ts; A: st.global.u32 [%d1], 1; "
     "B: st.global.u32 [%d1], 2;",
     CUDA_SUCCESS},
    {"barrier that a partial warp counts as 32 at",
     "setp.ge.u32 %p1, %r1, 48; @%p1 exit; bar.sync 1, 64; bar.red.and.pred %p2, 2, 64, 1; "
     "@!%p2 trap;",
     CUDA_SUCCESS},
    {"barrier 99", "mov.u32 %r2, 99; bar.sync %r2, 64;", CUDA_ERROR_LAUNCH_FAILED},
    {"barrier with two counts",
     "setp.lt.u32 %p1, %r1, 32; @%p1 bar.arrive 1, 96; bar.sync 0; bar.sync 1, 64;",
     CUDA_ERROR_LAUNCH_FAILED},
    {"alloca", "alloca.u64 %d3, 64; st.local.u32 [%d3+60], 1;", CUDA_SUCCESS},
    {"alloca of everything", "alloca.u64 %d3, 0x10000000000; st.local.u32 [%d3], 1;",
     CUDA_ERROR_HARDWARE_STACK_ERROR},
    {"shuffle from everywhere",
     "shfl.sync.idx.b32 %r2, %r1, 0x12345678, 0xffffffff, -1; st.global.u32 [%d1], %r2;",
     CUDA_SUCCESS},
};

static CUcontext good_ctx;
static CUfunction good_func;
static CUdeviceptr good_word;

static CUresult load(const char *body, CUmodule *out_module)
{
    char text[4096];

    snprintf(text, sizeof(text), "%s%s\n  ret; }\n", HEADER, body);
    return cuModuleLoadData(out_module, text);
}

/* The bystander: a context of its own that must not notice anything. */
static void good_create(void)
{
    CUmodule module;

    success(cuCtxCreate_v2(&good_ctx, 0, 0), "the bystander's context");
    success(load("st.volatile.shared.u32 [sm], 1; red.global.add.u32 [%d1], 1;", &module),
            "its module");
    success(cuModuleGetFunction(&good_func, module, "k"), "its kernel");
    success(cuMemAlloc_v2(&good_word, 8), "its memory");
}

static bool good_works(void)
{
    CUdeviceptr none = 0;
    void *params[] = {&good_word, &none};
    unsigned count = 0;

    return cuCtxSetCurrent(good_ctx) == CUDA_SUCCESS &&
           cuMemsetD8_v2(good_word, 0, 8) == CUDA_SUCCESS &&
           cuLaunchKernel(good_func, 2, 1, 1, 64, 1, 1, 0, NULL, params, NULL) == CUDA_SUCCESS &&
           cuMemcpyDtoH_v2(&count, good_word, 4) == CUDA_SUCCESS && count == 128;
}

static void run_kernel(const struct kernel_case *c)
{
    CUcontext ctx;
    CUmodule module;
    CUfunction func;
    CUdeviceptr word, freed, more;
    void *params[] = {&word, &freed};
    CUresult status;

    if (!success(cuCtxCreate_v2(&ctx, 0, 0), "%s: context", c->name))
        return;
    if (success(load(c->body, &module), "%s: module", c->name) &&
        success(cuModuleGetFunction(&func, module, "k"), "kernel") &&
        success(cuMemAlloc_v2(&word, 8), "memory") &&
        success(cuMemAlloc_v2(&freed, 1 << 20), "memory to free") &&
        success(cuMemFree_v2(freed), "freed")) {
        success(cuLaunchKernel(func, 2, 1, 1, 64, 1, 1, 0, NULL, params, NULL), "launch");
        status = cuCtxSynchronize();
        eq_u64(status, c->status, "%s", c->name);
        eq_u64(cuCtxSynchronize(), status, "asked again");
        eq_u64(cuMemAlloc_v2(&more, 16), status, "and at another call");
        ok(good_works(), "the bystander works on");
    }
    success(cuCtxDestroy_v2(ctx), "destroy");
}

static void test_images(void)
{
    static const char whole[] = HEADER "add.u32 %r2, %r1, 1; st.global.u32 [%d1], %r2; ret; }\n";
    static uint8_t noise[4096];
    char part[sizeof(whole)];
    CUmodule module;
    CUresult status;
    unsigned bad = 0;
    uint64_t state = tap_seed();

    for (size_t len = 0; len + 2 < sizeof(whole); len += 3) {
        memcpy(part, whole, len);
        part[len] = '\0';
        status = cuModuleLoadData(&module, part);
        bad += status != CUDA_ERROR_INVALID_PTX && status != CUDA_ERROR_INVALID_IMAGE &&
               status != CUDA_SUCCESS;
        if (status == CUDA_SUCCESS)
            (void)cuModuleUnload(module);
    }
    eq_u64(bad, 0, "truncated PTX");
    bad = 0;
    for (unsigned i = 0; i < 300; i++) {
        memcpy(part, whole, sizeof(whole));
        for (unsigned n = 0; n < 3; n++)
            part[tap_random(&state) % (sizeof(whole) - 1)] = (char)(1 + tap_random(&state) % 127);
        status = cuModuleLoadData(&module, part);
        bad += status != CUDA_SUCCESS && status != CUDA_ERROR_INVALID_PTX &&
               status != CUDA_ERROR_INVALID_IMAGE && status != CUDA_ERROR_NOT_SUPPORTED &&
               status != CUDA_ERROR_NOT_FOUND;
        if (status == CUDA_SUCCESS)
            (void)cuModuleUnload(module);
    }
    eq_u64(bad, 0, "damaged PTX");
    bad = 0;
    for (unsigned i = 0; i < 300; i++) {
        static const uint32_t magics[] = {0xba55ed50, 0x464c457f, 0x466243b1};
        for (size_t at = 0; at < sizeof(noise); at++)
            noise[at] = (uint8_t)tap_random(&state);
        memcpy(noise, &magics[i % 2], 4);
        if (i % 2 == 0) { /* a container whose sizes stay inside */
            memcpy(noise + 4, (const uint32_t[]){0x00100001, 1024, 0}, 12);
            memcpy(noise + 16, (const uint32_t[]){0x01010001, 64, 512, 0}, 16);
        }
        bad += cuModuleLoadData(&module, noise) == CUDA_SUCCESS;
    }
    eq_u64(bad, 0, "noise behind the magic numbers of fat binaries and ELF");
    ok(good_works(), "the bystander works on");
}

/* What `call` writes to stderr. */
static const char *said(CUresult (*call)(void *), void *arg, CUresult *out_status)
{
    static char text[4096];
    FILE *file = tmpfile();
    int saved = dup(2);
    fflush(stderr);
    dup2(fileno(file), 2);
    *out_status = call(arg);
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return text;
}

struct lazy {
    CUmodule module;
    CUfunction func;
};

static CUresult get_mma(void *arg)
{
    struct lazy *l = arg;
    return cuModuleGetFunction(&l->func, l->module, "k");
}

static CUresult launch(void *func)
{
    CUdeviceptr none = 0;
    void *params[] = {&good_word, &none};
    return cuLaunchKernel(func, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
}

/* One kernel with an instruction that we lack, and one without: in one file. */
static const char half_good[] =
    HEADER "\nmma.sync.aligned.m16n8k8.row.col.f32.f16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, "
           "%r2}, {%r3}, {%f1, %f2, %f3, %f4};\nret; }\n"
           ".visible .entry good(.param .u64 p, .param .u64 q)\n"
           "{ .reg .b64 %d; ld.param.u64 %d, [p]; st.global.u32 [%d], 77; ret; }\n";

static void test_one_bad_kernel(void)
{
    struct lazy lazy;
    CUfunction all[2] = {NULL}, func;
    unsigned count = 0;
    CUfunctionLoadingState loaded = CU_FUNCTION_LOADING_STATE_LOADED;
    CUresult status;
    const char *text;

    success(cuModuleLoadData(&lazy.module, half_good), "a module with a kernel that we cannot run");
    success(cuModuleGetFunctionCount(&count, lazy.module), "count");
    eq_u64(count, 2, "both are counted");
    success(cuModuleEnumerateFunctions(all, 2, lazy.module), "and have handles");
    success(cuFuncIsLoaded(&loaded, all[0]), "asked");
    ok(loaded == CU_FUNCTION_LOADING_STATE_UNLOADED, "nothing is loaded yet");
    text = said(launch, all[0], &status);
    eq_u64(status, CUDA_ERROR_NOT_SUPPORTED, "a launch of it fails");
    if (!ok(strstr(text, "kernel k") && strstr(text, "mma.sync") && strstr(text, ":16:"),
            "stderr names kernel, instruction and line"))
        diag("%s", text);
    text = said(get_mma, &lazy, &status);
    eq_u64(status, CUDA_ERROR_NOT_SUPPORTED, "so does asking for it by name");
    ok(!*text, "stderr says it once");
    ok(strstr(heddle_error_message(), "mma.sync"), "the message is the same again");
    success(cuCtxSynchronize(), "the context is not affected");
    success(cuModuleGetFunction(&func, lazy.module, "good"), "the other kernel");
    success(cuFuncIsLoaded(&loaded, func), "asked");
    ok(loaded == CU_FUNCTION_LOADING_STATE_LOADED && func == all[1],
       "is loaded when asked for by name");
    success(launch(func), "it launches");
    success(cuCtxSynchronize(), "runs");
    uint32_t word = 0;
    success(cuMemcpyDtoH_v2(&word, good_word, 4), "copy");
    eq_u64(word, 77, "and does its work");
    success(cuModuleUnload(lazy.module), "unload");
}

static void test_clusters(void)
{
    static const char text[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry pairs(.param .u64 p, .param .u64 q) .reqnctapercluster 2 { ret; }\n"
        ".visible .entry says(.param .u64 p, .param .u64 q) .explicitcluster { ret; }\n"
        ".visible .entry ones(.param .u64 p, .param .u64 q) .reqnctapercluster 1 .maxclusterrank 4 "
        "{ ret; }\n";
    CUmodule module;
    CUfunction func;
    int value = -1;

    success(cuModuleLoadData(&module, text), "kernels with cluster directives");
    success(cuModuleGetFunction(&func, module, "pairs"), "pairs");
    success(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, func), "asked");
    eq_u64((unsigned)value, 2, "its clusters are reported");
    eq_u64(launch(func), CUDA_ERROR_INVALID_CLUSTER_SIZE, "a grid of one block has none");
    eq_u64(cuFuncSetAttribute(func, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 1),
           CUDA_ERROR_NOT_PERMITTED, "what the kernel says stays");
    success(cuModuleGetFunction(&func, module, "says"), "says");
    success(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, func), "asked");
    eq_u64((unsigned)value, 1, "a cluster size must be set");
    eq_u64(launch(func), CUDA_ERROR_INVALID_CLUSTER_SIZE, "a launch without one fails");
    success(cuModuleGetFunction(&func, module, "ones"), "ones");
    success(launch(func), "clusters of one CTA are what every CTA is");
    success(cuCtxSynchronize(), "it runs");
    success(cuModuleUnload(module), "unload");
}

static void test_launches(void)
{
    CUdeviceptr none = 0;
    void *params[] = {&good_word, &none};
    static const struct {
        unsigned grid[3], block[3], shared_B;
        const char *name;
    } bad[] = {
        {{0, 1, 1}, {32, 1, 1}, 0, "no CTAs"},
        {{1, 1, 1}, {0, 1, 1}, 0, "no threads"},
        {{1, 65536, 1}, {32, 1, 1}, 0, "grid.y"},
        {{1, 1, 65536}, {32, 1, 1}, 0, "grid.z"},
        {{0x80000000u, 1, 1}, {32, 1, 1}, 0, "grid.x"},
        {{1, 1, 1}, {1025, 1, 1}, 0, "block.x"},
        {{1, 1, 1}, {1, 1, 65}, 0, "block.z"},
        {{1, 1, 1}, {32, 33, 1}, 0, "1056 threads"},
        {{1, 1, 1}, {0xffffffffu, 0xffffffffu, 64}, 0, "threads that overflow"},
        {{1, 1, 1}, {32, 1, 1}, 49152, "shared memory, with the static 64 bytes"},
        {{1, 1, 1}, {32, 1, 1}, 0xffffffffu, "4 GiB of shared memory"},
    };

    success(cuCtxSetCurrent(good_ctx), "set");
    for (size_t i = 0; i < HD_COUNT_OF(bad); i++)
        eq_u64(cuLaunchKernel(good_func, bad[i].grid[0], bad[i].grid[1], bad[i].grid[2],
                              bad[i].block[0], bad[i].block[1], bad[i].block[2], bad[i].shared_B,
                              NULL, params, NULL),
               CUDA_ERROR_INVALID_VALUE, "%s", bad[i].name);
    success(cuCtxSynchronize(), "none of them sticks");
    ok(good_works(), "and the next launch works");
}

/* Host pointers that lead nowhere: an error, never the end of the process. */
static void test_copies(void)
{
    static const char constant[64];
    CUcontext ctx;
    CUdeviceptr p;
    char *nowhere = (char *)64;
    unsigned bad = 0;

    for (unsigned i = 0; i < 4; i++) {
        if (!success(cuCtxCreate_v2(&ctx, 0, 0), "context") ||
            !success(cuMemAlloc_v2(&p, 4 << 20), "memory"))
            return;
        CUresult status = i == 0   ? cuMemcpyHtoD_v2(p, nowhere, 64)
                          : i == 1 ? cuMemcpyDtoH_v2(nowhere, p, 4 << 20)
                          : i == 2 ? cuMemcpyDtoH_v2((void *)(uintptr_t)constant, p, 64)
                                   : cuMemcpyHtoDAsync_v2(p, nowhere, 4 << 20, NULL);
        if (status == CUDA_SUCCESS)
            status = cuCtxSynchronize();
        bad += status != CUDA_ERROR_ILLEGAL_ADDRESS && status != CUDA_ERROR_INVALID_VALUE;
        success(cuCtxDestroy_v2(ctx), "destroy");
    }
    eq_u64(bad, 0, "copies between device memory and nowhere");
    ok(good_works(), "the bystander works on");
}

int main(void)
{
    setenv("HEDDLE_MEMORY", "256M", 1);
    success(cuInit(0), "cuInit");
    good_create();
    if (!ok(good_works(), "the bystander works"))
        return done();
    for (size_t i = 0; i < HD_COUNT_OF(kernel_cases); i++)
        run_kernel(&kernel_cases[i]);
    success(cuCtxSetCurrent(good_ctx), "set");
    test_images();
    test_one_bad_kernel();
    test_clusters();
    test_launches();
    test_copies();
    return done();
}
