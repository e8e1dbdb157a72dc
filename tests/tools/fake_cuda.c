/* A driver with one device, for tests of `heddle info`. */
#include <stdio.h>

#include "base/compiler.h"

HD_EXPORT int cuInit(unsigned flags);
HD_EXPORT int cuDriverGetVersion(int *out);
HD_EXPORT int cuDeviceGetCount(int *out);
HD_EXPORT int cuDeviceGet(int *out, int ordinal);
HD_EXPORT int cuDeviceGetName(char *buf, int buf_B, int device);
HD_EXPORT int cuDeviceGetAttribute(int *out, int attribute, int device);
HD_EXPORT int cuDeviceTotalMem_v2(size_t *out, int device);

int cuInit(unsigned flags)
{
    return 0;
}

int cuDriverGetVersion(int *out)
{
    *out = 13000;
    return 0;
}

int cuDeviceGetCount(int *out)
{
    *out = 1;
    return 0;
}

int cuDeviceGet(int *out, int ordinal)
{
    *out = ordinal;
    return 0;
}

int cuDeviceGetName(char *buf, int buf_B, int device)
{
    snprintf(buf, (size_t)buf_B, "Stand-in \"quoted\"");
    return 0;
}

int cuDeviceGetAttribute(int *out, int attribute, int device)
{
    *out = attribute == 75 ? 12 : attribute == 76 ? 0 : attribute;
    return attribute == 97 ? 1 : 0;
}

int cuDeviceTotalMem_v2(size_t *out, int device)
{
    *out = (size_t)1 << 30;
    return 0;
}
