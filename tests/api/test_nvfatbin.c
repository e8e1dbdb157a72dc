/* libnvfatbin: what it makes of every kind of input loads and runs; each result of the manual. */
#include "api/driver/cuda_abi.h"
#include "nvFatbin.h"
#include "nvJitLink.h"
#include "obj/fatbin.h"
#include "tap.h"

#define HEAD(sm) "// .version 1.0, .target sm_10\n.version 8.0\n.target " sm "\n.address_size 64\n"
#define STORES(value)                                                                              \
    ".visible .entry k(.param .u64 out)\n{\n  .reg .b64 o;\n"                                      \
    "  ld.param.u64 o, [out]; st.global.u32 [o], " value "; ret;\n}\n"

static const char old_ptx[] = HEAD("sm_75") STORES("75"), new_ptx[] = HEAD("sm_80") STORES("80");

static nvFatbinHandle create(size_t count, const char **options)
{
    nvFatbinHandle h = NULL;

    eq_u64(nvFatbinCreate(&h, options, count), 0, "create");
    return h;
}

static void *image_of(nvFatbinHandle h, size_t *size)
{
    eq_u64(nvFatbinSize(h, size), 0, "size");
    void *image = malloc(*size);
    eq_u64(nvFatbinGet(h, image), 0, "bytes");
    return image;
}

/* What the kernel of an image stores. */
static int run(const void *image)
{
    void *params[1];
    CUdeviceptr out;
    CUmodule module;
    CUfunction func;
    int value = -1;

    params[0] = &out;
    eq_u64(cuModuleLoadData(&module, image), 0, "load");
    eq_u64(cuModuleGetFunction(&func, module, "k"), 0, "function");
    cuMemAlloc_v2(&out, 4);
    eq_u64(cuLaunchKernel(func, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), 0, "launch");
    cuMemcpyDtoH_v2(&value, out, 4);
    cuMemFree_v2(out);
    cuModuleUnload(module);
    return value;
}

static nvFatbinResult add(nvFatbinHandle h, const char *ptx, const char *arch, const char *name)
{
    return nvFatbinAddPTX(h, ptx, strlen(ptx) + 1, arch, name, "-O3");
}

/* Of two architectures the device takes the newer; each way of compressing is read again. */
static void test_ptx(void)
{
    static const char *const modes[] = {"-compress=true", "-compress=false", "-compress-mode=speed",
                                        "-compress-mode=size", "-compress-mode=none"};

    for (size_t i = 0; i < HD_COUNT_OF(modes); i++) {
        const char *options[] = {modes[i], "-64", "-cuda", "-host=linux", "-g"};
        nvFatbinHandle h = create(5, options);
        struct obj_fatbin fatbin;
        struct obj_entry entry;
        size_t size, cursor_B = 0;

        eq_u64(add(h, old_ptx, "75", "old.cu"), 0, "PTX");
        eq_u64(add(h, new_ptx, "80", NULL), 0, "newer PTX");
        void *image = image_of(h, &size);
        eq_u64((unsigned)run(image), 80, "%s: its kernel runs", modes[i]);
        eq_u64(obj_fatbin_open(image, size, &fatbin), HD_OK, "a container");
        eq_u64(obj_fatbin_next(&fatbin, &cursor_B, &entry), HD_OK, "with an entry");
        ok(hd_str_is(entry.source, "old.cu") && hd_str_is(entry.options, "-O3"), "its names");
        eq_u64(entry.arch, 75, "architecture");
        eq_u64(entry.flags & OBJ_FLAG_DEBUG, OBJ_FLAG_DEBUG, "and flag");
        free(image);
        eq_u64(nvFatbinDestroy(&h), 0, "destroy");
        ok(!h, "the handle is cleared");
    }
}

static void *cubin_make(size_t *size)
{
    const char *options[] = {"-arch=sm_80"};
    nvJitLinkHandle link = NULL;

    nvJitLinkCreate(&link, 1, options);
    nvJitLinkAddData(link, NVJITLINK_INPUT_PTX, new_ptx, strlen(new_ptx), "new");
    eq_u64(nvJitLinkComplete(link), 0, "a linked image");
    nvJitLinkGetLinkedCubinSize(link, size);
    void *cubin = malloc(*size);
    nvJitLinkGetLinkedCubin(link, cubin);
    nvJitLinkDestroy(&link);
    return cubin;
}

static void test_linked(void)
{
    size_t cubin_B, size;
    void *cubin = cubin_make(&cubin_B);

    for (int lto = 0; lto < 2; lto++) {
        nvFatbinHandle h = create(0, NULL);
        eq_u64(nvFatbinAddCubin(h, cubin, cubin_B, "75", NULL), NVFATBIN_ERROR_ELF_ARCH_MISMATCH,
               "an image for sm_80");
        eq_u64(lto ? nvFatbinAddLTOIR(h, cubin, cubin_B, "80", "x", NULL)
                   : nvFatbinAddCubin(h, cubin, cubin_B, "80", "x"),
               0, "a linked image");
        void *image = image_of(h, &size);
        eq_u64((unsigned)run(image), 80, "runs");
        free(image);
        nvFatbinDestroy(&h);
    }
    free(cubin);
}

/* An object is what has containers in it, wherever they are. */
static void test_objects(void)
{
    nvFatbinHandle inner = create(0, NULL), h = create(0, NULL);
    size_t inner_B, size;

    add(inner, new_ptx, "80", "of.cu");
    void *container = image_of(inner, &inner_B);
    char *object = calloc(1, inner_B + 64);
    eq_u64(nvFatbinAddReloc(h, object, inner_B), NVFATBIN_ERROR_MISSING_FATBIN, "none is in it");
    memcpy(object + 24, container, inner_B);
    eq_u64(nvFatbinAddReloc(h, object, inner_B + 64), 0, "an object");
    eq_u64(nvFatbinAddReloc(h, object, inner_B + 64), NVFATBIN_ERROR_IDENTIFIER_REUSE, "again");
    void *image = image_of(h, &size);
    eq_u64((unsigned)run(image), 80, "runs");
    free(image);
    free(object);
    free(container);
    nvFatbinDestroy(&inner);
    nvFatbinDestroy(&h);
}

static void test_results(void)
{
    static const struct {
        const char *ptx, *arch;
        nvFatbinResult want;
    } cases[] = {
        {old_ptx, "80", NVFATBIN_ERROR_PTX_ARCH_MISMATCH},
        {old_ptx, "sm_75", NVFATBIN_ERROR_INVALID_ARCH},
        {old_ptx, "75b", NVFATBIN_ERROR_INVALID_ARCH},
        {old_ptx, "", NVFATBIN_ERROR_INVALID_ARCH},
        {old_ptx, NULL, NVFATBIN_ERROR_NULL_POINTER},
        {NULL, "75", NVFATBIN_ERROR_NULL_POINTER},
        {"/* .version 8.0 */ .target sm_75", "75", NVFATBIN_ERROR_MISSING_PTX_VERSION},
        {".version 8.0 // .target sm_75", "75", NVFATBIN_ERROR_MISSING_PTX_ARCH},
        {".version 8.0 /* .target sm_75", "75", NVFATBIN_ERROR_MISSING_PTX_ARCH},
    };
    nvFatbinHandle h = create(0, NULL), none = NULL;
    size_t size;

    for (size_t i = 0; i < HD_COUNT_OF(cases); i++)
        eq_u64(nvFatbinAddPTX(h, cases[i].ptx, cases[i].ptx ? strlen(cases[i].ptx) : 1,
                              cases[i].arch, NULL, NULL),
               cases[i].want, "%zu: %s", i, nvFatbinGetErrorString(cases[i].want));
    eq_u64(nvFatbinAddPTX(h, old_ptx, 0, "75", NULL, NULL), NVFATBIN_ERROR_EMPTY_INPUT, "empty");
    eq_u64(nvFatbinAddCubin(h, old_ptx, 8, "75", NULL), NVFATBIN_ERROR_INTERNAL, "no cubin");
    eq_u64(nvFatbinAddLTOIR(h, old_ptx, 8, "75", NULL, NULL), NVFATBIN_ERROR_INVALID_NVVM, "none");
    eq_u64(nvFatbinAddReloc(h, old_ptx, 0), NVFATBIN_ERROR_EMPTY_INPUT, "an empty object");
    eq_u64(nvFatbinGet(h, &size), NVFATBIN_ERROR_INTERNAL, "bytes before the size");
    eq_u64(nvFatbinSize(NULL, &size), NVFATBIN_ERROR_NULL_POINTER, "no handle");
    nvFatbinDestroy(&h);
    eq_u64(nvFatbinDestroy(&h), NVFATBIN_ERROR_NULL_POINTER, "twice");
    static const char *const bad[] = {"-32", "-opencl", "-host=windows", "-compress=maybe",
                                      "x",   ""};
    for (size_t i = 0; i < HD_COUNT_OF(bad); i++) {
        const char *options[] = {bad[i]};
        eq_u64(nvFatbinCreate(&none, options, 1), NVFATBIN_ERROR_UNRECOGNIZED_OPTION, "%s", bad[i]);
        ok(!none, "no handle");
    }
}

static void test_texts(void)
{
    unsigned major = 0, minor = 1;

    eq_u64(nvFatbinVersion(&major, &minor), 0, "version");
    ok(major == 13 && minor == 0, "of CUDA 13.0");
    eq_u64(nvFatbinVersion(NULL, &minor), NVFATBIN_ERROR_NULL_POINTER, "nowhere");
    ok(!nvFatbinGetErrorString(NVFATBIN_SUCCESS), "success has no text");
    for (int i = 1; i < 19; i++)
        ok(nvFatbinGetErrorString((nvFatbinResult)i) != NULL, "%d has one", i);
}

int main(void)
{
    CUcontext ctx;

    cuInit(0);
    eq_u64(cuCtxCreate_v2(&ctx, 0, 0), 0, "context");
    test_ptx();
    test_linked();
    test_objects();
    test_results();
    test_texts();
    cuCtxDestroy_v2(ctx);
    return done();
}
