/* How conversions round: CUDA Math API manual, types of FP8 and wider. */
#if !defined(HEDDLE_CUDA_DEVICE_TYPES_H) && !defined(__DEVICE_TYPES_H__)
#define HEDDLE_CUDA_DEVICE_TYPES_H

/* By this name a toolkit's headers beside the program and these know of each other. */
#define __DEVICE_TYPES_H__

enum cudaRoundMode {
    cudaRoundNearest,
    cudaRoundZero,
    cudaRoundPosInf,
    cudaRoundMinInf,
};

#endif
