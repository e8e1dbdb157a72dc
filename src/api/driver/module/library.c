/* Libraries and kernels: images without a context. */
#include "api/driver/driver.h"
#include "api/driver/module/jit.h"

#include <assert.h>
#include "base/mem.h"

/* A hint, and nobody says what its value is: only what surely means yes is believed. */
static bool is_preserved(const CUlibraryOption *options, void **values, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (options[i] == CU_LIBRARY_BINARY_IS_PRESERVED)
            return !values || values[i] == (void *)1;
    return false;
}

static bool library_options_known(const CUlibraryOption *options, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if ((unsigned)options[i] >= CU_LIBRARY_NUM_OPTIONS)
            return false;
    return true;
}

CUresult drv_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit_options,
                               void **jit_values, unsigned njit, CUlibraryOption *options,
                               void **values, unsigned count)
{
    struct core_library *loaded;
    enum hd_status status;
    struct drv_jit jit;
    CUresult result;

    API_CALL(cuLibraryLoadData);
    API_CHECK(library && code);
    API_CHECK(!count || options);
    API_CHECK(library_options_known(options, count));
    result = drv_jit_begin(&jit, njit, jit_options, jit_values);
    if (result != CUDA_SUCCESS)
        return result;
    status = core_library_create(code, SIZE_MAX, is_preserved(options, values, count), &loaded);
    if (status == HD_OK)
        DRV_GIVE(library, library, loaded);
    return drv_jit_end(&jit, api_name_, status, NULL);
}

CUresult drv_cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *jit_options,
                                   void **jit_values, unsigned njit, CUlibraryOption *options,
                                   void **values, unsigned count)
{
    struct core_library *loaded;
    enum hd_status status;
    struct drv_jit jit;
    char *bytes;
    size_t size_B;
    CUresult result;

    API_CALL(cuLibraryLoadFromFile);
    API_CHECK(library && path);
    API_CHECK(!count || options);
    API_CHECK(library_options_known(options, count));
    (void)values;
    result = drv_jit_begin(&jit, njit, jit_options, jit_values);
    if (result == CUDA_SUCCESS)
        result = drv_read_file(path, &bytes, &size_B);
    if (result != CUDA_SUCCESS)
        return result;
    status = core_library_create(bytes, size_B, false, &loaded);
    hd_free(bytes);
    if (status == HD_OK)
        DRV_GIVE(library, library, loaded);
    return drv_jit_end(&jit, api_name_, status, NULL);
}

HD_EXPORT CUresult heddle_library_place(CUlibrary library, const char *name, void *memory,
                                        size_t size_B)
{
    API_CALL(heddle_library_place);
    API_HANDLE(library, lib, library);
    API_CHECK(name && memory && size_B);
    return drv_result(core_library_place(lib, name, (uintptr_t)memory, size_B));
}

CUresult drv_cuLibraryUnload(CUlibrary library)
{
    API_CALL(cuLibraryUnload);
    API_HANDLE(library, lib, library);
    API_CHECK(core_library_destroy(lib));
    return CUDA_SUCCESS;
}

CUresult drv_cuLibraryGetKernel(CUkernel *out, CUlibrary library, const char *name)
{
    struct core_kernel *kernel;
    enum hd_status status;

    API_CALL(cuLibraryGetKernel);
    API_CHECK(out && name);
    API_HANDLE(library, lib, library);
    status = core_library_kernel(lib, name, &kernel);
    if (status == HD_OK)
        DRV_GIVE(kernel, out, kernel);
    return drv_code_result(api_name_, status);
}

CUresult drv_cuLibraryGetKernelCount(unsigned *count, CUlibrary library)
{
    struct core_image *image;
    enum hd_status status;

    API_CALL(cuLibraryGetKernelCount);
    API_CHECK(count);
    API_HANDLE(library, lib, library);
    status = core_library_image(lib, &image);
    if (status == HD_OK)
        *count = core_image_count(image);
    return drv_result(status);
}

CUresult drv_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned count, CUlibrary library)
{
    struct core_image *image;
    enum hd_status status;

    API_CALL(cuLibraryEnumerateKernels);
    API_CHECK(kernels);
    API_HANDLE(library, lib, library);
    status = core_library_image(lib, &image);
    if (status != HD_OK)
        return drv_result(status);
    for (unsigned n = 0; n < HD_MIN(count, core_image_count(image)); n++) {
        struct core_kernel *kernel;

        status = core_library_kernel_at(lib, n, &kernel);
        if (status != HD_OK)
            return drv_result(status);
        assert(kernel->library == lib && kernel->entry->position == n);
        DRV_GIVE(kernel, &kernels[n], kernel);
    }
    return CUDA_SUCCESS;
}

CUresult drv_cuLibraryGetModule(CUmodule *out, CUlibrary library)
{
    struct core_module *module;
    enum hd_status status;

    API_CALL(cuLibraryGetModule);
    API_CHECK(out);
    API_CONTEXT(ctx);
    API_HANDLE(library, lib, library);
    status = core_library_module(lib, ctx, &module);
    if (status == HD_OK)
        DRV_GIVE(module, out, module);
    return drv_code_result(api_name_, status);
}

static CUresult library_var(struct core_library *library, const char *name, CUdeviceptr *ptr,
                            size_t *bytes, bool managed)
{
    struct core_module *module;
    struct core_var var;
    enum hd_status status = core_library_module(library, core_current(), &module);

    if (status == HD_OK) {
        status = core_module_var(module, name, &var);
        core_module_unref(module);
    }
    if (status != HD_OK)
        return drv_result(status);
    assert(var.va || !var.size_B);
    if (managed && !var.managed)
        return drv_error(CUDA_ERROR_NOT_FOUND, "%s is not a managed variable", name);
    if (ptr)
        *ptr = var.va;
    if (bytes)
        *bytes = var.size_B;
    return CUDA_SUCCESS;
}

CUresult drv_cuLibraryGetGlobal(CUdeviceptr *ptr, size_t *bytes, CUlibrary library,
                                const char *name)
{
    API_CALL(cuLibraryGetGlobal);
    API_CHECK(name);
    API_CONTEXT(ctx);
    API_HANDLE(library, lib, library);
    return library_var(lib, name, ptr, bytes, false);
}

CUresult drv_cuLibraryGetManaged(CUdeviceptr *ptr, size_t *bytes, CUlibrary library,
                                 const char *name)
{
    API_CALL(cuLibraryGetManaged);
    API_CHECK(name);
    API_CONTEXT(ctx);
    API_HANDLE(library, lib, library);
    return library_var(lib, name, ptr, bytes, true);
}

CUresult drv_cuKernelGetFunction(CUfunction *func, CUkernel kernel)
{
    struct core_function *function;
    enum hd_status status;

    API_CALL(cuKernelGetFunction);
    API_CHECK(func);
    API_CONTEXT(ctx);
    API_HANDLE(kernel, k, kernel);
    status = core_kernel_function(k, ctx, &function);
    return status == HD_OK ? drv_function_give(function, func) : drv_code_result(api_name_, status);
}

CUresult drv_cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
    API_CALL(cuKernelGetLibrary);
    API_CHECK(library);
    API_HANDLE(kernel, k, kernel);
    *library = core_library_handle(k->library);
    return CUDA_SUCCESS;
}

CUresult drv_cuKernelGetName(const char **name, CUkernel kernel)
{
    API_CALL(cuKernelGetName);
    API_CHECK(name && kernel);
    API_HANDLE(kernel, k, kernel);
    *name = k->entry->name;
    return CUDA_SUCCESS;
}

CUresult drv_cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
    API_CALL(cuKernelGetParamInfo);
    API_CHECK(offset);
    API_HANDLE(kernel, k, kernel);
    return drv_param_info(k->entry, index, offset, size);
}

CUresult drv_cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
                                  CUdevice dev)
{
    API_CALL(cuKernelGetAttribute);
    API_CHECK(value);
    API_DEVICE(device, dev);
    (void)device;
    API_CONTEXT(ctx);
    API_FUNCTION(ctx, function, kernel);
    return drv_function_attribute(function, (int)attribute, value);
}

CUresult drv_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                  CUdevice dev)
{
    CUresult result;

    API_CALL(cuKernelSetAttribute);
    API_DEVICE(device, dev);
    (void)device;
    API_CONTEXT(ctx);
    API_HANDLE(kernel, k, kernel);
    API_FUNCTION(ctx, function, kernel);
    result = drv_function_attribute_set(function, (int)attribute, value);
    /* Later contexts start with it. */
    if (result == CUDA_SUCCESS && attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        k->max_dynamic_B = value;
    return result;
}

CUresult drv_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    API_CALL(cuKernelSetCacheConfig);
    API_CHECK((unsigned)config <= CU_FUNC_CACHE_PREFER_EQUAL);
    API_DEVICE(device, dev);
    (void)device;
    API_HANDLE(kernel, k, kernel);
    (void)k;
    return CUDA_SUCCESS;
}
