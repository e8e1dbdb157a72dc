/* cuDNN: the version whose interface this is. */
#ifndef HEDDLE_CUDA_CUDNN_VERSION_H
#define HEDDLE_CUDA_CUDNN_VERSION_H

#define CUDNN_MAJOR      9
#define CUDNN_MINOR      28
#define CUDNN_PATCHLEVEL 0
#define CUDNN_VERSION    (CUDNN_MAJOR * 10000 + CUDNN_MINOR * 100 + CUDNN_PATCHLEVEL)

#endif
