/*
 * Libraries of kernels loaded at run time: the driver's libraries, with kernels wrapped so that a
 * cudaKernel_t is the same thing whether it was registered or loaded.
 */
#include "runtime.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Loading options are advice to a compiler we do not have; the driver checks those it knows. */
cudaError_t rt_cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                   enum cudaJitOption *jitOptions, void **jitOptionsValues,
                                   unsigned int numJitOptions,
                                   enum cudaLibraryOption *libraryOptions,
                                   void **libraryOptionValues, unsigned int numLibraryOptions)
{
    RT_CALL(cuLibraryLoadData(library, code, (CUjit_option *)jitOptions, jitOptionsValues,
                              numJitOptions, (CUlibraryOption *)libraryOptions, libraryOptionValues,
                              numLibraryOptions));
}

cudaError_t rt_cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName,
                                       enum cudaJitOption *jitOptions, void **jitOptionsValues,
                                       unsigned int numJitOptions,
                                       enum cudaLibraryOption *libraryOptions,
                                       void **libraryOptionValues, unsigned int numLibraryOptions)
{
    RT_CALL(cuLibraryLoadFromFile(library, fileName, (CUjit_option *)jitOptions, jitOptionsValues,
                                  numJitOptions, (CUlibraryOption *)libraryOptions,
                                  libraryOptionValues, numLibraryOptions));
}

static void forget_library(CUlibrary library)
{
    hd_lock_acquire(&rt.lock);
    for (struct rt_kernel **at = &rt_registry.library_kernels; *at;) {
        struct rt_kernel *kernel = *at;
        if (kernel->library != library) {
            at = &kernel->next;
            continue;
        }
        *at = kernel->next;
        /* Kept allocated: a stale handle must be found out, not followed. */
        rt_map_set(&rt_registry.kernels, kernel, NULL);
    }
    hd_lock_release(&rt.lock);
}

cudaError_t rt_cudaLibraryUnload(cudaLibrary_t library)
{
    RT_TRY(rt_enter());
    RT_TRY(rt_result(cuLibraryUnload(library)));
    forget_library(library);
    return cudaSuccess;
}

static struct rt_kernel *find_wrapped(CUkernel driver_kernel)
{
    struct rt_kernel *kernel = rt_registry.library_kernels;
    while (kernel && kernel->driver_kernel != driver_kernel)
        kernel = kernel->next;
    return kernel;
}

/* rt.lock held. */
static cudaError_t wrap_locked(CUlibrary library, CUkernel driver_kernel, const char *name,
                               cudaKernel_t *out_kernel)
{
    assert(hd_lock_held(&rt.lock) && driver_kernel);
    struct rt_kernel *kernel = find_wrapped(driver_kernel);
    if (!kernel) {
        kernel = calloc(1, sizeof(*kernel));
        if (!kernel || !(kernel->name = strdup(name)) ||
            !rt_map_set(&rt_registry.kernels, kernel, kernel)) {
            free(kernel ? kernel->name : NULL);
            free(kernel);
            return rt_fail(cudaErrorMemoryAllocation);
        }
        kernel->driver_kernel = driver_kernel;
        kernel->library = library;
        kernel->next = rt_registry.library_kernels;
        rt_registry.library_kernels = kernel;
    }
    assert(!kernel->fatbin && kernel->library == library);
    *out_kernel = (cudaKernel_t)kernel;
    return cudaSuccess;
}

static cudaError_t wrap(CUlibrary library, CUkernel driver_kernel, cudaKernel_t *out_kernel)
{
    const char *name = "";
    (void)cuKernelGetName(&name, driver_kernel);
    hd_lock_acquire(&rt.lock);
    cudaError_t error = wrap_locked(library, driver_kernel, name, out_kernel);
    hd_lock_release(&rt.lock);
    return error;
}

cudaError_t rt_cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library, const char *name)
{
    CUkernel kernel;
    RT_TRY(rt_enter());
    if (!pKernel)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_result(cuLibraryGetKernel(&kernel, library, name)));
    return wrap(library, kernel, pKernel);
}

cudaError_t rt_cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib)
{
    RT_CALL(cuLibraryGetKernelCount(count, lib));
}

cudaError_t rt_cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels,
                                           cudaLibrary_t lib)
{
    unsigned count = 0;
    RT_TRY(rt_enter());
    if (!kernels)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_result(cuLibraryGetKernelCount(&count, lib)));
    count = HD_MIN(count, numKernels);
    RT_TRY(rt_result(cuLibraryEnumerateKernels((CUkernel *)kernels, count, lib)));
    for (unsigned i = 0; i < count; i++)
        RT_TRY(wrap(lib, kernels[i], &kernels[i]));
    return cudaSuccess;
}

cudaError_t rt_cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library,
                                    const char *name)
{
    CUdeviceptr ptr = 0;
    RT_TRY(rt_enter());
    RT_TRY(rt_result(cuLibraryGetGlobal(&ptr, bytes, library, name)));
    if (dptr)
        *dptr = (void *)(uintptr_t)ptr;
    return cudaSuccess;
}

cudaError_t rt_cudaLibraryGetUnifiedFunction(void **func, cudaLibrary_t library, const char *symbol)
{
    RT_CALL(cuLibraryGetUnifiedFunction(func, library, symbol));
}

cudaError_t rt_cudaLibraryGetManaged(void **dptr, size_t *bytes, cudaLibrary_t library,
                                     const char *name)
{
    CUdeviceptr ptr = 0;
    RT_TRY(rt_enter());
    RT_TRY(rt_result(cuLibraryGetManaged(&ptr, bytes, library, name)));
    if (dptr)
        *dptr = (void *)(uintptr_t)ptr;
    return cudaSuccess;
}
