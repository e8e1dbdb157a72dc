/* The version of the CUDA API that these headers describe. */
#ifndef HEDDLE_CUDA_VERSION_H
#define HEDDLE_CUDA_VERSION_H

#define CUDA_VERSION 13000

/* Of the runtime API that the headers declare. */
#define CUDART_VERSION 13000

/* Compiler version macros that programs test; nvcc predefines them. */
#if defined(__CUDACC__) && !defined(__CUDACC_VER_MAJOR__)
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0
#endif
#if !defined(__CUDA_API_VER_MAJOR__)
#define __CUDA_API_VER_MAJOR__ 13
#define __CUDA_API_VER_MINOR__ 0
#endif

#endif
