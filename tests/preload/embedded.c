/*
 * A program with an "embedded runtime": functions that bear the runtime's names, in a file of their
 * own as an archive member would be. Each says that it ran; redirected, none of them does. In
 * between are functions that only begin like them: those are the program's and run.
 */
#include <stdio.h>

#include "base/compiler.h"

#define ENTRY HD_NOINLINE __attribute__((used)) int

ENTRY cudaRuntimeGetVersion(int *version);
ENTRY cudaMalloc(void **ptr, size_t size_B);
ENTRY cudaCheckMine(int a, int b);
ENTRY __cudaRegisterLinkedBinary_4c345196_7_main_cu_k(void);
ENTRY libcudart_static_0056bd523cc9f704(void);
ENTRY cudaFree(void *ptr);
ENTRY cudaDeviceSynchronize(void);
ENTRY cudaSetDevice(void);
ENTRY cudaDeviceGetNvSciSyncAttributes(void *ptr);
ENTRY cudaGetLastError(void);

static void embedded_ran(const char *name)
{
    printf("embedded %s ran\n", name);
}

ENTRY cudaRuntimeGetVersion(int *version)
{
    *version = -1;
    embedded_ran(__func__);
    return 103;
}

ENTRY cudaMalloc(void **ptr, size_t size_B)
{
    *ptr = NULL;
    embedded_ran(__func__);
    return 103;
}

ENTRY cudaCheckMine(int a, int b)
{
    return a + b;
}

/* As nvcc -rdc=true writes one for each object. */
ENTRY __cudaRegisterLinkedBinary_4c345196_7_main_cu_k(void)
{
    int version = 0;
    return cudaRuntimeGetVersion(&version) == 0 ? version : -1;
}

/* The runtime's internal functions have such names; they say nothing about the place of others. */
ENTRY libcudart_static_0056bd523cc9f704(void)
{
    return 0;
}

/* Too short for a long jump, and packed tightly. */
#ifdef __x86_64__
__asm__(".p2align 4\n"
        ".globl cudaDeviceSynchronize\n.type cudaDeviceSynchronize, @function\n"
        "cudaDeviceSynchronize:\n"
        "movl $103, %eax\nret\n"
        ".size cudaDeviceSynchronize, .-cudaDeviceSynchronize\n"
        ".globl cudaSetDevice\n.type cudaSetDevice, @function\n"
        "cudaSetDevice:\n"
        "xorl %eax, %eax\nret\n"
        ".size cudaSetDevice, .-cudaSetDevice\n"
        ".p2align 4\n");
#else
ENTRY cudaDeviceSynchronize(void)
{
    return 103;
}
ENTRY cudaSetDevice(void)
{
    return 0;
}
#endif

/* Not in the library that stands for ours. */
ENTRY cudaDeviceGetNvSciSyncAttributes(void *ptr)
{
    return 103;
}

ENTRY cudaFree(void *ptr)
{
    embedded_ran(__func__);
    return 103;
}

ENTRY cudaGetLastError(void)
{
    embedded_ran(__func__);
    return 103;
}
