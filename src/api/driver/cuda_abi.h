/*
 * The driver API's binary interface: the public header with the symbols by the names that
 * libcuda.so.1 exports (no renaming macros: cuMemAlloc_v2 is called cuMemAlloc_v2), types of
 * versions that the public header left behind, and what is generated from spec/api/driver.def:
 * prototypes of the other symbols, of the functions behind them, and the argument structs.
 * api/runtime and tests call the driver through this header too.
 *
 * Written from the public API documentation. Layouts are pinned by tests/api/test_abi.c.
 */
#ifndef HD_API_DRIVER_CUDA_ABI_H
#define HD_API_DRIVER_CUDA_ABI_H

#include <stdint.h>

#define __CUDA_API_VERSION_INTERNAL
#include "cuda/cuda.h"

/* ---- types of the first version, when device addresses and sizes had 32 bits */

typedef unsigned int CUdeviceptr_v1;

typedef struct CUDA_ARRAY_DESCRIPTOR_v1_st {
    unsigned int Width, Height;
    CUarray_format Format;
    unsigned int NumChannels;
} CUDA_ARRAY_DESCRIPTOR_v1;

typedef struct CUDA_ARRAY3D_DESCRIPTOR_v1_st {
    unsigned int Width, Height, Depth;
    CUarray_format Format;
    unsigned int NumChannels;
    unsigned int Flags;
} CUDA_ARRAY3D_DESCRIPTOR_v1;

typedef struct CUDA_MEMCPY2D_v1_st {
    unsigned int srcXInBytes, srcY;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr_v1 srcDevice;
    CUarray srcArray;
    unsigned int srcPitch;
    unsigned int dstXInBytes, dstY;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr_v1 dstDevice;
    CUarray dstArray;
    unsigned int dstPitch;
    unsigned int WidthInBytes, Height;
} CUDA_MEMCPY2D_v1;

typedef struct CUDA_MEMCPY3D_v1_st {
    unsigned int srcXInBytes, srcY, srcZ, srcLOD;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr_v1 srcDevice;
    CUarray srcArray;
    void *reserved0;
    unsigned int srcPitch, srcHeight;
    unsigned int dstXInBytes, dstY, dstZ, dstLOD;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr_v1 dstDevice;
    CUarray dstArray;
    void *reserved1;
    unsigned int dstPitch, dstHeight;
    unsigned int WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D_v1;

/* ---- types of graphics libraries, whose headers Heddle does not need: all calls are refused */

typedef unsigned int GLuint;
typedef unsigned int GLenum;
typedef int EGLint;
typedef void *EGLImageKHR;
typedef void *EGLStreamKHR;
typedef void *EGLSyncKHR;
typedef uint32_t VdpDevice;
typedef uint32_t VdpVideoSurface;
typedef uint32_t VdpOutputSurface;
typedef int VdpGetProcAddress(VdpDevice device, uint32_t function, void **out_pointer);
typedef struct CUeglStreamConnection_st *CUeglStreamConnection;

typedef enum CUGLDeviceList_enum {
    CU_GL_DEVICE_LIST_ALL = 1,
    CU_GL_DEVICE_LIST_CURRENT_FRAME = 2,
    CU_GL_DEVICE_LIST_NEXT_FRAME = 3
} CUGLDeviceList;

typedef struct CUeglFrame_st {
    union {
        CUarray pArray[3];
        void *pPitch[3];
    } frame;
    unsigned int width, height, depth, pitch, planeCount, numChannels;
    int frameType, eglColorFormat; /* enumerations */
    CUarray_format cuFormat;
} CUeglFrame;

#include <driver_entries.h>

/* All attributes of a device by number, for cudaGetDeviceProperties. libcuda exports it. */
void heddle_device_attributes(CUdevice device, int values[CU_DEVICE_ATTRIBUTE_MAX]);

/* Of all devices, hidden ones included, for NVML: core_device_identity(). libcuda exports it. */
/*
 * For NVML, which looks at devices and uses none: cuInit() that leaves children of fork() free to
 * use CUDA, and what it needs to know of device 0 without having initialised CUDA.
 */
CUresult heddle_devices_open(void);
/*
 * The program asks the runtime for devices. Frameworks whose kernels do not run here are given
 * others at that moment, by what `heddle run` has preloaded (src/preload). Without locks held.
 */
void heddle_devices_asked(void);
const char *heddle_device_name(void);
CUresult heddle_device_memory(size_t *out_total_B);
CUresult heddle_device_attribute(int *out_value, CUdevice_attribute what);
unsigned heddle_device_identity(unsigned index, CUuuid *uuid, int *pci_bus);

/*
 * The library's variable is this memory of the program's, and is managed. Before the library is
 * used in a context; the name stays the caller's.
 */
CUresult heddle_library_place(CUlibrary library, const char *name, void *memory, size_t size_B);

/* What heddle_native_stand_in() (heddle/native.h) gave for a device function, or NULL. */
CUkernel heddle_native_standing_in(const char *symbol);

#endif
