/*
 * libnvptxcompiler: every function and result; what it makes loads, runs and is linked. Built with
 * the shared and with the static library.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "api/driver/cuda_abi.h"
#include "nvJitLink.h"
#include "nvPTXCompiler.h"
#include "tap.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

static const char good_ptx[] = HEAD ".visible .entry k(.param .u64 p)\n{\n"
                                    "  .reg .b64 %rd<2>;\n  ld.param.u64 %rd1, [p];\n"
                                    "  st.global.u32 [%rd1], 42;\n  ret;\n}\n";
static const char bad_ptx[] = HEAD ".visible .entry k()\n{\n  frob.u32 %r1;\n  ret;\n}\n";
static const char calls_ptx[] = HEAD ".extern .func f();\n"
                                     ".visible .entry k()\n{\n  call f;\n  ret;\n}\n";
static const char future_ptx[] = ".version 9.9\n.target sm_80\n.address_size 64\n";
static const char *const sm_90[] = {"--gpu-name=sm_90"};

static nvPTXCompilerHandle create(const char *ptx)
{
    nvPTXCompilerHandle compiler = NULL;

    eq_u64(nvPTXCompilerCreate(&compiler, strlen(ptx), ptx), NVPTXCOMPILE_SUCCESS, "create");
    return compiler;
}

static void destroy(nvPTXCompilerHandle compiler)
{
    eq_u64(nvPTXCompilerDestroy(&compiler), NVPTXCOMPILE_SUCCESS, "destroy");
    ok(!compiler, "the handle is gone");
}

typedef nvPTXCompileResult size_fn(nvPTXCompilerHandle compiler, size_t *size);
typedef nvPTXCompileResult text_fn(nvPTXCompilerHandle compiler, char *text);

static void log_has(nvPTXCompilerHandle compiler, size_fn *get_size, text_fn *get, const char *want)
{
    size_t size = 0;

    eq_u64(get_size(compiler, &size), NVPTXCOMPILE_SUCCESS, "size of the log");
    char *log = calloc(1, size + 1);
    eq_u64(get(compiler, log), NVPTXCOMPILE_SUCCESS, "the log");
    if (!ok(*want ? size && strlen(log) + 1 == size && strstr(log, want) != NULL : !size,
            "the log has \"%s\"", want))
        diag("it is: %s", log);
    free(log);
}

static void error_has(nvPTXCompilerHandle compiler, const char *want)
{
    log_has(compiler, nvPTXCompilerGetErrorLogSize, nvPTXCompilerGetErrorLog, want);
}

static void info_has(nvPTXCompilerHandle compiler, const char *want)
{
    log_has(compiler, nvPTXCompilerGetInfoLogSize, nvPTXCompilerGetInfoLog, want);
}

/* ---- what it makes */

static void run(const void *image)
{
    CUmodule module;
    CUfunction func;
    CUdeviceptr out;
    uint32_t got = 0;
    void *params[] = {&out};

    eq_u64(cuModuleLoadData(&module, image), CUDA_SUCCESS, "the image loads");
    eq_u64(cuModuleGetFunction(&func, module, "k"), CUDA_SUCCESS, "its kernel");
    eq_u64(cuMemAlloc_v2(&out, sizeof(got)), CUDA_SUCCESS, "memory");
    eq_u64(cuLaunchKernel(func, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_SUCCESS, "launch");
    eq_u64(cuMemcpyDtoH_v2(&got, out, sizeof(got)), CUDA_SUCCESS, "result");
    eq_u64(got, 42, "is right");
    cuMemFree_v2(out);
    cuModuleUnload(module);
}

static void link_image(const void *image, size_t size)
{
    nvJitLinkHandle link = NULL;
    const char *option = "-arch=sm_90";

    eq_u64(nvJitLinkCreate(&link, 1, &option), NVJITLINK_SUCCESS, "a linker");
    eq_u64(nvJitLinkAddData(link, NVJITLINK_INPUT_CUBIN, image, size, "k"), NVJITLINK_SUCCESS,
           "takes the image as a cubin");
    eq_u64(nvJitLinkComplete(link), NVJITLINK_SUCCESS, "and links it");
    nvJitLinkDestroy(&link);
}

static void test_good(void)
{
    nvPTXCompilerHandle compiler = create(good_ptx);
    const char *const verbose[] = {"-arch", "sm_90", "-v", "--opt-level=3"};
    size_t size = 0;

    eq_u64(nvPTXCompilerGetCompiledProgramSize(compiler, &size),
           NVPTXCOMPILE_ERROR_COMPILER_INVOCATION_INCOMPLETE, "nothing was compiled");
    error_has(compiler, "");
    eq_u64(nvPTXCompilerCompile(compiler, 4, verbose), NVPTXCOMPILE_SUCCESS, "compile");
    error_has(compiler, "");
    info_has(compiler, "ptxas info    : Compiling entry function 'k' for 'sm_90'");
    eq_u64(nvPTXCompilerGetCompiledProgramSize(compiler, &size), NVPTXCOMPILE_SUCCESS, "size");
    char *image = malloc(size);
    eq_u64(nvPTXCompilerGetCompiledProgram(compiler, image), NVPTXCOMPILE_SUCCESS, "image");
    run(image);
    link_image(image, size);
    free(image);
    eq_u64(nvPTXCompilerCompile(compiler, 1, sm_90), NVPTXCOMPILE_SUCCESS, "again");
    info_has(compiler, "");
    destroy(compiler);
}

static void test_virtual(void)
{
    nvPTXCompilerHandle compiler = create(good_ptx);
    const char *const option[] = {"-arch=compute_90"};
    size_t size;

    eq_u64(nvPTXCompilerCompile(compiler, 1, option), NVPTXCOMPILE_PARSE_ONLY_SUCCESS,
           "compute_90 only checks");
    eq_u64(nvPTXCompilerGetCompiledProgramSize(compiler, &size),
           NVPTXCOMPILE_ERROR_COMPILER_INVOCATION_INCOMPLETE, "there is no image");
    destroy(compiler);
}

/* ---- what it refuses */

static void refused(const char *ptx, const char *option, nvPTXCompileResult want, const char *says)
{
    nvPTXCompilerHandle compiler = create(ptx);
    const char *const options[] = {"--gpu-name=sm_90", option};

    eq_u64(nvPTXCompilerCompile(compiler, option ? 2 : 1, options), want, "refused: %s", says);
    error_has(compiler, says);
    destroy(compiler);
}

static void test_refused(void)
{
    const nvPTXCompileResult failure = NVPTXCOMPILE_ERROR_COMPILATION_FAILURE;
    nvPTXCompilerHandle compiler = create(good_ptx);

    refused(bad_ptx, NULL, failure, "ptxas application ptx input, line 6; error   : ");
    refused(bad_ptx, NULL, failure, "ptxas fatal   : Ptx assembly aborted due to errors");
    refused(calls_ptx, NULL, failure, "'f'");
    refused(future_ptx, NULL, NVPTXCOMPILE_ERROR_UNSUPPORTED_PTX_VERSION,
            "fatal   : Unsupported .version 9.9; current version is '9.0'");
    refused(good_ptx, "--frob", failure, "ptxas fatal   : Unknown option '-frob'");
    refused(good_ptx, "k.ptx", failure, "Unknown option 'k.ptx'");
    refused(good_ptx, "-optf=file", failure, "Unknown option 'optf=file'");
    refused(good_ptx, "--help", failure, "Unknown option '-help'");
    refused(good_ptx, "--entry=other", failure, "Unknown function other");
    refused(good_ptx, "-arch=sm_75", failure, "SM version specified by .target is higher");
    eq_u64(nvPTXCompilerCompile(compiler, 0, NULL), failure, "no architecture");
    error_has(compiler, "'--gpu-name' is missing");
    eq_u64(nvPTXCompilerCompile(compiler, 1, (const char *const[]){NULL}), failure, "no option");
    error_has(compiler, "option 0 is a null pointer");
    destroy(compiler);
    compiler = create(calls_ptx);
    eq_u64(nvPTXCompilerCompile(compiler, 2, (const char *const[]){"-arch=sm_90", "-c"}),
           NVPTXCOMPILE_SUCCESS, "-c leaves names undefined");
    destroy(compiler);
}

static void test_bad_arguments(void)
{
    const nvPTXCompileResult input = NVPTXCOMPILE_ERROR_INVALID_INPUT;
    const nvPTXCompileResult handle = NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
    nvPTXCompilerHandle none = NULL, compiler = create(good_ptx);
    size_t size;
    char text[1];

    eq_u64(nvPTXCompilerCreate(NULL, 1, "x"), input, "no place for the handle");
    eq_u64(nvPTXCompilerCreate(&none, 0, "x"), input, "no PTX");
    eq_u64(nvPTXCompilerCreate(&none, 1, NULL), input, "a null pointer to it");
    eq_u64(nvPTXCompilerDestroy(NULL), handle, "destroy: no pointer");
    eq_u64(nvPTXCompilerDestroy(&none), handle, "destroy: no handle");
    eq_u64(nvPTXCompilerCompile(none, 1, sm_90), handle, "compile: no handle");
    eq_u64(nvPTXCompilerCompile(compiler, -1, sm_90), input, "compile: fewer options than none");
    eq_u64(nvPTXCompilerCompile(compiler, 1, NULL), input, "compile: no options");
    eq_u64(nvPTXCompilerGetCompiledProgramSize(none, &size), handle, "size: no handle");
    eq_u64(nvPTXCompilerGetCompiledProgram(none, text), handle, "image: no handle");
    eq_u64(nvPTXCompilerGetErrorLogSize(none, &size), handle, "error log: no handle");
    eq_u64(nvPTXCompilerGetErrorLog(none, text), handle, "its text: no handle");
    eq_u64(nvPTXCompilerGetInfoLogSize(none, &size), handle, "info log: no handle");
    eq_u64(nvPTXCompilerGetInfoLog(none, text), handle, "its text: no handle");
    eq_u64(nvPTXCompilerGetErrorLogSize(compiler, NULL), input, "error log: no place");
    eq_u64(nvPTXCompilerGetErrorLog(compiler, NULL), input, "its text: no place");
    eq_u64(nvPTXCompilerGetInfoLogSize(compiler, NULL), input, "info log: no place");
    eq_u64(nvPTXCompilerGetInfoLog(compiler, NULL), input, "its text: no place");
    nvPTXCompilerCompile(compiler, 1, sm_90);
    eq_u64(nvPTXCompilerGetCompiledProgramSize(compiler, NULL), input, "size: no place");
    eq_u64(nvPTXCompilerGetCompiledProgram(compiler, NULL), input, "image: no place");
    destroy(compiler);
}

/* ---- cancelling, versions */

struct flow {
    int calls, stop_at;
    bool reserved_is_null;
};

static int flow(void *payload, void *reserved)
{
    struct flow *f = payload;

    f->reserved_is_null = !reserved;
    return f->calls++ >= f->stop_at;
}

static void test_flow(void)
{
    nvPTXCompilerHandle compiler = create(good_ptx);
    struct flow f = {.stop_at = 100};

    eq_u64(nvPTXCompilerSetFlowCallback(NULL, flow, &f), NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE,
           "a callback without a handle");
    eq_u64(nvPTXCompilerSetFlowCallback(compiler, NULL, &f), NVPTXCOMPILE_ERROR_INVALID_INPUT,
           "a handle without a callback");
    eq_u64(nvPTXCompilerSetFlowCallback(compiler, flow, &f), NVPTXCOMPILE_SUCCESS, "a callback");
    eq_u64(nvPTXCompilerCompile(compiler, 1, sm_90), NVPTXCOMPILE_SUCCESS, "it lets go on");
    ok(f.calls > 1 && f.reserved_is_null, "it was asked");
    for (int at = 0; at < f.calls; at++) {
        struct flow stops = {.stop_at = at};

        nvPTXCompilerSetFlowCallback(compiler, flow, &stops);
        eq_u64(nvPTXCompilerCompile(compiler, 1, sm_90), NVPTXCOMPILE_ERROR_CANCELLED,
               "cancelled at question %d", at);
    }
    destroy(compiler);
}

static void test_versions(void)
{
    const nvPTXCompileResult input = NVPTXCOMPILE_ERROR_INVALID_INPUT;
    unsigned major = 0, minor = 0;
    int n = 0, archs[64], versions[64][2];

    eq_u64(nvPTXCompilerGetVersion(&major, &minor), NVPTXCOMPILE_SUCCESS, "version");
    ok(major == 13, "13.%u", minor);
    eq_u64(nvPTXCompilerGetVersion(NULL, &minor), input, "no place for it");
    eq_u64(nvPTXCompilerGetNumSupportedArchs(&n), NVPTXCOMPILE_SUCCESS, "architectures");
    eq_u64(nvPTXCompilerGetNumSupportedArchs(NULL), input, "no place for their number");
    eq_u64(nvPTXCompilerGetSupportedArchs(NULL), input, "no place for them");
    if (!ok(n > 10 && n < 64, "%d of them", n))
        return;
    eq_u64(nvPTXCompilerGetSupportedArchs(archs), NVPTXCOMPILE_SUCCESS, "which");
    ok(archs[0] == 50 && archs[n - 1] == 121, "%d to %d", archs[0], archs[n - 1]);
    for (int i = 1; i < n; i++)
        ok(archs[i - 1] < archs[i], "%d follows", archs[i]);
    eq_u64(nvPTXCompilerGetNumSupportedVersions(&n), NVPTXCOMPILE_SUCCESS, "versions of PTX");
    eq_u64(nvPTXCompilerGetNumSupportedVersions(NULL), input, "no place for their number");
    eq_u64(nvPTXCompilerGetSupportedVersions(NULL), input, "no place for them");
    if (!ok(n > 30 && n < 64, "%d of them", n))
        return;
    eq_u64(nvPTXCompilerGetSupportedVersions(versions), NVPTXCOMPILE_SUCCESS, "which");
    ok(versions[0][0] == 1 && versions[0][1] == 0 && versions[n - 1][0] == 9, "1.0 to 9");
}

int main(void)
{
    CUcontext ctx;

    ok(!cuInit(0) && !cuCtxCreate_v2(&ctx, 0, 0), "a context");
    test_good();
    test_virtual();
    test_refused();
    test_bad_arguments();
    test_flow();
    test_versions();
    return done();
}
