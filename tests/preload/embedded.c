/*
 * A program with an "embedded runtime": functions that bear the runtime's names, in a file of their
 * own as an archive member would be. Each says that it ran; redirected, none of them does.
 */
#include <stdio.h>

#include "base/compiler.h"

#define ENTRY HD_NOINLINE __attribute__((used)) int

ENTRY cudaRuntimeGetVersion(int *version);
ENTRY cudaMalloc(void **ptr, size_t size_B);
ENTRY cudaOfTheFuture(int a, int b);
ENTRY cudaFree(void *ptr);
ENTRY cudaDeviceSynchronize(void);
ENTRY __cudaShort(void);
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

/* Not in our library: becomes a stub. */
ENTRY cudaOfTheFuture(int a, int b)
{
    embedded_ran(__func__);
    return a + b;
}

/* Too short for a long jump, and packed tightly. */
#ifdef __x86_64__
__asm__(".p2align 4\n"
        ".globl cudaDeviceSynchronize\n.type cudaDeviceSynchronize, @function\n"
        "cudaDeviceSynchronize:\n"
        "movl $103, %eax\nret\n"
        ".size cudaDeviceSynchronize, .-cudaDeviceSynchronize\n"
        ".globl __cudaShort\n.type __cudaShort, @function\n"
        "__cudaShort:\n"
        "xorl %eax, %eax\nret\n"
        ".size __cudaShort, .-__cudaShort\n"
        ".p2align 4\n");
#else
ENTRY cudaDeviceSynchronize(void)
{
    return 103;
}
ENTRY __cudaShort(void)
{
    return 0;
}
#endif

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
