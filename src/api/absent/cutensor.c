/* cuTENSOR's version, the names of its statuses, and the types in which it would compute. */
#include "api/absent/absent.h"

HD_EXPORT size_t cutensorGetVersion(void);
HD_EXPORT size_t cutensorGetCudartVersion(void);
HD_EXPORT const char *cutensorGetErrorString(int status);

size_t cutensorGetVersion(void)
{
    const int *v = absent_info.version;

    return (size_t)(v[0] * 10000 + v[1] * 100 + v[2]);
}

size_t cutensorGetCudartVersion(void)
{
    return (size_t)absent_info.cudart;
}

static const struct lib_status statuses[] = {
    {0, "CUTENSOR_STATUS_SUCCESS"},
    {1, "CUTENSOR_STATUS_NOT_INITIALIZED"},
    {3, "CUTENSOR_STATUS_ALLOC_FAILED"},
    {7, "CUTENSOR_STATUS_INVALID_VALUE"},
    {8, "CUTENSOR_STATUS_ARCH_MISMATCH"},
    {11, "CUTENSOR_STATUS_MAPPING_ERROR"},
    {13, "CUTENSOR_STATUS_EXECUTION_FAILED"},
    {14, "CUTENSOR_STATUS_INTERNAL_ERROR"},
    {15, "CUTENSOR_STATUS_NOT_SUPPORTED"},
    {16, "CUTENSOR_STATUS_LICENSE_ERROR"},
    {17, "CUTENSOR_STATUS_CUBLAS_ERROR"},
    {18, "CUTENSOR_STATUS_CUDA_ERROR"},
    {19, "CUTENSOR_STATUS_INSUFFICIENT_WORKSPACE"},
    {20, "CUTENSOR_STATUS_INSUFFICIENT_DRIVER"},
    {21, "CUTENSOR_STATUS_IO_ERROR"},
};

const char *cutensorGetErrorString(int status)
{
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
        if (statuses[i].value == status)
            return statuses[i].name;
    return "CUTENSOR_STATUS_UNKNOWN";
}

/* Handles that a program hands on; each points to its own name. */
#define TYPE(type)                                                                                 \
    HD_EXPORT extern const char *const CUTENSOR_COMPUTE_DESC_##type;                               \
    const char *const CUTENSOR_COMPUTE_DESC_##type = #type;
TYPE(16F)
TYPE(16BF)
TYPE(TF32)
TYPE(3XTF32)
TYPE(9X16BF)
TYPE(4X16F)
TYPE(8XINT8)
TYPE(32F)
TYPE(64F)
