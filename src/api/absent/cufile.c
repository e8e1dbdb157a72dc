/* cuFile's version. */
#include "api/absent/absent.h"

enum { INVALID_VALUE = 5022 };

/* CUfileError_t: its own status, and CUDA's. */
struct status {
    int own, cuda;
};

HD_EXPORT struct status cuFileGetVersion(int *version);

struct status cuFileGetVersion(int *version)
{
    if (!version)
        return (struct status){INVALID_VALUE, 0};
    *version = absent_info.version[0] * 1000 + absent_info.version[1] * 10;
    return (struct status){0, 0};
}
