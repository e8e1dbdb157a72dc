/*
 * Registration: what the constructors of a CUDA program call before main(), and what the stubs made
 * of kernel<<<>>>() call. The signatures are an interface between compiler and runtime that clang
 * and nvcc both follow; see clang/lib/CodeGen/CGCUDANV.cpp for a public description.
 *
 * Nothing here touches the driver but managed variables: a program that never uses the device must
 * not start it.
 */
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct rt_registry rt_registry;

/* Compilers declare these themselves; there is no public header. */

/* Out of memory in a constructor: nothing can be returned, and the program would fail anyway. */
static void *must_calloc(size_t size_B)
{
    void *memory = calloc(1, size_B);
    if (!memory) {
        hd_log("out of memory while registering device code");
        abort();
    }
    return memory;
}

static char *must_copy(const char *text)
{
    size_t size_B = strlen(text ? text : "") + 1;
    return memcpy(must_calloc(size_B), text ? text : "", size_B);
}

static void must_set(struct rt_map *map, const void *key, void *value)
{
    if (!rt_map_set(map, key, value)) {
        hd_log("out of memory while registering device code");
        abort();
    }
}

void **rt___cudaRegisterFatBinary(void *wrapper)
{
    struct rt_fatbin *fatbin = must_calloc(sizeof(*fatbin));
    fatbin->wrapper = wrapper;
    hd_lock_acquire(&rt.lock);
    fatbin->next = rt_registry.fatbins;
    rt_registry.fatbins = fatbin;
    hd_lock_release(&rt.lock);
    return (void **)fatbin;
}

/* Loading waits for the first use, unless host code may look at variables before. */
void rt___cudaRegisterFatBinaryEnd(void **handle)
{
    struct rt_fatbin *fatbin = (struct rt_fatbin *)handle;
    if (fatbin && fatbin->has_placed && rt_managed_init(fatbin) != cudaSuccess)
        hd_log("managed variables have no values: %s", hd_error_message());
}

static void forget_kernels(struct rt_fatbin *fatbin)
{
    assert(hd_lock_held(&rt.lock));
    for (struct rt_kernel *k = fatbin->kernels; k; k = k->next) {
        if (rt_map_get(&rt_registry.kernels, k->host_func) == k)
            rt_map_set(&rt_registry.kernels, k->host_func, NULL);
        if (k->handle && rt_map_get(&rt_registry.kernels, k->handle) == k)
            rt_map_set(&rt_registry.kernels, k->handle, NULL);
    }
    for (struct rt_var *v = fatbin->vars; v; v = v->next)
        if (rt_map_get(&rt_registry.vars, v->host_var) == v)
            rt_map_set(&rt_registry.vars, v->host_var, NULL);
}

/* The structures stay: another thread may be looking at them. It happens once per dlclose(). */
void rt___cudaUnregisterFatBinary(void **handle)
{
    struct rt_fatbin *fatbin = (struct rt_fatbin *)handle;
    if (!fatbin || atomic_load(&rt.exiting))
        return;
    hd_lock_acquire(&rt.lock);
    struct rt_fatbin **at = &rt_registry.fatbins;
    while (*at && *at != fatbin)
        at = &(*at)->next;
    if (*at) {
        *at = fatbin->next;
        fatbin->next = rt_registry.gone;
        rt_registry.gone = fatbin;
        forget_kernels(fatbin);
        rt_fatbin_unload(fatbin);
    }
    hd_lock_release(&rt.lock);
}

void rt___cudaRegisterFunction(void **handle, const char *host_func, char *device_func,
                               const char *name, int thread_limit, void *tid, void *bid, void *bdim,
                               void *gdim, int *warp_size)
{
    struct rt_fatbin *fatbin = (struct rt_fatbin *)handle;
    if (!fatbin || !host_func)
        return;
    struct rt_kernel *kernel = must_calloc(sizeof(*kernel));
    kernel->host_func = host_func;
    kernel->name = must_copy(name ? name : device_func);
    kernel->fatbin = fatbin;
    hd_lock_acquire(&rt.lock);
    kernel->next = fatbin->kernels;
    fatbin->kernels = kernel;
    /* A template's stub is one function for all objects that instantiate it: the first stays. */
    if (!rt_map_get(&rt_registry.kernels, host_func))
        must_set(&rt_registry.kernels, host_func, kernel);
    hd_lock_release(&rt.lock);
}

static struct rt_range **range_find(const void *at)
{
    struct rt_range **range = &rt_registry.ranges;
    assert(hd_lock_held(&rt.lock));
    while (*range && ((const char *)at < (*range)->start || (const char *)at >= (*range)->stop))
        range = &(*range)->next;
    return range;
}

/* Each object of the program tells, of the whole program. */
void rt___heddleManagedRange(void *start, void *stop)
{
    hd_lock_acquire(&rt.lock);
    struct rt_range **range = range_find(start);
    if (start != stop && !*range) {
        *range = must_calloc(sizeof(**range));
        (*range)->start = start;
        (*range)->stop = stop;
    }
    hd_lock_release(&rt.lock);
}

static void register_var(void **handle, const void *host_var, const char *name, size_t size_B,
                         void **managed)
{
    struct rt_fatbin *fatbin = (struct rt_fatbin *)handle;
    if (!fatbin || !host_var)
        return;
    struct rt_var *var = must_calloc(sizeof(*var));
    var->host_var = host_var;
    var->name = must_copy(name);
    var->size_B = size_B;
    var->managed = managed;
    var->fatbin = fatbin;
    hd_lock_acquire(&rt.lock);
    var->next = fatbin->vars;
    fatbin->vars = var;
    fatbin->has_managed |= managed != NULL;
    var->is_placed = *range_find(host_var) != NULL;
    fatbin->has_placed |= var->is_placed;
    if (!rt_map_get(&rt_registry.vars, host_var))
        must_set(&rt_registry.vars, host_var, var);
    hd_lock_release(&rt.lock);
}

void rt___cudaRegisterVar(void **handle, char *host_var, char *device_addr, const char *name,
                          int ext, size_t size_B, int constant, int global)
{
    register_var(handle, host_var, name ? name : device_addr, size_B, NULL);
}

void rt___cudaRegisterManagedVar(void **handle, void **host_ptr, char *device_addr,
                                 const char *name, int ext, size_t size_B, int constant, int global)
{
    register_var(handle, host_ptr, name ? name : device_addr, size_B, host_ptr);
}

/* A device variable that stands for one of the host: no compiler known to us emits it for PTX. */
void rt___cudaRegisterHostVar(void **handle, const char *name, char *host_var, size_t size_B)
{
    hd_log("device code refers to the host variable \"%s\": not supported", name ? name : "");
}

void rt___cudaRegisterUnifiedTable(void **handle, void *table)
{
    hd_log("tables of unified function pointers are not supported");
}

/* Called by host code before it touches a managed variable; returns whether to go on. */
char rt___cudaInitModule(void **handle)
{
    struct rt_fatbin *fatbin = (struct rt_fatbin *)handle;
    if (!fatbin || !fatbin->has_managed)
        return 1;
    return rt_managed_init(fatbin) == cudaSuccess;
}

/*
 * For __cudaLaunchKernel(). Compiled programs ask once and keep what they get, so it is the host
 * function, and whatever is wrong with the kernel is said by each launch.
 */
cudaError_t rt___cudaGetKernel(cudaKernel_t *out_kernel, const void *host_func)
{
    if (!out_kernel)
        return rt_fail(cudaErrorInvalidValue);
    if (!rt_map_get(&rt_registry.kernels, host_func))
        return rt_fail(cudaErrorInvalidDeviceFunction);
    *out_kernel = (cudaKernel_t)(uintptr_t)host_func;
    return cudaSuccess;
}

cudaError_t rt_cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
    RT_TRY(rt_enter());
    return kernelPtr ? rt_kernel(entryFuncAddr, kernelPtr) : rt_fail(cudaErrorInvalidValue);
}
