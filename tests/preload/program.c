/* Calls the embedded runtime from a constructor, as registration code does, and from main(). */
#include <stdio.h>

#include "base/compiler.h"

int cudaRuntimeGetVersion(int *version);
int cudaMalloc(void **ptr, size_t size_B);
int cudaFree(void *ptr);
int cudaDeviceSynchronize(void);
int cudaSetDevice(int device);
int cudaGetLastError(void);
int cudaCheckMine(int a, int b);
int __cudaRegisterLinkedBinary_4c345196_7_main_cu_k(void);
int cudaMine(void);

/* The program's own function with such a name: not the runtime's. */
HD_NOINLINE int cudaMine(void)
{
    return 77;
}

__attribute__((constructor)) static void before_main(void)
{
    int version = 0;
    int status = cudaRuntimeGetVersion(&version);
    printf("constructor: %d %d\n", status, version);
}

int main(void)
{
    void *ptr = NULL;
    int status = cudaMalloc(&ptr, 16);
    printf("malloc: %d %d\n", status, ptr != NULL);
    printf("free: %d\n", cudaFree(ptr));
    printf("short: %d %d\n", cudaDeviceSynchronize(), cudaSetDevice(2));
    printf("last: %d\n", cudaGetLastError());
    printf("own: %d %d\n", cudaCheckMine(3, 4), __cudaRegisterLinkedBinary_4c345196_7_main_cu_k());
    printf("mine: %d\n", cudaMine());
    return 0;
}
