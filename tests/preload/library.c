/* A library with an embedded runtime, which it calls from its constructor. */
#include <stdio.h>

int cudaRuntimeGetVersion(int *version);
__attribute__((visibility("default"))) int library_call(void);

__attribute__((constructor)) static void library_start(void)
{
    int version = 0;
    int status = cudaRuntimeGetVersion(&version);
    printf("library: %d %d\n", status, version);
}

int library_call(void)
{
    int version = 0;
    return cudaRuntimeGetVersion(&version);
}
