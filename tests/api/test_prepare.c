/*
 * heddle_function_prepare(): what it has made, launches do not make again, on each device; blocks
 * that a kernel cannot have are refused, and what cannot be compiled says why.
 */
#include <stdatomic.h>

#include "api/driver/cuda_abi.h"
#include "base/str.h"
#include "heddle/native.h"
#include "heddle/prepare.h"
#include "heddle/tap.h"
#include "tap.h"

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)

const char *heddle_error_message(void); /* libcuda exports it */

/* Each writes the number of its threads, added up by atomics. */
#define KERNEL(name, bounds, y)                                                                    \
    ".visible .entry " name "(.param .u64 p) " bounds "\n"                                         \
    "{ .reg .b64 %d; .reg .b32 %t, %u; ld.param.u64 %d, [p]; mov.u32 %t, %tid.x;\n" y              \
    "  red.global.add.u32 [%d], 1; st.global.u32 [%d+4], %t; ret; }\n"
#define USES_Y "  mov.u32 %u, %tid.y; add.u32 %t, %t, %u;\n"

static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n" KERNEL("row", "", "")
    KERNEL("plane", "", USES_Y) KERNEL("narrow", ".maxntid 64", "")
        KERNEL("exact", ".reqntid 8, 4",
               USES_Y) ".extern .func nowhere();\n"
                       ".visible .entry lacking(.param .u64 p) { call nowhere; ret; }\n";

static _Atomic unsigned compiled;
static CUmodule module;
static CUdeviceptr at;

static void on_compile(void *user, const struct heddle_event *e)
{
    (void)user;
    if (e->phase == HEDDLE_PHASE_END)
        atomic_fetch_add(&compiled, 1);
}

static CUfunction function_of(const char *name)
{
    CUfunction func = NULL;

    success(cuModuleGetFunction(&func, module, name), "%s", name);
    return func;
}

static void launch(const char *name, unsigned x, unsigned y)
{
    void *params[] = {&at};
    uint32_t threads = 0;

    success(cuMemsetD32_v2(at, 0, 2), "zero");
    success(cuLaunchKernel(function_of(name), 2, 1, 1, x, y, 1, 0, NULL, params, NULL),
            "%s: a launch", name);
    success(cuMemcpyDtoH_v2(&threads, at, sizeof(threads)), "%s: runs", name);
    eq_u64(threads, 2 * x * y, "%s: as many threads", name);
}

/* Launches with these blocks find their code. */
static void test_warm(const char *name, const uint32_t *block, const unsigned (*launched)[2],
                      unsigned n)
{
    atomic_store(&compiled, 0);
    success(heddle_function_prepare(function_of(name), block), "%s is prepared", name);
    ok(atomic_load(&compiled) > 0, "%s: something is compiled", name);
    atomic_store(&compiled, 0);
    success(heddle_function_prepare(function_of(name), block), "%s is prepared again", name);
    for (unsigned i = 0; i < n; i++)
        launch(name, launched[i][0], launched[i][1]);
    eq_u64(atomic_load(&compiled), 0, "%s: and nothing more", name);
}

static void test_blocks(void)
{
    test_warm("row", NULL, (const unsigned[][2]){{256, 1}, {1024, 1}, {128, 1}}, 3);
    test_warm("plane", NULL, (const unsigned[][2]){{256, 1}, {16, 16}, {32, 8}}, 3);
    test_warm("narrow", (const uint32_t[]){32, 1, 1}, (const unsigned[][2]){{32, 1}}, 1);
    test_warm("exact", NULL, (const unsigned[][2]){{8, 4}}, 1);
    success(heddle_function_prepare(function_of("exact"), (const uint32_t[]){8, 4, 1}),
            "the block that is required");
}

static void test_refused(void)
{
    static const struct {
        const char *name;
        uint32_t block[3];
        const char *why;
    } bad[] = {
        {"row", {0, 1, 1}, "0 x 1 x 1"},
        {"row", {1025, 1, 1}, "1024 threads at most"},
        {"row", {65536, 65536, 1}, "65536 x 65536"},
        {"row", {1u << 31, 1u << 31, 4}, "threads at most"},
        {"narrow", {65, 1, 1}, "64 threads at most"},
        {"exact", {8, 8, 1}, "32 threads at most"},
        {"exact", {4, 8, 1}, "requires 8 x 4 x 1"},
    };
    CUfunction func = NULL;

    for (size_t i = 0; i < HD_COUNT_OF(bad); i++) {
        eq_u64(heddle_function_prepare(function_of(bad[i].name), bad[i].block),
               CUDA_ERROR_INVALID_VALUE, "%s: block %u x %u x %u", bad[i].name, bad[i].block[0],
               bad[i].block[1], bad[i].block[2]);
        ok(strstr(heddle_error_message(), bad[i].why), "says why: %s", heddle_error_message());
    }
    eq_u64(heddle_function_prepare(NULL, NULL), CUDA_ERROR_INVALID_HANDLE, "no function");
    (void)!cuModuleGetFunction(&func, module, "lacking");
    if (func)
        ok(heddle_function_prepare(func, NULL) != CUDA_SUCCESS, "what does not compile is told");
    ok(strstr(heddle_error_message(), "nowhere"), "with the reason: %s", heddle_error_message());
}

static int do_nothing(struct heddle_native_call *call)
{
    (void)call;
    return 0;
}

/* Functions of the host have no code to be made, and any block. */
static void test_native(void)
{
    const struct heddle_native desc = {
        .size_B = sizeof(desc), .name = "nothing", .function = do_nothing, .params_B = 8};
    struct heddle_native_kernel *native;
    CUfunction func;

    success(heddle_native_register(&desc, &native), "a native kernel");
    success(heddle_native_get_function(native, &func), "its function");
    if (!strcmp(getenv("HEDDLE_DEVICE"), "cpu"))
        success(heddle_function_prepare(func, NULL), "is ready");
    else
        eq_u64(heddle_function_prepare(func, NULL), CUDA_ERROR_NOT_SUPPORTED,
               "is refused by a device that cannot call it");
    success(heddle_native_unregister(native), "unregister");
}

int main(void)
{
    CUcontext ctx;

    setenv("HEDDLE_CACHE", "off", 1);
    success(cuInit(0), "cuInit");
    eq_u64(heddle_function_prepare(NULL, NULL), CUDA_ERROR_INVALID_CONTEXT, "without a context");
    success(cuDevicePrimaryCtxRetain(&ctx, 0), "context");
    success(cuCtxSetCurrent(ctx), "set");
    success(cuMemAlloc_v2(&at, 64), "memory");
    success(cuModuleLoadData(&module, text), "load");
    ok(heddle_tap_subscribe(HEDDLE_KIND(COMPILE), on_compile, NULL), "listens");
    test_blocks();
    test_refused();
    test_native();
    success(cuModuleUnload(module), "unload");
    success(cuMemFree_v2(at), "free");
    success(cuDevicePrimaryCtxRelease_v2(0), "release");
    return done();
}
