/*
 * cudaDeviceProp as CUDA 12 laid it out (1032 bytes); CUDA 11's (728 bytes), which a
 * libcudart.so.12 still answers under the plain name, is its beginning. Source: the runtime
 * manuals of 11.8 and 12.8.
 */
#ifndef HD_API_RUNTIME_PROP_H
#define HD_API_RUNTIME_PROP_H

#include "runtime.h"

struct rt12_device_prop {
    char name[256];
    cudaUUID_t uuid;
    char luid[8];
    unsigned int luidDeviceNodeMask;
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    size_t memPitch;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int clockRate;
    size_t totalConstMem;
    int major;
    int minor;
    size_t textureAlignment;
    size_t texturePitchAlignment;
    int deviceOverlap;
    int multiProcessorCount;
    int kernelExecTimeoutEnabled;
    int integrated;
    int canMapHostMemory;
    int computeMode;
    int maxTexture1D;
    int maxTexture1DMipmap;
    int maxTexture1DLinear;
    int maxTexture2D[2];
    int maxTexture2DMipmap[2];
    int maxTexture2DLinear[3];
    int maxTexture2DGather[2];
    int maxTexture3D[3];
    int maxTexture3DAlt[3];
    int maxTextureCubemap;
    int maxTexture1DLayered[2];
    int maxTexture2DLayered[3];
    int maxTextureCubemapLayered[2];
    int maxSurface1D;
    int maxSurface2D[2];
    int maxSurface3D[3];
    int maxSurface1DLayered[2];
    int maxSurface2DLayered[3];
    int maxSurfaceCubemap;
    int maxSurfaceCubemapLayered[2];
    size_t surfaceAlignment;
    int concurrentKernels;
    int ECCEnabled;
    int pciBusID;
    int pciDeviceID;
    int pciDomainID;
    int tccDriver;
    int asyncEngineCount;
    int unifiedAddressing;
    int memoryClockRate;
    int memoryBusWidth;
    int l2CacheSize;
    int persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor;
    int streamPrioritiesSupported;
    int globalL1CacheSupported;
    int localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor;
    int managedMemory;
    int isMultiGpuBoard;
    int multiGpuBoardGroupID;
    int hostNativeAtomicSupported;
    int singleToDoublePrecisionPerfRatio;
    int pageableMemoryAccess;
    int concurrentManagedAccess;
    int computePreemptionSupported;
    int canUseHostPointerForRegisteredMem;
    int cooperativeLaunch;
    int cooperativeMultiDeviceLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables;
    int directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported;
    int sparseCudaArraySupported;
    int hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported;
    int memoryPoolsSupported;
    int gpuDirectRDMASupported;
    unsigned int gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned int memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported;
    int ipcEventSupported;
    int clusterLaunch;
    int unifiedFunctionPointers;
    int reserved[63];
};

#define RT11_DEVICE_PROP_B 728

_Static_assert(sizeof(struct rt12_device_prop) == 1032, "CUDA 12 ABI");
_Static_assert(offsetof(struct rt12_device_prop, hostRegisterSupported) == RT11_DEVICE_PROP_B,
               "CUDA 11 ABI");
_Static_assert(offsetof(struct rt12_device_prop, major) == 360, "CUDA 12 ABI");
_Static_assert(offsetof(struct rt12_device_prop, multiProcessorCount) == 388, "CUDA 12 ABI");
_Static_assert(offsetof(struct rt12_device_prop, concurrentKernels) == 576, "CUDA 12 ABI");
_Static_assert(offsetof(struct rt12_device_prop, managedMemory) == 652, "CUDA 12 ABI");
_Static_assert(offsetof(struct rt12_device_prop, sharedMemPerBlockOptin) == 696, "CUDA 12 ABI");
_Static_assert(sizeof(struct cudaDeviceProp) == 1008, "CUDA 13 ABI");
_Static_assert(offsetof(struct cudaDeviceProp, major) == 360, "CUDA 13 ABI");
_Static_assert(offsetof(struct cudaDeviceProp, multiProcessorCount) == 384, "CUDA 13 ABI");
_Static_assert(offsetof(struct cudaDeviceProp, concurrentKernels) == 560, "CUDA 13 ABI");
_Static_assert(offsetof(struct cudaDeviceProp, managedMemory) == 636, "CUDA 13 ABI");
_Static_assert(offsetof(struct cudaDeviceProp, sharedMemPerBlockOptin) == 672, "CUDA 13 ABI");

#endif
