/* Arrays that a maths library spreads over devices, as cuFFT's functions of cufftXt.h take them. */
#if !defined(HEDDLE_CUDA_CUDALIBXT_H) && !defined(_CUDA_LIB_XT_H_)
#define HEDDLE_CUDA_CUDALIBXT_H

/* By this name a toolkit's headers beside the program and these know of each other. */
#define _CUDA_LIB_XT_H_

#include <stddef.h>

#define CUDA_XT_DESCRIPTOR_VERSION 0x01000000
#define MAX_CUDA_DESCRIPTOR_GPUS   64

/* The parts: data[i] of size[i] bytes is in memory of device GPUs[i]. */
struct cudaXtDesc_t {
    int version;
    int nGPUs;
    int GPUs[MAX_CUDA_DESCRIPTOR_GPUS];
    void *data[MAX_CUDA_DESCRIPTOR_GPUS];
    size_t size[MAX_CUDA_DESCRIPTOR_GPUS];
    void *cudaXtState;
};
typedef struct cudaXtDesc_t cudaXtDesc;

enum libFormat_t { LIB_FORMAT_CUFFT = 0, LIB_FORMAT_UNDEFINED = 1 };
typedef enum libFormat_t libFormat;

struct cudaLibXtDesc_t {
    int version;
    cudaXtDesc *descriptor;
    libFormat library;
    int subFormat; /* cufftXtSubFormat */
    void *libDescriptor;
};
typedef struct cudaLibXtDesc_t cudaLibXtDesc;

#endif
