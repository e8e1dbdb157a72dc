/*
 * Sizes and offsets that programs compiled elsewhere rely on, as measured on CUDA 13 binaries. It
 * is compiled, not run.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <library_types.h>

#define SIZE(type, n)           _Static_assert(sizeof(type) == (n), #type)
#define OFFSET(type, member, n) _Static_assert(offsetof(type, member) == (n), #type "." #member)

SIZE(struct cudaDeviceProp, 1008);
OFFSET(struct cudaDeviceProp, totalGlobalMem, 288);
OFFSET(struct cudaDeviceProp, major, 360);
OFFSET(struct cudaDeviceProp, multiProcessorCount, 384);
OFFSET(struct cudaDeviceProp, concurrentKernels, 560);
OFFSET(struct cudaDeviceProp, managedMemory, 636);
OFFSET(struct cudaDeviceProp, sharedMemPerBlockOptin, 672);
SIZE(struct cudaFuncAttributes, 144);
SIZE(struct cudaPointerAttributes, 88);
SIZE(struct cudaMemcpy3DParms, 160);
SIZE(struct cudaResourceDesc, 144);
SIZE(struct cudaChannelFormatDesc, 20);
SIZE(cudaLaunchAttributeValue, 64);
SIZE(cudaLaunchAttribute, 72);
SIZE(cudaLaunchConfig_t, 56);
SIZE(struct cudaKernelNodeParams, 56);
SIZE(struct cudaGraphNodeParams, 256);
SIZE(cudaGraphEdgeData, 8);
SIZE(struct cudaMemPoolProps, 88);
SIZE(struct cudaMemLocation, 8);
SIZE(cudaIpcMemHandle_t, 64);
SIZE(CUDA_MEMCPY2D, 128);
SIZE(CUDA_MEMCPY3D, 200);
SIZE(CUlaunchConfig, 56);
SIZE(CUgraphNodeParams, 256);
SIZE(CUuuid, 16);
SIZE(CUdeviceptr, 8);
SIZE(dim3, 12);
SIZE(float3, 12);
SIZE(float4, 16);
SIZE(double3, 24);
SIZE(uchar4, 4);
_Static_assert(_Alignof(float4) == 16 && _Alignof(double2) == 16 && _Alignof(char4) == 4,
               "vectors");
_Static_assert((int)cudaErrorInvalidValue == 1 && (int)cudaErrorNotSupported == 801 &&
                   (int)cudaErrorIllegalAddress == 700 && (int)cudaErrorUnknown == 999,
               "errors");
_Static_assert((int)CUDA_ERROR_NOT_FOUND == 500 && (int)CUDA_ERROR_NOT_SUPPORTED == 801, "results");
_Static_assert((int)cudaDevAttrMultiProcessorCount == 16 &&
                   (int)cudaDevAttrComputeCapabilityMajor == 75 &&
                   (int)CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT == 16,
               "attributes");
