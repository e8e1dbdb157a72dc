/* NVSHMEM's versions: of the interface, OpenSHMEM's 1.3, and of the library. */
#include <stdio.h>

#include "api/absent/absent.h"

HD_EXPORT void nvshmem_info_get_version(int *major, int *minor);
HD_EXPORT void nvshmem_info_get_name(char *name);
HD_EXPORT void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch);

enum { NAME_B = 256 /* NVSHMEM_MAX_NAME_LEN */ };

void nvshmem_info_get_version(int *major, int *minor)
{
    *major = 1;
    *minor = 3;
}

void nvshmem_info_get_name(char *name)
{
    const int *v = absent_info.version;

    (void)snprintf(name, NAME_B, "NVSHMEM v%d.%d.%d", v[0], v[1], v[2]);
}

void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch)
{
    const int *v = absent_info.version;

    *major = v[0];
    *minor = v[1];
    *patch = v[2];
}
