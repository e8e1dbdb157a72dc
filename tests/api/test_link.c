/*
 * cuLink*: modules linked by the driver and loaded again, with what relocatable code needs: symbols
 * of the same name in several modules, weak and common definitions, tables of functions, externs.
 * What goes wrong is in the log, with the name and the module.
 */
#include "api/driver/cuda_abi.h"
#include "tap.h"

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)
#define HEAD               ".version 8.0\n.target sm_80\n.address_size 64\n"

/* Each writes one word of `out`: results of the other module's functions and variables. */
static const char main_ptx[] =
    HEAD ".extern .func (.param .b32 r) twice (.param .b32 x);\n"
         ".extern .func (.param .b32 r) hidden_of_b ();\n"
         ".extern .global .align 4 .u32 counter;\n"
         ".extern .const .align 4 .b8 words[];\n"
         ".extern .global .align 8 .u64 table[2];\n"
         ".extern .shared .align 4 .b8 pool[];\n"
         ".common .global .align 4 .b8 room[8];\n"
         ".weak .global .align 4 .u32 setting = 1;\n"
         ".global .align 4 .u32 own = 10;\n"
         ".func (.param .b32 r) local_name () { st.param.b32 [r], 100; ret; }\n"
         ".weak .func (.param .b32 r) merged () { st.param.b32 [r], 7; ret; }\n"
         ".visible .entry run(.param .u64 out)\n"
         "{\n"
         "  .reg .b32 v<12>; .reg .b64 o, f, t;\n"
         "  ld.param.u64 o, [out];\n"
         "  { .param .b32 a; .param .b32 r; st.param.b32 [a], 21;\n"
         "    call (r), twice, (a); ld.param.b32 v0, [r]; }\n"
         "  st.global.u32 [o], v0;\n"
         "  ld.global.u32 v1, [counter]; st.global.u32 [o+4], v1;\n"
         "  ld.const.u32 v2, [words+4]; st.global.u32 [o+8], v2;\n"
         "  ld.global.u64 f, [table+8];\n"
         "  { .param .b32 a; .param .b32 r; st.param.b32 [a], 5;\n"
         "    P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
         "    call (r), f, (a), P; ld.param.b32 v3, [r]; }\n"
         "  st.global.u32 [o+12], v3;\n"
         "  { .param .b32 r; call (r), local_name; ld.param.b32 v4, [r]; }\n"
         "  { .param .b32 r; call (r), hidden_of_b; ld.param.b32 v5, [r]; }\n"
         "  st.global.u32 [o+16], v4; st.global.u32 [o+20], v5;\n"
         "  { .param .b32 r; call (r), merged; ld.param.b32 v6, [r]; }\n"
         "  st.global.u32 [o+24], v6;\n"
         "  ld.global.u32 v7, [setting]; st.global.u32 [o+28], v7;\n"
         "  st.shared.u32 [pool], 55; ld.shared.u32 v8, [pool]; st.global.u32 [o+32], v8;\n"
         "  ld.global.u32 v9, [own]; st.global.u32 [o+36], v9;\n"
         "  ret;\n"
         "}\n";

static const char other_ptx[] = HEAD
    ".visible .global .align 4 .u32 counter = 33;\n"
    ".visible .const .align 4 .b32 words[3] = {11, 22, 44};\n"
    ".common .global .align 4 .b8 room[64];\n"
    ".visible .global .align 4 .u32 setting = 2;\n"
    ".global .align 4 .u32 own = 20;\n"
    ".func (.param .b32 r) local_name () { .reg .b32 v; ld.global.u32 v, [own];\n"
    "  add.u32 v, v, 200; st.param.b32 [r], v; ret; }\n"
    ".visible .func (.param .b32 r) hidden_of_b () { .reg .b32 v;\n"
    "  { .param .b32 q; call (q), local_name; ld.param.b32 v, [q]; } st.param.b32 [r], v; ret; }\n"
    ".weak .func (.param .b32 r) merged () { st.param.b32 [r], 8; ret; }\n"
    ".visible .func (.param .b32 r) twice (.param .b32 x) { .reg .b32 v;\n"
    "  ld.param.b32 v, [x]; add.u32 v, v, v; st.param.b32 [r], v; ret; }\n"
    ".visible .func (.param .b32 r) square (.param .b32 x) { .reg .b32 v;\n"
    "  ld.param.b32 v, [x]; mul.lo.u32 v, v, v; st.param.b32 [r], v; ret; }\n"
    ".visible .global .align 8 .u64 table[2] = {twice, square};\n";

static const uint32_t want[] = {42, 33, 22, 25, 100, 220, 7, 2, 55, 10};

static CUresult add(CUlinkState link, CUjitInputType type, const void *bytes, size_t size_B,
                    const char *name)
{
    return cuLinkAddData_v2(link, type, (void *)(uintptr_t)bytes, size_B, name, 0, NULL, NULL);
}

static CUresult add_ptx(CUlinkState link, const char *text, const char *name)
{
    return add(link, CU_JIT_INPUT_PTX, text, strlen(text) + 1, name);
}

static CUlinkState linked(const char *a, const char *b, void **out_image, size_t *out_B)
{
    CUlinkState link = NULL;

    success(cuLinkCreate_v2(0, NULL, NULL, &link), "link");
    success(add_ptx(link, a, "a.ptx"), "first module");
    success(add_ptx(link, b, "b.ptx"), "second module");
    success(cuLinkComplete(link, out_image, out_B), "complete");
    return link;
}

static void run(CUfunction func, const char *how)
{
    uint32_t got[HD_COUNT_OF(want)] = {0};
    CUdeviceptr out;
    void *params[] = {&out};

    success(cuMemAlloc_v2(&out, sizeof(got)), "alloc");
    success(cuLaunchKernel(func, 1, 1, 1, 1, 1, 1, 16, NULL, params, NULL), "%s: launch", how);
    success(cuMemcpyDtoH_v2(got, out, sizeof(got)), "%s: results", how);
    for (size_t i = 0; i < HD_COUNT_OF(want); i++)
        eq_u64(got[i], want[i], "%s: result %zu", how, i);
    success(cuMemFree_v2(out), "free");
}

static void run_module(const void *image, const char *how)
{
    CUmodule module;
    CUfunction func;
    CUdeviceptr room;
    size_t room_B = 0;

    if (!success(cuModuleLoadData(&module, image), "%s: load", how))
        return;
    success(cuModuleGetFunction(&func, module, "run"), "%s: function", how);
    success(cuModuleGetGlobal_v2(&room, &room_B, module, "room"), "%s: variable", how);
    eq_u64(room_B, 64, "%s: the larger of two common definitions", how);
    run(func, how);
    success(cuModuleUnload(module), "%s: unload", how);
}

static void run_library(const void *image)
{
    CUlibrary library;
    CUkernel kernel;
    CUfunction func;

    success(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0), "library");
    success(cuLibraryGetKernel(&kernel, library, "run"), "kernel");
    success(cuKernelGetFunction(&func, kernel), "function");
    run(func, "library");
    success(cuLibraryUnload(library), "unload");
}

static void test_linked(void)
{
    size_t size_B = 0, again_B = 0;
    void *image, *again, *copy;
    CUlinkState link, second;

    link = linked(main_ptx, other_ptx, &image, &size_B);
    ok(size_B > sizeof(main_ptx) && !memcmp(image, "\177ELF", 4), "an ELF image");
    success(cuLinkComplete(link, &again, &again_B), "complete once more");
    ok(again == image && again_B == size_B, "gives the same image");
    eq_u64(add_ptx(link, other_ptx, "late"), CUDA_ERROR_INVALID_VALUE, "add to what is complete");
    copy = malloc(size_B);
    memcpy(copy, image, size_B);
    run_module(image, "module");
    run_library(image);
    success(cuLinkDestroy(link), "destroy");
    run_module(copy, "a copy");
    success(cuLinkCreate(0, NULL, NULL, &second), "link");
    success(add(second, CU_JIT_INPUT_CUBIN, copy, size_B, "linked"), "what was linked before");
    success(cuLinkComplete(second, &image, &size_B), "complete");
    run_module(image, "linked twice");
    success(cuLinkDestroy(second), "destroy");
    eq_u64(cuLinkDestroy(second), CUDA_ERROR_INVALID_HANDLE, "destroy again");
    free(copy);
}

/* ---- logs */

struct logs {
    CUjit_option options[5];
    void *values[5];
    char error[1024], info[64];
};

static void logs_init(struct logs *l)
{
    *l = (struct logs){
        .options = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                    CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_WALL_TIME},
        .values = {l->error, (void *)sizeof(l->error), l->info, (void *)sizeof(l->info), NULL},
    };
    memset(l->error, 'x', sizeof(l->error));
}

static void has_text(const struct logs *l, const char *text)
{
    ok(strstr(l->error, text) != NULL, "the log says %s", text);
    if (!strstr(l->error, text))
        printf("# %s\n", l->error);
}

static CUlinkState link_logged(struct logs *l)
{
    CUlinkState link = NULL;

    logs_init(l);
    success(cuLinkCreate_v2(5, l->options, l->values, &link), "link with logs");
    return link;
}

static void test_undefined(void)
{
    struct logs l;
    CUlinkState link = link_logged(&l);
    void *image;
    size_t size_B;
    float ms;

    success(add_ptx(link, main_ptx, "main.ptx"), "a module with externs");
    eq_u64((uintptr_t)l.values[1], 0, "nothing was logged");
    eq_u64(cuLinkComplete(link, &image, &size_B), CUDA_ERROR_INVALID_PTX, "undefined names");
    has_text(&l, "Undefined reference to 'twice' in 'main.ptx'");
    has_text(&l, "Undefined reference to 'counter' in 'main.ptx'");
    has_text(&l, "Undefined reference to 'hidden_of_b'");
    eq_u64((uintptr_t)l.values[1], strlen(l.error) + 1, "size of the error log");
    eq_u64((uintptr_t)l.values[3], 0, "size of the information log");
    memcpy(&ms, &l.values[4], sizeof(ms));
    ok(ms > 0, "it took %f ms", (double)ms);
    success(add_ptx(link, other_ptx, "other.ptx"), "what was missing");
    success(cuLinkComplete(link, &image, &size_B), "complete");
    eq_u64((uintptr_t)l.values[1], 0, "the log is empty again");
    run_module(image, "mended");
    success(cuLinkDestroy(link), "destroy");
}

static void test_twice_defined(void)
{
    static const struct {
        const char *a, *b, *says;
    } cases[] = {
        {HEAD ".visible .func f () { ret; }\n", HEAD "\n\n.visible .func f () { ret; }\n",
         "b.ptx:6:16: second definition of function f, the first is in a.ptx:4"},
        {HEAD ".visible .global .u32 v = 1;\n", HEAD ".visible .global .u32 v = 2;\n",
         "second definition of variable v"},
        {HEAD ".visible .global .u32 v = 1;\n", HEAD ".visible .const .u32 v = 2;\n",
         "declared before in another state space: v"},
        {HEAD ".visible .global .u32 v = 1;\n", HEAD ".visible .func v () { ret; }\n",
         "declared before as a variable: v"},
    };

    for (size_t i = 0; i < HD_COUNT_OF(cases); i++) {
        struct logs l;
        CUlinkState link = link_logged(&l);
        void *image;
        size_t size_B;

        success(add_ptx(link, cases[i].a, "a.ptx"), "first");
        success(add_ptx(link, cases[i].b, "b.ptx"), "second");
        eq_u64(cuLinkComplete(link, &image, &size_B), CUDA_ERROR_INVALID_PTX, "refused");
        has_text(&l, cases[i].says);
        success(cuLinkDestroy(link), "destroy");
    }
}

static void test_bad_input(void)
{
    static const char bad[] = HEAD ".visible .entry k() { bogus.u32; ret; }\n";
    struct logs l;
    CUlinkState link = link_logged(&l);
    CUmodule module;
    void *image;
    size_t size_B;
    CUjit_option unknown = (CUjit_option)CU_JIT_NUM_OPTIONS, level = CU_JIT_OPTIMIZATION_LEVEL;
    void *value = (void *)5;

    eq_u64(cuLinkComplete(link, &image, &size_B), CUDA_ERROR_INVALID_VALUE, "nothing was added");
    eq_u64(add_ptx(link, bad, "bad.ptx"), CUDA_ERROR_INVALID_PTX, "an instruction nobody knows");
    has_text(&l, "bad.ptx:4:");
    eq_u64(add(link, CU_JIT_INPUT_PTX, "garbage", 8, "g"), CUDA_ERROR_INVALID_IMAGE, "no PTX");
    eq_u64(add(link, CU_JIT_INPUT_FATBINARY, bad, sizeof(bad), "g"), CUDA_ERROR_INVALID_VALUE,
           "PTX as a fat binary");
    eq_u64(add(link, CU_JIT_INPUT_LIBRARY, bad, sizeof(bad), "g"), CUDA_ERROR_INVALID_IMAGE,
           "PTX as an archive");
    eq_u64(add(link, CU_JIT_INPUT_NVVM, bad, sizeof(bad), "g"), CUDA_ERROR_NOT_SUPPORTED, "LTO-IR");
    eq_u64(add(link, (CUjitInputType)CU_JIT_NUM_INPUT_TYPES, bad, 8, "g"), CUDA_ERROR_INVALID_VALUE,
           "unknown kind");
    eq_u64(add(link, CU_JIT_INPUT_PTX, NULL, 8, "g"), CUDA_ERROR_INVALID_VALUE, "null");
    eq_u64(add(NULL, CU_JIT_INPUT_PTX, bad, 8, "g"), CUDA_ERROR_INVALID_HANDLE, "no link");
    eq_u64(cuLinkAddFile_v2(link, CU_JIT_INPUT_PTX, "/no/such.ptx", 0, NULL, NULL),
           CUDA_ERROR_FILE_NOT_FOUND, "no file");
    eq_u64(cuLinkAddFile(link, CU_JIT_INPUT_PTX, "/no/such.ptx", 0, NULL, NULL),
           CUDA_ERROR_FILE_NOT_FOUND, "nor in the first version");
    success(cuLinkDestroy(link), "destroy");
    eq_u64(cuLinkCreate_v2(1, &unknown, &value, &link), CUDA_ERROR_INVALID_VALUE, "no such option");
    eq_u64(cuLinkCreate_v2(1, &level, &value, &link), CUDA_ERROR_INVALID_VALUE, "level 5");
    eq_u64(cuLinkCreate_v2(1, &level, NULL, &link), CUDA_ERROR_INVALID_VALUE, "no values");
    logs_init(&l);
    eq_u64(cuModuleLoadDataEx(&module, bad, 5, l.options, l.values), CUDA_ERROR_INVALID_PTX,
           "load");
    has_text(&l, ":4:");
    eq_u64((uintptr_t)l.values[1], strlen(l.error) + 1, "its log's size");
}

/* ---- link-time optimisation */

/* What is used and what is not, in two modules; `dead` calls what only it needs. */
static const char lto_main[] =
    HEAD ".extern .func (.param .b32 r) live (.param .b32 x);\n"
         ".extern .func (.param .b32 r) dead_too (.param .b32 x);\n"
         ".extern .global .align 8 .u64 handlers[1];\n"
         ".visible .global .align 4 .u32 unnamed = 5;\n"
         ".visible .global .align 4 .u32 host_only = 6;\n"
         ".visible .func (.param .b32 r) dead (.param .b32 x)\n{ .reg .b32 v;\n"
         "  { .param .b32 a; .param .b32 q; st.param.b32 [a], 1; call (q), dead_too, (a);\n"
         "    ld.param.b32 v, [q]; } st.param.b32 [r], v; ret; }\n"
         ".visible .entry run_lto(.param .u64 out)\n{ .reg .b32 v<3>; .reg .b64 o, f;\n"
         "  ld.param.u64 o, [out];\n"
         "  { .param .b32 a; .param .b32 r; st.param.b32 [a], 20; call (r), live, (a);\n"
         "    ld.param.b32 v0, [r]; }\n"
         "  ld.global.u64 f, [handlers];\n"
         "  { .param .b32 a; .param .b32 r; st.param.b32 [a], v0;\n"
         "    P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
         "    call (r), f, (a), P; ld.param.b32 v1, [r]; }\n"
         "  st.global.u32 [o], v1; ret; }\n"
         ".visible .entry other_kernel() { ret; }\n";
static const char lto_other[] =
    HEAD ".global .align 4 .u32 base = 100;\n"
         ".func (.param .b32 r) by_address (.param .b32 x)\n{ .reg .b32 v; ld.param.b32 v, [x];\n"
         "  add.u32 v, v, 1; st.param.b32 [r], v; ret; }\n"
         ".visible .global .align 8 .u64 handlers[1] = {by_address};\n"
         ".visible .func (.param .b32 r) live (.param .b32 x)\n{ .reg .b32 v, w;\n"
         "  ld.param.b32 v, [x]; ld.global.u32 w, [base]; add.u32 v, v, w; st.param.b32 [r], v;\n"
         "  ret; }\n"
         ".visible .func (.param .b32 r) dead_too (.param .b32 x)\n{ .reg .b32 v;\n"
         "  ld.param.b32 v, [x]; add.u32 v, v, 9; st.param.b32 [r], v; ret; }\n";

static bool image_has(const void *image, size_t size_B, const char *text)
{
    return memmem(image, size_B, text, strlen(text)) != NULL;
}

/* The image of both, linked with these options; the link keeps it. */
static CUlinkState lto_link(unsigned count, CUjit_option *options, void **values, void **out_image,
                            size_t *out_B)
{
    CUlinkState link;

    success(cuLinkCreate_v2(count, options, values, &link), "create");
    success(add_ptx(link, lto_main, "main"), "main");
    success(add_ptx(link, lto_other, "other"), "other");
    success(cuLinkComplete(link, out_image, out_B), "complete");
    return link;
}

static void lto_run(const void *image)
{
    CUmodule module;
    CUfunction func;
    CUdeviceptr out;
    uint32_t got = 0;
    void *params[] = {&out};

    success(cuModuleLoadData(&module, image), "load");
    success(cuModuleGetFunction(&func, module, "run_lto"), "kernel");
    success(cuMemAlloc_v2(&out, sizeof(got)), "memory");
    success(cuLaunchKernel(func, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "launch");
    success(cuMemcpyDtoH_v2(&got, out, sizeof(got)), "result");
    eq_u64(got, 121, "calls, by name and by address, and initial values");
    success(cuMemFree_v2(out), "free");
    success(cuModuleUnload(module), "unload");
}

static void test_lto(void)
{
    char kernel[] = "n_lto", variable[] = "host*ly";
    char *kernels[] = {kernel}, *variables[] = {variable};
    CUjit_option options[] = {CU_JIT_LTO,
                              CU_JIT_OPTIMIZE_UNUSED_DEVICE_VARIABLES,
                              CU_JIT_REFERENCED_KERNEL_NAMES,
                              CU_JIT_REFERENCED_KERNEL_COUNT,
                              CU_JIT_REFERENCED_VARIABLE_NAMES,
                              CU_JIT_REFERENCED_VARIABLE_COUNT};
    void *values[] = {(void *)1, (void *)1, kernels, (void *)1, variables, (void *)1};
    size_t plain_B, lto_B, least_B;
    CUlinkState link;
    void *image;

    link = lto_link(0, NULL, NULL, &image, &plain_B);
    ok(image_has(image, plain_B, "dead_too") && image_has(image, plain_B, "unnamed"),
       "without LTO everything is there");
    lto_run(image);
    success(cuLinkDestroy(link), "destroy");

    link = lto_link(1, options, values, &image, &lto_B);
    ok(lto_B < plain_B, "with LTO the image is smaller: %zu of %zu bytes", lto_B, plain_B);
    ok(!image_has(image, lto_B, "dead"), "functions that no kernel reaches are gone");
    ok(image_has(image, lto_B, "by_address"), "those whose address is taken are not");
    ok(image_has(image, lto_B, "unnamed") && image_has(image, lto_B, "other_kernel"),
       "nor variables and kernels, which the host may use");
    lto_run(image);
    success(cuLinkDestroy(link), "destroy");

    link = lto_link(6, options, values, &image, &least_B);
    memset(kernel, 'x', sizeof(kernel) - 1);
    ok(!image_has(image, least_B, "other_kernel") && image_has(image, least_B, "run_lto"),
       "the kernels that are named");
    ok(!image_has(image, least_B, "unnamed") && image_has(image, least_B, "host_only") &&
           image_has(image, least_B, "base"),
       "the variables that are named or used");
    lto_run(image);
    success(cuLinkDestroy(link), "destroy");

    values[0] = NULL;
    link = lto_link(6, options, values, &image, &least_B);
    eq_u64(least_B, plain_B, "CU_JIT_LTO 0: the others mean nothing");
    success(cuLinkDestroy(link), "destroy");

    values[0] = (void *)1;
    memset(variable, 'x', sizeof(variable) - 1);
    success(cuLinkCreate_v2(6, options, values, &link), "names that are not there");
    success(add_ptx(link, lto_main, "main"), "main");
    success(add_ptx(link, lto_other, "other"), "other");
    eq_u64(cuLinkComplete(link, &image, &least_B), CUDA_ERROR_NOT_FOUND, "leaves nothing");
    success(cuLinkDestroy(link), "destroy");
    values[2] = NULL;
    eq_u64(cuLinkCreate_v2(6, options, values, &link), CUDA_ERROR_INVALID_VALUE, "no names");
    kernels[0] = NULL;
    values[2] = kernels;
    eq_u64(cuLinkCreate_v2(6, options, values, &link), CUDA_ERROR_INVALID_VALUE, "a null name");
}

int main(void)
{
    CUcontext ctx;

    success(cuInit(0), "init");
    success(cuDevicePrimaryCtxRetain(&ctx, 0), "context");
    success(cuCtxSetCurrent(ctx), "current");
    test_linked();
    test_undefined();
    test_twice_defined();
    test_bad_input();
    test_lto();
    success(cuDevicePrimaryCtxRelease_v2(0), "release");
    return done();
}
