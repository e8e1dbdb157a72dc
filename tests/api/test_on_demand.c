/*
 * A module of many kernels, loaded when nobody knows its text and again when the code cache does:
 * kernels, attributes and results are the same, also when threads use different kernels at once,
 * and an error in a kernel that nobody uses is told at every load. What directives say is known
 * without compiling.
 */
#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

#include "api/driver/cuda_abi.h"
#include "base/str.h"
#include "tap.h"

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)

#define THREADS 4
#define KERNELS 20
#define LANES   32
#define TEXT_B  (64u << 10) /* much more than what is always parsed as a whole */

static CUcontext ctx;

static void write_kernel(struct hd_buf *out, unsigned i)
{
    hd_buf_printf(out,
                  ".visible .entry k%u(.param .u64 p) %s { .reg .b32 %%r<4>; .reg .b64 %%d<4>;\n"
                  ".shared .b32 sm[%u]; .param .b32 a, r; ld.param.u64 %%d1, [p];\n"
                  "mov.u32 %%r1, %%tid.x; st.param.b32 [a], %%r1; call (r), scaled%u, (a);\n"
                  "ld.param.b32 %%r2, [r]; st.shared.u32 [sm], %%r2; mul.wide.u32 %%d2, %%r1, 4;\n"
                  "add.u64 %%d1, %%d1, %%d2; st.global.u32 [%%d1], %%r2; ret; }\n",
                  i, i % 3 ? "" : ".maxntid 64", 1 + i, i % 4);
}

static void write_module(struct hd_buf *out, const char *unused)
{
    hd_buf_puts(out, ".version 8.0\n.target sm_80\n.address_size 64\n");
    for (unsigned i = 0; i < 4; i++)
        hd_buf_printf(out,
                      ".func (.param .b32 r) scaled%u(.param .b32 a) { .reg .b32 %%r<2>;\n"
                      ".local .b32 kept[%u]; ld.param.u32 %%r0, [a]; mul.lo.u32 %%r0, %%r0, %u;\n"
                      "st.local.u32 [kept], %%r0; ld.local.u32 %%r1, [kept];\n"
                      "st.param.b32 [r], %%r1; ret; }\n",
                      i, 1 + i, 3 + i);
    for (unsigned i = 0; i < KERNELS; i++)
        write_kernel(out, i);
    hd_buf_printf(out, ".visible .entry unused() {\n%s\nret; }\n", unused);
    while (out->len < TEXT_B)
        hd_buf_puts(out, "// a line that makes the text longer: { \" /*\n");
}

struct answers {
    CUresult attribute_of[KERNELS][CU_FUNC_ATTRIBUTE_MAX];
    int attributes[KERNELS][CU_FUNC_ATTRIBUTE_MAX];
    unsigned results[KERNELS][LANES];
    unsigned failed; /* calls */
};

static void ask_kernel(struct answers *a, CUmodule module, CUdeviceptr memory, unsigned i)
{
    char name[16];
    CUfunction func;
    void *params[] = {&memory};

    snprintf(name, sizeof(name), "k%u", i);
    if (cuModuleGetFunction(&func, module, name) != CUDA_SUCCESS) {
        a->failed++;
        return;
    }
    a->failed += cuLaunchKernel(func, 1, 1, 1, LANES, 1, 1, 0, NULL, params, NULL) != CUDA_SUCCESS;
    a->failed += cuMemcpyDtoH_v2(a->results[i], memory, sizeof(a->results[i])) != CUDA_SUCCESS;
    for (int n = 0; n < CU_FUNC_ATTRIBUTE_MAX; n++)
        a->attribute_of[i][n] = cuFuncGetAttribute(&a->attributes[i][n], n, func);
}

static void ask_all(struct answers *a, CUmodule module, unsigned first)
{
    CUdeviceptr memory;

    if (cuMemAlloc_v2(&memory, LANES * sizeof(unsigned)) != CUDA_SUCCESS) {
        a->failed++;
        return;
    }
    for (unsigned i = 0; i < KERNELS; i++)
        ask_kernel(a, module, memory, (first + i * 7) % KERNELS);
    a->failed += cuMemFree_v2(memory) != CUDA_SUCCESS;
}

static void check_results(const struct answers *a, const char *when)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < KERNELS; i++)
        for (unsigned lane = 0; lane < LANES; lane++)
            wrong += a->results[i][lane] != lane * (3 + i % 4);
    ok(!wrong && !a->failed, "%s: right results", when);
}

/* Twice: nobody knows the text, the cache does. */
static void test_same(const char *text)
{
    static struct answers answers[2];
    CUmodule module;

    for (unsigned load = 0; load < 2; load++) {
        const char *when = load ? "known" : "unknown";

        success(cuModuleLoadData(&module, text), "%s: loads", when);
        ask_all(&answers[load], module, load);
        check_results(&answers[load], when);
        success(cuModuleUnload(module), "%s: unloads", when);
    }
    eq_mem(answers[1].attributes, answers[0].attributes, sizeof(answers[0].attributes),
           "the same attributes");
    eq_mem(answers[1].attribute_of, answers[0].attribute_of, sizeof(answers[0].attribute_of),
           "and the same of them exist");
}

struct asker {
    pthread_t thread;
    CUmodule module;
    unsigned first;
    struct answers answers;
};

static void *asker_run(void *arg)
{
    struct asker *asker = arg;

    asker->answers.failed += cuCtxSetCurrent(ctx) != CUDA_SUCCESS;
    ask_all(&asker->answers, asker->module, asker->first);
    return NULL;
}

static void test_threads(const char *text)
{
    static struct asker askers[THREADS];
    CUmodule module;

    success(cuModuleLoadData(&module, text), "for threads: loads");
    for (unsigned i = 0; i < THREADS; i++) {
        askers[i].module = module;
        askers[i].first = i * 5;
        pthread_create(&askers[i].thread, NULL, asker_run, &askers[i]);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(askers[i].thread, NULL);
        check_results(&askers[i].answers, "a thread");
    }
    success(cuModuleUnload(module), "for threads: unloads");
}

static void test_error(void)
{
    struct hd_buf text = {0};
    char log[512];
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    CUmodule module;

    write_module(&text, "  add.u32 %r1, nothing;");
    for (unsigned load = 0; load < 3; load++) {
        void *values[] = {log, (void *)sizeof(log)};

        log[0] = '\0';
        eq_u64(cuModuleLoadDataEx(&module, text.ptr, 2, options, values), CUDA_ERROR_INVALID_PTX,
               "an error in a kernel that nobody uses, load %u", load);
        ok(strstr(log, ":121:11: expected a declared register, found '%r1'") != NULL, "%s", log);
    }
    hd_buf_fini(&text);
}

static void remove_folder(const char *folder)
{
    struct dirent *entry;
    DIR *dir = opendir(folder);

    while (dir && (entry = readdir(dir))) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    if (dir)
        closedir(dir);
    rmdir(folder);
}

/* What directives say is known without compiling the kernel, and the same afterwards. */
static void test_declared(void)
{
    static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                               ".visible .entry most() .maxntid 8, 4, 2 { ret; }\n"
                               ".visible .entry exactly() .reqntid 96, 2 { ret; }\n"
                               ".visible .entry beyond() .maxntid 1024, 1024 { ret; }\n"
                               ".visible .entry any() { ret; }\n";
    static const struct {
        const char *name;
        int threads;
        bool is_declared;
    } all[] = {
        {"most", 64, true}, {"exactly", 192, true}, {"beyond", 1024, true}, {"any", 1024, false}};
    static const CUfunction_attribute others[] = {CU_FUNC_ATTRIBUTE_PTX_VERSION,
                                                  CU_FUNC_ATTRIBUTE_BINARY_VERSION,
                                                  CU_FUNC_ATTRIBUTE_CACHE_MODE_CA,
                                                  CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
                                                  CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET,
                                                  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH};
    CUlibrary library;

    success(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0), "library");
    for (unsigned i = 0; i < HD_COUNT_OF(all); i++) {
        int value = 0, before[HD_COUNT_OF(others)], after;
        CUfunctionLoadingState state;
        CUkernel kernel;
        CUfunction func;

        success(cuLibraryGetKernel(&kernel, library, all[i].name), "%s", all[i].name);
        func = (CUfunction)kernel;
        for (unsigned k = 0; k < HD_COUNT_OF(others); k++)
            success(cuFuncGetAttribute(&before[k], others[k], func), "attribute %d", others[k]);
        if (all[i].is_declared) {
            success(
                cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0),
                "threads");
            eq_u64((unsigned)value, (unsigned)all[i].threads, "as declared");
        }
        success(cuFuncIsLoaded(&state, func), "state");
        eq_u64(state, CU_FUNCTION_LOADING_STATE_UNLOADED, "nothing was compiled for that");
        success(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, func), "registers");
        ok(value > 0, "are some");
        success(cuFuncIsLoaded(&state, func), "state");
        eq_u64(state, CU_FUNCTION_LOADING_STATE_LOADED, "for which it was compiled");
        success(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, func),
                "threads");
        eq_u64((unsigned)value, (unsigned)all[i].threads, "the same as before");
        for (unsigned k = 0; k < HD_COUNT_OF(others); k++) {
            success(cuFuncGetAttribute(&after, others[k], func), "attribute %d", others[k]);
            eq_u64((unsigned)after, (unsigned)before[k], "is the same");
        }
    }
    success(cuLibraryUnload(library), "unload");
}

int main(void)
{
    char folder[] = "/tmp/hd_on_demand_XXXXXX";
    struct hd_buf text = {0};

    if (!mkdtemp(folder))
        return 1;
    setenv("HEDDLE_CACHE", folder, 1);
    setenv("HEDDLE_MEMORY", "64M", 1);
    success(cuInit(0), "cuInit");
    success(cuDevicePrimaryCtxRetain(&ctx, 0), "context");
    success(cuCtxSetCurrent(ctx), "set");
    write_module(&text, "");
    test_same(text.ptr);
    test_threads(text.ptr);
    test_error();
    test_declared();
    success(cuDevicePrimaryCtxRelease_v2(0), "release");
    hd_buf_fini(&text);
    remove_folder(folder);
    return done();
}
