/* Libraries, which belong to no context: kernels, variables, managed variables. */
#include "check.h"

static const int N = 64;

static const char managed_ptx[] = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .global .attribute(.managed) .align 4 .u32 shared_word = 5;
.visible .global .align 8 .b8 buffer[24];
.visible .entry bump()
{
    .reg .b32 %a;
    ld.global.u32 %a, [shared_word];
    add.s32 %a, %a, 1;
    st.global.u32 [shared_word], %a;
    ret;
}
)";

/* The driver's calls. */
static void driver(void)
{
    CUlibrary library = NULL, of = NULL;
    CUkernel kernel = NULL, list[4] = {};
    CUfunction function = NULL;
    CUmodule module = NULL;
    CUdeviceptr step = 0, out = 0;
    const char *name = NULL;
    unsigned int count = 0;
    size_t size_B = 0, offset = 99;
    int words[N], value = 0, n = N, first = 3;
    CUdevice device = 0;

    OK(cuLibraryLoadData(&library, module_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernelCount(&count, library));
    EQ(count, 2);
    OK(cuLibraryEnumerateKernels(list, 2, library));
    OK(cuLibraryGetKernel(&kernel, library, "fill"));
    TRUE(list[0] == kernel || list[1] == kernel);
    FAILS(cuLibraryGetKernel(&kernel, library, "missing"), CUDA_ERROR_NOT_FOUND);
    OK(cuLibraryGetKernel(&kernel, library, "fill"));
    OK(cuKernelGetName(&name, kernel));
    TRUE(!strcmp(name, "fill"));
    OK(cuKernelGetLibrary(&of, kernel));
    TRUE(of == library);
    OK(cuKernelGetFunction(&function, kernel));
    OK(cuLibraryGetModule(&module, library));
    CUfunction same = NULL;
    OK(cuModuleGetFunction(&same, module, "fill"));
    TRUE(same == function);
    OK(cuKernelGetParamInfo(kernel, 1, &offset, &size_B));
    EQ(offset, 8);
    EQ(size_B, 4);
    FAILS(cuKernelGetParamInfo(kernel, 3, &offset, &size_B), CUDA_ERROR_INVALID_VALUE);
    OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, device));
    TRUE(value >= 32);
    OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024, kernel, device));
    OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel,
                            device));
    EQ(value, 1024);
    OK(cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1, device));
    FAILS(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 99),
          CUDA_ERROR_INVALID_DEVICE);

    /* A kernel is launched like a function. */
    OK(cuMemAlloc(&out, sizeof(words)));
    void *params[] = {&out, &n, &first};
    OK(cuLaunchKernel((CUfunction)kernel, 2, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH(words, out, sizeof(words)));
    EQ(check_wrong(words, N, 3, 1), 0);
    OK(cuLibraryGetGlobal(&step, &size_B, library, "step"));
    EQ(size_B, 4);
    OK(cuMemsetD32(step, 2, 1));
    OK(cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH(words, out, sizeof(words)));
    EQ(check_wrong(words, N, 3, 2), 0);
    OK(cuMemFree(out));
    FAILS(cuLibraryGetGlobal(&step, &size_B, library, "missing"), CUDA_ERROR_NOT_FOUND);
    FAILS(cuLibraryGetManaged(&step, &size_B, library, "step"), CUDA_ERROR_NOT_FOUND);
    void *address = NULL;
    FAILS(cuLibraryGetUnifiedFunction(&address, library, "fill"), CUDA_ERROR_NOT_FOUND);
    OK(cuLibraryUnload(library));
    FAILS(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuLibraryGetKernel(&kernel, library, "fill"), CUDA_ERROR_INVALID_HANDLE);
}

static void managed(void)
{
    CUlibrary library = NULL;
    CUkernel bump = NULL;
    CUdeviceptr word = 0;
    size_t size_B = 0;
    CUlibraryOption options[] = {CU_LIBRARY_BINARY_IS_PRESERVED};

    OK(cuLibraryLoadData(&library, managed_ptx, NULL, NULL, 0, options, NULL, 1));
    OK(cuLibraryGetManaged(&word, &size_B, library, "shared_word"));
    EQ(size_B, 4);
    volatile int *shared = (volatile int *)word;
    EQ(*shared, 5);
    *shared = 40;
    OK(cuLibraryGetKernel(&bump, library, "bump"));
    OK(cuLaunchKernel((CUfunction)bump, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    EQ(*shared, 41);
    OK(cuLibraryUnload(library));
}

/* The runtime's. */
static void runtime(void)
{
    cudaLibrary_t library = NULL;
    cudaKernel_t kernel = NULL, list[2] = {};
    unsigned int count = 0;
    void *step = NULL;
    size_t size_B = 0;
    int words[N], n = N, first = 9, *out = NULL;

    OK(cudaLibraryLoadData(&library, module_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernelCount(&count, library));
    EQ(count, 2);
    OK(cudaLibraryEnumerateKernels(list, 2, library));
    TRUE(list[0] && list[1]);
    OK(cudaLibraryGetKernel(&kernel, library, "fill"));
    OK(cudaLibraryGetGlobal(&step, &size_B, library, "step"));
    EQ(size_B, 4);
    OK(cudaMalloc(&out, sizeof(words)));
    void *params[] = {&out, &n, &first};
    OK(cudaLaunchKernel((const void *)kernel, dim3(2), dim3(32), params, 0, 0));
    OK(cudaMemcpy(words, out, sizeof(words), cudaMemcpyDeviceToHost));
    EQ(check_wrong(words, N, 9, 1), 0);
    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, (const void *)kernel));
    TRUE(attributes.maxThreadsPerBlock >= 32);
    OK(cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 2048,
                                       0));
    OK(cudaFuncGetAttributes(&attributes, (const void *)kernel));
    EQ(attributes.maxDynamicSharedSizeBytes, 2048);
    FAILS(cudaLibraryGetKernel(&kernel, library, "missing"), cudaErrorSymbolNotFound);
    FAILS(cudaLibraryGetGlobal(&step, &size_B, library, "missing"), cudaErrorSymbolNotFound);
    OK(cudaLibraryUnload(library));
    FAILS(cudaLibraryUnload(library), cudaErrorInvalidResourceHandle);
    OK(cudaFree(out));

    OK(cudaLibraryLoadData(&library, managed_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetManaged(&step, &size_B, library, "shared_word"));
    EQ(*(int *)step, 5);
    OK(cudaLibraryUnload(library));
}

static void wrong(void)
{
    CUlibrary library = NULL;
    char error[2048] = "";
    CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {error, (void *)sizeof(error)};

    FAILS(cuLibraryLoadData(NULL, module_ptx, NULL, NULL, 0, NULL, NULL, 0),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuLibraryLoadData(&library, NULL, NULL, NULL, 0, NULL, NULL, 0),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuLibraryLoadData(&library, ".version 7.0\n.target sm_75\nnonsense", names, values, 2,
                            NULL, NULL, 0),
          CUDA_ERROR_INVALID_PTX);
    TRUE(strlen(error) > 0);
    FAILS(cuLibraryLoadFromFile(&library, "/nowhere/library.fatbin", NULL, NULL, 0, NULL, NULL, 0),
          CUDA_ERROR_FILE_NOT_FOUND);

    char path[] = "/tmp/heddle-library-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    fputs(module_ptx, file);
    fclose(file);
    OK(cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryUnload(library));
    cudaLibrary_t other = NULL;
    OK(cudaLibraryLoadFromFile(&other, path, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryUnload(other));
    remove(path);
}

int main(void)
{
    CUlibrary early = NULL;

    OK(cuInit(0)); /* a library needs no context */
    OK(cuLibraryLoadData(&early, module_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaFree(0));
    OK(cuLibraryUnload(early));
    driver();
    managed();
    runtime();
    wrong();
    return finish();
}
