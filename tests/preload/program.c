/* Calls the embedded runtime from a constructor, as registration code does, and from main(). */
#include <stdio.h>

#include "base/compiler.h"

int cudaRuntimeGetVersion(int *version);
int cudaMalloc(void **ptr, size_t size_B);
int cudaFree(void *ptr);
int cudaDeviceSynchronize(void);
int cudaGetLastError(void);
int cudaOfTheFuture(int a, int b);
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
    printf("short: %d\n", cudaDeviceSynchronize());
    printf("last: %d\n", cudaGetLastError());
    printf("future: %d %d\n", cudaOfTheFuture(1, 2), cudaOfTheFuture(3, 4));
    printf("mine: %d\n", cudaMine());
    return 0;
}
