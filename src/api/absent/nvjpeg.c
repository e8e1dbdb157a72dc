/* nvJPEG's version, and its runtime's. */
#include "api/absent/absent.h"

enum { INVALID_PARAMETER = 2 };

ABSENT_PROPERTY(nvjpegGetProperty, INVALID_PARAMETER)

HD_EXPORT int nvjpegGetCudartProperty(int type, int *value);

int nvjpegGetCudartProperty(int type, int *value)
{
    int parts[] = {absent_info.cudart / 1000, absent_info.cudart % 1000 / 10, 0};

    if (!value || type < 0 || type > 2)
        return INVALID_PARAMETER;
    *value = parts[type];
    return 0;
}
