/* Linking: PTX texts that need each other become one module. */
#include "check.h"

static const char caller_ptx[] = R"(
.version 7.0
.target sm_75
.address_size 64
.extern .func (.param .b32 result) twice(.param .b32 value);
.extern .global .align 4 .u32 offset;
.visible .entry run(.param .u64 run_out, .param .u32 run_value)
{
    .reg .b32 %v, %o;
    .reg .b64 %out;
    ld.param.u64 %out, [run_out];
    ld.param.u32 %v, [run_value];
    {
        .param .b32 in;
        .param .b32 back;
        st.param.b32 [in], %v;
        call (back), twice, (in);
        ld.param.b32 %v, [back];
    }
    ld.global.u32 %o, [offset];
    add.s32 %v, %v, %o;
    st.global.u32 [%out], %v;
    ret;
}
)";

static const char callee_ptx[] = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 offset = 100;
.visible .func (.param .b32 result) twice(.param .b32 value)
{
    .reg .b32 %v;
    ld.param.b32 %v, [value];
    add.s32 %v, %v, %v;
    st.param.b32 [result], %v;
    ret;
}
)";

static const char bad_ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\nnonsense";

static int run(CUmodule module, int value)
{
    CUfunction function = NULL;
    CUdeviceptr out = 0;
    int got = -1;

    OK(cuMemAlloc(&out, 4));
    OK(cuModuleGetFunction(&function, module, "run"));
    void *params[] = {&out, &value};
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH(&got, out, 4));
    OK(cuMemFree(out));
    return got;
}

static void add(CUlinkState state, const char *text, const char *name)
{
    OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)text, strlen(text) + 1, name, 0, NULL, NULL));
}

static void two_parts(void)
{
    CUlinkState state = NULL;
    CUmodule module = NULL, second = NULL;
    void *image = NULL;
    size_t size_B = 0;
    char info[1024] = "", error[1024] = "";
    CUjit_option names[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {info, (void *)sizeof(info), error, (void *)sizeof(error)};

    OK(cuLinkCreate(4, names, values, &state));
    add(state, caller_ptx, "caller.ptx");
    add(state, callee_ptx, "callee.ptx");
    OK(cuLinkComplete(state, &image, &size_B));
    TRUE(image && size_B > 0);
    OK(cuModuleLoadData(&module, image));
    OK(cuLinkDestroy(state)); /* the image goes with it; the module stays */
    EQ(run(module, 21), 142);

    CUdeviceptr offset = 0;
    int value = 1;
    OK(cuModuleGetGlobal(&offset, NULL, module, "offset"));
    OK(cuMemcpyHtoD(offset, &value, 4));
    EQ(run(module, 21), 43);
    OK(cuModuleUnload(module));

    /* The image is a module as any other: it can be copied, and loaded as a library. */
    OK(cuLinkCreate(0, NULL, NULL, &state));
    add(state, callee_ptx, "callee.ptx");
    add(state, caller_ptx, "caller.ptx");
    OK(cuLinkComplete(state, &image, &size_B));
    void *copy = malloc(size_B);
    memcpy(copy, image, size_B);
    OK(cuLinkDestroy(state));
    OK(cuModuleLoadData(&second, copy));
    EQ(run(second, 1), 102);
    OK(cuModuleUnload(second));
    CUlibrary library = NULL;
    unsigned int count = 0;
    OK(cuLibraryLoadData(&library, copy, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernelCount(&count, library));
    EQ(count, 1);
    OK(cuLibraryUnload(library));
    free(copy);
}

static void from_file(void)
{
    CUlinkState state = NULL;
    CUmodule module = NULL;
    void *image = NULL;
    char path[] = "/tmp/heddle-linking-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");

    fputs(callee_ptx, file);
    fclose(file);
    OK(cuLinkCreate(0, NULL, NULL, &state));
    add(state, caller_ptx, NULL);
    OK(cuLinkAddFile(state, CU_JIT_INPUT_PTX, path, 0, NULL, NULL));
    OK(cuLinkComplete(state, &image, NULL));
    OK(cuModuleLoadData(&module, image));
    EQ(run(module, 3), 106);
    OK(cuModuleUnload(module));
    OK(cuLinkDestroy(state));
    remove(path);
}

static void wrong(void)
{
    CUlinkState state = NULL;
    void *image = NULL;
    size_t size_B = 0;
    char error[1024] = "";
    CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {error, (void *)sizeof(error)};

    OK(cuLinkCreate(2, names, values, &state));
    add(state, caller_ptx, "caller.ptx"); /* and nobody who has `twice` */
    TRUE(cuLinkComplete(state, &image, &size_B) != CUDA_SUCCESS);
    TRUE(strstr(error, "twice") || strstr(error, "offset"));
    OK(cuLinkDestroy(state));

    OK(cuLinkCreate(0, NULL, NULL, &state));
    FAILS(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)bad_ptx, sizeof(bad_ptx), "bad", 0,
                        NULL, NULL),
          CUDA_ERROR_INVALID_PTX);
    FAILS(cuLinkAddData(state, CU_JIT_INPUT_PTX, NULL, 10, "bad", 0, NULL, NULL),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuLinkAddData(state, (CUjitInputType)99, (void *)callee_ptx, sizeof(callee_ptx), "bad",
                        0, NULL, NULL),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuLinkAddFile(state, CU_JIT_INPUT_PTX, "/nowhere/part.ptx", 0, NULL, NULL),
          CUDA_ERROR_FILE_NOT_FOUND);
    OK(cuLinkDestroy(state));
    FAILS(cuLinkCreate(0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);

    /* Two definitions of one thing. */
    OK(cuLinkCreate(0, NULL, NULL, &state));
    add(state, callee_ptx, "one.ptx");
    CUresult result = cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)callee_ptx,
                                    sizeof(callee_ptx), "two.ptx", 0, NULL, NULL);
    TRUE(result != CUDA_SUCCESS || cuLinkComplete(state, &image, &size_B) != CUDA_SUCCESS);
    OK(cuLinkDestroy(state));
}

int main(void)
{
    OK(cudaFree(0));
    two_parts();
    from_file();
    wrong();
    return finish();
}
