/* How conversions round: CUDA Math API manual, types of FP8 and wider. */
#ifndef HEDDLE_CUDA_DEVICE_TYPES_H
#define HEDDLE_CUDA_DEVICE_TYPES_H

enum cudaRoundMode {
    cudaRoundNearest,
    cudaRoundZero,
    cudaRoundPosInf,
    cudaRoundMinInf,
};

#endif
