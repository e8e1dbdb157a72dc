/* What stdgpu's CMake build would make: CUDA, with the library's own checks. */
#ifndef STDGPU_CONFIG_H
#define STDGPU_CONFIG_H
#define STDGPU_BACKEND                 STDGPU_BACKEND_CUDA
#define STDGPU_BACKEND_DIRECTORY       cuda
#define STDGPU_BACKEND_NAMESPACE       cuda
#define STDGPU_BACKEND_MACRO_NAMESPACE CUDA
#define STDGPU_ENABLE_CONTRACT_CHECKS  1
#define STDGPU_USE_32_BIT_INDEX        1
#endif
