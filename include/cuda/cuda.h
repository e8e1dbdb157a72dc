/*
 * The CUDA driver API for C and C++, version 13.0 as published: types, enumerations and prototypes.
 *
 * Link with -lcuda (Heddle's libcuda.so.1). Plain names stand for the newest version of a function
 * (cuMemAlloc is cuMemAlloc_v2), as the manual defines them. Entry points that Heddle lacks exist
 * and answer CUDA_ERROR_NOT_SUPPORTED.
 */
#if !defined(HEDDLE_CUDA_CUDA_H) && !defined(__cuda_cuda_h__)
#define HEDDLE_CUDA_CUDA_H

/* By this name a toolkit's headers beside the program and these know of each other. */
#define __cuda_cuda_h__

#include <stddef.h>
#include <stdint.h>

#include "cuda_version.h"

#define CUDA_VERSION 13000 /* build systems read it here */

#if !defined(CUDAAPI)
#define CUDAAPI
#endif
#if !defined(CUDA_CB)
#define CUDA_CB
#endif

#define CUDA_ARRAY3D_2DARRAY                                     0x01
#define CUDA_ARRAY3D_COLOR_ATTACHMENT                            0x20
#define CUDA_ARRAY3D_CUBEMAP                                     0x04
#define CUDA_ARRAY3D_DEFERRED_MAPPING                            0x80
#define CUDA_ARRAY3D_DEPTH_TEXTURE                               0x10
#define CUDA_ARRAY3D_LAYERED                                     0x01
#define CUDA_ARRAY3D_SPARSE                                      0x40
#define CUDA_ARRAY3D_SURFACE_LDST                                0x02
#define CUDA_ARRAY3D_TEXTURE_GATHER                              0x08
#define CUDA_ARRAY3D_VIDEO_ENCODE_DECODE                         0x100
#define CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC 0x02
#define CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC  0x01
#define CUDA_EXTERNAL_MEMORY_DEDICATED                           0x01
#define CUDA_EXTERNAL_SEMAPHORE_SIGNAL_SKIP_NVSCIBUF_MEMSYNC     0x01
#define CUDA_EXTERNAL_SEMAPHORE_WAIT_SKIP_NVSCIBUF_MEMSYNC       0x02
#define CUDA_NVSCISYNC_ATTR_SIGNAL                               0x01
#define CUDA_NVSCISYNC_ATTR_WAIT                                 0x02
#define CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL                0x01
#define CU_COMPUTE_ACCELERATED_TARGET_BASE                       0x10000
#define CU_COMPUTE_FAMILY_TARGET_BASE                            0x20000
#define CU_GRAPH_COND_ASSIGN_DEFAULT                             0x01
#define CU_GRAPH_KERNEL_NODE_PORT_DEFAULT                        0x00
#define CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER                   0x02
#define CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC                   0x01
#define CU_IPC_HANDLE_SIZE                                       0x40
#define CU_LAUNCH_KERNEL_REQUIRED_BLOCK_DIM                      0x01
#define CU_MEMHOSTALLOC_DEVICEMAP                                0x02
#define CU_MEMHOSTALLOC_PORTABLE                                 0x01
#define CU_MEMHOSTALLOC_WRITECOMBINED                            0x04
#define CU_MEMHOSTREGISTER_DEVICEMAP                             0x02
#define CU_MEMHOSTREGISTER_IOMEMORY                              0x04
#define CU_MEMHOSTREGISTER_PORTABLE                              0x01
#define CU_MEMHOSTREGISTER_READ_ONLY                             0x08
#define CU_MEM_CREATE_USAGE_HW_DECOMPRESS                        0x02
#define CU_MEM_CREATE_USAGE_TILE_POOL                            0x01
#define CU_MEM_POOL_CREATE_USAGE_HW_DECOMPRESS                   0x02
#define CU_PARAM_TR_DEFAULT                                      (-1)
#define CU_TENSOR_MAP_NUM_QWORDS                                 0x10
#define CU_TRSA_OVERRIDE_FORMAT                                  0x01
#define CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION                   0x20
#define CU_TRSF_NORMALIZED_COORDINATES                           0x02
#define CU_TRSF_READ_AS_INTEGER                                  0x01
#define CU_TRSF_SEAMLESS_CUBEMAP                                 0x40
#define CU_TRSF_SRGB                                             0x10

#define CU_STREAM_LEGACY     ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)
#define CU_DEVICE_CPU        ((CUdevice) - 1)
#define CU_DEVICE_INVALID    ((CUdevice) - 2)

/* The `extra` argument of cuLaunchKernel(): a list of these with values, closed by _END. */
#define CU_LAUNCH_PARAM_END_AS_INT            0x00
#define CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT 0x01
#define CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT    0x02
#define CU_LAUNCH_PARAM_END                   ((void *)CU_LAUNCH_PARAM_END_AS_INT)
#define CU_LAUNCH_PARAM_BUFFER_POINTER        ((void *)CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT)
#define CU_LAUNCH_PARAM_BUFFER_SIZE           ((void *)CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT)

#include "heddle/driver_structs_launch.h"
#if !defined(__CUDA_API_VERSION_INTERNAL)
#include "heddle/driver_names.h"
#endif
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#include "heddle/driver_streams.h"
#endif
#include "heddle/driver_api_device.h"
#include "heddle/driver_api_memory.h"
#include "heddle/driver_api_graph.h"

#endif
