/* What every example needs: checked calls and a verdict. */
#pragma once
#include <cuda_runtime.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t status_ = (call);                                                              \
        if (status_ != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                          \
                    cudaGetErrorString(status_));                                                  \
            exit(2);                                                                               \
        }                                                                                          \
    } while (0)

/* Errors of the launch itself, then of the kernel. */
#define CHECK_KERNEL()                                                                             \
    do {                                                                                           \
        CHECK(cudaGetLastError());                                                                 \
        CHECK(cudaDeviceSynchronize());                                                            \
    } while (0)

/* Prints the one line that an example ends with; returns the exit status. */
static inline int verdict(bool passed, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf(": %s\n", passed ? "PASS" : "FAIL");
    return passed ? 0 : 1;
}
