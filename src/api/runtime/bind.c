/* Binding registered kernels and variables to a context: loads libraries on first use. */
#include "runtime.h"

#include <assert.h>
#include <stdlib.h>

#include "base/log.h"

static struct rt_binding *binding_find(_Atomic(struct rt_binding *) *list, CUcontext ctx)
{
    struct rt_binding *b = atomic_load_explicit(list, memory_order_acquire);
    while (b && atomic_load_explicit(&b->ctx, memory_order_relaxed) != ctx)
        b = b->next;
    return b;
}

/* rt.lock held. */
static cudaError_t binding_add(_Atomic(struct rt_binding *) *list, const struct rt_binding *value,
                               CUcontext ctx)
{
    assert(hd_lock_held(&rt.lock) && ctx && !binding_find(list, ctx));
    struct rt_binding *b = malloc(sizeof(*b));
    if (!b)
        return rt_fail(cudaErrorMemoryAllocation);
    b->func = value->func;
    b->ptr = value->ptr;
    b->size_B = value->size_B;
    b->next = atomic_load(list);
    atomic_init(&b->ctx, ctx);
    atomic_store_explicit(list, b, memory_order_release);
    return cudaSuccess;
}

static CUresult library_load(struct rt_fatbin *fatbin)
{
    CUresult result =
        cuLibraryLoadData(&fatbin->library, fatbin->wrapper, NULL, NULL, 0, NULL, NULL, 0);
    for (struct rt_var *var = fatbin->vars; var && result == CUDA_SUCCESS; var = var->next)
        if (var->is_placed)
            result = heddle_library_place(fatbin->library, var->name,
                                          (void *)(uintptr_t)var->host_var, var->size_B);
    return result;
}

static cudaError_t library_get(struct rt_fatbin *fatbin, CUlibrary *out_library)
{
    assert(hd_lock_held(&rt.lock));
    if (!fatbin->library && !fatbin->error)
        fatbin->error = rt_from_driver(library_load(fatbin));
    *out_library = fatbin->library;
    return fatbin->error ? rt_fail(fatbin->error) : cudaSuccess;
}

static cudaError_t handle_find(const struct rt_kernel *kernel, CUkernel *out_handle)
{
    CUlibrary library;

    *out_handle = heddle_native_standing_in(kernel->name);
    if (*out_handle)
        return cudaSuccess;
    RT_TRY(library_get(kernel->fatbin, &library));
    CUresult result = cuLibraryGetKernel(out_handle, library, kernel->name);
    return result == CUDA_ERROR_NOT_FOUND ? rt_fail(cudaErrorInvalidDeviceFunction)
                                          : rt_result(result);
}

static cudaError_t handle_get(struct rt_kernel *kernel, CUkernel *out_handle)
{
    assert(hd_lock_held(&rt.lock));
    if (!kernel->handle) {
        CUkernel found;
        RT_TRY(handle_find(kernel, &found));
        /* Two host functions may stand for one kernel: the first stays. */
        if (!rt_map_get(&rt_registry.kernels, found) &&
            !rt_map_set(&rt_registry.kernels, found, kernel))
            return rt_fail(cudaErrorMemoryAllocation);
        kernel->handle = found;
    }
    *out_handle = kernel->handle;
    return cudaSuccess;
}

static cudaError_t kernel_bind_locked(struct rt_kernel *kernel, CUcontext ctx, CUfunction *out_func)
{
    CUkernel handle;

    assert(hd_lock_held(&rt.lock));
    struct rt_binding *have = binding_find(&kernel->bindings, ctx);
    if (have) {
        *out_func = have->func;
        return cudaSuccess;
    }
    RT_TRY(handle_get(kernel, &handle));
    RT_TRY(rt_result(cuKernelGetFunction(out_func, handle)));
    return binding_add(&kernel->bindings, &(struct rt_binding){.func = *out_func}, ctx);
}

static cudaError_t no_kernel(CUresult result)
{
    return result == CUDA_ERROR_INVALID_HANDLE ? rt_fail(cudaErrorInvalidDeviceFunction)
                                               : rt_result(result);
}

cudaError_t rt_kernel(const void *func, CUkernel *out_kernel)
{
    struct rt_kernel *kernel = rt_map_get(&rt_registry.kernels, func);
    CUlibrary library;

    *out_kernel = (CUkernel)(uintptr_t)func;
    if (!kernel)
        return no_kernel(cuKernelGetLibrary(&library, *out_kernel));
    hd_lock_acquire(&rt.lock);
    cudaError_t error = handle_get(kernel, out_kernel);
    hd_lock_release(&rt.lock);
    return error;
}

cudaError_t rt_function(const void *func, CUfunction *out_func)
{
    CUcontext ctx;
    RT_TRY(rt_context(&ctx));
    struct rt_kernel *kernel = rt_map_get(&rt_registry.kernels, func);
    if (HD_LIKELY(kernel)) {
        struct rt_binding *have = binding_find(&kernel->bindings, ctx);
        if (HD_LIKELY(have)) {
            *out_func = have->func;
            return cudaSuccess;
        }
        hd_lock_acquire(&rt.lock);
        cudaError_t error = kernel_bind_locked(kernel, ctx, out_func);
        hd_lock_release(&rt.lock);
        return error;
    }
    return no_kernel(cuKernelGetFunction(out_func, (CUkernel)(uintptr_t)func));
}

static const void *kernel_host(const struct rt_kernel *kernel, CUfunction func)
{
    for (const struct rt_binding *b = atomic_load(&kernel->bindings); b; b = b->next)
        if (b->func == func && atomic_load(&b->ctx))
            return kernel->host_func;
    return NULL;
}

const void *rt_function_host(CUfunction func)
{
    const void *host = NULL;

    hd_lock_acquire(&rt.lock);
    for (struct rt_fatbin *f = rt_registry.fatbins; f && !host; f = f->next)
        for (struct rt_kernel *k = f->kernels; k && !host; k = k->next)
            host = kernel_host(k, func);
    hd_lock_release(&rt.lock);
    return host ? host : func;
}

/* rt.lock held. */
static cudaError_t var_load(struct rt_var *var, CUcontext ctx)
{
    CUlibrary library;
    struct rt_binding value = {0};
    assert(hd_lock_held(&rt.lock) && var->fatbin);
    RT_TRY(library_get(var->fatbin, &library));
    CUresult result = cuLibraryGetGlobal(&value.ptr, &value.size_B, library, var->name);
    if (result != CUDA_SUCCESS)
        return result == CUDA_ERROR_NOT_FOUND ? rt_fail(cudaErrorInvalidSymbol) : rt_result(result);
    return binding_add(&var->bindings, &value, ctx);
}

static cudaError_t var_bind(struct rt_var *var, CUcontext ctx, struct rt_binding **out_binding)
{
    cudaError_t error = cudaSuccess;
    *out_binding = binding_find(&var->bindings, ctx);
    if (*out_binding)
        return cudaSuccess;
    hd_lock_acquire(&rt.lock);
    if (!binding_find(&var->bindings, ctx))
        error = var_load(var, ctx);
    *out_binding = binding_find(&var->bindings, ctx);
    assert(error != cudaSuccess || *out_binding);
    hd_lock_release(&rt.lock);
    return error;
}

/* Programs name a managed variable by where it is. */
static struct rt_var *managed_find(const void *symbol)
{
    struct rt_var *found = NULL;
    hd_lock_acquire(&rt.lock);
    for (struct rt_fatbin *fatbin = rt_registry.fatbins; fatbin && !found; fatbin = fatbin->next)
        for (struct rt_var *var = fatbin->vars; var && !found; var = var->next)
            found = var->managed && *var->managed == symbol ? var : NULL;
    hd_lock_release(&rt.lock);
    return found;
}

cudaError_t rt_symbol(const void *symbol, CUdeviceptr *out_ptr, size_t *out_size_B)
{
    struct rt_binding *binding;
    CUcontext ctx;
    RT_TRY(rt_context(&ctx));
    struct rt_var *var = rt_map_get(&rt_registry.vars, symbol);
    if (!var && symbol)
        var = managed_find(symbol);
    if (!var)
        return rt_fail(cudaErrorInvalidSymbol);
    RT_TRY(var_bind(var, ctx, &binding));
    assert(binding);
    *out_ptr = binding->ptr;
    *out_size_B = binding->size_B;
    return cudaSuccess;
}

cudaError_t rt_managed_init(struct rt_fatbin *fatbin)
{
    CUcontext ctx;
    RT_TRY(rt_context(&ctx));
    for (struct rt_var *var = fatbin->vars; var; var = var->next) {
        struct rt_binding *binding;
        if (!var->managed && !var->is_placed)
            continue;
        RT_TRY(var_bind(var, ctx, &binding));
        if (var->managed)
            *var->managed = (void *)(uintptr_t)binding->ptr;
    }
    return cudaSuccess;
}

static void bindings_drop(_Atomic(struct rt_binding *) *list, CUcontext ctx)
{
    assert(hd_lock_held(&rt.lock));
    for (struct rt_binding *b = atomic_load(list); b; b = b->next)
        if (atomic_load(&b->ctx) == ctx)
            atomic_store(&b->ctx, NULL);
}

void rt_bindings_drop(CUcontext ctx)
{
    hd_lock_acquire(&rt.lock);
    for (struct rt_fatbin *fatbin = rt_registry.fatbins; fatbin; fatbin = fatbin->next) {
        assert(ctx);
        for (struct rt_kernel *k = fatbin->kernels; k; k = k->next)
            bindings_drop(&k->bindings, ctx);
        for (struct rt_var *v = fatbin->vars; v; v = v->next)
            bindings_drop(&v->bindings, ctx);
    }
    hd_lock_release(&rt.lock);
}

void rt_fatbin_unload(struct rt_fatbin *fatbin)
{
    assert(hd_lock_held(&rt.lock));
    if (fatbin->library && cuLibraryUnload(fatbin->library) != CUDA_SUCCESS)
        hd_log_debug(HD_DEBUG_API, "a library could not be unloaded");
}
