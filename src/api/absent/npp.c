/* NPP's version. */
#include "api/absent/absent.h"

HD_EXPORT const int *nppGetLibVersion(void);

/* NppLibraryVersion is three numbers: major, minor, build. */
const int *nppGetLibVersion(void)
{
    return absent_info.version;
}
