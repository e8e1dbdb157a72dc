/*
 * libnvJitLink: every function and result; what it links loads and runs; damaged inputs of every
 * kind are refused.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/driver/cuda_abi.h"
#include "nvJitLink.h"
#include "tap.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

static const char main_ptx[] = HEAD ".extern .func (.param .b32 r) twice (.param .b32 x);\n"
                                    ".visible .entry run(.param .u64 out)\n{\n"
                                    "  .reg .b32 v; .reg .b64 o;\n"
                                    "  { .param .b32 a; .param .b32 r; st.param.b32 [a], 21;\n"
                                    "    call (r), twice, (a); ld.param.b32 v, [r]; }\n"
                                    "  ld.param.u64 o, [out]; st.global.u32 [o], v; ret;\n}\n";
static const char other_ptx[] =
    HEAD ".visible .func (.param .b32 r) twice (.param .b32 x)\n{\n"
         "  .reg .b32 v; ld.param.b32 v, [x]; add.u32 v, v, v; st.param.b32 [r], v; ret;\n}\n";
static const char kernel_ptx[] = HEAD ".visible .entry k(.param .u64 p) { ret; }\n";
static const char bad_ptx[] = HEAD ".visible .entry k()\n{\n  frob.u32 %r1;\n  ret;\n}\n";
static const char future_ptx[] = ".version 99.99\n.target sm_80\n.address_size 64\n";
static const char newer_ptx[] = ".version 8.6\n.target sm_100\n.address_size 64\n"
                                ".visible .entry k() { ret; }\n";

static nvJitLinkHandle create(nvJitLinkResult want, uint32_t count, const char **options)
{
    nvJitLinkHandle link = NULL;

    eq_u64(nvJitLinkCreate(&link, count, options), want, "create with %s",
           count ? options[count - 1] : "nothing");
    ok(link != NULL, "there is a handle");
    return link;
}

static nvJitLinkHandle create_90(void)
{
    return create(NVJITLINK_SUCCESS, 1, (const char *[]){"-arch=sm_90"});
}

static void destroy(nvJitLinkHandle link)
{
    eq_u64(nvJitLinkDestroy(&link), NVJITLINK_SUCCESS, "destroy");
    ok(!link, "the handle is gone");
}

/* The whole error log has `want` in it. */
static void error_has(nvJitLinkHandle link, const char *want)
{
    size_t size = 0;

    eq_u64(nvJitLinkGetErrorLogSize(link, &size), NVJITLINK_SUCCESS, "size of the error log");
    char *log = calloc(1, size + 1);
    eq_u64(nvJitLinkGetErrorLog(link, log), NVJITLINK_SUCCESS, "error log");
    if (!ok(size && strlen(log) + 1 == size && strstr(log, want), "the log has \"%s\"", want))
        diag("it is: %s", log);
    free(log);
}

static nvJitLinkResult add(nvJitLinkHandle link, nvJitLinkInputType type, const char *text,
                           const char *name)
{
    return nvJitLinkAddData(link, type, text, strlen(text) + 1, name);
}

static void *cubin_of(nvJitLinkHandle link, size_t *out_B)
{
    eq_u64(nvJitLinkGetLinkedCubinSize(link, out_B), NVJITLINK_SUCCESS, "size of the cubin");
    void *cubin = malloc(*out_B + 1);
    eq_u64(nvJitLinkGetLinkedCubin(link, cubin), NVJITLINK_SUCCESS, "cubin");
    return cubin;
}

static void run(const void *image)
{
    CUmodule module;
    CUfunction func;
    CUdeviceptr out;
    uint32_t got = 0;
    void *params[] = {&out};

    eq_u64(cuModuleLoadData(&module, image), CUDA_SUCCESS, "the cubin loads");
    eq_u64(cuModuleGetFunction(&func, module, "run"), CUDA_SUCCESS, "its kernel");
    eq_u64(cuMemAlloc_v2(&out, sizeof(got)), CUDA_SUCCESS, "memory");
    eq_u64(cuLaunchKernel(func, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_SUCCESS, "launch");
    eq_u64(cuMemcpyDtoH_v2(&got, out, sizeof(got)), CUDA_SUCCESS, "result");
    eq_u64(got, 42, "it calls the other module's function");
    cuMemFree_v2(out);
    cuModuleUnload(module);
}

static void *test_link(size_t *out_B)
{
    nvJitLinkHandle link = create_90();
    void *cubin;

    eq_u64(add(link, NVJITLINK_INPUT_PTX, main_ptx, "main.ptx"), 0, "PTX");
    eq_u64(add(link, NVJITLINK_INPUT_ANY, other_ptx, NULL), 0, "PTX as anything, without a name");
    eq_u64(nvJitLinkGetLinkedCubinSize(link, out_B), NVJITLINK_ERROR_INTERNAL, "not complete");
    eq_u64(nvJitLinkComplete(link), 0, "complete");
    eq_u64(nvJitLinkComplete(link), 0, "again");
    cubin = cubin_of(link, out_B);
    run(cubin);
    eq_u64(add(link, NVJITLINK_INPUT_PTX, main_ptx, "late"), NVJITLINK_ERROR_INVALID_INPUT,
           "nothing is added to a complete link");
    eq_u64(nvJitLinkGetLinkedPtxSize(link, out_B), NVJITLINK_ERROR_INVALID_INPUT, "no PTX");
    error_has(link, "there is no linked PTX without -lto -ptx");
    eq_u64(nvJitLinkGetLinkedLTOIRSize(link, out_B), NVJITLINK_ERROR_INVALID_INPUT, "no LTO-IR");
    eq_u64(nvJitLinkGetLinkedLTOIR(link, cubin), NVJITLINK_ERROR_INVALID_INPUT, "none at all");
    error_has(link, "there is no linked LTO-IR without -lto");
    eq_u64(nvJitLinkGetLinkedCubinSize(link, out_B), 0, "the size again");
    destroy(link);
    return cubin;
}

/* Linked LTO-IR is everything, to be linked again; the cubin is what is used. */
static void test_ltoir(void)
{
    static const char library[] = HEAD
        ".visible .global .align 4 .u32 spare = 1;\n"
        ".visible .func (.param .b32 r) thrice (.param .b32 x)\n"
        "{ .reg .b32 v; ld.param.b32 v, [x]; mul.lo.u32 v, v, 3; st.param.b32 [r], v; ret; }\n";
    const char *options[] = {"-arch=sm_90",
                             "-lto",
                             "-verbose",
                             "-kernels-used=run,x",
                             "-variables-used=none",
                             "-optimize-unused-variables"};
    nvJitLinkHandle link = create(0, 6, options);
    size_t cubin_B = 0, ltoir_B = 0, size = 0;

    eq_u64(add(link, NVJITLINK_INPUT_PTX, main_ptx, "main.ptx"), 0, "main");
    eq_u64(add(link, NVJITLINK_INPUT_PTX, other_ptx, "other.ptx"), 0, "other");
    eq_u64(add(link, NVJITLINK_INPUT_PTX, library, "library.ptx"), 0, "what nobody needs");
    eq_u64(nvJitLinkGetLinkedLTOIRSize(link, &ltoir_B), NVJITLINK_ERROR_INTERNAL, "not complete");
    eq_u64(nvJitLinkComplete(link), 0, "complete");
    void *cubin = cubin_of(link, &cubin_B);
    eq_u64(nvJitLinkGetLinkedLTOIRSize(link, &ltoir_B), 0, "size of the LTO-IR");
    ok(ltoir_B > cubin_B, "it is more than the cubin: %zu and %zu bytes", ltoir_B, cubin_B);
    void *ltoir = malloc(ltoir_B + 1);
    eq_u64(nvJitLinkGetLinkedLTOIR(link, ltoir), 0, "LTO-IR");
    ok(memmem(ltoir, ltoir_B, "thrice", 6) && !memmem(cubin, cubin_B, "thrice", 6),
       "the function is in the LTO-IR only");
    ok(memmem(ltoir, ltoir_B, "spare", 5) && !memmem(cubin, cubin_B, "spare", 5), "the variable");
    eq_u64(nvJitLinkGetInfoLogSize(link, &size), 0, "size of the info log");
    char *log = malloc(size + 1);
    eq_u64(nvJitLinkGetInfoLog(link, log), 0, "info log");
    if (!ok(strstr(log, "removed 0 kernels, 1 functions, 1 variables") != NULL, "says so"))
        diag("%s", log);
    run(cubin);
    free(log);
    free(cubin);
    destroy(link);
    link = create(0, 2, options);
    eq_u64(nvJitLinkAddData(link, NVJITLINK_INPUT_LTOIR, ltoir, ltoir_B, "again"), 0, "again");
    eq_u64(nvJitLinkComplete(link), 0, "complete");
    cubin = cubin_of(link, &cubin_B);
    run(cubin);
    free(cubin);
    free(ltoir);
    destroy(link);
}

/* What was linked is an input, as cubin and as LTO-IR. */
static void test_again(const void *cubin, size_t cubin_B)
{
    const char *lto[] = {"-arch=sm_90", "-lto", "-verbose", "-time"};
    nvJitLinkHandle link = create(0, 4, lto);
    size_t size = 0;

    eq_u64(nvJitLinkAddData(link, NVJITLINK_INPUT_LTOIR, cubin, cubin_B, "a"), 0, "as LTO-IR");
    eq_u64(nvJitLinkComplete(link), 0, "complete");
    void *again = cubin_of(link, &size);
    run(again);
    eq_u64(nvJitLinkGetInfoLogSize(link, &size), 0, "size of the info log");
    char *log = malloc(size + 1);
    eq_u64(nvJitLinkGetInfoLog(link, log), 0, "info log");
    ok(strstr(log, "2 modules") && strstr(log, "time until Complete"), "it has both");
    free(log);
    free(again);
    destroy(link);
    link = create_90();
    eq_u64(nvJitLinkAddData(link, NVJITLINK_INPUT_LTOIR, cubin, cubin_B, "a"),
           NVJITLINK_ERROR_LTO_NOT_ENABLED, "LTO-IR without -lto");
    eq_u64(nvJitLinkAddData(link, NVJITLINK_INPUT_CUBIN, cubin, cubin_B, "a"), 0, "as cubin");
    destroy(link);
}

static void test_ptx(const char *text)
{
    const char *options[] = {"-arch=sm_90", "-lto", "-ptx"};
    nvJitLinkHandle link = create_90();
    size_t size = 0, cubin_B = 0;

    eq_u64(add(link, NVJITLINK_INPUT_PTX, text, "one.ptx"), 0, "one module");
    eq_u64(nvJitLinkComplete(link), 0, "complete");
    void *ltoir = cubin_of(link, &cubin_B);
    destroy(link);
    link = create(0, 3, options);
    eq_u64(nvJitLinkAddData(link, NVJITLINK_INPUT_LTOIR, ltoir, cubin_B, "one"), 0, "LTO-IR");
    eq_u64(nvJitLinkComplete(link), 0, "complete");
    eq_u64(nvJitLinkGetLinkedPtxSize(link, &size), 0, "size of the PTX");
    eq_u64(size, strlen(text) + 1, "with the NUL");
    char *ptx = malloc(size);
    eq_u64(nvJitLinkGetLinkedPtx(link, ptx), 0, "PTX");
    eq_str(ptx, text, "its text");
    free(ptx);
    destroy(link);
    link = create(0, 3, options);
    eq_u64(nvJitLinkAddData(link, NVJITLINK_INPUT_LTOIR, ltoir, cubin_B, "one"), 0, "LTO-IR");
    eq_u64(add(link, NVJITLINK_INPUT_PTX, other_ptx, "other"), 0, "and PTX");
    eq_u64(nvJitLinkComplete(link), NVJITLINK_ERROR_INCORRECT_INPUT_TYPE, "-ptx of PTX");
    error_has(link, "-ptx requires that all inputs are LTO-IR");
    destroy(link);
    free(ltoir);
}

static void test_ptx_of_many(const void *cubin, size_t cubin_B)
{
    nvJitLinkHandle link = create(0, 3, (const char *[]){"-arch=sm_90", "-lto", "-ptx"});

    eq_u64(nvJitLinkAddData(link, NVJITLINK_INPUT_LTOIR, cubin, cubin_B, "a"), 0, "two modules");
    eq_u64(nvJitLinkComplete(link), NVJITLINK_ERROR_INTERNAL, "are not merged");
    error_has(link, "-ptx: one PTX text of 2 modules is not implemented");
    destroy(link);
}

static void refuse_options(nvJitLinkResult want, uint32_t count, const char **options,
                           const char *message)
{
    nvJitLinkHandle link = create(want, count, options);

    error_has(link, message);
    eq_u64(add(link, NVJITLINK_INPUT_PTX, kernel_ptx, "k"), NVJITLINK_ERROR_INTERNAL, "unusable");
    eq_u64(nvJitLinkComplete(link), NVJITLINK_ERROR_INTERNAL, "for linking too");
    error_has(link, "the options were refused");
    destroy(link);
}

static void test_options(void)
{
    static const char *all[] = {"-arch=compute_100f",
                                "-maxrregcount=64",
                                "-O3",
                                "-g",
                                "-lineinfo",
                                "-ftz=1",
                                "-prec-div=0",
                                "-prec-div=false",
                                "-ftz=true",
                                "-prec-sqrt=1",
                                "-fma=1",
                                "-kernels-used=a,b",
                                "-variables-used=c",
                                "-optimize-unused-variables",
                                "-Xptxas=-v",
                                "-Xnvvm=-x",
                                "-split-compile=4",
                                "-jump-table-density=50",
                                "-no-cache",
                                "-lto"};

    destroy(create(NVJITLINK_SUCCESS, HD_COUNT_OF(all), all));
    refuse_options(NVJITLINK_ERROR_MISSING_ARCH, 0, NULL, "no -arch= option");
    refuse_options(NVJITLINK_ERROR_UNRECOGNIZED_OPTION, 2, (const char *[]){"-arch=sm_90", "-frob"},
                   "unrecognized option: -frob");
    refuse_options(NVJITLINK_ERROR_UNRECOGNIZED_OPTION, 1, (const char *[]){"-ftz=2"},
                   "unrecognized option: -ftz=2");
    refuse_options(NVJITLINK_ERROR_UNRECOGNIZED_OPTION, 1, (const char *[]){"-arch=frob"},
                   "unrecognized architecture: frob");
    refuse_options(NVJITLINK_ERROR_UNSUPPORTED_ARCH, 1, (const char *[]){"-arch=sm_20"},
                   "unsupported architecture: sm_20");
    refuse_options(NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS, 2, (const char *[]){"-arch=sm_90", "-ptx"},
                   "-ptx needs -lto");
    refuse_options(NVJITLINK_ERROR_NULL_INPUT, 1, (const char *[]){NULL}, "option 0 is a null");
}

static void refuse_input(nvJitLinkInputType type, const char *text, nvJitLinkResult want,
                         const char *message)
{
    nvJitLinkHandle link = create(0, 2, (const char *[]){"-arch=sm_90", "-lto"});

    eq_u64(add(link, type, text, "in.x"), want, "refused as %d", (int)type);
    error_has(link, message);
    error_has(link, "in.x");
    destroy(link);
}

static void test_inputs(void)
{
    nvJitLinkHandle link = create_90();

    refuse_input(NVJITLINK_INPUT_PTX, bad_ptx, NVJITLINK_ERROR_PTX_COMPILE, "in.x:6:");
    refuse_input(NVJITLINK_INPUT_PTX, future_ptx, NVJITLINK_ERROR_PTX_COMPILE,
                 "Unsupported .version 99.99; current version is '9.0'");
    refuse_input(NVJITLINK_INPUT_PTX, newer_ptx, NVJITLINK_ERROR_PTX_COMPILE, "sm_100");
    for (int type = NVJITLINK_INPUT_CUBIN; type <= NVJITLINK_INPUT_LIBRARY; type++)
        if (type != NVJITLINK_INPUT_LTOIR && type != NVJITLINK_INPUT_PTX)
            refuse_input((nvJitLinkInputType)type, kernel_ptx, NVJITLINK_ERROR_INCORRECT_INPUT_TYPE,
                         "does not match type");
    refuse_input(NVJITLINK_INPUT_PTX, "garbage", NVJITLINK_ERROR_INCORRECT_INPUT_TYPE,
                 "does not match type NVJITLINK_INPUT_PTX");
    refuse_input(NVJITLINK_INPUT_ANY, "garbage", NVJITLINK_ERROR_UNRECOGNIZED_INPUT,
                 "unrecognized input type: in.x");
    refuse_input(NVJITLINK_INPUT_LTOIR, "garbage", NVJITLINK_ERROR_NVVM_COMPILE,
                 "rebuild with PTX");
    refuse_input(NVJITLINK_INPUT_INDEX, kernel_ptx, NVJITLINK_ERROR_INCORRECT_INPUT_TYPE,
                 "NVJITLINK_INPUT_INDEX is not supported");
    refuse_input((nvJitLinkInputType)9, kernel_ptx, NVJITLINK_ERROR_INCORRECT_INPUT_TYPE,
                 "unsupported input type 9");
    eq_u64(nvJitLinkAddData(link, NVJITLINK_INPUT_PTX, NULL, 3, "n"), NVJITLINK_ERROR_INVALID_INPUT,
           "no data");
    eq_u64(nvJitLinkAddData(link, NVJITLINK_INPUT_PTX, "", 0, "n"), NVJITLINK_ERROR_INVALID_INPUT,
           "empty data");
    error_has(link, "n: the input is empty");
    const char *missing = tap_missing_path();
    eq_u64(nvJitLinkAddFile(link, NVJITLINK_INPUT_PTX, missing), NVJITLINK_ERROR_INVALID_INPUT,
           "no file");
    error_has(link, missing);
    destroy(link);
}

static void test_file(void)
{
    nvJitLinkHandle link = create_90();
    char path[] = "/tmp/heddle-nvjitlink-XXXXXX";
    int fd = mkstemp(path);

    ok(fd >= 0 && write(fd, kernel_ptx, strlen(kernel_ptx)) > 0, "a file");
    close(fd);
    eq_u64(nvJitLinkAddFile(link, NVJITLINK_INPUT_PTX, path), 0, "file");
    eq_u64(nvJitLinkComplete(link), 0, "complete");
    unlink(path);
    destroy(link);
}

static void test_nothing(void)
{
    nvJitLinkHandle link = create_90();
    size_t size = 0;

    eq_u64(nvJitLinkComplete(link), 0, "without inputs");
    eq_u64(nvJitLinkGetLinkedCubinSize(link, &size), 0, "there is an image");
    ok(size > 0, "of %zu bytes", size);
    destroy(link);
}

static void test_symbols(void)
{
    nvJitLinkHandle link = create_90();

    eq_u64(add(link, NVJITLINK_INPUT_PTX, main_ptx, "main.ptx"), 0, "PTX that calls");
    eq_u64(nvJitLinkComplete(link), NVJITLINK_ERROR_INTERNAL, "undefined");
    error_has(link, "Undefined reference to 'twice' in 'main.ptx'");
    eq_u64(add(link, NVJITLINK_INPUT_PTX, other_ptx, "other.ptx"), 0, "what was missing");
    eq_u64(nvJitLinkComplete(link), 0, "complete");
    destroy(link);
    link = create_90();
    eq_u64(add(link, NVJITLINK_INPUT_PTX, other_ptx, "a.ptx"), 0, "a definition");
    eq_u64(add(link, NVJITLINK_INPUT_PTX, other_ptx, "b.ptx"), 0, "another one");
    eq_u64(nvJitLinkComplete(link), NVJITLINK_ERROR_INTERNAL, "defined twice");
    error_has(link, "second definition of function twice, the first is in a.ptx");
    destroy(link);
}

static void test_null(void)
{
    nvJitLinkHandle none = NULL, link = create_90();
    char byte;
    size_t size;

    eq_u64(nvJitLinkCreate(NULL, 0, NULL), NVJITLINK_ERROR_NULL_INPUT, "create");
    eq_u64(nvJitLinkCreate(&none, 1, NULL), NVJITLINK_ERROR_NULL_INPUT, "options");
    eq_u64(nvJitLinkDestroy(NULL), NVJITLINK_ERROR_NULL_INPUT, "destroy");
    eq_u64(nvJitLinkDestroy(&none), NVJITLINK_ERROR_NULL_INPUT, "destroy nothing");
    eq_u64(add(NULL, NVJITLINK_INPUT_PTX, kernel_ptx, "k"), NVJITLINK_ERROR_NULL_INPUT, "add");
    eq_u64(nvJitLinkAddFile(link, NVJITLINK_INPUT_PTX, NULL), NVJITLINK_ERROR_NULL_INPUT, "file");
    eq_u64(nvJitLinkComplete(NULL), NVJITLINK_ERROR_NULL_INPUT, "complete");
    nvJitLinkResult (*const sizes[])(nvJitLinkHandle, size_t *) = {
        nvJitLinkGetLinkedCubinSize, nvJitLinkGetLinkedPtxSize, nvJitLinkGetLinkedLTOIRSize,
        nvJitLinkGetErrorLogSize, nvJitLinkGetInfoLogSize};
    for (size_t i = 0; i < HD_COUNT_OF(sizes); i++) {
        eq_u64(sizes[i](NULL, &size), NVJITLINK_ERROR_NULL_INPUT, "size %zu of nothing", i);
        eq_u64(sizes[i](link, NULL), NVJITLINK_ERROR_NULL_INPUT, "size %zu to nowhere", i);
    }
    nvJitLinkResult (*const texts[])(nvJitLinkHandle, char *) = {
        nvJitLinkGetLinkedPtx, nvJitLinkGetErrorLog, nvJitLinkGetInfoLog};
    for (size_t i = 0; i < HD_COUNT_OF(texts); i++) {
        eq_u64(texts[i](NULL, &byte), NVJITLINK_ERROR_NULL_INPUT, "text %zu of nothing", i);
        eq_u64(texts[i](link, NULL), NVJITLINK_ERROR_NULL_INPUT, "text %zu to nowhere", i);
    }
    eq_u64(nvJitLinkGetLinkedCubin(NULL, &byte), NVJITLINK_ERROR_NULL_INPUT, "cubin");
    destroy(link);
}

/* Both releases, under all their names. */
static void test_names(void)
{
    typedef nvJitLinkResult version_fn(unsigned *, unsigned *);
    static const char *const names[] = {"__nvJitLinkCreate_12_0", "__nvJitLinkGetLinkedPtx_12_9",
                                        "__nvJitLinkComplete_13_0", "__nvJitLinkAddData_13_5",
                                        "nvJitLinkGetLinkedLTOIRSize"};
    static const struct {
        const char *node;
        unsigned major;
    } nodes[] = {{"libnvJitLink.so.12", 12}, {"libnvJitLink.so.13", 13}};

    for (size_t i = 0; i < HD_COUNT_OF(names); i++)
        ok(dlsym(RTLD_DEFAULT, names[i]) != NULL, "%s", names[i]);
    for (size_t i = 0; i < HD_COUNT_OF(nodes); i++) {
        unsigned major = 0, minor = 99;
        version_fn *version = dlvsym(RTLD_DEFAULT, "nvJitLinkVersion", nodes[i].node);

        ok(version && version(&major, &minor) == NVJITLINK_SUCCESS, "version of %s", nodes[i].node);
        eq_u64(major, nodes[i].major, "its number");
        ok(version && version(NULL, &minor) == NVJITLINK_ERROR_NULL_INPUT, "which goes somewhere");
    }
}

/* Whatever the bytes are, there is a result; what is accepted is linked without a crash. */
static void test_damaged(const void *bytes, size_t size_B, const char *what)
{
    char *copy = malloc(size_B);
    unsigned refused = 0;
    uint64_t seed = tap_seed();

    for (unsigned round = 0; round < 300; round++) {
        nvJitLinkHandle link = NULL;
        const char *options[] = {"-arch=sm_90", "-lto"};

        memcpy(copy, bytes, size_B);
        for (unsigned n = 0; n <= round % 4; n++)
            copy[tap_random(&seed) % size_B] = (char)tap_random(&seed);
        size_t cut_B = round % 3 ? size_B : 1 + tap_random(&seed) % size_B;
        if (nvJitLinkCreate(&link, 2, options) != NVJITLINK_SUCCESS)
            break;
        for (int type = 0; type <= NVJITLINK_INPUT_ANY; type++)
            refused += nvJitLinkAddData(link, (nvJitLinkInputType)type, copy, cut_B, what) != 0;
        (void)nvJitLinkComplete(link);
        nvJitLinkDestroy(&link);
    }
    ok(refused >= 300, "%s: damaged inputs are refused (%u)", what, refused);
    free(copy);
}

int main(void)
{
    CUcontext ctx;
    size_t cubin_B = 0;

    cuInit(0);
    eq_u64(cuCtxCreate_v2(&ctx, 0, 0), CUDA_SUCCESS, "context");
    void *cubin = test_link(&cubin_B);
    test_ltoir();
    test_again(cubin, cubin_B);
    test_ptx(kernel_ptx);
    test_ptx_of_many(cubin, cubin_B);
    test_options();
    test_inputs();
    test_file();
    test_nothing();
    test_symbols();
    test_null();
    test_names();
    test_damaged(cubin, cubin_B, "cubin");
    test_damaged(main_ptx, sizeof(main_ptx), "PTX");
    free(cubin);
    return done();
}
