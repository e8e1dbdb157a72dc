/* Functions of cuSPARSE that there are not: each fails, and says its name once. */
#include "api/lib_base/lib_base.h"
#include "base/compiler.h"

extern const struct lib_info sparse_info;
enum { NOT_SUPPORTED = 10 }; /* CUSPARSE_STATUS_NOT_SUPPORTED */

#define X(name) LIB_REFUSED(int, name, &sparse_info, NOT_SUPPORTED)
#include "api/cusparse_refused.def"
