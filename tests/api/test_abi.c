/* Sizes and offsets of the driver API's public structs. */
#include "api/driver/cuda_abi.h"
#include "tap.h"

int main(void)
{
    eq_u64(sizeof(CUlaunchAttribute), 72, "launch attribute");
    eq_u64(offsetof(CUlaunchAttribute, value), 8, "its value");
    eq_u64(sizeof(CUlaunchConfig), 56, "launch configuration");
    eq_u64(offsetof(CUlaunchConfig, hStream), 32, "its stream");
    eq_u64(sizeof(CUDA_MEMCPY2D), 128, "2D copy");
    eq_u64(offsetof(CUDA_MEMCPY2D, WidthInBytes), 112, "its width");
    eq_u64(sizeof(CUDA_MEMCPY3D), 200, "3D copy");
    eq_u64(offsetof(CUDA_MEMCPY3D, dstXInBytes), 88, "its destination");
    eq_u64(sizeof(CUDA_MEMCPY2D_v1), 96, "2D copy of the first version");
    eq_u64(offsetof(CUDA_MEMCPY2D_v1, dstXInBytes), 44, "its destination");
    eq_u64(offsetof(CUDA_MEMCPY2D_v1, WidthInBytes), 84, "its width");
    eq_u64(sizeof(CUDA_MEMCPY3D_v1), 144, "3D copy of the first version");
    eq_u64(offsetof(CUDA_MEMCPY3D_v1, dstXInBytes), 64, "its destination");
    eq_u64(offsetof(CUDA_MEMCPY3D_v1, WidthInBytes), 128, "its width");
    eq_u64(sizeof(CUDA_ARRAY_DESCRIPTOR_v1), 16, "array of the first version");
    eq_u64(sizeof(CUDA_ARRAY3D_DESCRIPTOR_v1), 24, "3D array of the first version");
    eq_u64(sizeof(CUuuid), 16, "UUID");
    eq_u64(sizeof(CUdeviceptr), 8, "device pointer");
    return done();
}
