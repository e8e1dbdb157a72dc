/* Functions and their attributes. */
#include "api/driver/driver.h"

CUresult drv_function(struct core_context *ctx, const void *handle,
                      struct core_function **out_function)
{
    struct core_function *function = core_function_lookup(handle);
    struct core_kernel *kernel;
    enum hd_status status;

    assert(ctx);
    *out_function = function;
    if (HD_LIKELY(function))
        return CUDA_SUCCESS;
    kernel = core_kernel_lookup(handle);
    if (!kernel)
        return drv_error(CUDA_ERROR_INVALID_HANDLE, "%p is not a live function", handle);
    status = core_kernel_function(kernel, ctx, out_function);
    core_kernel_unref(kernel);
    if (status != HD_OK)
        *out_function = NULL;
    assert((status == HD_OK) == (*out_function != NULL));
    return drv_code_result("kernel", status);
}

CUresult drv_function_give(struct core_function *function, CUfunction *out_func)
{
    enum hd_status status = core_function_describe(function);

    assert(out_func && (status != HD_OK || core_function_is_described(function)));
    if (status == HD_OK)
        *out_func = core_function_handle(function);
    core_function_unref(function);
    return drv_code_result("kernel", status);
}

/* Is it to be found in the kernel's body? The rest its declaration says. */
static bool needs_body(const struct core_function *f, int attribute)
{
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        return true;
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        return f->entry->native || (!f->entry->reqntid[0] && !f->entry->max_threads);
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        return f->max_dynamic_B == CORE_DYNAMIC_DEFAULT;
    default:
        return false;
    }
}

CUresult drv_function_attribute(struct core_function *f, int attribute, int *out_value)
{
    enum hd_status status = needs_body(f, attribute) ? core_function_describe(f) : HD_OK;

    if (status != HD_OK)
        return drv_result(status);
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *out_value = (int)(f->entry->native ? f->info.max_threads : core_function_threads(f));
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *out_value = (int)f->info.shared_B;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        *out_value = (int)f->module->const_B;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *out_value = (int)f->info.local_B;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *out_value = (int)f->info.regs;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        *out_value = (int)core_image_arch(f->module->image);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *out_value = f->module->ctx->device->cc_major * 10 + f->module->ctx->device->cc_minor;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *out_value = (int)f->max_dynamic_B;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *out_value = f->carveout;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
        *out_value = f->entry->explicit_cluster;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: {
        uint32_t size[3];
        core_cluster_required(f, size);
        *out_value = (int)size[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
        return CUDA_SUCCESS;
    }
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        *out_value = f->large_clusters;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        *out_value = f->cluster_policy;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
        *out_value = 0;
        return CUDA_SUCCESS;
    default:
        return drv_error(CUDA_ERROR_INVALID_VALUE, "there is no function attribute %d", attribute);
    }
}

static CUresult set_dynamic_smem(struct core_function *f, int value)
{
    int optin = 0;
    enum hd_status status = core_function_describe(f);

    if (status != HD_OK)
        return drv_result(status);
    (void)!core_device_attribute(f->module->ctx->device,
                                 CORE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &optin);
    if (value < 0 || (uint64_t)value + f->info.shared_B > (uint64_t)optin)
        return drv_error(CUDA_ERROR_INVALID_VALUE,
                         "%d bytes of dynamic shared memory exceed the device's %d", value, optin);
    f->max_dynamic_B = (uint32_t)value;
    return CUDA_SUCCESS;
}

/* What the kernel says itself cannot be changed. Whether all three fit is seen at the launch. */
static CUresult set_required_cluster(struct core_function *f, int axis, int value)
{
    assert(axis >= 0 && axis < 3);
    if (f->entry->cluster[0])
        return drv_error(CUDA_ERROR_NOT_PERMITTED, "%s has a cluster size of its own",
                         f->entry->name);
    if (value < 0)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "a cluster of %d blocks", value);
    f->cluster[axis] = value;
    return CUDA_SUCCESS;
}

CUresult drv_function_attribute_set(struct core_function *f, int attribute, int value)
{
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        return set_dynamic_smem(f, value);
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100)
            return drv_error(CUDA_ERROR_INVALID_VALUE, "carveout of %d percent", value);
        f->carveout = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        if (value != 0 && value != 1)
            return drv_error(CUDA_ERROR_INVALID_VALUE, "it is 0 or 1");
        f->large_clusters = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        if (value < CU_CLUSTER_SCHEDULING_POLICY_DEFAULT ||
            value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING)
            return drv_error(CUDA_ERROR_INVALID_VALUE, "there is no scheduling policy %d", value);
        f->cluster_policy = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        return set_required_cluster(f, attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, value);
    default:
        return drv_error(CUDA_ERROR_INVALID_VALUE, "function attribute %d cannot be set",
                         attribute);
    }
}

CUresult drv_param_info(const struct core_entry *entry, size_t index, size_t *offset, size_t *size)
{
    if (index >= entry->nparams)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "%s has %u parameters", entry->name,
                         entry->nparams);
    *offset = entry->params[index].offset_B;
    if (size)
        *size = entry->params[index].size_B;
    return CUDA_SUCCESS;
}

CUresult drv_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction func)
{
    API_CALL(cuFuncGetAttribute);
    API_CHECK(value);
    API_CONTEXT(ctx);
    API_FUNCTION(ctx, function, func);
    return drv_function_attribute(function, (int)attribute, value);
}

CUresult drv_cuFuncSetAttribute(CUfunction func, CUfunction_attribute attribute, int value)
{
    API_CALL(cuFuncSetAttribute);
    API_CONTEXT(ctx);
    API_FUNCTION(ctx, function, func);
    return drv_function_attribute_set(function, (int)attribute, value);
}

CUresult drv_cuFuncSetCacheConfig(CUfunction func, CUfunc_cache config)
{
    API_CALL(cuFuncSetCacheConfig);
    API_CHECK((unsigned)config <= CU_FUNC_CACHE_PREFER_EQUAL);
    API_CONTEXT(ctx);
    API_FUNCTION(ctx, function, func);
    function->cache_config = (int)config;
    return CUDA_SUCCESS;
}

/* Banks of shared memory have one width since compute capability 5.0. */
CUresult drv_cuFuncSetSharedMemConfig(CUfunction func, CUsharedconfig config)
{
    API_CALL(cuFuncSetSharedMemConfig);
    API_CHECK((unsigned)config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
    API_CONTEXT(ctx);
    API_FUNCTION(ctx, function, func);
    (void)function;
    return CUDA_SUCCESS;
}

CUresult drv_cuFuncGetModule(CUmodule *module, CUfunction func)
{
    API_CALL(cuFuncGetModule);
    API_CHECK(module);
    API_CONTEXT(ctx);
    API_FUNCTION(ctx, function, func);
    *module = core_module_handle(function->module);
    return CUDA_SUCCESS;
}

CUresult drv_cuFuncGetName(const char **name, CUfunction func)
{
    API_CALL(cuFuncGetName);
    API_CHECK(name && func);
    API_CONTEXT(ctx);
    API_FUNCTION(ctx, function, func);
    *name = function->entry->name;
    return CUDA_SUCCESS;
}

CUresult drv_cuFuncGetParamInfo(CUfunction func, size_t index, size_t *offset, size_t *size)
{
    API_CALL(cuFuncGetParamInfo);
    API_CHECK(offset);
    API_CONTEXT(ctx);
    API_FUNCTION(ctx, function, func);
    return drv_param_info(function->entry, index, offset, size);
}

CUresult drv_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction func)
{
    API_CALL(cuFuncIsLoaded);
    API_CHECK(state);
    API_CONTEXT(ctx);
    API_FUNCTION(ctx, function, func);
    *state = core_function_is_described(function);
    return CUDA_SUCCESS;
}

CUresult drv_cuFuncLoad(CUfunction func)
{
    API_CALL(cuFuncLoad);
    API_CONTEXT(ctx);
    API_FUNCTION(ctx, function, func);
    return drv_result(core_function_load(function));
}
