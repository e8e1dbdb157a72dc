/* Libraries of kernels loaded at run time: the driver's. */
#include "runtime.h"

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

cudaError_t rt_cudaLibraryUnload(cudaLibrary_t library)
{
    RT_CALL(cuLibraryUnload(library));
}

cudaError_t rt_cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library, const char *name)
{
    RT_CALL(cuLibraryGetKernel(pKernel, library, name));
}

cudaError_t rt_cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib)
{
    RT_CALL(cuLibraryGetKernelCount(count, lib));
}

cudaError_t rt_cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels,
                                           cudaLibrary_t lib)
{
    RT_CALL(cuLibraryEnumerateKernels(kernels, numKernels, lib));
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
