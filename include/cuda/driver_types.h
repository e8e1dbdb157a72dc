/*
 * Types of the CUDA runtime API: flags here, the rest by topic in heddle/runtime_*.h.
 *
 * Names, values and layouts are those that the CUDA 13 documentation publishes, so that programs
 * and the runtime library agree with binaries built elsewhere. tests/cc pins sizes and offsets.
 */
#if !defined(HEDDLE_CUDA_DRIVER_TYPES_H) && !defined(__DRIVER_TYPES_H__)
#define HEDDLE_CUDA_DRIVER_TYPES_H
/* By this name a toolkit's headers beside the program and these know of each other. */
#define __DRIVER_TYPES_H__

/* Programs rely on having the limits of integers with these types. */
#if !defined(__CUDACC_RTC__)
#include <limits.h>
#endif
#include <stddef.h>

#include "host_defines.h"
#include "vector_types.h"
#include "heddle/runtime_errors.h"
#include "heddle/runtime_device.h"
#include "heddle/runtime_memory.h"
#include "heddle/runtime_launch.h"
#include "heddle/runtime_interop.h"
#include "heddle/runtime_graph.h"

/* Host allocations and registrations. */
#define cudaHostAllocDefault       0x00
#define cudaHostAllocMapped        0x02
#define cudaHostAllocPortable      0x01
#define cudaHostAllocWriteCombined 0x04
#define cudaHostRegisterDefault    0x00
#define cudaHostRegisterIoMemory   0x04
#define cudaHostRegisterMapped     0x02
#define cudaHostRegisterPortable   0x01
#define cudaHostRegisterReadOnly   0x08

/* Streams, events, launches. */
#define cudaEventBlockingSync                   0x01
#define cudaEventDefault                        0x00
#define cudaEventDisableTiming                  0x02
#define cudaEventInterprocess                   0x04
#define cudaEventRecordDefault                  0x00
#define cudaEventRecordExternal                 0x01
#define cudaEventWaitDefault                    0x00
#define cudaEventWaitExternal                   0x01
#define cudaGraphKernelNodePortDefault          0x00
#define cudaGraphKernelNodePortLaunchCompletion 0x02
#define cudaGraphKernelNodePortProgrammatic     0x01
#define cudaOccupancyDefault                    0x00
#define cudaOccupancyDisableCachingOverride     0x01
#define cudaStreamDefault                       0x00
#define cudaStreamNonBlocking                   0x01

/* Devices. */
#define cudaDeviceBlockingSync         0x04
#define cudaDeviceLmemResizeToMax      0x10
#define cudaDeviceMapHost              0x08
#define cudaDeviceMask                 0xff
#define cudaDeviceScheduleAuto         0x00
#define cudaDeviceScheduleBlockingSync 0x04
#define cudaDeviceScheduleMask         0x07
#define cudaDeviceScheduleSpin         0x01
#define cudaDeviceScheduleYield        0x02
#define cudaDeviceSyncMemops           0x80
#define cudaInitDeviceFlagsAreValid    0x01
#define cudaIpcMemLazyEnablePeerAccess 0x01
#define cudaPeerAccessDefault          0x00

/* Arrays. */
#define cudaArrayColorAttachment               0x20
#define cudaArrayCubemap                       0x04
#define cudaArrayDefault                       0x00
#define cudaArrayDeferredMapping               0x80
#define cudaArrayLayered                       0x01
#define cudaArraySparse                        0x40
#define cudaArraySparsePropertiesSingleMipTail 0x01
#define cudaArraySurfaceLoadStore              0x02
#define cudaArrayTextureGather                 0x08

/* Managed memory and pools. */
#define cudaMemAttachGlobal                0x01
#define cudaMemAttachHost                  0x02
#define cudaMemAttachSingle                0x04
#define cudaMemPoolCreateUsageHwDecompress 0x02

/* External objects. */
#define cudaExternalMemoryDedicated                    0x01
#define cudaExternalSemaphoreSignalSkipNvSciBufMemSync 0x01
#define cudaExternalSemaphoreWaitSkipNvSciBufMemSync   0x02
#define cudaNvSciSyncAttrSignal                        0x01
#define cudaNvSciSyncAttrWait                          0x02

#define CUDA_IPC_HANDLE_SIZE 64
#define cudaCpuDeviceId      ((int)-1)
#define cudaInvalidDeviceId  ((int)-2)
#define cudaStreamLegacy     ((cudaStream_t)0x1)
#define cudaStreamPerThread  ((cudaStream_t)0x2)

#endif
