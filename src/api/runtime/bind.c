/* Binding registered kernels and variables to a context: loads modules on first use. */
#include "runtime.h"

#include <assert.h>
#include <stdlib.h>

#include "base/log.h"

cudaError_t rt_kernel_find(const void *func, struct rt_kernel **out_kernel)
{
    *out_kernel = rt_map_get(&rt_registry.kernels, func);
    return HD_LIKELY(*out_kernel) ? cudaSuccess : rt_fail(cudaErrorInvalidDeviceFunction);
}

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

/* rt.lock held; ctx is current. */
static cudaError_t module_get(struct rt_fatbin *fatbin, CUcontext ctx, CUmodule *out_module)
{
    assert(hd_lock_held(&rt.lock) && ctx);
    struct rt_module *m = fatbin->modules;
    while (m && m->ctx != ctx)
        m = m->next;
    if (!m) {
        m = calloc(1, sizeof(*m));
        if (!m)
            return rt_fail(cudaErrorMemoryAllocation);
        m->error = rt_from_driver(cuModuleLoadData(&m->module, fatbin->wrapper));
        m->ctx = ctx;
        m->next = fatbin->modules;
        fatbin->modules = m;
    }
    *out_module = m->module;
    return m->error ? rt_fail(m->error) : cudaSuccess;
}

static cudaError_t kernel_load(struct rt_kernel *kernel, CUcontext ctx, CUfunction *out_func)
{
    CUmodule module;
    assert(hd_lock_held(&rt.lock) && !kernel->driver_kernel == (kernel->fatbin != NULL));
    if (kernel->driver_kernel)
        return rt_result(cuKernelGetFunction(out_func, kernel->driver_kernel));
    RT_TRY(module_get(kernel->fatbin, ctx, &module));
    CUresult result = cuModuleGetFunction(out_func, module, kernel->name);
    if (result == CUDA_ERROR_NOT_FOUND)
        return rt_fail(cudaErrorInvalidDeviceFunction);
    return rt_result(result);
}

static cudaError_t kernel_bind_locked(struct rt_kernel *kernel, CUcontext ctx, CUfunction *out_func)
{
    assert(hd_lock_held(&rt.lock));
    struct rt_binding *have = binding_find(&kernel->bindings, ctx);
    if (have) {
        *out_func = have->func;
        return cudaSuccess;
    }
    RT_TRY(kernel_load(kernel, ctx, out_func));
    return binding_add(&kernel->bindings, &(struct rt_binding){.func = *out_func}, ctx);
}

cudaError_t rt_kernel_bind(struct rt_kernel *kernel, CUcontext ctx, CUfunction *out_func)
{
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

cudaError_t rt_function(const void *func, CUfunction *out_func)
{
    struct rt_kernel *kernel;
    CUcontext ctx;
    RT_TRY(rt_context(&ctx));
    RT_TRY(rt_kernel_find(func, &kernel));
    return rt_kernel_bind(kernel, ctx, out_func);
}

static const void *kernel_host(const struct rt_kernel *kernel, CUfunction func)
{
    for (const struct rt_binding *b = atomic_load(&kernel->bindings); b; b = b->next)
        if (b->func == func && atomic_load(&b->ctx))
            return kernel->host_func ? kernel->host_func : kernel;
    return NULL;
}

const void *rt_function_host(CUfunction func)
{
    const void *host = NULL;

    hd_lock_acquire(&rt.lock);
    for (struct rt_fatbin *f = rt_registry.fatbins; f && !host; f = f->next)
        for (struct rt_kernel *k = f->kernels; k && !host; k = k->next)
            host = kernel_host(k, func);
    for (struct rt_kernel *k = rt_registry.library_kernels; k && !host; k = k->next)
        host = kernel_host(k, func);
    hd_lock_release(&rt.lock);
    return host ? host : func;
}

/* rt.lock held. */
static cudaError_t var_load(struct rt_var *var, CUcontext ctx)
{
    CUmodule module;
    struct rt_binding value = {0};
    assert(hd_lock_held(&rt.lock) && var->fatbin);
    RT_TRY(module_get(var->fatbin, ctx, &module));
    CUresult result = cuModuleGetGlobal_v2(&value.ptr, &value.size_B, module, var->name);
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

cudaError_t rt_symbol(const void *symbol, CUdeviceptr *out_ptr, size_t *out_size_B)
{
    struct rt_binding *binding;
    CUcontext ctx;
    RT_TRY(rt_context(&ctx));
    struct rt_var *var = rt_map_get(&rt_registry.vars, symbol);
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
        if (!var->managed)
            continue;
        RT_TRY(var_bind(var, ctx, &binding));
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

static void fatbin_drop(struct rt_fatbin *fatbin, CUcontext ctx)
{
    assert(hd_lock_held(&rt.lock) && ctx);
    for (struct rt_kernel *k = fatbin->kernels; k; k = k->next)
        bindings_drop(&k->bindings, ctx);
    for (struct rt_var *v = fatbin->vars; v; v = v->next)
        bindings_drop(&v->bindings, ctx);
    for (struct rt_module *m = fatbin->modules; m; m = m->next)
        if (m->ctx == ctx)
            m->ctx = NULL;
}

void rt_bindings_drop(CUcontext ctx)
{
    hd_lock_acquire(&rt.lock);
    for (struct rt_fatbin *fatbin = rt_registry.fatbins; fatbin; fatbin = fatbin->next)
        fatbin_drop(fatbin, ctx);
    for (struct rt_kernel *k = rt_registry.library_kernels; k; k = k->next)
        bindings_drop(&k->bindings, ctx);
    hd_lock_release(&rt.lock);
}

/* rt.lock held. Unloading needs the module's context to be current. */
void rt_fatbin_unload(struct rt_fatbin *fatbin)
{
    assert(hd_lock_held(&rt.lock));
    for (struct rt_module *m = fatbin->modules; m; m = m->next) {
        CUcontext popped;
        if (!m->ctx || m->error || cuCtxPushCurrent_v2(m->ctx) != CUDA_SUCCESS)
            continue;
        if (cuModuleUnload(m->module) != CUDA_SUCCESS)
            hd_log_debug(HD_DEBUG_API, "a module could not be unloaded");
        (void)cuCtxPopCurrent_v2(&popped);
        m->ctx = NULL;
    }
}
