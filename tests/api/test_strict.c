/*
 * What a kernel may touch: one store per context at addresses that are right, and wrong in the ways
 * programs are wrong.
 *
 *     test_api_strict (strict|plain) DEVICE [HEDDLE_FAULT [HEDDLE_CPU]]
 */
#include <stdio.h>
#include <unistd.h>

#include "api/driver/cuda_abi.h"
#include "tap.h"

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .global .align 4 .b8 table[64];\n"
                          ".extern .func (.param .b64 r) malloc (.param .b64 n);\n"
                          ".visible .entry store(.param .u64 p) {\n"
                          "    .reg .b64 %a; .reg .b32 %v;\n"
                          "    ld.param.u64 %a, [p];\n"
                          "    mov.u32 %v, 7;\n"
                          "    st.u32 [%a], %v;\n"
                          "    ret;\n}\n"
/* One access of every shape: of 64 threads number `stray` goes astray, 64 = none. */
#define KERNEL(name, body)                                                                         \
    ".visible .entry " name "(.param .u64 good, .param .u64 bad, .param .u32 stray) {\n"           \
    "    .reg .b64 %a, %b, %o; .reg .b32 %v<5>, %t, %s; .reg .f32 %f; .reg .pred %p;\n"            \
    "    ld.param.u64 %a, [good]; ld.param.u64 %b, [bad]; ld.param.u32 %s, [stray];\n"             \
    "    mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4;\n" body "    ret;\n}\n"
/* %a for each thread: 4 bytes apart, but of thread `stray` that is of `bad`. */
#define ASTRAY "    setp.eq.u32 %p, %t, %s; add.u64 %a, %a, %o; @%p mov.u64 %a, %b;\n"
    KERNEL("uniform_load", "setp.lt.u32 %p, %s, 64; @%p mov.u64 %a, %b;\n"
                           "ld.global.u32 %v1, [%a]; st.global.u32 [%a], %v1;\n")
        KERNEL("uniform_store", "setp.lt.u32 %p, %s, 64; @%p mov.u64 %a, %b; st.u32 [%a], %t;\n")
            KERNEL("contiguous", "setp.lt.u32 %p, %s, 64; @%p mov.u64 %a, %b; add.u64 %a, %a, %o;\n"
                                 "ld.global.u32 %v1, [%a]; st.global.u32 [%a], %v1;\n")
                KERNEL("gather", ASTRAY "ld.global.u32 %v1, [%a]; st.global.u32 [%a], %v1;\n")
                    KERNEL("scatter", ASTRAY "st.global.u32 [%a], %t;\n")
                        KERNEL("bytes", ASTRAY "st.global.u8 [%a+1], %t;\n") KERNEL(
                            "vectors", "shl.b64 %o, %o, 2;\n" ASTRAY
                                       "ld.global.v4.u32 {%v1, %v2, %v3, %v4}, [%a];\n"
                                       "st.global.v4.u32 [%a], {%v2, %v1, %v3, %v4};\n")
                            KERNEL("strong", "shl.b64 %o, %o, 1;\n" ASTRAY
                                             "ld.relaxed.gpu.global.v2.u32 {%v1, %v2}, [%a];\n"
                                             "st.relaxed.gpu.global.v2.u32 [%a], {%v1, %v2};\n")
                                KERNEL("loop", ASTRAY
                                       "mov.u32 %v1, %t; mov.u32 %v2, 0;\n"
                                       "L: ld.global.u32 %v3, [%a]; add.u32 %v2, %v2, %v3;\n"
                                       "sub.u32 %v1, %v1, 1; setp.gt.s32 %p, %v1, 0; @%p bra L;\n"
                                       "st.global.u32 [%a], %v2;\n")
                                    KERNEL("atomic_one",
                                           "setp.lt.u32 %p, %s, 64; @%p mov.u64 %a, %b;\n"
                                           "atom.global.add.u32 %v1, [%a], %t;\n")
                                        KERNEL("atomic_lanes",
                                               ASTRAY "atom.global.add.u32 %v1, [%a], %t;\n")
                                            KERNEL("atomic_float",
                                                   "setp.lt.u32 %p, %s, 64; @%p mov.u64 %a, %b;\n"
                                                   "red.global.add.f32 [%a], 0f3f800000;\n")
    /* What a generic address may mean besides global memory. */
    KERNEL("shared", ".shared .align 4 .b8 s[256];\n"
                     "mov.u64 %a, s; cvta.shared.u64 %a, %a;\n" ASTRAY "st.u32 [%a], %t;\n")
        KERNEL("local", ".local .align 4 .b8 l[64];\n"
                        "mov.u64 %a, l; cvta.local.u64 %a, %a; mov.u64 %o, 4;\n" ASTRAY
                        "st.u32 [%a], %t; ld.u32 %v1, [%a];\n")
            KERNEL("heap", "{ .param .b64 n; .param .b64 r; mov.u64 %o, 16; st.param.b64 [n], %o;\n"
                           "call (r), malloc, (n); ld.param.b64 %a, [r]; }\n"
                           "mov.u64 %o, 12;\n" ASTRAY "st.u32 [%a], %t;\n");

static CUdevice dev;
static CUcontext ctx;
static CUmodule module;

static void begin(void)
{
    if (cuCtxCreate_v2(&ctx, 0, dev) || cuModuleLoadData(&module, ptx))
        abort();
}

static CUresult store_at(CUdeviceptr at)
{
    CUfunction store;
    void *params[] = {&at};

    if (cuModuleGetFunction(&store, module, "store") ||
        cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL))
        abort();
    return cuCtxSynchronize();
}

static void end(CUresult got, CUresult want, const char *name)
{
    eq_u64(got, want, "%s", name);
    cuCtxDestroy_v2(ctx);
}

static CUdeviceptr alloc(size_t size_B)
{
    CUdeviceptr va;

    if (cuMemAlloc_v2(&va, size_B))
        abort();
    return va;
}

static void test_right(void)
{
    static int own[4];
    CUdeviceptr at;
    void *pinned;

    begin();
    eq_u64(store_at(alloc(4)), CUDA_SUCCESS, "device memory");
    eq_u64(store_at(alloc(3 << 20) + (3 << 20) - 4), CUDA_SUCCESS, "the end of a large block");
    ok(!cuMemAllocManaged(&at, 4096, 1) && !store_at(at + 4092), "managed memory");
    ok(!cuMemHostAlloc(&pinned, 64, 0) && !store_at((CUdeviceptr)pinned), "pinned memory");
    ok(!cuModuleGetGlobal_v2(&at, NULL, module, "table") && !store_at(at), "a module's variable");
    ok(!cuMemHostRegister_v2(own, sizeof(own), 0) && !store_at((CUdeviceptr)own),
       "registered memory");
    eq_u64(own[0], 7, "is written");
    end(cuCtxSynchronize(), CUDA_SUCCESS, "all of it is right");
}

static void test_wrong_always(void)
{
    CUdeviceptr at;

    begin();
    end(store_at(alloc(4096) - ((CUdeviceptr)1 << 30)), CUDA_ERROR_ILLEGAL_ADDRESS,
        "1 GiB below a block");
    begin();
    end(store_at(alloc(4096) - ((CUdeviceptr)4 << 30)), CUDA_ERROR_ILLEGAL_ADDRESS,
        "4 GiB below a block");
    begin();
    at = alloc(64 << 20);
    ok(!cuMemFree_v2(at), "free");
    end(store_at(at), CUDA_ERROR_ILLEGAL_ADDRESS, "a freed large block");
    begin();
    at = alloc((4 << 20) - 4096);
    end(store_at(at + (4 << 20) - 4096), CUDA_ERROR_ILLEGAL_ADDRESS, "behind a large block");
}

static const char *const kernels[] = {
    "uniform_load", "uniform_store", "contiguous", "gather", "scatter",
    "bytes",        "vectors",       "strong",     "loop",   "atomic_one",
    "atomic_lanes", "atomic_float",  "shared",     "local",  "heap",
};

/* 64 threads; `stray` of them goes to `bad`, 64 = none. */
static CUresult run(const char *name, CUdeviceptr good, const void *bad, unsigned stray)
{
    CUfunction kernel;
    void *params[] = {&good, &bad, &stray};

    if (cuModuleGetFunction(&kernel, module, name) ||
        cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL))
        abort();
    return cuCtxSynchronize();
}

/* What was said on stderr meanwhile. */
static CUresult run_listening(const char *name, CUdeviceptr good, const void *bad, char text[1024])
{
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    CUresult result;
    size_t n;

    if (!file || dup2(fileno(file), STDERR_FILENO) < 0)
        abort();
    result = run(name, good, bad, 37);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    n = fread(text, 1, 1023, file);
    text[n] = 0;
    text[strcspn(text, "\n")] = 0;
    fclose(file);
    return result;
}

static bool is_uniform(const char *name)
{
    return !strncmp(name, "uniform", 7) || !strcmp(name, "contiguous") ||
           !strcmp(name, "atomic_one") || !strcmp(name, "atomic_float");
}

/* Every form of access finds the one thread that uses a pointer of the host. */
static void test_accesses(const char *what, const void *bad)
{
    char said[1024], address[64];

    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        const char *name = kernels[i];

        begin();
        eq_u64(run(name, alloc(4096), NULL, 64), CUDA_SUCCESS, "%s: right", name);
        eq_u64(run_listening(name, alloc(4096), bad, said), CUDA_ERROR_ILLEGAL_ADDRESS, "%s: %s",
               name, what);
        snprintf(address, sizeof(address), "0x%llx",
                 (unsigned long long)(uintptr_t)bad + (!strcmp(name, "bytes")));
        ok(strstr(said, name) && strstr(said, address) &&
               strstr(said, is_uniform(name) ? "thread (0,0,0)" : "thread (37,0,0)") &&
               strstr(said, "host memory that is not registered or managed"),
           "%s: kernel, address, thread and reason are named: %s", name, said);
        cuCtxDestroy_v2(ctx);
    }
}

static void test_wrong_strict(void)
{
    static _Alignas(16) int own[1024];
    _Alignas(16) int on_stack[1024];
    void *on_heap = aligned_alloc(16, 4096);
    CUdeviceptr at;

    begin();
    at = alloc(64);
    ok(!cuMemFree_v2(at) && alloc(64) != at, "an address is not given again soon");
    end(store_at(at), CUDA_ERROR_ILLEGAL_ADDRESS, "a freed small block");
    begin();
    end(store_at(alloc(4096) + 4096), CUDA_ERROR_ILLEGAL_ADDRESS, "one past the end");
    begin();
    end(store_at(alloc(300) + 512), CUDA_ERROR_ILLEGAL_ADDRESS, "past the end and its alignment");
    test_accesses("a variable of the program", own);
    begin();
    end(store_at((CUdeviceptr)on_stack), CUDA_ERROR_ILLEGAL_ADDRESS, "the stack");
    begin();
    end(store_at((CUdeviceptr)on_heap), CUDA_ERROR_ILLEGAL_ADDRESS, "malloc");
    begin();
    ok(!cuMemHostRegister_v2(own, sizeof(own), 0) && !run("contiguous", alloc(4096), own, 1) &&
           !run("vectors", alloc(4096), own, 1),
       "the same memory, registered");
    ok(!cuMemHostUnregister(own), "and not any more");
    end(store_at((CUdeviceptr)own), CUDA_ERROR_ILLEGAL_ADDRESS, "unregistered memory");
    free(on_heap);
}

static void set(const char *name, const char *value)
{
    if (value && *value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

int main(int argc, char **argv)
{
    bool strict = argc > 1 && !strcmp(argv[1], "strict");
    int pageable = -1;

    set("HEDDLE_MEMORY", "256M");
    set("HEDDLE_STRICT", strict ? "1" : "0");
    set("HEDDLE_DEVICE", argc > 2 ? argv[2] : NULL);
    set("HEDDLE_FAULT", argc > 3 ? argv[3] : NULL);
    set("HEDDLE_CPU", argc > 4 ? argv[4] : NULL);
    set("HEDDLE_CACHE", "off");
    if (argc > 4 && tap_lacks(argv[4]))
        return skip_all("this CPU lacks the level");
    if (!ok(!cuInit(0) && !cuDeviceGet(&dev, 0), "device"))
        return done();
    eq_u64(cuDeviceGetAttribute(&pageable, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, dev), 0,
           "attribute");
    eq_u64((unsigned)pageable, !strict, "pageable memory access as it is");
    test_right();
    test_wrong_always();
    if (strict)
        test_wrong_strict();
    return done();
}
