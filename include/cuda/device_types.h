/* How conversions round: CUDA Math API manual, types of FP8 and wider. */
#ifndef HEDDLE_CUDA_DEVICE_TYPES_H
#define HEDDLE_CUDA_DEVICE_TYPES_H

/* By this name a toolkit's headers beside the program know that they are not needed any more. */
#define __DEVICE_TYPES_H__

enum cudaRoundMode {
    cudaRoundNearest,
    cudaRoundZero,
    cudaRoundPosInf,
    cudaRoundMinInf,
};

#endif
