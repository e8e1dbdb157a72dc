/* Functions of cuDNN that there are not: each fails, and says its name once. */
#include "api/lib_base/lib_base.h"
#include "base/compiler.h"

extern const struct lib_info dnn_info;
enum { NOT_SUPPORTED = 3000 }; /* CUDNN_STATUS_NOT_SUPPORTED */

#define X(name) LIB_REFUSED(int, name, &dnn_info, NOT_SUPPORTED)
#include "api/cudnn_refused.def"
