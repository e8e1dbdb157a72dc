/* Libraries and kernels: images without a context. */
#include "api/driver/driver.h"
#include "base/mem.h"

static bool is_preserved(const CUlibraryOption *options, void **values, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (options[i] == CU_LIBRARY_BINARY_IS_PRESERVED)
            return !values || !values[i] || *(const char *)values[i] != 0;
    return false;
}

HD_EXPORT CUresult cuLibraryLoadData(CUlibrary *library, const void *code,
                                     CUjit_option *jit_options, void **jit_values, unsigned njit,
                                     CUlibraryOption *options, void **values, unsigned count)
{
    API_CALL(cuLibraryLoadData);
    API_CHECK(library && code);
    API_CHECK(!count || options);
    (void)jit_options, (void)jit_values, (void)njit;
    return drv_result(core_library_create(code, SIZE_MAX, is_preserved(options, values, count),
                                          (struct core_library **)library));
}

HD_EXPORT CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path,
                                         CUjit_option *jit_options, void **jit_values,
                                         unsigned njit, CUlibraryOption *options, void **values,
                                         unsigned count)
{
    char *bytes;
    size_t size_B;
    CUresult result;

    API_CALL(cuLibraryLoadFromFile);
    API_CHECK(library && path);
    (void)jit_options, (void)jit_values, (void)njit, (void)options, (void)values, (void)count;
    result = drv_read_file(path, &bytes, &size_B);
    if (result != CUDA_SUCCESS)
        return result;
    result = drv_result(core_library_create(bytes, size_B, false, (struct core_library **)library));
    hd_free(bytes);
    return result;
}

HD_EXPORT CUresult cuLibraryUnload(CUlibrary library)
{
    API_CALL(cuLibraryUnload);
    API_HANDLE(LIBRARY, library);
    core_library_destroy((struct core_library *)library);
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    API_CALL(cuLibraryGetKernel);
    API_CHECK(kernel && name);
    API_HANDLE(LIBRARY, library);
    return drv_result(
        core_library_kernel((struct core_library *)library, name, (struct core_kernel **)kernel));
}

HD_EXPORT CUresult cuLibraryGetKernelCount(unsigned *count, CUlibrary library)
{
    struct core_image *image;
    enum hd_status status;

    API_CALL(cuLibraryGetKernelCount);
    API_CHECK(count);
    API_HANDLE(LIBRARY, library);
    status = core_library_image((struct core_library *)library, &image);
    if (status == HD_OK)
        *count = image->nkernels;
    return drv_result(status);
}

HD_EXPORT CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned count, CUlibrary library)
{
    struct core_image *image;
    enum hd_status status;
    unsigned n = 0;

    API_CALL(cuLibraryEnumerateKernels);
    API_CHECK(kernels);
    API_HANDLE(LIBRARY, library);
    status = core_library_image((struct core_library *)library, &image);
    if (status != HD_OK)
        return drv_result(status);
    for (const struct ir_func *f = image->ir->funcs; f && n < count; f = f->next) {
        if (!f->is_kernel || f->is_declaration)
            continue;
        status = core_library_kernel((struct core_library *)library, f->name,
                                     (struct core_kernel **)&kernels[n++]);
        if (status != HD_OK)
            return drv_result(status);
    }
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
    API_CALL(cuLibraryGetModule);
    API_CHECK(module);
    API_CONTEXT(ctx);
    API_HANDLE(LIBRARY, library);
    return drv_result(
        core_library_module((struct core_library *)library, ctx, (struct core_module **)module));
}

static CUresult library_var(CUlibrary library, const char *name, CUdeviceptr *ptr, size_t *bytes,
                            bool managed)
{
    struct core_module *module;
    struct core_var var;
    enum hd_status status =
        core_library_module((struct core_library *)library, core_current(), &module);

    if (status == HD_OK)
        status = core_module_var(module, name, &var);
    if (status != HD_OK)
        return drv_result(status);
    if (managed && !var.managed)
        return drv_error(CUDA_ERROR_NOT_FOUND, "%s is not a managed variable", name);
    if (ptr)
        *ptr = var.va;
    if (bytes)
        *bytes = var.size_B;
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuLibraryGetGlobal(CUdeviceptr *ptr, size_t *bytes, CUlibrary library,
                                      const char *name)
{
    API_CALL(cuLibraryGetGlobal);
    API_CHECK(name);
    API_CONTEXT(ctx);
    API_HANDLE(LIBRARY, library);
    return library_var(library, name, ptr, bytes, false);
}

HD_EXPORT CUresult cuLibraryGetManaged(CUdeviceptr *ptr, size_t *bytes, CUlibrary library,
                                       const char *name)
{
    API_CALL(cuLibraryGetManaged);
    API_CHECK(name);
    API_CONTEXT(ctx);
    API_HANDLE(LIBRARY, library);
    return library_var(library, name, ptr, bytes, true);
}

HD_EXPORT CUresult cuKernelGetFunction(CUfunction *func, CUkernel kernel)
{
    API_CALL(cuKernelGetFunction);
    API_CHECK(func);
    API_CONTEXT(ctx);
    API_HANDLE(KERNEL, kernel);
    return drv_result(
        core_kernel_function((struct core_kernel *)kernel, ctx, (struct core_function **)func));
}

HD_EXPORT CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
    API_CALL(cuKernelGetLibrary);
    API_CHECK(library);
    API_HANDLE(KERNEL, kernel);
    *library = (CUlibrary)((struct core_kernel *)kernel)->library;
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuKernelGetName(const char **name, CUkernel kernel)
{
    API_CALL(cuKernelGetName);
    API_CHECK(name);
    API_HANDLE(KERNEL, kernel);
    *name = ((struct core_kernel *)kernel)->func->name;
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
    API_CALL(cuKernelGetParamInfo);
    API_CHECK(offset);
    API_HANDLE(KERNEL, kernel);
    return drv_param_info(((struct core_kernel *)kernel)->func, index, offset, size);
}

HD_EXPORT CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
                                        CUdevice dev)
{
    API_CALL(cuKernelGetAttribute);
    API_CHECK(value);
    API_DEVICE(dev);
    API_CONTEXT(ctx);
    API_FUNCTION(ctx, function, kernel);
    return drv_function_attribute(function, (int)attribute, value);
}

HD_EXPORT CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                        CUdevice dev)
{
    CUresult result;

    API_CALL(cuKernelSetAttribute);
    API_DEVICE(dev);
    API_CONTEXT(ctx);
    API_HANDLE(KERNEL, kernel);
    API_FUNCTION(ctx, function, kernel);
    result = drv_function_attribute_set(function, (int)attribute, value);
    /* Later contexts start with it. */
    if (result == CUDA_SUCCESS && attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        ((struct core_kernel *)kernel)->max_dynamic_B = value;
    return result;
}

HD_EXPORT CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    API_CALL(cuKernelSetCacheConfig);
    API_CHECK((unsigned)config <= CU_FUNC_CACHE_PREFER_EQUAL);
    API_DEVICE(dev);
    API_HANDLE(KERNEL, kernel);
    return CUDA_SUCCESS;
}
