/* Modules from PTX: functions and their attributes, globals, options and logs of the compiler. */
#include "check.h"

static const int N = 100;

static void launch(CUfunction fill, CUdeviceptr out, int value)
{
    int n = N;
    void *params[] = {&out, &n, &value};

    OK(cuLaunchKernel(fill, 1, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
    OK(cuCtxSynchronize());
}

static void functions(CUmodule module)
{
    CUfunction fill = NULL, sum = NULL, list[4] = {};
    CUmodule of = NULL;
    CUfunctionLoadingState state;
    const char *name = NULL;
    unsigned int count = 0;
    int value = 0, words[N];
    CUdeviceptr out = 0, step = 0, table = 0;
    size_t size_B = 0;

    OK(cuModuleGetFunction(&fill, module, "fill"));
    OK(cuModuleGetFunction(&sum, module, "sum_table"));
    FAILS(cuModuleGetFunction(&fill, module, "missing"), CUDA_ERROR_NOT_FOUND);
    FAILS(cuModuleGetFunction(NULL, module, "fill"), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuModuleGetFunction(&fill, module, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuModuleGetFunction(&fill, module, "fill"));
    OK(cuModuleGetFunctionCount(&count, module));
    EQ(count, 2);
    OK(cuModuleEnumerateFunctions(list, 2, module));
    TRUE((list[0] == fill && list[1] == sum) || (list[0] == sum && list[1] == fill));
    OK(cuFuncGetName(&name, fill));
    TRUE(!strcmp(name, "fill"));
    OK(cuFuncGetModule(&of, fill));
    TRUE(of == module);
    OK(cuFuncLoad(fill));
    OK(cuFuncIsLoaded(&state, fill));
    EQ(state, CU_FUNCTION_LOADING_STATE_LOADED);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, fill));
    TRUE(value >= 128 && value <= 1024);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, fill));
    EQ(value, 0);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, fill));
    TRUE(value >= 10);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, fill));
    TRUE(value > 0);
    FAILS(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX, fill), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuFuncSetAttribute(fill, CU_FUNC_ATTRIBUTE_NUM_REGS, 4), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuFuncSetAttribute(fill, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 26),
          CUDA_ERROR_INVALID_VALUE);

    OK(cuMemAlloc(&out, sizeof(words)));
    launch(fill, out, 7);
    OK(cuMemcpyDtoH(words, out, sizeof(words)));
    EQ(check_wrong(words, N, 7, 1), 0);

    /* What the host writes into a variable is what kernels read. */
    OK(cuModuleGetGlobal(&step, &size_B, module, "step"));
    EQ(size_B, 4);
    OK(cuMemcpyDtoH(&value, step, 4));
    EQ(value, 1);
    value = -3;
    OK(cuMemcpyHtoD(step, &value, 4));
    launch(fill, out, 7);
    OK(cuMemcpyDtoH(words, out, sizeof(words)));
    EQ(check_wrong(words, N, 7, -3), 0);
    OK(cuModuleGetGlobal(&table, NULL, module, "table"));
    OK(cuModuleGetGlobal(NULL, &size_B, module, "table"));
    EQ(size_B, 16);
    value = 10;
    OK(cuMemcpyHtoD(table + 4, &value, 4));
    void *params[] = {&out};
    OK(cuLaunchKernel(sum, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH(&value, out, 4));
    EQ(value, 1 + 10 + 3 + 4);
    FAILS(cuModuleGetGlobal(&table, NULL, module, "nowhere"), CUDA_ERROR_NOT_FOUND);
    OK(cuMemFree(out));
}

/* Parameters as one buffer instead of one pointer each. */
static void extra(CUmodule module)
{
    CUfunction fill = NULL;
    CUdeviceptr out = 0;
    struct {
        CUdeviceptr out;
        int n, value;
    } buffer = {0, N, 50};
    size_t size_B = sizeof(buffer);
    int words[N];
    void *list[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size_B,
                    CU_LAUNCH_PARAM_END};

    OK(cuModuleGetFunction(&fill, module, "fill"));
    OK(cuMemAlloc(&out, sizeof(words)));
    buffer.out = out;
    OK(cuLaunchKernel(fill, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, list));
    OK(cuMemcpyDtoH(words, out, sizeof(words)));
    EQ(check_wrong(words, N, 50, -3), 0); /* the step that functions() left */
    void *both[] = {&out};
    FAILS(cuLaunchKernel(fill, 4, 1, 1, 32, 1, 1, 0, NULL, both, list), CUDA_ERROR_INVALID_VALUE);
    size_B = 12; /* a parameter is missing */
    FAILS(cuLaunchKernel(fill, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, list), CUDA_ERROR_INVALID_VALUE);
    buffer.value = 51;
    size_B = 13; /* the end of one, which is 0 */
    OK(cuLaunchKernel(fill, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, list));
    OK(cuMemcpyDtoH(words, out, sizeof(words)));
    EQ(check_wrong(words, N, 51, -3), 0);
    OK(cuMemFree(out));
}

static void options(void)
{
    char info[4096] = "x", error[4096] = "x";
    CUmodule module = NULL;
    float wall_ms = -1;
    CUjit_option names[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_LOG_VERBOSE, CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_WALL_TIME};
    void *values[] = {info, (void *)sizeof(info), error, (void *)sizeof(error), (void *)1,
                      (void *)4, NULL};

    OK(cuModuleLoadDataEx(&module, module_ptx, 7, names, values));
    memcpy(&wall_ms, &values[6], sizeof(wall_ms)); /* written over the value itself */
    TRUE(wall_ms >= 0);
    EQ(strlen(error), 0);
    OK(cuModuleUnload(module));

    values[1] = (void *)sizeof(info);
    values[3] = (void *)sizeof(error);
    FAILS(cuModuleLoadDataEx(&module, ".version 7.0\n.target sm_75\nwhat is it", 6, names, values),
          CUDA_ERROR_INVALID_PTX);
    TRUE(strlen(error) > 0);
    TRUE((size_t)values[3] > 0 && (size_t)values[3] <= sizeof(error)); /* how much was written */
    FAILS(cuModuleLoadData(&module, "this is no image"), CUDA_ERROR_INVALID_IMAGE);
    FAILS(cuModuleLoadData(&module, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuModuleLoadData(NULL, module_ptx), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuModuleLoad(&module, "/nowhere/module.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
    CUjit_option bad[] = {CU_JIT_NUM_OPTIONS};
    FAILS(cuModuleLoadDataEx(&module, module_ptx, 1, bad, values), CUDA_ERROR_INVALID_VALUE);
    CUmoduleLoadingMode mode;
    OK(cuModuleGetLoadingMode(&mode));
    TRUE(mode == CU_MODULE_EAGER_LOADING || mode == CU_MODULE_LAZY_LOADING);
}

int main(void)
{
    CUmodule module = NULL, twin = NULL;
    CUdeviceptr a = 0, b = 0;

    OK(cudaFree(0)); /* the primary context */
    OK(cuModuleLoadData(&module, module_ptx));
    OK(cuModuleLoadData(&twin, module_ptx));
    OK(cuModuleGetGlobal(&a, NULL, module, "step"));
    OK(cuModuleGetGlobal(&b, NULL, twin, "step"));
    TRUE(a != b); /* each module has its variables */
    OK(cuModuleUnload(twin));
    FAILS(cuModuleUnload(twin), CUDA_ERROR_INVALID_HANDLE);
    functions(module);
    extra(module);
    options();
    OK(cuModuleUnload(module));
    return finish();
}
