/* cudaGetDeviceProperties: one list of members and attributes fills both layouts. */
#include "prop.h"

#include <string.h>

/* member, name of the cudaDevAttr */
#define PROPERTIES(X)                                                                              \
    X(sharedMemPerBlock, MaxSharedMemoryPerBlock)                                                  \
    X(regsPerBlock, MaxRegistersPerBlock)                                                          \
    X(warpSize, WarpSize)                                                                          \
    X(memPitch, MaxPitch)                                                                          \
    X(maxThreadsPerBlock, MaxThreadsPerBlock)                                                      \
    X(maxThreadsDim[0], MaxBlockDimX)                                                              \
    X(maxThreadsDim[1], MaxBlockDimY)                                                              \
    X(maxThreadsDim[2], MaxBlockDimZ)                                                              \
    X(maxGridSize[0], MaxGridDimX)                                                                 \
    X(maxGridSize[1], MaxGridDimY)                                                                 \
    X(maxGridSize[2], MaxGridDimZ)                                                                 \
    X(totalConstMem, TotalConstantMemory)                                                          \
    X(major, ComputeCapabilityMajor)                                                               \
    X(minor, ComputeCapabilityMinor)                                                               \
    X(textureAlignment, TextureAlignment)                                                          \
    X(texturePitchAlignment, TexturePitchAlignment)                                                \
    X(multiProcessorCount, MultiProcessorCount)                                                    \
    X(integrated, Integrated)                                                                      \
    X(canMapHostMemory, CanMapHostMemory)                                                          \
    X(maxTexture1D, MaxTexture1DWidth)                                                             \
    X(maxTexture1DMipmap, MaxTexture1DMipmappedWidth)                                              \
    X(maxTexture2D[0], MaxTexture2DWidth)                                                          \
    X(maxTexture2D[1], MaxTexture2DHeight)                                                         \
    X(maxTexture2DMipmap[0], MaxTexture2DMipmappedWidth)                                           \
    X(maxTexture2DMipmap[1], MaxTexture2DMipmappedHeight)                                          \
    X(maxTexture2DLinear[0], MaxTexture2DLinearWidth)                                              \
    X(maxTexture2DLinear[1], MaxTexture2DLinearHeight)                                             \
    X(maxTexture2DLinear[2], MaxTexture2DLinearPitch)                                              \
    X(maxTexture2DGather[0], MaxTexture2DGatherWidth)                                              \
    X(maxTexture2DGather[1], MaxTexture2DGatherHeight)                                             \
    X(maxTexture3D[0], MaxTexture3DWidth)                                                          \
    X(maxTexture3D[1], MaxTexture3DHeight)                                                         \
    X(maxTexture3D[2], MaxTexture3DDepth)                                                          \
    X(maxTexture3DAlt[0], MaxTexture3DWidthAlt)                                                    \
    X(maxTexture3DAlt[1], MaxTexture3DHeightAlt)                                                   \
    X(maxTexture3DAlt[2], MaxTexture3DDepthAlt)                                                    \
    X(maxTextureCubemap, MaxTextureCubemapWidth)                                                   \
    X(maxTexture1DLayered[0], MaxTexture1DLayeredWidth)                                            \
    X(maxTexture1DLayered[1], MaxTexture1DLayeredLayers)                                           \
    X(maxTexture2DLayered[0], MaxTexture2DLayeredWidth)                                            \
    X(maxTexture2DLayered[1], MaxTexture2DLayeredHeight)                                           \
    X(maxTexture2DLayered[2], MaxTexture2DLayeredLayers)                                           \
    X(maxTextureCubemapLayered[0], MaxTextureCubemapLayeredWidth)                                  \
    X(maxTextureCubemapLayered[1], MaxTextureCubemapLayeredLayers)                                 \
    X(maxSurface1D, MaxSurface1DWidth)                                                             \
    X(maxSurface2D[0], MaxSurface2DWidth)                                                          \
    X(maxSurface2D[1], MaxSurface2DHeight)                                                         \
    X(maxSurface3D[0], MaxSurface3DWidth)                                                          \
    X(maxSurface3D[1], MaxSurface3DHeight)                                                         \
    X(maxSurface3D[2], MaxSurface3DDepth)                                                          \
    X(maxSurface1DLayered[0], MaxSurface1DLayeredWidth)                                            \
    X(maxSurface1DLayered[1], MaxSurface1DLayeredLayers)                                           \
    X(maxSurface2DLayered[0], MaxSurface2DLayeredWidth)                                            \
    X(maxSurface2DLayered[1], MaxSurface2DLayeredHeight)                                           \
    X(maxSurface2DLayered[2], MaxSurface2DLayeredLayers)                                           \
    X(maxSurfaceCubemap, MaxSurfaceCubemapWidth)                                                   \
    X(maxSurfaceCubemapLayered[0], MaxSurfaceCubemapLayeredWidth)                                  \
    X(maxSurfaceCubemapLayered[1], MaxSurfaceCubemapLayeredLayers)                                 \
    X(surfaceAlignment, SurfaceAlignment)                                                          \
    X(concurrentKernels, ConcurrentKernels)                                                        \
    X(ECCEnabled, EccEnabled)                                                                      \
    X(pciBusID, PciBusId)                                                                          \
    X(pciDeviceID, PciDeviceId)                                                                    \
    X(pciDomainID, PciDomainId)                                                                    \
    X(tccDriver, TccDriver)                                                                        \
    X(asyncEngineCount, AsyncEngineCount)                                                          \
    X(unifiedAddressing, UnifiedAddressing)                                                        \
    X(memoryBusWidth, GlobalMemoryBusWidth)                                                        \
    X(l2CacheSize, L2CacheSize)                                                                    \
    X(persistingL2CacheMaxSize, MaxPersistingL2CacheSize)                                          \
    X(maxThreadsPerMultiProcessor, MaxThreadsPerMultiProcessor)                                    \
    X(streamPrioritiesSupported, StreamPrioritiesSupported)                                        \
    X(globalL1CacheSupported, GlobalL1CacheSupported)                                              \
    X(localL1CacheSupported, LocalL1CacheSupported)                                                \
    X(sharedMemPerMultiprocessor, MaxSharedMemoryPerMultiprocessor)                                \
    X(regsPerMultiprocessor, MaxRegistersPerMultiprocessor)                                        \
    X(managedMemory, ManagedMemory)                                                                \
    X(isMultiGpuBoard, IsMultiGpuBoard)                                                            \
    X(multiGpuBoardGroupID, MultiGpuBoardGroupID)                                                  \
    X(hostNativeAtomicSupported, HostNativeAtomicSupported)                                        \
    X(pageableMemoryAccess, PageableMemoryAccess)                                                  \
    X(concurrentManagedAccess, ConcurrentManagedAccess)                                            \
    X(computePreemptionSupported, ComputePreemptionSupported)                                      \
    X(canUseHostPointerForRegisteredMem, CanUseHostPointerForRegisteredMem)                        \
    X(cooperativeLaunch, CooperativeLaunch)                                                        \
    X(sharedMemPerBlockOptin, MaxSharedMemoryPerBlockOptin)                                        \
    X(pageableMemoryAccessUsesHostPageTables, PageableMemoryAccessUsesHostPageTables)              \
    X(directManagedMemAccessFromHost, DirectManagedMemAccessFromHost)                              \
    X(maxBlocksPerMultiProcessor, MaxBlocksPerMultiprocessor)                                      \
    X(accessPolicyMaxWindowSize, MaxAccessPolicyWindowSize)                                        \
    X(reservedSharedMemPerBlock, ReservedSharedMemoryPerBlock)                                     \
    X(hostRegisterSupported, HostRegisterSupported)                                                \
    X(sparseCudaArraySupported, SparseCudaArraySupported)                                          \
    X(hostRegisterReadOnlySupported, HostRegisterReadOnlySupported)                                \
    X(timelineSemaphoreInteropSupported, TimelineSemaphoreInteropSupported)                        \
    X(memoryPoolsSupported, MemoryPoolsSupported)                                                  \
    X(gpuDirectRDMASupported, GPUDirectRDMASupported)                                              \
    X(gpuDirectRDMAFlushWritesOptions, GPUDirectRDMAFlushWritesOptions)                            \
    X(gpuDirectRDMAWritesOrdering, GPUDirectRDMAWritesOrdering)                                    \
    X(memoryPoolSupportedHandleTypes, MemoryPoolSupportedHandleTypes)                              \
    X(deferredMappingCudaArraySupported, DeferredMappingCudaArraySupported)                        \
    X(ipcEventSupported, IpcEventSupport)                                                          \
    X(clusterLaunch, ClusterLaunch)

/* Only in CUDA 12's layout. */
#define PROPERTIES_12(X)                                                                           \
    X(clockRate, ClockRate)                                                                        \
    X(deviceOverlap, GpuOverlap)                                                                   \
    X(kernelExecTimeoutEnabled, KernelExecTimeout)                                                 \
    X(computeMode, ComputeMode)                                                                    \
    X(maxTexture1DLinear, MaxTexture1DLinearWidth)                                                 \
    X(memoryClockRate, MemoryClockRate)                                                            \
    X(singleToDoublePrecisionPerfRatio, SingleToDoublePrecisionPerfRatio)

/* Only in CUDA 13's. */
#define PROPERTIES_13(X)                                                                           \
    X(deviceNumaConfig, NumaConfig)                                                                \
    X(deviceNumaId, NumaId)                                                                        \
    X(mpsEnabled, MpsEnabled)                                                                      \
    X(hostNumaId, HostNumaId)                                                                      \
    X(gpuPciDeviceID, GpuPciDeviceId)                                                              \
    X(gpuPciSubsystemID, GpuPciSubsystemId)                                                        \
    X(hostNumaMultinodeIpcSupported, HostNumaMultinodeIpcSupported)

#define X(member, attr) prop->member = (__typeof__(prop->member))values[cudaDevAttr##attr];

static cudaError_t fill(struct cudaDeviceProp *prop, int device)
{
    CUuuid uuid;
    int values[CU_DEVICE_ATTRIBUTE_MAX];
    memset(prop, 0, sizeof(*prop));
    RT_TRY(rt_result(cuDeviceGetName(prop->name, sizeof(prop->name), device)));
    RT_TRY(rt_result(cuDeviceTotalMem_v2(&prop->totalGlobalMem, device)));
    if (cuDeviceGetUuid_v2(&uuid, device) == CUDA_SUCCESS)
        memcpy(&prop->uuid, &uuid, sizeof(prop->uuid));
    heddle_device_attributes(device, values);
    PROPERTIES(X)
    PROPERTIES_13(X)
    return cudaSuccess;
}

static void fill_12(struct rt12_device_prop *prop, const struct cudaDeviceProp *from, int device)
{
    int values[CU_DEVICE_ATTRIBUTE_MAX];
    memset(prop, 0, sizeof(*prop));
    memcpy(prop->name, from->name, sizeof(prop->name));
    prop->uuid = from->uuid;
    prop->totalGlobalMem = from->totalGlobalMem;
    heddle_device_attributes(device, values);
    PROPERTIES(X)
    PROPERTIES_12(X)
    prop->cooperativeMultiDeviceLaunch =
        values[CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH]; /* 13 has no name for it */
}

#undef X

cudaError_t rt_cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    RT_TRY(rt_init());
    if (!prop)
        return rt_fail(cudaErrorInvalidValue);
    if (device < 0 || device >= rt.device_count)
        return rt_fail(cudaErrorInvalidDevice);
    return fill(prop, device);
}

/* `prop` is a struct rt12_device_prop. */
cudaError_t rt_cudaGetDeviceProperties_v2(void *prop, int device)
{
    struct cudaDeviceProp newest;
    if (!prop)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_cudaGetDeviceProperties(&newest, device));
    fill_12(prop, &newest, device);
    return cudaSuccess;
}

/* What a program built with CUDA 11 headers means: the first 728 bytes. */
cudaError_t rt12_cudaGetDeviceProperties(void *prop, int device)
{
    struct rt12_device_prop full;
    if (!prop)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_cudaGetDeviceProperties_v2(&full, device));
    memcpy(prop, &full, RT11_DEVICE_PROP_B);
    return cudaSuccess;
}
