/* Functions of cuSPARSE that there are not: each fails, and says its name once. */
#include "api/lib_base/lib_base.h"
#include "base/compiler.h"

extern const struct lib_info sparse_info;
enum { NOT_SUPPORTED = 10 }; /* CUSPARSE_STATUS_NOT_SUPPORTED */

/* Whatever the arguments are: they are not looked at. */
#define X(name)                                                                                    \
    HD_EXPORT int name(void);                                                                      \
    int name(void)                                                                                 \
    {                                                                                              \
        static _Atomic bool said;                                                                  \
        lib_refuse(&sparse_info, #name, &said);                                                    \
        return NOT_SUPPORTED;                                                                      \
    }
#include "api/cusparse_refused.def"
