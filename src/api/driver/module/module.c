/* Modules: images loaded into one context. */
#include "api/driver/driver.h"
#include "api/driver/module/jit.h"
#include "base/mem.h"
#include "base/str.h"

static CUresult module_load(const char *name, CUmodule *out, const void *image, size_t size_B,
                            struct drv_jit *jit)
{
    struct core_context *ctx = core_current();
    struct core_image *loaded;
    struct core_module *module = NULL;
    enum hd_status status = core_image_load(image, size_B, &loaded);

    if (status == HD_OK) {
        status = core_module_create(ctx, loaded, NULL, &module);
        core_image_unref(loaded);
    }
    assert((status == HD_OK) == (module != NULL) && out);
    if (status == HD_OK)
        DRV_GIVE(module, out, module);
    return jit ? drv_jit_end(jit, name, status, NULL) : drv_code_result(name, status);
}

CUresult drv_read_file(const char *path, char **out_bytes, size_t *out_size)
{
    struct hd_buf buf;
    enum hd_status status;

    assert(path && out_bytes && out_size);
    hd_buf_init(&buf);
    status = hd_file_read(path, (size_t)1 << 30, &buf);
    if (status != HD_OK) {
        hd_buf_fini(&buf);
        return status == HD_NOT_FOUND ? CUDA_ERROR_FILE_NOT_FOUND : drv_result(status);
    }
    *out_size = buf.len;
    *out_bytes = hd_buf_take(&buf);
    return *out_bytes ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult drv_cuModuleLoad(CUmodule *module, const char *path)
{
    char *bytes;
    size_t size_B;
    CUresult result;

    API_CALL(cuModuleLoad);
    API_CHECK(module && path);
    API_CONTEXT(ctx);
    result = drv_read_file(path, &bytes, &size_B);
    if (result != CUDA_SUCCESS)
        return result;
    result = module_load(api_name_, module, bytes, size_B, NULL);
    hd_free(bytes);
    return result;
}

static CUresult load_data(const char *name, CUmodule *module, const void *image, unsigned count,
                          CUjit_option *options, void **values)
{
    struct drv_jit jit;
    CUresult result;

    API_CALL_NAMED(name);
    API_CHECK(module && image);
    API_CONTEXT(ctx);
    result = drv_jit_begin(&jit, count, options, values);
    return result == CUDA_SUCCESS ? module_load(api_name_, module, image, SIZE_MAX, &jit) : result;
}

CUresult drv_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                                CUjit_option *options, void **values)
{
    return load_data("cuModuleLoadDataEx", module, image, count, options, values);
}

CUresult drv_cuModuleLoadData(CUmodule *module, const void *image)
{
    return load_data("cuModuleLoadData", module, image, 0, NULL, NULL);
}

CUresult drv_cuModuleLoadFatBinary(CUmodule *module, const void *fatbin)
{
    return load_data("cuModuleLoadFatBinary", module, fatbin, 0, NULL, NULL);
}

CUresult drv_cuModuleUnload(CUmodule module)
{
    API_CALL(cuModuleUnload);
    API_CONTEXT(ctx);
    API_HANDLE(module, m, module);
    if (m->library)
        return drv_error(
            CUDA_ERROR_NOT_PERMITTED,
            "cuModuleUnload: the module is a library's, which cuLibraryUnload() unloads");
    API_CHECK(core_module_destroy(m));
    return CUDA_SUCCESS;
}

CUresult drv_cuModuleGetFunction(CUfunction *func, CUmodule module, const char *name)
{
    struct core_function *function;
    enum hd_status status;

    API_CALL(cuModuleGetFunction);
    API_CHECK(func && name);
    API_CONTEXT(ctx);
    API_HANDLE(module, m, module);
    status = core_module_function(m, name, &function);
    return status == HD_OK ? drv_function_give(function, func) : drv_code_result(api_name_, status);
}

CUresult drv_cuModuleGetGlobal_v2(CUdeviceptr *ptr, size_t *bytes, CUmodule module,
                                  const char *name)
{
    struct core_var var;
    enum hd_status status;

    API_CALL(cuModuleGetGlobal_v2);
    API_CHECK(name);
    API_CONTEXT(ctx);
    API_HANDLE(module, m, module);
    status = core_module_var(m, name, &var);
    if (status != HD_OK)
        return drv_result(status);
    if (ptr)
        *ptr = var.va;
    if (bytes)
        *bytes = var.size_B;
    return CUDA_SUCCESS;
}

/* Kernels are compiled when they are first launched. */
CUresult drv_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    API_CALL(cuModuleGetLoadingMode);
    API_CHECK(mode);
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

CUresult drv_cuModuleGetFunctionCount(unsigned *count, CUmodule module)
{
    API_CALL(cuModuleGetFunctionCount);
    API_CHECK(count);
    API_HANDLE(module, m, module);
    *count = core_image_count(m->image);
    return CUDA_SUCCESS;
}

CUresult drv_cuModuleEnumerateFunctions(CUfunction *funcs, unsigned count, CUmodule handle)
{
    API_CALL(cuModuleEnumerateFunctions);
    API_CHECK(funcs);
    API_HANDLE(module, module, handle);
    for (unsigned n = 0; n < HD_MIN(count, core_image_count(module->image)); n++) {
        struct core_function *function;
        enum hd_status status = core_module_function_at(module, n, &function);

        if (status != HD_OK)
            return drv_result(status);
        DRV_GIVE(function, &funcs[n], function);
    }
    return CUDA_SUCCESS;
}
