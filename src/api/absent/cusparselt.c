/* cuSPARSELt's version, and the names of its statuses, which are cuSPARSE's. */
#include "api/absent/absent.h"

enum { INVALID_VALUE = 3 };

static const char *const names[] = {
    "CUSPARSE_STATUS_SUCCESS",
    "CUSPARSE_STATUS_NOT_INITIALIZED",
    "CUSPARSE_STATUS_ALLOC_FAILED",
    "CUSPARSE_STATUS_INVALID_VALUE",
    "CUSPARSE_STATUS_ARCH_MISMATCH",
    "CUSPARSE_STATUS_MAPPING_ERROR",
    "CUSPARSE_STATUS_EXECUTION_FAILED",
    "CUSPARSE_STATUS_INTERNAL_ERROR",
    "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED",
    "CUSPARSE_STATUS_ZERO_PIVOT",
    "CUSPARSE_STATUS_NOT_SUPPORTED",
    "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES",
};

ABSENT_PROPERTY(cusparseLtGetProperty, INVALID_VALUE)

HD_EXPORT int cusparseLtGetVersion(const void *handle, int *version);
HD_EXPORT const char *cusparseLtGetErrorName(unsigned status);
HD_EXPORT const char *cusparseLtGetErrorString(unsigned status);

int cusparseLtGetVersion(const void *handle, int *version)
{
    const int *v = absent_info.version;

    (void)handle; /* there is none: cusparseLtInit() is refused */
    if (!version)
        return INVALID_VALUE;
    *version = v[0] * 1000 + v[1] * 100 + v[2];
    return 0;
}

const char *cusparseLtGetErrorName(unsigned status)
{
    return status < sizeof(names) / sizeof(names[0]) ? names[status] : "unrecognized error code";
}

const char *cusparseLtGetErrorString(unsigned status)
{
    return cusparseLtGetErrorName(status);
}
