/* Stands for our libcudart.so.13: what the redirected program must reach. */
#include <stdlib.h>

#include "base/compiler.h"

HD_EXPORT int cudaRuntimeGetVersion(int *version);
HD_EXPORT int cudaMalloc(void **ptr, size_t size_B);
HD_EXPORT int cudaFree(void *ptr);
HD_EXPORT int cudaDeviceSynchronize(void);
HD_EXPORT int cudaDeviceSynchronize_ptsz(void);
HD_EXPORT int cudaSetDevice(int device);
HD_EXPORT int fake_last_error_12(void);
HD_EXPORT int fake_last_error_13(void);

int cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

int cudaMalloc(void **ptr, size_t size_B)
{
    *ptr = malloc(size_B);
    return *ptr ? 0 : 2;
}

int cudaFree(void *ptr)
{
    free(ptr);
    return 0;
}

int cudaDeviceSynchronize(void)
{
    return 5;
}

int cudaDeviceSynchronize_ptsz(void)
{
    return 55;
}

int cudaSetDevice(int device)
{
    return device + 7;
}

/* One name with an ABI per version. */
int fake_last_error_12(void)
{
    return 12;
}

int fake_last_error_13(void)
{
    return 13;
}

__asm__(".symver fake_last_error_12,cudaGetLastError@libcudart.so.12");
__asm__(".symver fake_last_error_13,cudaGetLastError@@libcudart.so.13");
