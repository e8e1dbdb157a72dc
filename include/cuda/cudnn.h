/*
 * cuDNN: all of its parts. Names and values as in NVIDIA's cuDNN API reference; docs/cudnn.md says
 * what works.
 */
#ifndef HEDDLE_CUDA_CUDNN_H
#define HEDDLE_CUDA_CUDNN_H

#include "cudnn_adv.h"
#include "cudnn_backend.h"
#include "cudnn_cnn.h"
#include "cudnn_graph.h"
#include "cudnn_ops.h"
#include "cudnn_version.h"

#endif
